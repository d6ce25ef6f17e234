// What the system provides for device code: printf, assertions and the heap.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

const std::string kDeclarations =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 u, "
    ".param .b64 s) .noreturn;\n";

/// A zero-terminated text as a variable.
std::string text(const std::string &name, const std::string &value) {
  std::string bytes;
  for (char c : value)
    bytes += std::to_string(static_cast<int>(static_cast<unsigned char>(c))) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(value.size() + 1) + "] = {" + bytes +
         "0};\n";
}

/// Calls vprintf with the format and what `fill` has stored in the 64 bytes of `buffer`.
std::string print(const std::string &fill) {
  return ".local .align 8 .b8 buffer[64]; " + fill +
         " { .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %rd8, format; cvta.global.u64 "
         "%rd8, %rd8; st.param.b64 [f], %rd8; mov.u64 %rd9, buffer; cvta.local.u64 %rd9, %rd9; "
         "st.param.b64 [a], %rd9; call.uni (r), vprintf, (f, a); ld.param.b32 %r9, [r]; } "
         "st.global.u32 [%rd1], %r9;";
}

Ran printed(const std::string &format, const std::string &fill, KernelSetup setup = {}) {
  setup.module = kDeclarations + text("format", format) + setup.module;
  return run(print(fill), setup);
}

TEST(System, PrintfFormatsAsC) {
  // The device's buffer holds what C's variable arguments would: ints, 8-byte values, doubles.
  KernelSetup one;
  one.block = 1;
  Ran ran = printed("%d|%5u|%-6x|%08X|%lld|%lu|%c|%%|%#x|%+d|%ld\n",
                    "st.local.s32 [buffer], -42; st.local.u32 [buffer+4], 7; st.local.u32 "
                    "[buffer+8], 255; st.local.u32 [buffer+12], 48879; st.local.u64 [buffer+16], "
                    "-5000000000; st.local.u64 [buffer+24], 18446744073709551615; st.local.u32 "
                    "[buffer+32], 65; st.local.u32 [buffer+36], 16; st.local.u32 [buffer+40], 3; "
                    "st.local.u64 [buffer+48], -1;",
                    one);
  char expected[256];
  std::snprintf(expected, sizeof(expected), "%d|%5u|%-6x|%08X|%lld|%lu|%c|%%|%#x|%+d|%ld\n", -42,
                7u, 255u, 48879u, -5000000000LL, 18446744073709551615UL, 'A', 16u, 3, -1L);
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.result.printed, expected);
  EXPECT_EQ(ran.out[0], 10u); // arguments

  ran = printed("%f %10.3e %g %a %.0f %*d %.*f %5.1f%%",
                "st.local.f64 [buffer], 0d400921FB54442D18; st.local.f64 [buffer+8], "
                "0dC0F86A0000000000; st.local.f64 [buffer+16], 0d3F50624DD2F1A9FC; st.local.f64 "
                "[buffer+24], 0d3FF8000000000000; st.local.f64 [buffer+32], 0d4004000000000000; "
                "st.local.u32 [buffer+40], 6; st.local.u32 [buffer+44], 12; st.local.u32 "
                "[buffer+48], 2; st.local.f64 [buffer+56], 0d3FC5555555555555;",
                one);
  std::snprintf(expected, sizeof(expected), "%f %10.3e %g %a %.0f %*d %.*f ", 3.14159265358979312,
                -100000.0, 0.001, 1.5, 2.5, 6, 12, 2, 1.0 / 6);
  EXPECT_THAT(ran.result.printed, HasSubstr(expected));
}

TEST(System, PrintfOfStringsAndPointers) {
  KernelSetup one;
  one.block = 1;
  one.module = text("name", "gemm");
  Ran ran = printed("<%s> <%8s> <%-7.2s> %p %s",
                    "mov.u64 %rd3, name; st.local.u64 [buffer], %rd3; st.local.u64 [buffer+8], "
                    "%rd3; st.local.u64 [buffer+16], %rd3; st.local.u64 [buffer+24], 0x1234abcd; "
                    "st.local.u64 [buffer+32], 0;",
                    one);
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.result.printed, "<gemm> <    gemm> <ge     > 0x1234abcd (null)");
  // What is no conversion stands for itself.
  ran = printed("100%! %q %", "", one);
  EXPECT_EQ(ran.result.printed, "100%! %q %");
}

TEST(System, PrintfComesInAnOrderThatTheSeedDoesNotChange) {
  std::string expected;
  for (int cta = 0; cta < 6; ++cta)
    for (int lane = 0; lane < 2; ++lane)
      expected += std::to_string(cta) + "." + std::to_string(lane) + "\n";
  for (uint64_t seed : {1, 2, 3}) {
    KernelSetup setup;
    setup.grid = 6;
    setup.block = 2;
    setup.seed = seed;
    setup.threads = 2;
    Ran ran =
        printed("%d.%d\n", "st.local.u32 [buffer], %r39; st.local.u32 [buffer+4], %r0;", setup);
    EXPECT_EQ(ran.result.printed, expected);
  }
}

