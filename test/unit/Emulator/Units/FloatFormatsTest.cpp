// Conversions against exact arithmetic in double: the value of every code is computed from its
// fields with ldexp, and rounding is checked by searching the sorted list of those values.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/FloatFormats.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace girih::emu;

namespace {

/// Value of a non-negative code by the definition of a binary format; infinities and NaNs are not
/// asked for.
double codeValue(unsigned code, int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = static_cast<int>(code >> mantissaBits);
  int mantissa = static_cast<int>(code & ((1u << mantissaBits) - 1));
  if (exponent == 0)
    return std::ldexp(mantissa, 1 - bias - mantissaBits);
  return std::ldexp((1 << mantissaBits) + mantissa, exponent - bias - mantissaBits);
}

struct Format {
  const char *name;
  int exponentBits, mantissaBits;
  unsigned largest; // code of the largest finite magnitude
};
constexpr Format kF16{"f16", 5, 10, 0x7bff};
constexpr Format kBf16{"bf16", 8, 7, 0x7f7f};
constexpr Format kE4m3{"e4m3", 4, 3, 0x7e};
constexpr Format kE5m2{"e5m2", 5, 2, 0x7b};

std::vector<double> finiteValues(const Format &format) {
  std::vector<double> values;
  for (unsigned code = 0; code <= format.largest; ++code)
    values.push_back(codeValue(code, format.exponentBits, format.mantissaBits));
  return values;
}

/// Code of a finite magnitude; `overflow` is the code for one that rounds beyond the largest.
unsigned referenceCode(const std::vector<double> &values, double magnitude, bool nearest,
                       unsigned overflow) {
  size_t above = std::upper_bound(values.begin(), values.end(), magnitude) - values.begin();
  unsigned below = static_cast<unsigned>(above - 1);
  if (!nearest)
    return below;
  double low = values[below];
  // The neighbour of the largest value is where the next one would be.
  double high = above < values.size() ? values[above] : low + (low - values[below - 1]);
  double middle = low / 2 + high / 2;
  unsigned rounded = magnitude > middle || (magnitude == middle && below % 2) ? below + 1 : below;
  return rounded >= values.size() ? overflow : rounded;
}

/// Floats that matter to a format: every value, every midpoint, and their neighbours, and random
/// bit patterns.
std::vector<float> interestingFloats(const Format &format) {
  std::vector<float> inputs;
  auto add = [&](double value) {
    float f = static_cast<float>(value);
    for (float g :
         {f, std::nextafter(f, 0.0f), std::nextafter(f, std::numeric_limits<float>::infinity())})
      if (std::isfinite(g)) {
        inputs.push_back(g);
        inputs.push_back(-g);
      }
  };
  std::vector<double> values = finiteValues(format);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    add(values[i]);
    add((values[i] + values[i + 1]) / 2);
  }
  add(values.back());
  add(values.back() + (values.back() - values[values.size() - 2]) / 2);
  std::mt19937 random(7);
  while (inputs.size() < 600000) {
    float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(f))
      inputs.push_back(f);
  }
  return inputs;
}

TEST(FloatFormats, EveryF16CodeIsExact) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    float value = f16ToFloat(static_cast<uint16_t>(code));
    unsigned magnitude = code & 0x7fff;
    if (magnitude > 0x7c00) {
      ASSERT_TRUE(std::isnan(value)) << code;
    } else if (magnitude == 0x7c00) {
      ASSERT_EQ(std::abs(value), std::numeric_limits<float>::infinity()) << code;
    } else {
      ASSERT_EQ(std::abs(double(value)), codeValue(magnitude, 5, 10)) << code;
    }
    ASSERT_EQ(std::signbit(value), code >= 0x8000) << code;
  }
}

TEST(FloatFormats, EveryBf16CodeIsExact) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    float value = bf16ToFloat(static_cast<uint16_t>(code));
    unsigned magnitude = code & 0x7fff;
    if (magnitude > 0x7f80) {
      ASSERT_TRUE(std::isnan(value)) << code;
    } else if (magnitude == 0x7f80) {
      ASSERT_EQ(std::abs(value), std::numeric_limits<float>::infinity()) << code;
    } else {
      ASSERT_EQ(std::abs(double(value)), codeValue(magnitude, 8, 7)) << code;
    }
    ASSERT_EQ(std::signbit(value), code >= 0x8000) << code;
  }
}

TEST(FloatFormats, EveryFp8CodeIsExact) {
  for (unsigned code = 0; code < 0x100; ++code) {
    unsigned magnitude = code & 0x7f;
    float e4m3 = e4m3ToFloat(static_cast<uint8_t>(code)),
          e5m2 = e5m2ToFloat(static_cast<uint8_t>(code));
    if (magnitude == 0x7f)
      EXPECT_TRUE(std::isnan(e4m3));
    else
      EXPECT_EQ(double(e4m3), (code & 0x80 ? -1 : 1) * codeValue(magnitude, 4, 3)) << code;
    if (magnitude > 0x7c)
      EXPECT_TRUE(std::isnan(e5m2));
    else if (magnitude == 0x7c)
      EXPECT_TRUE(std::isinf(e5m2));
    else
      EXPECT_EQ(double(e5m2), (code & 0x80 ? -1 : 1) * codeValue(magnitude, 5, 2)) << code;
    EXPECT_EQ(std::signbit(e5m2), code >= 0x80);
  }
  EXPECT_EQ(e4m3ToFloat(0x7e), 448.0f);
  EXPECT_EQ(e5m2ToFloat(0x7b), 57344.0f);
}

