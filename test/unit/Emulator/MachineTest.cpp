// Grids, residency, standstills and interleavings.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;
using testing::Not;

namespace {

const Finding *find(const LaunchResult &result, const std::string &kind) {
  for (const Finding &f : result.findings)
    if (f.kind == kind)
      return &f;
  return nullptr;
}

// Standstills.

/// CTA i writes flag i and waits for flag 1 - i; a flag is a word of the output.
const std::string kMeet =
    "setp.ne.u32 %p0, %r0, 0; @%p0 bra E; mov.u32 %r4, 1; mul.wide.u32 %rd2, %r39, 4; add.u64 "
    "%rd2, "
    "%rd2, %rd0; st.release.gpu.global.u32 [%rd2], %r4; xor.b32 %r5, %r39, 1; mul.wide.u32 %rd3, "
    "%r5, 4; add.u64 %rd3, %rd3, %rd0;\n"
    "W: ld.acquire.gpu.global.u32 %r6, [%rd3]; setp.eq.u32 %p1, %r6, 0; @%p1 bra W; E:";

/// Runs a body on a device with so many multiprocessors, each with room for one CTA only.
Ran runOn(uint32_t multiprocessors, const std::string &body, KernelSetup setup,
          const std::string &ctas = "") {
  setup.directives = ".maxnreg 128 ";
  Device device({.multiprocessors = multiprocessors});
  auto module = device.loadModule(kernelText(body, setup), {"test.ptx", {}});
  const uint64_t words = uint64_t(setup.grid) * setup.block;
  uint64_t address = device.allocate(words * 4);
  device.fill(address, 0, 4, words);
  LaunchConfig config;
  config.grid = {setup.grid, 1, 1};
  config.block = {setup.block, 1, 1};
  config.params = &address;
  config.paramBytes = 8;
  config.options.seed = setup.seed;
  if (!ctas.empty())
    config.options.ctas = parseCtas(ctas);
  Ran ran;
  ran.result = device.launch(module->kernel("k"), config);
  ran.out.resize(words);
  device.copyFromDevice(ran.out.data(), address, words * 4);
  return ran;
}
constexpr uint32_t kWhole = 512; // threads of 128 registers: all that a multiprocessor has

TEST(Standstill, CtasThatMeetNeedToBeResident) {
  KernelSetup setup{.grid = 2, .block = kWhole};
  EXPECT_TRUE(runOn(2, kMeet, setup).result.clean());
  Ran alone = runOn(1, kMeet, setup);
  EXPECT_EQ(alone.result.outcome, Outcome::Deadlock);
  const Finding *f = find(alone.result, "deadlock");
  ASSERT_NE(f, nullptr) << alone.text();
  EXPECT_THAT(f->message,
              HasSubstr("1 CTAs of kernel k (CTA (1,0,0) is the next) have not started"));
  ASSERT_FALSE(f->sites.empty());
  EXPECT_THAT(f->sites[0].action, HasSubstr("polls global 0x"));
  EXPECT_THAT(f->sites[0].action,
              HasSubstr("(offset 4 of an allocation of 4096 bytes), which holds "
                        "0x0; no thread has written there"));
}

TEST(Standstill, ASampleLeavesOutThoseWhoRelease) {
  KernelSetup setup{.grid = 8, .block = kWhole};
  EXPECT_TRUE(runOn(8, kMeet, setup, "0:2").result.clean());
  EXPECT_TRUE(runOn(8, kMeet, setup, "6,last").result.clean());
  Ran part = runOn(8, kMeet, setup, "1");
  ASSERT_TRUE(part.has("deadlock")) << part.text();
  EXPECT_THAT(part.text(), HasSubstr("a sample of 1 of the 8 CTAs of kernel k"));
}

TEST(Standstill, NamesTheLastWriterOfAFlag) {
  // Both reset the other's flag after having set their own.
  Ran ran =
      runOn(2,
            "setp.ne.u32 %p0, %r0, 0; @%p0 bra E; mov.u32 %r4, 7; setp.ne.u32 %p2, %r39, 0; "
            "@%p2 bra W; st.release.gpu.global.u32 [%rd0], %r4;\n"
            "W: ld.acquire.gpu.global.u32 %r6, [%rd0]; setp.ne.u32 %p1, %r6, 1; @%p1 bra W; E:",
            {.grid = 2, .block = kWhole});
  ASSERT_TRUE(ran.has("deadlock")) << ran.text();
  EXPECT_THAT(ran.text(),
              HasSubstr("which holds 0x7; last written by CTA (0,0,0) warp 0 at PTX line "));
  EXPECT_THAT(ran.text(), HasSubstr("wrote it last"));
}

struct WaitCase {
  const char *name;
  const char *kind; ///< empty: the near miss, which runs to its end
  std::string body;
  KernelSetup setup;
  const char *text = "";
};
const char kWord[] = ".shared .align 8 .b8 buf[64];";
std::string initBarrier(int count) {
  return "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], " +
         std::to_string(count) + "; bar.sync 0;";
}
const std::string kWait =
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], %r9; @!%p0 bra W;";

