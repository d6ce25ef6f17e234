// verify-wg-phase: tiles have layouts, products are wgmmas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/TileToWG/TileToWG.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_VERIFYWGPHASE
#include "girih/Conversion/TileToWG/Passes.h.inc"

static bool lacksLayout(Type type) { return tile::isTile(type) && !isTile(type); }

/// The first type among results and arguments of blocks that is a tile without a layout.
static Type findOpenTile(Operation *op) {
  for (Type type : op->getResultTypes())
    if (lacksLayout(type))
      return type;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (lacksLayout(type))
          return type;
  return {};
}

namespace {
struct VerifyWGPhase : impl::VerifyWGPhaseBase<VerifyWGPhase> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (isa<tile::DotOp>(op)) {
        op->emitOpError(
            "is left in the wg phase; expected tile-specialize to have made a wg.mma or "
            "wg.mma_sync of it");
        return WalkResult::interrupt();
      }
      if (isa<TeamOp>(op)) {
        op->emitOpError("is left in the wg phase; expected tile-specialize to have made roles of "
                        "it, in a kernel that has none yet");
        return WalkResult::interrupt();
      }
      if (Type type = findOpenTile(op)) {
        op->emitOpError("has a tile without a layout in the wg phase, ")
            << type << "; expected wg-assign-layouts to have given it one";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
