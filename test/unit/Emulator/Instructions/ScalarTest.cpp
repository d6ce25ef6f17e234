// One instruction a row: its inputs, and a result worked out from the PTX ISA's text. Every form
// that there is runs on many values in test/emulator/test_values.py; these are the readable ones.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

#include <bit>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// %r1, %r2, %r3 (also %f1..%f3) hold a, b, c; the result is %r9.
struct Row {
  const char *text;
  uint32_t a, b, c, result;
};
constexpr uint32_t f(float v) { return std::bit_cast<uint32_t>(v); }

const Row rows[] = {
    {"add.s32 %r9, %r1, %r2;", 0x7fffffff, 1, 0, 0x80000000},
    {"add.sat.s32 %r9, %r1, %r2;", 0x7fffffff, 1, 0, 0x7fffffff},
    {"sub.sat.s32 %r9, %r1, %r2;", 0x80000000, 1, 0, 0x80000000},
    {"mul.hi.s32 %r9, %r1, %r2;", 0xffffffff, 2, 0, 0xffffffff},
    {"mul.hi.u32 %r9, %r1, %r2;", 0xffffffff, 2, 0, 1},
    {"mad.lo.s32 %r9, %r1, %r2, %r3;", 7, 6, 5, 47},
    {"mad.hi.u32 %r9, %r1, %r2, %r3;", 0x80000000, 4, 5, 7},
    {"div.s32 %r9, %r1, %r2;", uint32_t(-7), 2, 0, uint32_t(-3)},
    {"rem.s32 %r9, %r1, %r2;", uint32_t(-7), 2, 0, uint32_t(-1)},
    {"div.u32 %r9, %r1, %r2;", uint32_t(-7), 2, 0, 0x7ffffffc},
    {"min.s32 %r9, %r1, %r2;", uint32_t(-7), 2, 0, uint32_t(-7)},
    {"min.u32 %r9, %r1, %r2;", uint32_t(-7), 2, 0, 2},
    {"abs.s32 %r9, %r1;", uint32_t(-7), 0, 0, 7},
    {"sad.s32 %r9, %r1, %r2, %r3;", uint32_t(-7), 2, 100, 109},
    {"popc.b32 %r9, %r1;", 0xf0f0, 0, 0, 8},
    {"clz.b32 %r9, %r1;", 0x00010000, 0, 0, 15},
    {"clz.b32 %r9, %r1;", 0, 0, 0, 32},
    {"bfind.u32 %r9, %r1;", 0x00010000, 0, 0, 16},
    {"bfind.s32 %r9, %r1;", 0xfffeffff, 0, 0, 16},
    {"bfind.u32 %r9, %r1;", 0, 0, 0, 0xffffffff},
    {"bfind.shiftamt.u32 %r9, %r1;", 0x00010000, 0, 0, 15},
    {"brev.b32 %r9, %r1;", 0x00000003, 0, 0, 0xc0000000},
    {"bfe.u32 %r9, %r1, %r2, %r3;", 0x12345678, 8, 12, 0x456},
    {"bfe.s32 %r9, %r1, %r2, %r3;", 0x00000f80, 4, 8, 0xfffffff8},
    {"bfe.s32 %r9, %r1, %r2, %r3;", 0x80000000, 28, 8, 0xfffffff8},
    {"bfe.u32 %r9, %r1, %r2, %r3;", 0x12345678, 40, 8, 0},
    {"bfi.b32 %r9, %r1, %r2, 4, 8;", 0xab, 0xffffffff, 0, 0xfffffabf},
    {"dp4a.u32.u32 %r9, %r1, %r2, %r3;", 0x01020304, 0x01010101, 10, 20},
    {"dp4a.s32.s32 %r9, %r1, %r2, %r3;", 0xffffffff, 0x01010101, 10, 6},
    {"not.b32 %r9, %r1;", 0x0f, 0, 0, 0xfffffff0},
    {"cnot.b32 %r9, %r1;", 0, 0, 0, 1},
    {"shl.b32 %r9, %r1, %r2;", 1, 32, 0, 0},
    {"shr.s32 %r9, %r1, %r2;", 0x80000000, 40, 0, 0xffffffff},
    {"shr.u32 %r9, %r1, %r2;", 0x80000000, 31, 0, 1},
    {"shf.l.wrap.b32 %r9, %r1, %r2, %r3;", 0x80000000, 1, 33, 3},
    {"shf.r.clamp.b32 %r9, %r1, %r2, %r3;", 5, 7, 32, 7},
    {"lop3.b32 %r9, %r1, %r2, %r3, 0x96;", 0xff00, 0xf0f0, 0xcccc, 0xff00 ^ 0xf0f0 ^ 0xcccc},
    {"lop3.b32 %r9, %r1, %r2, %r3, 0xe8;", 0xff00, 0xf0f0, 0xcccc,
     (0xff00 & 0xf0f0) | (0xf0f0 & 0xcccc) | (0xff00 & 0xcccc)},
    {"prmt.b32 %r9, %r1, %r2, 0x7610;", 0x33221100, 0x77665544, 0, 0x77661100},
    {"prmt.b32 %r9, %r1, %r2, 0x8888;", 0x00000080, 0, 0, 0xffffffff},
    {"prmt.b32.rc16 %r9, %r1, %r2, 1;", 0x44332211, 0, 0, 0x44334433},
    {"prmt.b32.f4e %r9, %r1, %r2, 1;", 0x33221100, 0x77665544, 0, 0x44332211},
    {"selp.b32 %r9, %r1, %r2, %p1;", 5, 6, 0, 5},
    {"setp.lt.and.s32 %p2|%p3, %r1, %r2, !%p1; selp.u32 %r9, 1, 0, %p2;", 1, 2, 0, 0},
    {"setp.hi.u32 %p2, %r1, %r2; selp.u32 %r9, 1, 0, %p2;", 0xffffffff, 2, 0, 1},
    {"mul.wide.s32 %rd9, %r1, %r2; cvt.u32.u64 %r9, %rd9; shr.u64 %rd9, %rd9, 32; cvt.u32.u64 %r8, "
     "%rd9; xor.b32 %r9, %r9, %r8;",
     0x40000000, 8, 0, 2},
    {"mov.b32 {%rs1, %rs2}, %r1; mov.b32 %r9, {%rs2, %rs1};", 0x12345678, 0, 0, 0x56781234},
    {"mov.b64 %rd9, {%r1, %r2}; shr.u64 %rd9, %rd9, 16; cvt.u32.u64 %r9, %rd9;", 0x12345678,
     0x9abcdef0, 0, 0xdef01234},
    {"cvt.s32.s8 %r9, %r1;", 0x80, 0, 0, 0xffffff80},
    {"cvt.u32.u8 %r9, %r1;", 0x180, 0, 0, 0x80},
    {"cvt.sat.u8.s32 %r9, %r1;", uint32_t(-5), 0, 0, 0},
    {"cvt.sat.s8.s32 %r9, %r1;", 300, 0, 0, 127},
    {"cvt.rzi.s32.f32 %r9, %f1;", f(-2.7f), 0, 0, uint32_t(-2)},
    {"cvt.rni.s32.f32 %r9, %f1;", f(2.5f), 0, 0, 2},
    {"cvt.rmi.s32.f32 %r9, %f1;", f(-2.1f), 0, 0, uint32_t(-3)},
    {"cvt.rzi.u32.f32 %r9, %f1;", f(-2.7f), 0, 0, 0},
    {"cvt.rzi.s32.f32 %r9, %f1;", f(3e9f), 0, 0, 0x7fffffff},
    {"cvt.rn.f32.s32 %f9, %r1; mov.b32 %r9, %f9;", 16777217, 0, 0, f(16777216.0f)},
    {"cvt.rp.f32.s32 %f9, %r1; mov.b32 %r9, %f9;", 16777217, 0, 0, f(16777218.0f)},
    {"cvt.rpi.f32.f32 %f9, %f1; mov.b32 %r9, %f9;", f(1.25f), 0, 0, f(2.0f)},
    {"cvt.rn.bf16x2.f32 %r9, %f1, %f2;", f(1.0f), f(-2.0f), 0, 0x3f80c000},
    {"cvt.rn.f16x2.f32 %r9, %f1, %f2;", f(1.0f), f(-2.0f), 0, 0x3c00c000},
    {"cvt.rn.bf16.f32 %rs1, %f1; cvt.u32.u16 %r9, %rs1;", 0x3f808000, 0, 0,
     0x3f80}, // a tie goes to even
    {"cvt.rz.bf16.f32 %rs1, %f1; cvt.u32.u16 %r9, %rs1;", 0x3f80ffff, 0, 0, 0x3f80},
    {"cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r9, %rs1;", f(65520.0f), 0, 0, 0x7c00},
    {"cvt.u16.u32 %rs1, %r1; cvt.f32.f16 %f9, %rs1; mov.b32 %r9, %f9;", 0x3c01, 0, 0,
     f(1.0009765625f)},
    {"cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2; cvt.u32.u16 %r9, %rs1;", f(448.0f), f(1000.0f), 0,
     0x7e7e},
    {"cvt.rna.tf32.f32 %r9, %f1;", 0x3f801000, 0, 0, 0x3f802000},
    {"add.rn.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", f(1.0f), f(0x1p-24f), 0, f(1.0f)},
    {"add.rp.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", f(1.0f), f(0x1p-24f), 0, 0x3f800001},
    {"mul.ftz.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", 0x00000001, f(2.0f), 0, 0},
    {"mul.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", 0x00000001, f(2.0f), 0, 2},
    {"fma.rn.f32 %f9, %f1, %f2, %f3; mov.b32 %r9, %f9;", 0x3f800003, 0x3f800003, f(-1.0f),
     0x35400002},
    {"mul.rn.f32 %f9, %f1, %f2; add.rn.f32 %f9, %f9, %f3; mov.b32 %r9, %f9;", 0x3f800003,
     0x3f800003, f(-1.0f), 0x35400000},
    {"add.sat.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", f(0.75f), f(0.75f), 0, f(1.0f)},
    {"min.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", 0x7fc00000, f(3.0f), 0, f(3.0f)},
    {"min.NaN.f32 %f9, %f1, %f2; setp.nan.f32 %p2, %f9, %f9; selp.u32 %r9, 1, 0, %p2;", 0x7fc00000,
     f(3.0f), 0, 1},
    {"max.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", 0x80000000, 0, 0, 0},
    {"setp.ne.f32 %p2, %f1, %f2; selp.u32 %r9, 1, 0, %p2;", 0x7fc00000, f(3.0f), 0, 0},
    {"setp.neu.f32 %p2, %f1, %f2; selp.u32 %r9, 1, 0, %p2;", 0x7fc00000, f(3.0f), 0, 1},
    {"sqrt.rn.f32 %f9, %f1; mov.b32 %r9, %f9;", f(2.0f), 0, 0, 0x3fb504f3},
    {"div.rn.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", f(1.0f), f(3.0f), 0, 0x3eaaaaab},
    {"neg.f32 %f9, %f1; mov.b32 %r9, %f9;", 0, 0, 0, 0x80000000},
    {"copysign.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", f(-1.0f), f(5.0f), 0, f(-5.0f)},
    {"mul.bf16x2 %r9, %r1, %r2;", 0x3f804000, 0x40004040, 0, 0x400040c0},
    {"fma.rn.f16x2 %r9, %r1, %r2, %r3;", 0x3c004000, 0x40004200, 0x3c003c00, 0x42004700},
    {"ex2.approx.ftz.f32 %f9, %f1; mov.b32 %r9, %f9;", f(3.0f), 0, 0, f(8.0f)},
    {"lg2.approx.f32 %f9, %f1; mov.b32 %r9, %f9;", f(8.0f), 0, 0, f(3.0f)},
    {"rcp.approx.ftz.f32 %f9, %f1; mov.b32 %r9, %f9;", f(4.0f), 0, 0, f(0.25f)},
};

class Instructions : public testing::TestWithParam<size_t> {};

TEST_P(Instructions, GivesTheIsaResult) {
  const Row &row = rows[GetParam()];
  auto set = [](const char *name, uint32_t v) {
    return "mov.u32 %r" + std::string(name) + ", " + std::to_string(v) + "; mov.b32 %f" + name +
           ", %r" + name + ";";
  };
  Ran ran = run(set("1", row.a) + set("2", row.b) + set("3", row.c) + "setp.eq.u32 %p1, %r0, %r0;" +
                row.text + " st.global.u32 [%rd1], %r9;");
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t lane : {0u, 17u, 31u})
    EXPECT_EQ(ran.out[lane], row.result) << row.text;
}
INSTANTIATE_TEST_SUITE_P(All, Instructions, testing::Range(size_t(0), std::size(rows)));

} // namespace
