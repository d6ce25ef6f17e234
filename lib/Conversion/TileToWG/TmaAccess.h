// Which loads and stores of the tile phase can be TMA copies, and of what shape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_TMAACCESS_H
#define GIRIH_LIB_CONVERSION_TILETOWG_TMAACCESS_H

#include "HostSide.h"
#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Layout/Result.h"

namespace girih::wg {

/// A place in an array of the caller: what a view and indices come to.
struct ArrayPlace {
  mlir::Value array; ///< of the host plan
  /// For each dimension of the array: values (i32) whose sum is the coordinate.
  llvm::SmallVector<llvm::SmallVector<mlir::Value, 2>> coordinates;
  /// For each dimension of the view: the dimension of the array that it is, and the bounds that
  /// slices gave it.
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<tile::SliceOp> slices;

  plan::ArrayType getType() const { return llvm::cast<plan::ArrayType>(array.getType()); }
};

/// Follows a view through slices, selections and permutations to an array that TMA can address, or
/// says why not.
Result<ArrayPlace> findArray(mlir::Value view, mlir::ValueRange indices, const HostSide &host);

/// A copy of a part of an array into a buffer.
struct TmaCopy {
  BufferType buffer;
  ViewType view;
  bool transposed = false; ///< the buffer's dimensions are the array's in the other order
};

/// The copy for a buffer of `shape`, whose dimension i is the array's dimension `arrayDims[i]`,
/// that wgmma can read: with the widest swizzle that fits. Or why there is none.
Result<TmaCopy> chooseCopy(plan::ArrayType array, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> arrayDims);

/// The view of a copy whose boxes fall into equal shares for as many CTAs; nothing if there is
/// none.
std::optional<ViewType> boxOfShare(const TmaCopy &copy, int64_t ctas);

/// The widest swizzle span in bytes (128, 64, 32) of which `bytes` is a multiple; 0 if there is
/// none.
int64_t swizzleFor(int64_t bytes);

/// The coordinates of a place in an array as values, made at the builder's place; `mapped` turns
/// values of the tile phase into those of the role.
llvm::SmallVector<mlir::Value> coordinatesOf(mlir::OpBuilder &builder, mlir::Location loc,
                                             const ArrayPlace &place,
                                             llvm::function_ref<mlir::Value(mlir::Value)> mapped);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_TMAACCESS_H
