// Liveness on structured control flow; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LiveRegisters.h"
#include "ProductUnit.h"
#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace girih::wg {

/// Registers of a value; predicates, tensor maps and rings take none.
static int64_t registersOf(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    return registersOf(pending.getTile());
  if (tile::isTile(type)) {
    auto tile = cast<RankedTensorType>(type);
    if (!tile.getEncoding())
      return 0;
    return llvm::divideCeil(
        getLayout(tile).getElementsPerThread() * getStorageBits(tile.getElementType()), 32);
  }
  if (isa<CursorType>(type))
    return 2; // the index and the phase
  if (isa<BufferType, IndexType>(type))
    return 1;
  if (type.isIntOrFloat())
    return type.isInteger(1) ? 0 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 32);
  return isa<LLVM::LLVMPointerType>(type) ? 2 : 0;
}

static bool isLoop(Operation *op) { return isa<scf::ForOp, scf::WhileOp, FillOp, DrainOp>(op); }

/// Whether a value is used at `op` or by what is executed after it.
static bool isAliveAt(Value value, Operation *op) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *owner = use.getOwner();
    if (owner == op)
      return true;
    Operation *here = op, *there = nullptr;
    while (here && !(there = here->getBlock()->findAncestorOpInBlock(*owner)))
      here = here->getParentOp();
    if (!there)
      return false;
    // A loop needs its bounds as long as it runs; what it carries has become an argument.
    if (there == here)
      return isLoop(here) && value.getType().isIntOrIndex();
    if (here->isBeforeInBlock(there))
      return true;
    // What stands before is executed again in a loop, with values from outside of it.
    for (Operation *loop = here->getParentOp(); loop && !isa<RoleOp>(loop);
         loop = loop->getParentOp())
      if (isLoop(loop) && !loop->isAncestor(value.getParentBlock()->getParentOp()))
        return true;
    return false;
  });
}

/// What a value keeps alive: itself, or what it is repeated from. Null for constants.
static Value keptFor(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (matchPattern(op, m_Constant()) || isa<tile::IotaOp>(op))
      return {};
    if (!isa<tile::BroadcastOp, tile::ExpandOp, tensor::SplatOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<LiveValue> liveAt(Operation *op) {
  llvm::SetVector<Value> alive;
  auto consider = [&](Value value) {
    if (!isAliveAt(value, op))
      return;
    // A fresh accumulator holds nothing until a product writes it.
    if (auto acc = value.getDefiningOp<AccOp>();
        acc && !acc.getFrom() && !llvm::is_contained(op->getOperands(), value))
      return;
    if (Value kept = keptFor(value))
      alive.insert(kept);
  };
  for (Operation *here = op; here && !isa<gpu::GPUFuncOp>(here); here = here->getParentOp()) {
    Block *block = here->getBlock();
    if (!isa<gpu::GPUFuncOp>(block->getParentOp()))
      for (Value argument : block->getArguments())
        consider(argument);
    for (Operation &before : *block) {
      if (&before == here)
        break;
      for (Value result : before.getResults())
        consider(result);
    }
  }
  SmallVector<LiveValue> values;
  for (Value value : alive)
    if (int64_t registers = registersOf(value.getType()))
      values.push_back({value, registers});
  return values;
}

int64_t sumOf(ArrayRef<LiveValue> values) {
  return std::accumulate(values.begin(), values.end(), int64_t(0),
                         [](int64_t sum, const LiveValue &live) { return sum + live.registers; });
}

} // namespace girih::wg