std::vector<WaitCase> waitCases() {
  KernelSetup two{.block = 64, .module = kWord};
  KernelSetup pair{.grid = 2, .block = 32, .cluster = 2};
  const std::string split = "setp.ge.u32 %p2, %r0, 32; mov.u32 %r9, 0; ";
  return {
      {"an arriver of earlier phases has exited", "deadlock",
       // Warp 1 arrives once and exits; warp 0 waits for two phases.
       initBarrier(1) + split +
           "@%p2 bra A; bra B; A: setp.ne.u32 %p3, %r0, 32; @!%p3 mbarrier.arrive.shared::cta.b64 "
           "_, "
           "[%r5]; bra E; B: " +
           kWait +
           "mov.u32 %r9, 1; V: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], %r9; @!%p0 bra "
           "V; E:",
       two, "could arrive at mbarrier 0x400 as it did in phase 0 (PTX line"},
      {"and the state of it is told", "deadlock",
       initBarrier(1) + split +
           "@%p2 bra A; bra B; A: setp.ne.u32 %p3, %r0, 32; @!%p3 mbarrier.arrive.shared::cta.b64 "
           "_, "
           "[%r5]; bra E; B: " +
           kWait +
           "mov.u32 %r9, 1; V: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], %r9; @!%p0 bra "
           "V; E:",
       two, "but has exited"},
      {"an arriver that arrives twice", "",
       initBarrier(1) + split +
           "@%p2 bra A; bra B; A: setp.ne.u32 %p3, %r0, 32; @!%p3 mbarrier.arrive.shared::cta.b64 "
           "_, "
           "[%r5]; bar.sync 1, 64; @!%p3 mbarrier.arrive.shared::cta.b64 _, [%r5]; bra E; B: " +
           kWait +
           "bar.sync 1, 64; mov.u32 %r9, 1; V: mbarrier.try_wait.parity.shared::cta.b64 %p0, "
           "[%r5], "
           "%r9; @!%p0 bra V; E:",
       two},
      {"named barrier, the other has exited", "deadlock", split + "@%p2 bra E; bar.sync 1, 64; E:",
       two, "32 of 64 threads have arrived; warp 1 has exited"},
      {"named barriers, crossed", "deadlock",
       split + "@%p2 bra A; bar.sync 1, 64; bra E; A: bar.sync 2, 64; E:", two,
       "waits at barrier 2: 32 of 64 threads have arrived; warp 0 does not wait here"},
      {"named barriers, in one order", "",
       split + "@%p2 bra A; bar.sync 1, 64; bar.sync 2, 64; bra E; A: bar.sync 1, 64; bar.sync 2, "
               "64; E:",
       two},
      {"cluster barrier",
       "deadlock",
       "setp.eq.u32 %p0, %r39, 1; @%p0 bra S; barrier.cluster.arrive.aligned; "
       "barrier.cluster.wait.aligned; bra E; S: mov.u32 %r5, buf; mov.u32 %r6, 0; st.shared.u32 "
       "[%r5], %r6; bar.sync 0; T: ld.volatile.shared.u32 %r6, [%r5]; setp.eq.u32 %p1, %r6, 0; "
       "@%p1 "
       "bra T; E:",
       {.grid = 2, .block = 32, .cluster = 2, .module = kWord},
       "waits at the cluster barrier, where have not arrived: CTA (1,0,0) warp 0"},
      {"a shared flag",
       "deadlock",
       "mov.u32 %r5, buf; mov.u32 %r6, 0; st.shared.u32 [%r5], %r6; bar.sync 0; T: "
       "ld.volatile.shared.u32 %r6, [%r5]; setp.eq.u32 %p1, %r6, 0; @%p1 bra T;",
       {.module = kWord},
       "polls shared 0x400 of CTA (0,0,0), which holds 0x0; last written by CTA (0,0,0) warp 0"},
      {"cluster barrier, everybody", "",
       "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;", pair},
      {"lanes that have exited",
       "",
       "setp.eq.u32 %p0, %r0, 3; @%p0 exit; bar.warp.sync 0xffffffff;",
       {}},
      {"lanes that wait elsewhere",
       "deadlock",
       initBarrier(1) +
           "mov.u32 %r9, 0; setp.eq.u32 %p1, %r0, 3; @%p1 bra A; bar.warp.sync 0xffffffff; bra E; "
           "A: " +
           kWait + " E:",
       {.module = kWord},
       "waits for lanes 3 of its warp"},
      {"the register pool",
       "setmaxnreg-pool",
       "setmaxnreg.inc.sync.aligned.u32 200;",
       {.block = 128, .directives = ".maxntid 128 .maxnreg 168 "},
       "0 are free; warps 0, 1, 2, 3 hold 168 a thread"},
      {"a clock that runs out",
       "",
       "mov.u64 %rd5, %globaltimer; T: ld.volatile.global.u32 %r4, [%rd0]; mov.u64 %rd6, "
       "%globaltimer; sub.u64 %rd6, %rd6, %rd5; setp.gt.u64 %p1, %rd6, 1000000000; @%p1 bra E; "
       "setp.eq.u32 %p0, %r4, 0; @%p0 bra T; E:",
       {}},
      {"a 32-bit clock that runs out",
       "",
       "mov.u32 %r5, %clock; T: nanosleep.u32 100; ld.volatile.global.u32 %r4, [%rd0]; mov.u32 "
       "%r6, "
       "%clock; sub.u32 %r6, %r6, %r5; setp.gt.u32 %p1, %r6, 100000000; @%p1 bra E; setp.eq.u32 "
       "%p0, "
       "%r4, 0; @%p0 bra T; E:",
       {}},
      {"a try_wait that gives up",
       "",
       initBarrier(1) +
           "mov.u32 %r9, 0; mov.u32 %r10, 0; G: "
           "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], %r9, 1000; @%p0 bra E; "
           "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 2; @%p1 bra G; E:",
       {.module = kWord}},
      {"sleep for ever", "livelock", "T: nanosleep.u32 100; bra T;", {}, "runs"},
  };
}

