// Barriers of every kind: a row per form of mbarrier with what PTX ISA 9.0, 9.7.13.16, says of its
// state, bar and barrier with their reductions (9.7.13.1), the cluster barrier (9.7.13.3), fences
// (9.7.13.4), and the mistakes that are reported.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

/// One thread: [bar] is an mbarrier for two arrivals, %rd7 its generic address, %r8 its address in
/// the cluster's window. The result is %r9.
std::string withBarrier(const std::string &text) {
  return "mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, 0; cvt.u64.u32 %rd7, %r7;"
         "cvta.shared.u64 %rd7, %rd7; mov.u32 %r1, 1; mov.u32 %r9, 0;"
         "mbarrier.init.shared::cta.b64 [bar], 2;" +
         text + "st.global.u32 [%rd1], %r9;";
}
Ran runBarrier(const std::string &text, KernelSetup setup = {.block = 1}) {
  setup.module += ".shared .align 8 .b8 bar[16];";
  return run(withBarrier(text), setup);
}
#define DONE "selp.u32 %r9, 1, 0, %p1;"
#define PARITY "mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0;" DONE

struct Row {
  const char *text;
  uint32_t result;
};
const Row rows[] = {
    {"mbarrier.arrive.b64 %rd5, [%rd7]; mbarrier.test_wait.b64 %p1, [%rd7], %rd5;" DONE, 0},
    {"mbarrier.arrive.shared.b64 %rd5, [bar], 2; mbarrier.test_wait.shared.b64 %p1, [bar], "
     "%rd5;" DONE,
     1},
    {"mbarrier.arrive.shared::cta.b64 _, [bar]; mbarrier.arrive.release.cta.shared::cta.b64 %rd5, "
     "[bar], %r1; mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [bar], %rd5;" DONE,
     1},
    {"mbarrier.arrive.relaxed.cta.shared.b64 %rd5, [bar], 2; "
     "mbarrier.test_wait.relaxed.cluster.shared.b64 %p1, [bar], %rd5;" DONE,
     1},
    // Remote, by an address in the cluster's window that happens to be this CTA's.
    {"mbarrier.arrive.shared::cluster.b64 _, [%r8]; mbarrier.arrive.release.cluster.shared::cluster"
     ".b64 _, [%r8], %r1;" PARITY,
     1},
    {"mbarrier.arrive.release.cluster.b64 _, [%rd7]; mbarrier.arrive.relaxed.cluster.b64 _, "
     "[%rd7];" PARITY,
     1},
    {"mbarrier.arrive.shared.b64 _, [bar];" PARITY, 0},
    // noComplete, and what the state tells of the phase before the arrival.
    {"mbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1; mbarrier.pending_count.b64 %r9, %rd5;",
     2},
    {"mbarrier.arrive.noComplete.b64 %rd5, [%rd7], %r1; mbarrier.arrive.b64 _, [%rd7];" PARITY, 1},
    {"mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 %rd5, [bar], 0x1; "
     "mbarrier.arrive.shared.b64 _, [bar];" PARITY,
     1},
    {"mbarrier.arrive.noComplete.release.cta.shared.b64 %rd5, [bar], 1; mbarrier.arrive.shared.b64 "
     "%rd5, [bar]; mbarrier.pending_count.b64 %r9, %rd5;",
     1},
    // Drops count once and leave one arrival for the next phase.
    {"mbarrier.arrive_drop.shared.b64 _, [bar]; mbarrier.arrive.shared.b64 _, [bar]; "
     "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; mbarrier.arrive.shared.b64 _, [bar]; "
     "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;" DONE,
     1},
    {"mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r8], 1; "
     "mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64 _, [%r8];" PARITY,
     1},
    // Transaction bytes.
    {"mbarrier.arrive.expect_tx.shared.b64 %rd5, [bar], 16; mbarrier.arrive.shared.b64 _, "
     "[bar];" PARITY,
     0},
    {"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 16; "
     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16; "
     "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r8], 32; "
     "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r8], 32;" PARITY,
     1},
    {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 64; mbarrier.arrive.shared.b64 _, "
     "[bar], 2; mbarrier.complete_tx.b64 [%rd7], 60;" PARITY,
     0},
    {"mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r8], 64; mbarrier.expect_tx.b64 "
     "[%rd7], 4; mbarrier.arrive.shared.b64 _, [bar], 2; mbarrier.complete_tx.shared.b64 [bar], "
     "60; mbarrier.complete_tx.shared::cta.b64 [bar], 8;" PARITY,
     1},
    {"mbarrier.arrive_drop.expect_tx.shared.b64 %rd5, [bar], 8; "
     "mbarrier.arrive_drop.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%r8], 8; "
     "mbarrier.complete_tx.shared.b64 [bar], 16;" PARITY,
     1},
    // Bytes may complete before they are announced.
    {"mbarrier.complete_tx.shared.b64 [bar], 8; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8; "
     "mbarrier.arrive.shared.b64 _, [bar];" PARITY,
     1},
    // Waits. A suspended thread gives up when its time is over.
    {"mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1;" DONE, 1},
    {"mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 1000;" DONE, 0},
    {"mbarrier.arrive.shared.b64 %rd5, [bar], 2; mbarrier.try_wait.acquire.cluster.shared.b64 %p1, "
     "[bar], %rd5;" DONE,
     1},
    {"mbarrier.arrive.shared.b64 %rd5, [bar], 2; mbarrier.try_wait.b64 %p1, [%rd7], %rd5, "
     "%r1;" DONE,
     1},
    {"mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p1, [bar], %r1, 0x989680;" DONE, 1},
    // A new life after inval.
    {"mbarrier.inval.shared::cta.b64 [bar]; mbarrier.init.b64 [%rd7], %r1; mbarrier.arrive.shared"
     ".b64 _, [bar];" PARITY " mbarrier.inval.b64 [%rd7];",
     1},
};
class Mbarriers : public testing::TestWithParam<size_t> {};
TEST_P(Mbarriers, KeepTheState) {
  const Row &row = rows[GetParam()];
  for (uint64_t seed : {0, 1, 2}) {
    Ran ran = runBarrier(row.text, {.block = 1, .seed = seed});
    EXPECT_TRUE(ran.result.clean()) << row.text << "\n" << ran.text();
    EXPECT_EQ(ran.out[0], row.result) << row.text;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Mbarriers, testing::Range(size_t(0), std::size(rows)));

/// A mistake, its kind, and a program that nearly has it.
struct Mistake {
  const char *kind, *wrong, *right;
};
const Mistake mistakes[] = {
    {"mbarrier-count", "mbarrier.arrive.shared.b64 _, [bar], 0;",
     "mbarrier.arrive.shared.b64 _, [bar], 1;"},
    {"mbarrier-count", "mov.u32 %r2, 1048576; mbarrier.init.shared.b64 [bar+8], %r2;",
     "mov.u32 %r2, 1048575; mbarrier.init.shared.b64 [bar+8], %r2;"},
    {"mbarrier-arrivals", "mbarrier.arrive.shared.b64 _, [bar], 3;",
     "mbarrier.arrive.shared.b64 _, [bar], 2;"},
    {"mbarrier-arrivals", "mbarrier.arrive_drop.shared.b64 _, [bar], 3;",
     "mbarrier.arrive_drop.shared.b64 _, [bar], 1;"},
    {"mbarrier-nocomplete", "mbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 2;",
     "mbarrier.arrive.noComplete.shared.b64 %rd5, [bar], 1;"},
    {"mbarrier-bytes",
     "mbarrier.expect_tx.shared.b64 [bar], 0xfffff; mbarrier.expect_tx.shared.b64 "
     "[bar], 1;",
     "mbarrier.expect_tx.shared.b64 [bar], 0xfffff;"},
    {"mbarrier-bytes",
     "mbarrier.complete_tx.shared.b64 [bar], 0xfffff; mbarrier.complete_tx.shared.b64 [bar], 1;",
     "mbarrier.complete_tx.shared.b64 [bar], 0xfffff;"},
    {"mbarrier-bytes",
     "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4; "
     "mbarrier.complete_tx.shared.b64 [bar], 8; mbarrier.arrive.shared.b64 _, "
     "[bar];",
     "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8; mbarrier.complete_tx.shared.b64 [bar], 8; "
     "mbarrier.arrive.shared.b64 _, [bar];"},
    {"mbarrier-phase",
     "mbarrier.arrive.shared.b64 %rd5, [bar], 2; mbarrier.test_wait.shared.b64 %p1, [bar], %rd5; "
     "mbarrier.arrive.shared.b64 %rd6, [bar], 2; mbarrier.test_wait.shared.b64 %p1, [bar], %rd5;",
     "mbarrier.arrive.shared.b64 %rd5, [bar], 2; mbarrier.test_wait.shared.b64 %p1, [bar], %rd5; "
     "mbarrier.arrive.shared.b64 %rd6, [bar], 2; mbarrier.test_wait.shared.b64 %p1, [bar], %rd6;"},
    {"mbarrier-uninitialised",
     "mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];",
     "mbarrier.arrive.shared.b64 _, [bar]; mbarrier.arrive.shared.b64 _, [bar]; "
     "mbarrier.inval.shared.b64 [bar];"},
    {"mbarrier-uninitialised", "mbarrier.arrive.shared.b64 _, [bar+8];",
     "mbarrier.init.shared.b64 [bar+8], 1; mbarrier.arrive.shared.b64 _, [bar+8];"},
    {"mbarrier-reinit", "mbarrier.arrive.shared.b64 _, [bar]; mbarrier.init.shared.b64 [bar], 2;",
     "mbarrier.inval.shared.b64 [bar]; mbarrier.init.shared.b64 [bar], 2;"},
    {"mbarrier-overrun",
     "mbarrier.arrive.shared.b64 _, [bar], 2; mbarrier.arrive.shared.b64 _, [bar], 2;",
     "mbarrier.arrive.shared.b64 _, [bar], 2;" PARITY "mbarrier.arrive.shared.b64 _, [bar], 2;"},
    {"mbarrier-address", "mbarrier.arrive.b64 _, [%rd0];", "mbarrier.arrive.b64 _, [%rd7];"},
    {"misaligned", "mbarrier.init.shared.b64 [bar+4], 1;", "mbarrier.init.shared.b64 [bar+8], 1;"},
    // Nobody arrives in the phase that is waited for: the parity is of the phase to come.
    {"mbarrier-parity", "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;",
     "mbarrier.arrive.shared.b64 _, [bar], 2; W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], "
     "0; @!%p1 bra W;"},
};
class Mistakes : public testing::TestWithParam<size_t> {};
TEST_P(Mistakes, AreReported) {
  const Mistake &m = mistakes[GetParam()];
  Ran wrong = runBarrier(m.wrong);
  EXPECT_TRUE(wrong.has(m.kind)) << m.wrong << "\n" << wrong.text();
  Ran right = runBarrier(m.right);
  EXPECT_TRUE(right.result.clean()) << m.right << "\n" << right.text();
}
INSTANTIATE_TEST_SUITE_P(All, Mistakes, testing::Range(size_t(0), std::size(mistakes)));

TEST(Mbarrier, OfAnotherCtaTakesArrivalsOnly) {
  const std::string peer = "mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1; "
                           "mapa.shared::cluster.u32 %r8, %r7, %r2; cvt.u64.u32 %rd7, %r8; "
                           "cvta.shared::cluster.u64 %rd7, %rd7; barrier.cluster.arrive; "
                           "barrier.cluster.wait;";
  const std::string after = "barrier.cluster.arrive; barrier.cluster.wait;";
  KernelSetup two{.grid = 2, .block = 1, .cluster = 2};
  Ran right =
      runBarrier(peer +
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8], 2;"
                     "W: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [bar], 0; "
                     "@!%p1 bra W;" +
                     after,
                 two);
  EXPECT_TRUE(right.result.clean()) << right.text();
  for (std::string wrong :
       {"mbarrier.test_wait.parity.b64 %p1, [%rd7], 0;", "mbarrier.arrive.b64 %rd5, [%rd7];",
        "mbarrier.inval.b64 [%rd7];", "mbarrier.init.b64 [%rd7], 1;"}) {
    Ran ran = runBarrier(peer + wrong + after, two);
    EXPECT_TRUE(ran.has("mbarrier-remote")) << wrong << ran.text();
  }
}

