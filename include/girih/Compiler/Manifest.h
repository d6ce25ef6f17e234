//===- Manifest.h - What a package says about itself
//----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the manifest that girih/Runtime/Manifest.h reads: parameters of the call, kernels with
// their resources, and the host plan as a list of steps.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_COMPILER_MANIFEST_H
#define GIRIH_COMPILER_MANIFEST_H

#include "girih/Target/Diagnostic.h"
#include "girih/Target/Ptxas.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace girih::compiler {

/// The manifest of `module`, which is in the nvvm phase with its plan.host left in place. Errors:
/// no plan.host or several, a plan without a launch, a launch of a kernel that the module does not
/// have, an op of the plan that the runtime cannot interpret.
std::optional<std::string> writeManifest(mlir::ModuleOp module, const std::string &arch,
                                         const target::PtxasOutput &resources,
                                         std::vector<target::Diagnostic> &diagnostics);

/// Whether writeManifest can find a plan that launches something; called before any work is done.
bool checkPlan(mlir::ModuleOp module, std::vector<target::Diagnostic> &diagnostics);

/// What a package of `module` is called: its plan.host's name, else its gpu.module's.
std::string packageName(mlir::ModuleOp module);

/// The dynamic shared memory that a kernel needs, in bytes: its attribute `wg.shared_bytes`.
int64_t dynamicSharedBytes(mlir::ModuleOp module);

} // namespace girih::compiler

#endif // GIRIH_COMPILER_MANIFEST_H
