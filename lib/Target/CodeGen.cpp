//===- CodeGen.cpp - Translation to LLVM IR and the way from it to PTX
//---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/CodeGen.h"
#include "girih/Target/TargetFeatures.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace girih;
using namespace girih::target;

void target::initializeBackend() {
  static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)once;
}

void target::registerTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

std::optional<TargetSpec> target::targetOf(mlir::Operation *gpuModule, const std::string &arch,
                                           std::vector<Diagnostic> &diagnostics) {
  auto module = llvm::cast<mlir::gpu::GPUModuleOp>(gpuModule);
  TargetSpec spec;
  unsigned found = 0;
  if (auto targets = module.getTargetsAttr())
    for (mlir::Attribute attribute : targets)
      if (auto nvvm = llvm::dyn_cast<mlir::NVVM::NVVMTargetAttr>(attribute)) {
        ++found;
        spec.chip = nvvm.getChip().str();
        spec.features = nvvm.getFeatures().str();
        spec.optLevel = nvvm.getO();
      }
  if (found != 1) {
    diagnostics.push_back(makeError(
        "gpu.module @" + module.getName().str() + " has " + std::to_string(found) +
        " #nvvm.target attributes, expected one: write gpu.module @" + module.getName().str() +
        " [#nvvm.target<chip = \"sm_90a\", features = \"+ptx80\">]"));
    return std::nullopt;
  }
  if (!arch.empty())
    spec.chip = arch;
  if (!TargetFeatures(spec.chip).hasWgmma()) {
    diagnostics.push_back(makeError("unknown architecture '" + spec.chip +
                                    "': girih generates code for sm_90a (the suffix counts: wgmma "
                                    "and setmaxnreg do not exist on plain sm_90)"));
    return std::nullopt;
  }
  return spec;
}

std::unique_ptr<llvm::TargetMachine>
target::createTargetMachine(const TargetSpec &spec, std::vector<Diagnostic> &diagnostics) {
  initializeBackend();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    diagnostics.push_back(makeError("LLVM has no NVPTX backend: " + error));
    return nullptr;
  }
  llvm::TargetOptions options;
  // What the kernel's author did not ask for is not contracted; ptxas has --fmad of its own and
  // obeys the .rn that LLVM prints then.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // What Aggressive adds are two rounds of value numbering, which find nothing after our own
  // passes.
  auto level = spec.optLevel >= 2   ? llvm::CodeGenOptLevel::Default
               : spec.optLevel == 1 ? llvm::CodeGenOptLevel::Less
                                    : llvm::CodeGenOptLevel::None;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, spec.chip, spec.features, options, std::nullopt, std::nullopt, level));
}

std::unique_ptr<llvm::Module> target::translate(mlir::Operation *gpuModule,
                                                llvm::LLVMContext &context,
                                                const llvm::TargetMachine &machine, bool verify,
                                                std::vector<Diagnostic> &diagnostics) {
  // Unknown ops make MLIR's translation emit an error of its own; what it says of an op without an
  // interface is about MLIR's insides, so the phase is checked first.
  mlir::Operation *early = nullptr;
  gpuModule->walk([&](mlir::Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (op == gpuModule || dialect == "llvm" || dialect == "nvvm" ||
        llvm::isa<mlir::gpu::GPUModuleOp>(op))
      return mlir::WalkResult::advance();
    early = op;
    return mlir::WalkResult::interrupt();
  });
  if (early) {
    early->emitError("'" + early->getName().getStringRef() +
                     "' is left after the passes; expected only llvm and nvvm operations");
    return nullptr;
  }
  auto module = mlir::translateModuleToLLVMIR(gpuModule, context, "girih",
                                              /*disableVerification=*/!verify);
  if (!module) {
    if (diagnostics.empty())
      diagnostics.push_back(makeError("the module could not be translated to LLVM IR"));
    return nullptr;
  }
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  // Neither name may carry a path or differ between two compilations of the same text.
  module->setSourceFileName("girih");
  return module;
}

void target::markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (!function.isDeclaration())
      function.setConvergent();
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call)
        continue;
      const llvm::Function *callee = call->getCalledFunction();
      if (call->isInlineAsm() || (callee && !callee->isIntrinsic()))
        call->setConvergent();
    }
  }
}

namespace {
/// Collects what LLVM reports while a module is compiled; the default handler would exit on an
/// error.
struct Collector : llvm::DiagnosticHandler {
  explicit Collector(std::vector<Diagnostic> &diagnostics) : diagnostics(diagnostics) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error && info.getSeverity() != llvm::DS_Warning)
      return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    Diagnostic diagnostic = makeError("LLVM: " + text);
    if (info.getSeverity() == llvm::DS_Warning)
      diagnostic.severity = Severity::Warning;
    else
      failed = true;
    diagnostics.push_back(std::move(diagnostic));
    return true;
  }
  std::vector<Diagnostic> &diagnostics;
  bool failed = false;
};
} // namespace

/// LLVM prints a debug section without contents even where it prints only .loc.
static std::string withoutEmptySections(llvm::StringRef ptx) {
  auto [before, after] = ptx.split("\t.section\t.debug_macinfo\t{\t}\n");
  return (before + after).str();
}

std::optional<std::string> target::emitPTX(llvm::Module &module, llvm::TargetMachine &machine,
                                           std::vector<Diagnostic> &diagnostics) {
  llvm::LLVMContext &context = module.getContext();
  auto handler = std::make_unique<Collector>(diagnostics);
  Collector *collector = handler.get();
  auto previous = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::move(handler));

  llvm::SmallString<0> text;
  text.reserve(1 << 18);
  bool unsupported;
  {
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    unsupported =
        machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                    /*DisableVerify=*/true);
    if (!unsupported)
      passes.run(module);
  }
  bool failed = collector->failed;
  context.setDiagnosticHandler(std::move(previous));
  if (unsupported) {
    diagnostics.push_back(makeError("LLVM's NVPTX backend cannot print assembly"));
    return std::nullopt;
  }
  if (failed)
    return std::nullopt;
  return withoutEmptySections(text);
}