/// What ptxas rejects.
TEST(Mbarrier, RefusesWhatPtxDoesNotHave) {
  for (const char *text :
       {"mbarrier.init.shared::cluster.b64 [%r1], 3;", "mbarrier.arrive.shared::cta.b64 [%r1];",
        "mbarrier.arrive.shared::cluster.b64 %rd1, [%r1];",
        "mbarrier.arrive.relaxed.shared.b64 %rd1, [%r1];",
        "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1];",
        "mbarrier.try_wait.shared::cluster.b64 %p1, [%r1], %rd1;",
        "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r1, 100;", "fence.acq_rel;",
        "fence.proxy.async.shared;", "fence.acquire.sync_restrict::shared::cta.cluster;",
        "membar.proxy.async.global;", "bar.red.popc.s32 %r1, 1, %p1;",
        "fence.proxy.tensormap::generic.acquire.gpu [%rd0], 64;", "discard.global.L2 [%rd0], 64;"})
    EXPECT_NE(refusal(kernelText(text, {})), "") << text;
}

TEST(NamedBarrier, ReducesPredicates) {
  // 96 threads; the predicate is tid < 70, or tid < 96 and < 0 for the extremes.
  struct Reduction {
    const char *text;
    uint32_t result;
  };
  for (Reduction r :
       {Reduction{"bar.red.popc.u32 %r9, 0, %p1;", 70},
        {"bar.cta.red.popc.u32 %r9, 1, 96, !%p1;", 26},
        {"barrier.red.popc.u32 %r9, 2, %p1;", 70},
        {"barrier.cta.red.popc.aligned.u32 %r9, %r2, %r3, %p1;", 70},
        {"bar.red.and.pred %p2, 0, %p1; selp.u32 %r9, 1, 0, %p2;", 0},
        {"bar.red.and.pred %p2, 0, %p3; selp.u32 %r9, 1, 0, %p2;", 1},
        {"bar.red.or.pred %p2, %r2, %r3, !%p1; selp.u32 %r9, 1, 0, %p2;", 1},
        {"bar.red.or.pred %p2, 4, 96, !%p3; selp.u32 %r9, 1, 0, %p2;", 0},
        {"barrier.cta.red.or.aligned.pred %p2, 1, 96, %p1; selp.u32 %r9, 1, 0, %p2;", 1},
        {"barrier.cta.red.and.pred %p2, 1, %p1; selp.u32 %r9, 1, 0, %p2;", 0}}) {
    for (uint64_t seed : {0, 1, 2, 3}) {
      Ran ran = run("setp.lt.u32 %p1, %r0, 70; setp.lt.u32 %p3, %r0, 96; mov.u32 %r2, 5; mov.u32 "
                    "%r3, 96;" +
                        std::string(r.text) + "st.global.u32 [%rd1], %r9;",
                    {.block = 96, .seed = seed});
      ASSERT_TRUE(ran.result.clean()) << r.text << ran.text();
      for (uint32_t thread : {0u, 69u, 70u, 95u})
        EXPECT_EQ(ran.out[thread], r.result) << r.text;
    }
  }
}

