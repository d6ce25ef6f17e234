//===- FloatBits.cpp - Numbers as bits of a floating-point type
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "FloatBits.h"

#include <cmath>
#include <cstring>

namespace girih::runtime {
namespace {

/// A binary format as IEEE 754 has them: bits of the exponent, bits of the fraction, and whether
/// the largest exponent stands for infinities and NaNs (in e4m3 only all ones are a NaN).
struct Format {
  int exponent, fraction;
  bool infinities = true;
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
  case DType::E5M2:
    return {5, 2};
  case DType::E4M3:
    return {4, 3, false};
  default:
    throw Error(std::string(name(type)) + " is no floating-point type");
  }
}

} // namespace

uint64_t floatBits(DType type, double number) {
  // What the host's own conversion gives, which rounds to nearest even as well.
  if (type == DType::F32 && !std::isnan(number)) {
    auto single = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof(bits));
    return bits;
  }
  auto [exponentBits, fractionBits, hasInfinities] = formatOf(type);
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
  auto [exponentBits, fractionBits, hasInfinities] = formatOf(type);
  uint64_t infinity = ((uint64_t{1} << exponentBits) - 1) << fractionBits;
  return floatBits(type, std::abs(number)) == infinity;
}

double floatValue(DType type, uint64_t bits) {
  auto [exponentBits, fractionBits, hasInfinities] = formatOf(type);
  int top = (1 << exponentBits) - 1, bias = (1 << (exponentBits - 1)) - 1;
  auto fraction = static_cast<double>(bits & ((uint64_t{1} << fractionBits) - 1));
  double one = std::ldexp(1.0, fractionBits);
  int exponent = static_cast<int>(bits >> fractionBits) & top;
  double magnitude =
      std::ldexp(fraction + (exponent > 0 ? one : 0), std::max(exponent, 1) - bias - fractionBits);
  if (exponent == top && hasInfinities)
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == top && fraction == one - 1)
    magnitude = std::nan("");
  return bits >> (exponentBits + fractionBits) & 1 ? -magnitude : magnitude;
}

} // namespace girih::runtime
