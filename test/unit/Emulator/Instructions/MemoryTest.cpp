// Fragments of ldmatrix and stmatrix, and memory that CTAs share.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

TEST(Memory, LdmatrixAndStmatrixFragments) {
  // Lane l of ldmatrix holds elements (l / 4, 2 (l % 4)) and the next one; the store puts them back
  // transposed.
  Ran ran = run("shl.b32 %r4, %r0, 2; mov.u32 %r5, buf; add.u32 %r4, %r4, %r5; shl.b32 %r6, %r0, "
                "1; add.u32 %r7, %r6, 1; shl.b32 %r7, %r7, 16;"
                "or.b32 %r6, %r6, %r7; st.shared.u32 [%r4], %r6; bar.sync 0; and.b32 %r8, %r0, 7; "
                "shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r5;"
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r9}, [%r8]; bar.sync 0; "
                "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r8], {%r9};"
                "bar.sync 0; ld.shared.u32 %r10, [%r4]; st.global.u32 [%rd1], %r10;",
                {.module = ".shared .align 16 .b8 buf[128];"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t row = lane / 4, column = 2 * (lane % 4);
    EXPECT_EQ(ran.out[lane], (8 * column + row) | (8 * (column + 1) + row) << 16) << lane;
  }
}

TEST(Memory, AtomicsAcrossCtasAddUp) {
  for (unsigned threads : {1u, 2u, 3u}) {
    Ran ran = run("atom.global.add.u32 %r5, [%rd0], %r0; red.global.max.u32 [%rd0+4], %r38;",
                  {.grid = 20, .block = 64, .threads = threads});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(ran.out[0], 20u * 2016u);
    EXPECT_EQ(ran.out[1], 20u * 64u - 1);
  }
}

TEST(Memory, CtasThatWaitForEachOtherThroughGlobalMemory) {
  // A ring: each CTA waits until its left neighbour has passed a token on.
  std::string body =
      "setp.ne.u32 %p0, %r0, 0; @%p0 bra END; setp.eq.u32 %p1, %r39, 0; @%p1 bra PASS; "
      "mul.wide.u32 %rd5, %r39, 4; add.s64 %rd5, %rd5, %rd0;"
      "WAIT: ld.acquire.gpu.global.u32 %r4, [%rd5+-4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra WAIT; "
      "PASS: mul.wide.u32 %rd5, %r39, 4;"
      "add.s64 %rd5, %rd5, %rd0; add.u32 %r5, %r39, 1; st.release.gpu.global.u32 [%rd5], %r5; END:";
  uint64_t hash = 0;
  for (unsigned threads : {1u, 2u, 3u}) {
    Ran ran =
        run(body, {.grid = 12, .block = 32, .threads = threads, .data = std::vector<uint32_t>(12)});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    for (uint32_t i = 0; i < 12; ++i)
      EXPECT_EQ(ran.out[i], i + 1);
    EXPECT_TRUE(!hash || hash == ran.result.traceHash);
    hash = ran.result.traceHash;
  }
}

TEST(Memory, RacingWritesHaveOneOutcomePerSeed) {
  // Unordered writes of many CTAs to one word: a program error that the device must still run
  // reproducibly.
  std::string body = "mov.u32 %r5, 0; AGAIN: st.global.u32 [%rd0], %r38; ld.global.u32 %r6, "
                     "[%rd0]; add.u32 %r7, %r7, %r6; add.u32 %r5, %r5, 1;"
                     "setp.lt.u32 %p0, %r5, 50; @%p0 bra AGAIN; st.global.u32 [%rd1], %r7;";
  std::vector<uint32_t> first;
  for (unsigned threads : {1u, 2u, 3u, 3u}) {
    Ran ran = run(body, {.grid = 40, .block = 64, .seed = 9, .threads = threads});
    if (first.empty())
      first = ran.out;
    EXPECT_EQ(ran.out, first);
  }
}

TEST(Memory, DistributedSharedMemory) {
  Ran ran = run(
      "mov.u32 %r4, word; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r38; "
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
      "mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1; mapa.shared::cluster.u32 %r7, %r4, %r6; "
      "ld.shared::cluster.u32 %r8, [%r7];"
      "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; st.global.u32 [%rd1], %r8;",
      {.grid = 4, .cluster = 2, .module = ".shared .align 4 .b8 word[128];"});
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(ran.out[i], i ^ 32);
}

} // namespace