class Waits : public testing::TestWithParam<size_t> {};
TEST_P(Waits, SayWhoWaitsForWhat) {
  const WaitCase c = waitCases()[GetParam()];
  SCOPED_TRACE(c.name);
  Ran ran = run(c.body, c.setup);
  if (!*c.kind) {
    EXPECT_EQ(ran.result.outcome, Outcome::Completed) << ran.text();
    EXPECT_FALSE(ran.has("deadlock") || ran.has("livelock")) << ran.text();
    return;
  }
  EXPECT_EQ(ran.result.outcome, Outcome::Deadlock);
  EXPECT_TRUE(ran.has(c.kind)) << ran.text();
  EXPECT_THAT(ran.text(), HasSubstr(c.text));
}
INSTANTIATE_TEST_SUITE_P(All, Waits, testing::Range(size_t(0), waitCases().size()));

TEST(Standstill, IsBounded) {
  // 64 CTAs, each with a barrier that nobody completes.
  Ran ran =
      run("setp.ge.u32 %p2, %r0, 32; @%p2 bra E; bar.sync 1, 96; E:", {.grid = 64, .block = 64});
  EXPECT_LT(ran.text().size(), 20000u);
}

// Residency.

TEST(Residency, OccupancyCountsThreadsRegistersAndSharedMemory) {
  Device device({.multiprocessors = 10});
  auto load = [&](const std::string &directives, const std::string &module = "") {
    return device.loadModule(kernelText("", {.module = module, .directives = directives}),
                             {"test.ptx", {}});
  };
  auto plain = load(""), many = load(".maxnreg 128 ");
  auto ctas = [&](const std::shared_ptr<Module> &m, uint32_t threads, uint32_t shared) {
    return device.occupancy(m->kernel("k"), threads, shared).ctasPerMultiprocessor;
  };
  EXPECT_EQ(ctas(plain, 32, 0), 32u) << "CTAs";
  EXPECT_EQ(ctas(plain, 1024, 0), 1u) << "64 registers are assumed";
  EXPECT_EQ(ctas(many, 128, 0), 4u) << "65536 / (128 * 128)";
  EXPECT_EQ(ctas(plain, 128, 100 * 1024), 2u) << "228 KiB, one of which is the system's";
  EXPECT_EQ(ctas(plain, 128, 227 * 1024), 1u);
  EXPECT_EQ(ctas(plain, 128, 228 * 1024), 0u) << "more than a CTA may have";
  EXPECT_EQ(device.occupancy(many->kernel("k"), 128, 0, 16).clusters, 2u)
      << "40 CTAs, 16 a cluster";
}

