//===- CheckArguments.cpp - Do the arguments fit the package's parameters?
//-----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What specialises a kernel (dtype, rank, which stride is 1, alignment) is checked here; what
// relates arguments to each other is a `require` of the host plan.
//
//===--------------------------------------------------------------------------------------------===//
#include "CheckArguments.h"

#include "FloatBits.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace girih::runtime {
namespace {

/// Whether there is no element: then addresses and strides mean nothing.
bool isEmpty(const ArrayArgument &array) {
  return std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
}

/// The stride of a dimension with one element says nothing about memory.
bool hasUnitStride(const Parameter &parameter, const ArrayArgument &array) {
  int dim = parameter.contiguous;
  return dim < 0 || array.strides[dim] == 1 || array.shape[dim] <= 1;
}

/// The first dimension whose stride is no multiple of what is promised, or the rank.
size_t misalignedDimension(const Parameter &parameter, const ArrayArgument &array) {
  constexpr int64_t unit = alignment;
  size_t dim = 0;
  // Taken modulo first: the product may not fit 64 bits.
  while (dim < array.shape.size() &&
         (static_cast<int>(dim) == parameter.contiguous || array.shape[dim] <= 1 ||
          array.strides[dim] % unit * static_cast<int64_t>(sizeInBytes(array.dtype)) % unit == 0))
    ++dim;
  return dim;
}

/// "an array of bf16 with 2 dimensions".
std::string expectedArray(const Parameter &parameter) {
  return std::string("an array of ") + name(parameter.dtype) + " with " +
         std::to_string(parameter.rank) + (parameter.rank == 1 ? " dimension" : " dimensions");
}

[[noreturn]] void refuse(const Parameter &parameter, const std::string &expected,
                         const Argument &found) {
  throw LaunchError(parameter.name + ": expected " + expected + ", found " + describe(found));
}

/// An aligned array's promise: TMA and 16-byte accesses rely on it.
void checkAlignment(const Parameter &parameter, const ArrayArgument &array) {
  auto fail = [&](const std::string &what) {
    throw LaunchError(parameter.name + ": " + what + "; the kernel was compiled for multiples of " +
                      std::to_string(alignment));
  };
  if (uint64_t past = array.address % alignment)
    fail("the first element's address is " + std::to_string(past) + " bytes past a multiple of " +
         std::to_string(alignment));
  if (size_t dim = misalignedDimension(parameter, array); dim < array.shape.size())
    fail("the stride of dimension " + std::to_string(dim) + " is " +
         std::to_string(array.strides[dim]) + " elements of " + name(array.dtype) +
         ", which is no multiple of " + std::to_string(alignment) + " bytes");
}

/// Elements of an array that the kernel writes have places of their own. Whether steps along three
/// or more dimensions meet is a knapsack problem; two suffice for broadcasts and sliding windows.
void checkOverlap(const Parameter &parameter, const ArrayArgument &array) {
  size_t rank = array.shape.size();
  auto fail = [&](const std::string &what) {
    throw LaunchError(parameter.name + ": the kernel writes it, and " + what + " (shape " +
                      printExtents(array.shape) + ", strides " + printExtents(array.strides) +
                      " in elements); pass an array of its own memory");
  };
  for (size_t i = 0; i < rank; ++i) {
    if (array.shape[i] == 1)
      continue;
    if (array.strides[i] == 0)
      fail("all elements along dimension " + std::to_string(i) + " share one place");
    for (size_t j = 0; j < i; ++j) {
      if (array.shape[j] == 1)
        continue;
      // The fewest steps along i and j that lead to one place.
      int64_t common = std::gcd(array.strides[i], array.strides[j]);
      if (std::abs(array.strides[j] / common) < array.shape[i] &&
          std::abs(array.strides[i] / common) < array.shape[j])
        fail("elements along dimensions " + std::to_string(j) + " and " + std::to_string(i) +
             " share places");
    }
  }
}

/// A finite number must not become an infinity.
void checkReal(const Parameter &parameter, double real, const Argument &found) {
  if (overflows(parameter.dtype, real))
    refuse(parameter,
           std::string("a scalar of type ") + name(parameter.dtype) +
               ", in which it would be an infinity",
           found);
}

} // namespace

bool fits(const Parameter &parameter, const ArrayArgument &array) {
  if (array.dtype != parameter.dtype || array.shape.size() != parameter.rank)
    return false;
  return isEmpty(array) ||
         (hasUnitStride(parameter, array) &&
          (!parameter.aligned || (array.address % alignment == 0 &&
                                  misalignedDimension(parameter, array) == array.shape.size())));
}

void checkArgument(const Parameter &parameter, const ArrayArgument &array) {
  if (!parameter.isArray)
    refuse(parameter, std::string("a scalar of type ") + name(parameter.dtype), array);
  if (array.dtype != parameter.dtype || array.shape.size() != parameter.rank)
    refuse(parameter, expectedArray(parameter), array);

  // Kernels index with 32 bits.
  for (size_t dim = 0; dim < array.shape.size(); ++dim)
    if (array.shape[dim] > std::numeric_limits<int32_t>::max())
      throw LaunchError(parameter.name + ": expected dimension " + std::to_string(dim) +
                        " below 2147483648, found " + std::to_string(array.shape[dim]));

  if (isEmpty(array))
    return;
  if (!hasUnitStride(parameter, array))
    throw LaunchError(parameter.name + ": expected stride 1 in dimension " +
                      std::to_string(parameter.contiguous) + ", found strides " +
                      printExtents(array.strides) + " (in elements); pass a contiguous copy");
  if (parameter.aligned)
    checkAlignment(parameter, array);
  if (parameter.access != Access::In)
    checkOverlap(parameter, array);
}

void checkArgument(const Parameter &parameter, int64_t integer) {
  if (parameter.isArray)
    refuse(parameter, expectedArray(parameter), integer);
  if (!isInteger(parameter.dtype))
    return checkReal(parameter, static_cast<double>(integer), integer);
  IntegerRange range = rangeOf(parameter.dtype);
  if (integer < range.low || integer > range.high)
    refuse(parameter,
           std::string("a scalar of type ") + name(parameter.dtype) + " (" +
               std::to_string(range.low) + " to " + std::to_string(range.high) + ")",
           integer);
}

void checkArgument(const Parameter &parameter, double real) {
  if (parameter.isArray)
    refuse(parameter, expectedArray(parameter), real);
  if (isInteger(parameter.dtype))
    refuse(parameter, std::string("a scalar of type ") + name(parameter.dtype), real);
  checkReal(parameter, real, real);
}

void checkArgument(const Parameter &parameter, Absent nothing) {
  refuse(parameter,
         parameter.isArray ? expectedArray(parameter)
                           : std::string("a scalar of type ") + name(parameter.dtype),
         nothing);
}

void checkArguments(const Manifest &manifest, const std::vector<Argument> &arguments) {
  checkCount(manifest, arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    std::visit([&](const auto &value) { checkArgument(manifest.parameters[i], value); },
               arguments[i]);
}

void checkCount(const Manifest &manifest, size_t arguments) {
  if (arguments == manifest.parameters.size())
    return;
  std::string names;
  for (const Parameter &parameter : manifest.parameters)
    names += (names.empty() ? "" : ", ") + parameter.name;
  throw LaunchError(manifest.name + " takes " + std::to_string(manifest.parameters.size()) +
                    " arguments (" + names + "), found " + std::to_string(arguments));
}

} // namespace girih::runtime
