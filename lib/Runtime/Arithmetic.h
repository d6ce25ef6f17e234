//===- Arithmetic.h - 64-bit integers that do not wrap around
//------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of the host plan work on shapes and strides of the user's arrays: a result that does
// not fit 64 bits is the user's error, never a wrong grid.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_LIB_RUNTIME_ARITHMETIC_H
#define GIRIH_LIB_RUNTIME_ARITHMETIC_H

#include "girih/Runtime/Manifest.h"

namespace girih::runtime {

/// The value of a binary expression (StepKind Add and later). Throws LaunchError for overflow and
/// for division by zero.
int64_t evaluate(StepKind kind, int64_t a, int64_t b);

} // namespace girih::runtime

#endif // GIRIH_LIB_RUNTIME_ARITHMETIC_H
