// mma.sp in every form: integer-valued matrices of which half is stored, put into registers by the
// formulas of PTX ISA 9.0, 9.7.14.6.2, with metadata as libraries lay them out.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

// Sparse A. Formulas of 9.7.14.6.2: element i of a lane is the (i mod 2^x)-th stored one of the
// columns [first, last].
struct SparseShape {
  const char *name;
  uint32_t k, bits;
  Formula a; ///< row, and the first column of the run that holds element i
  uint32_t choices;
};
// clang-format off
const SparseShape sparseShapes[] = {
    {"m16n8k16", 16, 16, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 2 ? g : g + 8, t * 4}; }, 4},
    {"m16n8k32", 32, 16, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? t * 4 : t * 4 + 16}; }, 2},
    {"m16n8k8", 8, 32, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 ? g : g + 8, t * 2}; }, 4},
    {"m16n8k16", 16, 32, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t * 2 : t * 2 + 8}; }, 2},
    {"m16n8k32", 32, 8, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 4 ? g : g + 8, t * 8}; }, 2},
    {"m16n8k64", 64, 8, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, i < 8 ? t * 8 : t * 8 + 32}; }, 1},
    {"m16n8k64", 64, 4, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 8 ? g : g + 8, t * 16}; }, 2},
    {"m16n8k128", 128, 4, [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 8 || (i >= 16 && i < 24) ? g : g + 8, i < 16 ? t * 16 : t * 16 + 64}; }, 1},
};
// clang-format on

/// Metadata as libraries store it: units of 16 bits (16-bit and tf32 elements) or 32 bits (others),
/// rows permuted, and each 2 x 2 block of them transposed; lanes then read words one after the
/// other. `groups`: the four bits of each group of each of 16 rows.
std::vector<uint32_t> libraryMetadata(const std::vector<std::vector<uint32_t>> &groups,
                                      uint32_t elementBits, uint32_t selector) {
  const uint32_t perRow = static_cast<uint32_t>(groups[0].size());
  std::vector<uint32_t> lanes(32, 0xeeeeeeee);
  const uint32_t unit = elementBits >= 16 ? 4 : 8; // groups in a unit
  auto value = [&](uint32_t row, uint32_t column) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < unit; ++i)
      bits |= groups[row][column * unit + i] << 4 * i;
    return bits;
  };
  if (perRow / unit == 1) { // no blocks to transpose
    for (uint32_t row = 0; row < 16; ++row) {
      if (elementBits >= 16) {
        uint32_t &word = lanes[row % 8 * 4 + selector];
        word = row < 8 ? value(row, 0) : (word & 0xffff) | value(row, 0) << 16;
      } else {
        lanes[row % 8 * 4 + 2 * selector + row / 8] = value(row, 0);
      }
    }
    return lanes;
  }
  const uint32_t interleave = elementBits >= 16 ? 4 : 2;
  std::vector<uint32_t> units(64, 0xeeee);
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 2; ++column) {
      uint32_t r = row % 8 * interleave + row / 8 + (elementBits >= 16 ? 2 * selector : 0);
      uint32_t c = column;
      if (r % 2 == 0 && c == 1)
        ++r, --c;
      else if (r % 2 == 1 && c == 0)
        --r, ++c;
      units[r * 2 + c] = value(row, column);
    }
  for (uint32_t lane = 0; lane < 32; ++lane)
    lanes[lane] = elementBits >= 16 ? units[2 * lane] | units[2 * lane + 1] << 16 : units[lane];
  return lanes;
}

struct SparseCase {
  std::string shape, a, b, d, modifiers;
};
std::vector<SparseCase> sparseCases() {
  std::vector<SparseCase> all;
  for (const char *shape : {"m16n8k16", "m16n8k32"}) {
    all.push_back({shape, "f16", "f16", "f32", ""});
    all.push_back({shape, "f16", "f16", "f16", ""});
    all.push_back({shape, "bf16", "bf16", "f32", ""});
  }
  all.push_back({"m16n8k8", "tf32", "tf32", "f32", ""});
  all.push_back({"m16n8k16", "tf32", "tf32", "f32", ""});
  all.push_back({"m16n8k64", "e4m3", "e5m2", "f32", ""});
  all.push_back({"m16n8k64", "e5m2", "e4m3", "f32", ""});
  for (const char *saturate : {"", ".satfinite"}) {
    all.push_back({"m16n8k32", "s8", "u8", "s32", saturate});
    all.push_back({"m16n8k64", "u8", "s8", "s32", saturate});
    all.push_back({"m16n8k64", "s4", "u4", "s32", saturate});
    all.push_back({"m16n8k128", "u4", "s4", "s32", saturate});
  }
  return all;
}

