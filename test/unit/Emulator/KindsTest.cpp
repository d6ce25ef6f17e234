// The list of kinds of findings: each has a section in docs/Findings.md, a program that has it and
// one that nearly has it. Those that no other table has are here.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

#include "girih/Emulator/TensorMap.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace girih::emu::test {
namespace {

const std::string kBuffer = ".shared .align 1024 .b8 buf[8192];";
const KernelSetup kOneWarp{.module = kBuffer};
const KernelSetup kTwoWarps{.block = 64, .module = kBuffer};
const KernelSetup kWarpgroup{.block = 128, .module = kBuffer};

std::string barrier(int count) {
  return "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], " +
         std::to_string(count) + "; bar.sync 0;";
}
const std::string kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r5], 0; @!%p0 bra W;";
const std::string kExpect =
    "add.u32 %r6, %r5, 1024; @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256;";
const std::string kCopy =
    kExpect + "@!%p9 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], "
              "[%rd0], 256, [%r5];";
/// Fills a word for each thread, for copies to read.
const std::string kFill = "mov.u32 %r5, buf; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r5; "
                          "st.shared.u32 [%r4], %r0; fence.proxy.async; bar.sync 0; setp.ne.u32 "
                          "%p9, %r0, 0;";
const std::string kStore = "@!%p9 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r5], 256; "
                           "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;";
/// Fills the buffer by 128 threads and multiplies it with itself.
const std::string kProduct =
    "mov.u32 %r5, buf; shl.b32 %r4, %r0, 6; add.u32 %r4, %r4, %r5; mov.u32 %r6, 0; "
    "st.shared.v4.u32 "
    "[%r4], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r4+16], {%r6, %r6, %r6, %r6}; "
    "st.shared.v4.u32 [%r4+32], {%r6, %r6, %r6, %r6}; st.shared.v4.u32 [%r4+48], {%r6, %r6, %r6, "
    "%r6}; fence.proxy.async; bar.sync 0; mov.u64 %rd2, 0x4000004000010040; "
    "wgmma.fence.sync.aligned; setp.ne.u32 %p1, %r0, %r0; "
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd2, %rd2, %p1, 1, "
    "1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.f32 %f4, %f0, "
    "%f1;";
const std::string kRegisters =
    "shr.u32 %r4, %r0, 7; setp.eq.u32 %p0, %r4, 0; @%p0 bra P; setmaxnreg.inc.sync.aligned.u32 "
    "232; bra E; P: setmaxnreg.dec.sync.aligned.u32 40; E:";

/// The output buffer begins with a tensor map of 16x16 words that lie 512 bytes further on.
KernelSetup withMap() {
  TiledMapArguments a;
  const uint64_t dims[] = {16, 16}, strides[] = {64};
  const uint32_t box[] = {16, 4}, steps[] = {1, 1};
  a.dataType = static_cast<int>(TensorDataType::U32);
  a.rank = 2;
  a.globalAddress = 0x700000000200; // the first allocation of a device
  a.globalDim = dims;
  a.globalStrides = strides;
  a.boxDim = box;
  a.elementStrides = steps;
  uint8_t map[128] = {};
  EXPECT_EQ(encodeTiled(a, map), "");
  KernelSetup setup = kTwoWarps;
  setup.data.assign(512, 1);
  std::memcpy(setup.data.data(), map, sizeof(map));
  return setup;
}
std::string tensorCopy(const std::string &rank, const std::string &coordinates) {
  return barrier(1) + "mov.u32 %r7, 0;" + kExpect + "@!%p9 cp.async.bulk.tensor." + rank +
         ".shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0, {" + coordinates +
         "}], [%r5];" + kWait;
}

