// Every class of finding that a few lines can provoke: a program that has it, and one that nearly
// has it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

#include "girih/Emulator/Progress.h"

#include <chrono>
#include <thread>

using testing::HasSubstr;

namespace girih::emu::test {

namespace {

constexpr char kWord[] = ".shared .align 8 .b8 buf[4096];";
/// %r4 = address of this thread's word in buf.
const std::string kMine = "mov.u32 %r5, buf; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r5;";
/// An mbarrier at buf for `count` arrivals, initialised and visible to all.
std::string barrier(int count) {
  return "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], " +
         std::to_string(count) + "; bar.sync 0;";
}
const std::string kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W;";

/// A wgmma of 64x8x16 from shared memory with this descriptor for both operands, waited for.
std::string wgmma(const std::string &descriptor, const std::string &change = "") {
  return "mov.u64 %rd2, " + descriptor + ";" + change +
         "wgmma.fence.sync.aligned; setp.ne.u32 %p1, %r0, %r0; "
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3},"
         " %rd2, %rd2, %p1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; "
         "wgmma.wait_group.sync.aligned 0;";
}

} // namespace

std::vector<Case> checkCases() {
  KernelSetup shared64{.block = 64, .module = kWord};
  std::string other = "xor.b32 %r6, %r0, 32; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r5;";
  return {
      {"global past the end",
       "global-out-of-bounds",
       "st.global.u32 [%rd1+4], %r0;",
       {},
       "4 bytes past the end of an allocation of 128 bytes"},
      {"global wild",
       "global-out-of-bounds",
       "mov.u64 %rd2, 64; ld.global.u32 %r4, [%rd2];",
       {},
       "which no allocation holds"},
      {"global in bounds", "", "ld.global.u32 %r4, [%rd0+124];", {}},
      {"misaligned global", "misaligned", "ld.global.u32 %r4, [%rd0+2];", {}},
      {"misaligned vector",
       "misaligned",
       "ld.global.v2.u32 {%r4, %r5}, [%rd0+4];",
       {},
       "8-byte access"},
      {"shared out of bounds", "shared-out-of-bounds", kMine + "st.shared.u32 [%r4+4096], %r0;",
       shared64, "4096 static"},
      {"shared below", "shared-out-of-bounds", "mov.u32 %r4, 0; st.shared.u32 [%r4], %r0;",
       shared64},
      {"initialised", "", kMine + "st.shared.u32 [%r4], %r0; ld.shared.u32 %r6, [%r4];", shared64},
      {"all warps clear the same word",
       "",
       "mov.u32 %r4, buf; st.shared.u32 [%r4], 0; bar.sync 0; ld.shared.u32 %r5, [%r4];",
       {.block = 64, .module = ".shared .align 4 .b8 buf[4];"}},
      {"all warps write their own value to the same word",
       "shared-race",
       "mov.u32 %r4, buf; shr.u32 %r6, %r0, 5; st.shared.u32 [%r4], %r6; bar.sync 0;",
       {.block = 64, .module = ".shared .align 4 .b8 buf[4];"}},
      {"one of them writes another value to the cleared word",
       "shared-race",
       "mov.u32 %r4, buf; st.shared.u32 [%r4], 0; setp.eq.u32 %p1, %r0, 33; @%p1 st.shared.u32 "
       "[%r4], 5;",
       {.block = 64, .module = ".shared .align 4 .b8 buf[4];"}},
      {"read across warps without a barrier", "shared-race",
       kMine + other + "st.shared.u32 [%r4], %r0; ld.shared.u32 %r7, [%r6];", shared64},
      {"read across warps with one", "",
       kMine + other + "st.shared.u32 [%r4], %r0; bar.sync 0; ld.shared.u32 %r7, [%r6];", shared64},
      {"write after read without a barrier", "shared-race",
       kMine + other +
           "st.shared.u32 [%r4], %r0; bar.sync 0; ld.shared.u32 %r7, [%r6]; st.shared.u32 [%r4], "
           "%r7;",
       shared64},
      {"write after read with one", "",
       kMine + other +
           "st.shared.u32 [%r4], %r0; bar.sync 0; ld.shared.u32 %r7, [%r6]; bar.sync 0; "
           "st.shared.u32 [%r4], %r7;",
       shared64},
      {"neighbouring bytes of two warps", "",
       "mov.u32 %r5, buf; shr.u32 %r6, %r0, 5; and.b32 %r7, %r0, 31; shl.b32 %r7, %r7, 1; add.u32 "
       "%r7, %r7, %r6; add.u32 %r5, %r5, %r7; st.shared.u8 [%r5], %r0;",
       shared64},
      {"shared atomics need no barrier", "",
       "mov.u32 %r5, buf; setp.ne.u32 %p0, %r0, 0; @!%p0 st.shared.u32 [%r5], 0; bar.sync 0; "
       "atom.shared.add.u32 %r6, [%r5], 1; bar.sync 0; ld.shared.u32 %r7, [%r5];",
       shared64},
      {"barrier counts differ", "barrier-count",
       "setp.lt.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 1, 64; bra E; A: bar.sync 1, 96; E:",
       shared64},
      {"barrier with arrive", "",
       "setp.lt.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 1, 64; bra E; A: bar.arrive 1, 64; E:",
       shared64},
      {"barrier number", "barrier-invalid", "bar.sync 16;", {}},
      {"half a warp at bar.sync",
       "divergent-aligned",
       "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; bar.sync 0; A:",
       {},
       "lanes 16-31"},
      {"a warp together again",
       "",
       "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; add.u32 %r4, %r0, 1; A: bar.sync 0;",
       {}},
      {"exited lanes do not count",
       "",
       "setp.lt.u32 %p0, %r0, 5; @%p0 exit; bar.sync 0;",
       {.block = 64}},
      {"missing barrier partner", "deadlock",
       "setp.lt.u32 %p0, %r0, 32; @%p0 bra E; bar.sync 1, 64; E:", shared64,
       "waits at barrier 1: 32 of 64 threads have arrived"},
      {"mbarrier without init", "mbarrier-uninitialised",
       "mov.u32 %r5, buf; mbarrier.arrive.shared::cta.b64 _, [%r5];", shared64},
      {"mbarrier init without a barrier", "mbarrier-uninitialised",
       "mov.u32 %r5, buf; setp.eq.u32 %p0, %r0, 0; @%p0 mbarrier.init.shared::cta.b64 [%r5], 64; "
       "SPIN: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3000; @%p1 bra SPIN; "
       "mbarrier.arrive.shared::cta.b64 _, [%r5];",
       shared64},
      {"mbarrier count zero", "mbarrier-count",
       "mov.u32 %r5, buf; mbarrier.init.shared::cta.b64 [%r5], 0;", shared64},
      {"mbarrier arrivals fit", "",
       barrier(64) + "mbarrier.arrive.shared::cta.b64 _, [%r5];" + kWait, shared64},
      {"mbarrier orders", "",
       barrier(64) + kMine + "add.u32 %r4, %r4, 64;" +
           "xor.b32 %r6, %r0, 32; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r5; st.shared.u32 [%r4], "
           "%r0; mbarrier.arrive.shared::cta.b64 _, [%r5];" +
           kWait + "ld.shared.u32 %r7, [%r6+64];",
       shared64},
      {"too many at once", "mbarrier-arrivals",
       barrier(3) + "setp.lt.u32 %p1, %r0, 1; @%p1 mbarrier.arrive.shared::cta.b64 _, [%r5], 4;",
       shared64, "4 arrive, 3 of 3 are pending"},
      {"too few arrive", "mbarrier-arrivals",
       barrier(65) + "mbarrier.arrive.shared::cta.b64 _, [%r5];" + kWait, shared64,
       "was initialised for 65 arrivals and 1 never come"},
      {"bytes that never come", "mbarrier-bytes",
       barrier(1) + "@!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 16;" + kWait,
       shared64, "expects 16 more bytes and no copy in flight will deliver them"},
      {"two phases and no wait", "mbarrier-overrun",
       barrier(1) + "@!%p9 mbarrier.arrive.shared::cta.b64 _, [%r5]; @!%p9 "
                    "mbarrier.arrive.shared::cta.b64 _, [%r5];",
       shared64},
      {"nobody arrives", "deadlock", barrier(1) + kWait, shared64, "1 of 1 arrivals are missing"},
      {"test_wait polls for ever", "deadlock",
       barrier(1) + "T: mbarrier.test_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra T;",
       shared64, "polls for phase 0"},
      {"global flag that nobody sets",
       "deadlock",
       "T: ld.volatile.global.u32 %r4, [%rd0]; setp.eq.u32 %p0, %r4, 0; @%p0 bra T;",
       {},
       "(offset 0 of an allocation of 128 bytes), which holds 0x0; no thread has written there"},
      {"elected lane waits for the others", "",
       barrier(31) +
           "setp.lt.u32 %p2, %r0, 32; @!%p2 bra E; setp.ne.u32 %p1, %r0, 0; @%p1 bra OTHERS;" +
           kWait + "bra E; OTHERS: mbarrier.arrive.shared::cta.b64 _, [%r5]; E: bar.sync 0;",
       shared64},
      {"others wait for the elected lane", "",
       barrier(1) +
           "setp.lt.u32 %p2, %r0, 32; @!%p2 bra E; setp.eq.u32 %p1, %r0, 7; @%p1 bra ONE;" + kWait +
           "bra E; ONE: mbarrier.arrive.shared::cta.b64 _, [%r5]; E: bar.sync 0;",
       shared64},
      {"store onto an mbarrier", "mbarrier-overwritten",
       barrier(1) + "@!%p9 st.shared.u32 [%r5], 7; @!%p9 mbarrier.arrive.shared::cta.b64 _, [%r5];",
       shared64},
      {"volatile flag in shared memory", "",
       "mov.u32 %r5, buf; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [%r5], 0; bar.sync 0; "
       "setp.eq.u32 %p1, %r0, 32; @%p1 st.volatile.shared.u32 [%r5], 1; @!%p0 bra E; T: "
       "ld.volatile.shared.u32 %r6, [%r5]; setp.eq.u32 %p2, %r6, 0; @%p2 bra T; E:",
       shared64},
      {"multicast to both CTAs",
       "",
       barrier(1) +
           "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256; "
           "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; mov.u32 %r7, "
           "%cluster_ctarank; mov.u16 %rs1, 3; setp.ne.or.u32 %p8, %r7, 0, %p9; @!%p8 "
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
           "[%r6], [%rd0], 256, [%r5], %rs1;" +
           kWait +
           "ld.shared.u32 %r7, [%r6+252]; barrier.cluster.arrive.aligned; "
           "barrier.cluster.wait.aligned;",
       {.grid = 2, .block = 64, .cluster = 2, .module = kWord}},
      {"multicast beyond the cluster", "multicast-mask",
       barrier(1) + "add.u32 %r6, %r5, 1024; mov.u16 %rs1, 2; @!%p9 "
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
                    "cluster [%r6], [%rd0], 256, [%r5], %rs1;",
       shared64},
      {"wgmma of half a warpgroup", "wgmma-partial-warpgroup", wgmma("0x4000004000010040"),
       shared64},
      {"wgmma with a descriptor outside",
       "wgmma-descriptor",
       wgmma("0x4000004000013ff0"),
       {.block = 128, .module = kWord}},
      {"wgmma with different descriptors",
       "wgmma-mismatch",
       "mov.u64 %rd3, 0; cvt.u64.u32 %rd3, %r0; and.b64 %rd3, %rd3, 32; shr.u64 %rd3, %rd3, 4;" +
           wgmma("0x4000004000010040", "add.s64 %rd2, %rd2, %rd3;"),
       {.block = 128, .module = kWord}},
      {"trap", "trap", "setp.eq.u32 %p0, %r0, 3; @%p0 trap;", {}, "lane 3"},
      {"setmaxnreg beyond the pool",
       "setmaxnreg-pool",
       "setmaxnreg.inc.sync.aligned.u32 232;",
       {.block = 384},
       "168 registers a thread at launch"},
      {"setmaxnreg within it",
       "",
       "shr.u32 %r4, %r0, 7; setp.eq.u32 %p0, %r4, 0; @%p0 bra P; setmaxnreg.inc.sync.aligned.u32 "
       "232; bra E; P: setmaxnreg.dec.sync.aligned.u32 40; E:",
       {.block = 384}},
      {"setmaxnreg by a part of a warpgroup",
       "setmaxnreg-partial",
       "setp.lt.u32 %p0, %r0, 64; @%p0 bra E; setmaxnreg.dec.sync.aligned.u32 40; E:",
       {.block = 128}},
      {"setmaxnreg with an odd warp",
       "setmaxnreg-partial",
       "setmaxnreg.dec.sync.aligned.u32 40;",
       {.block = 288},
       "warpgroup of 1 warps"},
      {"mask that names absent lanes",
       "warp-mask",
       "setp.lt.u32 %p0, %r0, 8; @%p0 shfl.sync.idx.b32 %r4, %r0, 0, 31, -1;",
       {},
       "lanes 8-31"},
      {"mask that names those present",
       "",
       "setp.lt.u32 %p0, %r0, 8; @%p0 shfl.sync.idx.b32 %r4, %r0, 0, 31, 255;",
       {}},
      {"cluster address out of the cluster", "shared-out-of-bounds",
       kMine + "mov.u32 %r6, 3; mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 "
               "%r8, [%r7];",
       shared64},
      {"local out of bounds",
       "local-out-of-bounds",
       "{ .local .align 4 .b8 v[8]; .reg .b64 a; mov.u64 a, v; st.local.u32 [a+8], %r0; }",
       {}},
      {"tensor map of garbage",
       "tensor-map-invalid",
       "mov.u32 %r5, buf; add.u32 %r6, %r5, 1024;" + barrier(1) +
           "@!%p9 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
           "[%r6], [%rd0, {%r0}], [%r5];",
       {.block = 64, .module = kWord}},
      {"bulk copy of 8 bytes", "bulk-copy-invalid",
       barrier(1) + "add.u32 %r6, %r5, 1024; @!%p9 "
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], "
                    "[%rd0], 8, [%r5];",
       shared64},
      {"bulk copy", "",
       barrier(1) +
           "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256; "
           "@!%p9 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0], "
           "256, [%r5];" +
           kWait + "ld.shared.u32 %r7, [%r6+252];",
       shared64},
      {"bulk copy read too early", "async-race",
       barrier(1) +
           "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256; "
           "@!%p9 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0], "
           "256, [%r5]; setp.lt.u32 %p2, %r0, 32; @%p2 ld.shared.u32 %r7, [%r6+252];" +
           kWait,
       shared64},
      {"bulk copy with more bytes than expected", "mbarrier-bytes",
       barrier(1) +
           "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 240; "
           "@!%p9 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0], "
           "256, [%r5];" +
           kWait,
       shared64, "16 too many"},
      {"bulk store without a proxy fence", "missing-proxy-fence",
       kMine + "st.shared.u32 [%r4], %r0; bar.sync 0; setp.eq.u32 %p0, %r0, 0; @%p0 "
               "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r5], 256; "
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
       shared64},
      {"bulk store with one", "",
       kMine + "st.shared.u32 [%r4], %r0; fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 "
               "%p0, %r0, 0; @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r5], 256; "
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
       shared64},
      {"bulk store with the fence behind the barrier", "",
       kMine + "st.shared.u32 [%r4], %r0; bar.sync 0; fence.proxy.async; setp.eq.u32 %p0, %r0, 0; "
               "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r5], 256; "
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
       shared64},
      {"source of a bulk store overwritten", "async-overwrite",
       kMine + "st.shared.u32 [%r4], %r0; fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 "
               "%p0, %r0, 0; @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r5], 256; "
               "cp.async.bulk.commit_group; SPIN: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3000; "
               "@%p1 bra SPIN; st.shared.u32 [%r4], %r6; cp.async.bulk.wait_group 0;",
       shared64},
  };
}

