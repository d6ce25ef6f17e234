// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Does with a package all that can be done with one, whatever is in it. What the unit test with
// random edits and the fuzzer share.
#ifndef GIRIH_TEST_UNIT_RUNTIME_PACKAGEEXERCISE_H
#define GIRIH_TEST_UNIT_RUNTIME_PACKAGEEXERCISE_H

#include "girih/Runtime/PackageText.h"

#include <algorithm>

namespace girih::runtime {

/// Arguments of the types that a variant takes, or of none in particular where there is none.
inline std::vector<Argument> argumentsFor(const PackagedKernel &kernel, size_t variant) {
  const KernelEntry &entry = kernel.entry();
  const Program *program = kernel.program(variant);
  std::vector<Argument> arguments;
  size_t next = 0;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    if (entry.variants[variant].absent[i] || !program) {
      arguments.push_back(Absent{});
      continue;
    }
    const Parameter &parameter = program->manifest().parameters[next++];
    if (!parameter.isArray) {
      arguments.push_back(int64_t{1});
      continue;
    }
    // Large ranks are refused before a shape is looked at.
    unsigned rank = std::min(parameter.rank, 6u);
    ArrayArgument array{0x10000, parameter.dtype, std::vector<int64_t>(rank, 64), {}};
    for (unsigned dim = 0; dim < rank; ++dim)
      array.strides.push_back(int64_t{1} << 6 * (rank - 1 - dim));
    if (parameter.contiguous >= 0 && parameter.contiguous < static_cast<int>(rank))
      std::swap(array.strides[parameter.contiguous], array.strides[rank - 1]);
    arguments.push_back(array);
  }
  return arguments;
}

/// Reads a package, prints it, writes its header and calls each variant of each kernel. Returns the
/// first message of an error of the runtime's, "" if there was none; lets everything else through.
inline std::string exercise(std::string_view bytes, Device &device) {
  std::string first;
  auto attempt = [&](auto &&action) {
    try {
      action();
      return true;
    } catch (const Error &error) {
      if (first.empty())
        first = error.what();
      return false;
    }
  };
  std::unique_ptr<Package> package;
  if (!attempt([&] { package = std::make_unique<Package>(bytes); }))
    return first;
  attempt([&] { packageText(bytes); });
  attempt([&] { packageHeader(*package, "fuzz"); });
  for (const std::unique_ptr<PackagedKernel> &kernel : package->kernels())
    for (size_t variant = 0; variant < kernel->entry().variants.size(); ++variant)
      attempt([&] {
        kernel->launch(device, argumentsFor(*kernel, variant), nullptr, {},
                       [](const std::string &) {});
      });
  return first;
}

} // namespace girih::runtime

#endif // GIRIH_TEST_UNIT_RUNTIME_PACKAGEEXERCISE_H
