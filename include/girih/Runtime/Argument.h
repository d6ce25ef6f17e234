//===- Argument.h - What a call passes to a kernel
//-----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments are plain values: an array is an address with its shape, whoever owns the memory.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_ARGUMENT_H
#define GIRIH_RUNTIME_ARGUMENT_H

#include "girih/Runtime/DType.h"

#include <string>
#include <variant>
#include <vector>

namespace girih::runtime {

/// An array in device memory. Strides count elements and there is one per dimension.
struct ArrayArgument {
  uint64_t address = 0;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

/// What is passed for an optional parameter of a packaged kernel that has no argument.
struct Absent {};

/// An array, an integer or a floating-point number, in the order of the package's parameters.
using Argument = std::variant<ArrayArgument, int64_t, double, Absent>;

/// "(128, 64)"; a single extent is "(128,)", as Python prints it.
GIRIH_RUNTIME_API std::string printExtents(const std::vector<int64_t> &extents);

/// "an array of bf16 with shape (128, 64)", "the integer 3", "the float 2.5", "nothing".
GIRIH_RUNTIME_API std::string describe(const Argument &argument);

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_ARGUMENT_H
