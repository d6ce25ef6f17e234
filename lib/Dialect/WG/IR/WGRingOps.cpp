// Rings: verification and effects of the single steps.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/CursorOrigin.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace girih::wg;

using Barrier = BarrierEffect;
using Async = AsyncEffect;

void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getRing(), getName().value_or("ring"));
}

void StoreRingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getRing(), getName().value_or("out"));
}

LogicalResult CursorOp::verify() {
  if (isa<StoreRingType>(getRing().getType()) && getEnd() == CursorEnd::Consumer)
    return emitOpError("asks for the consumer's end of a store ring: its consumer is the hardware, "
                       "expected producer");
  return success();
}

LogicalResult AdvanceOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), std::nullopt);
}

/// The buffers of one slot are the results of an op that gets one.
static LogicalResult inferSlot(Value ring, SmallVectorImpl<Type> &types) {
  if (auto type = dyn_cast<RingType>(ring.getType())) {
    llvm::append_range(types, type.getBuffers());
    return success();
  }
  if (auto type = dyn_cast<StoreRingType>(ring.getType())) {
    types.push_back(type.getBuffer());
    return success();
  }
  return failure();
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferSlot(adaptor.getRing(), types);
}
LogicalResult GetOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferSlot(adaptor.getRing(), types);
}
LogicalResult StoreAcquireOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSlot(adaptor.getRing(), types);
}

LogicalResult AcquireOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Producer);
}
LogicalResult PublishOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Producer);
}
LogicalResult GetOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Consumer);
}
LogicalResult FreeOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Consumer);
}
LogicalResult StoreCommitOp::verify() {
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Producer);
}

LogicalResult StoreAcquireOp::verify() {
  if (auto role = (*this)->getParentOfType<RoleOp>()) {
    if (role.getWarps() % 4)
      return emitOpError("is executed by ")
             << role.getWarps() << " warps of role '" << role.getRoleName()
             << "': a slot is written by whole warpgroups";
    int64_t rows = getRing().getType().getBuffer().getShape()[0];
    int64_t unit = 64 * role.getTileWarpgroups();
    if (rows % unit)
      return emitOpError("takes a slot of ")
             << rows << " rows in a role of " << role.getTileWarpgroups()
             << " warpgroups: expected a multiple of " << unit
             << ", 64 rows for each, since the buffer is the whole role's";
  }
  return verifyCursor(*this, getRing(), getCursor(), CursorEnd::Producer);
}

llvm::SmallVector<Barrier> AcquireOp::getBarrierEffects() {
  return {{Barrier::Kind::Wait, Barrier::Side::Empty, getRing(), getCursor()},
          {Barrier::Kind::Expect, Barrier::Side::Full, getRing(), getCursor()}};
}
llvm::SmallVector<Barrier> PublishOp::getBarrierEffects() {
  return {{Barrier::Kind::Arrive, Barrier::Side::Full, getRing(), getCursor()}};
}
llvm::SmallVector<Barrier> GetOp::getBarrierEffects() {
  return {{Barrier::Kind::Wait, Barrier::Side::Full, getRing(), getCursor()}};
}
llvm::SmallVector<Barrier> FreeOp::getBarrierEffects() {
  return {{Barrier::Kind::Arrive, Barrier::Side::Empty, getRing(), getCursor()}};
}

llvm::SmallVector<Async> StoreAcquireOp::getAsyncEffects() {
  // All groups but those of the other slots; how many slots there are is the ring's to say.
  Async retire{Async::Kind::Retire, Async::Engine::TmaStore};
  if (auto ring = getRing().getDefiningOp<StoreRingOp>())
    retire.inFlight = ring.getStages() - 1;
  retire.onlyReads = true;
  return {retire};
}
llvm::SmallVector<Async> StoreCommitOp::getAsyncEffects() {
  return {Async{Async::Kind::Commit, Async::Engine::TmaStore}};
}
