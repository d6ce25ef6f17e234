//===- Manifest.cpp - What a package says about itself
//--------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Compiler/Manifest.h"
#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Target/Locations.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace girih;
using namespace girih::compiler;
using target::Diagnostic;
using target::makeError;
namespace json = llvm::json;
namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;

/// The manifest's name of an element type, "" if it has none.
static std::string dtypeName(mlir::Type type) {
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  if (type.isTF32())
    return "tf32";
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return "e4m3";
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(1))
    return "b1";
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type))
    if (unsigned width = integer.getWidth();
        width == 8 || width == 16 || width == 32 || width == 64)
      return (integer.isUnsigned() ? "u" : "i") + std::to_string(width);
  return "";
}

static const char *accessName(plan::Access access) {
  switch (access) {
  case plan::Access::In:
    return "in";
  case plan::Access::Out:
    return "out";
  case plan::Access::InOut:
    return "inout";
  }
  return "in";
}

static Diagnostic errorAt(mlir::Operation *op, std::string message) {
  Diagnostic diagnostic = makeError(std::move(message));
  diagnostic.places = target::placesOf(op->getLoc());
  return diagnostic;
}

/// The extents in `name`, three of them, 1 where the attribute is absent or short.
static json::Array extents(LLVM::LLVMFuncOp function, llvm::StringRef name) {
  json::Array result;
  auto attribute = function->getAttrOfType<mlir::DenseI32ArrayAttr>(name);
  for (unsigned i = 0; i < 3; ++i)
    result.push_back(attribute && i < static_cast<unsigned>(attribute.size()) ? attribute[i] : 1);
  return result;
}

static int64_t sharedBytesOf(LLVM::LLVMFuncOp function) {
  auto attribute = function->getAttrOfType<mlir::IntegerAttr>("wg.shared_bytes");
  return attribute ? attribute.getInt() : 0;
}

static bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName());
}

int64_t compiler::dynamicSharedBytes(mlir::ModuleOp module) {
  int64_t largest = 0;
  module.walk([&](LLVM::LLVMFuncOp function) {
    if (isKernel(function))
      largest = std::max(largest, sharedBytesOf(function));
  });
  return largest;
}

std::string compiler::packageName(mlir::ModuleOp module) {
  for (plan::HostOp host : module.getOps<plan::HostOp>())
    return host.getSymName().str();
  for (mlir::gpu::GPUModuleOp device : module.getOps<mlir::gpu::GPUModuleOp>())
    return device.getName().str();
  return "kernel";
}

bool compiler::checkPlan(mlir::ModuleOp module, std::vector<Diagnostic> &diagnostics) {
  auto hosts = llvm::to_vector(module.getOps<plan::HostOp>());
  if (hosts.size() != 1) {
    diagnostics.push_back(makeError(
        "the module has " + std::to_string(hosts.size()) +
        " plan.host operations, expected one: a package needs a host plan that launches its kernel "
        "(girih-compile --emit=ptx compiles a kernel without one)"));
    return false;
  }
  plan::HostOp host = hosts.front();
  if (host.getBody().front().getOps<plan::LaunchOp>().empty()) {
    diagnostics.push_back(errorAt(host, "plan.host @" + host.getSymName().str() +
                                            " launches no kernel: expected a plan.launch in it"));
    return false;
  }
  return true;
}

namespace {
class Writer {
public:
  Writer(plan::HostOp host, const target::PtxasOutput &resources,
         std::vector<Diagnostic> &diagnostics)
      : host(host), resources(resources), diagnostics(diagnostics) {}

