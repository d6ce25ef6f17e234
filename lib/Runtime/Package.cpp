//===- Package.cpp - Kernels from a package file, ready to be called
//-------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is checked whole when it is read, its images with it, so that a call cannot meet
// anything but arguments that do not fit.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Package.h"

#include "CheckArguments.h"

#include "girih/Image/Image.h"
#include "girih/Image/PackageFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace girih::runtime {
namespace {

/// Throws Error unless an image has the parameters that its variant says.
void checkParameters(const KernelEntry &kernel, const Variant &variant, const Manifest &manifest) {
  auto fail = [&](const std::string &what) {
    throw Error("the package is damaged: the image of a variant of " + kernel.name + " " + what);
  };
  size_t next = 0;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const DeclaredParameter &declared = kernel.parameters[i];
    if (variant.absent[i])
      continue;
    if (next == manifest.parameters.size())
      fail("has no parameter " + declared.name);
    const Parameter &actual = manifest.parameters[next++];
    if (actual.name != declared.name || actual.isArray != declared.isArray)
      fail("has the parameter " + actual.name + " in the place of " + declared.name);
    for (const Condition &condition : variant.when)
      if (condition.parameter == i && actual.isArray && condition.dim >= actual.rank)
        fail("has no dimension " + std::to_string(condition.dim) + " of " + declared.name +
             ", on which there is a condition");
  }
  if (next != manifest.parameters.size())
    fail("has a parameter " + manifest.parameters[next].name + " too many");
}

bool holds(const Condition &condition, int64_t value) {
  return value >= condition.low && value <= condition.high && value % condition.multiple == 0;
}

/// The value that a condition speaks of; nothing if the argument is of another kind.
std::optional<int64_t> valueOf(const Condition &condition, const std::vector<Argument> &arguments) {
  const Argument &argument = arguments[condition.parameter];
  if (const auto *array = std::get_if<ArrayArgument>(&argument))
    return condition.dim < array->shape.size() ? std::optional(array->shape[condition.dim])
                                               : std::nullopt;
  if (const auto *integer = std::get_if<int64_t>(&argument))
    return *integer;
  return std::nullopt;
}

std::vector<Argument> withoutAbsent(const std::vector<Argument> &arguments) {
  std::vector<Argument> present;
  for (const Argument &argument : arguments)
    if (!std::holds_alternative<Absent>(argument))
      present.push_back(argument);
  return present;
}

std::string commaSeparated(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

} // namespace

PackagedKernel::PackagedKernel(KernelEntry entry, const std::vector<std::string_view> &images)
    : contents(std::move(entry)) {
  for (const Variant &variant : contents.variants) {
    programs.emplace_back();
    if (variant.arch != Driver::architecture)
      continue;
    programs.back() = std::make_unique<Program>(images[variant.image]);
    const Manifest &manifest = programs.back()->manifest();
    if (manifest.arch != variant.arch)
      throw Error("the package is damaged: the image of a variant of " + contents.name +
                  " is for " + manifest.arch + ", expected " + variant.arch);
    checkParameters(contents, variant, manifest);
  }
}

bool PackagedKernel::takes(size_t index, const std::vector<Argument> &arguments) const {
  const Variant &variant = contents.variants[index];
  const std::vector<Parameter> &parameters = programs[index]->manifest().parameters;
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (std::holds_alternative<Absent>(arguments[i]) != variant.absent[i])
      return false;
    if (variant.absent[i])
      continue;
    const Parameter &parameter = parameters[next++];
    const auto *array = std::get_if<ArrayArgument>(&arguments[i]);
    if ((array != nullptr) != parameter.isArray || (array && !fits(parameter, *array)))
      return false;
  }
  return std::all_of(variant.when.begin(), variant.when.end(), [&](const Condition &condition) {
    std::optional<int64_t> value = valueOf(condition, arguments);
    return value && holds(condition, *value);
  });
}

