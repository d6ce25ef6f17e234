// Device functions: parameters in memory and in registers, direct and indirect calls, divergence
// and recursion, the stack, and branches through tables (PTX ISA 9.0, chapter 7, 9.7.12, 9.7.18).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

const char *kStore = " st.global.u32 [%rd1], %r9;";

Ran runWith(const std::string &module, const std::string &body) {
  return run(body + kStore, {.module = module});
}

/// f(a, b) = a * 10 + b, parameters in .param space.
const std::string kLinear =
    ".func (.param .b32 ret) linear(.param .b32 a, .param .b32 b)\n{ .reg .b32 %r<3>; "
    "ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; mad.lo.u32 %r2, %r0, 10, %r1; "
    "st.param.b32 [ret], %r2; ret; }\n";

TEST(Call, ParametersInParamSpace) {
  Ran ran = runWith(kLinear, "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], "
                             "%r0; st.param.b32 [b], 7; call.uni (r), linear, (a, b); "
                             "ld.param.b32 %r9, [r]; }");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], 10 * i + 7);
}

TEST(Call, RegisterParameters) {
  Ran ran = runWith(".func (.reg .b32 r) sum(.reg .b32 a, .reg .b64 b) { .reg .b32 %r<2>; "
                    "cvt.u32.u64 %r1, b; add.u32 r, a, %r1; ret; }",
                    "mov.u64 %rd5, 1000; call (%r9), sum, (%r0, %rd5); call (%r9), sum, (%r9, 5);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[31], 1036u);
  // 7.1: registers where the callee has .param space.
  ran = runWith(kLinear, "call (%r9), linear, (%r0, 3);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[4], 43u);
}

TEST(Call, StructuresByValueAndTheirAddress) {
  // The callee writes its copy through the address (7.1: it lies in local memory); the caller's
  // stays what it was.
  Ran ran = runWith(
      ".func (.param .align 8 .b8 out[16]) swap(.param .align 8 .b8 s[16]) { .reg .b64 %rd<5>; "
      ".reg .b32 %r<3>; mov.b64 %rd0, s; ld.local.b64 %rd1, [%rd0]; ld.param.b64 %rd2, [s+8]; "
      "st.local.b64 [%rd0+8], %rd1; ld.param.b64 %rd3, [%rd0+8]; st.param.b64 [out], %rd2; "
      "st.param.b64 [out+8], %rd3; ret; }",
      "{ .param .align 8 .b8 s[16]; .param .align 8 .b8 o[16]; cvt.u64.u32 %rd3, %r0; "
      "st.param.b64 [s], %rd3; st.param.v2.b32 [s+8], {100, 0}; call (o), swap, (s); "
      "ld.param.b32 %r4, [o]; ld.param.b32 %r5, [o+8]; ld.param.b32 %r6, [s+8]; "
      "mad.lo.u32 %r9, %r4, 1000, %r5; mad.lo.u32 %r9, %r6, 1000000, %r9; }");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[7], 100u * 1000000 + 100 * 1000 + 7);
}

TEST(Call, ArrayOfAnySize) {
  // Sums n words of an array whose size the call decides.
  Ran ran = runWith(
      ".func (.param .b32 ret) sum(.param .b32 n, .param .align 4 .b8 v[]) { .reg .b32 %r<5>; "
      ".reg .b64 %rd<3>; .reg .pred %p; ld.param.b32 %r0, [n]; ld.param.b32 %r1, [v]; "
      "mov.b64 %rd0, v; LOOP: sub.u32 %r0, %r0, 1; setp.eq.u32 %p, %r0, 0; @%p bra DONE; "
      "add.u64 %rd0, %rd0, 4; ld.param.b32 %r2, [%rd0]; add.u32 %r1, %r1, %r2; bra LOOP; "
      "DONE: st.param.b32 [ret], %r1; ret; }",
      "{ .param .b32 n; .param .align 4 .b8 v[12]; .param .b32 r; st.param.b32 [n], 3; "
      "st.param.b32 [v], %r0; st.param.b32 [v+4], 20; st.param.b32 [v+8], 300; "
      "call (r), sum, (n, v); ld.param.b32 %r9, [r]; }");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[5], 325u);
}

