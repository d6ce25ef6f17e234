//===- Compiler.cpp - From module text to a kernel package
//----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Compiler/Compiler.h"
#include "PassTimes.h"
#include "Phases.h"
#include "girih/Compiler/Manifest.h"
#include "girih/Image/Image.h"
#include "girih/Pipelines/Pipelines.h"
#include "girih/Target/ChildProcess.h"
#include "girih/Target/CodeGen.h"
#include "girih/Target/DeviceFunctions.h"
#include "girih/Target/Locations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>
#include <map>

using namespace girih;
using namespace girih::compiler;
using target::Diagnostic;
using target::makeError;

bool Emit::set(std::string_view what) {
  const std::pair<std::string_view, bool Emit::*> fields[] = {
      {"tile", &Emit::tile}, {"wg", &Emit::wg},       {"nvvm", &Emit::nvvm}, {"llvm", &Emit::llvm},
      {"ptx", &Emit::ptx},   {"image", &Emit::image}, {"sass", &Emit::sass}};
  for (auto [name, field] : fields)
    if (name == what) {
      this->*field = true;
      image |= sass;
      return true;
    }
  return false;
}

namespace {
/// Adds the time from its construction to its destruction to a field.
class Stopwatch {
public:
  explicit Stopwatch(double &milliseconds) : milliseconds(milliseconds) {}
  ~Stopwatch() {
    milliseconds += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  double &milliseconds;
  Clock::time_point begin = Clock::now();
};

Diagnostic fromMLIR(const mlir::Diagnostic &from) {
  Diagnostic diagnostic;
  switch (from.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    diagnostic.severity = target::Severity::Error;
    break;
  case mlir::DiagnosticSeverity::Warning:
    diagnostic.severity = target::Severity::Warning;
    break;
  case mlir::DiagnosticSeverity::Remark:
    diagnostic.severity = target::Severity::Remark;
    break;
  case mlir::DiagnosticSeverity::Note:
    diagnostic.severity = target::Severity::Note;
    break;
  }
  diagnostic.message = from.str();
  diagnostic.places = target::placesOf(from.getLocation());
  for (const mlir::Diagnostic &note : from.getNotes())
    // MLIR adds the whole op as a note; of a kernel that is the module's text.
    if (note.str().rfind("see current operation", 0) != 0)
      diagnostic.notes.push_back(fromMLIR(note));
  return diagnostic;
}

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  stream << "\n";
  return text;
}
} // namespace

struct Compiler::Impl {
  Impl() { renew(); }

