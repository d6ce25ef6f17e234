// Copies: what view, buffer and tile must agree on, and what each copy touches.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::wg;

using Barrier = BarrierEffect;
using Async = AsyncEffect;

/// What a copy in either direction asks of its view and its buffer; `rows` is what one issuer
/// copies.
static LogicalResult verifyCopy(Operation *op, ViewType view, BufferType buffer, size_t indices,
                                int64_t rows, bool transposed = false) {
  int64_t fast = view.getFastestDim(), slow = view.getSlowDim();
  for (int64_t dim = 0; dim < view.getRank(); ++dim)
    if (dim != fast && dim != slow && view.getBox()[dim] != 1)
      return op->emitOpError("copies boxes of several elements along dimensions ")
             << fast << ", " << slow << " and " << dim
             << ": expected at most two such dimensions, as a buffer has";
  if (static_cast<int64_t>(indices) != view.getRank())
    return op->emitOpError("expects an index for each of the view's ")
           << view.getRank() << " dimensions, found " << indices;
  if (view.getElementType() != buffer.getElementType())
    return op->emitOpError("copies between elements of ")
           << view.getElementType() << " in the view and " << buffer.getElementType()
           << " in the buffer: expected one type, TMA does not convert";
  if ((fast > slow) != (buffer.isRowMajor() != transposed))
    return op->emitOpError("copies between a view whose fastest dimension is ")
           << fast << " and a buffer whose fastest is " << buffer.getFastestDim()
           << (transposed ? ", transposed" : "")
           << ": expected the same order, TMA does not transpose";
  if (view.getSwizzle() != buffer.getSwizzle())
    return op->emitOpError("copies between a view with a swizzle of ")
           << view.getSwizzle() << " bytes and a buffer with one of " << buffer.getSwizzle()
           << ": expected the same, the map decides how a box lies in shared memory";
  int64_t fastest = buffer.getFastestDim();
  int64_t extents[2] = {rows, buffer.getShape()[1]};
  int64_t inner = std::min(extents[fastest], buffer.getPanelExtent());
  if (view.getBox()[fast] != inner)
    return op->emitOpError("has a box of ")
           << view.getBox()[fast] << " elements along dimension " << fast << ": expected " << inner
           << ", the width of the buffer's panels";
  int64_t outer = slow < 0 ? 1 : view.getBox()[slow];
  if (extents[1 - fastest] % outer)
    return op->emitOpError("has a box of ")
           << outer << " elements along dimension " << slow << ": expected a divisor of "
           << extents[1 - fastest] << ", which is what it fills";
  return success();
}

/// A multicast tile is brought in equal shares.
static LogicalResult verifyMulticast(TmaLoadOp load) {
  // Outside a kernel nothing is known of clusters.
  if (!load->getParentOfType<gpu::GPUFuncOp>())
    return success();
  int64_t ctas = clusterCtas(load);
  if (ctas == 1)
    return load.emitOpError("multicasts in a kernel without clusters: expected known_cluster_size "
                            "on the gpu.func");
  BufferType buffer = load.getBuffer().getType();
  ViewType view = load.getView().getType();
  int64_t lines = view.getSlowDim() < 0 ? 1 : view.getBox()[view.getSlowDim()];
  int64_t panels = buffer.getNumPanels(), boxes = buffer.getOuterExtent() / lines;
  if (panels % ctas && boxes % ctas)
    return load.emitOpError("multicasts a buffer of ")
           << panels << " panels of " << boxes << " boxes to " << ctas
           << " CTAs: expected a multiple of either, since each brings an equal share";
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (!getBarrier() != !getBarrierIndex())
    return emitOpError("expects a barrier together with its index");
  BufferType buffer = getBuffer().getType();
  if (failed(verifyCopy(*this, getView().getType(), buffer, getIndices().size(),
                        buffer.getShape()[0], getTransposed())))
    return failure();
  return getMulticast() ? verifyMulticast(*this) : success();
}

LogicalResult TmaStoreOp::verify() {
  BufferType buffer = getBuffer().getType();
  int64_t rows = buffer.getShape()[0];
  if (auto role = (*this)->getParentOfType<RoleOp>()) {
    if (rows % role.getTileWarpgroups())
      return emitOpError("stores ") << rows << " rows in a role of " << role.getTileWarpgroups()
                                    << " warpgroups: expected a multiple, each stores its share";
    rows /= role.getTileWarpgroups();
  }
  if (failed(verifyCopy(*this, getView().getType(), buffer, getIndices().size(), rows)))
    return failure();
  int64_t inner = buffer.isRowMajor() ? buffer.getShape()[1] : rows;
  ViewType view = getView().getType();
  int64_t box = view.getBox()[view.getFastestDim()];
  if (inner % box)
    return emitOpError("stores ") << inner << " elements along dimension " << buffer.getFastestDim()
                                  << " in boxes of " << box
                                  << ": the last would write past the tile, expected a divisor";
  return success();
}