TEST(NamedBarrier, PartsOfAWarpArriveOneAfterTheOther) {
  // 48 threads, the second warp with 16; odd and even lanes meet at the barrier from two branches.
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Ran ran =
        run("and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;"
            "st.shared.u32 [cell], 5; barrier.sync 3; bra OUT;"
            "EVEN: barrier.sync 3; ld.shared.u32 %r9, [cell]; st.global.u32 [%rd1], %r9; OUT:",
            {.block = 48, .seed = seed, .module = ".shared .align 4 .b8 cell[4];"});
    EXPECT_FALSE(ran.has("deadlock")) << ran.text();
    EXPECT_EQ(ran.out[46], 5u);
  }
}

TEST(NamedBarrier, LanesOfAWarpNameOneBarrier) {
  Ran wrong = run("and.b32 %r1, %r0, 1; bar.sync %r1, 32;");
  EXPECT_TRUE(wrong.has("barrier-invalid")) << wrong.text();
  Ran right = run("and.b32 %r1, %r0, 0; bar.sync %r1, 32;");
  EXPECT_TRUE(right.result.clean()) << right.text();
  EXPECT_TRUE(run("bar.sync 16;").has("barrier-invalid"));
  EXPECT_TRUE(run("mov.u32 %r1, 33; bar.sync 1, %r1;").has("barrier-invalid"));
}

