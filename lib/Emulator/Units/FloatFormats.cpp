// Conversions of narrow floating-point formats, as arithmetic on their bits. The scalar functions
// have no branches, so the array loops vectorise.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/FloatFormats.h"

namespace girih::emu {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000;

/// Widens a code of `Exponent` and `Mantissa` bits (sign removed). A subnormal is an integer times
/// a power of two; both factors and the product are normal binary32 numbers, so flush-to-zero
/// cannot touch them.
template <int Exponent, int Mantissa> inline uint32_t widenMagnitude(uint32_t code) {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr int shift = 23 - Mantissa;
  constexpr float subnormalUnit =
      std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - bias - Mantissa) << 23);
  uint32_t normal = (code << shift) + (static_cast<uint32_t>(127 - bias) << 23);
  uint32_t subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(code)) * subnormalUnit);
  return code < (1u << Mantissa) ? subnormal : normal;
}

inline uint32_t widenF16(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fff;
  uint32_t special = (magnitude << 13) | kFloatInfinity;
  uint32_t result = magnitude >= 0x7c00 ? special : widenMagnitude<5, 10>(magnitude);
  return result | ((bits & 0x8000) << 16);
}

inline uint32_t widenE4m3(uint32_t bits) {
  uint32_t magnitude = bits & 0x7f;
  uint32_t result = magnitude == 0x7f ? 0x7fc00000u : widenMagnitude<4, 3>(magnitude);
  return result | ((bits & 0x80) << 24);
}

/// value >> shift (1..31), to nearest even or towards zero; value + 2^(shift - 1) must fit in 32
/// bits.
inline uint32_t shiftRounded(uint32_t value, uint32_t shift, bool nearest) {
  uint32_t half = (1u << (shift - 1)) - 1 + ((value >> shift) & 1);
  return (value + (nearest ? half : 0)) >> shift;
}

/// The code, without sign, of a finite or infinite magnitude; too large a magnitude gives a code
/// beyond the format's largest finite one, for the caller to clamp.
template <int Exponent, int Mantissa>
inline uint32_t narrowMagnitude(uint32_t magnitude, bool nearest) {
  constexpr int bias = (1 << (Exponent - 1)) - 1;
  constexpr uint32_t drop = 23 - Mantissa;
  constexpr uint32_t minExponent =
      128 - bias; // binary32 exponent field of the smallest normal number
  uint32_t exponent = magnitude >> 23;
  bool subnormal = exponent < minExponent;
  uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  uint32_t distance = subnormal ? minExponent - exponent : 0;
  uint32_t shift = drop + distance < 31 ? drop + distance : 31;
  uint32_t rebased = magnitude - (static_cast<uint32_t>(127 - bias) << 23);
  return shiftRounded(subnormal ? significand : rebased, shift, nearest);
}

inline uint32_t narrowF16(uint32_t bits, bool nearest) {
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t code = narrowMagnitude<5, 10>(magnitude, nearest);
  uint32_t largest = nearest || magnitude == kFloatInfinity ? 0x7c00 : 0x7bff;
  code = (code < largest ? code : largest) | ((bits >> 16) & 0x8000);
  return magnitude > kFloatInfinity ? 0x7fff : code;
}

inline uint32_t narrowBf16(uint32_t bits, bool nearest) {
  uint32_t code = (bits + (nearest ? 0x7fff + ((bits >> 16) & 1) : 0)) >> 16;
  return (bits & 0x7fffffff) > kFloatInfinity ? 0x7fff : code;
}

template <int Exponent, int Mantissa, uint32_t Largest>
inline uint32_t narrowSaturating(uint32_t bits) {
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t code = narrowMagnitude<Exponent, Mantissa>(magnitude, true);
  code = (code < Largest ? code : Largest) | ((bits >> 24) & 0x80);
  return magnitude > kFloatInfinity ? 0x7f : code;
}

template <typename From, typename To, typename Function>
[[gnu::always_inline]] inline void convertLoop(const From *__restrict source,
                                               To *__restrict destination, size_t count,
                                               Function function) {
  for (size_t i = 0; i < count; ++i)
    destination[i] = function(source[i]);
}

template <typename From, typename To, typename Function>
void convertPortable(const From *source, To *destination, size_t count, Function function) {
  convertLoop(source, destination, count, function);
}

