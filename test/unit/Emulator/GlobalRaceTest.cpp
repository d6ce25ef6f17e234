// Races on global memory: between CTAs, warps and lanes, with every way of ordering them and with
// each of these taken away.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {

namespace {

// In all of these: output word 0 is a flag or counter, word 1 another, data from word 64 on.
// %r0 tid, %r39 ctaid, %rd0 output.
const KernelSetup kTwoCtas{.grid = 2, .block = 32, .data = std::vector<uint32_t>(256)};
const KernelSetup kTwoWarps{.grid = 1, .block = 64, .data = std::vector<uint32_t>(256)};

/// CTA 0 runs `first`, all others `second`.
std::string parts(const std::string &first, const std::string &second) {
  return "setp.ne.u32 %p9, %r39, 0; @%p9 bra SECOND; " + first + " bra DONE; SECOND: " + second +
         " DONE:";
}
const std::string kData = "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd2, %rd0;";
const std::string kWrite = kData + "st.global.u32 [%rd2+256], %r0;";
const std::string kRead = kData + "ld.global.u32 %r5, [%rd2+256];";
const std::string kLeader = "setp.eq.u32 %p0, %r0, 0;";

/// The flag protocol with these pieces.
std::string flag(const std::string &fence, const std::string &signal, const std::string &poll,
                 const std::string &after) {
  return parts(kWrite + fence + "bar.sync 0;" + kLeader + "@%p0 " + signal,
               kLeader + "@!%p0 bra W; T: " + poll +
                   "setp.eq.u32 %p1, %r4, 0; @%p1 bra T; W: " + after + kRead);
}

} // namespace