std::string PackagedKernel::whyNot(size_t index, const std::vector<Argument> &arguments) const {
  const Variant &variant = contents.variants[index];
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool absent = std::holds_alternative<Absent>(arguments[i]);
    if (absent && !variant.absent[i])
      return contents.parameters[i].name + ": expected an argument, found nothing";
    if (!absent && variant.absent[i])
      return contents.parameters[i].name + ": expected nothing, found " + describe(arguments[i]);
  }
  try {
    checkArguments(programs[index]->manifest(), withoutAbsent(arguments));
  } catch (const LaunchError &error) {
    return error.what();
  }
  for (const Condition &condition : variant.when)
    if (std::optional<int64_t> value = valueOf(condition, arguments);
        value && !holds(condition, *value))
      return condition.name + " is " + std::to_string(*value) + ", this code is for " +
             condition.text();
  return "the arguments do not fit";
}

size_t PackagedKernel::choose(const Device &device, const std::vector<Argument> &arguments) const {
  if (arguments.size() != contents.parameters.size()) {
    std::vector<std::string> names;
    for (const DeclaredParameter &parameter : contents.parameters)
      names.push_back(parameter.name);
    throw LaunchError(contents.name + " takes " + std::to_string(names.size()) + " arguments (" +
                      commaSeparated(names) + "), found " + std::to_string(arguments.size()));
  }
  std::vector<size_t> candidates;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (!programs[i])
      continue;
    if (takes(i, arguments))
      return i;
    candidates.push_back(i);
  }
  if (candidates.empty()) {
    std::vector<std::string> architectures;
    for (const Variant &variant : contents.variants)
      if (std::find(architectures.begin(), architectures.end(), variant.arch) ==
          architectures.end())
        architectures.push_back(variant.arch);
    throw DeviceError(contents.name + " was compiled for " + commaSeparated(architectures) + "; " +
                      device.driver().deviceName() + " runs code for " + Driver::architecture);
  }
  if (candidates.size() == 1)
    throw LaunchError(contents.name + ": " + whyNot(candidates[0], arguments));
  std::string message = contents.name + ": no variant of the package takes these arguments";
  for (size_t candidate : candidates)
    message += "\n  variant " + std::to_string(candidate) + ": " + whyNot(candidate, arguments);
  throw LaunchError(message);
}

Wait PackagedKernel::launch(Device &device, const std::vector<Argument> &arguments,
                            cuda::CUstream stream, const Interrupted &interrupted,
                            const Print &print) {
  size_t variant = choose(device, arguments);
  const std::vector<bool> &absent = contents.variants[variant].absent;
  Program &program = *programs[variant];
  if (std::find(absent.begin(), absent.end(), true) == absent.end())
    return program.launch(device, arguments, stream, interrupted, print);
  return program.launch(device, withoutAbsent(arguments), stream, interrupted, print);
}

std::string Package::write(std::string_view index, const std::vector<ImageToPack> &images) {
  try {
    std::vector<image::Bytes> packed;
    for (const ImageToPack &image : images) {
      std::vector<image::Source> places;
      for (const Source &source : image.sources)
        places.push_back({source.name, source.file, source.firstLine});
      packed.push_back(image::withoutTraces(image::setSources(image.bytes, places)));
    }
    std::string bytes = image::writePackageFile(index, packed);
    Package check(bytes);
    return bytes;
  } catch (const image::Error &error) {
    throw Error(error.what());
  }
}

Package::Package(std::string_view bytes) {
  try {
    image::PackageFile file = image::readPackageFile(bytes);
    PackageIndex index = PackageIndex::parse(file.index, file.images.size());
    writtenBy = std::move(index.writer);
    for (KernelEntry &kernel : index.kernels)
      entries.emplace_back(new PackagedKernel(std::move(kernel), file.images));
  } catch (const image::Error &error) {
    throw Error(error.what());
  }
}

std::unique_ptr<Package> Package::load(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  // Nothing but a failing read sets badbit; an empty file sets failbit of `bytes`.
  if (file)
    bytes << file.rdbuf();
  if (!file.is_open() || file.bad())
    throw Error("cannot read the package " + path + ": " + std::strerror(errno));
  try {
    return std::make_unique<Package>(bytes.str());
  } catch (const Error &error) {
    throw Error(path + ": " + error.what());
  }
}

PackagedKernel &Package::kernel(std::string_view name) const {
  std::vector<std::string> names;
  for (const std::unique_ptr<PackagedKernel> &entry : entries) {
    if (entry->entry().name == name)
      return *entry;
    names.push_back(entry->entry().name);
  }
  throw LaunchError("the package has no kernel " + std::string(name) + ": it has " +
                    (names.empty() ? "none" : commaSeparated(names)));
}

} // namespace girih::runtime
