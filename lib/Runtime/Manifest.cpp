//===- Manifest.cpp - What a package says about itself
//-------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON to structures. Anything unexpected is an error that names the place; whatever a step refers
// to is checked to exist, to come earlier and to be of the right kind.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Manifest.h"

#include "Json.h"

#include <algorithm>
#include <map>

namespace girih::runtime {
namespace {

using nlohmann::json;

constexpr int64_t maxRecords = int64_t{1} << 24; ///< 512 MiB of them

[[noreturn]] void damaged(const std::string &what) {
  throw Error("the manifest is damaged: " + what);
}

DType readDType(const json &object) {
  std::string text = object.at("dtype").get<std::string>();
  if (std::optional<DType> type = parseDType(text))
    return *type;
  damaged("unknown dtype \"" + text + "\"");
}

Parameter readParameter(const json &object) {
  Parameter parameter;
  parameter.name = object.at("name").get<std::string>();
  parameter.dtype = readDType(object);
  std::string kind = object.at("kind").get<std::string>();
  if (kind != "array" && kind != "scalar")
    damaged("parameter " + parameter.name + " is of kind \"" + kind + "\"");
  parameter.isArray = kind == "array";
  if (!parameter.isArray) {
    if (!isInteger(parameter.dtype) && parameter.dtype != DType::F32 &&
        parameter.dtype != DType::F64 && parameter.dtype != DType::F16 &&
        parameter.dtype != DType::BF16)
      damaged("parameter " + parameter.name + " is a scalar of " + name(parameter.dtype) +
              "; scalars are integers, f64, f32, f16 or bf16");
    return parameter;
  }
  parameter.rank = readInteger<unsigned>(object.at("rank"));
  parameter.contiguous = readInteger<int>(object, "contiguous", -1);
  if (parameter.contiguous < -1 || parameter.contiguous >= static_cast<int>(parameter.rank))
    damaged("parameter " + parameter.name + " of rank " + std::to_string(parameter.rank) +
            " has contiguous dimension " + std::to_string(parameter.contiguous));
  parameter.aligned = object.value("aligned", false);
  static const std::map<std::string, Access> accesses = {
      {"in", Access::In}, {"out", Access::Out}, {"inout", Access::InOut}};
  std::string access = object.at("access").get<std::string>();
  auto it = accesses.find(access);
  if (it == accesses.end())
    damaged("parameter " + parameter.name + " has access \"" + access + "\"");
  parameter.access = it->second;
  return parameter;
}

std::array<uint32_t, 3> readTriple(const json &list) {
  std::vector<uint32_t> extents = readIntegers<uint32_t>(list);
  if (extents.size() != 3 || std::count(extents.begin(), extents.end(), 0) > 0)
    damaged("expected three positive extents, found " + list.dump());
  return {extents[0], extents[1], extents[2]};
}

Kernel readKernel(const json &object) {
  Kernel kernel;
  kernel.name = object.at("name").get<std::string>();
  kernel.block = readTriple(object.at("block"));
  if (object.contains("cluster"))
    kernel.cluster = readTriple(object["cluster"]);
  kernel.dynamicSharedBytes = readInteger<uint32_t>(object, "dynamic_shared_bytes", 0);
  kernel.coResident = object.value("co_resident", false);
  kernel.registers = readInteger<uint32_t>(object, "registers", 0);
  kernel.spillBytes = readInteger<uint32_t>(object, "spill_bytes", 0);
  kernel.stackBytes = readInteger<uint32_t>(object, "stack_bytes", 0);
  for (const json &item : object.at("parameters")) {
    KernelParameter parameter;
    std::string kind = item.at("kind").get<std::string>();
    if (kind == "tensor_map") {
      parameter.kind = KernelParameterKind::TensorMap;
    } else if (kind == "pointer") {
      parameter.kind = KernelParameterKind::Pointer;
    } else if (kind == "scalar") {
      parameter.kind = KernelParameterKind::Scalar;
      parameter.dtype = readDType(item);
    } else {
      damaged("kernel " + kernel.name + " has a parameter of kind \"" + kind + "\"");
    }
    kernel.parameters.push_back(parameter);
  }
  return kernel;
}

const std::map<std::string, StepKind> &stepKinds() {
  static const std::map<std::string, StepKind> kinds = {{"constant", StepKind::Constant},
                                                        {"dim", StepKind::Dim},
                                                        {"stride", StepKind::Stride},
                                                        {"query", StepKind::Query},
                                                        {"scalar", StepKind::Scalar},
                                                        {"address", StepKind::Address},
                                                        {"require", StepKind::Require},
                                                        {"tensor_map", StepKind::TensorMap},
                                                        {"workspace", StepKind::Workspace},
                                                        {"launch", StepKind::Launch},
                                                        {"records", StepKind::Records},
                                                        {"print", StepKind::Print},
                                                        {"assert", StepKind::Assert},
                                                        {"select", StepKind::Select},
                                                        {"add", StepKind::Add},
                                                        {"sub", StepKind::Sub},
                                                        {"mul", StepKind::Mul},
                                                        {"div", StepKind::Div},
                                                        {"ceildiv", StepKind::CeilDiv},
                                                        {"rem", StepKind::Rem},
                                                        {"min", StepKind::Min},
                                                        {"max", StepKind::Max},
                                                        {"eq", StepKind::Eq},
                                                        {"ne", StepKind::Ne},
                                                        {"lt", StepKind::Lt},
                                                        {"le", StepKind::Le},
                                                        {"gt", StepKind::Gt},
                                                        {"ge", StepKind::Ge},
                                                        {"and", StepKind::And},
                                                        {"or", StepKind::Or}};
  return kinds;
}

/// Reads the steps of a plan one after the other; each may refer to those before it.
class PlanReader {
public:
  explicit PlanReader(Manifest &manifest) : manifest(manifest) {}

