// The product kernels: the same bits on every instruction set of this machine, and the aligned sum
// of `hopper` numerics against integer arithmetic on significands.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Units/BlockProduct.h"

#include "girih/Emulator/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace girih::emu;

namespace {

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (Isa isa : {Isa::Plain, Isa::Avx2, Isa::Avx512})
    if (isa <= activeIsa())
      all.push_back(isa);
  return all;
}

struct Format {
  const char *name;
  WgmmaType type;
  uint32_t bytes, minExponent;
};

float decode(WgmmaType type, uint32_t bits) {
  switch (type) {
  case WgmmaType::F16:
    return f16ToFloat(static_cast<uint16_t>(bits));
  case WgmmaType::BF16:
    return bf16ToFloat(static_cast<uint16_t>(bits));
  case WgmmaType::TF32:
    return tf32ToFloat(bits);
  case WgmmaType::E4M3:
    return e4m3ToFloat(static_cast<uint8_t>(bits));
  default:
    return e5m2ToFloat(static_cast<uint8_t>(bits));
  }
}

/// Sign, integer significand and exponent of its unit: value = significand * 2^unit. `leading` is
/// the exponent that the alignment takes: of the leading place of the format, not of the value.
struct Number {
  bool negative = false;
  __int128 significand = 0;
  int unit = 0, leading = -100000;
};
Number number(float value, int minExponent) {
  Number n;
  if (value == 0)
    return n;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  n.negative = bits >> 31;
  uint32_t field = bits >> 23 & 255;
  n.significand = (bits & 0x7fffff) | (field ? 0x800000 : 0);
  n.unit = (field ? static_cast<int>(field) : 1) - 150;
  // The true exponent of the leading bit, but no lower than the format's subnormal numbers have.
  int top = n.unit + 63 - __builtin_clzll(static_cast<uint64_t>(n.significand));
  n.leading = std::max(top, minExponent);
  return n;
}

/// The sum as published: every term cut off `bits` places below the largest exponent, added
/// exactly, and rounded towards zero to `keep` places (f16: nearest even).
uint32_t alignedReference(const std::vector<float> &a, const std::vector<float> &b, float c,
                          int minExponent, int minExponentC, int bits, int keep, bool half) {
  double plain = c;
  for (size_t i = 0; i < a.size(); ++i)
    plain += double(a[i]) * b[i];
  if (plain != plain)
    return half ? 0x7fff : 0x7fffffff;
  if (std::isinf(plain))
    return half ? floatToF16(static_cast<float>(plain))
                : std::bit_cast<uint32_t>(static_cast<float>(plain));
  std::vector<Number> terms{number(c, minExponentC)};
  for (size_t i = 0; i < a.size(); ++i) {
    Number x = number(a[i], minExponent), y = number(b[i], minExponent);
    if (!x.significand || !y.significand)
      continue;
    terms.push_back({x.negative != y.negative, x.significand * y.significand, x.unit + y.unit,
                     x.leading + y.leading});
  }
  int largest = -100000;
  for (const Number &t : terms)
    if (t.significand)
      largest = std::max(largest, t.leading);
  if (largest == -100000)
    return 0;
  const int quantum = largest - bits;
  __int128 sum = 0;
  for (const Number &t : terms) {
    const int shift = quantum - t.unit;
    __int128 magnitude = shift >= 127 ? 0
                         : shift >= 0 ? t.significand >> shift
                                      : t.significand << -shift;
    sum += t.negative ? -magnitude : magnitude;
  }
  double total = std::ldexp(static_cast<double>(sum), quantum); // at most 34 bits: exact
  if (half) {
    // Nearest even by hand: f16 has 10 fraction bits and exponents from -14.
    if (total == 0)
      return 0;
    int exponent = std::max(std::ilogb(total), -14);
    double unit = std::ldexp(1.0, exponent - 10);
    double rounded = std::nearbyint(total / unit) * unit;
    return std::abs(rounded) >= 65520 ? (total < 0 ? 0xfc00u : 0x7c00u)
                                      : floatToF16(static_cast<float>(rounded));
  }
  if (total == 0)
    return 0;
  int exponent = std::max(std::ilogb(total), -126);
  double unit = std::ldexp(1.0, exponent - keep);
  float cut = static_cast<float>(std::trunc(total / unit) * unit);
  // A cut to nothing keeps its sign.
  return cut == 0 ? (total < 0 ? 0x80000000u : 0) : std::bit_cast<uint32_t>(cut);
}

struct Problem {
  uint32_t rows = 16, columns = 24, k;
  std::vector<uint32_t> a, b; ///< codes, row-major in k
  std::vector<uint32_t> c;    ///< 32-bit or 16-bit codes
  std::vector<uint8_t> blocksA, blocksB;
};