namespace {

class Checks : public testing::TestWithParam<size_t> {};
TEST_P(Checks, ReportsExactlyThis) { expectExactly(checkCases()[GetParam()]); }
INSTANTIATE_TEST_SUITE_P(All, Checks, testing::Range(size_t(0), checkCases().size()));

TEST(Findings, TextAndJson) {
  Ran ran = run("ld.global.u32 %r4, [%rd0+128];");
  ASSERT_EQ(ran.result.findings.size(), 1u);
  EXPECT_EQ(ran.result.outcome, Outcome::Faulted);
  const Finding &f = ran.result.findings[0];
  EXPECT_EQ(f.sites[0].ptxLine, 9u);
  EXPECT_THAT(f.render(), HasSubstr("reads global 0x700000000080 (4 bytes): CTA (0,0,0) warp 0 "
                                    "lane 0\n    PTX line 9: ld.global.u32 %r4, [%rd0+128]"));
  EXPECT_THAT(f.json(), HasSubstr("\"kind\":\"global-out-of-bounds\""));
  EXPECT_THAT(f.json(), HasSubstr("\"ptx_line\":9"));
}

TEST(DeviceMemory, UseAfterFreeAndBadRanges) {
  Device device;
  uint64_t a = device.allocate(100);
  uint64_t b = device.allocate(100);
  device.free(a);
  auto module = device.loadModule(kernelText("ld.global.u32 %r4, [%rd0];", {}));
  LaunchConfig config;
  config.grid = {1, 1, 1};
  config.block = {32, 1, 1};
  config.params = &a;
  config.paramBytes = 8;
  LaunchResult result = device.launch(module->kernel("k"), config);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, "use-after-free");
  uint8_t bytes[200] = {};
  EXPECT_THROW(device.free(a), DeviceError);
  EXPECT_THROW(device.free(b + 1), DeviceError);
  EXPECT_THROW(device.copyToDevice(b, bytes, 101), DeviceError);
  EXPECT_THROW(device.copyFromDevice(bytes, a, 1), DeviceError);
  EXPECT_NO_THROW(device.copyToDevice(b + 50, bytes, 50));
  EXPECT_EQ(device.bytesAllocated(), 100u);
}

