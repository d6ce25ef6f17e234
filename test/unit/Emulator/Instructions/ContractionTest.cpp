// Products and sums that ptxas may fuse: which pairs are listed, and what they give fused and not.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// x = 1 + 3 * 2^-23. x * x - 1 is 0x35400002 rounded once, and 0x35400000 when the product is
/// rounded to binary32 first.
constexpr uint32_t kFused = 0x35400002, kSeparate = 0x35400000;
const std::string kOperands = "mov.b32 %f1, 0x3f800003; mov.b32 %f2, 0xbf800000; mov.b32 %f3, "
                              "0x3f800000; setp.eq.u32 %p1, %r0, %r0;";
const std::string kStore = " mov.b32 %r9, %f9; st.global.u32 [%rd1], %r9;";

size_t pairsOf(const std::string &body) {
  Device device;
  return device.loadModule(kernelText(body, {}), {})->kernel("k").contractions().size();
}

struct Row {
  const char *text;
  size_t pairs;
  /// The result with contraction if it has pairs; without, it is always kSeparate.
  uint32_t fused;
};
const Row rows[] = {
    {"mul.f32 %f4, %f1, %f1; add.f32 %f9, %f4, %f2;", 1, kFused},
    {"mul.f32 %f4, %f1, %f1; add.f32 %f9, %f2, %f4;", 1, kFused},
    {"mul.f32 %f4, %f1, %f1; sub.f32 %f9, %f4, %f3;", 1, kFused},
    {"mul.f32 %f4, %f1, %f1; sub.f32 %f9, %f3, %f4; neg.f32 %f9, %f9;", 1, kFused},
    {"@%p1 mul.f32 %f4, %f1, %f1; @%p1 add.f32 %f9, %f4, %f2;", 1, kFused},
    // A rounding modifier on either forbids it.
    {"mul.rn.f32 %f4, %f1, %f1; add.f32 %f9, %f4, %f2;", 0, kSeparate},
    {"mul.f32 %f4, %f1, %f1; add.rn.f32 %f9, %f4, %f2;", 0, kSeparate},
    // Flushing, or a guard, that only one of them has.
    {"mul.ftz.f32 %f4, %f1, %f1; add.f32 %f9, %f4, %f2;", 0, kSeparate},
    {"@%p1 mul.f32 %f4, %f1, %f1; add.f32 %f9, %f4, %f2;", 0, kSeparate},
    // The product's operand, or the product, is overwritten in between.
    {"mov.b32 %f5, 0x3f800003; mul.f32 %f4, %f5, %f5; mov.f32 %f5, %f2; add.f32 %f9, %f4, %f5;", 0,
     kSeparate},
    {"mul.f32 %f4, %f1, %f1; mov.f32 %f4, %f4; add.f32 %f9, %f4, %f2;", 0, kSeparate},
    {"mov.f32 %f4, %f1; mul.f32 %f4, %f4, %f1; add.f32 %f9, %f4, %f2;", 0, kSeparate},
    // Another block.
    {"mul.f32 %f4, %f1, %f1; @%p1 bra NEXT; NEXT: add.f32 %f9, %f4, %f2;", 0, kSeparate},
    // Two uses of one product: both.
    {"mul.f32 %f4, %f1, %f1; add.f32 %f8, %f4, %f2; add.f32 %f9, %f4, %f2;", 2, kFused},
};

class Contractions : public testing::TestWithParam<size_t> {};
TEST_P(Contractions, ListedAndFusedWhereTheIsaAllowsIt) {
  const Row &row = rows[GetParam()];
  const std::string body = kOperands + row.text + kStore;
  EXPECT_EQ(pairsOf(body), row.pairs) << row.text;
  for (bool contract : {false, true}) {
    Ran ran = run(body, {.contract = contract});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(ran.out[7], contract ? row.fused : kSeparate) << row.text;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Contractions, testing::Range(size_t(0), std::size(rows)));

TEST(Contractions, OtherTypes) {
  // (1 + 3 * 2^-10)^2 - 1 is 6 * 2^-10 + 9 * 2^-20, whose unit in the last place is 2^-18; the last
  // term is lost if the product is rounded first.
  const std::string half = "mov.b32 %r4, 0x3c033c03; mov.b32 %r5, 0xbc00bc00; mul.f16x2 %r6, %r4, "
                           "%r4; add.f16x2 %r9, %r6, %r5; st.global.u32 [%rd1], %r9;";
  EXPECT_EQ(run(half).out[0], 0x1e001e00u);
  EXPECT_EQ(run(half, {.contract = true}).out[0], 0x1e021e02u);
  // binary64: (1 + 2^-52)^2 - 1 - 2^-51 is 2^-104 or 0.
  const std::string wide =
      "mov.b64 %rd4, 0x3ff0000000000001; mov.b64 %fd1, %rd4; mul.f64 %fd2, %fd1, %fd1; mov.b64 "
      "%rd5, 0x3ff0000000000002; mov.b64 %fd3, %rd5; sub.f64 %fd4, %fd2, %fd3; mov.b64 %rd6, %fd4; "
      "shr.u64 %rd6, %rd6, 32; cvt.u32.u64 %r9, %rd6; st.global.u32 [%rd1], %r9;";
  EXPECT_EQ(run(wide).out[0], 0u);
  EXPECT_EQ(run(wide, {.contract = true}).out[0], (1023u - 104) << 20);
}

} // namespace
