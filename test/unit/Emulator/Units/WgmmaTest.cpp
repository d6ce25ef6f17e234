// The product against plain loops: integers exactly, floats against a scalar chain of binary32
// operations bit for bit and against float64 within the bound of such a chain. The fragment layout
// is checked against entries read off the figures of PTX ISA 9.0, 9.7.15.5.1.1.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/Wgmma.h"

#include "girih/Emulator/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace girih::emu;
using ::testing::HasSubstr;

namespace {

/// D as registers of 4 warps: contiguous storage and the pointers that multiplyWgmma takes.
struct Registers {
  std::vector<uint32_t> words;
  std::vector<uint32_t *> pointers;
  explicit Registers(uint32_t perWarp, uint32_t value = 0xdeadbeef)
      : words(4 * perWarp * 32, value) {
    for (uint32_t r = 0; r < 4 * perWarp; ++r)
      pointers.push_back(words.data() + 32 * r);
  }
};

float decode(WgmmaType type, const uint8_t *row, uint32_t k) {
  uint16_t half;
  uint32_t word;
  std::memcpy(&half, row + 2 * (k % 16), 2);
  std::memcpy(&word, row + 4 * (k % 8), 4);
  switch (type) {
  case WgmmaType::F16:
    return f16ToFloat(half);
  case WgmmaType::BF16:
    return bf16ToFloat(half);
  case WgmmaType::TF32:
    return tf32ToFloat(word);
  case WgmmaType::E4M3:
    return e4m3ToFloat(row[k]);
  case WgmmaType::E5M2:
    return e5m2ToFloat(row[k]);
  case WgmmaType::S8:
    return static_cast<int8_t>(row[k]);
  case WgmmaType::U8:
    return row[k];
  case WgmmaType::B1:
    return row[k / 8] >> (k % 8) & 1;
  }
  return 0;
}

/// `rows` rows of 32 bytes holding random numbers of the type, small integers or normal ones.
std::vector<uint8_t> randomOperand(WgmmaType type, uint32_t rows, bool integers,
                                   std::mt19937 &random) {
  std::vector<uint8_t> bytes(rows * 32);
  std::normal_distribution<float> normal;
  uint32_t size = wgmmaElementBytes(type);
  for (size_t at = 0; at < bytes.size(); at += size) {
    float value = integers ? float(int(random() % 7) - 3) : normal(random);
    uint32_t word = type == WgmmaType::F16    ? floatToF16(value)
                    : type == WgmmaType::BF16 ? floatToBf16(value)
                    : type == WgmmaType::TF32
                        ? std::bit_cast<uint32_t>(value) // low bits set on purpose
                    : type == WgmmaType::E4M3 ? floatToE4m3(value)
                    : type == WgmmaType::E5M2 ? floatToE5m2(value)
                                              : static_cast<uint32_t>(random());
    std::memcpy(&bytes[at], &word, size);
  }
  return bytes;
}

const WgmmaOperation kFloatOperations[] = {
    {8, WgmmaType::BF16, WgmmaType::BF16, WgmmaAccumulator::F32},
    {8, WgmmaType::F16, WgmmaType::F16, WgmmaAccumulator::F32},
    {8, WgmmaType::F16, WgmmaType::F16, WgmmaAccumulator::F16},
    {8, WgmmaType::TF32, WgmmaType::TF32, WgmmaAccumulator::F32},
    {8, WgmmaType::E4M3, WgmmaType::E5M2, WgmmaAccumulator::F32},
    {8, WgmmaType::E5M2, WgmmaType::E4M3, WgmmaAccumulator::F16},
};

/// Reads element (row, column) of D out of the registers, by the figure's rule inverted.
uint32_t readD(const Registers &d, const WgmmaOperation &op, uint32_t row, uint32_t column) {
  uint32_t warp = row / 16, lane = row % 8 * 4 + column % 8 / 2;
  uint32_t index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
  uint32_t perWarp = accumulatorRegisters(op);
  if (op.d == WgmmaAccumulator::F16)
    return d.words[(warp * perWarp + index / 2) * 32 + lane] >> (16 * (index % 2)) & 0xffff;
  return d.words[(warp * perWarp + index) * 32 + lane];
}
void writeD(Registers &d, const WgmmaOperation &op, uint32_t row, uint32_t column, uint32_t bits) {
  uint32_t warp = row / 16, lane = row % 8 * 4 + column % 8 / 2;
  uint32_t index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
  uint32_t perWarp = accumulatorRegisters(op);
  if (op.d == WgmmaAccumulator::F16) {
    uint32_t &word = d.words[(warp * perWarp + index / 2) * 32 + lane];
    word = (word & ~(0xffffu << 16 * (index % 2))) | bits << 16 * (index % 2);
    return;
  }
  d.words[(warp * perWarp + index) * 32 + lane] = bits;
}

TEST(Wgmma, AccumulatorElementsAsInTheFigure) {
  struct Entry {
    uint32_t warp, lane, index, row, column;
  };
  // Read off "WGMMA .m64nNk16 register fragment layout for accumulator matrix D".
  const Entry entries[] = {
      {0, 0, 0, 0, 0},   {0, 0, 1, 0, 1},       {0, 0, 2, 8, 0},    {0, 0, 3, 8, 1},
      {0, 0, 4, 0, 8},   {0, 0, 5, 0, 9},       {0, 0, 6, 8, 8},    {0, 3, 0, 0, 6},
      {0, 3, 1, 0, 7},   {0, 4, 0, 1, 0},       {0, 31, 1, 7, 7},   {0, 31, 3, 15, 7},
      {1, 0, 0, 16, 0},  {1, 28, 2, 31, 0},     {2, 0, 0, 32, 0},   {3, 0, 0, 48, 0},
      {3, 31, 3, 63, 7}, {3, 31, 127, 63, 255}, {0, 0, 124, 0, 248}};
  for (const Entry &e : entries) {
    FragmentElement element = accumulatorElement(e.warp, e.lane, e.index);
    EXPECT_EQ(element.row, e.row);
    EXPECT_EQ(element.column, e.column);
  }
  // And every element of 64 x 256 exactly once.
  std::vector<int> seen(64 * 256);
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t index = 0; index < 128; ++index) {
        FragmentElement e = accumulatorElement(warp, lane, index);
        ++seen[e.row * 256 + e.column];
      }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(Wgmma, FragmentsOfAAsInTheFigures) {
  std::vector<uint32_t> words(4 * 4 * 32);
  std::vector<const uint32_t *> pointers;
  for (uint32_t r = 0; r < 16; ++r)
    pointers.push_back(words.data() + 32 * r);
  for (uint32_t warp = 0; warp < 4; ++warp)
    for (uint32_t r = 0; r < 4; ++r)
      for (uint32_t lane = 0; lane < 32; ++lane) // bytes: warp, register, lane, byte in register
        words[(warp * 4 + r) * 32 + lane] = (warp << 7 | r << 5 | lane) << 8;
  std::vector<uint8_t> dense(64 * 32);
  gatherFragmentA(pointers.data(), dense.data());
  auto word = [&](uint32_t row, uint32_t byte) {
    uint32_t value;
    std::memcpy(&value, &dense[row * 32 + byte], 4);
    return value >> 8;
  };
  // m64nNk16: a0,a1 at row 0 columns 0,1 of lane 0; a2,a3 at row 8; a4,a5 at columns 8,9; a6,a7 at
  // row 8 columns 8,9.
  EXPECT_EQ(word(0, 0), 0u << 5 | 0);
  EXPECT_EQ(word(8, 0), 1u << 5 | 0);
  EXPECT_EQ(word(0, 16), 2u << 5 | 0);
  EXPECT_EQ(word(8, 16), 3u << 5 | 0);
  EXPECT_EQ(word(0, 4), 0u << 5 | 1); // lane 1: columns 2,3
  EXPECT_EQ(word(7, 12), 0u << 5 | 31);
  EXPECT_EQ(word(63, 28), 3u << 7 | 3u << 5 | 31);
  EXPECT_EQ(word(16, 0), 1u << 7);
}

TEST(Wgmma, IntegerValuedFloatsAreExactForEveryN) {
  std::mt19937 random(21);
  for (WgmmaOperation op : kFloatOperations)
    for (op.n = 8; op.n <= 256; op.n += 8) {
      ASSERT_EQ(checkWgmma(op), "");
      uint32_t depth = wgmmaK(op.a);
      std::vector<uint8_t> a = randomOperand(op.a, 64, true, random),
                           b = randomOperand(op.b, op.n, true, random);
      Registers d(accumulatorRegisters(op));
      std::vector<int> reference(64 * op.n);
      for (int step = 0; step < 2; ++step) {
        multiplyWgmma(op, a.data(), b.data(), step > 0, d.pointers.data());
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t column = 0; column < op.n; ++column) {
            int &sum = reference[row * op.n + column];
            for (uint32_t k = 0; k < depth; ++k)
              sum += int(decode(op.a, &a[row * 32], k)) * int(decode(op.b, &b[column * 32], k));
            uint32_t bits = readD(d, op, row, column);
            float got = op.d == WgmmaAccumulator::F16 ? f16ToFloat(static_cast<uint16_t>(bits))
                                                      : std::bit_cast<float>(bits);
            ASSERT_EQ(got, float(sum)) << "n " << op.n << " element " << row << "," << column;
          }
        if (step == 0) { // another A, so that the second step adds something else
          a = randomOperand(op.a, 64, true, random);
        }
      }
    }
}

