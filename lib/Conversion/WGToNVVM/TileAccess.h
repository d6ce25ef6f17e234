// What the conversion works out once for each type of a tile that moves to or from global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_TILEACCESS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_TILEACCESS_H

#include "Coordinates.h"
#include "RoleContext.h"

#include "girih/Dialect/Tile/IR/Tile.h"

namespace girih::wg {

struct TileAccess {
  std::vector<Coordinate> coordinates; ///< by dimension
  /// From lane, warp and warpgroup to row: 0 in the threads that act for an element that several
  /// hold. Nothing if every thread does.
  std::optional<Layout> replica;
  llvm::SmallVector<bool> owned; ///< by register: whether no register before it holds the element

  size_t registers() const { return owned.size(); }
};

/// Works it out for a type of tile. A refusal says what has no form.
Result<TileAccess> planTileAccess(mlir::RankedTensorType tile);

/// i1: whether this thread acts for the elements that it holds; null if every thread does.
mlir::Value emitOwner(mlir::OpBuilder &builder, mlir::Location loc, const TileAccess &plan,
                      const ThreadPlace &place);
/// i1: whether this is the first thread of the role (of each warpgroup, if each acts for itself);
/// null in a role of one thread.
mlir::Value emitFirstThread(mlir::OpBuilder &builder, mlir::Location loc, const RoleContext &role);

/// A dimension of which a list says where its indices are: for each register the number of the
/// place, among those that the thread holds.
struct ListedDim {
  int64_t dim;
  std::vector<int32_t> numberOf;
};

/// Elements in the widest access that registers, view, the evenness of the indices and the part of
/// the tile that belongs to the view allow; `listed` may be null.
int64_t vectorWidth(const TileAccess &plan, tile::ViewType view, mlir::ValueRange indices,
                    const ListedDim *listed = nullptr,
                    std::optional<llvm::ArrayRef<int32_t>> part = std::nullopt);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_TILEACCESS_H
