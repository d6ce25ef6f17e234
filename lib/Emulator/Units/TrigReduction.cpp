// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/TrigReduction.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace girih::emu {

ReducedAngle reduceAngle(float angle) {
  // The bits of 2/pi behind the binary point.
  static constexpr uint64_t twoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
                                           0xdb6295993c439041, 0xfe5163abdebbc561,
                                           0xb7246e3a424dd2e0};
  uint32_t code = std::bit_cast<uint32_t>(angle);
  int exponent = static_cast<int>(code >> 23 & 0xff) - 150;
  if (exponent == 105)
    return {std::numeric_limits<double>::quiet_NaN(), 0};
  uint64_t significand = (code & 0x7fffff) | 0x800000;
  // angle = significand * 2^exponent. A window of 128 bits of 2/pi whose first two bits have the
  // weights 2 and 1 after the shift by the exponent: what lies before them is whole turns.
  unsigned first = static_cast<unsigned>(exponent < 2 ? 0 : exponent - 2);
  auto word = [&](unsigned at) {
    unsigned index = at / 64, shift = at % 64;
    return shift ? twoOverPi[index] << shift | twoOverPi[index + 1] >> (64 - shift)
                 : twoOverPi[index];
  };
  using Wide = unsigned __int128;
  Wide window = static_cast<Wide>(word(first)) << 64 | word(first + 64);
  if (exponent < 2)
    window >>= 2 - exponent;
  Wide product = window * significand; // modulo four quarters
  auto quarters = static_cast<uint64_t>(product >> 126);
  Wide fraction = product << 2;
  // Beyond half a quarter: one more, and a negative rest.
  auto rest = static_cast<double>(static_cast<int64_t>(fraction >> 64)) * 0x1p-64;
  if (static_cast<int64_t>(fraction >> 64) < 0)
    ++quarters;
  rest = rest * 1.57079632679489661923;
  bool negative = code >> 31;
  double n = static_cast<double>(quarters & 3);
  return negative ? ReducedAngle{-rest, n == 0 ? 0 : 4 - n} : ReducedAngle{rest, n};
}

} // namespace girih::emu
