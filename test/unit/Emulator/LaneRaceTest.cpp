// Lanes of one warp are threads: what orders their accesses, and what does not.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {

std::vector<Case> laneRaceCases() {
  const KernelSetup shared{.module = ".shared .align 16 .b8 buf[4096];"};
  // %r4: this lane's word, %r6: its neighbour's.
  const std::string mine = "mov.u32 %r5, buf; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r5; "
                           "xor.b32 %r6, %r0, 1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r5;";
  const std::string write = mine + "st.shared.u32 [%r4], %r0;", read = "ld.shared.u32 %r7, [%r6];";
  const std::string one = "setp.ne.u32 %p0, %r0, 3; @%p0 bra A; st.shared.u32 [%r5], %r0; A:";
  const std::string global = "xor.b32 %r6, %r0, 1; mul.wide.u32 %rd2, %r6, 4; add.s64 %rd2, %rd2, "
                             "%rd0; st.global.u32 [%rd1], %r0;";
  return {
      {"neighbour's word", "shared-race", write + read, shared, "bar.warp.sync"},
      {"neighbour's word after a warp barrier", "", write + "bar.warp.sync 0xffffffff;" + read,
       shared, "shared-race"},
      {"neighbour's word after a barrier", "", write + "bar.sync 0;" + read, shared},
      {"a shuffle orders no memory", "shared-race",
       write + "shfl.sync.idx.b32 %r8, %r0, 0, 31, 0xffffffff;" + read, shared},
      {"own word", "", write + "ld.shared.u32 %r7, [%r4];", shared},
      {"own word in halves", "", write + "ld.shared.u16 %rs1, [%r4]; ld.shared.u16 %rs2, [%r4+2];",
       shared},
      {"one lane writes, all read", "shared-race", mine + one + "ld.shared.u32 %r7, [%r5];",
       shared},
      {"one lane writes, all read after a warp barrier", "",
       mine + one + "bar.warp.sync 0xffffffff; ld.shared.u32 %r7, [%r5];", shared},
      {"all read, one writes", "shared-race",
       "mov.u32 %r5, buf; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r5], 0; bar.warp.sync "
       "0xffffffff; ld.shared.u32 %r7, [%r5];" +
           one,
       shared},
      {"all read, one writes after a warp barrier", "",
       "mov.u32 %r5, buf; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r5], 0; bar.warp.sync "
       "0xffffffff; ld.shared.u32 %r7, [%r5]; bar.warp.sync 0xffffffff;" +
           one,
       shared},
      // Half of the warp synchronises, then reads within the half, or across.
      {"half a warp", "",
       mine + "setp.gt.u32 %p2, %r0, 15; @%p2 bra E; st.shared.u32 [%r4], %r0; bar.warp.sync "
              "0x0000ffff; ld.shared.u32 %r7, [%r6]; E:",
       shared},
      {"two halves of a warp", "shared-race",
       mine + "xor.b32 %r6, %r0, 16; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r5; st.shared.u32 "
              "[%r4], %r0; setp.gt.u32 %p2, %r0, 15; @%p2 bra H; bar.warp.sync 0x0000ffff; "
              "ld.shared.u32 %r7, [%r6]; bra E; H: bar.warp.sync 0xffff0000; ld.shared.u32 %r7, "
              "[%r6]; E:",
       shared},
      {"lanes that write one word at once", "", "mov.u32 %r5, buf; st.shared.u32 [%r5], %r0;",
       shared},
      {"volatile words need no order", "",
       mine + "st.volatile.shared.u32 [%r4], %r0; ld.volatile.shared.u32 %r7, [%r6];", shared},
      {"an mbarrier orders lanes", "",
       mine +
           "setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5+1024], 32; "
           "bar.warp.sync 0xffffffff; st.shared.u32 [%r4], %r0; mbarrier.arrive.shared::cta.b64 "
           "_, [%r5+1024]; W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5+1024], 0; @!%p0 "
           "bra W;" +
           read,
       shared},
      {"ldmatrix reads what the warp has written", "",
       mine +
           "add.u32 %r4, %r4, 0; st.shared.u32 [%r4], %r0; st.shared.u32 [%r4+128], %r0; and.b32 "
           "%r8, %r0, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5; "
           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r8];",
       shared},
      {"neighbour's word in global memory",
       "global-race",
       global + "ld.global.u32 %r7, [%rd2];",
       {},
       "the lanes of a warp are threads of their own"},
      {"neighbour's word in global memory after a warp barrier", "",
       global + "bar.warp.sync 0xffffffff; ld.global.u32 %r7, [%rd2];"},
      {"own word in global memory", "", "st.global.u32 [%rd1], %r0; ld.global.u32 %r7, [%rd1];"},
  };
}

namespace {
class LaneRaces : public testing::TestWithParam<size_t> {};
TEST_P(LaneRaces, ReportsExactlyThis) { expectExactly(laneRaceCases()[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(All, LaneRaces, testing::Range(size_t(0), laneRaceCases().size()));
} // namespace

} // namespace girih::emu::test
