// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One test for each of ptxas's advisories that we know how to provoke: each must stop a
// compilation, name the kernel and, where ptxas gives a PTX line, the user's line. What they mean
// is told by their text; how they were provoked is in each test's PTX.

#include "girih/Target/Ptxas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::target;
using testing::HasSubstr;

namespace {
std::string list(const std::string &prefix, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + prefix + std::to_string(i);
  return text;
}

std::string each(unsigned count, const std::string &before, const std::string &prefix,
                 const std::string &after) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += before + "%" + prefix + std::to_string(i) + after + "\n";
  return text;
}

std::string stores(const std::string &prefix, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += "st.global.f32 [%rd1+" + std::to_string(4 * i) + "], %" + prefix + std::to_string(i) +
            ";\n";
  return text;
}

const std::string fence = "wgmma.fence.sync.aligned;\n";
const std::string commit = "wgmma.commit_group.sync.aligned;\n";
const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string waitOne = "wgmma.wait_group.sync.aligned 1;\n";
const std::string zero = each(32, "mov.f32 ", "f", ", 0f00000000;");
const std::string store = stores("f", 32);
const std::string loopBegin = "mov.u32 %r9, 0;\nL:\n";
const std::string loopEnd = "add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 10; @%p1 bra L;\n";
const std::string mma = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" + list("f", 32) +
                        "}, %rd2, %rd2, 1, 1, 1, 0, 0;\n";
const std::string mmaFromRegisters = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" +
                                     list("f", 32) + "}, {%r0, %r1, %r2, %r3}, %rd2, 1, 1, 1, 0;\n";
const std::string externFunction = ".extern .func foo();\n";

/// In front of a statement: PTX line 77 of the table, so that a test can tell where it came from.
const std::string here = ".loc 1 3 2\n";

std::string wide(const std::string &prefix) {
  return "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" + list(prefix, 128) +
         "}, %rd2, %rd2, 1, 1, 1, 0, 0;\n";
}

struct Case {
  const char *name;
  const char *code; ///< or a text of the message
  std::string body;
  std::string attributes = ".reqntid 128 .minnctapersm 1";
  std::string declarations = "";
  std::vector<std::string> options = {};
  bool hasLine = false; ///< the diagnostic must lead to location 2
};

std::string ptxOf(const Case &test) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n" + test.declarations +
         ".file 1 \"source\"\n.visible .entry k(.param .u64 p, .param .u64 d) " + test.attributes +
         "\n{\n.reg .b64 %rd<9>; .reg .b32 %r<40>; .reg .f32 %f<64>; .reg .pred %p<4>;\n"
         ".reg .f32 %g<128>; .reg .f32 %h<128>;\n.loc 1 2 1\n"
         "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [d];\n" +
         test.body + "ret;\n}\n";
}

