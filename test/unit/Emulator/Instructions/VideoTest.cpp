// Video instructions by the examples and the text of the ISA (9.7.18), and that nothing else
// takes a part of a register.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

struct Row {
  const char *text;
  uint32_t result;
};
// %r1 = 0x80ff7f01, %r2 = 0x01020304, %r3 = 100.
const Row rows[] = {
    {"vadd.s32.u32.u32 %r9, %r1.b0, %r2.b3;", 2},
    {"vadd.s32.s32.s32 %r9, %r1.b3, %r2.b0;", uint32_t(-124)},
    {"vsub.s32.u32.u32.sat %r9.b1, %r2.h1, %r1.h0, %r3;", 0x8064},
    {"vabsdiff.u32.u32.u32.add %r9, %r2.b0, %r2.b3, %r3;", 103},
    {"vmax.s32.s32.s32.min %r9, %r1.b2, %r2.b1, %r3;", 3},
    {"vshl.u32.u32.u32.clamp %r9, %r2, 40;", 0},
    {"vshl.u32.u32.u32.wrap %r9, %r2, 40;", 0x02030400},
    {"vshr.s32.s32.u32.clamp %r9, %r1, 40;", 0xffffffff},
    {"vset.s32.u32.lt %r9, %r1.h1, %r2.h1;", 1},
    {"vmad.s32.s32.u32 %r9, %r1.b3, %r2.b0, -%r3;", uint32_t(-612)},
    {"vmad.u32.u32.u32.shr7 %r9, %r2.h0, %r2.h0, %r3;", (0x304 * 0x304 + 100) >> 7},
    {"vmad.u32.u32.u32.po %r9, %r2.b0, %r2.b1, %r3;", 113},
    {"vadd2.s32.s32.s32 %r9, %r1, %r2, %r3;", 0x82018205},
    {"vadd2.s32.s32.s32.sat %r9.h0, %r1.h00, %r2.h33, %r3;", 0x7fff},
    {"vavrg4.u32.u32.u32 %r9, %r1, %r2, %r3;", 0x41814103},
    {"vset4.u32.u32.gt.add %r9, %r1, %r2, %r3;", 103},
};
class Video : public testing::TestWithParam<size_t> {};
TEST_P(Video, GivesTheIsaResult) {
  const Row &row = rows[GetParam()];
  Ran ran =
      run(std::string("mov.u32 %r1, 0x80ff7f01; mov.u32 %r2, 0x01020304; mov.u32 %r3, 100; ") +
          row.text + " st.global.u32 [%rd1], %r9;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[5], row.result) << row.text;
}
INSTANTIATE_TEST_SUITE_P(All, Video, testing::Range(size_t(0), std::size(rows)));

TEST(VideoOperands, BelongToVideoInstructions) {
  auto load = [](const char *body) { return refusal(kernelText(body, {})); };
  for (const char *text : {"add.s32 %r1, %r2.b0, %r3;", "add.s32 %r1, -%r2, %r3;",
                           "st.global.u32 [%rd1], %r2.h1;", "and.pred %p1, %p2.b0, %p3;"})
    EXPECT_NE(load(text).find("only video instructions"), std::string::npos) << load(text);
  EXPECT_NE(load("vadd.u32.u32.u32 %r1, %r2.b4, %r3;").find("selects no byte"), std::string::npos);
  EXPECT_NE(load("vadd.u32.u32.u32 %r1, %r2, -%r3;").find("'-'"), std::string::npos);
  EXPECT_NE(load("vadd2.u32.u32.u32 %r1, %r2.h4, %r3, %r4;").find("selects no elements"),
            std::string::npos);
}

} // namespace
