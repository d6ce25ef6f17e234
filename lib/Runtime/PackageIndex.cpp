//===- PackageIndex.cpp - What is in a package: kernels and their variants
//-------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON to structures, as Manifest.cpp does for images.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/PackageIndex.h"

#include "Json.h"

#include <algorithm>
#include <set>

namespace girih::runtime {
namespace {

using nlohmann::json;

[[noreturn]] void damaged(const std::string &what) {
  throw Error("the package's index is damaged: " + what);
}

DType readScalarType(const json &object, const std::string &parameter) {
  std::string text = object.at("dtype").get<std::string>();
  std::optional<DType> type = parseDType(text);
  if (!type)
    damaged("parameter " + parameter + " has the unknown dtype \"" + text + "\"");
  return *type;
}

Access readAccess(const json &object, const std::string &parameter) {
  std::string text = object.at("access").get<std::string>();
  if (text == "in")
    return Access::In;
  if (text == "out")
    return Access::Out;
  if (text == "inout")
    return Access::InOut;
  damaged("parameter " + parameter + " has access \"" + text + "\"");
}

DeclaredParameter readParameter(const json &object) {
  DeclaredParameter parameter;
  parameter.name = object.at("name").get<std::string>();
  parameter.optional = object.value("optional", false);
  std::string kind = object.at("kind").get<std::string>();
  if (kind != "array" && kind != "scalar")
    damaged("parameter " + parameter.name + " is of kind \"" + kind + "\"");
  parameter.isArray = kind == "array";
  if (!parameter.isArray) {
    parameter.dtype = readScalarType(object, parameter.name);
    return parameter;
  }
  parameter.access = readAccess(object, parameter.name);
  for (const json &item : object.value("dims", json::array())) {
    DeclaredDim dim{item.at("name").get<std::string>(), readInteger<int64_t>(item, "multiple", 1)};
    if (dim.multiple < 1)
      damaged("dimension " + dim.name + " of " + parameter.name + " is a multiple of " +
              std::to_string(dim.multiple));
    parameter.dims.push_back(std::move(dim));
  }
  return parameter;
}

Condition readCondition(const json &object, const KernelEntry &kernel) {
  Condition condition;
  condition.name = object.at("name").get<std::string>();
  condition.parameter = readInteger<unsigned>(object.at("parameter"));
  if (condition.parameter >= kernel.parameters.size())
    damaged("kernel " + kernel.name + " has no parameter " + std::to_string(condition.parameter) +
            ", of which the condition on " + condition.name + " speaks");
  const DeclaredParameter &parameter = kernel.parameters[condition.parameter];
  if (!parameter.isArray && !isInteger(parameter.dtype))
    damaged("kernel " + kernel.name + " has a condition on " + condition.name +
            ", which is no integer");
  if (parameter.isArray)
    condition.dim = readInteger<unsigned>(object.at("dim"));
  condition.low = readInteger<int64_t>(object, "low", condition.low);
  condition.high = readInteger<int64_t>(object, "high", condition.high);
  condition.multiple = readInteger<int64_t>(object, "multiple", 1);
  if (condition.multiple < 1)
    damaged("kernel " + kernel.name + " asks for multiples of " +
            std::to_string(condition.multiple) + " of " + condition.name);
  return condition;
}

Variant readVariant(const json &object, const KernelEntry &kernel, size_t images) {
  Variant variant;
  variant.arch = object.at("arch").get<std::string>();
  variant.image = readInteger<unsigned>(object.at("image"));
  if (variant.image >= images)
    damaged("kernel " + kernel.name + " has a variant with image " + std::to_string(variant.image) +
            " of " + std::to_string(images));
  variant.absent.resize(kernel.parameters.size());
  for (unsigned parameter : readIntegers<unsigned>(object.value("absent", json::array()))) {
    if (parameter >= kernel.parameters.size() || !kernel.parameters[parameter].optional)
      damaged("kernel " + kernel.name + " has no parameter " + std::to_string(parameter) +
              " that may be absent");
    variant.absent[parameter] = true;
  }
  for (const json &item : object.value("when", json::array())) {
    variant.when.push_back(readCondition(item, kernel));
    if (variant.absent[variant.when.back().parameter])
      damaged("kernel " + kernel.name + " has a condition on " + variant.when.back().name +
              ", which is absent");
  }
  for (const json &pair : object.value("constants", json::array()))
    variant.constants.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return variant;
}

KernelEntry readKernel(const json &object, size_t images) {
  KernelEntry kernel;
  kernel.name = object.at("name").get<std::string>();
  kernel.summary = object.value("summary", "");
  for (const json &item : object.at("parameters"))
    kernel.parameters.push_back(readParameter(item));
  for (const json &item : object.at("variants"))
    kernel.variants.push_back(readVariant(item, kernel, images));
  if (kernel.variants.empty())
    damaged("kernel " + kernel.name + " has no variant");
  return kernel;
}

} // namespace

std::string Condition::text() const {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  std::string text = name;
  if (low != least && low == high)
    text += " = " + std::to_string(low);
  else if (low != least && high != most)
    text += " from " + std::to_string(low) + " to " + std::to_string(high);
  else if (low != least)
    text += " at least " + std::to_string(low);
  else if (high != most)
    text += " at most " + std::to_string(high);
  if (multiple > 1)
    text += std::string(text == name ? "" : ",") + " a multiple of " + std::to_string(multiple);
  return text;
}

PackageIndex PackageIndex::parse(std::string_view text, size_t images) {
  PackageIndex index;
  try {
    json root = json::parse(text);
    index.writer = root.at("writer").get<std::string>();
    std::set<std::string> names;
    for (const json &item : root.at("kernels")) {
      index.kernels.push_back(readKernel(item, images));
      if (!names.insert(index.kernels.back().name).second)
        damaged("two kernels are called " + index.kernels.back().name);
    }
  } catch (const json::exception &error) {
    damaged(error.what());
  } catch (const NumberError &error) {
    damaged(error.what());
  }
  return index;
}

} // namespace girih::runtime