/// Silent cases name the kind that they nearly have.
std::vector<Case> cases() {
  const std::string align = "mov.u64 %rd2, p_out; cvta.param.u64 %rd2, %rd2;";
  return {
      {"source written after the wait", "", kFill + kStore + "bar.sync 0; st.shared.u32 [%r4], 1;",
       kTwoWarps, "async-overwrite"},
      {"copy waited for and read", "", barrier(1) + kCopy + kWait + "ld.shared.u32 %r7, [%r6];",
       kTwoWarps, "async-race"},
      {"atomic on a generic address", "", "atom.add.u32 %r4, [%rd0], 1;", {}, "atomic-space"},
      {"both name 64 threads", "", "bar.sync 1, 64;", kTwoWarps, "barrier-count"},
      {"the last barrier", "", "bar.sync 15;", {}, "barrier-invalid"},
      {"bulk copy of 256 bytes", "", barrier(1) + kCopy + kWait, kTwoWarps, "bulk-copy-invalid"},
      {"cp.async that fills up with zeros",
       "",
       "mov.u32 %r5, buf; cp.async.cg.shared.global [%r5], [%rd0], 16, 4; cp.async.wait_all;",
       {.block = 1, .module = kBuffer, .data = std::vector<uint32_t>(64)},
       "cp-async-invalid"},
      {"the partner comes", "", "bar.sync 1, 64;", kTwoWarps, "deadlock"},
      {"together at the barrier",
       "",
       "setp.lt.u32 %p0, %r0, 16; @%p0 bra A; mov.u32 %r4, 1; A: bar.sync 0;",
       {},
       "divergent-aligned"},
      {"the last word", "", "ld.global.u32 %r4, [%rd0+124];", {}, "global-out-of-bounds"},
      {"sleep for ever", "livelock", "T: nanosleep.u32 100; bra T;"},
      {"a flag that is set", "",
       "setp.eq.u32 %p0, %r0, 40; @%p0 st.volatile.global.u32 [%rd0], 1; T: "
       "ld.volatile.global.u32 %r4, [%rd0]; setp.eq.u32 %p1, %r4, 0; @%p1 bra T;",
       kTwoWarps, "livelock"},
      {"the last word of a local variable",
       "",
       "{ .local .align 4 .b8 v[8]; .reg .b64 a; mov.u64 a, v; st.local.u32 [a+4], %r0; }",
       {},
       "local-out-of-bounds"},
      {"mbarrier by a generic address", "",
       "mov.u64 %rd2, buf; cvta.shared.u64 %rd2, %rd2; setp.ne.u32 %p9, %r0, 0; @!%p9 "
       "mbarrier.init.b64 [%rd2], 1;",
       kOneWarp, "mbarrier-address"},
      {"as many arrivals as announced", "",
       barrier(64) + "mbarrier.arrive.shared::cta.b64 _, [%r5];" + kWait, kTwoWarps,
       "mbarrier-arrivals"},
      {"as many bytes as announced", "", barrier(1) + kCopy + kWait, kTwoWarps, "mbarrier-bytes"},
      {"one arrival", "", barrier(1), kTwoWarps, "mbarrier-count"},
      {"an arrival that leaves one pending", "",
       barrier(2) + "@!%p9 mbarrier.arrive.noComplete.shared::cta.b64 %rd2, [%r5], 1; @!%p9 "
                    "mbarrier.arrive.shared::cta.b64 %rd2, [%r5];",
       kTwoWarps, "mbarrier-nocomplete"},
      {"two phases and a wait between", "",
       barrier(1) + "@!%p9 mbarrier.arrive.shared::cta.b64 _, [%r5];" + kWait +
           "@!%p9 mbarrier.arrive.shared::cta.b64 _, [%r5];",
       kOneWarp, "mbarrier-overrun"},
      {"store beside an mbarrier", "",
       barrier(1) + "@!%p9 st.shared.u32 [%r5+8], 7; @!%p9 mbarrier.arrive.shared::cta.b64 _, "
                    "[%r5];",
       kTwoWarps, "mbarrier-overwritten"},
      {"a wait for the phase that comes", "",
       barrier(1) + "@!%p9 mbarrier.arrive.shared::cta.b64 _, [%r5];" + kWait, kTwoWarps,
       "mbarrier-parity"},
      {"a wait for a state", "",
       barrier(64) + "mbarrier.arrive.shared::cta.b64 %rd2, [%r5]; V: "
                     "mbarrier.try_wait.shared::cta.b64 %p0, [%r5], %rd2; @!%p0 bra V;",
       kTwoWarps, "mbarrier-phase"},
      {"initialised again after an inval", "",
       "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 1; "
       "@!%p9 mbarrier.inval.shared::cta.b64 [%r5]; @!%p9 mbarrier.init.shared::cta.b64 [%r5], 2;",
       kOneWarp, "mbarrier-reinit"},
      {"an aligned word", "", "ld.global.u32 %r4, [%rd0+4];", {}, "misaligned"},
      {"a fence before the store", "", kFill + kStore, kTwoWarps, "missing-proxy-fence"},
      {"product with its fence", "", kProduct, kWarpgroup, "missing-wgmma-fence"},
      {"product of whole operands", "", kProduct, kWarpgroup, "wgmma-descriptor"},
      {"product of one descriptor", "", kProduct, kWarpgroup, "wgmma-mismatch"},
      {"product of a warpgroup", "", kProduct, kWarpgroup, "wgmma-partial-warpgroup"},
      {"product used after the wait", "", kProduct, kWarpgroup, "wgmma-register-in-flight"},
      {"read past the parameters", "param-out-of-bounds",
       "mov.u64 %rd2, p_out; ld.param.u64 %rd3, [%rd2+8];"},
      {"the last parameter",
       "",
       "mov.u64 %rd2, p_out; ld.param.u32 %r4, [%rd2+4];",
       {},
       "param-out-of-bounds"},
      {"write to a parameter", "param-write", align + "st.u32 [%rd2], %r0;"},
      {"read of a parameter", "", align + "ld.u32 %r4, [%rd2];", {}, "param-write"},
      {"fewer registers than before by .inc",
       "setmaxnreg-direction",
       "setmaxnreg.inc.sync.aligned.u32 40;",
       {.block = 384}},
      {"registers in both directions", "", kRegisters, {.block = 384}, "setmaxnreg-direction"},
      {"registers of whole warpgroups", "", kRegisters, {.block = 384}, "setmaxnreg-partial"},
      {"registers within the pool", "", kRegisters, {.block = 384}, "setmaxnreg-pool"},
      {"the last shared word", "", "mov.u32 %r5, buf; st.shared.u32 [%r5+8188], 1;", kOneWarp,
       "shared-out-of-bounds"},
      {"a copy of one dimension from a map of two", "tensor-copy-invalid", tensorCopy("1d", "%r7"),
       withMap()},
      {"a copy of two dimensions", "", tensorCopy("2d", "%r7, %r7"), withMap(),
       "tensor-copy-invalid"},
      {"a map", "", tensorCopy("2d", "%r7, %r7"), withMap(), "tensor-map-invalid"},
      {"a trap that is not executed", "", "setp.eq.u32 %p0, %r0, 33; @%p0 trap;", {}, "trap"},
      {"a defined address",
       "",
       "mov.u64 %rd2, 0; add.s64 %rd2, %rd2, %rd0; ld.global.u32 %r4, "
       "[%rd2];",
       {},
       "undefined-value"},
      {"a store of what was never written", "uninitialised-shared",
       "mov.u32 %r5, buf; setp.ne.u32 %p9, %r0, 0;" + kStore, kTwoWarps},
      {"a store of what was written", "", kFill + kStore, kTwoWarps, "uninitialised-shared"},
      {"an allocation in use", "", "ld.global.u32 %r4, [%rd0];", {}, "use-after-free"},
      {"a mask of those present",
       "",
       "setp.lt.u32 %p0, %r0, 8; @%p0 shfl.sync.idx.b32 %r4, %r0, 0, 31, 255;",
       {},
       "warp-mask"},
      {"a multicast to the CTAs that there are", "",
       barrier(1) + kExpect +
           "mov.u16 %rs1, 1; @!%p9 "
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
           "multicast::cluster [%r6], [%rd0], 256, [%r5], %rs1;" +
           kWait,
       kTwoWarps, "multicast-mask"},
  };
}

