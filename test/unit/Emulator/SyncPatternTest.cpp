// How kernels make threads of a grid meet: each pattern is silent, and each with a fence or barrier
// taken away is reported.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {

namespace {
// Output: word 0 a counter, word 1 a flag, partial results from word 64 on, results from word 128.
// %rd2: this thread's partial result; %r39 ctaid, %r0 tid.
KernelSetup grid(uint32_t ctas) {
  return {.grid = ctas,
          .block = 64,
          .module = ".shared .align 16 .b8 buf[64];",
          .data = std::vector<uint32_t>(2048)};
}
const std::string kPartial = "mul.wide.u32 %rd2, %r38, 4; add.s64 %rd2, %rd2, %rd0;";
const std::string kLeader = "setp.ne.u32 %p0, %r0, 0;";

/// Every thread reads the partial result of the same thread of the next CTA.
const std::string kReadNext = "mov.u32 %r10, %nctaid.x; add.u32 %r11, %r39, 1; rem.u32 %r11, %r11, "
                              "%r10; mad.lo.u32 %r11, %r11, 64, %r0; mul.wide.u32 %rd3, %r11, 4; "
                              "add.s64 %rd3, %rd3, %rd0; ld.global.u32 %r12, [%rd3+256];";

/// All CTAs write, meet, and read what another has written.
std::string gridBarrier(const std::string &fence, const std::string &arrive,
                        const std::string &poll, const std::string &after) {
  return kPartial + "st.global.u32 [%rd2+256], %r0;" + fence + "bar.sync 0;" + kLeader +
         "mov.u32 %r10, %nctaid.x; @%p0 bra W;" + arrive + "T: " + poll +
         "setp.lt.u32 %p1, %r13, %r10; @%p1 bra T;" + after + "W: bar.sync 0;" + kReadNext;
}

/// The last CTA to finish reads what all have written (CUDA's threadFenceReduction).
std::string lastBlock(const std::string &fence, const std::string &barrier) {
  return kPartial + "st.global.u32 [%rd2+256], %r0;" + fence + "bar.sync 0;" + kLeader +
         "mov.u32 %r5, buf; mov.u32 %r10, %nctaid.x; sub.u32 %r11, %r10, 1; @%p0 bra W; "
         "atom.global.inc.u32 %r12, [%rd0], %r10; st.shared.u32 [%r5], %r12; W:" +
         barrier +
         "ld.shared.u32 %r13, [%r5]; setp.ne.u32 %p1, %r13, %r11; @%p1 bra E; mov.u32 %r14, 0; L: "
         "mad.lo.u32 %r15, %r14, 64, %r0; mul.wide.u32 %rd3, %r15, 4; add.s64 %rd3, %rd3, %rd0; "
         "ld.global.u32 %r16, [%rd3+256]; add.u32 %r14, %r14, 1; setp.lt.u32 %p2, %r14, %r10; @%p2 "
         "bra L; E:";
}

/// Each CTA adds to the sum of the one before and hands it on (stream-K, split-K in order).
std::string inOrder(const std::string &wait, const std::string &fence, const std::string &signal) {
  return kLeader + "@%p0 bra W; T:" + wait +
         "setp.ne.u32 %p1, %r13, %r39; @%p1 bra T; W: bar.sync 0; mul.wide.u32 %rd3, %r0, 4; "
         "add.s64 %rd3, %rd3, %rd0; ld.global.u32 %r14, [%rd3+256]; add.u32 %r14, %r14, 1; "
         "st.global.u32 [%rd3+256], %r14;" +
         fence + "bar.sync 0; add.u32 %r15, %r39, 1; @%p0 bra E;" + signal + "E:";
}

/// Decoupled look-back: the state and the value of a CTA's prefix apart, by one thread of each.
std::string lookBack(const std::string &fence, const std::string &acquire) {
  return kLeader +
         "@%p0 bra E; mul.wide.u32 %rd2, %r39, 4; add.s64 %rd2, %rd2, %rd0; mov.u32 %r10, 1; "
         "setp.eq.u32 %p1, %r39, 0; @%p1 bra S; T: ld.relaxed.gpu.global.u32 %r11, [%rd2+252]; "
         "setp.eq.u32 %p2, %r11, 0; @%p2 bra T;" +
         acquire +
         "ld.global.u32 %r12, [%rd2+1020]; add.u32 %r10, %r12, 1; S: st.global.u32 "
         "[%rd2+1024], %r10;" +
         fence + "st.relaxed.gpu.global.u32 [%rd2+256], 1; E:";
}
} // namespace