  std::optional<std::string> run(mlir::ModuleOp module, const std::string &arch) {
    sources = target::declaredSources(module);
    json::Array kernels;
    module.walk([&](LLVM::LLVMFuncOp function) {
      if (!isKernel(function))
        return;
      kernelIndex[function.getName()] = static_cast<int64_t>(kernels.size());
      kernels.push_back(kernel(function));
    });
    json::Array parameters;
    for (auto [argument, name] : llvm::zip_equal(host.getArguments(), host.getArgNames()))
      parameters.push_back(parameter(argument, llvm::cast<mlir::StringAttr>(name).getValue()));
    for (mlir::Operation &op : host.getBody().front())
      if (!failed)
        step(&op);
    if (failed)
      return std::nullopt;
    json::Object manifest{{"schema", 1},
                          {"name", host.getSymName()},
                          {"arch", arch},
                          {"parameters", std::move(parameters)},
                          {"kernels", std::move(kernels)},
                          {"plan", std::move(plan)}};
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << json::Value(std::move(manifest));
    return text;
  }

private:
  void fail(mlir::Operation *op, std::string message) {
    failed = true;
    diagnostics.push_back(errorAt(op, std::move(message)));
  }

  json::Object kernel(LLVM::LLVMFuncOp function) {
    json::Array parameters;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      mlir::Type type = function.getArgument(i).getType();
      if (function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
        parameters.push_back(json::Object{{"kind", "tensor_map"}});
      else if (llvm::isa<LLVM::LLVMPointerType>(type))
        parameters.push_back(json::Object{{"kind", "pointer"}});
      else if (std::string dtype = dtypeName(type); !dtype.empty())
        parameters.push_back(json::Object{{"kind", "scalar"}, {"dtype", dtype}});
      else
        fail(function, "parameter " + std::to_string(i) + " of kernel '" +
                           function.getName().str() +
                           "' is of a type that a launch cannot pass: expected a tensor map, a "
                           "pointer, an integer or a float");
    }
    target::FunctionResources none;
    const target::FunctionResources *found =
        resources.find(std::string_view(function.getName().data(), function.getName().size()));
    const target::FunctionResources &used = found ? *found : none;
    json::Object kernel{
        {"name", function.getName()},
        {"block", extents(function, mlir::NVVM::NVVMDialect::getReqntidAttrName())},
        {"cluster", extents(function, mlir::NVVM::NVVMDialect::getClusterDimAttrName())},
        {"dynamic_shared_bytes", sharedBytesOf(function)},
        {"registers", used.registers},
        {"spill_bytes", used.spillStoreBytes + used.spillLoadBytes},
        {"stack_bytes", used.stackBytes},
        {"parameters", std::move(parameters)}};
    if (function->hasAttr("girih.co_resident"))
      kernel["co_resident"] = true;
    return kernel;
  }

  json::Object parameter(mlir::BlockArgument argument, llvm::StringRef name) {
    mlir::Type type = argument.getType();
    auto array = llvm::dyn_cast<plan::ArrayType>(type);
    std::string dtype = dtypeName(array ? array.getElementType() : type);
    if (dtype.empty())
      fail(host, "argument '" + name.str() + "' has an element type without a name in a manifest");
    if (!array)
      return json::Object{{"name", name}, {"kind", "scalar"}, {"dtype", dtype}};
    return json::Object{{"name", name},
                        {"kind", "array"},
                        {"dtype", dtype},
                        {"rank", array.getRank()},
                        {"contiguous", array.getContiguous()},
                        {"aligned", array.getAligned()},
                        {"access", accessName(array.getAccess())}};
  }

  /// Appends a step; its index is the value of `result`.
  void push(json::Object object, mlir::Value result = {}) {
    if (result)
      indices[result] = static_cast<int64_t>(plan.size());
    plan.push_back(std::move(object));
  }

  /// The step that computes `value`; a scalar argument, and an array's address, become one at their
  /// first use.
  int64_t index(mlir::Value value) {
    auto found = indices.find(value);
    if (found != indices.end())
      return found->second;
    auto argument = llvm::cast<mlir::BlockArgument>(value);
    if (llvm::isa<plan::ArrayType>(value.getType()))
      push(json::Object{{"op", "address"}, {"array", argument.getArgNumber()}}, value);
    else
      push(json::Object{{"op", "scalar"}, {"parameter", argument.getArgNumber()}}, value);
    return indices[value];
  }

