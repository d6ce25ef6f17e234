// Follows a cursor back to its start, so that a cursor of the wrong ring or end is an error where
// it is used.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/IR/CursorOrigin.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace girih::wg;

/// One step back from a block argument: the value with which the loop starts.
static Value stepBack(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  auto ofRingLoop = [&](auto loop) -> Value {
    int64_t index = static_cast<int64_t>(argument.getArgNumber()) - 1 -
                    static_cast<int64_t>(loop.getRing().getType().getBuffers().size());
    return index < 0 || index >= static_cast<int64_t>(loop.getInits().size())
               ? Value()
               : loop.getInits()[index];
  };
  if (auto fill = dyn_cast<FillOp>(parent))
    return ofRingLoop(fill);
  if (auto drain = dyn_cast<DrainOp>(parent))
    return ofRingLoop(drain);
  if (auto loop = dyn_cast_if_present<LoopLikeOpInterface>(parent))
    if (OpOperand *init = loop.getTiedLoopInit(argument))
      return init->get();
  return {};
}

/// One step back from an op's result.
static Value stepBack(OpResult result) {
  Operation *op = result.getOwner();
  auto ofRingLoop = [&](auto loop) -> Value {
    return result.getResultNumber() == 0 ? loop.getCursor()
                                         : loop.getInits()[result.getResultNumber() - 1];
  };
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return advance.getCursor();
  if (auto fill = dyn_cast<FillOp>(op))
    return ofRingLoop(fill);
  if (auto drain = dyn_cast<DrainOp>(op))
    return ofRingLoop(drain);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch.thenYield().getOperand(result.getResultNumber());
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    if (OpOperand *init = loop.getTiedLoopInit(result))
      return init->get();
  return {};
}

std::optional<CursorOp> girih::wg::findCursorOrigin(Value cursor) {
  llvm::SmallPtrSet<Value, 8> seen; // IR that is still being verified may hold cycles
  while (cursor && seen.insert(cursor).second) {
    if (auto start = cursor.getDefiningOp<CursorOp>())
      return start;
    if (auto result = dyn_cast<OpResult>(cursor))
      cursor = stepBack(result);
    else
      cursor = stepBack(cast<BlockArgument>(cursor));
  }
  return std::nullopt;
}

LogicalResult girih::wg::verifyCursor(Operation *op, Value ring, Value cursor,
                                      std::optional<CursorEnd> end) {
  std::optional<CursorOp> start = findCursorOrigin(cursor);
  if (!start)
    return success();
  if (start->getRing() != ring) {
    InFlightDiagnostic error = op->emitOpError(
        "takes a cursor of another ring: each ring has its own, which starts at a wg.cursor of it");
    error.attachNote(start->getLoc()) << "the cursor starts here";
    return error;
  }
  if (end && start->getEnd() != *end) {
    InFlightDiagnostic error = op->emitOpError("expects a cursor of the ring's ")
                               << stringifyCursorEnd(*end) << ", found one of its "
                               << stringifyCursorEnd(start->getEnd())
                               << ": filling and draining each carry their own";
    error.attachNote(start->getLoc()) << "the cursor starts here";
    return error;
  }
  return success();
}