llvm::SmallVector<Barrier> TmaLoadOp::getBarrierEffects() {
  // For a buffer of a ring's slot it is the slot's full barrier, which the op that got the slot
  // names.
  if (!getBarrier())
    return {};
  // Of a multicast copy each CTA brings its share to all.
  return {{.kind = Barrier::Kind::Complete,
           .side = Barrier::Side::Raw,
           .object = getBarrier(),
           .index = getBarrierIndex(),
           .bytes = getMulticast() ? getBytes() / clusterCtas(*this) : getBytes(),
           .issuer = Issuer::Role,
           .everyCta = getMulticast()}};
}
int64_t TmaLoadOp::getBytes() {
  ViewType view = getView().getType();
  return view.getNumCopies(getBuffer().getType()) * view.getBoxBytes();
}
llvm::SmallVector<Async> TmaLoadOp::getAsyncEffects() {
  return {Async{.kind = Async::Kind::Start,
                .engine = Async::Engine::TmaLoad,
                .token = getBuffer(),
                .issuer = Issuer::Role}};
}
llvm::SmallVector<BufferAccess> TmaLoadOp::getBufferAccesses() {
  return {{.kind = BufferAccess::Kind::Write,
           .proxy = BufferAccess::Proxy::Async,
           .buffer = getBuffer(),
           .outlivesOp = true,
           .part = getMulticast() ? BufferAccess::Part::CtaShare : BufferAccess::Part::Whole,
           .issuer = Issuer::Role,
           .everyCta = getMulticast()}};
}

llvm::SmallVector<Async> TmaStoreOp::getAsyncEffects() {
  return {Async{.kind = Async::Kind::Start,
                .engine = Async::Engine::TmaStore,
                .token = getBuffer(),
                .issuer = Issuer::Warpgroup}};
}
llvm::SmallVector<BufferAccess> TmaStoreOp::getBufferAccesses() {
  return {{.kind = BufferAccess::Kind::Read,
           .proxy = BufferAccess::Proxy::Async,
           .buffer = getBuffer(),
           .outlivesOp = true,
           .part = BufferAccess::Part::WarpgroupRows,
           .issuer = Issuer::Warpgroup}};
}

llvm::SmallVector<Async> BulkCommitOp::getAsyncEffects() {
  return {Async{
      .kind = Async::Kind::Commit, .engine = Async::Engine::TmaStore, .issuer = Issuer::Warpgroup}};
}
llvm::SmallVector<Async> BulkWaitOp::getAsyncEffects() {
  return {Async{.kind = Async::Kind::Retire,
                .engine = Async::Engine::TmaStore,
                .inFlight = getInFlight(),
                .onlyReads = getRead(),
                .issuer = Issuer::Warpgroup}};
}

/// A tile goes to and from a buffer of its shape and element type, and belongs to the whole role.
static LogicalResult verifyLocalCopy(Operation *op, RankedTensorType tile, BufferType buffer) {
  if (tile.getShape() != buffer.getShape() || tile.getElementType() != buffer.getElementType()) {
    InFlightDiagnostic error = op->emitOpError("copies between a tile of ");
    llvm::interleave(tile.getShape(), error, "x");
    error << "x" << tile.getElementType() << " and " << buffer
          << ": expected the same shape and element type";
    return error;
  }
  auto role = op->getParentOfType<RoleOp>();
  if (role && getLayout(tile).getWarpgroups() != role.getTileWarpgroups())
    return op->emitOpError("has a tile over ")
           << getLayout(tile).getWarpgroups() << " warpgroups in role '" << role.getRoleName()
           << "' of " << role.getTileWarpgroups() << ": expected a tile of the whole role";
  return success();
}

LogicalResult LocalStoreOp::verify() {
  return verifyLocalCopy(*this, getTile().getType(), getBuffer().getType());
}
LogicalResult LocalLoadOp::verify() {
  return verifyLocalCopy(*this, getTile().getType(), getBuffer().getType());
}

llvm::SmallVector<BufferAccess> LocalStoreOp::getBufferAccesses() {
  return {{.kind = BufferAccess::Kind::Write,
           .proxy = BufferAccess::Proxy::Generic,
           .buffer = getBuffer(),
           .part = BufferAccess::Part::Tile,
           .tile = getTile().getType()}};
}
llvm::SmallVector<BufferAccess> LocalLoadOp::getBufferAccesses() {
  return {{.kind = BufferAccess::Kind::Read,
           .proxy = BufferAccess::Proxy::Generic,
           .buffer = getBuffer(),
           .part = BufferAccess::Part::Tile,
           .tile = getTile().getType()}};
}
