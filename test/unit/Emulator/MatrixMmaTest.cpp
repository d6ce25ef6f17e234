// mma.sync in every form: integer-valued matrices, put into registers by the formulas that PTX ISA
// 9.0, 9.7.14.5, gives element by element, must give the exact product in both numerics.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

struct Shape {
  const char *name;
  uint32_t m, k;
  uint32_t bits;
  Formula a, b;
};

// clang-format off
const Shape shapes[] = {
    {"m16n8k8", 16, 8, 16,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 2 + i, g}; }},
    {"m16n8k16", 16, 16, 16,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g}; }},
    {"m16n8k4", 16, 4, 32,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 ? g : g + 8, t}; },
     [](uint32_t g, uint32_t t, uint32_t) -> At { return {t, g}; }},
    {"m16n8k8", 16, 8, 32,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 ? t : t + 4, g}; }},
    {"m8n8k16", 8, 16, 8,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {g, t * 4 + i}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 4 + i, g}; }},
    {"m16n8k16", 16, 16, 8,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 4 + i, g}; }},
    {"m16n8k32", 16, 32, 8,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g}; }},
    {"m8n8k32", 8, 32, 4,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {g, t * 8 + i}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 8 + i, g}; }},
    {"m16n8k32", 16, 32, 4,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 8 ? g : g + 8, t * 8 + (i & 7)}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 8 + (i & 7), g}; }},
    {"m16n8k64", 16, 64, 4,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 8 || (i >= 16 && i < 24) ? g : g + 8, i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32, g}; }},
    {"m8n8k128", 8, 128, 1,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {g, t * 32 + i}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 32 + i, g}; }},
    {"m16n8k128", 16, 128, 1,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 32 ? g : g + 8, t * 32 + (i & 31)}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t * 32 + i, g}; }},
    {"m16n8k256", 16, 256, 1,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 32 || (i >= 64 && i < 96) ? g : g + 8, i < 64 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i < 32 ? t * 32 + (i & 31) : t * 32 + (i & 31) + 128, g}; }},
    {"m8n8k4", 8, 4, 64,
     [](uint32_t g, uint32_t t, uint32_t) -> At { return {g, t}; },
     [](uint32_t g, uint32_t t, uint32_t) -> At { return {t, g}; }},
    {"m16n8k4", 16, 4, 64,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 ? g : g + 8, t}; },
     [](uint32_t g, uint32_t t, uint32_t) -> At { return {t, g}; }},
    {"m16n8k8", 16, 8, 64,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i == 0 ? t : t + 4, g}; }},
    {"m16n8k16", 16, 16, 64,
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {i % 2 == 0 ? g : g + 8, i < 2 ? t : i < 4 ? t + 4 : i < 6 ? t + 8 : t + 12}; },
     [](uint32_t g, uint32_t t, uint32_t i) -> At { return {t + 4 * i, g}; }},
};
// clang-format on

struct Case {
  std::string shape, a, b, d, modifiers;
  std::string tail = {}; ///< after the types
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char *shape : {"m16n8k8", "m16n8k16"}) {
    all.push_back({shape, "f16", "f16", "f32", ""});
    all.push_back({shape, "f16", "f16", "f16", ""});
    all.push_back({shape, "bf16", "bf16", "f32", ""});
  }
  all.push_back({"m16n8k4", "tf32", "tf32", "f32", ""});
  all.push_back({"m16n8k8", "tf32", "tf32", "f32", ""});
  for (const char *shape : {"m16n8k16", "m16n8k32"})
    for (const char *a : {"e4m3", "e5m2"})
      for (const char *b : {"e4m3", "e5m2"})
        for (const char *d : {"f32", "f16"})
          all.push_back({shape, a, b, d, ""});
  for (const char *saturate : {"", ".satfinite"}) {
    for (const char *shape : {"m8n8k16", "m16n8k16", "m16n8k32"})
      for (const char *a : {"s8", "u8"})
        for (const char *b : {"s8", "u8"})
          all.push_back({shape, a, b, "s32", saturate});
    for (const char *shape : {"m8n8k32", "m16n8k32", "m16n8k64"})
      for (const char *a : {"s4", "u4"})
        for (const char *b : {"s4", "u4"})
          all.push_back({shape, a, b, "s32", saturate});
  }
  for (const char *shape : {"m8n8k128", "m16n8k128", "m16n8k256"})
    for (const char *operation : {".and.popc", ".xor.popc"})
      all.push_back({shape, "b1", "b1", "s32", "", operation});
  for (const char *shape : {"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"})
    for (const char *rounding : {"", ".rn", ".rz", ".rm", ".rp"})
      all.push_back({shape, "f64", "f64", "f64", rounding});
  return all;
}

