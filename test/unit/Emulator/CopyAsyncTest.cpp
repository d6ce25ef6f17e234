// cp.async, st.async and red.async: what lands, when it may be read, and the mistakes that are
// reported (PTX ISA 9.0, 9.7.9.25.3, 9.7.13.16.15, 9.7.9.13, 9.7.13.7).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

constexpr Adversary adversaries[] = {Adversary::None, Adversary::AsyncLate, Adversary::AsyncEarly};

/// 512 bytes to copy from, which no two lanes share, and as many for what has arrived.
std::vector<uint32_t> source() {
  std::vector<uint32_t> data(256);
  for (uint32_t i = 0; i < 128; ++i)
    data[i] = 0x01010101 * (i + 1);
  return data;
}
/// %rd2: the lane's 16 bytes of the source; %r2: its 16 bytes of `sm`, zero at first; %rd3: where
/// it reports; %p1: the lane is odd.
const char *const prologue =
    "mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd2, %rd0; add.u64 %rd3, %rd3, 512; add.u64 %rd2, "
    "%rd2, %rd0; shl.b32 %r2, %r0, 4; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; mov.u32 %r4, 0; "
    "st.shared.v4.u32 [%r2], {%r4, %r4, %r4, %r4}; and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 1;"
    "createpolicy.fractional.L2::evict_first.b64 %rd4, 0.5;";
const char *const epilogue =
    "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2]; st.global.v4.u32 [%rd3], {%r10, %r11, %r12, "
    "%r13};";
const char *const module = ".shared .align 16 .b8 sm[1024]; .shared .align 8 .b8 bar[8];";

struct Row {
  const char *text;
  uint32_t evenBytes, oddBytes; ///< that arrive in even and odd lanes
};
const Row rows[] = {
    {"cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.wait_all;", 4, 4},
    {"cp.async.ca.shared::cta.global [%r2], [%rd2], 8; cp.async.commit_group; "
     "cp.async.wait_group 0;",
     8, 8},
    {"cp.async.ca.shared.global.L2::128B [%r2], [%rd2], 16; cp.async.wait_all;", 16, 16},
    {"cp.async.cg.shared.global.L2::64B [%r2], [%rd2], 16; cp.async.wait_all;", 16, 16},
    {"cp.async.cg.shared.global.L2::256B [%r2], [%rd2], 16, 7; cp.async.wait_all;", 7, 7},
    {"selp.u32 %r6, 0, 5, %p1; cp.async.ca.shared.global [%r2], [%rd2], 8, %r6; "
     "cp.async.wait_all;",
     5, 0},
    {"cp.async.ca.shared.global [%r2], [%rd2], 16, %p1; cp.async.wait_all;", 16, 0},
    {"cp.async.ca.shared.global [%r2], [%rd2], 16, !%p1; cp.async.wait_all;", 0, 16},
    {"cp.async.cg.shared.global.L2::cache_hint [%r2], [%rd2], 16, %rd4; cp.async.wait_all;", 16,
     16},
    {"cp.async.ca.shared.global.L2::cache_hint [%r2], [%rd2], 4, %p1, %rd4; cp.async.wait_all;", 4,
     0},
    {"cp.async.cg.shared.global.L2::cache_hint.L2::256B [%r2], [%rd2], 16, 12, %rd4; "
     "cp.async.wait_all;",
     12, 12},
    // Half of the lanes only, and groups of their own.
    {"@%p1 cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.commit_group; "
     "cp.async.wait_group 0;",
     0, 16},
    {"@!%p1 cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; @%p1 "
     "cp.async.ca.shared.global [%r2], [%rd2], 8; cp.async.commit_group; cp.async.wait_group 0;",
     4, 8},
    // The older of two groups.
    {"cp.async.ca.shared.global [%r2], [%rd2], 8; cp.async.commit_group; cp.async.ca.shared.global "
     "[%r2+512], [%rd2], 8; cp.async.commit_group; cp.async.wait_group 1;",
     8, 8},
    // mbarriers count the threads' copies.
    {"setp.eq.u32 %p2, %r0, 0; @%p2 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; "
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.mbarrier.arrive.noinc.shared::cta.b64 "
     "[bar]; W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;",
     16, 16},
    {"setp.eq.u32 %p2, %r0, 0; @%p2 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mov.u64 %rd5, "
     "bar; cvta.shared.u64 %rd5, %rd5; cp.async.ca.shared.global [%r2], [%rd2], 16; "
     "cp.async.mbarrier.arrive.b64 [%rd5]; mbarrier.arrive.shared.b64 _, [bar]; W: "
     "mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;",
     16, 16},
};
class CpAsync : public testing::TestWithParam<size_t> {};
TEST_P(CpAsync, Copies) {
  const Row &row = rows[GetParam()];
  for (Adversary adversary : adversaries)
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Ran ran = run(std::string(prologue) + row.text + epilogue,
                    {.seed = seed, .adversary = adversary, .module = module, .data = source()});
      ASSERT_TRUE(ran.result.clean()) << row.text << "\n" << ran.text();
      for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t byte = 0; byte < 16; ++byte) {
          uint32_t wanted =
              byte < (lane % 2 ? row.oddBytes : row.evenBytes) ? 4 * lane + byte / 4 + 1 : 0;
          ASSERT_EQ(ran.out[128 + 4 * lane + byte / 4] >> (8 * (byte % 4)) & 0xff, wanted)
              << row.text << " lane " << lane << " byte " << byte;
        }
    }
}
INSTANTIATE_TEST_SUITE_P(All, CpAsync, testing::Range(size_t(0), std::size(rows)));

