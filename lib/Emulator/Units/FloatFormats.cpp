// Conversions of narrow floating-point formats, as arithmetic on their bits. The scalar functions
// have no branches, so the array loops vectorise.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/FloatFormats.h"

#include "Emulator/Units/FloatBits.h"

namespace girih::emu {
namespace {

using namespace bits;

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

/// `f` with the rounding as a template argument.
template <typename F> auto withRounding(Rounding rounding, F f) {
  switch (rounding) {
  case Rounding::TowardsZero:
    return f.template operator()<Rounding::TowardsZero>();
  case Rounding::Down:
    return f.template operator()<Rounding::Down>();
  case Rounding::Up:
    return f.template operator()<Rounding::Up>();
  case Rounding::NearestAway:
    return f.template operator()<Rounding::NearestAway>();
  default:
    return f.template operator()<Rounding::NearestEven>();
  }
}

} // namespace

float f16ToFloat(uint16_t bits) { return std::bit_cast<float>(widenF16(bits)); }
float e4m3ToFloat(uint8_t bits) { return std::bit_cast<float>(widenE4m3(bits)); }
// e5m2 is the upper byte of a binary16 number.
float e5m2ToFloat(uint8_t bits) { return std::bit_cast<float>(widenF16(uint32_t(bits) << 8)); }

uint16_t floatToBf16(float value, Rounding rounding) {
  return withRounding(rounding, [&]<Rounding r>() {
    return static_cast<uint16_t>(narrowBf16<r>(floatBits(value)));
  });
}
uint16_t floatToF16(float value, Rounding rounding) {
  return withRounding(rounding, [&]<Rounding r>() {
    return static_cast<uint16_t>(narrowF16<r>(floatBits(value)));
  });
}
uint8_t floatToE4m3(float value) { return static_cast<uint8_t>(narrowE4m3(floatBits(value))); }
uint8_t floatToE5m2(float value) { return static_cast<uint8_t>(narrowE5m2(floatBits(value))); }

uint32_t floatToTf32Rna(float value) { return narrowTf32<Rounding::NearestAway>(floatBits(value)); }
uint32_t floatToTf32(float value, Rounding rounding) {
  return withRounding(rounding, [&]<Rounding r>() { return narrowTf32<r>(floatBits(value)); });
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
  withRounding(rounding, [&]<Rounding r>() {
    convert(source, destination, count,
            [](float value) { return static_cast<uint16_t>(narrowBf16<r>(floatBits(value))); });
  });
}
void floatToF16(const float *source, uint16_t *destination, size_t count, Rounding rounding) {
  withRounding(rounding, [&]<Rounding r>() {
    convert(source, destination, count,
            [](float value) { return static_cast<uint16_t>(narrowF16<r>(floatBits(value))); });
  });
}
void floatToE4m3(const float *source, uint8_t *destination, size_t count) {
  convert(source, destination, count,
          [](float value) { return static_cast<uint8_t>(narrowE4m3(floatBits(value))); });
}
void floatToE5m2(const float *source, uint8_t *destination, size_t count) {
  convert(source, destination, count,
          [](float value) { return static_cast<uint8_t>(narrowE5m2(floatBits(value))); });
}

} // namespace girih::emu