TEST(Wgmma, FloatsAreAScalarChainBitForBit) {
  std::mt19937 random(22);
  for (WgmmaOperation op : kFloatOperations)
    for (uint32_t n : {8u, 24u, 176u, 256u})
      for (int negation = 0; negation < 4; ++negation) {
        op.n = n;
        op.negateA = negation & 1;
        op.negateB = negation & 2;
        std::vector<uint8_t> a = randomOperand(op.a, 64, false, random),
                             b = randomOperand(op.b, n, false, random);
        Registers d(accumulatorRegisters(op));
        std::vector<uint32_t> before(64 * n);
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t column = 0; column < n; ++column) {
            float value = std::normal_distribution<float>()(random);
            uint32_t bits =
                op.d == WgmmaAccumulator::F16 ? floatToF16(value) : std::bit_cast<uint32_t>(value);
            before[row * n + column] = bits;
            writeD(d, op, row, column, bits);
          }
        multiplyWgmma(op, a.data(), b.data(), true, d.pointers.data());
        double sign = op.negateA != op.negateB ? -1 : 1;
        uint32_t depth = wgmmaK(op.a);
        for (uint32_t row = 0; row < 64; ++row)
          for (uint32_t column = 0; column < n; ++column) {
            uint32_t start = before[row * n + column];
            float initial = op.d == WgmmaAccumulator::F16 ? f16ToFloat(static_cast<uint16_t>(start))
                                                          : std::bit_cast<float>(start);
            volatile float chain = initial;
            double exact = initial, magnitude = std::abs(double(initial));
            for (uint32_t k = 0; k < depth; ++k) {
              double product =
                  sign * decode(op.a, &a[row * 32], k) * double(decode(op.b, &b[column * 32], k));
              volatile float single = static_cast<float>(product);
              ASSERT_EQ(double(single), product) << "products of these formats fit binary32";
              chain = chain + single;
              exact += product;
              magnitude += std::abs(product);
            }
            uint32_t bits = readD(d, op, row, column);
            if (op.d == WgmmaAccumulator::F16) {
              ASSERT_EQ(bits, floatToF16(chain));
              ASSERT_NEAR(f16ToFloat(static_cast<uint16_t>(bits)), exact,
                          std::abs(exact) * 0x1p-11 + magnitude * (depth + 1) * 0x1p-24 + 0x1p-25);
            } else {
              ASSERT_EQ(bits, std::bit_cast<uint32_t>(float(chain)));
              ASSERT_NEAR(std::bit_cast<float>(bits), exact, magnitude * (depth + 1) * 0x1p-24);
            }
          }
      }
}

