// Operands of the tensor core as binary32, in the arrangement that the product kernels want.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_UNITS_FACTORS_H
#define GIRIH_EMULATOR_UNITS_FACTORS_H

#include "Emulator/Units/Product.h"
#include "girih/Emulator/Wgmma.h"

namespace girih::emu {

/// Room for one pair of operands: 64 rows and 256 columns, at most kMaxK deep. Large; see
/// `ofThread`.
class FactorBuffer {
public:
  /// The buffer of the calling thread.
  static FactorBuffer &ofThread();

  /// `blocks` holds `count` blocks of 8 rows times k elements (see gatherBlocks); A's rows in
  /// order, B's columns even before odd. A is negated if asked to: -(a b) is (-a) b, bit for bit.
  void setA(WgmmaType type, const uint8_t *blocks, uint32_t count, uint32_t k, bool negate,
            bool exponents, Isa isa);
  void setB(WgmmaType type, const uint8_t *blocks, uint32_t count, bool exponents, Isa isa);
  const Factors &factors() const { return result; }
  /// An infinity or NaN among B's elements.
  bool specialB() const;

private:
  static constexpr uint32_t kARows = 64, kBColumns = 256;

  Factors result;
  alignas(64) float rows[kARows * kMaxK];
  alignas(64) int32_t rowExponents[kARows * kMaxK];
  alignas(64) float a[kARows * kMaxK * 4];
  alignas(64) int32_t ea[kARows * kMaxK * 4];
  alignas(64) float b[kBColumns * kMaxK];
  alignas(64) int32_t eb[kBColumns * kMaxK];
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_UNITS_FACTORS_H
