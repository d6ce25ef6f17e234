//===- Arithmetic.cpp - 64-bit integers that do not wrap around
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "Arithmetic.h"

#include <algorithm>
#include <limits>

namespace girih::runtime {
namespace {

[[noreturn]] void overflow(const char *op, int64_t a, int64_t b) {
  throw LaunchError("the launch cannot be computed: " + std::to_string(a) + " " + op + " " +
                    std::to_string(b) + " does not fit 64 bits");
}

void checkDivision(const char *op, int64_t a, int64_t b) {
  if (b == 0)
    throw LaunchError("the launch cannot be computed: " + std::to_string(a) + " " + op +
                      " 0 divides by zero");
  if (a == std::numeric_limits<int64_t>::min() && b == -1)
    overflow(op, a, b);
}

} // namespace

int64_t evaluate(StepKind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case StepKind::Add:
    if (__builtin_add_overflow(a, b, &result))
      overflow("+", a, b);
    return result;
  case StepKind::Sub:
    if (__builtin_sub_overflow(a, b, &result))
      overflow("-", a, b);
    return result;
  case StepKind::Mul:
    if (__builtin_mul_overflow(a, b, &result))
      overflow("*", a, b);
    return result;
  case StepKind::Div:
    checkDivision("/", a, b);
    return a / b;
  case StepKind::CeilDiv:
    checkDivision("/", a, b);
    // The quotient is truncated: it lies below the exact one only where that is positive.
    return a / b + (a % b != 0 && (a < 0) == (b < 0));
  case StepKind::Rem:
    checkDivision("%", a, b);
    return a % b;
  case StepKind::Min:
    return std::min(a, b);
  case StepKind::Max:
    return std::max(a, b);
  case StepKind::Eq:
    return a == b;
  case StepKind::Ne:
    return a != b;
  case StepKind::Lt:
    return a < b;
  case StepKind::Le:
    return a <= b;
  case StepKind::Gt:
    return a > b;
  case StepKind::Ge:
    return a >= b;
  case StepKind::And:
    return a & b;
  case StepKind::Or:
    return a | b;
  default:
    throw Error("step is no binary expression");
  }
}

} // namespace girih::runtime