TEST(NamedBarrier, ExitedLanesAreNotWaitedFor) {
  Ran ran =
      run("setp.gt.u32 %p1, %r0, 19; @%p1 exit; barrier.sync 0; mov.u32 %r9, 1; st.global.u32 "
          "[%rd1], %r9;",
          {.block = 64});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[19], 1u);
}

TEST(ClusterBarrier, FormsAndDivergedLanes) {
  for (const char *pair :
       {"barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"}) {
    Ran ran = run("mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r0, 0;"
                  "or.pred %p1, %p1, %p2; @!%p1 st.shared.u32 [cell], 9; " +
                      std::string(pair) +
                      "mov.u32 %r2, cell; mapa.shared::cluster.u32 %r2, %r2, 1; "
                      "ld.shared::cluster.u32 %r9, [%r2]; st.global.u32 [%rd1], %r9; "
                      "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
                  {.grid = 2, .cluster = 2, .module = ".shared .align 4 .b8 cell[4];"});
    EXPECT_TRUE(ran.result.clean()) << pair << ran.text();
    EXPECT_EQ(ran.out[0], 9u);
  }
  // Each half of the warp arrives and waits on a branch of its own.
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran ran =
        run("setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; barrier.cluster.arrive; "
            "barrier.cluster.wait; bra OUT; LOW: barrier.cluster.arrive; barrier.cluster.wait; "
            "OUT: mov.u32 %r9, 1; st.global.u32 [%rd1], %r9;",
            {.grid = 2, .cluster = 2, .seed = seed});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(ran.out[40], 1u);
  }
}

