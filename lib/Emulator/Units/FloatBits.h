// Floating-point numbers as bit patterns: one value each, without branches, always inlined, so that
// loops over lanes vectorise in the instruction set of whoever calls.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_UNITS_FLOATBITS_H
#define GIRIH_EMULATOR_UNITS_FLOATBITS_H

#include "girih/Emulator/FloatFormats.h"

#include <bit>
#include <cstdint>

namespace girih::emu::bits {

#define GIRIH_INLINE [[gnu::always_inline]] inline

constexpr uint32_t kFloatInfinity = 0x7f800000;

GIRIH_INLINE uint32_t of(float value) { return std::bit_cast<uint32_t>(value); }
GIRIH_INLINE uint64_t of(double value) { return std::bit_cast<uint64_t>(value); }

/// Widens a code of `Exponent` and `Mantissa` bits (sign removed). A subnormal is an integer times
/// a power of two; both factors and the product are normal binary32 numbers, so flush-to-zero
/// cannot touch them.
template <int Exponent, int Mantissa> GIRIH_INLINE uint32_t widenMagnitude(uint32_t code) {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr int shift = 23 - Mantissa;
  constexpr float subnormalUnit =
      std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - bias - Mantissa) << 23);
  uint32_t normal = (code << shift) + (static_cast<uint32_t>(127 - bias) << 23);
  uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(code)) * subnormalUnit);
  return code < (1u << Mantissa) ? subnormal : normal;
}

GIRIH_INLINE uint32_t widenF16(uint32_t code) {
  uint32_t magnitude = code & 0x7fff;
  uint32_t special = (magnitude << 13) | kFloatInfinity;
  uint32_t result = magnitude >= 0x7c00 ? special : widenMagnitude<5, 10>(magnitude);
  return result | ((code & 0x8000) << 16);
}
GIRIH_INLINE uint32_t widenE4m3(uint32_t code) {
  uint32_t magnitude = code & 0x7f;
  uint32_t result = magnitude == 0x7f ? 0x7fc00000u : widenMagnitude<4, 3>(magnitude);
  return result | ((code & 0x80) << 24);
}
/// e5m2 is the upper byte of a binary16 number.
GIRIH_INLINE uint32_t widenE5m2(uint32_t code) { return widenF16(code << 8); }

/// What is added below the last kept bit before the bits under it are cut off: `last` is the value
/// shifted so that its bit 0 is the last kept bit, `shift` (1..31) how many are cut, `negative` 0
/// or 1.
template <Rounding rounding>
GIRIH_INLINE uint32_t increment(uint32_t last, uint32_t shift, uint32_t negative) {
  if constexpr (rounding == Rounding::NearestEven)
    return (1u << (shift - 1)) - 1 + (last & 1);
  else if constexpr (rounding == Rounding::NearestAway)
    return 1u << (shift - 1);
  else if constexpr (rounding == Rounding::Down)
    return negative ? (1u << shift) - 1 : 0;
  else if constexpr (rounding == Rounding::Up)
    return negative ? 0 : (1u << shift) - 1;
  else
    return 0;
}

/// The code, without sign, of a finite or infinite magnitude; too large a magnitude gives a code
/// beyond the format's largest finite one, for the caller to clamp.
template <int Exponent, int Mantissa, Rounding rounding>
GIRIH_INLINE uint32_t narrowMagnitude(uint32_t magnitude, uint32_t negative) {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr uint32_t drop = 23 - Mantissa;
  // binary32 exponent field of the smallest normal number
  constexpr uint32_t minExponent = 128 - bias;
  uint32_t exponent = magnitude >> 23;
  bool subnormal = exponent < minExponent;
  // A binary32 subnormal has no hidden bit; it is far below half of any unit here, so only whether
  // it is zero matters (directed roundings).
  uint32_t significand = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  uint32_t distance = subnormal ? minExponent - exponent : 0;
  uint32_t shift = drop + distance < 31 ? drop + distance : 31;
  uint32_t rebased = magnitude - (static_cast<uint32_t>(127 - bias) << 23);
  uint32_t value = subnormal ? significand : rebased;
  return (value + increment<rounding>(value >> shift, shift, negative)) >> shift;
}