TEST(Residency, ACooperativeGridMustFit) {
  Device device({.multiprocessors = 2});
  auto module =
      device.loadModule(kernelText("", {.directives = ".maxnreg 128 "}), {"test.ptx", {}});
  uint64_t address = device.allocate(4);
  LaunchConfig config;
  config.block = {128, 1, 1};
  config.params = &address;
  config.paramBytes = 8;
  config.cooperative = true;
  config.grid = {8, 1, 1};
  EXPECT_TRUE(device.launch(module->kernel("k"), config).clean());
  config.grid = {9, 1, 1};
  try {
    device.launch(module->kernel("k"), config);
    FAIL();
  } catch (const DeviceError &error) {
    EXPECT_EQ(error.code(), ErrorCode::TooLarge);
    EXPECT_THAT(error.what(), HasSubstr("9 CTAs, but only 8 can be resident at once"));
  }
}

TEST(Residency, SamplesAreReadAndChecked) {
  std::vector<CtaRange> ranges = parseCtas("0:8,100,20:,last");
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].end, 8u);
  EXPECT_EQ(ranges[1].first, 100u);
  EXPECT_EQ(ranges[1].end, 101u);
  EXPECT_EQ(ranges[2].end, CtaRange::last);
  EXPECT_EQ(ranges[3].first, CtaRange::last);
  for (const char *wrong : {"", "a", "1:1", "3:2", "1,,2", "-1", "1:x"})
    EXPECT_THROW(parseCtas(wrong), DeviceError) << wrong;
  // Whole clusters run.
  Ran ran = [] {
    Device device;
    auto module = device.loadModule(kernelText("st.global.u32 [%rd1], 1;", {}), {"test.ptx", {}});
    uint64_t address = device.allocate(8 * 32 * 4);
    device.fill(address, 0, 4, 8 * 32);
    LaunchConfig config;
    config.grid = {8, 1, 1};
    config.block = {32, 1, 1};
    config.cluster = Dim3{2, 1, 1};
    config.params = &address;
    config.paramBytes = 8;
    config.options.ctas = parseCtas("3,last");
    Ran ran;
    ran.result = device.launch(module->kernel("k"), config);
    ran.out.resize(8 * 32);
    device.copyFromDevice(ran.out.data(), address, ran.out.size() * 4);
    return ran;
  }();
  EXPECT_TRUE(ran.result.clean()) << ran.text();
  for (uint32_t cta = 0; cta < 8; ++cta)
    EXPECT_EQ(ran.out[cta * 32], uint32_t(cta == 2 || cta == 3 || cta >= 6)) << cta;
}