class SparseMma : public testing::TestWithParam<size_t> {};
TEST_P(SparseMma, IntegersAreExact) {
  const SparseCase test = sparseCases()[GetParam()];
  const SparseShape *shape = nullptr;
  for (const SparseShape &s : sparseShapes)
    if (test.shape == s.name && s.bits == bitsOf(test.a))
      shape = &s;
  ASSERT_NE(shape, nullptr);
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 50);
  // A chunk has `stored` of `chunk` elements, in units of pairs for four-bit types.
  const uint32_t pair = shape->bits == 4 ? 2 : 1, chunk = (shape->bits == 32 ? 2 : 4) * pair;
  for (uint32_t selector = 0; selector < shape->choices; ++selector)
    for (const char *ordered : {"", "::ordered_metadata"}) {
      Matrix a(16, shape->k), b(shape->k, 8), c(16, 8);
      b.fill(test.b, random);
      c.fill("s32", random);
      std::vector<std::vector<uint32_t>> groups(16), columns(16); // columns: of the stored elements
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t first = 0; first < shape->k; first += chunk) {
          uint32_t i0 = random() % 3, i1 = i0 + 1 + random() % (3 - i0);
          if (shape->bits == 32) {
            i0 = random() % 2;
            groups[row].push_back(i0 ? 0b1110 : 0b0100);
            columns[row].push_back(first + i0);
            continue;
          }
          groups[row].push_back(i0 | i1 << 2);
          for (uint32_t index : {i0, i1})
            for (uint32_t e = 0; e < pair; ++e)
              columns[row].push_back(first + index * pair + e);
        }
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t column : columns[row])
          a.at(row, column) = smallValue(test.a, random);
      const uint32_t countA = 16 * shape->k / 2 / 32, countB = shape->k * 8 / 32;
      const uint32_t perRegister = 32 / shape->bits, bitsD = bitsOf(test.d);
      Lanes ra(countA / perRegister, 32), rb(countB / perRegister, 32), rc(4 * bitsD / 32, 32),
          rd(4 * bitsD / 32, 32), re(1, 32);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t g = lane >> 2, t = lane % 4;
        for (uint32_t i = 0; i < countA; ++i) {
          At at = shape->a(g, t, i);
          // A register holds the stored elements of its columns in order.
          uint32_t column = columns[at.row][at.column / 2 + i % perRegister];
          ra.set(lane, i, shape->bits, encode(test.a, a.at(at.row, column)));
        }
        for (uint32_t i = 0; i < countB; ++i) // runs of one register, 4 lanes apart
          rb.set(lane, i, shape->bits,
                 encode(test.b,
                        b.at(t * perRegister + i % perRegister + i / perRegister * 4 * perRegister,
                             g)));
        for (uint32_t i = 0; i < 4; ++i) {
          At at = accumulator16(g, t, i);
          rc.set(lane, i, bitsD, encode(test.d, c.at(at.row, at.column)));
        }
      }
      re.words = libraryMetadata(groups, shape->bits, selector);
      const std::string instruction =
          "mma.sp" + std::string(ordered) + ".sync.aligned." + test.shape + ".row.col" +
          test.modifiers + "." + test.d + "." + test.a + "." + test.b + "." + test.d + " " +
          vectorOf("d", rd.registers) + ", " + vectorOf("a", ra.registers) + ", " +
          vectorOf("b", rb.registers) + ", " + vectorOf("c", rc.registers) + ", e0, " +
          std::to_string(selector) + ";";
      Matrix expected = reference(a, b, c, false);
      for (Numerics numerics : {Numerics::Exact, Numerics::Hopper}) {
        Ran ran = runOn(instruction, {&ra, &rb, &rc, &re}, rd, numerics);
        ASSERT_TRUE(ran.result.clean()) << instruction << "\n" << ran.text();
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t i = 0; i < 4; ++i) {
            At at = accumulator16(lane >> 2, lane % 4, i);
            ASSERT_EQ(decodeResult(test.d, rd.get(lane, i, bitsD)), expected.at(at.row, at.column))
                << instruction << " row " << at.row << " column " << at.column;
          }
      }
    }
}
INSTANTIATE_TEST_SUITE_P(All, SparseMma, testing::Range(size_t(0), sparseCases().size()));

TEST(SparseMma, MetadataWithoutMeaning) {
  Lanes a(2, 32), b(2, 32), c(4, 32), d(4, 32), e(1, 32);
  auto instruction = [](const char *ordered) {
    return "mma.sp" + std::string(ordered) +
           ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d0,d1,d2,d3}, {a0,a1}, {b0,b1}, "
           "{c0,c1,c2,c3}, e0, 1;";
  };
  auto with = [&](uint32_t word, const char *ordered) {
    // Only the selected lanes count.
    for (uint32_t lane = 0; lane < 32; ++lane)
      e.words[lane] = lane % 4 == 1 ? word : 0;
    return runOn(instruction(ordered), {&a, &b, &c, &e}, d, Numerics::Exact);
  };
  EXPECT_TRUE(with(0x44444444, "::ordered_metadata").result.clean());
  EXPECT_TRUE(with(0x44444454, "::ordered_metadata").has("sparse-metadata")); // 0b0101
  EXPECT_TRUE(with(0x44444414, "::ordered_metadata").has("sparse-metadata")); // descending
  EXPECT_TRUE(with(0x44444414, "").result.clean());
}

TEST(SparseMma, WhatIsNotStoredTakesNoPart) {
  // B is infinite where A stores nothing.
  Lanes a(2, 32), b(2, 32), c(4, 32), d(4, 32), e(1, 32);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    e.words[lane] = 0x44444444; // elements 0 and 1 of four
    for (uint32_t i = 0; i < 4; ++i) {
      a.set(lane, i, 16, encode("f16", 1));
      const uint32_t k = lane % 4 * 2 + i % 2 + 8 * (i / 2);
      b.set(lane, i, 16, k % 4 < 2 ? encode("f16", 1) : 0x7c00);
    }
  }
  for (Numerics numerics : {Numerics::Exact, Numerics::Hopper}) {
    Ran ran = runOn("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                    "{d0,d1,d2,d3}, {a0,a1}, {b0,b1}, {c0,c1,c2,c3}, e0, 0;",
                    {&a, &b, &c, &e}, d, numerics);
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t word : d.words)
      EXPECT_EQ(decodeResult("f32", word), 8.0);
  }
}

} // namespace