TEST(System, PrintfIsBounded) {
  KernelSetup setup;
  setup.grid = 40;
  Ran ran = printed("%1000d", "st.local.u32 [buffer], 1;", setup);
  const uint64_t total = 40 * 32 * 1000, kept = 1 << 20;
  EXPECT_THAT(ran.result.printed,
              HasSubstr("(" + std::to_string(total - kept) + " more bytes were printed)"));
}

TEST(System, PrintfWithABadFormatPointer) {
  Ran ran = run(
      "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], 64; st.param.b64 [a], 0; "
      "call (r), vprintf, (f, a); }",
      {.module = kDeclarations});
  EXPECT_TRUE(ran.has("global-out-of-bounds")) << ran.text();
}

TEST(System, FailedAssertion) {
  Ran ran =
      run("setp.eq.u32 %p0, %r0, 5; @!%p0 bra GOOD; mov.u64 %rd3, m; mov.u64 %rd4, f; mov.u64 "
          "%rd5, u; { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 "
          "e; st.param.b64 [a], %rd3; st.param.b64 [b], %rd4; st.param.b32 [c], 17; "
          "st.param.b64 [d], %rd5; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, "
          "e); } GOOD: ret;",
          {.module = kDeclarations + text("m", "i < n") + text("f", "gemm.cu") +
                     text("u", "void gemm()")});
  ASSERT_TRUE(ran.has("assertion")) << ran.text();
  EXPECT_THAT(ran.text(), HasSubstr("gemm.cu:17: void gemm(): assertion 'i < n' failed"));
  EXPECT_THAT(ran.text(), HasSubstr("lane 5"));
  EXPECT_EQ(ran.result.outcome, Outcome::Faulted);
}

/// Every lane: p = malloc(16).
const char *kMalloc =
    "{ .param .b64 n; .param .b64 p; st.param.b64 [n], %rd6; call (p), malloc, (n); "
    "ld.param.b64 %rd5, [p]; }";
const char *kFree = "{ .param .b64 p; st.param.b64 [p], %rd5; call free, (p); }";

TEST(System, HeapBlocksAreDistinct) {
  // Every lane writes its own block and reads it after a barrier.
  Ran ran = run(std::string("mov.u64 %rd6, 16;") + kMalloc +
                    "st.u32 [%rd5+12], %r38; bar.sync 0; ld.u32 %r9, [%rd5+12]; st.global.u32 "
                    "[%rd1], %r9;" +
                    kFree,
                {.grid = 3, .block = 64, .threads = 2, .module = kDeclarations});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 192; ++i)
    EXPECT_EQ(ran.out[i], i);
}

TEST(System, HeapMistakes) {
  const std::string allocate = std::string("mov.u64 %rd6, 16;") + kMalloc;
  KernelSetup one{.block = 1, .module = kDeclarations};
  EXPECT_TRUE(run(allocate + "st.u32 [%rd5+16], 1;", one).has("global-out-of-bounds"));
  EXPECT_TRUE(run(allocate + kFree + "st.u32 [%rd5], 1;", one).has("use-after-free"));
  Ran twice = run(allocate + kFree + kFree, one);
  EXPECT_TRUE(twice.has("heap"));
  EXPECT_THAT(twice.text(), HasSubstr("which malloc did not return or which was freed"));
  // The heap has 8 MiB: malloc says no with a null pointer, and free takes one.
  Ran full = run(std::string("mov.u64 %rd6, 8388609;") + kMalloc + kFree +
                     "cvt.u32.u64 %r9, %rd5; st.global.u32 [%rd1], %r9;",
                 one);
  EXPECT_TRUE(full.result.clean()) << full.text();
  EXPECT_EQ(full.out[0], 0u);
  Ran fits = run(std::string("mov.u64 %rd6, 8388608;") + kMalloc + kFree + kMalloc + kFree, one);
  EXPECT_TRUE(fits.result.clean()) << fits.text();
}

TEST(System, DeclarationsThatDoNotFit) {
  EXPECT_THAT(refusal(kernelText("call vprintf, (%rd1);",
                                 {.module = ".extern .func vprintf(.param .b64 f);"})),
              HasSubstr("the declaration of 'vprintf' is not that of the system's function"));
  // A function of that name with a body is the program's own.
  Ran ran = run("call (%r9), malloc, (%r0); st.global.u32 [%rd1], %r9;",
                {.module = ".func (.reg .b32 r) malloc(.reg .b32 n) { add.u32 r, n, 5; ret; }"});
  EXPECT_EQ(ran.out[2], 7u);
}

} // namespace