TEST(Launch, ImpossibleRequestsAreRefused) {
  Device device;
  auto module = device.loadModule(kernelText("ret;", {.directives = ".reqntid 64, 1, 1\n"}));
  auto refused = [&](auto change) {
    uint64_t parameter = 0;
    LaunchConfig config;
    config.grid = {2, 1, 1};
    config.block = {64, 1, 1};
    config.params = &parameter;
    config.paramBytes = 8;
    change(config);
    try {
      device.launch(module->kernel("k"), config);
    } catch (const DeviceError &error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidLaunch);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](LaunchConfig &) {}), "");
  EXPECT_THAT(refused([](LaunchConfig &c) { c.block.x = 32; }),
              HasSubstr("block 32x1x1, but the kernel requires 64x1x1"));
  EXPECT_THAT(refused([](LaunchConfig &c) { c.cluster = Dim3{3, 1, 1}; }),
              HasSubstr("grid 2x1x1 is no multiple of cluster 3x1x1"));
  EXPECT_THAT(refused([](LaunchConfig &c) { c.dynamicSharedBytes = 300000; }),
              HasSubstr("a CTA can have 232448"));
  EXPECT_EQ(refused([](LaunchConfig &c) { c.dynamicSharedBytes = 232448; }), "");
  EXPECT_THAT(refused([](LaunchConfig &c) { c.paramBytes = 4; }),
              HasSubstr("the parameters are 4 bytes, the kernel takes 8"));
  EXPECT_THAT(refused([](LaunchConfig &c) { c.grid.x = 0; }), HasSubstr("empty grid"));
}

TEST(Launch, CanBeCancelled) {
  Device device;
  auto module = device.loadModule(kernelText("T: add.u32 %r4, %r4, 1; bra T;", {}));
  uint64_t parameter = 0;
  std::atomic<bool> cancel = false;
  LaunchConfig config;
  config.grid = {4, 1, 1};
  config.block = {128, 1, 1};
  config.params = &parameter;
  config.paramBytes = 8;
  config.options.cancel = &cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  LaunchResult result = device.launch(module->kernel("k"), config);
  other.join();
  EXPECT_EQ(result.outcome, Outcome::Cancelled);
  // It says where the sixteen warps were.
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, "stopped");
  EXPECT_EQ(result.findings[0].severity, Severity::Note);
  EXPECT_EQ(result.findings[0].message, "stopped while 0 warps waited and 16 ran");
  ASSERT_FALSE(result.findings[0].sites.empty());
  EXPECT_EQ(result.findings[0].sites[0].action.rfind("runs", 0), 0u);
  EXPECT_EQ(Progress::get().ctas, 0u);
  EXPECT_GT(Progress::get().warpInstructions, 0u);
}

} // namespace

} // namespace girih::emu::test