TEST(Residency, MultiprocessorsFillEvenly) {
  // %smid of each CTA, beside 7 others on 4 multiprocessors.
  Ran ran =
      runOn(4, "mov.u32 %r4, %smid; st.global.u32 [%rd1], %r4;", {.grid = 4, .block = kWhole});
  std::vector<uint32_t> seen;
  for (uint32_t cta = 0; cta < 4; ++cta)
    seen.push_back(ran.out[cta * kWhole]);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0u, 1u, 2u, 3u));
}

// Several grids.

/// Kernels of one module on one buffer.
struct Grids : testing::Test {
  Device device{{.multiprocessors = 8}};
  uint64_t buffer = device.allocate(4096);
  std::vector<std::shared_ptr<Module>> modules;

  Grids() { device.fill(buffer, 0, 4, 1024); }
  const Function &kernel(const std::string &body) {
    modules.push_back(device.loadModule(kernelText(body, {}), {"test.ptx", {}}));
    return modules.back()->kernel("k");
  }
  LaunchConfig config(uint32_t grid = 1, uint64_t seed = 0) {
    LaunchConfig c;
    c.grid = {grid, 1, 1};
    c.block = {32, 1, 1};
    c.params = &buffer;
    c.paramBytes = 8;
    c.options.seed = seed;
    return c;
  }
  void finish() {
    while (device.step())
      ;
  }
  uint32_t word(uint32_t index) {
    uint32_t value;
    device.copyFromDevice(&value, buffer + 4 * index, 4);
    return value;
  }
  const std::string spinOn(int index) {
    return "S: ld.acquire.gpu.global.u32 %r4, [%rd0+" + std::to_string(4 * index) +
           "]; setp.eq.u32 %p0, %r4, 0; @%p0 bra S;";
  }
  const std::string raise(int index) {
    return "setp.eq.u32 %p1, %r0, 0; mov.u32 %r5, 1; @%p1 st.release.gpu.global.u32 [%rd0+" +
           std::to_string(4 * index) + "], %r5;";
  }
};

TEST_F(Grids, RunSideBySide) {
  // Each waits for the other.
  const Function &a = kernel(raise(0) + spinOn(1)), &b = kernel(raise(1) + spinOn(0));
  for (uint64_t seed = 0; seed < 8; ++seed) {
    device.fill(buffer, 0, 4, 1024);
    LaunchId first = device.enqueue(a, config(1, seed)),
             second = device.enqueue(b, config(1, seed));
    finish();
    EXPECT_TRUE(device.take(first)->clean());
    EXPECT_TRUE(device.take(second)->clean());
    EXPECT_FALSE(device.take(second)) << "handed out once";
  }
}

TEST_F(Grids, WaitForThoseBefore) {
  const Function &a = kernel(raise(0) + spinOn(1)), &b = kernel(raise(1));
  LaunchId first = device.enqueue(a, config());
  LaunchId second = device.enqueue(b, config(), {first});
  finish();
  std::optional<LaunchResult> result = device.take(first);
  ASSERT_EQ(result->outcome, Outcome::Deadlock);
  EXPECT_THAT(result->render(), HasSubstr("launch 2 (kernel k) waits for the end of one of these"));
  EXPECT_EQ(device.take(second)->outcome, Outcome::Deadlock) << "and it has not run";
  EXPECT_EQ(word(1), 0u);
}

TEST_F(Grids, InOrderNothingRaces) {
  const Function &a = kernel("st.global.u32 [%rd1], %r0;"),
                 &b = kernel(
                     "ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;");
  LaunchId first = device.enqueue(a, config(4)), second = device.enqueue(b, config(4), {first}),
           third = device.enqueue(b, config(4), {second});
  finish();
  EXPECT_TRUE(device.take(first)->clean());
  EXPECT_TRUE(device.take(second)->clean());
  std::optional<LaunchResult> last = device.take(third);
  EXPECT_TRUE(last->clean()) << last->render();
  EXPECT_EQ(word(5), 7u);
}

