// Verifiers of views.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::tile;

LogicalResult ViewOp::verify() {
  int64_t rank = getView().getType().getRank();
  if (static_cast<int64_t>(getExtents().size()) != rank ||
      static_cast<int64_t>(getStrides().size()) != rank)
    return emitOpError("expected ") << rank << " extents and strides, found " << getExtents().size()
                                    << " and " << getStrides().size();
  return success();
}

static LogicalResult checkDim(Operation *op, ViewType view, int64_t dim) {
  if (dim < 0 || dim >= view.getRank())
    return op->emitOpError("expected a dimension below ") << view.getRank() << ", found " << dim;
  return success();
}

/// What the result's type may promise follows from the source's.
static LogicalResult checkPromise(Operation *op, ViewType source, ViewType view, int64_t rank,
                                  int64_t contiguous, int64_t align) {
  if (view.getElementType() != source.getElementType())
    return op->emitOpError("expected elements of ")
           << source.getElementType() << ", found " << view.getElementType();
  if (view.getRank() != rank)
    return op->emitOpError("expected a view of rank ") << rank << ", found " << view.getRank();
  if (view.hasContiguous() && view.getContiguous() != contiguous) {
    InFlightDiagnostic error = op->emitOpError("promises that dimension ")
                               << view.getContiguous() << " is contiguous; expected ";
    if (contiguous < 0)
      return error << "no contiguous dimension";
    return error << contiguous;
  }
  if (view.getAlign() > align)
    return op->emitOpError("promises an alignment of ")
           << view.getAlign() << " bytes; expected at most " << align;
  return success();
}

LogicalResult SelectOp::verify() {
  ViewType source = getSource().getType();
  int64_t dim = getDim(), contiguous = source.getContiguous();
  if (failed(checkDim(*this, source, dim)))
    return failure();
  // An index along the contiguous dimension moves the address by elements.
  int64_t align = dim == contiguous ? source.getElementBytes() : source.getAlign();
  int64_t left = dim == contiguous ? -1 : contiguous - (contiguous > dim ? 1 : 0);
  return checkPromise(*this, source, getView().getType(), source.getRank() - 1, left, align);
}

LogicalResult SliceOp::verify() {
  ViewType source = getSource().getType();
  int64_t dim = getDim();
  if (failed(checkDim(*this, source, dim)))
    return failure();
  int64_t align = dim == source.getContiguous() ? source.getElementBytes() : source.getAlign();
  // From 0 on nothing moves.
  if (auto low = getLow().getDefiningOp<arith::ConstantIntOp>(); low && low.value() == 0)
    align = source.getAlign();
  return checkPromise(*this, source, getView().getType(), source.getRank(), source.getContiguous(),
                      align);
}

LogicalResult PermuteOp::verify() {
  ViewType source = getSource().getType();
  SmallVector<int64_t> sorted(getOrder());
  llvm::sort(sorted);
  if (static_cast<int64_t>(sorted.size()) != source.getRank() ||
      !llvm::equal(sorted, llvm::seq<int64_t>(0, source.getRank())))
    return emitOpError("expected a permutation of ") << source.getRank() << " dimensions";
  int64_t contiguous = -1;
  for (auto [i, from] : llvm::enumerate(getOrder()))
    if (from == source.getContiguous())
      contiguous = static_cast<int64_t>(i);
  return checkPromise(*this, source, getView().getType(), source.getRank(), contiguous,
                      source.getAlign());
}

LogicalResult ExtentOp::verify() { return checkDim(*this, getView().getType(), getDim()); }

/// Follows the view to where the extent was given.
OpFoldResult ExtentOp::fold(FoldAdaptor) {
  int64_t dim = getDim();
  Value view = getView();
  while (Operation *maker = view.getDefiningOp()) {
    if (auto made = dyn_cast<ViewOp>(maker))
      return made.getExtents()[dim];
    if (auto select = dyn_cast<SelectOp>(maker)) {
      if (dim >= static_cast<int64_t>(select.getDim()))
        ++dim;
      view = select.getSource();
    } else if (auto permute = dyn_cast<PermuteOp>(maker)) {
      dim = permute.getOrder()[dim];
      view = permute.getSource();
    } else if (auto slice = dyn_cast<SliceOp>(maker);
               slice && dim != static_cast<int64_t>(slice.getDim())) {
      view = slice.getSource();
    } else {
      return {};
    }
  }
  return {};
}