TEST(Wgmma, IntegersForEveryN) {
  std::mt19937 random(23);
  for (WgmmaType aType : {WgmmaType::S8, WgmmaType::U8})
    for (WgmmaType bType : {WgmmaType::S8, WgmmaType::U8})
      for (uint32_t n = 8; n <= 256; n += n < 32 ? 8 : 16)
        for (bool satfinite : {false, true}) {
          WgmmaOperation op{n, aType, bType, WgmmaAccumulator::S32};
          op.satfinite = satfinite;
          ASSERT_EQ(checkWgmma(op), "");
          std::vector<uint8_t> a = randomOperand(aType, 64, true, random),
                               b = randomOperand(bType, n, true, random);
          Registers d(accumulatorRegisters(op));
          std::vector<int32_t> before(64 * n);
          for (uint32_t row = 0; row < 64; ++row)
            for (uint32_t column = 0; column < n; ++column) {
              int32_t nearEdge = random() % 2 ? INT32_MAX - int(random() % 60000)
                                              : INT32_MIN + int(random() % 60000);
              before[row * n + column] = nearEdge;
              writeD(d, op, row, column, static_cast<uint32_t>(nearEdge));
            }
          multiplyWgmma(op, a.data(), b.data(), true, d.pointers.data());
          for (uint32_t row = 0; row < 64; ++row)
            for (uint32_t column = 0; column < n; ++column) {
              int64_t sum = before[row * n + column];
              for (uint32_t k = 0; k < 32; ++k)
                sum += int64_t(decode(aType, &a[row * 32], k)) *
                       int64_t(decode(bType, &b[column * 32], k));
              if (satfinite)
                sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
              ASSERT_EQ(readD(d, op, row, column), static_cast<uint32_t>(sum))
                  << n << " " << row << "," << column;
            }
        }
}

