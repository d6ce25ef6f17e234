// Which ops take part in the protocol, and which values they need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

/// Values that have registers.
bool isTracked(Type type) { return isa<IntegerType, IndexType, BarrierType, BufferType>(type); }

} // namespace

bool hasEvent(Operation *op) {
  if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
    if (!barriers.getBarrierEffects().empty())
      return true;
  if (auto async = dyn_cast<AsyncEffectOpInterface>(op))
    if (!async.getAsyncEffects().empty())
      return true;
  if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
    if (!accesses.getBufferAccesses().empty())
      return true;
  return isa<gpu::BarrierOp, SetRegistersOp>(op);
}

void Writer::giveUp(Operation *op, const Twine &reason) {
  if (!undecided)
    undecided = Undecided{op->getLoc(), reason.str()};
}

void Writer::findEvents(Block &body) {
  body.walk([&](Operation *op) {
    if (!hasEvent(op))
      return;
    events.insert(op);
    relevant.insert(op);
    for (Operation *at = op; at->getBlock() != &body;) {
      at = at->getParentOp();
      relevant.insert(at);
      if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(at))
        giveUp(at, "it has parts of the protocol inside '" + at->getName().getStringRef() +
                       "', which the checker does not follow");
    }
  });
}

void Writer::want(Value value) {
  if (value && isTracked(value.getType()) && needed.insert(value).second)
    worklist.push_back(value);
}

void Writer::needOperands(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    want(loop.getLowerBound());
    want(loop.getUpperBound());
    want(loop.getStep());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    want(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    want(loop.getConditionOp().getCondition());
  } else {
    // An event: its integers, barriers and buffers.
    if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
      for (const BarrierEffect &effect : barriers.getBarrierEffects())
        for (Value value : {effect.object, effect.index, effect.parity})
          want(value);
    if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
      for (const BufferAccess &access : accesses.getBufferAccesses())
        want(access.buffer);
  }
}

void Writer::needLoopValue(scf::ForOp loop, unsigned index) {
  want(loop.getInitArgs()[index]);
  want(loop.getYieldedValues()[index]);
  want(loop.getRegionIterArgs()[index]);
  if (relevant.insert(loop))
    needOperands(loop);
}

void Writer::need(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (argument.getArgNumber() > 0)
        needLoopValue(loop, argument.getArgNumber() - 1);
      else if (relevant.insert(loop))
        needOperands(loop);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      needWhile(loop);
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    needLoopValue(loop, result);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    needWhile(loop);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (relevant.insert(branch))
      needOperands(branch);
    want(branch.thenYield().getOperand(result));
    want(branch.elseYield().getOperand(result));
  } else {
    for (Value operand : op->getOperands())
      want(operand);
  }
}

void Writer::needWhile(scf::WhileOp loop) {
  if (relevant.insert(loop))
    needOperands(loop);
  for (Value value : loop.getInits())
    want(value);
  for (Value value : loop.getConditionOp().getArgs())
    want(value);
  for (Value value : loop.getYieldOp().getResults())
    want(value);
  for (Value value : loop.getBeforeArguments())
    want(value);
  for (Value value : loop.getAfterArguments())
    want(value);
}

} // namespace girih::wg::check
