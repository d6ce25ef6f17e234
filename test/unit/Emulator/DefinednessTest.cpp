// Undefined values: followed through registers, lanes and memory, and reported where they matter.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

struct Case {
  const char *name;
  const char *text; ///< in the report, "" if there must be none
  std::string body;
};

// %r5, %rd5, %p5, %rs5 are never written; the emulated registers hold zero there, so that what is
// computed from them is harmless and only the check can tell.
const Case cases[] = {
    {"address", "an address is undefined", "add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r0;"},
    {"branch", "the condition of a branch",
     "setp.eq.u32 %p1, %r5, 1; @%p1 bra L; st.global.u32 [%rd1], %r0; L:"},
    {"guarded store", "the condition of a branch", "@%p5 st.global.u32 [%rd1], %r0;"},
    {"operand of a barrier", "an operand is undefined", "bar.sync %r5, 32;"},
    {"mask of a shuffle's count", "a value stored to global memory is undefined",
     "shfl.sync.idx.b32 %r6, %r5, 0, 31, -1; st.global.u32 [%rd1], %r6;"},
    {"global memory", "was never written", "st.global.u32 [%rd1], %r5;"},
    {"through arithmetic", "was never written",
     "add.u32 %r6, %r5, 1; mul.lo.u32 %r7, %r6, %r0; st.global.u32 [%rd1], %r7;"},
    {"vote", "undefined", "vote.sync.ballot.b32 %r6, %p5, -1; st.global.u32 [%rd1], %r6;"},
    {"through shared memory", "comes from here",
     ".shared .b32 s[64]; mov.u32 %r4, s; ld.shared.u32 %r6, [%r4+4]; st.global.u32 [%rd1], %r6;"},
    {"stored to shared memory and back", "ld.shared.u32 %r6",
     ".shared .b32 s[64]; mov.u32 %r4, s; mad.lo.u32 %r4, %r0, 4, %r4; st.shared.u32 [%r4], %r5; "
     "ld.shared.u32 %r6, [%r4]; st.global.u32 [%rd1], %r6;"},
    {"through local memory", "comes from here",
     ".local .b32 l[4]; st.local.u32 [l], %r0; ld.local.u32 %r6, [l+4]; st.global.u32 [%rd1], "
     "%r6;"},
    {"one half of a pair", "undefined",
     "mov.b64 %rd6, {%r0, %r5}; mov.b64 {%r6, %r7}, %rd6; st.global.u32 [%rd1], %r7;"},
    {"a shifted half", "undefined",
     "mov.b64 %rd6, {%r0, %r5}; shr.u64 %rd6, %rd6, 32; cvt.u32.u64 %r6, %rd6; st.global.u32 "
     "[%rd1], %r6;"},
    {"the chosen one", "undefined",
     "setp.lt.u32 %p1, %r0, 64; selp.b32 %r6, %r5, %r0, %p1; st.global.u32 [%rd1], %r6;"},
    {"written under a guard in other lanes", "undefined",
     "setp.lt.u32 %p1, %r0, 16; @%p1 mov.u32 %r5, 1; st.global.u32 [%rd1], %r5;"},
    {"undefined guard", "undefined",
     "mov.u32 %r6, 1; @%p5 mov.u32 %r6, 2; st.global.u32 [%rd1], %r6;"},

    {"a bit that nobody has set", "the condition of a branch",
     ".local .b8 l[1]; ld.local.u8 %r5, [l]; and.b32 %r6, %r5, 0xfe; or.b32 %r6, %r6, 1; "
     "st.local.u8 [l], %r6; ld.local.u8 %r7, [l]; and.b32 %r8, %r7, 2; setp.eq.u32 %p1, %r8, 0; "
     "@%p1 bra X; st.global.u32 [%rd1], %r0; X:"},
    {"the other field", "undefined",
     "bfi.b32 %r6, %r0, %r5, 8, 8; bfe.u32 %r7, %r6, 16, 8; st.global.u32 [%rd1], %r7;"},
    {"a byte that was not chosen well", "undefined",
     "prmt.b32 %r6, %r0, %r5, 0x4444; st.global.u32 [%rd1], %r6;"},
    {"a sign that is undefined", "undefined",
     "bfi.b32 %r6, %r0, %r5, 0, 8; shr.s32 %r7, %r6, 31; st.global.u32 [%rd1], %r7;"},

    {"a bit-field that is filled bit by bit", "",
     ".local .b8 l[1]; ld.local.u8 %r5, [l]; and.b32 %r6, %r5, 0xfe; or.b32 %r6, %r6, 1; "
     "st.local.u8 [l], %r6; ld.local.u8 %r7, [l]; and.b32 %r8, %r7, 1; setp.eq.u32 %p1, %r8, 0; "
     "@%p1 bra X; st.global.u32 [%rd1], %r0; X:"},
    {"the field that was inserted", "",
     "bfi.b32 %r6, %r0, %r5, 8, 8; bfe.u32 %r7, %r6, 8, 8; st.global.u32 [%rd1], %r7;"},
    {"bytes of the defined one", "", "prmt.b32 %r6, %r5, %r0, 0x7654; st.global.u32 [%rd1], %r6;"},
    {"shifted out", "",
     "shl.b32 %r6, %r0, 16; or.b32 %r6, %r6, %r0; shr.u32 %r7, %r5, 32; add.u32 "
     "%r6, %r6, %r7; st.global.u32 [%rd1], %r6;"},
    {"written in the lanes that use it", "",
     "setp.lt.u32 %p1, %r0, 16; @%p1 mov.u32 %r5, 1; @%p1 st.global.u32 [%rd1], %r5;"},
    {"the other half of a pair", "",
     "mov.b64 %rd6, {%r0, %r5}; mov.b64 {%r6, %r7}, %rd6; st.global.u32 [%rd1], %r6;"},
    {"the low half cut off", "",
     "mov.b64 %rd6, {%r0, %r5}; cvt.u32.u64 %r6, %rd6; st.global.u32 [%rd1], %r6;"},
    {"masked", "", "and.b32 %r6, %r5, 0; st.global.u32 [%rd1], %r6;"},
    {"false and undefined", "",
     "setp.gt.u32 %p1, %r0, 64; and.pred %p2, %p1, %p5; @%p2 bra L; st.global.u32 [%rd1], %r0; L:"},
    {"true or undefined", "",
     "setp.lt.u32 %p1, %r0, 64; or.pred %p2, %p5, %p1; @%p2 st.global.u32 [%rd1], %r0;"},
    {"not chosen", "",
     "setp.lt.u32 %p1, %r0, 64; selp.b32 %r6, %r0, %r5, %p1; st.global.u32 [%rd1], %r6;"},
    {"moved and dropped", "", "mov.u32 %r6, %r5; mov.u32 %r6, 3; st.global.u32 [%rd1], %r6;"},
    {"another lane's shuffle", "",
     "setp.eq.u32 %p1, %r0, 0; @%p1 mov.u32 %r5, 7; shfl.sync.idx.b32 %r6, %r5, 0, 31, -1; "
     "st.global.u32 [%rd1], %r6;"},
    {"padding inside an element", "",
     ".local .align 8 .b8 l[8]; st.local.u32 [l], %r0; ld.local.u64 %rd6, [l]; mov.b64 {%r6, %r7}, "
     "%rd6; st.global.u32 [%rd1], %r6;"},
    {"stored and read", "",
     ".local .b32 l[4]; st.local.u32 [l+4], %r0; ld.local.u32 %r6, [l+4]; st.global.u32 [%rd1], "
     "%r6;"},
};

