// The strict memory model: what kernels rely on beyond the letter of the PTX ISA is noted, and is
// no error; what is right by the letter draws nothing.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {
namespace {

struct Reading {
  const char *name;
  /// Kind of the note; empty: none.
  const char *kind;
  std::string body;
  KernelSetup setup;
};

std::vector<Reading> readings() {
  const std::string buffer = ".shared .align 128 .b8 buf[4096];";
  const KernelSetup two{.grid = 2, .block = 32, .data = std::vector<uint32_t>(256)};
  const KernelSetup pair{.grid = 2, .block = 32, .cluster = 2, .module = buffer};
  auto flag = [](const std::string &signal, const std::string &wait) {
    return "setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p9, %r39, 0; @%p9 bra R; st.global.u32 "
           "[%rd1+256], %r0;" +
           signal + "bra E; R: @%p0 bra W; T: " + wait +
           "setp.eq.u32 %p1, %r4, 0; @%p1 bra T; W: bar.sync 0; mul.wide.u32 %rd2, %r0, 4; add.s64 "
           "%rd2, %rd2, %rd0; ld.global.u32 %r5, [%rd2+256]; E:";
  };
  auto remote = [](const std::string &arrive, const std::string &wait) {
    return "mov.u32 %r5, buf; mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1; "
           "mapa.shared::cluster.u32 %r7, %r5, %r6; shl.b32 %r4, %r0, 2; add.u32 %r8, %r7, %r4; "
           "add.u32 %r9, %r5, %r4; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 "
           "[%r5], 32; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; "
           "st.shared::cluster.u32 [%r8+1024], %r0; mbarrier.arrive" +
           arrive + ".shared::cluster.b64 _, [%r7]; W: mbarrier.try_wait.parity" + wait +
           ".shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W; ld.shared.u32 %r10, [%r9+1024]; "
           "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  };
  const std::string acquire = "ld.acquire.gpu.global.u32 %r4, [%rd0];",
                    relaxed = "ld.relaxed.gpu.global.u32 %r4, [%rd0];";
  return {
      {"release and acquire", "",
       flag("bar.sync 0; @!%p0 st.release.gpu.global.u32 [%rd0], 1;", acquire), two},
      {"acquire by a barrier", "global-race",
       flag("bar.sync 0; @!%p0 st.release.gpu.global.u32 [%rd0], 1;", relaxed), two},
      {"acquire by a fence", "",
       flag("bar.sync 0; @!%p0 st.release.gpu.global.u32 [%rd0], 1;",
            "ld.relaxed.gpu.global.u32 %r4, [%rd0]; fence.acq_rel.gpu;"),
       two},
      {"fence after the barrier", "",
       flag("bar.sync 0; @%p0 bra F; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd0], 1; F:",
            acquire),
       two},
      {"remote arrival without a scope", "shared-race", remote("", ""), pair},
      {"remote arrival at the scope of the cluster, waited for at that of the CTA", "shared-race",
       remote(".release.cluster", ""), pair},
      {"remote arrival and wait at the scope of the cluster", "",
       remote(".release.cluster", ".acquire.cluster"), pair},
      {"lanes that write one word at once",
       "shared-race",
       "mov.u32 %r5, buf; st.shared.u32 [%r5], %r0;",
       {.module = buffer}},
  };
}

class StrictModel : public testing::TestWithParam<size_t> {};
TEST_P(StrictModel, NotesWhatHoldsInPracticeOnly) {
  Reading r = readings()[GetParam()];
  SCOPED_TRACE(r.name);
  r.setup.seed = 3;
  Ran practice = run(r.body, r.setup);
  EXPECT_TRUE(practice.result.findings.empty()) << practice.text();
  r.setup.model = MemoryModel::Strict;
  Ran strict = run(r.body, r.setup);
  EXPECT_TRUE(strict.result.clean()) << strict.text();
  EXPECT_EQ(strict.result.traceHash, practice.result.traceHash);
  if (!*r.kind) {
    EXPECT_TRUE(strict.result.findings.empty()) << strict.text();
    return;
  }
  ASSERT_TRUE(strict.has(r.kind)) << strict.text();
  EXPECT_EQ(strict.result.findings[0].severity, Severity::Note);
  EXPECT_THAT(strict.text(), testing::HasSubstr("(note): "));
  EXPECT_THAT(strict.result.findings[0].json(), testing::HasSubstr("\"severity\":\"note\""));
}
INSTANTIATE_TEST_SUITE_P(All, StrictModel, testing::Range(size_t(0), readings().size()));

TEST(StrictModel, ErrorsStayErrors) {
  KernelSetup setup{.grid = 2, .block = 32, .model = MemoryModel::Strict};
  Ran ran = run("st.global.u32 [%rd0], %r0;", setup);
  ASSERT_TRUE(ran.has("global-race"));
  EXPECT_FALSE(ran.result.clean());
}

} // namespace
} // namespace girih::emu::test