struct Mistake {
  const char *kind, *wrong, *right;
};
const char *const other =
    "xor.b32 %r6, %r0, 32; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, %r3; ld.shared.u32 %r7, [%r6];";
const Mistake mistakes[] = {
    {"async-race",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.commit_group; ld.shared.u32 %r7, "
     "[%r2];",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.commit_group; cp.async.wait_group 0; "
     "ld.shared.u32 %r7, [%r2];"},
    // What is not committed is in no group.
    {"async-race",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_group 0; ld.shared.u32 %r7, "
     "[%r2]; cp.async.wait_all;",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_all; ld.shared.u32 %r7, [%r2];"},
    {"async-race",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.commit_group; "
     "cp.async.ca.shared.global [%r2+1024], [%rd2], 16; cp.async.commit_group; cp.async.wait_group "
     "1; ld.shared.u32 %r7, [%r2+1024]; cp.async.wait_group 0;",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.commit_group; "
     "cp.async.ca.shared.global [%r2+1024], [%rd2], 16; cp.async.commit_group; cp.async.wait_group "
     "1; ld.shared.u32 %r7, [%r2]; cp.async.wait_group 0;"},
    {"async-overwrite",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; st.shared.u32 [%r2], %r0; cp.async.wait_all;",
     "st.shared.u32 [%r2], %r0; cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_all;"},
    {"async-overwrite",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.ca.shared.global [%r2], [%rd2], 8; "
     "cp.async.wait_all;",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_all; cp.async.ca.shared.global "
     "[%r2], [%rd2], 8; cp.async.wait_all;"},
    {"cp-async-invalid",
     "mov.u32 %r6, 9; cp.async.ca.shared.global [%r2], [%rd2], 8, %r6; cp.async.wait_all;",
     "mov.u32 %r6, 8; cp.async.ca.shared.global [%r2], [%rd2], 8, %r6; cp.async.wait_all;"},
    {"misaligned", "cp.async.ca.shared.global [%r2+4], [%rd2], 8; cp.async.wait_all;",
     "cp.async.ca.shared.global [%r2+4], [%rd2], 4; cp.async.wait_all;"},
    {"misaligned", "cp.async.ca.shared.global [%r2], [%rd2+8], 16; cp.async.wait_all;",
     "cp.async.ca.shared.global [%r2], [%rd2+8], 8; cp.async.wait_all;"},
    {"global-out-of-bounds",
     "cp.async.ca.shared.global [%r2], [%rd0+1048576], 16; cp.async.wait_all;",
     "cp.async.ca.shared.global [%r2], [%rd0+1048576], 16, 0; cp.async.wait_all;"},
    {"missing-proxy-fence",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_all; setp.eq.u32 %p4, %r0, 0; "
     "@%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r2], 16; "
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
     "cp.async.ca.shared.global [%r2], [%rd2], 16; cp.async.wait_all; fence.proxy.async; "
     "setp.eq.u32 %p4, %r0, 0; @%p4 cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r2], 16; "
     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"},
    // With .noinc the arrivals must be counted when the mbarrier is initialised.
    {"mbarrier-arrivals",
     "setp.eq.u32 %p2, %r0, 0; @%p2 mbarrier.init.shared.b64 [bar], 33; bar.sync 0; "
     "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; W: mbarrier.try_wait.parity.shared.b64 %p3, "
     "[bar], 0; @!%p3 bra W;",
     "setp.eq.u32 %p2, %r0, 0; @%p2 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; "
     "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; W: mbarrier.try_wait.parity.shared.b64 %p3, "
     "[bar], 0; @!%p3 bra W;"},
};
class CpAsyncMistakes : public testing::TestWithParam<size_t> {};
TEST_P(CpAsyncMistakes, AreReported) {
  const Mistake &m = mistakes[GetParam()];
  const KernelSetup setup{.module = ".shared .align 16 .b8 sm[2048]; .shared .align 8 .b8 bar[8];",
                          .data = source()};
  for (Adversary adversary : adversaries)
    for (uint64_t seed = 0; seed < 4; ++seed) {
      KernelSetup with = setup;
      with.adversary = adversary;
      with.seed = seed;
      Ran wrong = run(std::string(prologue) + m.wrong, with);
      EXPECT_TRUE(wrong.has(m.kind)) << m.wrong << "\n" << wrong.text();
      Ran right = run(std::string(prologue) + m.right, with);
      EXPECT_TRUE(right.result.clean()) << m.right << "\n" << right.text();
    }
}
INSTANTIATE_TEST_SUITE_P(All, CpAsyncMistakes, testing::Range(size_t(0), std::size(mistakes)));

TEST(CpAsync, AnotherWarpNeedsABarrierToo) {
  for (Adversary adversary : adversaries)
    for (bool barrier : {false, true}) {
      Ran ran = run(std::string(prologue) +
                        "bar.sync 0; cp.async.ca.shared.global [%r2], [%rd0], 16; "
                        "cp.async.wait_all;" +
                        (barrier ? "bar.sync 0;" : "") + other,
                    {.block = 64, .adversary = adversary, .module = module, .data = source()});
      EXPECT_EQ(ran.has("async-race"), !barrier) << ran.text();
      EXPECT_EQ(ran.result.clean(), barrier) << ran.text();
    }
}

TEST(CpAsync, TheSourceIsReadUntilTheWait) {
  // Another CTA changes the source while the copy may be in flight, so either value is read.
  bool before = false, after = false;
  for (uint64_t seed = 0; seed < 40 && !(before && after); ++seed) {
    Ran ran = run("mov.u32 %r2, sm; setp.eq.u32 %p1, %r39, 1; @%p1 bra WRITER;"
                  "cp.async.ca.shared.global [%r2], [%rd0+8], 4; cp.async.wait_all; ld.shared.u32 "
                  "%r3, [%r2]; st.global.u32 [%rd0], %r3; bra OUT; WRITER: mov.u32 %r4, 7; "
                  "st.volatile.global.u32 [%rd0+8], %r4; OUT:",
                  {.grid = 2,
                   .block = 1,
                   .seed = seed,
                   .module = ".shared .align 16 .b8 sm[16];",
                   .data = {0, 0, 5, 0}});
    before |= ran.out[0] == 5;
    after |= ran.out[0] == 7;
    EXPECT_TRUE(ran.out[0] == 5 || ran.out[0] == 7);
  }
  EXPECT_TRUE(before);
}

TEST(CpAsync, RefusesWhatPtxDoesNotHave) {
  for (const char *text :
       {"cp.async.cg.shared.global [%r1], [%rd0], 8;",
        "cp.async.ca.shared.global [%r1], [%rd0], 6;",
        "cp.async.ca.shared.global [%r1], [%rd0], %r1;", "cp.async.wait_group %r1;",
        "cp.async.ca.shared::cluster.global [%r1], [%rd0], 16;",
        "cp.async.mbarrier.arrive.shared::cluster.b64 [%r1];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r1], %rs0, [%r1];",
        "st.async.mmio.release.sys.global.b32 [%rd0], %r1;",
        "st.bulk.weak.shared::cta [%r1], %rd1, 0;",
        "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.and.b64 [%r1], "
        "%rd1, [%r2];",
        "red.async.mbarrier::complete_tx::bytes.add.u32 [%rd0], %r1, [%rd2];"})
    EXPECT_NE(refusal(kernelText(text, {})), "") << text;
}

/// Rank 0 of two CTAs sends to rank 1, whose thread waits for the bytes and reports four words.
struct Store {
  const char *text;
  uint32_t bytes;
  uint32_t words[4];
};
/// %r5, %r6: cell and barrier of rank 1; %rd5, %rd6: the same as generic addresses.
const char *const toPeer =
    "mov.u32 %r1, 0x11111111; mov.u32 %r2, 0x22222222; mov.u32 %r3, 0x33333333; mov.u32 %r4, "
    "0x44444444; mov.b64 %rd1, {%r1, %r2}; mov.b64 %rd2, {%r3, %r4}; mov.b32 %f1, %r1; mov.b32 "
    "%f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4; mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2;";
const Store stores[] = {
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s64 [%r5], {%rd1, %rd2}, "
     "[%r6];",
     16,
     {0x11111111, 0x22222222, 0x33333333, 0x44444444}},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5], %r1, [%r6];",
     4,
     {0x11111111, 2, 3, 4}},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%r5+4], %f1, [%r6];",
     4,
     {1, 0x11111111, 3, 4}},
    {"st.async.weak.mbarrier::complete_tx::bytes.u64 [%rd5], %rd1, [%rd6];",
     8,
     {0x11111111, 0x22222222, 3, 4}},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.f64 [%r5+8], %fd1, [%r6];",
     8,
     {1, 2, 0x11111111, 0x22222222}},
    {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r5], {%r2, %r1}, [%r6];",
     8,
     {0x22222222, 0x11111111, 3, 4}},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r5], {%r4,%r3,%r2,%r1}, "
     "[%r6];",
     16,
     {0x44444444, 0x33333333, 0x22222222, 0x11111111}},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%r5], {%f1,%f2,%f3,%f4}, "
     "[%r6];",
     16,
     {0x11111111, 0x22222222, 0x33333333, 0x44444444}},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%r5], {%fd2,%fd1}, [%r6];",
     16,
     {0x33333333, 0x44444444, 0x11111111, 0x22222222}},