#if defined(__x86_64__)
template <typename From, typename To, typename Function>
__attribute__((target("avx2"))) void convertAvx2(const From *source, To *destination, size_t count,
                                                 Function function) {
  convertLoop(source, destination, count, function);
}
#endif

/// One loop in two versions: shifts by a different count in each lane need AVX2.
template <typename From, typename To, typename Function>
void convert(const From *source, To *destination, size_t count, Function function) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide)
    return convertAvx2(source, destination, count, function);
#endif
  convertPortable(source, destination, count, function);
}

inline uint32_t floatBits(float value) { return std::bit_cast<uint32_t>(value); }

} // namespace

float f16ToFloat(uint16_t bits) { return std::bit_cast<float>(widenF16(bits)); }
float e4m3ToFloat(uint8_t bits) { return std::bit_cast<float>(widenE4m3(bits)); }
// e5m2 is the upper byte of a binary16 number.
float e5m2ToFloat(uint8_t bits) { return std::bit_cast<float>(widenF16(uint32_t(bits) << 8)); }

uint16_t floatToBf16(float value, Rounding rounding) {
  return static_cast<uint16_t>(narrowBf16(floatBits(value), rounding == Rounding::NearestEven));
}
uint16_t floatToF16(float value, Rounding rounding) {
  return static_cast<uint16_t>(narrowF16(floatBits(value), rounding == Rounding::NearestEven));
}
uint8_t floatToE4m3(float value) {
  return static_cast<uint8_t>(narrowSaturating<4, 3, 0x7e>(floatBits(value)));
}
uint8_t floatToE5m2(float value) {
  return static_cast<uint8_t>(narrowSaturating<5, 2, 0x7b>(floatBits(value)));
}

uint32_t floatToTf32Rna(float value) {
  uint32_t bits = floatBits(value);
  if ((bits & 0x7fffffff) > kFloatInfinity)
    return 0x7fffffff;
  return (bits + 0x1000) & 0xffffe000;
}

uint32_t floatToTf32(float value, Rounding rounding) {
  uint32_t bits = floatBits(value);
  if ((bits & 0x7fffffff) > kFloatInfinity)
    return 0x7fffffff;
  if (rounding == Rounding::NearestEven)
    bits += 0xfff + ((bits >> 13) & 1);
  return bits & 0xffffe000;
}

void bf16ToFloat(const uint16_t *source, float *destination, size_t count) {
  convert(source, destination, count, [](uint16_t bits) { return bf16ToFloat(bits); });
}
void f16ToFloat(const uint16_t *source, float *destination, size_t count) {
  convert(source, destination, count,
          [](uint16_t bits) { return std::bit_cast<float>(widenF16(bits)); });
}
void e4m3ToFloat(const uint8_t *source, float *destination, size_t count) {
  convert(source, destination, count,
          [](uint8_t bits) { return std::bit_cast<float>(widenE4m3(bits)); });
}
void e5m2ToFloat(const uint8_t *source, float *destination, size_t count) {
  convert(source, destination, count,
          [](uint8_t bits) { return std::bit_cast<float>(widenF16(uint32_t(bits) << 8)); });
}
void tf32ToFloat(const uint32_t *source, float *destination, size_t count) {
  convert(source, destination, count, [](uint32_t bits) { return tf32ToFloat(bits); });
}
void floatToBf16(const float *source, uint16_t *destination, size_t count, Rounding rounding) {
  bool nearest = rounding == Rounding::NearestEven;
  convert(source, destination, count, [=](float value) {
    return static_cast<uint16_t>(narrowBf16(floatBits(value), nearest));
  });
}
void floatToF16(const float *source, uint16_t *destination, size_t count, Rounding rounding) {
  bool nearest = rounding == Rounding::NearestEven;
  convert(source, destination, count,
          [=](float value) { return static_cast<uint16_t>(narrowF16(floatBits(value), nearest)); });
}
void floatToE4m3(const float *source, uint8_t *destination, size_t count) {
  convert(source, destination, count, [](float value) {
    return static_cast<uint8_t>(narrowSaturating<4, 3, 0x7e>(floatBits(value)));
  });
}
void floatToE5m2(const float *source, uint8_t *destination, size_t count) {
  convert(source, destination, count, [](float value) {
    return static_cast<uint8_t>(narrowSaturating<5, 2, 0x7b>(floatBits(value)));
  });
}

} // namespace girih::emu