  void read(const json &object) {
    Step step;
    std::string op = object.at("op").get<std::string>();
    auto kind = stepKinds().find(op);
    if (kind == stepKinds().end())
      fail("unknown op \"" + op + "\"");
    step.kind = kind->second;
    switch (step.kind) {
    case StepKind::Constant:
      step.value = readInteger<int64_t>(object.at("value"));
      break;
    case StepKind::Dim:
    case StepKind::Stride:
      step.parameter = arrayParameter(object);
      step.dim = readInteger<unsigned>(object.at("dim"));
      if (step.dim >= manifest.parameters[step.parameter].rank)
        fail("dimension " + std::to_string(step.dim) + " of an array of rank " +
             std::to_string(manifest.parameters[step.parameter].rank));
      break;
    case StepKind::Query:
      if (std::string what = object.at("what").get<std::string>(); what != "multiprocessor_count")
        fail("unknown query \"" + what + "\"");
      break;
    case StepKind::Scalar:
      step.parameter = readInteger<unsigned>(object.at("parameter"));
      if (step.parameter >= manifest.parameters.size() ||
          manifest.parameters[step.parameter].isArray)
        fail("parameter " + std::to_string(step.parameter) + " is no scalar");
      break;
    case StepKind::Address:
      step.parameter = arrayParameter(object);
      break;
    case StepKind::Require:
      step.operands = {integer(object.at("cond"))};
      step.message = object.at("message").get<std::string>();
      addIntegers(step, object.value("args", json::array()));
      break;
    case StepKind::TensorMap:
      readTensorMap(step, object);
      break;
    case StepKind::Workspace:
      step.operands = {integer(object.at("bytes"))};
      step.zero = object.value("zero", false);
      break;
    case StepKind::Launch:
      readLaunch(step, object);
      break;
    case StepKind::Records:
      step.value = readInteger<int64_t>(object.at("limit"));
      if (step.value < 1 || step.value > maxRecords)
        fail("room for " + std::to_string(step.value) + " records, expected 1 to " +
             std::to_string(maxRecords));
      break;
    case StepKind::Print:
      step.dtype = readDType(object);
      step.message = object.at("label").get<std::string>();
      step.shape = readIntegers<int64_t>(object.at("shape"));
      for (int64_t extent : step.shape)
        if (extent < 1)
          fail("a shape with the extent " + std::to_string(extent));
      readSite(step, object);
      break;
    case StepKind::Assert:
      step.message = object.at("message").get<std::string>();
      for (const json &place : object.value("where", json::array()))
        step.where.push_back({place.at(0).get<std::string>(), readInteger<int64_t>(place.at(1)),
                              readInteger<int64_t>(place.at(2))});
      readSite(step, object);
      break;
    default: {
      addIntegers(step, object.at("args"));
      size_t expected = step.kind == StepKind::Select ? 3 : 2;
      if (step.operands.size() != expected)
        fail(op + " has " + std::to_string(step.operands.size()) + " operands, expected " +
             std::to_string(expected));
    }
    }
    manifest.plan.push_back(std::move(step));
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    damaged("step " + std::to_string(manifest.plan.size()) + " of the plan: " + what);
  }

  /// The index of an earlier step.
  unsigned earlier(const json &index) const {
    auto value = readInteger<unsigned>(index);
    if (value >= manifest.plan.size())
      fail("refers to step " + std::to_string(value) + ", which is not an earlier one");
    return value;
  }

  bool isFloat(const Step &step) const {
    return step.kind == StepKind::Scalar && !isInteger(manifest.parameters[step.parameter].dtype);
  }

  bool isInteger64(const Step &step) const {
    switch (step.kind) {
    case StepKind::TensorMap:
    case StepKind::Workspace:
    case StepKind::Address:
    case StepKind::Require:
    case StepKind::Launch:
    case StepKind::Records:
    case StepKind::Print:
    case StepKind::Assert:
      return false;
    default:
      return !isFloat(step);
    }
  }

  static bool isInteger(DType type) { return runtime::isInteger(type); }

  unsigned integer(const json &index) const {
    unsigned value = earlier(index);
    if (!isInteger64(manifest.plan[value]))
      fail("step " + std::to_string(value) + " is not an integer");
    return value;
  }

