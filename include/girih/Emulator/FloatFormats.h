// The narrow floating-point formats of the tensor core as bit patterns: exact conversion to
// binary32, and rounding conversion from it. Everything works on integers, so that no host
// instruction set, rounding mode or flush-to-zero setting can change a result.
//
// Sources: PTX ISA 9.0, 5.2.3 "Alternate Floating-Point Data Formats" (e4m3, e5m2, bf16,
// tf32), 9.7.9.21 "cvt" (rounding, .satfinite, NaN); IEEE 754-2019 for binary16; the OCP 8-bit
// Floating Point Specification 1.0 for the two 8-bit formats (e4m3 has no infinity, and its only
// NaNs are 0x7f and 0xff).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_FLOATFORMATS_H
#define GIRIH_EMULATOR_FLOATFORMATS_H

#include <bit>
#include <cstddef>
#include <cstdint>

namespace girih::emu {

/// How PTX rounds (9.7.9.21): .rn, .rz, .rm, .rp and .rna.
enum class Rounding : uint8_t { NearestEven, TowardsZero, Down, Up, NearestAway };

// To binary32, exactly. NaN becomes NaN with its payload in the high bits and its sign kept.
inline float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
float f16ToFloat(uint16_t bits);
float e4m3ToFloat(uint8_t bits);
float e5m2ToFloat(uint8_t bits);
/// What the tensor core reads of a 32-bit tf32 operand: the low 13 bits are ignored.
inline float tf32ToFloat(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

// From binary32. A NaN becomes the canonical NaN that PTX names (0x7fff for f16 and bf16, 0x7f for
// e4m3 and e5m2, 0x7fffffff for tf32).
uint16_t floatToBf16(float value, Rounding rounding = Rounding::NearestEven);
uint16_t floatToF16(float value, Rounding rounding = Rounding::NearestEven);
/// Nearest even with .satfinite, the only form PTX has: too large in magnitude, or infinite, gives
/// the largest finite value (448 for e4m3, 57344 for e5m2).
uint8_t floatToE4m3(float value);
uint8_t floatToE5m2(float value);
/// Ties away from zero (PTX cvt.rna.tf32.f32); the low 13 bits of the result are zero except for
/// NaN.
uint32_t floatToTf32Rna(float value);
/// PTX cvt.rn.tf32.f32 and cvt.rz.tf32.f32; low 13 bits as above.
uint32_t floatToTf32(float value, Rounding rounding = Rounding::NearestEven);

// The same for `count` elements; source and destination must not overlap.
void bf16ToFloat(const uint16_t *source, float *destination, size_t count);
void f16ToFloat(const uint16_t *source, float *destination, size_t count);
void e4m3ToFloat(const uint8_t *source, float *destination, size_t count);
void e5m2ToFloat(const uint8_t *source, float *destination, size_t count);
void tf32ToFloat(const uint32_t *source, float *destination, size_t count);
void floatToBf16(const float *source, uint16_t *destination, size_t count,
                 Rounding rounding = Rounding::NearestEven);
void floatToF16(const float *source, uint16_t *destination, size_t count,
                Rounding rounding = Rounding::NearestEven);
void floatToE4m3(const float *source, uint8_t *destination, size_t count);
void floatToE5m2(const float *source, uint8_t *destination, size_t count);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_FLOATFORMATS_H
