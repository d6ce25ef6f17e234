// ldmatrix, stmatrix and movmatrix: every count, both orientations, rows at scattered addresses, by
// the fragment layout of PTX ISA 9.0, 9.7.14.5.15 to 9.7.14.5.17: of each 8 x 8 matrix, lane l
// holds elements (l / 4, 2 (l % 4)) and (l / 4, 2 (l % 4) + 1), or with .trans those of the
// transpose.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MatrixHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// Row `row` of matrix `matrix` lies in this 16-byte slot: scattered, but each slot once.
uint32_t slot(uint32_t matrix, uint32_t row) { return (13 * (8 * matrix + row) + 5) % 32; }
uint32_t element(uint32_t matrix, uint32_t row, uint32_t column) {
  return matrix << 8 | row << 4 | column;
}
/// Elements that register `matrix` of a lane holds.
uint32_t held(uint32_t matrix, uint32_t lane, bool transposed) {
  const uint32_t line = lane / 4, place = 2 * (lane % 4);
  const uint32_t low = transposed ? element(matrix, place, line) : element(matrix, line, place);
  const uint32_t high =
      transposed ? element(matrix, place + 1, line) : element(matrix, line, place + 1);
  return low | high << 16;
}

constexpr const char *kModule = ".shared .align 16 .b8 buf[512];";
/// %r10: the buffer; %r11: the address of the row that this lane names.
const std::string kRowAddress =
    "mov.u32 %r10, buf; mad.lo.u32 %r11, %r0, 13, 5; and.b32 %r11, %r11, 31; shl.b32 %r11, %r11, "
    "4; add.u32 %r11, %r11, %r10; cvt.u64.u32 %rd7, %r11; cvta.shared.u64 %rd7, %rd7; shl.b32 "
    "%r12, %r0, 4; add.u32 %r12, %r12, %r10;";

struct Variant {
  uint32_t count;
  bool transposed, generic;
};
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (uint32_t count : {1u, 2u, 4u})
    for (bool transposed : {false, true})
      for (bool generic : {false, true})
        all.push_back({count, transposed, generic});
  return all;
}
std::string mnemonic(const char *opcode, const Variant &v) {
  return std::string(opcode) + ".sync.aligned.m8n8.x" + std::to_string(v.count) +
         (v.transposed ? ".trans" : "") + (v.generic ? "" : ".shared") + ".b16 ";
}

TEST(Fragments, Ldmatrix) {
  for (const Variant &v : variants()) {
    std::vector<uint32_t> data(32 * 8, 0);
    for (uint32_t matrix = 0; matrix < 4; ++matrix)
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t column = 0; column < 8; ++column)
          data[slot(matrix, row) * 4 + column / 2] |= element(matrix, row, column)
                                                      << 16 * (column % 2);
    std::string body = kRowAddress +
                       "mul.wide.u32 %rd8, %r0, 16; add.s64 %rd8, %rd8, %rd0; ld.global.v4.b32 "
                       "{%r1,%r2,%r3,%r4}, [%rd8]; st.shared.v4.b32 [%r12], {%r1,%r2,%r3,%r4}; "
                       "bar.warp.sync -1;" +
                       mnemonic("ldmatrix", v) + vectorOf("%r2", v.count) + ", [" +
                       (v.generic ? "%rd7" : "%r11") + "];";
    for (uint32_t m = 0; m < v.count; ++m)
      body += "st.global.b32 [%rd1+" + std::to_string(512 + 128 * m) + "], %r2" +
              std::to_string(m) + ";";
    Ran ran = run(body, {.module = kModule, .data = data});
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t m = 0; m < v.count; ++m)
      for (uint32_t lane = 0; lane < 32; ++lane)
        ASSERT_EQ(ran.out[128 + 32 * m + lane], held(m, lane, v.transposed))
            << mnemonic("ldmatrix", v) << lane;
  }
}

TEST(Fragments, Stmatrix) {
  for (const Variant &v : variants()) {
    std::vector<uint32_t> data(32 * 8, 0);
    for (uint32_t m = 0; m < v.count; ++m)
      for (uint32_t lane = 0; lane < 32; ++lane)
        data[128 + 32 * m + lane] = held(m, lane, v.transposed);
    std::string body = kRowAddress + "st.shared.v4.b32 [%r12], {0, 0, 0, 0}; bar.warp.sync -1;";
    for (uint32_t m = 0; m < v.count; ++m)
      body += "ld.global.b32 %r2" + std::to_string(m) + ", [%rd1+" + std::to_string(512 + 128 * m) +
              "];";
    body += mnemonic("stmatrix", v) + "[" + (v.generic ? "%rd7" : "%r11") + "], " +
            vectorOf("%r2", v.count) +
            "; bar.warp.sync -1; ld.shared.v4.b32 {%r1,%r2,%r3,%r4}, [%r12]; mul.wide.u32 %rd8, "
            "%r0, 16; add.s64 %rd8, %rd8, %rd0; st.global.v4.b32 [%rd8], {%r1,%r2,%r3,%r4};";
    Ran ran = run(body, {.module = kModule, .data = data});
    ASSERT_TRUE(ran.result.clean()) << ran.text();
    std::vector<uint32_t> expected(128, 0);
    for (uint32_t matrix = 0; matrix < v.count; ++matrix)
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t column = 0; column < 8; ++column)
          expected[slot(matrix, row) * 4 + column / 2] |= element(matrix, row, column)
                                                          << 16 * (column % 2);
    ran.out.resize(128);
    ASSERT_EQ(ran.out, expected) << mnemonic("stmatrix", v);
  }
}

TEST(Fragments, Movmatrix) {
  std::vector<uint32_t> data(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    data[lane] = held(0, lane, false);
  Ran ran = run("ld.global.b32 %r1, [%rd1]; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1; "
                "st.global.b32 [%rd1], %r2;",
                {.data = data});
  ASSERT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(ran.out[lane], held(0, lane, true));
}

TEST(Fragments, RowsMustBeAlignedAndInSharedMemory) {
  EXPECT_TRUE(run("mov.u32 %r10, buf; add.u32 %r10, %r10, 8; "
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r10];",
                  {.module = kModule})
                  .has("misaligned"));
  EXPECT_TRUE(run("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd0];", {.module = kModule})
                  .has("shared-out-of-bounds"));
}

} // namespace