TEST(Call, GuardedCallsAndEarlyReturns) {
  // Odd lanes call; in the function lanes under 16 return early. All meet again behind the call:
  // the vote sees all 32.
  Ran ran = runWith(
      ".func (.reg .b32 r) f(.reg .b32 a) { .reg .pred %p; setp.lt.u32 %p, a, 16; mov.u32 r, 1; "
      "@%p ret; mov.u32 r, 2; ret; }",
      "mov.u32 %r9, 0; and.b32 %r5, %r0, 1; setp.eq.u32 %p0, %r5, 1; @%p0 call (%r9), f, (%r0); "
      "activemask.b32 %r6; setp.eq.u32 %p1, %r6, -1; @!%p1 add.u32 %r9, %r9, 100;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i % 2 == 0 ? 0u : i < 16 ? 1u : 2u);
}

TEST(Call, LanesMeetInAFunctionThatBothArmsCall) {
  // The member mask names all lanes; the two halves are inside the same function, called from two
  // places.
  Ran ran = runWith(
      ".func (.reg .b32 r) f(.reg .b32 a) { .reg .b32 x; bar.warp.sync 0xffffffff; "
      "shfl.sync.bfly.b32 x, a, 16, 31, 0xffffffff; mov.u32 r, x; ret; }",
      "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; call (%r9), f, (%r0); add.u32 %r9, %r9, 1000; bra B; "
      "A: call (%r9), f, (%r0); B:");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], (i ^ 16) + (i < 16 ? 0 : 1000));
  // Nothing but a deadlock where one arm does not call.
  ran = runWith(".func f() { bar.warp.sync 0xffffffff; ret; }",
                "mov.u32 %r9, 0; setp.lt.u32 %p0, %r0, 16; @%p0 bra A; call f; bra B; A: "
                "bar.warp.sync 0xffff; B: bar.warp.sync 0xffffffff;");
  EXPECT_FALSE(ran.result.clean());
}

const std::string kThree =
    ".func (.reg .b32 r) f0(.reg .b32 a) { add.u32 r, a, 100; ret; }\n"
    ".func (.reg .b32 r) f1(.reg .b32 a) { add.u32 r, a, 200; ret; }\n"
    ".func (.reg .b32 r) f2(.reg .b32 a) { add.u32 r, a, 300; ret; }\n"
    ".global .u64 table[3] = {f0, f1, f2};\n.const .u64 ctable[2] = {f2, f1};\n";

