// What has no way to the nvvm phase, said before the conversion starts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "Casts.h"

#include "girih/Conversion/WGToNVVM/MatrixOperand.h"

using namespace mlir;

namespace girih::wg {

namespace {

LogicalResult checkOffset(Operation *op, std::optional<uint32_t> offset) {
  if (offset)
    return success();
  return op->emitOpError("has no offset in shared memory; run wg-allocate-shared first");
}

LogicalResult checkMma(MmaOp op, const target::TargetFeatures &features) {
  if (!features.hasWgmma())
    return op.emitOpError("needs wgmma, which ")
           << features.chip() << " does not have; expected sm_90a";
  return success();
}

LogicalResult checkTma(Operation *op, const target::TargetFeatures &features) {
  if (features.hasTma())
    return success();
  return op->emitOpError("needs the tensor memory accelerator, which ")
         << features.chip() << " does not have; expected sm_90 or higher";
}

/// Each warpgroup stores its own rows in whole boxes.
LogicalResult checkStore(TmaStoreOp op, const RoleContext &role) {
  int64_t rows = op.getBuffer().getType().getShape()[0], groups = role.storingGroups();
  int64_t box = op.getView().getType().getBox()[0];
  if (rows % (groups * box) == 0)
    return success();
  return op.emitOpError("stores ")
         << rows << " rows by " << groups << " warpgroups in boxes of " << box
         << " rows; expected rows to be a multiple of " << groups * box;
}

LogicalResult checkConstant(arith::ConstantOp op) {
  if (!isTile(op.getType()) || isa<SplatElementsAttr>(op.getValue()))
    return success();
  return op.emitOpError("of a tile has elements that differ; expected a splat, since which of them "
                        "a thread holds is not "
                        "known at compile time");
}

LogicalResult checkCast(tile::CastOp op) {
  if (std::optional<std::string> why = refuseCast(castOf(op)))
    return op.emitOpError() << *why;
  return success();
}

LogicalResult checkTruncate(arith::TruncFOp op) {
  if (!isTile(op.getType()))
    return success();
  std::optional<Cast> cast = castOf(op);
  if (!cast)
    return op.emitOpError("rounds to nearest away from zero, for which there is no instruction; "
                          "expected to_nearest_even, toward_zero, upward or downward");
  if (std::optional<std::string> why = refuseCast(*cast))
    return op.emitOpError() << *why;
  return success();
}

/// A tile has its elements in the threads of the role that holds it, neither fewer nor more.
LogicalResult checkThreads(Operation *op, RankedTensorType tile, const RoleContext &role) {
  const Layout &layout = getLayout(tile).getLayout();
  int64_t warps = layout.inSize(Dim::Warp), groups = layout.inSize(Dim::Warpgroup);
  int64_t together = role.warpsTogether();
  bool whole = warps == std::min<int64_t>(together, 4);
  if (layout.inSize(Dim::Lane) == 32 && whole && warps * groups == together)
    return success();
  return op->emitOpError("has a tile over ")
         << layout.inSize(Dim::Lane) << " lanes of " << warps << " warps of " << groups
         << " warpgroups, and stands where " << together
         << " warps execute it; expected a layout over all their threads (of warpgroups of 4 "
            "warps)";
}

/// Works out where the elements of `tile` are.
LogicalResult planTile(Operation *op, RankedTensorType tile, ConversionState &state) {
  if (failed(checkThreads(op, tile, state.roles.of(op))))
    return failure();
  if (state.tileAccesses.contains(tile))
    return success();
  Result<TileAccess> plan = planTileAccess(tile);
  if (!plan)
    return op->emitOpError("cannot address its elements: ") << plan.error();
  state.tileAccesses[tile] = std::make_unique<TileAccess>(std::move(*plan));
  return success();
}

template <typename Op> LogicalResult planBlock(Op op, ConversionState &state) {
  RankedTensorType tile = op.getTile().getType();
  if (!isTile(tile))
    return op.emitOpError("has a tile without a layout; run wg-assign-layouts first");
  if (failed(planTile(op, tile, state)))
    return failure();
  state.vectors[op] =
      vectorWidth(*state.tileAccesses[tile], op.getView().getType(), op.getIndices());
  return success();
}

} // namespace

LogicalResult checkConvertible(Operation *root, ConversionState &state) {
  LogicalResult result = success();
  auto note = [&](LogicalResult one) {
    if (failed(one))
      result = failure();
  };
  auto plan = [&](Operation *op, RankedTensorType tile, BufferType buffer) {
    if (state.accesses.contains({tile, buffer}))
      return;
    FailureOr<LocalAccess> access = planAccess(op, tile, buffer, state.features.hasStoreMatrix());
    note(access);
    if (succeeded(access))
      state.accesses[{tile, buffer}] = *access;
  };
  root->walk([&](Operation *op) {
    if (isa<TmaLoadOp, TmaStoreOp>(op))
      note(checkTma(op, state.features));
    if (auto alloc = dyn_cast<AllocBufferOp>(op))
      note(checkOffset(op, alloc.getOffset()));
    else if (auto alloc = dyn_cast<AllocBarrierOp>(op))
      note(checkOffset(op, alloc.getOffset()));
    else if (auto mma = dyn_cast<MmaOp>(op))
      note(checkMma(mma, state.features));
    else if (auto store = dyn_cast<TmaStoreOp>(op))
      note(checkStore(store, state.roles.of(op)));
    else if (auto load = dyn_cast<TmaLoadOp>(op); load && !load.getBarrier())
      note(load.emitOpError(
          "has no barrier to complete on; expected a slot of a ring, or barrier(%bar[%i])"));
    else if (isa<SetRegistersOp>(op) && !state.features.hasSetMaxRegisters())
      note(op->emitOpError("needs setmaxnreg, which ")
           << state.features.chip() << " does not have; leave registers out");
    else if (auto store = dyn_cast<LocalStoreOp>(op))
      plan(op, store.getTile().getType(), store.getBuffer().getType());
    else if (auto load = dyn_cast<LocalLoadOp>(op))
      plan(op, load.getTile().getType(), load.getBuffer().getType());
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      note(planBlock(load, state));
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      note(planBlock(store, state));
    else if (auto constant = dyn_cast<arith::ConstantOp>(op))
      note(checkConstant(constant));
    else if (auto cast = dyn_cast<tile::CastOp>(op))
      note(checkCast(cast));
    else if (auto truncate = dyn_cast<arith::TruncFOp>(op))
      note(checkTruncate(truncate));
    else if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
             kernel && (kernel.getNumWorkgroupAttributions() || kernel.getNumPrivateAttributions()))
      note(kernel.emitOpError(
          "has memory attributions; expected wg.alloc_buffer for shared memory"));
  });
  return result;
}

} // namespace girih::wg
