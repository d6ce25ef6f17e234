// Verifiers of what moves tiles to and from global memory.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::tile;

static LogicalResult checkElement(Operation *op, ViewType view, Type type) {
  if (elementTypeOf(type) != view.getElementType())
    return op->emitOpError("expected elements of ")
           << view.getElementType() << ", as the view has, found " << elementTypeOf(type);
  return success();
}

static LogicalResult checkFill(Operation *op, ViewType view, Value fill) {
  if (fill && fill.getType() != view.getElementType())
    return op->emitOpError("expected a fill value of ")
           << view.getElementType() << ", found " << fill.getType();
  return success();
}

static LogicalResult checkIndices(Operation *op, ViewType view, size_t count) {
  if (static_cast<int64_t>(count) != view.getRank())
    return op->emitOpError("expected ")
           << view.getRank() << " indices, one for each dimension of the view, found " << count;
  return success();
}

/// A tile at scalar indices has the view's rank.
static LogicalResult checkBlock(Operation *op, ViewType view, RankedTensorType tile, size_t count) {
  if (failed(checkIndices(op, view, count)) || failed(checkElement(op, view, tile)))
    return failure();
  if (tile.getRank() != view.getRank())
    return op->emitOpError("expected a tile of rank ")
           << view.getRank() << ", as the view has, found " << tile.getRank();
  return success();
}

/// The part of a tile that belongs to the view.
static LogicalResult checkPart(Operation *op, RankedTensorType tile,
                               std::optional<ArrayRef<int32_t>> part) {
  if (!part)
    return success();
  if (static_cast<int64_t>(part->size()) != tile.getRank())
    return op->emitOpError("expected a part of ")
           << tile.getRank() << " extents, as the tile has, found " << part->size();
  for (auto [dim, extent] : llvm::enumerate(*part))
    if (extent < 1 || extent > tile.getDimSize(dim))
      return op->emitOpError("expected a part of 1 to ")
             << tile.getDimSize(dim) << " along dimension " << dim << ", found " << extent;
  return success();
}

/// Tiles of indices, and a mask, have the shape and the layout of the tile that they are for.
static LogicalResult checkPoints(Operation *op, ViewType view, RankedTensorType tile,
                                 OperandRange indices, Value mask) {
  if (failed(checkIndices(op, view, indices.size())) || failed(checkElement(op, view, tile)))
    return failure();
  auto agrees = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getShape() == tile.getShape() && type.getEncoding() == tile.getEncoding();
  };
  for (Value index : indices)
    if (!agrees(index))
      return op->emitOpError("expected indices of the tile's shape and layout, found ")
             << index.getType() << " for " << tile;
  if (mask && !agrees(mask))
    return op->emitOpError("expected a mask of the tile's shape and layout, found ")
           << mask.getType() << " for " << tile;
  return success();
}

static LogicalResult checkPlaces(Operation *op, ViewType view, RankedTensorType tile,
                                 RankedTensorType places, int64_t dim) {
  if (dim < 0 || dim >= view.getRank())
    return op->emitOpError("expected a dimension below ") << view.getRank() << ", found " << dim;
  if (places.getRank() != 1 || places.getDimSize(0) != tile.getDimSize(dim))
    return op->emitOpError("expected ")
           << tile.getDimSize(dim) << " places, one for each index of dimension " << dim
           << ", found " << places;
  return success();
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  return failure(failed(checkBlock(*this, view, getTile().getType(), getIndices().size())) ||
                 failed(checkFill(*this, view, getFill())) ||
                 failed(checkPart(*this, getTile().getType(), getPart())));
}

LogicalResult StoreOp::verify() {
  return failure(
      failed(checkBlock(*this, getView().getType(), getTile().getType(), getIndices().size())) ||
      failed(checkPart(*this, getTile().getType(), getPart())));
}

LogicalResult TakeOp::verify() {
  ViewType view = getView().getType();
  RankedTensorType tile = getTile().getType();
  return failure(failed(checkBlock(*this, view, tile, getIndices().size())) ||
                 failed(checkPlaces(*this, view, tile, getPlaces().getType(), getDim())) ||
                 failed(checkFill(*this, view, getFill())));
}

LogicalResult PutOp::verify() {
  ViewType view = getView().getType();
  RankedTensorType tile = getTile().getType();
  return failure(failed(checkBlock(*this, view, tile, getIndices().size())) ||
                 failed(checkPlaces(*this, view, tile, getPlaces().getType(), getDim())));
}

LogicalResult GatherOp::verify() {
  ViewType view = getView().getType();
  return failure(failed(checkPoints(*this, view, getTile().getType(), getIndices(), getMask())) ||
                 failed(checkFill(*this, view, getFill())));
}

LogicalResult ScatterOp::verify() {
  return checkPoints(*this, getView().getType(), getTile().getType(), getIndices(), getMask());
}

LogicalResult AtomicOp::verify() {
  if (failed(checkPoints(*this, getView().getType(), getTile().getType(), getIndices(), getMask())))
    return failure();
  Type element = getView().getType().getElementType();
  bool onFloats = getKind() == AtomicKind::Add || getKind() == AtomicKind::Exchange;
  if (isa<FloatType>(element) && !onFloats)
    return emitOpError("'") << stringifyAtomicKind(getKind())
                            << "' works on integers; expected add or exchange on " << element;
  // PTX ISA 9.0, 9.7.13.6: atom takes 32 and 64 bits, and add of f16, bf16 and their pairs.
  unsigned bits = element.getIntOrFloatBitWidth();
  bool small = bits == 16 && isa<FloatType>(element) && getKind() == AtomicKind::Add;
  if (bits != 32 && bits != 64 && !small)
    return emitOpError("expected elements of 32 or 64 bits (or add on f16 or bf16), found ")
           << element;
  return success();
}

LogicalResult ReadOp::verify() {
  ViewType view = getView().getType();
  return failure(failed(checkIndices(*this, view, getIndices().size())) ||
                 failed(checkElement(*this, view, getValue().getType())));
}

LogicalResult WriteOp::verify() {
  ViewType view = getView().getType();
  return failure(failed(checkIndices(*this, view, getIndices().size())) ||
                 failed(checkElement(*this, view, getValue().getType())));
}

/// A counter that CTAs synchronise by.
template <typename Op> static LogicalResult checkCounter(Op op) {
  ViewType view = op.getView().getType();
  if (failed(checkIndices(op, view, op.getIndices().size())))
    return failure();
  if (!view.getElementType().isInteger(32))
    return op.emitOpError("expected a counter of i32, found ") << view.getElementType();
  if (op.getScope() != Scope::Gpu && op.getScope() != Scope::Sys)
    return op.emitOpError("expected the scope gpu or sys, found ") << stringifyScope(op.getScope());
  return success();
}

LogicalResult SignalOp::verify() { return checkCounter(*this); }
LogicalResult AwaitOp::verify() { return checkCounter(*this); }