  json::Array list(mlir::ValueRange values) {
    json::Array result;
    for (mlir::Value value : values)
      result.push_back(index(value));
    return result;
  }

  static int64_t arrayOf(mlir::Value array) {
    return llvm::cast<mlir::BlockArgument>(array).getArgNumber();
  }

  /// The name of an expression over i64 (or i1), nothing if the runtime has none.
  static std::optional<llvm::StringRef> expression(mlir::Operation *op) {
    return llvm::TypeSwitch<mlir::Operation *, std::optional<llvm::StringRef>>(op)
        .Case([](arith::AddIOp) { return "add"; })
        .Case([](arith::SubIOp) { return "sub"; })
        .Case([](arith::MulIOp) { return "mul"; })
        .Case([](arith::DivSIOp) { return "div"; })
        .Case([](arith::CeilDivSIOp) { return "ceildiv"; })
        .Case([](arith::RemSIOp) { return "rem"; })
        .Case([](arith::MinSIOp) { return "min"; })
        .Case([](arith::MaxSIOp) { return "max"; })
        .Case([](arith::AndIOp) { return "and"; })
        .Case([](arith::OrIOp) { return "or"; })
        .Case([](arith::SelectOp) { return "select"; })
        .Case([](arith::CmpIOp compare) -> std::optional<llvm::StringRef> {
          switch (compare.getPredicate()) {
          case arith::CmpIPredicate::eq:
            return "eq";
          case arith::CmpIPredicate::ne:
            return "ne";
          case arith::CmpIPredicate::slt:
            return "lt";
          case arith::CmpIPredicate::sle:
            return "le";
          case arith::CmpIPredicate::sgt:
            return "gt";
          case arith::CmpIPredicate::sge:
            return "ge";
          default:
            return std::nullopt; // unsigned: the plan's integers are signed
          }
        })
        .Default(std::nullopt);
  }

