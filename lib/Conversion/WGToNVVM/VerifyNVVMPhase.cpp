// verify-nvvm-phase: the end of the nvvm phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/WGToNVVM.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_VERIFYNVVMPHASE
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

namespace {
struct VerifyNVVMPhase : impl::VerifyNVVMPhaseBase<VerifyNVVMPhase> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](Operation *op) {
      if (op == getOperation() ||
          isa_and_present<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError("is left after the nvvm phase, which holds llvm and nvvm ops only");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
    else
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace girih::wg