const Shape &shapeOf(const Case &test) {
  for (const Shape &shape : shapes)
    if (test.shape == shape.name && shape.bits == bitsOf(test.a))
      return shape;
  throw std::runtime_error("no shape " + test.shape);
}

class Mma : public testing::TestWithParam<size_t> {};

TEST_P(Mma, IntegersAreExact) {
  const Case test = cases()[GetParam()];
  const Shape &shape = shapeOf(test);
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 1);
  Matrix a(shape.m, shape.k), b(shape.k, 8), c(shape.m, 8);
  a.fill(test.a, random);
  b.fill(test.b, random);
  c.fill("s32", random);
  const uint32_t width = shape.bits == 64 ? 64 : 32, bitsD = bitsOf(test.d);
  const uint32_t countA = shape.m * shape.k / 32, countB = shape.k * 8 / 32, countD = shape.m / 4;
  Lanes ra(countA * shape.bits / width, width), rb(countB * shape.bits / width, width);
  Lanes rc(countD * bitsD / width, width), rd(countD * bitsD / width, width);
  Formula accumulator = shape.m == 8 ? accumulator8 : accumulator16;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane >> 2, t = lane % 4;
    for (uint32_t i = 0; i < countA; ++i) {
      At at = shape.a(g, t, i);
      ra.set(lane, i, shape.bits, encode(test.a, a.at(at.row, at.column)));
    }
    for (uint32_t i = 0; i < countB; ++i) {
      At at = shape.b(g, t, i);
      rb.set(lane, i, shape.bits, encode(test.b, b.at(at.row, at.column)));
    }
    for (uint32_t i = 0; i < countD; ++i) {
      At at = accumulator(g, t, i);
      rc.set(lane, i, bitsD, encode(test.d, c.at(at.row, at.column)));
    }
  }
  const std::string instruction = "mma.sync.aligned." + test.shape + ".row.col" + test.modifiers +
                                  "." + test.d + "." + test.a + "." + test.b + "." + test.d +
                                  test.tail + " " + vectorOf("d", rd.registers) + ", " +
                                  vectorOf("a", ra.registers) + ", " + vectorOf("b", rb.registers) +
                                  ", " + vectorOf("c", rc.registers) + ";";
  Matrix expected = reference(a, b, c, test.tail == ".xor.popc");
  for (Numerics numerics : {Numerics::Exact, Numerics::Hopper}) {
    Ran ran = runOn(instruction, {&ra, &rb, &rc}, rd, numerics);
    ASSERT_TRUE(ran.result.clean()) << instruction << "\n" << ran.text();
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t i = 0; i < countD; ++i) {
        At at = accumulator(lane >> 2, lane % 4, i);
        ASSERT_EQ(decodeResult(test.d, rd.get(lane, i, bitsD)), expected.at(at.row, at.column))
            << instruction << " row " << at.row << " column " << at.column;
      }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Mma, testing::Range(size_t(0), cases().size()));

TEST(Mma, SatfiniteClamps) {
  Lanes a(2, 32), b(1, 32), c(4, 32), d(4, 32);
  for (uint32_t &word : a.words)
    word = 0x7f7f7f7f;
  for (uint32_t &word : b.words)
    word = 0x7f7f7f7f;
  for (uint32_t i = 0; i < c.words.size(); ++i)
    c.words[i] = i % 2 ? 0x7fffff00 : 0;
  const uint32_t product = 16 * 127 * 127;
  for (bool saturate : {false, true}) {
    Ran ran =
        runOn("mma.sync.aligned.m16n8k16.row.col" + std::string(saturate ? ".satfinite" : "") +
                  ".s32.s8.s8.s32 {d0,d1,d2,d3}, {a0,a1}, {b0}, {c0,c1,c2,c3};",
              {&a, &b, &c}, d, Numerics::Exact);
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t i = 0; i < d.words.size(); ++i)
      EXPECT_EQ(d.words[i], i % 2 == 0 ? product : saturate ? 0x7fffffffu : 0x7fffff00u + product);
  }
}