TEST(FloatFormats, NarrowingToF16AndBf16) {
  for (const Format &format : {kF16, kBf16}) {
    std::vector<double> values = finiteValues(format);
    unsigned infinity = format.largest + 1;
    bool isF16 = format.exponentBits == 5;
    for (float input : interestingFloats(format))
      for (Rounding rounding : {Rounding::NearestEven, Rounding::TowardsZero}) {
        unsigned expected = referenceCode(values, std::abs(double(input)),
                                          rounding == Rounding::NearestEven, infinity) |
                            (std::signbit(input) ? 0x8000 : 0);
        unsigned got = isF16 ? floatToF16(input, rounding) : floatToBf16(input, rounding);
        ASSERT_EQ(got, expected) << format.name << " of " << input << " rounding " << int(rounding);
      }
  }
}

TEST(FloatFormats, NarrowingToFp8Saturates) {
  for (const Format &format : {kE4m3, kE5m2}) {
    std::vector<double> values = finiteValues(format);
    bool isE4m3 = format.exponentBits == 4;
    for (float input : interestingFloats(format)) {
      unsigned expected = referenceCode(values, std::abs(double(input)), true, format.largest) |
                          (std::signbit(input) ? 0x80 : 0);
      unsigned got = isE4m3 ? floatToE4m3(input) : floatToE5m2(input);
      ASSERT_EQ(got, expected) << format.name << " of " << input;
    }
  }
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(floatToE4m3(infinity), 0x7e);
  EXPECT_EQ(floatToE4m3(-infinity), 0xfe);
  EXPECT_EQ(floatToE5m2(infinity), 0x7b);
  EXPECT_EQ(floatToE5m2(-infinity), 0xfb);
}

TEST(FloatFormats, InfinityAndNan) {
  float infinity = std::numeric_limits<float>::infinity();
  float nan = std::bit_cast<float>(0xffc12345u);
  for (Rounding rounding : {Rounding::NearestEven, Rounding::TowardsZero}) {
    EXPECT_EQ(floatToF16(infinity, rounding), 0x7c00);
    EXPECT_EQ(floatToF16(-infinity, rounding), 0xfc00);
    EXPECT_EQ(floatToF16(nan, rounding), 0x7fff);
    EXPECT_EQ(floatToBf16(-infinity, rounding), 0xff80);
    EXPECT_EQ(floatToBf16(nan, rounding), 0x7fff);
    EXPECT_EQ(floatToTf32(nan, rounding), 0x7fffffffu);
  }
  EXPECT_EQ(floatToE4m3(nan), 0x7f);
  EXPECT_EQ(floatToE5m2(nan), 0x7f);
  EXPECT_EQ(floatToTf32Rna(nan), 0x7fffffffu);
}

TEST(FloatFormats, Tf32) {
  // 1 + 2^-11 is half way between two tf32 numbers: ties go away from zero or to the even one.
  float tie = 1.0f + 0x1p-11f;
  EXPECT_EQ(floatToTf32Rna(tie), 0x3f802000u);
  EXPECT_EQ(floatToTf32(tie), 0x3f800000u);
  EXPECT_EQ(floatToTf32(-(tie + 0x1p-10f)), 0xbf804000u);
  EXPECT_EQ(floatToTf32(tie + 0x1p-10f, Rounding::TowardsZero), 0x3f802000u);
  EXPECT_EQ(tf32ToFloat(0x3f801fff), 1.0f);
  EXPECT_EQ(floatToTf32Rna(std::numeric_limits<float>::max()), 0x7f800000u);
}

TEST(FloatFormats, ArraysAgreeWithScalars) {
  std::mt19937 random(3);
  constexpr size_t count = 1003; // not a multiple of any vector
  std::vector<float> inputs(count);
  for (float &f : inputs)
    f = std::bit_cast<float>(static_cast<uint32_t>(random()));
  std::vector<uint16_t> halves(count);
  std::vector<uint8_t> bytes(count);
  std::vector<float> back(count);
  auto same = [](float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  };

  for (Rounding rounding : {Rounding::NearestEven, Rounding::TowardsZero}) {
    floatToBf16(inputs.data(), halves.data(), count, rounding);
    bf16ToFloat(halves.data(), back.data(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(halves[i], floatToBf16(inputs[i], rounding));
      ASSERT_TRUE(same(back[i], bf16ToFloat(halves[i])));
    }
    floatToF16(inputs.data(), halves.data(), count, rounding);
    f16ToFloat(halves.data(), back.data(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(halves[i], floatToF16(inputs[i], rounding));
      ASSERT_TRUE(same(back[i], f16ToFloat(halves[i])));
    }
  }
  floatToE4m3(inputs.data(), bytes.data(), count);
  e4m3ToFloat(bytes.data(), back.data(), count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(bytes[i], floatToE4m3(inputs[i]));
    ASSERT_TRUE(same(back[i], e4m3ToFloat(bytes[i])));
  }
  floatToE5m2(inputs.data(), bytes.data(), count);
  e5m2ToFloat(bytes.data(), back.data(), count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(bytes[i], floatToE5m2(inputs[i]));
    ASSERT_TRUE(same(back[i], e5m2ToFloat(bytes[i])));
  }
}

} // namespace