#define RED "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster."
    {RED "add.u32 [%r5], %r1, [%r6];", 4, {0x11111112, 2, 3, 4}},
    {RED "add.s32 [%r5], -3, [%r6];", 4, {0xfffffffe, 2, 3, 4}},
    {RED "add.u64 [%r5], -1, [%r6];", 8, {0, 2, 3, 4}},
    {RED "add.s64 [%r5+8], 1, [%r6];", 8, {1, 2, 4, 4}},
    {RED "inc.u32 [%r5+4], 5, [%r6];", 4, {1, 3, 3, 4}},
    {RED "inc.u32 [%r5+4], 2, [%r6];", 4, {1, 0, 3, 4}},
    {RED "dec.u32 [%r5+4], 5, [%r6];", 4, {1, 1, 3, 4}},
    {RED "min.s32 [%r5+8], -1, [%r6];", 4, {1, 2, 0xffffffff, 4}},
    {RED "min.u32 [%r5+8], -1, [%r6];", 4, {1, 2, 3, 4}},
    {RED "max.s32 [%r5+8], -1, [%r6];", 4, {1, 2, 3, 4}},
    {RED "max.u32 [%r5+8], -1, [%r6];", 4, {1, 2, 0xffffffff, 4}},
    {RED "and.b32 [%r5+8], 5, [%r6];", 4, {1, 2, 1, 4}},
    {RED "or.b32 [%r5+8], 8, [%r6];", 4, {1, 2, 11, 4}},
    {RED "xor.b32 [%r5+8], 1, [%r6];", 4, {1, 2, 2, 4}},
    {"red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32 [%rd5], 1, [%rd6];",
     4,
     {2, 2, 3, 4}},
};
std::string sendText(const Store &row, bool waits) {
  return std::string(toPeer) +
         "mov.u32 %r20, cell; mov.u32 %r21, bar; mapa.shared::cluster.u32 %r5, %r20, 1; "
         "mapa.shared::cluster.u32 %r6, %r21, 1; cvt.u64.u32 %rd5, %r5; cvt.u64.u32 %rd6, %r6; "
         "cvta.shared::cluster.u64 %rd5, %rd5; cvta.shared::cluster.u64 %rd6, %rd6;"
         "mov.u32 %r22, 1; mov.u32 %r23, 2; mov.u32 %r24, 3; mov.u32 %r25, 4; "
         "st.shared.v4.u32 [cell], {%r22, %r23, %r24, %r25}; mbarrier.init.shared.b64 [bar], 1; "
         "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r7, %cluster_ctarank; "
         "setp.eq.u32 %p1, %r7, 1; @%p1 bra TAKE;" +
         row.text + " bra OUT; TAKE: mbarrier.arrive.expect_tx.shared.b64 _, [bar], " +
         std::to_string(row.bytes) + ";" +
         (waits ? "W: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;" : "") +
         "ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [cell]; st.global.v4.u32 [%rd0], {%r10, %r11, "
         "%r12, %r13}; OUT: barrier.cluster.arrive; barrier.cluster.wait;";
}
const char *const cells = ".shared .align 16 .b8 cell[16]; .shared .align 8 .b8 bar[8];";