template <Rounding rounding> GIRIH_INLINE bool overflowsToInfinity(uint32_t negative) {
  if constexpr (rounding == Rounding::Down)
    return negative;
  else if constexpr (rounding == Rounding::Up)
    return !negative;
  else
    return rounding != Rounding::TowardsZero;
}

template <Rounding rounding = Rounding::NearestEven> GIRIH_INLINE uint32_t narrowF16(uint32_t v) {
  uint32_t magnitude = v & 0x7fffffff, negative = v >> 31;
  uint32_t code = narrowMagnitude<5, 10, rounding>(magnitude, negative);
  uint32_t largest =
      overflowsToInfinity<rounding>(negative) || magnitude == kFloatInfinity ? 0x7c00 : 0x7bff;
  code = (code < largest ? code : largest) | (negative << 15);
  return magnitude > kFloatInfinity ? 0x7fff : code;
}
template <Rounding rounding = Rounding::NearestEven> GIRIH_INLINE uint32_t narrowBf16(uint32_t v) {
  uint32_t magnitude = v & 0x7fffffff, negative = v >> 31;
  uint32_t code = (magnitude + increment<rounding>(magnitude >> 16, 16, negative)) >> 16;
  uint32_t largest =
      overflowsToInfinity<rounding>(negative) || magnitude == kFloatInfinity ? 0x7f80 : 0x7f7f;
  code = (code < largest ? code : largest) | (negative << 15);
  return magnitude > kFloatInfinity ? 0x7fff : code;
}
/// Low 13 bits zero, except for NaN.
template <Rounding rounding> GIRIH_INLINE uint32_t narrowTf32(uint32_t v) {
  uint32_t magnitude = v & 0x7fffffff, negative = v >> 31;
  uint32_t rounded =
      ((magnitude + increment<rounding>(magnitude >> 13, 13, negative)) & 0xffffe000u) | negative
                                                                                             << 31;
  uint32_t code = magnitude == kFloatInfinity ? v : rounded;
  return magnitude > kFloatInfinity ? 0x7fffffff : code;
}
template <int Exponent, int Mantissa, uint32_t Largest>
GIRIH_INLINE uint32_t narrowSaturating(uint32_t v) {
  uint32_t magnitude = v & 0x7fffffff;
  uint32_t code = narrowMagnitude<Exponent, Mantissa, Rounding::NearestEven>(magnitude, 0);
  code = (code < Largest ? code : Largest) | ((v >> 24) & 0x80);
  return magnitude > kFloatInfinity ? 0x7f : code;
}
GIRIH_INLINE uint32_t narrowE4m3(uint32_t v) { return narrowSaturating<4, 3, 0x7e>(v); }
GIRIH_INLINE uint32_t narrowE5m2(uint32_t v) { return narrowSaturating<5, 2, 0x7b>(v); }

/// Binary64 to binary32, rounded to odd: inexact results get an odd last bit, so a later rounding
/// to at most 22 bits gives what rounding once would have given (Boldo and Melquiond, "Emulation of
/// a FMA and correctly rounded sums: proved algorithms using rounding to odd"). Finite values stay
/// finite.
GIRIH_INLINE float toFloatOdd(double value) {
  float nearest = static_cast<float>(value);
  double back = static_cast<double>(nearest);
  uint32_t code = of(nearest);
  // The neighbour towards the exact value, by magnitude.
  bool tooSmall =
      std::bit_cast<double>(of(back) & INT64_MAX) < std::bit_cast<double>(of(value) & INT64_MAX);
  uint32_t other = tooSmall ? code + 1 : code - 1;
  bool adjust = back != value && value == value && !(code & 1);
  return std::bit_cast<float>(adjust ? other : code);
}

/// The sum of two numbers, rounded to odd: the error of the nearest sum (Knuth's two-sum) says on
/// which side the exact one lies.
template <typename T, typename Word> GIRIH_INLINE T addOdd(T a, T b) {
  T sum = a + b;
  T bPart = sum - a;
  T error = (a - (sum - bPart)) + (b - bPart);
  Word code = std::bit_cast<Word>(sum);
  Word other = (error > 0) == (sum > 0) ? code + 1 : code - 1;
  // Infinite sums have errors that are no numbers, which compare false.
  bool adjust = (error > 0 || error < 0) && !(code & 1);
  return std::bit_cast<T>(adjust ? other : code);
}

} // namespace girih::emu::bits

#endif // GIRIH_EMULATOR_UNITS_FLOATBITS_H
