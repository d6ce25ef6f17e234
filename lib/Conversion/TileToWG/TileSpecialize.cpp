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

static bool hasProducts(gpu::GPUFuncOp kernel) {
  return kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

namespace {
struct TileSpecialize : impl::TileSpecializeBase<TileSpecialize> {
  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp kernel) {
      if (isInTilePhase(kernel))
        kernels.push_back(kernel);
    });
    for (gpu::GPUFuncOp kernel : kernels) {
      expandProducts(kernel);
      repeatRowsOfProducts(kernel);
      if (failed(hasProducts(kernel) ? specializeProducts(kernel)
                                     : specializeWithoutProducts(kernel)))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace girih::wg
