//===- FloatBits.cpp - Numbers as bits of a floating-point type
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "FloatBits.h"

#include <cmath>

namespace girih::runtime {
namespace {

/// A binary format of IEEE 754: bits of the exponent, bits of the fraction.
struct Format {
  int exponent, fraction;
};

Format formatOf(DType type) {
  switch (type) {
  case DType::F64:
    return {11, 52};
  case DType::F32:
    return {8, 23};
  case DType::F16:
    return {5, 10};
  case DType::BF16:
    return {8, 7};
  default:
    throw Error(std::string("a scalar of ") + name(type) + " cannot be passed");
  }
}

} // namespace

uint64_t floatBits(DType type, double number) {
  auto [exponentBits, fractionBits] = formatOf(type);
  uint64_t sign = uint64_t{std::signbit(number)} << (exponentBits + fractionBits);
  uint64_t infinity = ((uint64_t{1} << exponentBits) - 1) << fractionBits;
  if (std::isnan(number))
    return infinity | uint64_t{1} << (fractionBits - 1);
  if (std::isinf(number))
    return sign | infinity;
  int bias = (1 << (exponentBits - 1)) - 1;
  int smallest = 1 - bias; // the exponent of the smallest normal number and of all below it
  int exponent = number == 0 ? smallest : std::max(std::ilogb(number), smallest);
  int unit = exponent - fractionBits; // of the last place
  // Exact, and below 2^53: the rounding is to a whole number of units. nearbyint rounds to even.
  auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::abs(number), -unit)));
  // The leading one of a normal number adds one to the exponent, as does a carry out of the
  // fraction.
  uint64_t bits = (static_cast<uint64_t>(exponent - smallest) << fractionBits) + units;
  return sign | std::min(bits, infinity);
}

bool overflows(DType type, double number) {
  if (!std::isfinite(number))
    return false;
  auto [exponentBits, fractionBits] = formatOf(type);
  uint64_t infinity = ((uint64_t{1} << exponentBits) - 1) << fractionBits;
  return floatBits(type, std::abs(number)) == infinity;
}

} // namespace girih::runtime