TEST(Call, DivergentIndirectCallsMeetAgain) {
  // Lanes i call table[i mod 3]; behind the call all lanes are together.
  const std::string address = "rem.u32 %r5, %r0, 3; mul.wide.u32 %rd3, %r5, 8; mov.u64 %rd4, "
                              "table; add.u64 %rd3, %rd3, %rd4; ld.global.u64 %rd5, [%rd3];";
  for (const char *list :
       {"P: .callprototype (.reg .b32 _) _ (.reg .b32 _);", "P: .calltargets f0, f1, f2;"}) {
    Ran ran = runWith(kThree, std::string(list) + address +
                                  "call (%r9), %rd5, (%r0), P; activemask.b32 %r6; setp.eq.u32 "
                                  "%p1, %r6, -1; @!%p1 add.u32 %r9, %r9, 1000;");
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(ran.out[i], 100 * (i % 3 + 1) + i) << list;
  }
  // A call table is a list of targets; function pointers also come from mov and .const.
  Ran ran = runWith(kThree, address + "call (%r9), %rd5, (%r0), table; ld.const.u64 %rd6, "
                                      "[ctable]; call (%r9), %rd6, (%r9), table; mov.u64 %rd7, f1; "
                                      "call (%r9), %rd7, (%r9), table;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[4], 4u + 200 + 300 + 200);
}

TEST(Call, TargetsThatCannotBeCalled) {
  const std::string prototype = "P: .callprototype (.reg .b32 _) _ (.reg .b32 _);";
  Ran ran = runWith(kThree, prototype + "mov.u64 %rd5, 64; call (%r9), %rd5, (%r0), P;");
  EXPECT_TRUE(ran.has("call-target"));
  EXPECT_THAT(ran.text(), HasSubstr("0x40, is no function of this module"));
  ran = runWith(kThree + ".func g() { ret; }",
                prototype + "mov.u64 %rd5, g; call (%r9), %rd5, (%r0), P;");
  EXPECT_THAT(ran.text(), HasSubstr("'g', takes or returns values of other sizes"));
  ran = runWith(kThree, "T: .calltargets f0, f1; mov.u64 %rd5, f2; call (%r9), %rd5, (%r0), T;");
  EXPECT_THAT(ran.text(), HasSubstr("'f2', is not among the call's targets"));
  ran = runWith(kThree, "T: .calltargets f0, f1; mov.u64 %rd5, f1; call (%r9), %rd5, (%r0), T;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
}

/// Counts down through itself and adds up on the way back: n + (n-1) + ... + 1. The local variable
/// must survive the inner call.
const std::string kTriangle =
    ".func (.param .b32 ret) tri(.param .b32 n) { .reg .b32 %r<5>; .reg .pred %p; .reg .b64 "
    "%rd<3>; "
    ".local .align 4 .b32 keep; ld.param.b32 %r0, [n]; setp.eq.u32 %p, %r0, 0; @%p bra ZERO; "
    "st.local.b32 [keep], %r0; sub.u32 %r1, %r0, 1; { .param .b32 a; .param .b32 b; "
    "st.param.b32 [a], %r1; call (b), tri, (a); ld.param.b32 %r2, [b]; } mov.b64 %rd0, keep; "
    "ld.local.b32 %r3, [%rd0]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r0; "
    "sub.u32 %r2, %r2, %r3; st.param.b32 [ret], %r2; ret; ZERO: st.param.b32 [ret], 0; ret; }\n";

TEST(Call, Recursion) {
  // Every lane recurses to its own depth.
  Ran ran = runWith(kTriangle, "call (%r9), tri, (%r0);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i * (i + 1) / 2);
}

TEST(Call, PointersToFramesOfRecursiveCallers) {
  // Each level adds its depth to the variable of the outermost one, through a pointer.
  Ran ran = runWith(
      ".func deep(.param .b32 n, .param .b64 p) { .reg .b32 %r<5>; .reg .pred %q; .reg .b64 "
      "%rd<3>; "
      ".local .b32 mine; ld.param.b32 %r0, [n]; ld.param.b64 %rd0, [p]; setp.eq.u32 %q, %r0, 0; "
      "@%q ret; mov.b64 %rd1, mine; cvta.local.u64 %rd1, %rd1; st.local.b32 [mine], 0; "
      "ld.u32 %r1, [%rd0]; add.u32 %r1, %r1, %r0; st.u32 [%rd0], %r1; sub.u32 %r2, %r0, 1; "
      "{ .param .b32 a; .param .b64 b; st.param.b32 [a], %r2; st.param.b64 [b], %rd1; "
      "call deep, (a, b); } ld.u32 %r3, [%rd1]; ld.u32 %r4, [%rd0]; add.u32 %r4, %r4, %r3; "
      "st.u32 [%rd0], %r4; ret; }",
      ".local .b32 sum; st.local.b32 [sum], 0; mov.b64 %rd3, sum; cvta.local.u64 %rd3, %rd3; "
      "call deep, (%r0, %rd3); ld.local.b32 %r9, [sum];");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i * (i + 1) / 2);
}

TEST(Call, MutualRecursion) {
  const std::string pair =
      ".func (.reg .b32 r) odd(.reg .b32 n);\n"
      ".func (.reg .b32 r) even(.reg .b32 n) { .reg .pred %p; .reg .b32 m; setp.eq.u32 %p, n, 0; "
      "mov.u32 r, 1; @%p ret; sub.u32 m, n, 1; call (r), odd, (m); ret; }\n"
      ".func (.reg .b32 r) odd(.reg .b32 n) { .reg .pred %p; .reg .b32 m; setp.eq.u32 %p, n, 0; "
      "mov.u32 r, 0; @%p ret; sub.u32 m, n, 1; call (r), even, (m); ret; }\n";
  Ran ran = runWith(pair, "call (%r9), even, (%r0);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i % 2 == 0);
}

TEST(Call, RecursionWithoutEndIsAFinding) {
  Ran ran =
      runWith(".func f(.param .b32 n) { .param .b32 a; st.param.b32 [a], 1; call f, (a); ret; }",
              "call f, (%r0); mov.u32 %r9, 0;");
  EXPECT_TRUE(ran.has("stack"));
  EXPECT_THAT(ran.text(), HasSubstr("local memory has 524288"));
}

TEST(Call, ExitAndTrapInside) {
  // Even lanes end inside the function; the others come back.
  Ran ran = run("and.b32 %r5, %r0, 1; call f, (%r5); mov.u32 %r9, 5;" + std::string(kStore),
                {.module = ".func f(.reg .b32 a) { .reg .pred %p; setp.eq.u32 %p, a, 0; @%p exit; "
                           "ret; }"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], i % 2 ? 5u : 0u);
  ran = run("call f; ret;", {.module = ".func f() .noreturn { trap; }"});
  EXPECT_TRUE(ran.has("trap"));
}

TEST(Call, RegistersOfAFunctionStartUndefined) {
  // The first call writes %r0 of the function; the second must not see it.
  Ran ran = runWith(
      ".func (.reg .b32 r) f(.reg .pred q) { .reg .b32 %r<2>; @q mov.u32 %r0, 7; mov.u32 r, %r0; "
      "ret; }",
      "setp.eq.u32 %p0, %r0, %r0; call (%r9), f, (%p0); not.pred %p0, %p0; call (%r9), f, (%p0);");
  EXPECT_TRUE(ran.has("undefined-value")) << ran.text();
  ran = runWith(
      ".func (.reg .b32 r) f(.reg .pred q) { .reg .b32 %r<2>; @q mov.u32 %r0, 7; mov.u32 r, %r0; "
      "ret; }",
      "setp.eq.u32 %p0, %r0, %r0; call (%r9), f, (%p0); call (%r9), f, (%p0);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
}

TEST(Call, SharedVariablesAreTheSameInAllFunctions) {
  Ran ran = runWith(".shared .align 8 .b32 word; .shared .b32 other;"
                    ".func put(.reg .b32 v) { .shared .b32 own; st.shared.b32 [own], 0; "
                    "st.shared.b32 [word], v; ret; }",
                    "setp.eq.u32 %p0, %r0, 3; @%p0 st.shared.b32 [other], 1; @%p0 call put, (%r0); "
                    "bar.sync 0; ld.shared.b32 %r9, [word];");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[20], 3u);
}

TEST(Call, Aliases) {
  Ran ran = runWith(".visible .func (.reg .b32 r) f(.reg .b32 a) { add.u32 r, a, 1; ret; }\n"
                    ".visible .func (.reg .b32 r) g(.reg .b32 a);\n.alias g, f;",
                    "call (%r9), g, (%r0);");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[3], 4u);
}

TEST(Call, StackInstructions) {
  // Two blocks per lane, of a size that differs from lane to lane, do not overlap; restoring the
  // stack gives the second place again.
  Ran ran = runWith(
      "",
      "add.u32 %r4, %r0, 1; mul.wide.u32 %rd3, %r4, 4; alloca.u64 %rd4, %rd3, 16; "
      "stacksave.u64 %rd8; alloca.u64 %rd5, 8; st.local.b32 [%rd4], 1; st.local.b32 [%rd5], 2; "
      "stackrestore.u64 %rd8; alloca.u64 %rd6, 8; sub.u64 %rd7, %rd6, %rd5; and.b64 %rd9, %rd4, "
      "15; add.u64 %rd7, %rd7, %rd9; cvt.u32.u64 %r9, %rd7; ld.local.b32 %r5, [%rd4]; "
      "add.u32 %r9, %r9, %r5;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 1u);
  EXPECT_EQ(ran.out[31], 1u);
  // A return takes back what the function allocated: no growth over a million bytes.
  ran = runWith(
      ".func f() { .reg .b64 %rd<2>; alloca.u64 %rd0, 65536; st.local.b8 [%rd0], 1; ret; }",
      "mov.u32 %r9, 0; L: call f; add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 20; @%p0 bra L;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  ran = runWith("", "alloca.u64 %rd3, 600000; mov.u32 %r9, 0;");
  EXPECT_TRUE(ran.has("stack"));
  ran = runWith("", "mov.u64 %rd3, 4096; stackrestore.u64 %rd3; mov.u32 %r9, 0;");
  EXPECT_TRUE(ran.has("stack"));
}

TEST(Call, BranchesThroughTables) {
  const std::string body =
      "T: .branchtargets A, B, C, A; and.b32 %r5, %r0, 3; brx.idx %r5, T; A: mov.u32 %r9, 10; bra "
      "END; B: mov.u32 %r9, 20; bra END; C: mov.u32 %r9, 30; END: activemask.b32 %r6; "
      "setp.eq.u32 %p1, %r6, -1; @!%p1 add.u32 %r9, %r9, 1000;";
  Ran ran = runWith("", body);
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  const uint32_t expected[] = {10, 20, 30, 10};
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(ran.out[i], expected[i % 4]);
  ran = runWith("", "T: .branchtargets L<2>; mov.u32 %r9, 0; setp.ne.u32 %p0, %r0, 0; @%p0 brx.idx "
                    "1, T; L0: add.u32 %r9, %r9, 1; L1: add.u32 %r9, %r9, 10;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 11u);
  EXPECT_EQ(ran.out[9], 10u);
  ran = runWith("", "T: .branchtargets A; mov.u32 %r9, 0; brx.idx %r0, T; A:");
  EXPECT_TRUE(ran.has("branch-index"));
  EXPECT_THAT(ran.text(), HasSubstr("index 1 into a table of 1 labels"));
}

TEST(Call, RefusedCalls) {
  auto load = [](const std::string &module, const std::string &body) {
    return refusal(kernelText(body, {.module = module}));
  };
  EXPECT_THAT(load("", "call nothing;"), HasSubstr("no device function 'nothing' is declared"));
  EXPECT_THAT(load("", "call k;"), HasSubstr("a call of kernel 'k'"));
  EXPECT_THAT(load("", "mov.u64 %rd3, k;"), HasSubstr("the address of a kernel ('k')"));
  EXPECT_THAT(
      load(".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 a);",
           "{ .param .b64 r; call (r), cudaCGGetIntrinsicHandle, (1); }"),
      HasSubstr("function 'cudaCGGetIntrinsicHandle' has no body here: linking is not "
                "modelled, and the system provides vprintf, malloc, free and __assertfail"));
  EXPECT_THAT(load(kLinear, "call (%r9), linear, (%r0);"),
              HasSubstr("'linear' has 2 arguments, the call passes 1"));
  EXPECT_THAT(load(kLinear, "{ .param .b64 a; call (%r9), linear, (a, 1); }"),
              HasSubstr("argument 1 of 'linear' has 4 bytes, the call passes 8"));
  EXPECT_THAT(load(".func f(.param .b8 a[16]) { ret; }", "call f, (%r0);"),
              HasSubstr("argument 1 of 'f' has 16 bytes and must be a .param variable"));
  EXPECT_THAT(load(kLinear, "call linear, (%r0, 1);"),
              HasSubstr("'linear' has 1 results, the call passes 0"));
  EXPECT_THAT(load(".func f(.param .b64 a) { ret; }", "call f, (p_out);"),
              HasSubstr("a kernel's parameter as an argument; load it first"));
  EXPECT_THAT(load(kThree, "mov.u64 %rd3, f0; call (%r9), %rd3, (%r0);"),
              HasSubstr("an indirect call needs a prototype or a list of its targets"));
  EXPECT_THAT(load("", "brx.idx %r0, T;"), HasSubstr("needs the label of a .branchtargets"));
  EXPECT_THAT(load(".func f() { ret; } .func f() { ret; }", ""), HasSubstr("'f' is defined twice"));
  EXPECT_THAT(load(".alias g, h;", ""), HasSubstr("'.alias' needs a defined device function"));
}

} // namespace
