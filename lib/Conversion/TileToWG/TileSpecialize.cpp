// tile-specialize: which kernels get roles, and by which rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Roles.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_TILESPECIALIZE
#include "girih/Conversion/TileToWG/Passes.h.inc"

bool isInTilePhase(gpu::GPUFuncOp kernel) {
  return kernel.isKernel() && !kernel.getKnownBlockSize() &&
         !kernel.walk([](SpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

namespace {
struct TileSpecialize : impl::TileSpecializeBase<TileSpecialize> {
  using TileSpecializeBase::TileSpecializeBase;
  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp kernel) { kernels.push_back(kernel); });
    for (gpu::GPUFuncOp kernel : kernels) {
      if (!isInTilePhase(kernel)) {
        multiplyInRoles(kernel);
        continue;
      }
      if (SmallVector<TeamOp> teams = teamsOf(kernel); !teams.empty()) {
        if (failed(specializeTeams(kernel, teams)))
          return signalPassFailure();
        continue;
      }
      SmallVector<tile::DotOp> dots = productsOf(kernel);
      expandProducts(kernel, dots, chooseUnit);
      repeatRowsOfProducts(dots);
      if (failed(dots.empty() ? specializeWithoutProducts(kernel)
                              : specializeProducts(kernel, keepOperands)))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace girih::wg