enum class Data { Narrow, Wide, Anything };

Problem makeProblem(const Format &format, uint32_t k, bool half, Data data, std::mt19937 &random) {
  Problem p;
  p.k = k;
  auto code = [&]() -> uint32_t {
    if (data == Data::Anything)
      return random();
    std::normal_distribution<float> normal;
    float value = normal(random);
    if (data == Data::Wide)
      value = std::ldexp(value, static_cast<int>(random() % 24) - 12);
    switch (format.type) {
    case WgmmaType::F16:
      return floatToF16(value);
    case WgmmaType::BF16:
      return floatToBf16(value);
    case WgmmaType::TF32:
      return std::bit_cast<uint32_t>(value);
    case WgmmaType::E4M3:
      return floatToE4m3(value);
    default:
      return floatToE5m2(value);
    }
  };
  const uint32_t mask = format.bytes == 4 ? ~0u : (1u << 8 * format.bytes) - 1;
  auto fill = [&](std::vector<uint32_t> &codes, uint32_t lines, bool evenOdd,
                  std::vector<uint8_t> &blocks) {
    for (uint32_t i = 0; i < lines * k; ++i)
      codes.push_back(code() & mask);
    blocks.resize(size_t(lines) * k * format.bytes);
    for (uint32_t line = 0; line < lines; ++line)
      for (uint32_t i = 0; i < k; ++i) {
        uint32_t within = line % 8;
        if (evenOdd)
          within = within / 2 + 4 * (within % 2);
        std::memcpy(&blocks[((line / 8 * k + i) * 8 + within) * format.bytes], &codes[line * k + i],
                    format.bytes);
      }
  };
  fill(p.a, p.rows, false, p.blocksA);
  fill(p.b, p.columns, true, p.blocksB);
  for (uint32_t i = 0; i < p.rows * p.columns; ++i) {
    std::normal_distribution<float> normal;
    float value = normal(random);
    if (random() % 4 == 0)
      value = std::ldexp(value, static_cast<int>(random() % 40) - 20);
    if (random() % 16 == 0)
      value = 0;
    uint32_t bits = half ? floatToF16(value) : std::bit_cast<uint32_t>(value);
    if (data == Data::Anything)
      bits = half ? random() & 0xffff : random();
    p.c.push_back(bits);
  }
  return p;
}

/// D of the problem, element by element.
std::vector<uint32_t> multiply(const Problem &p, const Format &format, bool half,
                               WgmmaNumerics numerics, int bits, Isa isa) {
  BlockProduct product;
  product.a = product.b = format.type;
  product.d = half ? WgmmaAccumulator::F16 : WgmmaAccumulator::F32;
  product.k = p.k;
  product.rowBlocks = p.rows / 8;
  product.columnBlocks = p.columns / 8;
  product.alignedBits = bits;
  const uint32_t count = p.rows * p.columns / 32 / (half ? 2 : 1);
  std::vector<uint32_t> words(count * 32);
  std::vector<uint32_t *> planes;
  for (uint32_t i = 0; i < count; ++i)
    planes.push_back(words.data() + 32 * i);
  auto place = [&](uint32_t row, uint32_t column) -> std::pair<uint32_t *, uint32_t> {
    uint32_t lane = row % 8 * 4 + column % 8 / 2, r = row / 8, j = column / 8, parity = column % 2;
    return half ? std::pair(&words[(2 * j + r) * 32 + lane], 16 * parity)
                : std::pair(&words[(4 * j + 2 * r + parity) * 32 + lane], 0u);
  };
  for (uint32_t row = 0; row < p.rows; ++row)
    for (uint32_t column = 0; column < p.columns; ++column) {
      auto [word, shift] = place(row, column);
      *word |= p.c[row * p.columns + column] << shift;
    }
  multiplyBlocks(product, numerics, p.blocksA.data(), p.blocksB.data(), true, planes.data(), isa);
  std::vector<uint32_t> d;
  for (uint32_t row = 0; row < p.rows; ++row)
    for (uint32_t column = 0; column < p.columns; ++column) {
      auto [word, shift] = place(row, column);
      d.push_back(*word >> shift & (half ? 0xffff : ~0u));
    }
  return d;
}

const Format formats[] = {{"f16", WgmmaType::F16, 2, static_cast<uint32_t>(-14)},
                          {"bf16", WgmmaType::BF16, 2, static_cast<uint32_t>(-126)},
                          {"tf32", WgmmaType::TF32, 4, static_cast<uint32_t>(-126)},
                          {"e4m3", WgmmaType::E4M3, 1, static_cast<uint32_t>(-6)},
                          {"e5m2", WgmmaType::E5M2, 1, static_cast<uint32_t>(-14)}};

