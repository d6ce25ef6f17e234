// Verifiers of what changes a tile's shape.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::tile;

/// The result has this shape and the source's elements.
static LogicalResult checkResult(Operation *op, RankedTensorType source, RankedTensorType tile,
                                 ArrayRef<int64_t> shape) {
  if (tile.getShape() == shape && tile.getElementType() == source.getElementType())
    return success();
  return op->emitOpError("expected a result of ")
         << RankedTensorType::get(shape, source.getElementType()) << ", found " << tile;
}

static LogicalResult checkDim(Operation *op, int64_t dim, int64_t below) {
  if (dim < 0 || dim >= below)
    return op->emitOpError("expected a dimension below ") << below << ", found " << dim;
  return success();
}

LogicalResult IotaOp::verify() { return checkDim(*this, getDim(), getTile().getType().getRank()); }

LogicalResult ExpandOp::verify() {
  RankedTensorType source = getSource().getType();
  int64_t dim = getDim();
  if (failed(checkDim(*this, dim, source.getRank() + 1)))
    return failure();
  SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + dim, 1);
  return checkResult(*this, source, getTile().getType(), shape);
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = getSource().getType(), tile = getTile().getType();
  if (source.getRank() != tile.getRank())
    return emitOpError("expected a result of rank ")
           << source.getRank() << ", found " << tile.getRank();
  for (auto [dim, extent] : llvm::enumerate(source.getShape()))
    if (extent != 1 && extent != tile.getDimSize(dim))
      return emitOpError("expected extent ") << extent << " or a source of extent 1 in dimension "
                                             << dim << ", found " << tile.getDimSize(dim);
  return checkResult(*this, source, tile, tile.getShape());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = getSource().getType(), tile = getTile().getType();
  if (source.getNumElements() != tile.getNumElements())
    return emitOpError("expected ")
           << source.getNumElements() << " elements, found " << tile.getNumElements();
  return checkResult(*this, source, tile, tile.getShape());
}

LogicalResult TransposeOp::verify() {
  RankedTensorType source = getSource().getType();
  SmallVector<int64_t> sorted(getOrder()), shape;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, source.getRank())))
    return emitOpError("expected a permutation of ") << source.getRank() << " dimensions";
  for (int64_t from : getOrder())
    shape.push_back(source.getDimSize(from));
  return checkResult(*this, source, getTile().getType(), shape);
}

LogicalResult JoinOp::verify() {
  RankedTensorType source = getFirst().getType();
  SmallVector<int64_t> shape(source.getShape());
  shape.push_back(2);
  return checkResult(*this, source, getTile().getType(), shape);
}

LogicalResult SplitOp::verify() {
  RankedTensorType source = getSource().getType();
  if (source.getRank() < 2 || source.getShape().back() != 2)
    return emitOpError("expected a last dimension of extent 2 after another one, found ") << source;
  return checkResult(*this, source, getFirst().getType(), source.getShape().drop_back());
}