std::vector<Case> cases() {
  std::string manyLoads, manyStores;
  for (unsigned i = 0; i < 80; ++i) {
    manyLoads += "ld.volatile.global.f32 %g" + std::to_string(i) + ", [%rd1+" +
                 std::to_string(4 * i) + "];\n";
    manyStores += "st.volatile.global.f32 [%rd1+" + std::to_string(4 * i) + "], %g" +
                  std::to_string(i * 37 % 80) + ";\n";
  }
  std::vector<Case> list;
  // setmaxnreg
  list.push_back(
      {"SetmaxnregInSeparateCompilation", "C7504", "setmaxnreg.dec.sync.aligned.u32 40;\n"});
  list.back().options = {"-c"};
  list.push_back(
      {"SetmaxnregBelowWhatTheCodeNeeds", "C7507",
       "setmaxnreg.dec.sync.aligned.u32 24;\n" + zero + fence + mma + commit + wait + store,
       ".reqntid 384 .minnctapersm 1"});
  list.push_back({"SetmaxnregWithoutMinnctapersm", "C7508", "setmaxnreg.dec.sync.aligned.u32 40;\n",
                  ".reqntid 384"});
  list.push_back({"SetmaxnregDecAboveTheLaunch", "C7406",
                  here + "setmaxnreg.dec.sync.aligned.u32 240;\n", ".reqntid 384 .minnctapersm 1"});
  list.back().hasLine = true;
  // wgmma serialised
  list.push_back({"CallOfAnExternalFunction", "C7509",
                  zero + here + "call foo;\n" + fence + mma + commit + wait + store});
  list.back().declarations = externFunction;
  list.back().options = {"-c"};
  list.back().hasLine = true;
  list.push_back({"WgmmaInACalledFunction", "C7510",
                  here + "{ .param .u64 q; st.param.u64 [q], %rd2; call helper, (q); }\n"});
  list.back().declarations = ".func helper(.param .u64 q)\n{\n.reg .b64 %rd<3>; .reg .f32 %f<32>;\n"
                             "ld.param.u64 %rd2, [q]; mov.u64 %rd1, %rd2;\n" +
                             zero + fence + mma + commit + wait + store + "ret;\n}\n";
  list.back().hasLine = true;
  list.push_back({"TwoAccumulatorsThatDoNotFit", "C7511",
                  each(128, "ld.global.f32 ", "g", ", [%rd1];") +
                      each(128, "ld.global.f32 ", "h", ", [%rd2];") + loopBegin + fence +
                      wide("g") + commit + wide("h") + commit + waitOne + loopEnd + wait +
                      stores("g", 128) + stores("h", 128)});
  list.push_back({"OperandInRegistersChangedInFlight", "C7513",
                  zero + each(4, "ld.global.u32 ", "r", ", [%rd1];") + loopBegin + fence +
                      mmaFromRegisters + "add.u32 %r0, %r0, 1;\n" + mmaFromRegisters + commit +
                      waitOne + loopEnd + wait + store});
  list.push_back({"AccumulatorReadInFlight", "C7514",
                  zero + loopBegin + fence + mma + commit + "st.global.f32 [%rd1], %f3;\n" +
                      waitOne + loopEnd + wait + store});
  list.push_back({"AccumulatorChangedInFlight", "C7515",
                  zero + loopBegin + fence + mma + commit + here +
                      "add.f32 %f3, %f3, 0f3F800000;\n" + waitOne + loopEnd + wait + store});
  list.back().hasLine = true;
  list.push_back({"ResultUsedWithoutAWait", "C7517", zero + fence + mma + commit + here + store});
  list.back().hasLine = true;
  list.push_back({"WaitOnOnePathOnly", "C7518",
                  "mov.u32 %r5, %tid.x; setp.lt.u32 %p2, %r5, 7;\n" + zero + fence + mma + commit +
                      "@%p2 bra M;\n" + wait + here + "M:\n" + store});
  list.back().hasLine = true;
  list.push_back({"WgmmaOnOnePathOnly", "C7519",
                  zero + "mov.u32 %r5, %tid.x; setp.lt.u32 %p2, %r5, 7;\n" + here + fence +
                      "@%p2 bra M;\n" + mma + commit + "M:\n" + wait + store});
  list.back().hasLine = true;
  // Registers
  list.push_back({"WgmmaWithoutRegisters", "C7602",
                  each(128, "mov.f32 ", "g", ", 0f00000000;") + fence + here + wide("g") + commit +
                      wait + stores("g", 128),
                  ".reqntid 384 .maxnreg 128"});
  list.back().hasLine = true;
  list.push_back({"Spill", "spills registers to memory", manyLoads + manyStores, ".maxnreg 24"});
  list.push_back({"Stack", "has a stack frame of 256 bytes",
                  "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd4, buffer;\n"
                  "add.s64 %rd5, %rd4, %rd3; st.local.u32 [%rd5], %r1;\n"
                  "xor.b32 %r2, %r1, 5; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd4, %rd6;\n"
                  "ld.local.u32 %r3, [%rd7]; st.global.u32 [%rd1], %r3;\n"});
  list.back().body = ".local .align 4 .b8 buffer[256];\n" + list.back().body;
  return list;
}

class Advisory : public testing::TestWithParam<Case> {};

TEST_P(Advisory, StopsTheCompilation) {
  Toolchain tools = findToolchain();
  if (auto why = whyNoPtxas(tools))
    GTEST_SKIP() << *why;
  const Case &test = GetParam();
  girih::image::LocationTable table;
  table.functions = {{"source", "kernel.py", 100}};
  table.locations = {{{0, 2, 0}}, {{0, 3, 4}}};
  const std::string ptx = ptxOf(test);
  PtxasRun run = runPtxas(tools, ptx, "sm_90a", test.options);
  EXPECT_EQ(run.failure, "");
  auto found = judge(run.output, ptx, table, {});
  auto at = std::find_if(found.begin(), found.end(), [&](const Diagnostic &diagnostic) {
    return diagnostic.message.find(test.code) != std::string::npos;
  });
  ASSERT_NE(at, found.end()) << "ptxas said:\n" << run.text;
  EXPECT_EQ(at->severity, Severity::Error);
  if (run.ok) // an error may come before any kernel is named
    EXPECT_THAT(at->message, HasSubstr("kernel 'k'"));
  if (test.hasLine)
    EXPECT_EQ(render(*at).rfind("kernel.py:102:4: error: ptxas: ", 0), 0u) << render(*at);
}

INSTANTIATE_TEST_SUITE_P(Ptxas, Advisory, testing::ValuesIn(cases()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Ptxas, AGoodKernelIsAssembledWithoutAWord) {
  Toolchain tools = findToolchain();
  if (auto why = whyNoPtxas(tools))
    GTEST_SKIP() << *why;
  Case test{"Good", "", zero + fence + mma + commit + wait + store};
  PtxasRun run = runPtxas(tools, ptxOf(test), "sm_90a");
  EXPECT_TRUE(run.ok) << run.text;
  EXPECT_TRUE(judge(run.output, ptxOf(test), {}, {}).empty()) << run.text;
  EXPECT_EQ(run.cubin.substr(0, 4), "\x7f"
                                    "ELF");
}

TEST(Ptxas, AProgramThatIsNotThereIsAnErrorThatSaysWhatToSet) {
  Toolchain tools;
  tools.ptxas = "/nowhere/ptxas";
  PtxasRun run = runPtxas(tools, "", "sm_90a");
  EXPECT_FALSE(run.ok);
  EXPECT_THAT(run.failure, HasSubstr("ptxas not found at '/nowhere/ptxas'"));
  EXPECT_THAT(run.failure, HasSubstr("GIRIH_PTXAS"));
}
} // namespace
