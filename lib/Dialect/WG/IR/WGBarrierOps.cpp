// Barriers: limits that the hardware does not report, and effects. Also where the ops' generated
// code is compiled.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OffsetList.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace girih::wg;

#define GET_OP_CLASSES
#include "girih/Dialect/WG/IR/WGOps.cpp.inc"

using Barrier = BarrierEffect;

/// A constant, if the value is one.
static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

static LogicalResult verifyIndex(Operation *op, Value index, BarrierType array) {
  std::optional<int64_t> constant = constantOf(index);
  if (constant && (*constant < 0 || *constant >= array.getCount()))
    return op->emitOpError("names barrier ") << *constant << " of an array of " << array.getCount()
                                             << ": expected 0 to " << array.getCount() - 1;
  return success();
}

/// PTX ISA 9.0, 9.7.13.16.2: counts of arrivals and of bytes have 20 bits.
static constexpr int64_t kMaxCount = (1 << 20) - 1;

static LogicalResult verifyBytes(Operation *op, int64_t bytes) {
  if (bytes > kMaxCount)
    return op->emitOpError("expects ")
           << bytes << " bytes: a phase counts up to " << kMaxCount << ", split the copy";
  return success();
}

LogicalResult BarrierInitOp::verify() {
  if (getCount() > kMaxCount)
    return emitOpError("has a count of ") << getCount() << ": expected 1 to " << kMaxCount;
  return success();
}

LogicalResult BarrierWaitOp::verify() {
  std::optional<int64_t> parity = constantOf(getParity());
  if (parity && *parity != 0 && *parity != 1)
    return emitOpError("has parity ") << *parity << ": expected 0 or 1";
  return verifyIndex(*this, getIndex(), getBarrier().getType());
}

LogicalResult BarrierArriveOp::verify() {
  return verifyIndex(*this, getIndex(), getBarrier().getType());
}

LogicalResult BarrierArriveClusterOp::verify() {
  if (clusterCtas(*this) == 1)
    return emitOpError("arrives at other CTAs' barriers in a kernel without clusters: expected "
                       "known_cluster_size on the gpu.func");
  return verifyIndex(*this, getIndex(), getBarrier().getType());
}

LogicalResult BarrierExpectOp::verify() {
  if (failed(verifyBytes(*this, getBytes())))
    return failure();
  return verifyIndex(*this, getIndex(), getBarrier().getType());
}

LogicalResult BarrierExpectOnlyOp::verify() {
  if (failed(verifyBytes(*this, getBytes())))
    return failure();
  return verifyIndex(*this, getIndex(), getBarrier().getType());
}

/// PTX ISA 9.0, 9.7.13.1: sixteen barriers; the thread count is a multiple of the warp size.
static LogicalResult verifyNamedBarrier(Operation *op, Value id, int64_t threads) {
  std::optional<int64_t> constant = constantOf(id);
  if (constant && (*constant < 0 || *constant > 15))
    return op->emitOpError("names barrier ") << *constant << ": expected 0 to 15";
  if (threads < 32 || threads > 1024 || threads % 32)
    return op->emitOpError("has threads(") << threads << "): expected a multiple of 32 up to 1024";
  return success();
}

LogicalResult NamedBarrierSyncOp::verify() {
  return verifyNamedBarrier(*this, getId(), static_cast<int32_t>(getThreads()));
}
LogicalResult NamedBarrierArriveOp::verify() {
  return verifyNamedBarrier(*this, getId(), static_cast<int32_t>(getThreads()));
}

llvm::SmallVector<Barrier> BarrierInitOp::getBarrierEffects() {
  return {{.kind = Barrier::Kind::Init,
           .side = Barrier::Side::Raw,
           .object = getBarrier(),
           .count = getCount()}};
}
llvm::SmallVector<Barrier> BarrierWaitOp::getBarrierEffects() {
  return {{Barrier::Kind::Wait, Barrier::Side::Raw, getBarrier(), getIndex(), getParity()}};
}
llvm::SmallVector<Barrier> BarrierArriveOp::getBarrierEffects() {
  return {{Barrier::Kind::Arrive, Barrier::Side::Raw, getBarrier(), getIndex()}};
}
llvm::SmallVector<Barrier> BarrierArriveClusterOp::getBarrierEffects() {
  return {{.kind = Barrier::Kind::Arrive,
           .side = Barrier::Side::Raw,
           .object = getBarrier(),
           .index = getIndex(),
           .issuer = Issuer::Warp,
           .everyCta = true}};
}
llvm::SmallVector<Barrier> BarrierExpectOp::getBarrierEffects() {
  return {{Barrier::Kind::Expect, Barrier::Side::Raw, getBarrier(), getIndex(), {}, getBytes()},
          {Barrier::Kind::Arrive, Barrier::Side::Raw, getBarrier(), getIndex()}};
}
llvm::SmallVector<Barrier> BarrierExpectOnlyOp::getBarrierEffects() {
  return {{Barrier::Kind::Expect, Barrier::Side::Raw, getBarrier(), getIndex(), {}, getBytes()}};
}
llvm::SmallVector<Barrier> NamedBarrierSyncOp::getBarrierEffects() {
  return {{.kind = Barrier::Kind::Sync,
           .side = Barrier::Side::Named,
           .object = getId(),
           .count = getThreads()}};
}
llvm::SmallVector<Barrier> NamedBarrierArriveOp::getBarrierEffects() {
  return {{.kind = Barrier::Kind::Arrive,
           .side = Barrier::Side::Named,
           .object = getId(),
           .count = getThreads()}};
}
llvm::SmallVector<AsyncEffect> FenceProxyAsyncOp::getAsyncEffects() {
  return {{AsyncEffect::Kind::Fence, AsyncEffect::Engine::All}};
}
