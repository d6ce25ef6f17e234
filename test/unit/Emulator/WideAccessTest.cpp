// Loads and stores of 128 bits (PTX ISA 9.0, 9.7.9.8, 9.7.9.11), which ptxas accepts for sm_90a in
// these forms.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

/// Each thread writes 16 bytes through the accesses in `body`, which copy %q1 to %q2.
Ran copyWide(const std::string &body, const std::string &variables = "") {
  KernelSetup setup;
  setup.data.assign(128, 0);
  return run(
      ".reg .b128 %q<3>; " + variables +
          "shl.b32 %r1, %r0, 2; add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2; add.u32 %r4, %r1, 3; "
          "mov.b64 %rd2, {%r1, %r2}; mov.b64 %rd3, {%r3, %r4}; mov.b128 %q1, {%rd2, %rd3}; "
          "mul.wide.u32 %rd4, %r0, 16; add.u64 %rd5, %rd0, %rd4; " +
          body + " mov.b128 {%rd6, %rd7}, %q2; st.global.v2.b64 [%rd5], {%rd6, %rd7};",
      setup);
}
void expectCopied(const Ran &ran) {
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(ran.out[i], i) << i;
}

TEST(WideAccess, GlobalMemory) {
  for (const char *body :
       {"st.global.b128 [%rd5], %q1; ld.global.b128 %q2, [%rd5];",
        "st.weak.b128 [%rd5], %q1; ld.b128 %q2, [%rd5];",
        "st.volatile.global.b128 [%rd5], %q1; ld.volatile.global.b128 %q2, [%rd5];",
        "st.relaxed.gpu.global.b128 [%rd5], %q1; ld.acquire.gpu.global.b128 %q2, [%rd5];"}) {
    SCOPED_TRACE(body);
    expectCopied(copyWide(body));
  }
}
TEST(WideAccess, SharedAndLocalMemory) {
  expectCopied(copyWide("mov.u32 %r5, s; mad.lo.u32 %r5, %r0, 16, %r5; st.shared.b128 [%r5], %q1; "
                        "ld.shared.b128 %q2, [%r5];",
                        ".shared .align 16 .b8 s[512]; "));
  expectCopied(
      copyWide("st.local.b128 [l], %q1; ld.local.b128 %q2, [l];", ".local .align 16 .b8 l[16]; "));
}
TEST(WideAccess, IsAligned) {
  Ran ran = copyWide("mov.b128 %q2, %q1; add.u64 %rd6, %rd5, 8; st.global.b128 [%rd6], %q1;");
  EXPECT_TRUE(ran.has("misaligned")) << ran.text();
}
TEST(WideAccess, CarriesUndefinedHalves) {
  Ran ran = copyWide("mov.b128 %q1, {%rd2, %rd19}; st.local.b128 [l], %q1; ld.local.b128 %q2, [l];",
                     ".local .align 16 .b8 l[16]; ");
  EXPECT_TRUE(ran.has("undefined-value")) << ran.text();
}
TEST(WideAccess, Of256BitsIsRefused) {
  EXPECT_THAT(refusal(kernelText("ld.global.v4.b64 {%rd2, %rd3, %rd4, %rd5}, [%rd1];", {})),
              HasSubstr("an access of 256 bits; sm_90 has at most 128"));
}

} // namespace