TEST(Mma, RoundingOfF64) {
  // 1 + 2^-60 lies between 1 and the next number.
  Lanes a(1, 64), b(1, 64), c(2, 64), d(2, 64);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    a.set(lane, 0, 64, std::bit_cast<uint64_t>(lane % 4 == 0 ? 0x1p-30 : 0.0));
    b.set(lane, 0, 64, std::bit_cast<uint64_t>(0x1p-30));
    for (uint32_t i = 0; i < 2; ++i)
      c.set(lane, i, 64, std::bit_cast<uint64_t>(1.0));
  }
  for (auto [mode, expected] :
       {std::pair{".rn", 1.0}, {".rz", 1.0}, {".rm", 1.0}, {".rp", 1.0 + 0x1p-52}}) {
    runOn(std::string("mma.sync.aligned.m8n8k4.row.col") + mode +
              ".f64.f64.f64.f64 {d0,d1}, {a0}, {b0}, {c0,c1};",
          {&a, &b, &c}, d, Numerics::Exact);
    EXPECT_EQ(decodeResult("f64", d.get(5, 1, 64)), expected) << mode;
  }
}

// 9.7.14.5.1: four products, of lanes 4 i to 4 i + 3 and 16 + 4 i to 16 + 4 i + 3.
TEST(Mma, QuadPairs) {
  std::mt19937 random(3);
  for (bool rowA : {true, false})
    for (bool rowB : {true, false})
      for (auto [typeD, typeC] : {std::pair{"f32", "f32"}, {"f32", "f16"}, {"f16", "f16"}}) {
        std::vector<Matrix> as, bs, cs;
        Lanes a(2, 32), b(2, 32);
        const uint32_t bitsC = bitsOf(typeC), bitsD = bitsOf(typeD);
        Lanes c(8 * bitsC / 32, 32), d(8 * bitsD / 32, 32);
        auto place = [](uint32_t bits, uint32_t lane, uint32_t i) -> At {
          const uint32_t x = (lane & 1) + (i & 2);
          if (bits == 32)
            return {lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
          return {lane < 16 ? lane % 4 : lane % 4 + 4, i};
        };
        for (uint32_t pair = 0; pair < 4; ++pair) {
          as.emplace_back(8, 4);
          bs.emplace_back(4, 8);
          cs.emplace_back(8, 8);
          for (Matrix *m : {&as.back(), &bs.back(), &cs.back()})
            m->fill("f16", random);
        }
        for (uint32_t lane = 0; lane < 32; ++lane) {
          const uint32_t pair = lane % 16 / 4, upper = lane < 16 ? 0 : 4;
          for (uint32_t i = 0; i < 4; ++i) {
            a.set(lane, i, 16,
                  encode("f16", rowA ? as[pair].at(lane % 4 + upper, i)
                                     : as[pair].at(i + upper, lane % 4)));
            b.set(lane, i, 16,
                  encode("f16", rowB ? bs[pair].at(lane % 4, i + upper)
                                     : bs[pair].at(i, lane % 4 + upper)));
          }
          for (uint32_t i = 0; i < 8; ++i) {
            At at = place(bitsC, lane, i);
            c.set(lane, i, bitsC, encode(typeC, cs[pair].at(at.row, at.column)));
          }
        }
        Ran ran = runOn(std::string("mma.sync.aligned.m8n8k4.") + (rowA ? "row." : "col.") +
                            (rowB ? "row." : "col.") + typeD + ".f16.f16." + typeC + " " +
                            vectorOf("d", d.registers) + ", {a0,a1}, {b0,b1}, " +
                            vectorOf("c", c.registers) + ";",
                        {&a, &b, &c}, d, Numerics::Hopper);
        ASSERT_TRUE(ran.result.clean()) << ran.text();
        for (uint32_t lane = 0; lane < 32; ++lane) {
          const uint32_t pair = lane % 16 / 4;
          Matrix expected = reference(as[pair], bs[pair], cs[pair], false);
          for (uint32_t i = 0; i < 8; ++i) {
            At at = place(bitsD, lane, i);
            ASSERT_EQ(decodeResult(typeD, d.get(lane, i, bitsD)), expected.at(at.row, at.column))
                << typeD << typeC << rowA << rowB << " lane " << lane << " element " << i;
          }
        }
      }
}

TEST(Mma, WhatPtxasRefusesIsRefused) {
  for (const char *text :
       {"mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, "
        "{%r1,%r2,%r3,%r4,%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3}, "
        "{%r1,%r2}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f0,%f1,%f2,%f3}, "
        "{%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f0,%f1,%f2,%f3};",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
        "{%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%f0,%f1,%f2,%f3}, %r5, 2;",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r1}, [%r2];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r1};"})
    EXPECT_NE(refusal(kernelText(text, {})), "") << text;
}

} // namespace
