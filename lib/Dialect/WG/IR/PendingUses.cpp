// Who may read a pending tile: wg.mma, wg.wait, and what carries it to them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PendingUses.h"

#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace girih::wg;

LogicalResult girih::wg::verifyPendingUses(Value pending) {
  SmallVector<Value> list{pending};
  for (size_t i = 0; i < list.size(); ++i) {
    Value value = list[i];
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto loop = dyn_cast<LoopLikeOpInterface>(user)) {
        // Follow the carried value: the results of upstream's loops are nobody's to verify.
        if (BlockArgument inside = loop.getTiedLoopRegionIterArg(&use))
          list.push_back(inside);
        if (OpResult after = loop.getTiedLoopResult(&use))
          list.push_back(after);
        continue;
      }
      // Ops of this dialect say themselves what they take.
      if (isa<WGDialect>(user->getDialect()) || user->hasTrait<OpTrait::IsTerminator>() ||
          isa<UnrealizedConversionCastOp, CallOpInterface>(user))
        continue;
      InFlightDiagnostic error = user->emitOpError(
          "reads a pending tile, which a wgmma may still be writing: wg.wait it first");
      error.attachNote(pending.getLoc()) << "the tile is pending since here";
      return error;
    }
  }
  return success();
}