TEST_F(Grids, WithoutOrderTheyRace) {
  const Function &a = kernel("st.global.u32 [%rd1], %r0;"),
                 &b = kernel("ld.global.u32 %r4, [%rd1];");
  for (uint64_t seed = 0; seed < 8; ++seed) {
    LaunchId first = device.enqueue(a, config(1, seed)),
             second = device.enqueue(b, config(1, seed));
    finish();
    std::string text = device.take(first)->render() + device.take(second)->render();
    EXPECT_THAT(text, HasSubstr("global-race")) << seed;
    EXPECT_THAT(text, HasSubstr("the two launches may run at the same time")) << seed;
  }
}

TEST_F(Grids, DependentGridsStartEarlyAndWait) {
  const std::string produce =
      "griddepcontrol.launch_dependents; " + spinOn(100) + "st.global.u32 [%rd1], 5;";
  const std::string early = raise(100);
  const Function &a = kernel(produce);
  const Function &b =
      kernel(early + "griddepcontrol.wait; ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; "
                     "st.global.u32 [%rd1], %r4;");
  LaunchConfig dependent = config();
  dependent.programmatic = true;
  // The primary waits for a flag that the dependent grid raises before its wait.
  LaunchId first = device.enqueue(a, config()), second = device.enqueue(b, dependent, {first});
  finish();
  EXPECT_TRUE(device.take(first)->clean());
  std::optional<LaunchResult> result = device.take(second);
  EXPECT_TRUE(result->clean()) << result->render();
  EXPECT_EQ(word(3), 6u);
}

TEST_F(Grids, WithoutTheAttributeThereIsNoEarlyStart) {
  const Function &a = kernel("griddepcontrol.launch_dependents; " + spinOn(100));
  const Function &b = kernel(raise(100) + "griddepcontrol.wait;");
  LaunchId first = device.enqueue(a, config());
  device.enqueue(b, config(), {first});
  finish();
  EXPECT_EQ(device.take(first)->outcome, Outcome::Deadlock);
}

TEST_F(Grids, ReadingBeforeTheWaitIsARace) {
  const Function &a = kernel("griddepcontrol.launch_dependents; st.global.u32 [%rd1], 5;");
  const Function &b = kernel("ld.global.u32 %r4, [%rd1]; griddepcontrol.wait;");
  const Function &silent = kernel("st.global.u32 [%rd1], 5;");
  LaunchConfig dependent = config();
  dependent.programmatic = true;
  LaunchId first = device.enqueue(a, config()), second = device.enqueue(b, dependent, {first});
  finish();
  std::string text = device.take(first)->render() + device.take(second)->render();
  EXPECT_THAT(text, HasSubstr("global-race"));
  EXPECT_THAT(text, HasSubstr("execute griddepcontrol.wait before the access"));
  // A primary that does not allow early starts is over when the other one starts.
  first = device.enqueue(silent, config());
  second = device.enqueue(b, dependent, {first});
  finish();
  text = device.take(first)->render() + device.take(second)->render();
  EXPECT_EQ(text, "");
}

TEST_F(Grids, TheSameSeedsGiveTheSameRun) {
  const Function &a = kernel(raise(0) + spinOn(1)),
                 &b = kernel(raise(1) + spinOn(0) + "atom.global.add.u32 %r6, [%rd0+64], 1;");
  auto once = [&](unsigned threads, uint64_t seed) {
    device.fill(buffer, 0, 4, 1024);
    LaunchConfig c = config(3, seed);
    c.options.threads = threads;
    LaunchId first = device.enqueue(a, c), second = device.enqueue(b, c);
    finish();
    return std::pair(device.take(first)->traceHash, device.take(second)->traceHash);
  };
  for (uint64_t seed = 0; seed < 4; ++seed)
    EXPECT_EQ(once(1, seed), once(3, seed)) << seed;
}

// Interleavings.

