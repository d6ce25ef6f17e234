// Instructions among the lanes of a warp, divergence, guards and the carry flag.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// Values that differ by lane: %r0 is the lane.
struct LaneRow {
  const char *text;
  uint32_t (*expected)(uint32_t lane);
};
const LaneRow laneRows[] = {
    {"shfl.sync.idx.b32 %r9, %r0, 5, 31, -1;", [](uint32_t) { return 5u; }},
    {"shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;", [](uint32_t l) { return l ^ 1; }},
    {"shfl.sync.up.b32 %r9|%p2, %r0, 2, 0, -1; @!%p2 mov.u32 %r9, 99;",
     [](uint32_t l) { return l < 2 ? 99 : l - 2; }},
    {"shfl.sync.down.b32 %r9|%p2, %r0, 3, 31, -1; @!%p2 mov.u32 %r9, 99;",
     [](uint32_t l) { return l > 28 ? 99 : l + 3; }},
    // Segments of eight: the mask in bits 8..12 of the clamp operand.
    {"shfl.sync.down.b32 %r9, %r0, 3, 0x1807, -1;",
     [](uint32_t l) { return l % 8 > 4 ? l : l + 3; }},
    {"setp.lt.u32 %p2, %r0, 7; vote.sync.ballot.b32 %r9, %p2, -1;", [](uint32_t) { return 0x7fu; }},
    {"setp.lt.u32 %p2, %r0, 7; vote.sync.any.pred %p3, !%p2, -1; selp.u32 %r9, 1, 0, %p3;",
     [](uint32_t) { return 1u; }},
    {"setp.lt.u32 %p2, %r0, 7; vote.sync.all.pred %p3, %p2, -1; selp.u32 %r9, 1, 0, %p3;",
     [](uint32_t) { return 0u; }},
    {"redux.sync.add.u32 %r9, %r0, -1;", [](uint32_t) { return 496u; }},
    {"redux.sync.max.s32 %r9, %r0, -1;", [](uint32_t) { return 31u; }},
    {"and.b32 %r8, %r0, 3; match.sync.any.b32 %r9, %r8, -1;",
     [](uint32_t l) { return 0x11111111u << (l % 4); }},
    {"elect.sync %r8|%p2, -1; selp.u32 %r9, 1, 0, %p2;",
     [](uint32_t l) { return l == 0 ? 1u : 0u; }},
    // Each half of the warp names itself: two operations in one instruction.
    {"setp.lt.u32 %p2, %r0, 16; selp.b32 %r8, 0xffff, 0xffff0000, %p2; redux.sync.add.u32 %r9, "
     "%r0, %r8;",
     [](uint32_t l) { return l < 16 ? 120u : 376u; }},
    {"and.b32 %r7, %r0, 1; setp.eq.u32 %p2, %r7, 0; selp.b32 %r8, 0x55555555, 0xaaaaaaaa, %p2; "
     "elect.sync %r9|%p3, %r8; vote.sync.ballot.b32 %r6, %p3, %r8; add.u32 %r9, %r9, %r6;",
     [](uint32_t l) { return l % 2 ? 3u : 1u; }},
    {"and.b32 %r7, %r0, 1; setp.eq.u32 %p2, %r7, 0; selp.b32 %r8, 0x55555555, 0xaaaaaaaa, %p2; "
     "bar.warp.sync %r8; shfl.sync.idx.b32 %r9, %r0, %r7, 31, %r8;",
     [](uint32_t l) { return l % 2; }},
    {"mov.u32 %r9, %lanemask_lt;", [](uint32_t l) { return (1u << l) - 1; }},
    // Divergence: loops of different lengths, then together again.
    {"mov.u32 %r9, 0; mov.u32 %r8, %r0; LOOP: setp.eq.u32 %p2, %r8, 0; @%p2 bra OUT; add.u32 %r9, "
     "%r9, %r8; sub.u32 %r8, %r8, 1;"
     " bra LOOP; OUT: activemask.b32 %r7; setp.ne.u32 %p3, %r7, -1; @%p3 mov.u32 %r9, 12345;",
     [](uint32_t l) { return l * (l + 1) / 2; }},
    {"and.b32 %r8, %r0, 1; setp.eq.u32 %p2, %r8, 0; @%p2 bra EVEN; mov.u32 %r9, 7; bra JOIN; EVEN: "
     "mov.u32 %r9, 8; JOIN:"
     " shfl.sync.bfly.b32 %r9, %r9, 1, 31, -1;",
     [](uint32_t l) { return l % 2 ? 8u : 7u; }},
    // The carry flag is a thread's own: lanes 0 to 15 and 16 to 31 set it apart.
    {"setp.lt.u32 %p2, %r0, 16; @%p2 bra LOW; add.cc.u32 %r8, %r0, -1; bra JOIN; LOW: add.cc.u32 "
     "%r8, %r0, 1; JOIN: addc.u32 %r9, 0, 0;",
     [](uint32_t l) { return l < 16 ? 0u : 1u; }},
    // A guard keeps the flag, and a predicate, of lanes that do not execute.
    {"add.cc.u32 %r8, %r0, 1; setp.lt.u32 %p2, %r0, 7; @%p2 add.cc.u32 %r8, %r8, -1; addc.u32 %r9, "
     "0, 0;",
     [](uint32_t l) { return l < 7 ? 1u : 0u; }},
    {"setp.ne.u32 %p3, %r0, %r0; setp.lt.u32 %p2, %r0, 7; @%p2 setp.eq.u32 %p3, %r0, %r0; selp.u32 "
     "%r9, 1, 0, %p3;",
     [](uint32_t l) { return l < 7 ? 1u : 0u; }},
    {"redux.sync.min.s32 %r9, %r0, -1;", [](uint32_t) { return 0u; }},
    {"redux.sync.and.b32 %r9, %r0, -1;", [](uint32_t) { return 0u; }},
    {"redux.sync.or.b32 %r9, %r0, -1;", [](uint32_t) { return 31u; }},
    {"redux.sync.xor.b32 %r9, %r0, -1;", [](uint32_t) { return 0u; }},
    {"and.b32 %r8, %r0, 0; match.all.sync.b32 %r9|%p2, %r8, -1; @!%p2 mov.u32 %r9, 7;",
     [](uint32_t) { return ~0u; }},
    {"match.all.sync.b32 %r9|%p2, %r0, -1; @!%p2 mov.u32 %r9, 7;", [](uint32_t) { return 7u; }},
    {"cvt.u64.u32 %rd5, %r0; shr.u64 %rd5, %rd5, 4; match.any.sync.b64 %r9, %rd5, -1;",
     [](uint32_t l) { return l < 16 ? 0xffffu : 0xffff0000u; }},
    {"setp.ge.u32 %p2, %r0, 0; vote.sync.uni.pred %p3, %p2, -1; selp.u32 %r9, 1, 0, %p3;",
     [](uint32_t) { return 1u; }},
    // Local memory is per thread; generic addresses reach it.
    {"{ .local .align 4 .b8 mine[16]; .reg .b64 a; mov.u64 a, mine; st.local.u32 [a+4], %r0; "
     "cvta.local.u64 a, a; ld.u32 %r9, [a+4]; }",
     [](uint32_t l) { return l; }},
};
class LaneInstructions : public testing::TestWithParam<size_t> {};
TEST_P(LaneInstructions, GivesTheIsaResult) {
  const LaneRow &row = laneRows[GetParam()];
  for (uint64_t seed : {0, 1, 2}) {
    Ran ran = run(std::string(row.text) + " st.global.u32 [%rd1], %r9;", {.seed = seed});
    EXPECT_TRUE(ran.result.clean()) << row.text << "\n" << ran.text();
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(ran.out[lane], row.expected(lane)) << row.text << " lane " << lane;
  }
}
INSTANTIATE_TEST_SUITE_P(All, LaneInstructions, testing::Range(size_t(0), std::size(laneRows)));

} // namespace
