// The end of the wg phase: passes, and the pieces of the conversion for those who build their own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_WGTONVVM_H
#define GIRIH_CONVERSION_WGTONVVM_WGTONVVM_H

#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/Pass/Pass.h"

namespace girih::wg {

#define GEN_PASS_DECL
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

/// Converts every kernel of `module`; see `convert-wg-to-nvvm`. Fails with an error where something
/// cannot be said on the module's target.
mlir::LogicalResult convertWGToNVVM(mlir::gpu::GPUModuleOp module);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_WGTONVVM_H
