// What every op that moves a tile at an index between registers and a view has in common.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_TILEMOVE_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_TILEMOVE_H

#include "Patterns.h"

#include "GlobalPlaces.h"

namespace girih::wg {

/// On a tile.store before which, and behind which, the role meets.
inline constexpr llvm::StringLiteral kInPlaceAttr = "wg.in_place";
/// Puts it on stores into arrays that the kernel loads in other threads too. After
/// checkConvertible().
void markInPlaceStores(mlir::gpu::GPUFuncOp kernel, const ConversionState &state);

struct TileMove {
  /// `listed` and `numbers`: the dimension whose places are listed, and those places.
  template <typename Op, typename Adaptor>
  TileMove(mlir::OpBuilder &builder, const ConversionState &state, Op op, Adaptor adaptor,
           const ListedDim *listed = nullptr, llvm::ArrayRef<mlir::Value> numbers = {})
      : loc(op.getLoc()), tile(op.getTile().getType()), element(tile.getElementType()),
        plan(*state.tileAccesses.find(tile)->second), vector(state.vectors.find(op)->second),
        count(plan.registers()), place(state.roles.of(op).place),
        view(GlobalView::open(builder, loc, op.getView().getType(), adaptor.getView())),
        indices(adaptor.getIndices()), listed(listed), numbers(numbers), part(partOf(op)),
        all(insideAsAWhole(builder, loc, view, indices, part,
                           listed ? std::optional<int64_t>(listed->dim) : std::nullopt)) {}

  Places places(mlir::OpBuilder &builder) const {
    return Places(builder, loc, plan, view, place, indices, listed, numbers);
  }

  PartTest partTest(mlir::OpBuilder &builder) const {
    return PartTest(builder, loc, plan, tile, part, place);
  }

  /// The extents of the part of the tile that belongs to the view.
  template <typename Op> static llvm::SmallVector<int32_t> partOf(Op op) {
    if constexpr (requires { op.getPart(); })
      if (op.getPart())
        return llvm::to_vector(*op.getPart());
    mlir::RankedTensorType tile = op.getTile().getType();
    return llvm::SmallVector<int32_t>(tile.getShape());
  }

  mlir::Location loc;
  mlir::RankedTensorType tile;
  mlir::Type element;
  const TileAccess &plan;
  size_t vector, count; ///< elements moved at once, and of a thread
  const ThreadPlace &place;
  GlobalView view;
  mlir::ValueRange indices;
  const ListedDim *listed;
  llvm::ArrayRef<mlir::Value> numbers;
  llvm::SmallVector<int32_t> part;
  mlir::Value all; ///< whether the whole part lies inside the view, but for a listed dimension
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_TILEMOVE_H