template <typename F> void forEachProblem(F f) {
  std::mt19937 random(99);
  for (const Format &format : formats)
    for (bool half : {false, true}) {
      if (half && (format.type == WgmmaType::BF16 || format.type == WgmmaType::TF32))
        continue;
      for (Data data : {Data::Narrow, Data::Wide, Data::Anything})
        for (uint32_t k : {8u, 16u, 32u})
          f(format, half, data, makeProblem(format, k, half, data, random));
    }
}

TEST(Product, AlignedSumsAsPublished) {
  forEachProblem([](const Format &format, bool half, Data data, const Problem &p) {
    const int minExponent = static_cast<int>(format.minExponent);
    for (int bits : {25, 13})
      for (Isa isa : isas()) {
        std::vector<uint32_t> d = multiply(p, format, half, WgmmaNumerics::Hopper, bits, isa);
        for (uint32_t row = 0; row < p.rows; ++row)
          for (uint32_t column = 0; column < p.columns; ++column) {
            std::vector<float> a, b;
            for (uint32_t i = 0; i < p.k; ++i) {
              a.push_back(decode(format.type, p.a[row * p.k + i]));
              b.push_back(decode(format.type, p.b[column * p.k + i]));
            }
            const uint32_t code = p.c[row * p.columns + column];
            const float c =
                half ? f16ToFloat(static_cast<uint16_t>(code)) : std::bit_cast<float>(code);
            ASSERT_EQ(d[row * p.columns + column],
                      alignedReference(a, b, c, minExponent, half ? -14 : -126, bits,
                                       bits == 13 ? 13 : 23, half))
                << format.name << (half ? " to f16" : "") << " data " << int(data) << " k " << p.k
                << " bits " << bits << " isa " << int(isa) << " element " << row << "," << column;
          }
      }
  });
}

TEST(Product, ExactIsOneFusedMultiplyAddAfterTheOther) {
  forEachProblem([](const Format &format, bool half, Data data, const Problem &p) {
    for (Isa isa : isas()) {
      std::vector<uint32_t> d = multiply(p, format, half, WgmmaNumerics::Exact, 25, isa);
      for (uint32_t row = 0; row < p.rows; ++row)
        for (uint32_t column = 0; column < p.columns; ++column) {
          const uint32_t code = p.c[row * p.columns + column];
          float sum = half ? f16ToFloat(static_cast<uint16_t>(code)) : std::bit_cast<float>(code);
          for (uint32_t i = 0; i < p.k; ++i)
            sum = std::fma(decode(format.type, p.a[row * p.k + i]),
                           decode(format.type, p.b[column * p.k + i]), sum);
          uint32_t expected = half         ? floatToF16(sum)
                              : sum == sum ? std::bit_cast<uint32_t>(sum)
                                           : 0x7fffffffu;
          ASSERT_EQ(d[row * p.columns + column], expected)
              << format.name << (half ? " to f16" : "") << " data " << int(data) << " k " << p.k
              << " isa " << int(isa) << " element " << row << "," << column;
        }
    }
  });
}

// What tells the generations apart (Fasi et al. 2021; Khattak and Mikaitis 2025): how many places
// below the largest term survive.
TEST(Product, TwoPlacesBelowTheLastOfBinary32) {
  auto sumOf = [](float c, float term, uint32_t terms) {
    Problem p;
    p.rows = 8;
    p.rows = 16;
    p.columns = 8;
    p.k = 16;
    p.blocksA.resize(16 * 16 * 2);
    p.blocksB.resize(8 * 16 * 2);
    const uint16_t one = floatToBf16(1), small = floatToBf16(term);
    for (uint32_t i = 0; i < terms; ++i)
      for (uint32_t line = 0; line < 8; ++line) {
        std::memcpy(&p.blocksA[(i * 8 + line) * 2], &small, 2);
        std::memcpy(&p.blocksB[(i * 8 + line) * 2], &one, 2);
      }
    p.c.assign(16 * 8, std::bit_cast<uint32_t>(c));
    return std::bit_cast<float>(
        multiply(p, formats[1], false, WgmmaNumerics::Hopper, 25, activeIsa())[0]);
  };
  EXPECT_EQ(sumOf(1, 0x1p-25f, 4), 1 + 0x1p-23f);     // kept, and their sum is a last place
  EXPECT_EQ(sumOf(1, 0x1p-26f, 16), 1);               // each is cut off
  EXPECT_EQ(sumOf(1, 0x1p-24f, 3), 1 + 0x1p-23f);     // 1.5 last places: towards zero
  EXPECT_EQ(sumOf(-1, 0x1p-25f, 1), -(1 - 0x1p-24f)); // towards zero, not down
}

} // namespace
