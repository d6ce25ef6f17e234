// Dependences through structured control flow; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BackwardSlice.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace girih::wg {

void BackwardSlice::addOp(Operation *op) {
  if ((isEnd && isEnd(op)) || !ops.insert(op).second)
    return;
  // The op runs where its parents let it.
  Operation *parent = op->getParentOp();
  if (!isa<gpu::GPUFuncOp>(parent))
    addOp(parent);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      addValue(bound);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addOp(loop.getConditionOp());
  } else if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    addValue(condition.getCondition());
  } else {
    for (Value operand : op->getOperands())
      addValue(operand);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          addValue(operand);
    });
  }
}

void BackwardSlice::addValue(Value value) {
  if (!values.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (isa<gpu::GPUFuncOp>(parent))
      return;
    addOp(parent);
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (number > 0)
        addCarried(loop, number - 1);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      bool before = argument.getOwner() == loop.getBeforeBody();
      addCarried(before ? parent : loop.getConditionOp().getOperation(), number);
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  addOp(op);
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    addCarried(loop.getConditionOp(), number);
  else if (isa<scf::ForOp, scf::IfOp>(op))
    addCarried(op, number);
}

void BackwardSlice::addCarried(Operation *op, unsigned index) {
  if (!carried.insert({op, index}).second)
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addValue(loop.getInitArgs()[index]);
    addValue(loop.getYieldedValues()[index]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.thenYield().getOperand(index));
    addValue(branch.elseYield().getOperand(index));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getInits()[index]);
    addValue(loop.getYieldOp().getOperand(index));
  } else if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    addValue(condition.getArgs()[index]);
  }
}

} // namespace girih::wg