class Kinds : public testing::TestWithParam<size_t> {};
TEST_P(Kinds, ReportsExactlyThis) { expectExactly(cases()[GetParam()], 12); }
INSTANTIATE_TEST_SUITE_P(All, Kinds, testing::Range(size_t(0), cases().size()));

std::string readAll(const std::filesystem::path &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(KindsOfFindings, AreListedOnceAndKnown) {
  std::vector<std::string> names;
  for (const FindingKind &kind : findingKinds())
    names.push_back(kind.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const auto &table :
       {cases(), checkCases(), exitCases(), globalRaceCases(), laneRaceCases(), syncPatternCases()})
    for (const Case &c : table)
      EXPECT_TRUE(!*c.kind || std::count(names.begin(), names.end(), c.kind)) << c.kind;
}

TEST(KindsOfFindings, EachHasASectionInTheDocumentation) {
  std::string text = readAll(GIRIH_EMULATOR_FINDINGS);
  std::set<std::string> sections;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.rfind("### `", 0) == 0)
      EXPECT_TRUE(sections.insert(line.substr(5, line.size() - 6)).second) << line;
  for (const FindingKind &kind : findingKinds())
    EXPECT_EQ(sections.erase(kind.name), 1u) << kind.name << " has no section";
  EXPECT_TRUE(sections.empty()) << *sections.begin() << " is no kind";
}