  void addIntegers(Step &step, const json &indices) const {
    for (const json &index : indices)
      step.operands.push_back(integer(index));
  }

  unsigned arrayParameter(const json &object) const {
    auto parameter = readInteger<unsigned>(object.at("array"));
    if (parameter >= manifest.parameters.size() || !manifest.parameters[parameter].isArray)
      fail("parameter " + std::to_string(parameter) + " is no array");
    return parameter;
  }

  void readTensorMap(Step &step, const json &object) const {
    step.parameter = arrayParameter(object);
    const Parameter &array = manifest.parameters[step.parameter];
    step.dtype = readDType(object);
    step.box = readIntegers<uint32_t>(object.at("box"));
    step.order = readIntegers<unsigned>(object.at("order"));
    step.swizzle = readInteger<unsigned>(object, "swizzle", 0);
    if (sizeInBytes(step.dtype) != sizeInBytes(array.dtype))
      fail(std::string("a tensor map of ") + name(step.dtype) + " over an array of " +
           name(array.dtype));
    // At most five dimensions: CUDA Driver API, cuTensorMapEncodeTiled.
    if (array.rank < 1 || array.rank > 5 || step.box.size() != array.rank)
      fail("a box of " + std::to_string(step.box.size()) + " dimensions over an array of " +
           std::to_string(array.rank) + ", expected the same number, one to five");
    std::vector<unsigned> sorted = step.order;
    std::sort(sorted.begin(), sorted.end());
    for (unsigned i = 0; i < array.rank; ++i)
      if (sorted.size() != array.rank || sorted[i] != i)
        fail("order is no permutation of " + std::to_string(array.rank) + " dimensions");
    if (step.swizzle != 0 && step.swizzle != 32 && step.swizzle != 64 && step.swizzle != 128)
      fail("swizzle " + std::to_string(step.swizzle) + ", expected 0, 32, 64 or 128");
  }

  void readSite(Step &step, const json &object) const {
    step.records = earlier(object.at("records"));
    if (manifest.plan[step.records].kind != StepKind::Records)
      fail("step " + std::to_string(step.records) + " holds no records");
    step.site = readInteger<unsigned>(object.at("site"));
  }

  void readLaunch(Step &step, const json &object) const {
    step.kernel = readInteger<unsigned>(object.at("kernel"));
    if (step.kernel >= manifest.kernels.size())
      fail("launches kernel " + std::to_string(step.kernel) + " of " +
           std::to_string(manifest.kernels.size()));
    const Kernel &kernel = manifest.kernels[step.kernel];
    addIntegers(step, object.at("grid"));
    if (step.operands.size() != 3)
      fail("the grid has " + std::to_string(step.operands.size()) + " extents, expected 3");
    const json &arguments = object.at("args");
    if (arguments.size() != kernel.parameters.size())
      fail("kernel " + kernel.name + " takes " + std::to_string(kernel.parameters.size()) +
           " arguments, found " + std::to_string(arguments.size()));
    for (size_t i = 0; i < arguments.size(); ++i) {
      unsigned value = earlier(arguments[i]);
      if (!fits(manifest.plan[value], kernel.parameters[i]))
        fail("step " + std::to_string(value) + " does not fit argument " + std::to_string(i) +
             " of kernel " + kernel.name);
      step.operands.push_back(value);
    }
  }

  bool fits(const Step &step, const KernelParameter &parameter) const {
    switch (parameter.kind) {
    case KernelParameterKind::TensorMap:
      return step.kind == StepKind::TensorMap;
    case KernelParameterKind::Pointer:
      return step.kind == StepKind::Workspace || step.kind == StepKind::Records ||
             step.kind == StepKind::Address;
    case KernelParameterKind::Scalar:
      break;
    }
    if (isInteger(parameter.dtype))
      return isInteger64(step);
    return isFloat(step) && manifest.parameters[step.parameter].dtype == parameter.dtype;
  }

  Manifest &manifest;
};

} // namespace

Manifest Manifest::parse(std::string_view text) {
  Manifest manifest;
  try {
    json root = json::parse(text);
    if (int64_t schema = readInteger<int64_t>(root.at("schema")); schema != 1)
      throw Error("the manifest has schema " + std::to_string(schema) +
                  ", this runtime reads schema 1; use the runtime that the package was made with");
    manifest.name = root.at("name").get<std::string>();
    manifest.arch = root.at("arch").get<std::string>();
    for (const json &item : root.at("parameters"))
      manifest.parameters.push_back(readParameter(item));
    for (const json &item : root.at("kernels"))
      manifest.kernels.push_back(readKernel(item));
    PlanReader reader(manifest);
    for (const json &item : root.at("plan"))
      reader.read(item);
  } catch (const json::exception &error) {
    damaged(error.what());
  } catch (const NumberError &error) {
    damaged((manifest.plan.empty()
                 ? ""
                 : "after step " + std::to_string(manifest.plan.size() - 1) + " of the plan: ") +
            std::string(error.what()));
  }
  return manifest;
}

} // namespace girih::runtime
