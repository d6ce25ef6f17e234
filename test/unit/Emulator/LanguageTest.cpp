// What the parser and decoder take for PTX: scopes, labels, vectors, spaces, locations, and what
// they refuse.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

TEST(Language, NestedScopesRedeclareRegistersAndLabels) {
  // Every block counts to its own bound with its own register and label of the same names.
  Ran ran =
      run("mov.u32 %r5, 0; /* several\n statements */ {\n.reg .u32 i; .reg .pred q; mov.u32 i, "
          "3;\nAGAIN: add.u32 %r5, %r5, 1;"
          " sub.u32 i, i, 1; setp.ne.u32 q, i, 0; @q bra AGAIN; }\n"
          "{ .reg .u32 i; .reg .pred q; mov.u32 i, 4; AGAIN: add.u32 %r5, %r5, 100; // comment\n"
          "{ .reg .u64 i; mov.u64 i, 7; } sub.u32 i, i, 1; setp.ne.u32 q, i, 0; @q bra AGAIN; }\n"
          "st.global.u32 [%rd1], %r5; ret;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 403u);
  EXPECT_EQ(ran.out[31], 403u);
}

TEST(Language, ModifiersAreASet) {
  std::string stores = "st.global.u32 [%rd1], %r5;";
  for (const char *form : {"st.shared::cta.v2.u32", "st.v2.shared.u32"}) {
    Ran ran =
        run("shl.b32 %r4, %r0, 3; mov.u32 %r6, buf; add.u32 %r4, %r4, %r6;" + std::string(form) +
                " [%r4], {%r0, 5};" + "ld.shared.u32 %r5, [%r4+4];" + stores,
            {.module = ".shared .align 8 .b8 buf[256];"});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(ran.out[9], 5u);
  }
}

TEST(Language, RegistersOf128And8Bits) {
  // PTX ISA 9.7.9.3: parts are packed least significant first, and unpacked in the same order.
  Ran ran = run(".reg .b128 %q<3>; .reg .b8 %b<4>; mov.b64 %rd3, 0x1111111122222222; mov.b64 %rd4, "
                "0x3333333344444444;"
                "mov.b128 %q0, {%rd3, %rd4}; mov.b128 %q1, %q0; mov.b128 {%rd5, _}, %q1;"
                "mov.b128 {%r4, %r5, %r6, %r7}, %q1; mov.b128 %q2, {%r7, %r6, %r5, %r4};"
                "mov.b128 {_, %rd6}, %q2; setp.eq.u64 %p0, %rd5, %rd3;"
                "mov.b64 {%r8, %r9}, %rd6; mov.b32 {%b0, %b1, %b2, _}, %r9; mov.b32 %r10, {%b2, "
                "%b1, %b0, %b0};"
                "sub.u32 %r10, %r10, %r8; @!%p0 mov.u32 %r10, 0; st.global.u32 [%rd1], %r10;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  // From its low end %q2 reads 33333333 44444444 11111111 22222222; %rd6 holds the upper half.
  EXPECT_EQ(ran.out[5], 0x22222222u - 0x11111111u);
  EXPECT_THAT(refusal(kernelText(".reg .b128 %q<1>; mov.b128 %q0, {%rd3, %rd4, %rd5};", {})),
              HasSubstr("a vector of 3 elements in 128 bits"));
}

TEST(Language, ParameterAddressThroughANarrowRegister) {
  // LLVM writes `mov.b32 %r, name; cvt.u64.u32; cvta.param.u64`.
  Ran ran = run("mov.b32 %r5, p_out; cvt.u64.u32 %rd5, %r5; ld.param.u64 %rd6, [%rd5]; "
                "cvta.param.u64 %rd7, %rd5; ld.u64 %rd8, [%rd7]; isspacep.param %p2, %rd7; "
                "setp.eq.and.u64 %p0, %rd6, %rd0, %p2; setp.eq.and.u64 %p1, %rd8, %rd0, %p0; "
                "selp.u32 %r6, 1, 0, %p1; st.global.u32 [%rd1], %r6;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[31], 1u);
}

TEST(Language, ParameterThroughARegisterAndNarrowLoads) {
  Ran ran = run("mov.b64 %rd5, p_out; ld.param.u64 %rd6, [%rd5]; setp.eq.u64 %p0, %rd6, %rd0; "
                "selp.u32 %r5, 1, 0, %p0;"
                "ld.param.u8 %r6, [%rd5+5]; ld.param.s8 %rs1, [%rd5+5]; cvt.s32.s16 %r7, %rs1; "
                "shl.b32 %r6, %r6, 8;"
                "or.b32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0] & 0xff, 1u);
}

TEST(Language, GlobalAndConstantInitialisers) {
  Ran ran =
      run("mov.u64 %rd3, ptrs; ld.global.u64 %rd4, [%rd3+8]; ld.global.u32 %r4, [%rd4]; "
          "ld.const.f32 %f0, [table+4];"
          "cvt.rzi.u32.f32 %r5, %f0; add.u32 %r4, %r4, %r5; st.global.u32 [%rd1], %r4;",
          {.module =
               ".global .u32 words[3] = {10, 20, 0x1e};\n.global .u64 ptrs[2] = {words, words+8};\n"
               ".const .f32 table[2] = {0f00000000, 7.0};"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 37u);
}

TEST(Language, InitialisersOfArrays) {
  // 5.4.4: braces per dimension; what is left out is zero; vectors; constant expressions.
  Ran ran =
      run("mov.u64 %rd3, a; cvt.u64.u32 %rd4, %r0; shl.b64 %rd4, %rd4, 2; add.u64 %rd3, %rd3, "
          "%rd4; setp.lt.u32 %p0, %r0, 12; @%p0 ld.global.u32 %r9, [%rd3]; @!%p0 mov.u32 %r9, 0; "
          "st.global.u32 [%rd1], %r9;",
          {.module = ".global .u32 a[2][3][2] = {{{1, 2}, {3}}, {{}, {7 * (2 + 1), ~0}, {-5}}}, "
                     "pad[8];\n"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  const uint32_t expected[] = {1, 2, 3, 0, 0, 0, 0, 0, 21, 0xffffffff, uint32_t(-5), 0};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(ran.out[i], expected[i]) << i;
}

TEST(Language, InitialisersOfOtherKinds) {
  // A row per variable: its declaration, and the 32-bit words that it must hold.
  struct Row {
    const char *text;
    std::vector<uint32_t> words;
  };
  const Row rows[] = {
      {".global .u32 v[][2] = {{10, 20}, {30}};", {10, 20, 30, 0}},
      {".global .u32 v = 1 << 4 | 3;", {19}},
      {".global .u32 v = 7 > 3 ? 100 : 200;", {100}},
      {".global .s32 v = -8 / 3;", {uint32_t(-2)}},
      {".global .s32 v = -8 % 3;", {uint32_t(-2)}},
      {".global .u32 v = (.u64)0xFFFFFFFFFFFFFFF8 >> 60;", {15}},
      {".global .u32 v = -16 >> 2;", {uint32_t(-4)}},
      {".global .u32 v = !0 + (3 != 4) + (2 == 2 && 0);", {2}},
      {".global .u32 v = 017 + 0b101 + 0x10;", {15 + 5 + 16}},
      {".global .f32 v[3] = {1.5, 0f40000000, -2.0};", {0x3fc00000, 0x40000000, 0xc0000000}},
      {".global .f32 v = 1.0 / 4;", {0x3e800000}},
      {".global .f64 v = 0dC000000000000000;", {0, 0xc0000000}},
      {".global .v4 .f32 v[2] = {{1.0, 2.0, 3.0, 4.0}};",
       {0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0, 0, 0, 0}},
      {".const .v2 .u32 v = {5, 6};", {5, 6}},
      {".global .b32 v[2] = {0f3f800000, 2.0};", {0x3f800000, 0x40000000}},
      {".global .u16 v[3] = {1, 2, 0xffff};", {0x20001}},
      {".global .b8 v[4] = {1, 2, 3, 255};", {0xff030201}},
      {".common .global .u32 v;", {0}},
      {".weak .global .u64 v = 0x123456789abcdef0;", {0x9abcdef0, 0x12345678}},
  };
  for (const Row &row : rows) {
    Device device;
    auto module = device.loadModule(".version 8.0\n.target sm_90a\n.address_size 64\n" +
                                    std::string(row.text));
    auto variable = module->variable("v");
    ASSERT_TRUE(variable) << row.text;
    std::vector<uint32_t> words(row.words.size());
    ASSERT_GE(variable->bytes, 4u);
    device.copyFromDevice(words.data(), variable->address, words.size() * 4);
    EXPECT_EQ(words, row.words) << row.text;
  }
}

TEST(Language, InitialisersWithAddresses) {
  Device device;
  auto module =
      device.loadModule(".version 8.0\n.target sm_90a\n.address_size 64\n.global .u32 w[4];\n"
                        ".const .u64 a[4] = {w, w + 8, generic(w) + 12, 5};\n"
                        ".global .u8 b[8] = {0xff(w), 0xff00(w), 0xff0000(w), 0xff000000(w), "
                        "0xff00000000(generic(w)), "
                        "0xff0000000000(w), 0xff000000000000(w), 0xff00000000000000(w)};\n"
                        ".global .u64 late = after; .global .u32 after;\n"
                        ".global .u64 code[2] = {f, f}; .func f() { ret; }\n");
  auto address = [&](const char *name) { return module->variable(name)->address; };
  auto words = [&](const char *name, size_t count) {
    std::vector<uint64_t> values(count);
    device.copyFromDevice(values.data(), address(name), 8 * count);
    return values;
  };
  const uint64_t w = address("w");
  EXPECT_EQ(words("a", 4), (std::vector<uint64_t>{w, w + 8, w + 12, 5}));
  EXPECT_EQ(words("b", 1)[0], w);
  EXPECT_EQ(words("late", 1)[0], address("after"));
  auto code = words("code", 2);
  EXPECT_NE(code[0], 0u);
  EXPECT_EQ(code[0], code[1]);
}

TEST(Language, VariablesOfTheModuleInsideAFunction) {
  // Two of one name in sibling blocks, each with its own contents, alive across launches' CTAs.
  Ran ran = run(
      "{ .global .u32 g = 5; .const .u32 c = 7; ld.global.u32 %r9, [g]; ld.const.u32 %r8, [c]; "
      "add.u32 %r9, %r9, %r8; } { .global .u32 h = 30; ld.global.u32 %r8, [h]; add.u32 %r9, %r9, "
      "%r8; } st.global.u32 [%rd1], %r9;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[1], 42u);
}

TEST(Language, VectorRegisters) {
  // 5.4.2: elements by .x .y .z .w or .r .g .b .a, and the whole as a vector operand.
  Ran ran = run(
      ".reg .v4 .u32 v; mov.u32 v.x, 1; mov.u32 v.y, 20; mov.u32 v.z, 300; mov.u32 v.w, %r0; "
      "add.u32 v.r, v.g, v.b; st.shared.v4.u32 [s], v; ld.shared.u32 %r9, [s]; add.u32 %r9, %r9, "
      "v.a; st.global.u32 [%rd1], %r9;",
      {.block = 1, .module = ".shared .align 16 .b8 s[16];"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 320u);
}

TEST(Language, FamiliesOfVectorRegistersAndElementsOfArrays) {
  // 6.4.2: x[i] is an element's address for mov, and the element for a load.
  Ran ran = run(".reg .v2 .u32 v<3>; mov.u32 v2.x, 5; mov.u32 v2.y, 60; add.u32 %r9, v2.x, v2.y; "
                "ld.global.u32 %r5, a[2]; add.u32 %r9, %r9, %r5; mov.u64 %rd3, a[1]; "
                "ld.global.u32 %r5, [%rd3]; add.u32 %r9, %r9, %r5; mov.u16 %rs1, %tid.x; "
                "cvt.u32.u16 %r5, %rs1; add.u32 %r9, %r9, %r5; st.global.u32 [%rd1], %r9;",
                {.module = ".global .u32 a[3] = {1, 7000, 800};"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[3], 65u + 800 + 7000 + 3);
}

TEST(Language, ConstantExpressionsInOperands) {
  Ran ran = run("mov.u32 %r4, (1 << 4) | 3; add.u32 %r4, %r4, 2 * 3 + 1; add.u32 %r4, %r4, -(-1); "
                "st.global.u32 [%rd1 + 4 * 2 - 8], %r4;");
  EXPECT_EQ(ran.out[3], 27u);
}

TEST(Language, DirectivesWithoutEffectAndSections) {
  EXPECT_EQ(
      refusal(
          ".version 9.4\n.target sm_90a, debug\n.address_size 64\n.pragma \"a\", \"b\";\n"
          ".file 1 \"x\", 1, 2\n.entry k() .pragma \"nounroll\"; { .pragma \"used_bytes_mask "
          "0xff\"; .loc 1 2 3\nret; }\n.func f() .abi_preserve 8 .abi_preserve_control 1 { ret; "
          "}\n.section .debug_abbrev\n{\n.b8 1\n.b8 17\n}\n.section .debug_info { L: .b32 "
          ".debug_abbrev\n.b64 L\n}\n"),
      "");
}

TEST(Language, ClusterDirectives) {
  auto launch = [](const std::string &directives, Dim3 grid, std::optional<Dim3> cluster) {
    Device device;
    auto module =
        device.loadModule(".version 8.0\n.target sm_90a\n.address_size 64\n.global .u32 n;\n"
                          ".entry k() " +
                          directives +
                          " { .reg .u32 %r<2>; mov.u32 %r1, %nctaid.x; st.global.u32 [n], "
                          "%r1; ret; }");
    LaunchConfig config;
    config.grid = grid;
    config.block = {32, 1, 1};
    config.cluster = cluster;
    try {
      // All CTAs write the same value, which is a race on purpose.
      config.options.checks = false;
      device.launch(module->kernel("k"), config);
    } catch (const DeviceError &error) {
      return std::string(error.what());
    }
    uint32_t n = 0;
    device.copyFromDevice(&n, module->variable("n")->address, 4);
    return std::to_string(n);
  };
  EXPECT_EQ(launch(".reqnctapercluster 2", {4, 1, 1}, {}), "4");
  EXPECT_THAT(launch(".reqnctapercluster 2", {4, 1, 1}, Dim3{4, 1, 1}),
              HasSubstr("the kernel requires 2x1x1"));
  EXPECT_EQ(launch(".maxclusterrank 4", {8, 1, 1}, Dim3{4, 1, 1}), "8");
  EXPECT_THAT(launch(".maxclusterrank 4", {8, 1, 1}, Dim3{8, 1, 1}),
              HasSubstr("a cluster of 8 CTAs; the kernel allows 4"));
  EXPECT_THAT(launch(".explicitcluster", {4, 1, 1}, {}),
              HasSubstr("the launch must say how many CTAs a cluster has"));
  EXPECT_EQ(launch(".explicitcluster", {4, 1, 1}, Dim3{2, 1, 1}), "4");
  // The grid counts clusters.
  EXPECT_EQ(launch(".reqntid 32 .reqnctapercluster 2 .blocksareclusters", {3, 1, 1}, {}), "6");
}

TEST(Language, DynamicSharedMemoryIsAlignedTo1024BehindStaticMemory) {
  Ran ran =
      run("mov.u32 %r4, fixed; mov.u32 %r5, dyn; shl.b32 %r5, %r5, 12; or.b32 %r4, %r4, %r5; "
          "st.global.u32 [%rd1], %r4;",
          {.dynamicShared = 64,
           .module = ".shared .align 16 .b8 fixed[20]; .extern .shared .align 16 .b8 dyn[];"});
  // The first KiB is the system's, static memory follows.
  EXPECT_EQ(ran.out[0] & 0xfff, 0x400u);
  EXPECT_EQ(ran.out[0] >> 12, 0x800u);
}

TEST(Language, DynamicSharedMemoryByNameInAnAddress) {
  Ran ran = run("mov.u32 %r5, dyn; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [dyn+8], 77; "
                "bar.sync 0; ld.shared.u32 %r6, [%r5+8]; ld.shared.u32 %r7, [dyn+8]; "
                "add.u32 %r6, %r6, %r7; st.global.u32 [%rd1], %r6;",
                {.dynamicShared = 64, .module = ".extern .shared .align 16 .b8 dyn[];"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[9], 154u);
}

TEST(Language, DirectivesWithoutABlankBetween) {
  // As cuda_fp16.h writes its inline assembly.
  Ran ran = run("{.reg.b16 hl, hu; .reg.b32 sum; mov.b32 {hl, hu}, 0x70003; cvt.u32.u16 sum, hu; "
                "mov.u32 %r6, sum;} mov.u32 %r7, %envreg2; add.u32 %r6, %r6, %r7; "
                "st.global.u32 [%rd1], %r6;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[0], 7u);
}

TEST(Language, LocationsAndCallChains) {
  std::string body =
      ".loc 1 12 5\nmov.u32 %r4, 1;\n.loc 1 30 7, function_name $L__info0, inlined_at 1 12 5\n"
      "ld.global.u32 %r5, [%rd0+4096];\n.loc 1 13 1\nret;";
  KernelSetup setup;
  setup.module = ".file 1 \"kernel.py\"";
  Ran plain = run(body, setup);
  EXPECT_THAT(plain.text(), HasSubstr("at kernel.py:30\n    called from kernel.py:12"));
  setup.resolver = [](std::string_view file, unsigned line, unsigned column) {
    return std::string(file) + "!" + std::to_string(line) + "!" + std::to_string(column);
  };
  EXPECT_THAT(run(body, setup).text(), HasSubstr("at kernel.py!30!7"));
}

TEST(Language, RefusesWhatIsNotModelled) {
  auto load = [](const std::string &body) { return refusal(kernelText(body, {})); };
  EXPECT_EQ(load("\nadd.u8x4 %r1, %r2, %r3;"),
            "test.ptx:10: instruction 'add.u8x4' is not modelled: add.u8x4 %r1, %r2, %r3");
  EXPECT_THAT(load("add.s32.wrap %r1, %r2, %r3;"),
              HasSubstr("instruction 'add.s32.wrap' is not modelled"));
  EXPECT_THAT(load("call.uni f;"), HasSubstr("no device function 'f' is declared"));
  EXPECT_THAT(load("bra NOWHERE;"), HasSubstr("no label 'NOWHERE' in scope"));
  EXPECT_THAT(load("mov.u32 %r1, %undeclared;"),
              HasSubstr("special register '%undeclared' is not modelled"));
  EXPECT_THAT(load("add.u32 %r1, %rd2, %r3;"),
              HasSubstr("a register of 64 bits where 32 are needed"));
  EXPECT_THAT(load("mov.u32 %r1, %r2 %r3;"), HasSubstr("expected ',' or ';', found '%r3'"));
  EXPECT_THAT(load("{ .reg .u32 x; } mov.u32 %r1, x;"), HasSubstr("'x'"));
  EXPECT_THAT(load("setmaxnreg.inc.sync.aligned.u32 100;"),
              HasSubstr("must be a multiple of 8 from 24 to 256"));
  // Every problem is listed, with its line.
  std::string both = load("foo.u32 %r1;\nbar.foo;");
  EXPECT_THAT(both, HasSubstr("test.ptx:9: instruction 'foo.u32'"));
  EXPECT_THAT(both, HasSubstr("test.ptx:10: instruction 'bar.foo'"));
  EXPECT_THAT(refusal(".version 8.0\n.target sm_90a\n.address_size 64\n.extern .global .u32 x;"),
              HasSubstr("test.ptx:4: external variable 'x'"));
  EXPECT_THAT(refusal(".version 8.0\n.target sm_100a\n"),
              HasSubstr("target sm_100a is not modelled"));
}

TEST(Language, AttributesOfAKernel) {
  Device device;
  auto module = device.loadModule(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
                                  "f(.param .u8 a, .param .align 64 .b8 m[128],"
                                  " .param .u64 p)\n.reqntid 64, 2, 1\n.maxnreg 40\n{ .shared "
                                  ".align 4 .b8 s[12]; .local .b8 d[8]; ret; }");
  const FunctionAttributes &a = module->kernel("f").attributes();
  ASSERT_EQ(a.params.size(), 3u);
  EXPECT_EQ(a.params[1].offset, 64u);
  EXPECT_EQ(a.params[1].size, 128u);
  EXPECT_EQ(a.params[2].offset, 192u);
  EXPECT_EQ(a.paramBytes, 200u);
  EXPECT_EQ(a.maxThreadsPerBlock, 128u);
  EXPECT_EQ(a.sharedBytes, 12u);
  EXPECT_EQ(a.localBytes, 8u);
  EXPECT_EQ(a.maxRegisters, 40u);
  try {
    module->kernel("g");
    FAIL();
  } catch (const DeviceError &error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.what(), HasSubstr("no kernel 'g'; it has: f"));
  }
}

} // namespace