TEST(KindsOfFindings, EachHasAProgramAndOneThatNearlyHasIt) {
  // Pairs that need more than a table entry are tests of their own.
  const std::map<std::string, std::string> elsewhere = {
      {"assertion", "SystemTest.cpp"},
      {"branch-index", "CallTest.cpp"},
      {"call-target", "CallTest.cpp"},
      {"heap", "SystemTest.cpp"},
      {"remote-store-invalid", "CopyAsyncTest.cpp"},
      {"sparse-metadata", "MatrixSparseTest.cpp"},
      {"stack", "CallTest.cpp"},
      {"stopped", "CheckTest.cpp"},
      {"tensormap-fence", "TensorCopyTest.cpp"},
  };
  std::set<std::string> has, nearly;
  for (const auto &table :
       {cases(), checkCases(), exitCases(), globalRaceCases(), laneRaceCases(), syncPatternCases()})
    for (const Case &c : table)
      (*c.kind ? has : nearly).insert(*c.kind ? c.kind : c.text);
  std::string sources;
  const std::filesystem::path folder = std::filesystem::path(GIRIH_EMULATOR_INPUTS).parent_path();
  for (const auto &file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".cpp" && file.path().filename() != "KindsTest.cpp")
      sources += readAll(file.path());
  for (const FindingKind &kind : findingKinds()) {
    if (auto file = elsewhere.find(kind.name); file != elsewhere.end()) {
      if (std::filesystem::exists(folder / file->second))
        EXPECT_NE(readAll(folder / file->second).find("\"" + file->first + "\""), std::string::npos)
            << file->second << " has no test of " << kind.name;
      continue;
    }
    EXPECT_TRUE(has.count(kind.name) ||
                sources.find("\"" + std::string(kind.name) + "\"") != std::string::npos)
        << "no program has " << kind.name;
    EXPECT_TRUE(nearly.count(kind.name)) << "no silent program nearly has " << kind.name;
  }
}

} // namespace
} // namespace girih::emu::test
