//===- CodeGen.h - From a gpu.module in the nvvm phase to PTX
//-------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps, each a function so that a tool can stop after any of them:
//
//   translate      gpu.module (llvm and nvvm dialects) -> llvm::Module for nvptx64
//   markConvergent every inline-asm call and every function, before any LLVM pass
//   linkLibdevice  only the __nv_ functions that are used
//   optimize       an O3 of our own choice of passes, tuned for compile time
//   emitPTX        LLVM's NVPTX backend
//
// Locations.h is used between them. Nothing here touches the disk, except linkLibdevice, which
// reads the bitcode once per process.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_CODEGEN_H
#define GIRIH_TARGET_CODEGEN_H

#include "girih/Target/Diagnostic.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class Operation;
} // namespace mlir

namespace girih::target {

/// What a module is compiled for, read from #nvvm.target.
struct TargetSpec {
  std::string chip = "sm_90a";
  std::string features = "+ptx80"; ///< LLVM's; carries the PTX version
  int optLevel = 3;
};

/// Registers LLVM's NVPTX backend; call once per process, more often is harmless.
void initializeBackend();

/// Registers what translate() needs to see of the llvm, nvvm, gpu and builtin dialects.
void registerTranslations(mlir::DialectRegistry &registry);

/// The target of `gpuModule`, from its one #nvvm.target attribute. `arch`, if not empty, replaces
/// the chip. Errors: no such attribute, more than one, a chip that girih has no code generation
/// for.
std::optional<TargetSpec> targetOf(mlir::Operation *gpuModule, const std::string &arch,
                                   std::vector<Diagnostic> &diagnostics);

/// Null with a diagnostic if LLVM has no such target.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const TargetSpec &spec,
                                                         std::vector<Diagnostic> &diagnostics);

/// Null with a diagnostic if an op has no translation (the module is in an earlier phase). MLIR's
/// own diagnostics go to the context's handler.
std::unique_ptr<llvm::Module> translate(mlir::Operation *gpuModule, llvm::LLVMContext &context,
                                        const llvm::TargetMachine &machine, bool verify,
                                        std::vector<Diagnostic> &diagnostics);

/// Marks every inline-asm call, every function with a body and every call of one as convergent.
/// Without it LLVM duplicates a `bar.sync` in asm into both arms of a divergent branch: asm calls
/// are not convergent unless marked, and MLIR's nvvm ops that print asm do not mark theirs.
void markConvergent(llvm::Module &module);

/// Links the functions of libdevice that `module` declares and does not define. Nothing is read if
/// it declares none. An error if one is missing or `path` is not readable.
bool linkLibdevice(llvm::Module &module, const std::string &path,
                   std::vector<Diagnostic> &diagnostics);

/// Optimises in place. Device functions other than kernels become internal and are inlined unless
/// they are marked noinline, since a call that stays serialises wgmma (ptxas C7509).
void optimize(llvm::Module &module, llvm::TargetMachine &machine, int optLevel);

/// PTX text; nothing, with a diagnostic, if the backend reported an error.
std::optional<std::string> emitPTX(llvm::Module &module, llvm::TargetMachine &machine,
                                   std::vector<Diagnostic> &diagnostics);

} // namespace girih::target

#endif // GIRIH_TARGET_CODEGEN_H
