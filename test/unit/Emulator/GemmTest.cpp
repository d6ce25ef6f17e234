// The device runs a warp-specialised GEMM: right results, silence over seeds, and every planted
// fault named.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GemmHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

const std::string &gemmPtx() {
  static const std::string text = readInput("gemm_ws.ptx");
  return text;
}

TEST(Gemm, MatchesDoublePrecision) {
  for (auto [m, n, k] : {std::tuple<uint32_t, uint32_t, uint32_t>{128, 128, 64},
                         {128, 128, 576},
                         {256, 384, 192},
                         {130, 264, 72},
                         {8, 8, 8}}) {
    Gemm gemm(m, n, k, false);
    LaunchOptions options;
    options.seed = m + n + k;
    LaunchResult result = gemm.run(gemmPtx(), 2, options);
    EXPECT_TRUE(result.clean()) << result.render();
    EXPECT_LE(gemm.worst(), 1.0) << m << "x" << n << "x" << k;
  }
}

TEST(Gemm, SilentOverSeedsAndAdversaries) {
  Gemm gemm(256, 256, 448, false);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    LaunchOptions options;
    options.seed = seed;
    options.adversary = static_cast<Adversary>(seed % 6);
    LaunchResult result = gemm.run(gemmPtx(), 1 + seed % 3, options);
    ASSERT_TRUE(result.clean()) << "seed " << seed << "\n" << result.render();
  }
  EXPECT_LE(gemm.worst(), 1.0);
}

TEST(Gemm, SameSeedSameTraceWhateverTheThreads) {
  Gemm gemm(256, 512, 256, false);
  for (uint64_t seed : {3, 4}) {
    uint64_t hashes[3];
    for (unsigned threads = 1; threads <= 3; ++threads) {
      LaunchOptions options;
      options.seed = seed;
      options.threads = threads;
      hashes[threads - 1] = gemm.run(gemmPtx(), 3, options).traceHash;
    }
    EXPECT_EQ(hashes[0], hashes[1]);
    EXPECT_EQ(hashes[0], hashes[2]);
  }
  LaunchOptions options;
  options.seed = 3;
  uint64_t three = gemm.run(gemmPtx(), 3, options).traceHash;
  options.seed = 4;
  EXPECT_NE(three, gemm.run(gemmPtx(), 3, options).traceHash);
}

/// Counts the seeds of the first `seeds` under which one of `kinds` is reported, and checks that
/// some side names `line`.
struct Planted {
  const char *name;
  std::string ptx;
  std::vector<std::string> kinds;
  std::string line;
};

class PlantedFault : public testing::TestWithParam<int> {};

std::vector<Planted> plantedFaults() {
  const std::string &text = gemmPtx();
  std::string noFullWait =
      edit(text, "full-wait", "mbarrier.try_wait.parity.shared::cta.b64 %done, [%r17], %r12;",
           "mov.pred %done, 1;");
  std::string noEmptyWait =
      edit(text, "empty-wait", "mbarrier.try_wait.parity.shared::cta.b64 %done, [%r18], %r12;",
           "mov.pred %done, 1;");
  std::string moreBytes = edit(text, "expect", "32768", "32784");
  std::string fewerBytes = edit(text, "expect", "32768", "32752");
  return {
      {"full wait removed", noFullWait, {"async-race"}, "gemm.py:48"},
      {"empty wait removed", noEmptyWait, {"async-overwrite"}, "gemm.py:28"},
      {"16 bytes too many expected", moreBytes, {"mbarrier-bytes"}, "gemm.py:27"},
      {"16 bytes too few expected", fewerBytes, {"mbarrier-bytes"}, "gemm.py:27"},
      {"proxy fence removed",
       edit(text, "proxy-fence", "", ""),
       {"missing-proxy-fence"},
       "gemm.py:63"},
      {"wgmma wait before the release removed",
       edit(text, "lag-wait", "", ""),
       {"async-overwrite"},
       "gemm.py:48"},
      {"final wgmma wait removed",
       edit(text, "final-wait", "", ""),
       {"wgmma-register-in-flight"},
       "gemm.py:58"},
      {"arrival count one too high",
       edit(text, "full-init", "], 1", "], 2"),
       {"mbarrier-arrivals"},
       "gemm.py:13"},
      {"arrival count one too low",
       edit(text, "empty-init", "], 2", "], 1"),
       {"async-overwrite", "mbarrier-overrun"},
       "gemm.py:"},
      {"store wait removed", edit(text, "store-wait", "", ""), {"async-overwrite"}, "gemm.py:60"},
      {"wgmma fence removed",
       edit(edit(text, "wgmma-fence", "", ""), "final-wait", "wgmma.wait_group.sync.aligned 0;",
            "wgmma.wait_group.sync.aligned 0; add.f32 %f0, %f0, %f0;"),
       {"missing-wgmma-fence"},
       "gemm.py:48"},
  };
}

TEST_P(PlantedFault, IsNamed) {
  Planted fault = plantedFaults()[static_cast<size_t>(GetParam())];
  SCOPED_TRACE(fault.name);
  // More than twice as many k blocks as stages, more tiles than CTAs.
  Gemm gemm(256, 384, 512, false);
  int found = 0;
  std::string last;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    LaunchOptions options;
    options.seed = seed;
    LaunchResult result = gemm.run(fault.ptx, 2, options);
    last = result.render();
    for (const Finding &f : result.findings)
      for (const std::string &kind : fault.kinds)
        if (f.kind == kind && f.render().find(fault.line) != std::string::npos) {
          ++found;
          goto next;
        }
  next:;
  }
  EXPECT_GE(found, 19) << last;
}
INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::Range(0, 11));

} // namespace
