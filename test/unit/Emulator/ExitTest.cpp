// What must be over when a CTA exits, distributed shared memory, and copies that meet ordinary
// accesses to global memory.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {

std::vector<Case> exitCases() {
  const std::string buffer = ".shared .align 128 .b8 buf[4096];";
  const KernelSetup shared{.block = 64, .module = buffer};
  const KernelSetup pair{.grid = 2, .block = 32, .cluster = 2, .module = buffer};
  // %r5 the buffer and an mbarrier for one arrival in it, %p9: not thread 0.
  const std::string barrier = "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 "
                              "mbarrier.init.shared::cta.b64 [%r5], 1; bar.sync 0;";
  const std::string load =
      "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256; "
      "@!%p9 "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0], 256, "
      "[%r5];";
  const std::string wait =
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W;";
  const std::string fill = "mov.u32 %r5, buf; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r5; "
                           "st.shared.u32 [%r4], %r0; fence.proxy.async; bar.sync 0; setp.ne.u32 "
                           "%p9, %r0, 0;";
  const std::string store = fill +
                            "@%p9 bra E; cp.async.bulk.global.shared::cta.bulk_group [%rd0], "
                            "[%r5], 256; cp.async.bulk.commit_group;";
  const std::string meet =
      "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
  // %r7: the other CTA's buffer.
  const std::string other = "mov.u32 %r5, buf; mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1; "
                            "mapa.shared::cluster.u32 %r7, %r5, %r6; shl.b32 %r4, %r0, 2; add.u32 "
                            "%r8, %r7, %r4; add.u32 %r9, %r5, %r4;";
  const std::string remoteRead =
      other + "st.shared.u32 [%r9], %r0;" + meet + "ld.shared::cluster.u32 %r10, [%r8];";
  const std::string remoteArrive =
      other + "setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 1;" + meet +
      "@!%p9 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];";
  return {
      {"copy in flight at the exit", "async-exit", barrier + load, shared},
      {"copy waited for", "", barrier + load + wait, shared, "async-exit"},
      {"copy waited for by one warp", "",
       barrier + load + "setp.lt.u32 %p1, %r0, 32; @%p1 bra E;" + wait + "E:", shared},
      {"store in flight at the exit", "async-exit", store + "E:", shared,
       "asynchronous store may still read"},
      {"store whose source was waited for", "",
       store + "cp.async.bulk.wait_group.read 0; E:", shared},
      {"store waited for", "", store + "cp.async.bulk.wait_group 0; E:", shared},
      {"remote read, then exit", "cluster-exit", remoteRead, pair},
      {"remote read, then a cluster barrier", "", remoteRead + meet, pair, "cluster-exit"},
      {"remote read, then a relaxed cluster barrier", "",
       remoteRead + "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", pair},
      {"remote arrival that nobody waits for", "cluster-exit", remoteArrive, pair},
      {"remote arrival that its CTA waits for", "",
       remoteArrive + "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [%r5], 0; "
                      "@!%p0 bra W;",
       pair, "mbarrier-remote"},
      {"remote read without a barrier", "shared-race",
       other + "st.shared.u32 [%r9], %r0; ld.shared::cluster.u32 %r10, [%r8];" + meet, pair},
      {"remote read after a relaxed barrier", "shared-race",
       other +
           "st.shared.u32 [%r9], %r0; barrier.cluster.arrive.relaxed.aligned; "
           "barrier.cluster.wait.aligned; ld.shared::cluster.u32 %r10, [%r8];" +
           meet,
       pair},
      {"remote read after a fence and a relaxed barrier", "",
       other +
           "st.shared.u32 [%r9], %r0; fence.acq_rel.cluster; "
           "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned; "
           "ld.shared::cluster.u32 %r10, [%r8];" +
           meet,
       pair},
      {"initialisation fenced, then a relaxed cluster barrier", "",
       other + "setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 1; "
               "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned; "
               "barrier.cluster.wait.aligned; @!%p9 mbarrier.arrive.shared::cluster.b64 _, [%r7]; "
               "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W;",
       pair, "mbarrier-uninitialised"},
      {"initialisation not fenced, then a relaxed cluster barrier", "mbarrier-uninitialised",
       other + "setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 1; "
               "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned; @!%p9 "
               "mbarrier.arrive.shared::cluster.b64 _, [%r7]; W: "
               "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W;",
       pair},
      // Global memory, ordinary accesses and copies.
      {"copy of what ordinary stores wrote", "missing-proxy-fence",
       "st.global.u32 [%rd1], %r0;" + barrier + load + wait, shared},
      {"copy of what ordinary stores wrote, fenced", "",
       "st.global.u32 [%rd1], %r0; fence.proxy.async;" + barrier + load + wait, shared,
       "missing-proxy-fence"},
      {"copy of what ordinary stores wrote, fenced for shared memory only", "missing-proxy-fence",
       "st.global.u32 [%rd1], %r0; fence.proxy.async.shared::cta;" + barrier + load + wait, shared},
      {"copy of what ordinary stores wrote, fenced for global memory", "",
       "st.global.u32 [%rd1], %r0; fence.proxy.async.global;" + barrier + load + wait, shared},
      {"source of a copy overwritten", "global-race",
       barrier + load + "st.global.u32 [%rd1], %r0;" + wait, shared},
      {"source of a copy overwritten after the wait", "",
       barrier + load + wait + "st.global.u32 [%rd1], %r0;", shared},
      {"bulk store read back", "",
       store + "cp.async.bulk.wait_group 0; E: bar.sync 0; ld.global.u32 %r7, [%rd1];", shared},
      {"bulk store read back when only its source was waited for", "global-race",
       store + "cp.async.bulk.wait_group.read 0; E: bar.sync 0; ld.global.u32 %r7, [%rd1];", shared,
       "without .read"},
  };
}

namespace {
class Exits : public testing::TestWithParam<size_t> {};
TEST_P(Exits, ReportsExactlyThis) { expectExactly(exitCases()[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(All, Exits, testing::Range(size_t(0), exitCases().size()));
} // namespace

} // namespace girih::emu::test
