// The product of two small matrices, computed where D lives: planes of 32 lanes. A plane of D holds
// 8 rows times 4 columns (every other one of 8), so half a plane is 4 rows times 4 columns; with
// A's rows repeated four times and B's columns repeated four times, one multiply-add of 16 lanes is
// one step of k, and nothing of D is moved. wgmma and mma.sync have the same planes (PTX ISA 9.0,
// 9.7.14.5 and 9.7.15.5.1.1), so both end here.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_PRODUCT_H
#define GIRIH_EMULATOR_UNITS_PRODUCT_H

#include "Emulator/Units/Isa.h"

#include <cstdint>
#include <cstring>

namespace girih::emu {

/// Rows or columns that an operand's blocks have.
inline constexpr uint32_t kBlock = 8;
/// Lanes of one vector: 4 rows times 4 columns.
inline constexpr uint32_t kVector = 16;
inline constexpr uint32_t kMaxK = 64;

/// A and B as binary32, arranged for the kernels.
struct Factors {
  uint32_t k = 0;
  uint32_t rowBlocks = 0, columnBlocks = 0;
  const float *a = nullptr; ///< [row block][half of it][k][4 rows, each 4 times]
  const float *b = nullptr; ///< [column block][k][4 even columns, 4 odd columns]
  /// Exponents of the elements in the same arrangement, for the aligned sum. A zero has
  /// kExponentOfZero, an infinity or NaN kExponentOfSpecial.
  const int32_t *exponentA = nullptr, *exponentB = nullptr;
  /// Every product is exact in binary32; if not, only a fused multiply-add gives the result.
  bool productsFit = true;
};
inline constexpr int32_t kExponentOfZero = -10000;
inline constexpr int32_t kExponentOfSpecial = 20000;

/// How the sums end.
enum class Sum : uint8_t {
  F32,    ///< a chain of binary32 fused multiply-adds onto D
  S32,    ///< exact integers, added to D with wrap-around
  S32Sat, ///< the same, clamped
};
/// How the aligned sum is rounded.
enum class Aligned : uint8_t {
  F32,    ///< towards zero to binary32
  F32M13, ///< towards zero to 13 fraction bits
  F32Odd, ///< to binary32, to odd: a second rounding to binary16 is then the right one
};

/// The kernels of one instruction set. `planes` are those of `rowBlocks` (1 or 2) blocks of rows
/// from `first` on: plane 2 rowBlocks j + 2 (block - first) + parity has the even or odd columns of
/// column block j.
struct ProductKernels {
  /// Exponents of the elements, `least` of subnormal ones; see Factors.
  void (*exponents)(const float *from, int32_t *to, size_t count, int32_t least);
  void (*spread)(const float *rows, float *out, uint32_t blocks, uint32_t k);
  void (*multiply)(const Factors &factors, uint32_t first, uint32_t rowBlocks, Sum sum, bool scaleD,
                   uint32_t *const *planes);
  /// Products and D aligned to the largest exponent among them, cut off `bits` places behind the
  /// point, summed exactly.
  void (*multiplyAligned)(const Factors &factors, uint32_t first, uint32_t rowBlocks, int bits,
                          Aligned rounding, int minExponentD, bool scaleD, uint32_t *const *planes);
  /// A plane of packed f16 as two of binary32, and back, to nearest even. NaN is canonical.
  void (*widenHalves)(const uint32_t *packed, float *even, float *odd);
  void (*roundHalves)(const float *even, const float *odd, uint32_t *packed);
};

/// The kernels of `isa`, which this machine must have.
const ProductKernels &productKernels(Isa isa);

/// One element of the aligned sum, for values that the kernels leave out: infinities, NaN, and
/// exponents near the ends of binary32's range.
float alignedElement(const float *a, const int32_t *exponentA, uint32_t strideA, const float *b,
                     const int32_t *exponentB, uint32_t strideB, uint32_t k, float d, int bits,
                     Aligned rounding, int minExponentD);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_PRODUCT_H
