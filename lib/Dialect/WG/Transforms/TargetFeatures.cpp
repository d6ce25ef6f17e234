// The features of a module's target.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace girih::wg {

FailureOr<target::TargetFeatures> targetFeatures(gpu::GPUModuleOp module) {
  ArrayAttr targets = module.getTargetsAttr();
  if (!targets || targets.size() != 1 || !isa<NVVM::NVVMTargetAttr>(targets[0])) {
    module.emitError("expected one #nvvm.target on the module, found ")
        << (targets ? Twine(targets.size()) : Twine("none")) << "; write gpu.module @"
        << module.getName() << " [#nvvm.target<chip = \"sm_90a\">]";
    return failure();
  }
  return target::TargetFeatures(cast<NVVM::NVVMTargetAttr>(targets[0]).getChip());
}

} // namespace girih::wg
