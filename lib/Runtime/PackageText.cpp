//===- PackageText.cpp - A package in words
//--------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/PackageText.h"

#include "girih/Image/Image.h"
#include "girih/Image/PackageFile.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace girih::runtime {
namespace {

std::string list(const std::vector<std::string> &words, const char *between = ", ") {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : between) + word;
  return text;
}

std::string hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string accessName(Access access) {
  return access == Access::In ? "in" : access == Access::Out ? "out" : "inout";
}

/// "a: in [M, K%8]", "scale: f32", "bias: in [N], may be absent".
std::string declaration(const DeclaredParameter &parameter) {
  std::string text = parameter.name + ": ";
  text += parameter.isArray ? accessName(parameter.access) : name(parameter.dtype);
  std::vector<std::string> dims;
  for (const DeclaredDim &dim : parameter.dims)
    dims.push_back(dim.multiple == 1 ? dim.name : dim.name + "%" + std::to_string(dim.multiple));
  if (!dims.empty())
    text += " [" + list(dims) + "]";
  return text + (parameter.optional ? " or nothing" : "");
}

/// What a variant was compiled for, as far as a parameter is concerned.
std::string promise(const Parameter &parameter) {
  std::string text = name(parameter.dtype);
  if (!parameter.isArray)
    return text;
  text +=
      ", " + std::to_string(parameter.rank) + (parameter.rank == 1 ? " dimension" : " dimensions");
  if (parameter.contiguous >= 0)
    text += ", stride 1 in dimension " + std::to_string(parameter.contiguous);
  if (parameter.aligned)
    text += std::string(", address") + (parameter.rank > 1 ? " and other strides" : "") +
            " in multiples of " + std::to_string(alignment) + " bytes";
  return text;
}

std::string triple(const std::array<uint32_t, 3> &extents) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" +
         std::to_string(extents[2]);
}

std::string launchText(const Kernel &kernel) {
  std::string text = kernel.name + ": block " + triple(kernel.block);
  if (kernel.cluster != std::array<uint32_t, 3>{1, 1, 1})
    text += ", cluster " + triple(kernel.cluster);
  if (kernel.coResident)
    text += ", all CTAs at once";
  text += ", " + std::to_string(kernel.dynamicSharedBytes) + " bytes of shared memory, " +
          std::to_string(kernel.registers) + " registers a thread, " +
          std::to_string(kernel.spillBytes) + " bytes spilled";
  return text;
}

/// "16 steps: 3 tensor maps, 1 launch".
std::string planText(const Manifest &manifest) {
  static const std::vector<std::pair<StepKind, std::string>> kinds = {
      {StepKind::TensorMap, "tensor map"},
      {StepKind::Workspace, "workspace"},
      {StepKind::Records, "record buffer"},
      {StepKind::Require, "requirement"},
      {StepKind::Launch, "launch"}};
  std::vector<std::string> counts;
  for (const auto &[kind, word] : kinds) {
    auto count = std::count_if(manifest.plan.begin(), manifest.plan.end(),
                               [kind = kind](const Step &step) { return step.kind == kind; });
    if (count > 0)
      counts.push_back(std::to_string(count) + " " + word +
                       (count == 1                 ? ""
                        : kind == StepKind::Launch ? "es"
                                                   : "s"));
  }
  return std::to_string(manifest.plan.size()) + " steps: " + list(counts);
}

std::string locationText(const image::LocationTable &table) {
  std::vector<std::string> functions;
  for (const image::Function &function : table.functions)
    functions.push_back(function.file.empty() ? function.name
                                              : function.name + " (" + function.file + ":" +
                                                    std::to_string(function.line) + ")");
  return std::to_string(table.locations.size()) + " in " + list(functions);
}

/// Lines of a label and what belongs to it.
class Table {
public:
  void add(std::string label, std::string text) {
    rows.emplace_back(std::move(label), std::move(text));
  }
  std::string text() const {
    size_t width = 0;
    for (const auto &[label, text] : rows)
      width = std::max(width, label.size());
    std::string lines;
    for (const auto &[label, text] : rows)
      lines += "    " + label + std::string(width - label.size() + 2, ' ') + text + "\n";
    return lines;
  }

private:
  std::vector<std::pair<std::string, std::string>> rows;
};

std::string variantText(const Variant &variant, const Program *program, std::string_view bytes) {
  Table table;
  std::vector<std::string> conditions, constants;
  for (const Condition &condition : variant.when)
    conditions.push_back(condition.text());
  for (const auto &[name, value] : variant.constants)
    constants.push_back(name + "=" + value);
  if (!conditions.empty())
    table.add("where", list(conditions, "; "));
  if (!constants.empty())
    table.add("constants", list(constants));
  if (!program)
    return table.text();
  const Manifest &manifest = program->manifest();
  for (const Parameter &parameter : manifest.parameters)
    table.add(parameter.name, promise(parameter));
  for (const Kernel &kernel : manifest.kernels)
    table.add("kernel", launchText(kernel));
  table.add("plan", planText(manifest));
  for (const Step &step : manifest.plan)
    if (step.kind == StepKind::Require)
      table.add("refuses", step.message);
  table.add("locations", locationText(image::readLocations(bytes)));
  return table.text();
}

} // namespace

std::string packageText(std::string_view bytes) {
  Package package(bytes); // says what is wrong with the bytes, if anything
  image::PackageFile file = image::readPackageFile(bytes);
  std::string text = "girih package, schema " + std::to_string(image::packageSchema) + ", ABI " +
                     std::to_string(image::packageAbi) + ", written by " + package.writer() + ", " +
                     std::to_string(bytes.size()) + " bytes\n";
  for (const std::unique_ptr<PackagedKernel> &kernel : package.kernels()) {
    const KernelEntry &entry = kernel->entry();
    std::vector<std::string> parameters;
    for (const DeclaredParameter &parameter : entry.parameters)
      parameters.push_back(declaration(parameter));
    text += "\nkernel " + entry.name + "(" + list(parameters) + ")\n";
    if (!entry.summary.empty())
      text += "  " + entry.summary + "\n";
    for (size_t i = 0; i < entry.variants.size(); ++i) {
      const Variant &variant = entry.variants[i];
      std::string_view image = file.images[variant.image];
      text += "  variant " + std::to_string(i) + ": " + variant.arch + ", " +
              std::to_string(image.size()) + " bytes, checksum " + hex(image::checksum(image)) +
              "\n" + variantText(variant, kernel->program(i), image);
    }
  }
  return text;
}

} // namespace girih::runtime