TEST(Wgmma, ScaleDZeroIgnoresWhatTheRegistersHeld) {
  std::mt19937 random(24);
  WgmmaOperation op{16, WgmmaType::BF16, WgmmaType::BF16, WgmmaAccumulator::F32};
  std::vector<uint8_t> a = randomOperand(op.a, 64, true, random),
                       b = randomOperand(op.b, 16, true, random);
  Registers poisoned(accumulatorRegisters(op), 0x7fc00001), zero(accumulatorRegisters(op), 0);
  multiplyWgmma(op, a.data(), b.data(), false, poisoned.pointers.data());
  multiplyWgmma(op, a.data(), b.data(), true, zero.pointers.data());
  EXPECT_EQ(poisoned.words, zero.words);
}

TEST(Wgmma, NanIsCanonical) {
  WgmmaOperation op{8, WgmmaType::BF16, WgmmaType::BF16, WgmmaAccumulator::F32};
  std::vector<uint8_t> a(64 * 32), b(8 * 32);
  uint16_t infinity = 0x7f80;
  std::memcpy(&a[5 * 32], &infinity, 2); // infinity * 0
  Registers d(accumulatorRegisters(op));
  multiplyWgmma(op, a.data(), b.data(), false, d.pointers.data());
  for (uint32_t row = 0; row < 64; ++row)
    for (uint32_t column = 0; column < 8; ++column)
      EXPECT_EQ(readD(d, op, row, column), row == 5 ? 0x7fffffffu : 0u);
}

TEST(Wgmma, RefusesWhatPtxDoesNotHave) {
  auto with = [](auto bend) {
    WgmmaOperation op{128, WgmmaType::BF16, WgmmaType::BF16, WgmmaAccumulator::F32};
    bend(op);
    return checkWgmma(op);
  };
  EXPECT_EQ(with([](auto &) {}), "");
  EXPECT_THAT(with([](auto &op) { op.n = 12; }), HasSubstr("N = 12; it must be a multiple of 8"));
  EXPECT_THAT(with([](auto &op) { op.n = 264; }), HasSubstr("N = 264"));
  EXPECT_THAT(with([](auto &op) { op.a = WgmmaType::F16; }), HasSubstr("same type"));
  EXPECT_THAT(with([](auto &op) { op.d = WgmmaAccumulator::F16; }), HasSubstr("f32 only"));
  EXPECT_THAT(with([](auto &op) { op.d = WgmmaAccumulator::S32; }),
              HasSubstr("does not accumulate in s32"));
  EXPECT_THAT(with([](auto &op) { op.satfinite = true; }), HasSubstr("no .satfinite"));
  auto integers = [&](auto bend) {
    return with([&](auto &op) {
      op.a = WgmmaType::S8, op.b = WgmmaType::U8, op.d = WgmmaAccumulator::S32;
      bend(op);
    });
  };
  EXPECT_EQ(integers([](auto &) {}), "");
  EXPECT_THAT(integers([](auto &op) { op.n = 40; }),
              HasSubstr("above 32 it must be a multiple of 16"));
  EXPECT_THAT(integers([](auto &op) { op.negateA = true; }), HasSubstr("cannot negate"));
  EXPECT_THAT(integers([](auto &op) { op.d = WgmmaAccumulator::F32; }), HasSubstr("s32 only"));
}

} // namespace
