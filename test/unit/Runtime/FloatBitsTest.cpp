// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as bits of narrow floats: expected bits follow from the formats' definitions (IEEE
// 754, 3.4).
#include "../../../lib/Runtime/FloatBits.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace girih::runtime;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The value of a positive finite 16-bit pattern, and of the one after the last as if it were
/// finite.
double value(unsigned bits, int fractionBits) {
  int bias = (1 << (14 - fractionBits)) - 1;
  int exponent = bits >> fractionBits, fraction = bits & ((1 << fractionBits) - 1);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias - fractionBits)
                       : std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
}

/// Every finite number is itself, and what lies between two neighbours goes to the nearer one, or
/// to the even one.
void checkEveryNumber(DType type, int fractionBits) {
  unsigned top = ((1u << (15 - fractionBits)) - 1) << fractionBits; // infinity
  for (unsigned bits = 0; bits < top; ++bits) {
    double low = value(bits, fractionBits), high = value(bits + 1, fractionBits);
    ASSERT_EQ(floatBits(type, low), bits);
    ASSERT_EQ(floatBits(type, -low), bits | 0x8000);
    double middle = (low + high) / 2; // exact
    ASSERT_EQ(floatBits(type, middle), bits + bits % 2) << low;
    ASSERT_EQ(floatBits(type, std::nextafter(middle, 0)), bits) << low;
    ASSERT_EQ(floatBits(type, std::nextafter(middle, infinity)), bits + 1) << low;
  }
  EXPECT_EQ(floatBits(type, 1e300), top);
  EXPECT_EQ(floatBits(type, -infinity), top | 0x8000);
  EXPECT_EQ(floatBits(type, std::nan("")), top | 1u << (fractionBits - 1));
}

TEST(FloatBits, ValuesOfBits) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    ASSERT_EQ(floatValue(DType::F16, bits), value(bits, 10));
    ASSERT_EQ(floatValue(DType::F16, bits | 0x8000), -value(bits, 10));
  }
  EXPECT_EQ(floatValue(DType::BF16, 0x3fc0), 1.5);
  EXPECT_EQ(floatValue(DType::F16, 0xfc00), -infinity);
  EXPECT_TRUE(std::isnan(floatValue(DType::F16, 0x7c01)));
  // OCP OFP8, table 2: the largest numbers, infinity, and NaNs of the two formats.
  EXPECT_EQ(floatValue(DType::E4M3, 0x7e), 448);
  EXPECT_EQ(floatValue(DType::E4M3, 0x81), -std::ldexp(1, -9));
  EXPECT_TRUE(std::isnan(floatValue(DType::E4M3, 0xff)));
  EXPECT_EQ(floatValue(DType::E5M2, 0x7b), 57344);
  EXPECT_EQ(floatValue(DType::E5M2, 0x7c), infinity);
  EXPECT_TRUE(std::isnan(floatValue(DType::E5M2, 0x7d)));
  EXPECT_EQ(floatValue(DType::F64, 0x3ff8000000000000), 1.5);
  EXPECT_EQ(floatValue(DType::F32, 0x00000001), std::ldexp(1, -149));
}

TEST(FloatBits, Half) { checkEveryNumber(DType::F16, 10); }
TEST(FloatBits, BFloat) { checkEveryNumber(DType::BF16, 7); }

TEST(FloatBits, TheHostsOwnTypes) {
  for (double number : {0.0, -0.0, 1.0, -1.5, 3.141592653589793, 1e-320, 1e-42, 3.4e38, 1e300,
                        5e-324, 1.7976931348623157e308, infinity}) {
    uint64_t wide = 0;
    std::memcpy(&wide, &number, sizeof(number));
    EXPECT_EQ(floatBits(DType::F64, number), wide) << number;
    if (std::abs(number) > 3.4e38 && number != infinity)
      continue; // no float to compare with
    float single = static_cast<float>(number);
    uint32_t narrow = 0;
    std::memcpy(&narrow, &single, sizeof(single));
    EXPECT_EQ(floatBits(DType::F32, number), narrow) << number;
  }
}

TEST(FloatBits, Overflow) {
  EXPECT_FALSE(overflows(DType::F16, 65519.999));
  EXPECT_TRUE(overflows(DType::F16, -65520));
  EXPECT_FALSE(overflows(DType::F16, infinity));
  EXPECT_FALSE(overflows(DType::F16, std::nan("")));
  EXPECT_TRUE(overflows(DType::F32, 3.5e38));
  EXPECT_FALSE(overflows(DType::F64, 1.7e308));
}

} // namespace