TEST(ClusterBarrier, ArriveAndWaitComeInPairs) {
  Ran twice = run("barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;");
  EXPECT_TRUE(twice.has("barrier-count")) << twice.text();
  Ran never = run("barrier.cluster.wait;");
  EXPECT_TRUE(never.has("barrier-count")) << never.text();
}

TEST(Fence, EveryFormLoads) {
  std::string text;
  for (std::string scope : {"cta", "cluster", "gpu", "sys"}) {
    for (std::string semantics : {"", "sc.", "acq_rel.", "acquire.", "release."})
      text += "fence." + semantics + scope + ";";
    text += "fence.proxy.tensormap::generic.release." + scope + ";";
    text += "fence.proxy.tensormap::generic.acquire." + scope + " [%rd0], 128;";
  }
  text +=
      "fence.acquire.sync_restrict::shared::cluster.cluster; "
      "fence.release.sync_restrict::shared::cta.cluster; fence.mbarrier_init.release.cluster;"
      "fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; "
      "fence.proxy.async.shared::cta; fence.proxy.async.shared::cluster;"
      "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
      "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
      "membar.cta; membar.gl; membar.sys; membar.proxy.alias; membar.proxy.async;"
      "griddepcontrol.wait; griddepcontrol.launch_dependents; nanosleep.u32 100; nanosleep.u32 %r0;"
      "prefetch.global.L1 [%rd0]; prefetch.L2 [%rd0]; prefetch.local.L1 [%rd0]; "
      "prefetch.global.L2::evict_last [%rd0]; prefetch.global.L2::evict_normal [%rd0];"
      "prefetch.tensormap [%rd0]; prefetch.param.tensormap [%rd0]; prefetch.const.tensormap "
      "[%rd0]; prefetchu.L1 [%rd0]; applypriority.global.L2::evict_normal [%rd0], 128;"
      "applypriority.L2::evict_normal [%rd0], 128;"
      "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd5, [%rd0], %r0, 64;"
      "createpolicy.range.L2::evict_normal.b64 %rd5, [%rd0], 64, 64;"
      "createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %rd5, %f0;"
      "createpolicy.fractional.L2::evict_unchanged.b64 %rd5; "
      "createpolicy.fractional.L2::evict_first.b64 %rd5, 0.5;"
      "createpolicy.cvt.L2.b64 %rd5, %rd0;";
  Ran ran = run(text, {.block = 1, .data = std::vector<uint32_t>(64)});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
}

TEST(Fence, DiscardDestroysItsLine) {
  std::vector<uint32_t> data(64, 7);
  Ran ran = run("discard.global.L2 [%rd0+128], 128;", {.block = 1, .data = data});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  EXPECT_EQ(ran.out[31], 7u);
  EXPECT_NE(ran.out[32], 7u);
  EXPECT_NE(ran.out[63], 7u);
  Ran misaligned = run("discard.L2 [%rd0+64], 128;", {.block = 1, .data = data});
  EXPECT_TRUE(misaligned.has("misaligned")) << misaligned.text();
}

} // namespace