std::vector<Case> syncPatternCases() {
  const std::string relaxedArrive = "red.relaxed.gpu.global.add.u32 [%rd0], 1;",
                    acquirePoll = "ld.acquire.gpu.global.u32 %r13, [%rd0];",
                    volatilePoll = "ld.volatile.global.u32 %r13, [%rd0];",
                    atomicPoll = "atom.global.add.u32 %r13, [%rd0], 0;";
  return {
      {"grid barrier", "", gridBarrier("membar.gl;", relaxedArrive, volatilePoll, "membar.gl;"),
       grid(6)},
      {"grid barrier with the fence in the leader", "",
       gridBarrier("", "membar.gl;" + relaxedArrive, acquirePoll, ""), grid(6)},
      {"grid barrier of cooperative groups", "",
       gridBarrier("", "fence.acq_rel.gpu; atom.add.release.gpu.global.u32 %r12, [%rd0], 1;",
                   acquirePoll, ""),
       grid(6)},
      {"grid barrier that polls atomically", "",
       gridBarrier("membar.gl;", relaxedArrive, atomicPoll, ""), grid(6)},
      {"grid barrier without a fence", "global-race",
       gridBarrier("", relaxedArrive, acquirePoll, ""), grid(6)},
      {"last block", "", lastBlock("membar.gl;", "bar.sync 0;"), grid(5)},
      {"last block without the fence", "global-race", lastBlock("", "bar.sync 0;"), grid(5)},
      {"last block with the fence of a CTA", "global-race", lastBlock("membar.cta;", "bar.sync 0;"),
       grid(5)},
      {"in order", "",
       inOrder("ld.acquire.gpu.global.u32 %r13, [%rd0];", "",
               "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd0], 1;"),
       grid(4)},
      {"in order, volatile", "",
       inOrder("ld.volatile.global.u32 %r13, [%rd0];", "membar.gl;",
               "st.volatile.global.u32 [%rd0], %r15;"),
       grid(4)},
      {"in order without the fence", "global-race",
       inOrder("ld.acquire.gpu.global.u32 %r13, [%rd0];", "",
               "red.relaxed.gpu.global.add.u32 [%rd0], 1;"),
       grid(4)},
      {"look-back", "", lookBack("membar.gl;", "membar.gl;"), grid(6)},
      {"look-back without the writer's fence", "global-race", lookBack("", "membar.gl;"), grid(6)},
      {"look-back without the reader's fence", "global-race", lookBack("membar.gl;", ""), grid(6)},
      {"a chain of three CTAs", "",
       // 0 writes and releases, 1 acquires and releases another flag, 2 acquires that.
       "setp.ne.u32 %p0, %r0, 0; @%p0 bra E; setp.eq.u32 %p1, %r39, 1; @%p1 bra B; setp.eq.u32 "
       "%p2, "
       "%r39, 2; @%p2 bra C; st.global.u32 [%rd0+256], 5; st.release.gpu.global.u32 [%rd0], 1; bra "
       "E; B: ld.acquire.gpu.global.u32 %r4, [%rd0]; setp.eq.u32 %p3, %r4, 0; @%p3 bra B; "
       "st.release.gpu.global.u32 [%rd0+4], 1; bra E; C: ld.acquire.gpu.global.u32 %r4, [%rd0+4]; "
       "setp.eq.u32 %p3, %r4, 0; @%p3 bra C; ld.global.u32 %r5, [%rd0+256]; E:",
       grid(3)},
      {"a chain of three CTAs that breaks", "global-race",
       "setp.ne.u32 %p0, %r0, 0; @%p0 bra E; setp.eq.u32 %p1, %r39, 1; @%p1 bra B; setp.eq.u32 "
       "%p2, "
       "%r39, 2; @%p2 bra C; st.global.u32 [%rd0+256], 5; st.release.gpu.global.u32 [%rd0], 1; bra "
       "E; B: ld.relaxed.gpu.global.u32 %r4, [%rd0]; setp.eq.u32 %p3, %r4, 0; @%p3 bra B; "
       "st.release.gpu.global.u32 [%rd0+4], 1; bra E; C: ld.acquire.gpu.global.u32 %r4, [%rd0+4]; "
       "setp.eq.u32 %p3, %r4, 0; @%p3 bra C; ld.global.u32 %r5, [%rd0+256]; E:",
       grid(3)},
      {"flag in shared memory with a fence", "",
       "mov.u32 %r5, buf; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [%r5], 0; bar.sync 0; "
       "setp.eq.u32 %p1, %r0, 32; @!%p1 bra R; st.shared.u32 [%r5+16], 7; membar.cta; "
       "st.volatile.shared.u32 [%r5], 1; R: @!%p0 bra E; T: ld.volatile.shared.u32 %r6, [%r5]; "
       "setp.eq.u32 %p2, %r6, 0; @%p2 bra T; membar.cta; ld.shared.u32 %r7, [%r5+16]; E:",
       grid(1)},
      {"flag in shared memory without one", "shared-race",
       "mov.u32 %r5, buf; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [%r5], 0; bar.sync 0; "
       "setp.eq.u32 %p1, %r0, 32; @!%p1 bra R; st.shared.u32 [%r5+16], 7; "
       "st.volatile.shared.u32 [%r5], 1; R: @!%p0 bra E; T: ld.volatile.shared.u32 %r6, [%r5]; "
       "setp.eq.u32 %p2, %r6, 0; @%p2 bra T; membar.cta; ld.shared.u32 %r7, [%r5+16]; E:",
       grid(1)},
  };
}

namespace {
class SyncPatterns : public testing::TestWithParam<size_t> {};
TEST_P(SyncPatterns, ReportsExactlyThis) { expectExactly(syncPatternCases()[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(All, SyncPatterns, testing::Range(size_t(0), syncPatternCases().size()));

TEST(SyncPatterns, SilentOverManySeeds) {
  for (Case c : syncPatternCases())
    if (!*c.kind)
      expectExactly(c, 100);
}
} // namespace

} // namespace girih::emu::test