  void step(mlir::Operation *op) {
    if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op)) {
      auto integer = llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue());
      if (!integer)
        return fail(op, "a plan's constants are integers");
      int64_t value = integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                                     : integer.getValue().getSExtValue();
      return push(json::Object{{"op", "constant"}, {"value", value}}, constant);
    }
    // Widths do not matter to the runtime, which computes in i64 and checks what it passes on.
    if (llvm::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
                  plan::ValueOp>(op)) {
      indices[op->getResult(0)] = index(op->getOperand(0));
      return;
    }
    if (auto name = expression(op)) {
      json::Array args = list(op->getOperands());
      return push(json::Object{{"op", *name}, {"args", std::move(args)}}, op->getResult(0));
    }
    if (auto dim = llvm::dyn_cast<plan::DimOp>(op))
      return push(
          json::Object{{"op", "dim"}, {"array", arrayOf(dim.getArray())}, {"dim", dim.getDim()}},
          dim);
    if (auto stride = llvm::dyn_cast<plan::StrideOp>(op))
      return push(json::Object{{"op", "stride"},
                               {"array", arrayOf(stride.getArray())},
                               {"dim", stride.getDim()}},
                  stride);
    if (auto query = llvm::dyn_cast<plan::QueryOp>(op))
      return push(json::Object{{"op", "query"}, {"what", plan::stringifyQuery(query.getWhat())}},
                  query);
    if (auto require = llvm::dyn_cast<plan::RequireOp>(op)) {
      int64_t condition = index(require.getCondition());
      json::Array args = list(require.getValues());
      return push(json::Object{{"op", "require"},
                               {"cond", condition},
                               {"message", require.getMessage()},
                               {"args", std::move(args)}});
    }
    if (auto map = llvm::dyn_cast<plan::TensorMapOp>(op))
      return tensorMap(map);
    if (auto workspace = llvm::dyn_cast<plan::WorkspaceOp>(op)) {
      int64_t bytes = index(workspace.getBytes());
      return push(
          json::Object{{"op", "workspace"}, {"bytes", bytes}, {"zero", workspace.getZero()}},
          workspace);
    }
    if (auto launch = llvm::dyn_cast<plan::LaunchOp>(op))
      return launchStep(launch);
    if (auto records = llvm::dyn_cast<plan::RecordsOp>(op))
      return push(json::Object{{"op", "records"}, {"limit", records.getLimit()}}, records);
    if (auto print = llvm::dyn_cast<plan::PrintOp>(op))
      return printStep(print);
    if (auto assertion = llvm::dyn_cast<plan::AssertOp>(op))
      return push(json::Object{{"op", "assert"},
                               {"records", index(assertion.getRecords())},
                               {"site", assertion.getSite()},
                               {"message", assertion.getMessage()},
                               {"where", relativePlaces(op)}});
    fail(op, "'" + op->getName().getStringRef().str() +
                 "' cannot stand in a plan: the runtime interprets signed integer arithmetic, "
                 "comparisons and the operations of the plan dialect");
  }

  void tensorMap(plan::TensorMapOp map) {
    auto type = llvm::cast<plan::TensorMapTypeInterface>(map.getMap().getType());
    std::string dtype = dtypeName(type.getElementType());
    if (dtype.empty())
      return fail(map, "the tensor map's element type has no name in a manifest");
    push(json::Object{{"op", "tensor_map"},
                      {"array", arrayOf(map.getArray())},
                      {"dtype", dtype},
                      {"box", json::Array(type.getBox())},
                      {"order", json::Array(type.getOrder())},
                      {"swizzle", type.getSwizzle()}},
         map);
  }

  void printStep(plan::PrintOp print) {
    std::string dtype = dtypeName(print.getElementType());
    if (dtype.empty())
      return fail(print, "the printed type has no name in a manifest");
    push(json::Object{{"op", "print"},
                      {"records", index(print.getRecords())},
                      {"site", print.getSite()},
                      {"label", print.getLabel()},
                      {"dtype", dtype},
                      {"shape", json::Array(print.getShape())}});
  }

  /// The chain of an op's location as the location table has it: [function, line, column],
  /// innermost first, lines counted from the function's first.
  json::Array relativePlaces(mlir::Operation *op) {
    json::Array chain;
    for (const target::Place &place : target::placesOf(op->getLoc())) {
      int64_t first = 1;
      for (const image::Function &source : sources)
        if (source.name == place.function)
          first = source.line;
      chain.push_back(json::Array{place.function, place.line - first + 1, place.column});
    }
    return chain;
  }

  void launchStep(plan::LaunchOp launch) {
    llvm::StringRef name = launch.getKernel().getLeafReference().getValue();
    auto found = kernelIndex.find(name);
    if (found == kernelIndex.end())
      return fail(launch, "the plan launches @" + name.str() +
                              ", which is no kernel of this module: expected an llvm.func with "
                              "nvvm.kernel of that name");
    json::Array grid = list({launch.getGridX(), launch.getGridY(), launch.getGridZ()});
    json::Array args = list(launch.getArgs());
    push(json::Object{{"op", "launch"},
                      {"kernel", found->second},
                      {"grid", std::move(grid)},
                      {"args", std::move(args)}});
  }

  plan::HostOp host;
  const target::PtxasOutput &resources;
  std::vector<Diagnostic> &diagnostics;
  std::vector<image::Function> sources;
  llvm::StringMap<int64_t> kernelIndex;
  llvm::DenseMap<mlir::Value, int64_t> indices;
  json::Array plan;
  bool failed = false;
};
} // namespace

std::optional<std::string> compiler::writeManifest(mlir::ModuleOp module, const std::string &arch,
                                                   const target::PtxasOutput &resources,
                                                   std::vector<Diagnostic> &diagnostics) {
  if (!checkPlan(module, diagnostics))
    return std::nullopt;
  return Writer(*module.getOps<plan::HostOp>().begin(), resources, diagnostics).run(module, arch);
}
