// Special registers that tell the time (PTX ISA 9.0, 10.22 to 10.26).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu::test;

namespace {

TEST(Clocks, Advance) {
  Ran ran =
      run("mov.u64 %rd2, %clock64; mov.u64 %rd3, %clock64; sub.u64 %rd3, %rd3, %rd2; "
          "mov.u64 %rd4, %globaltimer; mov.u64 %rd5, %globaltimer; setp.gt.u64 %p1, %rd5, %rd4; "
          "setp.gt.and.u64 %p1, %rd3, 0, %p1; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd1], %r1;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 1u);
}

TEST(Clocks, HalvesBelongTogether) {
  // The lower half may run over between two reads, so the upper one is read on both sides.
  Ran ran =
      run("mov.u32 %r1, %globaltimer_hi; mov.u64 %rd2, %globaltimer; mov.u32 %r2, %globaltimer_hi; "
          "shr.u64 %rd3, %rd2, 32; cvt.u32.u64 %r3, %rd3; setp.ge.u32 %p1, %r3, %r1; "
          "setp.le.and.u32 %p1, %r3, %r2, %p1; setp.gt.and.u32 %p1, %r1, 0, %p1; "
          "selp.u32 %r4, 1, 0, %p1; st.global.u32 [%rd1], %r4;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 1u);
}

} // namespace