TEST(Adversaries, HaveNamesAndKeepTheSeedsPromise) {
  // Divergence, shared and global atomics, barriers and a spin loop between two CTAs.
  const std::string body =
      "setp.lt.u32 %p0, %r0, 20; @%p0 bra A; mul.lo.u32 %r4, %r0, 3; atom.global.add.u32 %r5, "
      "[%rd0], "
      "%r4; bra B; A: and.b32 %r6, %r0, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra C; add.u32 %r4, %r0, "
      "100; "
      "bra B; C: mov.u32 %r4, 7; atom.global.add.u32 %r5, [%rd0+4], 1; B: bar.sync 0; ";
  std::vector<uint64_t> hashes;
  for (const AdversaryName &adversary : adversaryNames()) {
    KernelSetup setup{.grid = 6,
                      .block = 64,
                      .seed = 11,
                      .adversary = adversary.value,
                      .data = std::vector<uint32_t>(6 * 64)};
    EXPECT_STRNE(adversary.summary, "");
    Ran first = run(body, setup);
    EXPECT_TRUE(first.result.clean()) << adversary.name << first.text();
    for (unsigned threads : {1u, 2u, 4u}) {
      setup.threads = threads;
      Ran again = run(body, setup);
      EXPECT_EQ(again.result.traceHash, first.result.traceHash) << adversary.name << threads;
      EXPECT_EQ(again.out, first.out) << adversary.name;
    }
    hashes.push_back(first.result.traceHash);
  }
  EXPECT_EQ(adversaryNames().size(), 9u);
}

TEST(Adversaries, LanesRunSinglyWhereTheyPart) {
  // Each lane of the branch counts in turn: how many have come before it shows the order.
  const std::string body = "setp.ge.u32 %p0, %r0, 8; @%p0 bra E; mov.u32 %r5, buf; "
                           "atom.shared.add.u32 %r6, [%r5], 1; atom.shared.add.u32 %r7, [%r5], 1; "
                           "sub.u32 %r7, %r7, %r6; st.global.u32 [%rd1], %r7; E: mov.u32 %r8, 0;";
  KernelSetup setup{.module = ".shared .align 8 .u32 buf;"};
  const std::string zero = "mov.u32 %r5, buf; setp.eq.u32 %p1, %r0, 0; mov.u32 %r6, 0; @%p1 "
                           "st.shared.u32 [%r5], %r6; bar.sync 0;";
  EXPECT_EQ(run(zero + body, setup).out[3], 8u) << "eight lanes together";
  setup.adversary = Adversary::LanesSingly;
  unsigned alone = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    setup.seed = seed;
    Ran ran = run(zero + body, setup);
    EXPECT_TRUE(ran.result.clean()) << ran.text();
    for (unsigned lane = 0; lane < 8; ++lane)
      alone += ran.out[lane] == 1;
  }
  EXPECT_GT(alone, 32u);
  // Where an .aligned instruction lies before the ways meet, lanes stay together.
  Ran aligned =
      run("setp.ge.u32 %p0, %r0, 32; @%p0 bra A; bar.sync 1, 32; bra E; A: bar.sync 2, 32; "
          "E: setp.ge.u32 %p0, %r0, 40; @%p0 exit; bar.sync 0;",
          {.block = 64, .adversary = Adversary::LanesSingly});
  EXPECT_TRUE(aligned.result.clean()) << aligned.text();
}

TEST(Adversaries, TheLastCtaComesFirst) {
  const std::string body = "setp.eq.u32 %p0, %r0, 0; @%p0 atom.global.add.u32 %r4, [%rd0], 1; @%p0 "
                           "st.global.u32 [%rd1+4], %r4;";
  Ran forwards = runOn(4, body, {.grid = 4, .block = kWhole});
  EXPECT_EQ(forwards.out[1], 0u);
  KernelSetup setup{.grid = 4,
                    .block = 64,
                    .adversary = Adversary::CtasReversed,
                    .data = std::vector<uint32_t>(4 * 64)};
  Ran backwards = run(body, setup);
  EXPECT_EQ(backwards.out[3 * 64 + 1], 0u);
  EXPECT_EQ(backwards.out[1], 3u);
}

} // namespace
