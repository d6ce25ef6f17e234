// verify-wg-phase: tiles have layouts that threads can hold, products are wgmmas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LayoutProblem.h"

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

/// A thread has 255 registers (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability"). What is loaded and stored again at once may exceed them; a tile that takes several
/// times as many cannot be meant, and would keep the compiler busy for a minute.
constexpr int64_t kRegisters = 255, kMost = 4 * kRegisters;

/// How many registers a tile takes of each thread; 0 for what costs none.
static int64_t registersOf(Operation *op) {
  int64_t most = 0;
  for (Type type : op->getResultTypes())
    if (isTile(type) && !isFreeTile(op)) {
      auto tile = cast<RankedTensorType>(type);
      int64_t bits = std::max<int64_t>(8, tile.getElementTypeBitWidth());
      most = std::max<int64_t>(most, getLayout(tile).getElementsPerThread() * bits / 32);
    }
  return most;
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
      if (int64_t registers = registersOf(op); registers > kMost) {
        op->emitError("this tile takes ")
            << registers << " registers of each thread, which has " << kRegisters
            << "; expected a smaller tile, or more warps: gr.tiles(..., warps=8)";
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