class RemoteStores : public testing::TestWithParam<size_t> {};
TEST_P(RemoteStores, Arrive) {
  const Store &row = stores[GetParam()];
  for (Adversary adversary : adversaries)
    for (uint64_t seed = 0; seed < 3; ++seed) {
      KernelSetup setup{.grid = 2,
                        .block = 1,
                        .cluster = 2,
                        .seed = seed,
                        .adversary = adversary,
                        .module = cells,
                        .data = {0, 0, 0, 0}};
      Ran ran = run(sendText(row, true), setup);
      ASSERT_TRUE(ran.result.clean()) << row.text << "\n" << ran.text();
      for (uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(ran.out[i], row.words[i]) << row.text;
      Ran early = run(sendText(row, false), setup);
      EXPECT_TRUE(early.has("async-race") || early.has("async-overwrite"))
          << row.text << early.text();
    }
}
INSTANTIATE_TEST_SUITE_P(All, RemoteStores, testing::Range(size_t(0), std::size(stores)));

TEST(RemoteStore, ReductionsOfManyLanesAddUp) {
  // 32 lanes of rank 0 count into one word of rank 1, and lanes of rank 1 with ordinary atomics.
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran ran = run(
        "mov.u32 %r20, cell; mov.u32 %r21, bar; mapa.shared::cluster.u32 %r5, %r20, 1; "
        "mapa.shared::cluster.u32 %r6, %r21, 1; setp.eq.u32 %p3, %r0, 0; @%p3 st.shared.u32 "
        "[cell], "
        "0; @%p3 mbarrier.init.shared.b64 [bar], 1; barrier.cluster.arrive; barrier.cluster.wait; "
        "mov.u32 %r7, %cluster_ctarank; setp.eq.u32 %p1, %r7, 1; @%p1 bra TAKE;" RED
        "add.u32 [%r5], %r0, [%r6]; bra OUT; TAKE: @%p3 mbarrier.arrive.expect_tx.shared.b64 _, "
        "[bar], 128; red.shared.add.u32 [cell], 1; W: mbarrier.try_wait.parity.shared.b64 %p2, "
        "[bar], 0; @!%p2 bra W; bar.sync 0; ld.shared.u32 %r10, [cell]; st.global.u32 [%rd0], "
        "%r10; "
        "OUT: barrier.cluster.arrive; barrier.cluster.wait;",
        {.grid = 2, .cluster = 2, .seed = seed, .module = cells});
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    EXPECT_EQ(ran.out[0], 496u + 32);
  }
}

TEST(RemoteStore, TheMbarrierIsInTheSameCta) {
  Store row{"mov.u32 %r6, bar; st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5], "
            "%r1, [%r6];",
            4,
            {}};
  Ran ran = run(sendText(row, true),
                {.grid = 2, .block = 1, .cluster = 2, .module = cells, .data = {0, 0, 0, 0}});
  EXPECT_TRUE(ran.has("remote-store-invalid")) << ran.text();
}

} // namespace