  /// A fresh context. Attributes, types and locations of past modules live as long as their
  /// context.
  void renew() {
    mlir::DialectRegistry registry;
    registerPhases(registry);
    target::registerTranslations(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    compilations = 0;
  }

  llvm::TargetMachine *machineFor(const target::TargetSpec &spec,
                                  std::vector<Diagnostic> &diagnostics) {
    auto &machine = machines[spec.chip + " " + spec.features + " " + std::to_string(spec.optLevel)];
    if (!machine)
      machine = target::createTargetMachine(spec, diagnostics);
    return machine.get();
  }

  void run(std::string_view text, const Options &options, Result &result);
  bool lower(mlir::ModuleOp module, Result &result);
  bool generate(mlir::ModuleOp module, mlir::gpu::GPUModuleOp device, const Options &options,
                const target::TargetSpec &spec, image::LocationTable &table, Result &result);
  bool assemble(mlir::ModuleOp module, const Options &options, const target::TargetSpec &spec,
                const image::LocationTable &table, Result &result);
  bool addDeviceFunctions(mlir::gpu::GPUModuleOp device, const target::Toolchain &tools,
                          const target::TargetSpec &spec, Result &result);
  void disassemble(const target::Toolchain &tools, Result &result);

  std::unique_ptr<mlir::MLIRContext> context;
  unsigned compilations = 0;
  std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
};

Compiler::Compiler() : impl(std::make_unique<Impl>()) { target::initializeBackend(); }
Compiler::~Compiler() = default;

Result Compiler::compile(std::string_view text, const Options &options) {
  // Attributes, types and locations of a GEMM leave about 10 KB in the context.
  constexpr unsigned compilationsPerContext = 4096;
  if (impl->compilations++ >= compilationsPerContext)
    impl->renew();

  Result result;
  {
    Stopwatch total(result.timings.total);
    mlir::ScopedDiagnosticHandler handler(impl->context.get(), [&](mlir::Diagnostic &diagnostic) {
      if (options.remarks || diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
        result.diagnostics.push_back(fromMLIR(diagnostic));
    });
    try {
      impl->run(text, options, result);
    } catch (const image::Error &error) {
      result.ok = false;
      result.diagnostics.push_back(makeError(std::string("the image: ") + error.what()));
    }
  }
  if (!result.ok && result.diagnostics.empty())
    result.diagnostics.push_back(makeError("the compiler failed without a reason; please report it "
                                           "with the module's text"));
  return result;
}

void Compiler::Impl::run(std::string_view text, const Options &options, Result &result) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    Stopwatch watch(result.timings.parse);
    mlir::ParserConfig config(context.get());
    module = mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text.data(), text.size()),
                                                     config, options.fileName);
  }
  if (!module)
    return;
  if (options.emit.tile)
    result.tile = printed(*module);

  auto devices = llvm::to_vector(module->getOps<mlir::gpu::GPUModuleOp>());
  if (devices.size() != 1) {
    result.diagnostics.push_back(makeError("the module has " + std::to_string(devices.size()) +
                                           " gpu.module operations, expected one"));
    return;
  }
  auto spec = target::targetOf(devices.front(), options.arch, result.diagnostics);
  if (!spec)
    return;
  if (options.emit.image && !checkPlan(*module, result.diagnostics))
    return;
  result.name = packageName(*module);

  auto run = [&](void (*build)(mlir::OpPassManager &, const Options &)) {
    Stopwatch watch(result.timings.passes);
    mlir::PassManager passes(context.get());
    // Verified once behind the last pass, not behind each of them; girih-opt does the latter.
    passes.enableVerifier(false);
    if (options.timing)
      passes.addInstrumentation(std::make_unique<PassTimes>(result.passTimes));
    build(passes, options);
    return mlir::succeeded(passes.run(*module)) && mlir::succeeded(mlir::verify(*module));
  };
  if (needsTilePasses(*module) && !run(buildTilePasses))
    return;
  if (options.emit.wg)
    result.wg = printed(*module);
  if (needsPasses(*module) && !run(buildPasses))
    return;
  if (options.emit.nvvm)
    result.nvvm = printed(*module);
  const Emit &emit = options.emit;
  if (!emit.llvm && !emit.ptx && !emit.image) {
    result.ok = true;
    return;
  }
  // The passes may have replaced the gpu.module.
  mlir::gpu::GPUModuleOp device = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
  image::LocationTable table;
  if (!generate(*module, device, options, *spec, table, result))
    return;
  result.ok = !emit.image || assemble(*module, options, *spec, table, result);
  if (result.ok && emit.sass)
    disassemble(options.tools, result);
}

bool Compiler::Impl::generate(mlir::ModuleOp module, mlir::gpu::GPUModuleOp device,
                              const Options &options, const target::TargetSpec &spec,
                              image::LocationTable &table, Result &result) {
  Stopwatch watch(result.timings.llvm);
  llvm::TargetMachine *machine = machineFor(spec, result.diagnostics);
  if (!machine)
    return false;
  llvm::LLVMContext llvmContext;
  llvmContext.setDiscardValueNames(!options.emit.llvm);
  target::attachDebugScopes(device);
  auto llvmModule = target::translate(device, llvmContext, *machine,
                                      /*verify=*/options.emit.llvm, result.diagnostics);
  if (!llvmModule)
    return false;
  target::markConvergent(*llvmModule);
  if (!target::linkLibdevice(*llvmModule, options.tools.libdevice, result.diagnostics))
    return false;
  bool plain = llvm::is_contained(options.without, "optimize");
  target::optimize(*llvmModule, *machine, plain ? 0 : spec.optLevel);
  table = target::numberLocations(*llvmModule, target::declaredSources(module));
  if (options.emit.llvm) {
    llvm::raw_string_ostream stream(result.llvm);
    llvmModule->print(stream, nullptr);
  }
  if (!options.emit.ptx && !options.emit.image)
    return true;
  auto ptx = target::emitPTX(*llvmModule, *machine, result.diagnostics);
  if (!ptx)
    return false;
  result.ptx = std::move(*ptx);
  return addDeviceFunctions(device, options.tools, spec, result);
}