class Undefined : public testing::TestWithParam<size_t> {};

TEST_P(Undefined, IsReportedWhereItMatters) {
  const Case &c = cases[GetParam()];
  SCOPED_TRACE(c.name);
  Ran ran = run(c.body);
  if (!*c.text) {
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    return;
  }
  EXPECT_TRUE(ran.has("undefined-value")) << ran.text();
  EXPECT_THAT(ran.text(), HasSubstr(c.text));
  // The finding stands for itself: nothing else is wrong.
  EXPECT_EQ(ran.result.findings.size(), 1u) << ran.text();
}
INSTANTIATE_TEST_SUITE_P(All, Undefined, testing::Range(size_t(0), std::size(cases)));

/// Copies p_in[0] to p_out[0].
std::string copyKernel() {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p_in, "
         ".param .u64 p_out)\n"
         "{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd0, [p_in]; ld.param.u64 %rd1, "
         "[p_out];\n"
         "ld.global.u32 %r0, [%rd0];\nst.global.u32 [%rd1], %r0;\n}\n";
}

LaunchResult copyOnce(Device &device, const Module &module, uint64_t from, uint64_t to) {
  uint64_t params[] = {from, to};
  LaunchConfig config;
  config.params = params;
  config.paramBytes = sizeof(params);
  return device.launch(module.kernel("k"), config);
}

TEST(UndefinedGlobalMemory, IsWhatNobodyHasWritten) {
  Device device;
  auto module = device.loadModule(copyKernel());
  uint64_t from = device.allocate(1024), to = device.allocate(1024), last = device.allocate(4);
  LaunchResult fresh = copyOnce(device, *module, from, to);
  ASSERT_EQ(fresh.findings.size(), 1u) << fresh.render();
  EXPECT_THAT(fresh.render(), HasSubstr("ld.global.u32 %r0"));
  uint32_t word = 5;
  device.copyToDevice(from + 4, &word, 4);
  EXPECT_FALSE(copyOnce(device, *module, from, to).clean());
  EXPECT_TRUE(copyOnce(device, *module, from + 4, to + 4).clean());
  // What a kernel, a copy on the device or a fill has written is defined.
  EXPECT_TRUE(copyOnce(device, *module, to + 4, last).clean());
  device.copyOnDevice(to + 512, from, 8);
  EXPECT_FALSE(copyOnce(device, *module, to + 512, last).clean());
  EXPECT_TRUE(copyOnce(device, *module, to + 516, last).clean());
  device.fill(from, 7, 4, 256);
  EXPECT_TRUE(copyOnce(device, *module, from + 1020, last).clean());
  // Memory handed out again is fresh.
  device.free(from);
  EXPECT_FALSE(copyOnce(device, *module, device.allocate(1024), last).clean());
}

TEST(UndefinedGlobalMemory, IsNotLookedForWithoutChecks) {
  Device device;
  auto module = device.loadModule(copyKernel());
  uint64_t params[] = {device.allocate(4), device.allocate(4)};
  LaunchConfig config;
  config.params = params;
  config.paramBytes = sizeof(params);
  config.options.checks = false;
  EXPECT_TRUE(device.launch(module->kernel("k"), config).clean());
}

} // namespace