std::vector<Case> globalRaceCases() {
  const std::string release = "st.release.gpu.global.u32 [%rd0], 1;",
                    relaxed = "st.relaxed.gpu.global.u32 [%rd0], 1;",
                    atomic = "red.relaxed.gpu.global.add.u32 [%rd0], 1;",
                    acquire = "ld.acquire.gpu.global.u32 %r4, [%rd0];",
                    weakPoll = "ld.relaxed.gpu.global.u32 %r4, [%rd0];",
                    volatilePoll = "ld.volatile.global.u32 %r4, [%rd0];";
  return {
      {"two CTAs write the same words", "global-race", kWrite, kTwoCtas,
       "is written twice and nothing orders the writes"},
      {"the same value is still a race", "global-race", "st.global.u32 [%rd0], 7;", kTwoCtas},
      {"each its own words", "", "st.global.u32 [%rd1+256], %r0; ld.global.u32 %r4, [%rd1+256];",
       kTwoCtas},
      {"neighbouring bytes of two CTAs", "",
       "add.u32 %r4, %r0, %r0; add.u32 %r4, %r4, %r39; cvt.u64.u32 %rd2, %r4; add.s64 %rd2, %rd2, "
       "%rd0; st.global.u8 [%rd2], %r0;",
       kTwoCtas, "global-race"},
      {"all read the same", "", kRead, kTwoCtas},
      {"one reads what the other writes", "global-race", parts(kWrite, kRead), kTwoCtas},
      {"atomics do not race", "", "red.global.add.u32 [%rd0], 1;", kTwoCtas},
      {"an atomic and a plain read do", "global-race",
       parts("red.global.add.u32 [%rd0], 1;", "ld.global.u32 %r4, [%rd0];"), kTwoCtas,
       "an atomic or volatile access does not order an ordinary one"},
      // The CUDA guide's way to any atomic: see Program/CompareLoops.h.
      {"the plain load that starts a loop of compare-and-swap", "",
       "ld.global.u32 %r5, [%rd0]; L: mov.u32 %r6, %r5; mad.lo.u32 %r7, %r6, 3, 1; "
       "atom.global.cas.b32 %r5, [%rd0], %r6, %r7; setp.ne.u32 %p0, %r5, %r6; @%p0 bra L;",
       kTwoCtas},
      {"a plain load that only feeds the new value", "global-race",
       "ld.global.u32 %r5, [%rd0]; mad.lo.u32 %r7, %r5, 3, 1; "
       "atom.global.cas.b32 %r5, [%rd0], 0, %r7;",
       kTwoCtas},
      {"atomics of CTA scope in two CTAs", "global-race",
       "red.relaxed.cta.global.add.u32 [%rd0], 1;", kTwoCtas,
       "the scope of one leaves the other thread out"},
      {"atomics of CTA scope in one CTA", "", "red.relaxed.cta.global.add.u32 [%rd0], 1;",
       kTwoWarps},
      {"warps without a barrier", "global-race",
       kData + "xor.b32 %r6, %r0, 32; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd3, %rd0; "
               "st.global.u32 [%rd2], %r0; ld.global.u32 %r5, [%rd3];",
       kTwoWarps, "no barrier, and no release and acquire at scope .cta or wider, between"},
      {"warps with a barrier", "",
       kData + "xor.b32 %r6, %r0, 32; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd3, %rd3, %rd0; "
               "st.global.u32 [%rd2], %r0; bar.sync 0; ld.global.u32 %r5, [%rd3];",
       kTwoWarps},
      {"a barrier does not order CTAs", "global-race", parts(kWrite, "bar.sync 0;" + kRead),
       kTwoCtas},
      // Flags.
      {"release and acquire", "", flag("", release, acquire, "bar.sync 0;"), kTwoCtas},
      {"fence and relaxed write", "", flag("fence.acq_rel.gpu;", relaxed, acquire, "bar.sync 0;"),
       kTwoCtas},
      {"relaxed write without the fence", "global-race", flag("", relaxed, acquire, "bar.sync 0;"),
       kTwoCtas, "no release and acquire at scope .gpu or wider between"},
      {"membar and atomic", "", flag("membar.gl;", atomic, acquire, "bar.sync 0;"), kTwoCtas},
      {"membar of the CTA is too narrow", "global-race",
       flag("membar.cta;", atomic, acquire, "bar.sync 0;"), kTwoCtas},
      {"release of the CTA is too narrow", "global-race",
       flag("", "st.release.cta.global.u32 [%rd0], 1;", acquire, "bar.sync 0;"), kTwoCtas},
      {"acquire of the CTA is too narrow", "global-race",
       flag("", release, "ld.acquire.cta.global.u32 %r4, [%rd0];", "bar.sync 0;"), kTwoCtas},
      {"relaxed poll and a fence", "",
       flag("", release, weakPoll, "fence.acq_rel.gpu; bar.sync 0;"), kTwoCtas},
      {"volatile poll and a barrier", "", flag("membar.gl;", atomic, volatilePoll, "bar.sync 0;"),
       kTwoCtas},
      {"relaxed poll and nothing", "global-race", flag("", release, weakPoll, ""), kTwoCtas},
      {"plain flag", "global-race",
       flag("membar.gl;", "st.global.u32 [%rd0], 1;", volatilePoll, "bar.sync 0;"), kTwoCtas},
  };
}

namespace {
class GlobalRaces : public testing::TestWithParam<size_t> {};
TEST_P(GlobalRaces, ReportsExactlyThis) { expectExactly(globalRaceCases()[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(All, GlobalRaces, testing::Range(size_t(0), globalRaceCases().size()));

TEST(GlobalRaces, SameFindingsWhateverTheThreads) {
  KernelSetup setup{.grid = 24, .block = 64, .data = std::vector<uint32_t>(4096)};
  std::string text[3];
  uint64_t hash[3];
  for (unsigned threads = 1; threads <= 3; ++threads) {
    setup.threads = threads;
    Ran ran =
        run("shr.u32 %r4, %r38, 1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd2, %rd2, %rd0; "
            "ld.global.u32 %r5, [%rd2+64]; st.global.u32 [%rd2], %r0; st.global.u8 [%rd2+32], "
            "%r0; atom.global.add.u32 %r6, [%rd0+8192], 1;",
            setup);
    text[threads - 1] = ran.text();
    hash[threads - 1] = ran.result.traceHash;
  }
  EXPECT_NE(text[0], "");
  EXPECT_EQ(text[0], text[1]);
  EXPECT_EQ(text[0], text[2]);
  EXPECT_EQ(hash[0], hash[1]);
  EXPECT_EQ(hash[0], hash[2]);
}
} // namespace

} // namespace girih::emu::test