/// Functions of the user's in CUDA C++: declared in the module, with their text.
bool Compiler::Impl::addDeviceFunctions(mlir::gpu::GPUModuleOp device,
                                        const target::Toolchain &tools,
                                        const target::TargetSpec &spec, Result &result) {
  std::vector<target::DeviceSource> sources;
  std::vector<std::string> names;
  for (auto function : device.getOps<mlir::LLVM::LLVMFuncOp>()) {
    auto cuda = function->getAttrOfType<mlir::DictionaryAttr>("girih.cuda");
    if (!cuda)
      continue;
    auto text = [&](llvm::StringRef key) {
      auto value = cuda.getAs<mlir::StringAttr>(key);
      return value ? value.str() : std::string();
    };
    auto line = cuda.getAs<mlir::IntegerAttr>("line");
    target::DeviceSource source{text("source"), text("file"), line ? line.getInt() : 1, {}};
    // One text may hold several functions, and is compiled once.
    auto same = llvm::find_if(sources, [&](const target::DeviceSource &other) {
      return other.source == source.source && other.file == source.file &&
             other.line == source.line;
    });
    if (same == sources.end())
      same = sources.insert(sources.end(), std::move(source));
    same->wrappers.push_back(text("wrapper"));
    names.push_back(function.getName().str());
  }
  for (auto [index, source] : llvm::enumerate(sources)) {
    auto ptx = target::compileDeviceSource(source, tools, spec.chip, result.diagnostics);
    if (!ptx)
      return false;
    result.ptx = target::mergeFunctions(result.ptx, *ptx, names, "__" + std::to_string(index));
  }
  return true;
}

bool Compiler::Impl::assemble(mlir::ModuleOp module, const Options &options,
                              const target::TargetSpec &spec, const image::LocationTable &table,
                              Result &result) {
  target::PtxasRun run;
  {
    Stopwatch watch(result.timings.ptxas);
    run = target::runPtxas(options.tools, result.ptx, spec.chip);
  }
  auto complaints = target::judge(run.output, result.ptx, table, target::builtinAllowList());
  for (const target::FunctionResources &function : run.output.functions)
    if (function.isKernel)
      result.resources.push_back(function);
  result.ptxasMessages = run.output.messages;
  result.dynamicSharedBytes = dynamicSharedBytes(module);
  // Code that does without a step is for comparing results: that it would be slow is to be
  // expected.
  bool tolerant = !options.without.empty();
  for (Diagnostic &complaint : complaints) {
    if (tolerant)
      complaint.severity = target::Severity::Remark;
    if (!tolerant || options.remarks)
      result.diagnostics.push_back(complaint);
  }
  if (!run.failure.empty())
    result.diagnostics.push_back(makeError(run.failure));
  if (!run.ok || (!complaints.empty() && !tolerant))
    return false;
  auto manifest = writeManifest(module, spec.chip, run.output, result.diagnostics);
  if (!manifest)
    return false;
  result.manifest = std::move(*manifest);
  result.cubin = std::move(run.cubin);
  result.image =
      image::withSections(result.cubin, {{std::string(image::ptxSection), result.ptx},
                                         {std::string(image::locationSection), table.print()},
                                         {std::string(image::manifestSection), result.manifest}});
  return true;
}

void Compiler::Impl::disassemble(const target::Toolchain &tools, Result &result) {
  target::ChildProcess child = target::runChild(tools.nvdisasm, {"-c", "{input}"}, result.cubin);
  result.ok = child.status == 0;
  if (result.ok)
    result.sass = std::move(child.messages);
  else
    result.diagnostics.push_back(
        makeError("nvdisasm at '" + tools.nvdisasm + "' failed: " + child.failure + child.messages +
                  "; run ./dev setup, which installs the pinned wheels, or set GIRIH_CUDA_HOME"));
}

std::vector<std::string> Compiler::optionalSteps() {
  std::vector<std::string> names;
  for (llvm::StringRef name : girih::optionalSteps())
    names.push_back(name.str());
  return names;
}

void Compiler::warmUp() {
  Options options;
  options.emit.ptx = true;
  Result ignored = compile(warmUpModule(), options);
  (void)ignored;
}
