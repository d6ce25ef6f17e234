//===- CheckArguments.cpp - Do the arguments fit the package's parameters?
//-----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What specialises a kernel (dtype, rank, which stride is 1) is checked here; what relates
// arguments to each other is a `require` of the host plan.
//
//===--------------------------------------------------------------------------------------------===//
#include "CheckArguments.h"

#include <limits>

namespace girih::runtime {
namespace {

void checkArray(const Parameter &parameter, const Argument &argument) {
  std::string expected = std::string("an array of ") + name(parameter.dtype) + " with " +
                         std::to_string(parameter.rank) +
                         (parameter.rank == 1 ? " dimension" : " dimensions");
  const auto *array = std::get_if<ArrayArgument>(&argument);
  if (!array || array->dtype != parameter.dtype || array->shape.size() != parameter.rank)
    throw LaunchError(parameter.name + ": expected " + expected + ", found " + describe(argument));

  // Kernels index with 32 bits.
  for (size_t dim = 0; dim < array->shape.size(); ++dim)
    if (array->shape[dim] > std::numeric_limits<int32_t>::max())
      throw LaunchError(parameter.name + ": expected dimension " + std::to_string(dim) +
                        " below 2147483648, found " + std::to_string(array->shape[dim]));

  int dim = parameter.contiguous;
  // The stride of a dimension with one element says nothing about memory.
  if (dim >= 0 && array->strides[dim] != 1 && array->shape[dim] > 1)
    throw LaunchError(parameter.name + ": expected stride 1 in dimension " + std::to_string(dim) +
                      ", found strides " + printExtents(array->strides) +
                      " (in elements); pass a contiguous copy");
}

void checkScalar(const Parameter &parameter, const Argument &argument) {
  std::string expected = name(parameter.dtype);
  if (const auto *integer = std::get_if<int64_t>(&argument)) {
    if (!isInteger(parameter.dtype))
      return;
    IntegerRange range = rangeOf(parameter.dtype);
    if (*integer >= range.low && *integer <= range.high)
      return;
    expected += " (" + std::to_string(range.low) + " to " + std::to_string(range.high) + ")";
  } else if (std::holds_alternative<double>(argument) && !isInteger(parameter.dtype)) {
    return;
  }
  throw LaunchError(parameter.name + ": expected a scalar of type " + expected + ", found " +
                    describe(argument));
}

} // namespace

void checkArguments(const Manifest &manifest, const std::vector<Argument> &arguments) {
  if (arguments.size() != manifest.parameters.size()) {
    std::string names;
    for (const Parameter &parameter : manifest.parameters)
      names += (names.empty() ? "" : ", ") + parameter.name;
    throw LaunchError(manifest.name + " takes " + std::to_string(manifest.parameters.size()) +
                      " arguments (" + names + "), found " + std::to_string(arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (manifest.parameters[i].isArray)
      checkArray(manifest.parameters[i], arguments[i]);
    else
      checkScalar(manifest.parameters[i], arguments[i]);
  }
}

} // namespace girih::runtime
