// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read from ptxas -v's text, and what of it stops a compilation. The texts are
// ptxas 13.5's.

#include "girih/Target/Ptxas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih;
using namespace girih::target;
using testing::HasSubstr;

namespace {
constexpr const char *cleanText = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 3 barriers, 1024 bytes smem
ptxas info    : Compile time = 9.630 ms
)";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<Diagnostic> judged(const std::string &text, const std::string &ptx = "",
                               const image::LocationTable &table = {},
                               const std::vector<AllowedMessage> &allowed = {}) {
  return judge(parsePtxasOutput(text), ptx, table, allowed);
}

/// gemm.py: `matmul` begins in line 12; location 1 is line 20, location 2 a helper called in
/// line 21.
image::LocationTable gemmTable() {
  image::LocationTable table;
  table.functions = {{"matmul", "gemm.py", 12}, {"scale", "gemm.py", 4}};
  table.locations = {{{0, 9, 8}}, {{1, 2, 4}, {0, 10, 12}}};
  return table;
}

TEST(PtxasOutput, ReadsTheStatisticsOfAKernel) {
  PtxasOutput output = parsePtxasOutput(cleanText);
  EXPECT_TRUE(output.messages.empty());
  const FunctionResources *k = output.find("k");
  ASSERT_NE(k, nullptr);
  EXPECT_TRUE(k->isKernel);
  EXPECT_EQ(k->registers, 168);
  EXPECT_EQ(k->barriers, 3);
  EXPECT_EQ(k->staticSharedBytes, 1024);
  EXPECT_EQ(k->stackBytes, 0);
  EXPECT_TRUE(judged(cleanText).empty());
}

TEST(PtxasOutput, KeepsKernelsApart) {
  std::string text = std::string(cleanText) +
                     "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
                     "ptxas info    : Function properties for second\n"
                     "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                     "ptxas info    : Used 10 registers, used 0 barriers\n"
                     "ptxas info    : Function properties for helper\n"
                     "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  PtxasOutput output = parsePtxasOutput(text);
  ASSERT_EQ(output.functions.size(), 3u);
  EXPECT_EQ(output.find("k")->registers, 168);
  EXPECT_EQ(output.find("second")->registers, 10);
  EXPECT_FALSE(output.find("helper")->isKernel);
}

TEST(PtxasOutput, AStackFrameIsAnErrorThatNamesTheKernel) {
  auto found = judged(replaced(cleanText, "0 bytes stack frame", "256 bytes stack frame"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("kernel 'k' has a stack frame of 256 bytes"));
}

TEST(PtxasOutput, ASpillIsAnErrorThatSaysHowMuch) {
  std::string text = replaced(cleanText, "0 bytes stack frame, 0 bytes spill stores, 0 bytes",
                              "264 bytes stack frame, 264 bytes spill stores, 300 bytes");
  auto found = judged(text);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("kernel 'k' spills registers to memory: 264 bytes stored "
                                          "and 300 bytes loaded"));
}

TEST(PtxasOutput, AnAdvisoryWithoutANameGoesToTheOnlyKernel) {
  auto found = judged("ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; "
                      "unable to determine register count at entry.\n" +
                      std::string(cleanText));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("ptxas: kernel 'k': (C7508) Potential"));
}

TEST(PtxasOutput, APtxLineBecomesTheUsersLines) {
  const std::string ptx = ".file 1 \"matmul\"\n"
                          ".visible .entry k()\n"
                          "{\n"
                          "\t.loc\t1 9 1\n"
                          "\twgmma.fence.sync.aligned;\n"
                          "\t.loc\t1 10 2\n"
                          "\tadd.f32 %f1, %f1, %f2;\n"
                          "}\n";
  const std::string advisory =
      "ptxas info    : (C7517) wgmma.wait_group is injected in around line 7 "
      "by compiler to allow use of registers defined by GMMA in function "
      "'k'\n";
  auto found = judged(advisory + cleanText, ptx, gemmTable());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(
      render(found[0]).find("gemm.py:5:4: error: ptxas: kernel 'k': (C7517) wgmma.wait_group"), 0u);
  EXPECT_THAT(render(found[0]), HasSubstr("gemm.py:21:12: note: called from here (in matmul)"));
}

TEST(PtxasOutput, AnErrorNamesItsLineAndTheSummaryIsLeftOut) {
  auto found =
      judged("ptxas /proc/self/fd/200, line 5; error   : Not a name of any known instruction: "
             "'bogus'\n"
             "ptxas fatal   : Ptx assembly aborted due to errors\n",
             "\n\n\n.loc 1 9 1\nbogus;\n", gemmTable());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message,
              HasSubstr("Not a name of any known instruction: 'bogus' (line 5 of the PTX)"));
  ASSERT_EQ(found[0].places.size(), 1u);
  EXPECT_EQ(found[0].places[0].line, 20);
}

TEST(PtxasOutput, AWarningIsAnError) {
  auto found =
      judged("ptxas warning : Unresolved extern variable 'x' in whole program compilation, "
             "ignoring extern qualifier\n" +
             std::string(cleanText));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("Unresolved extern variable 'x'"));
}

TEST(PtxasOutput, ALineThatTheParserDoesNotKnowIsKept) {
  PtxasOutput output = parsePtxasOutput("ptxas info    : something quite new\nstrange text\n");
  ASSERT_EQ(output.messages.size(), 2u);
  EXPECT_EQ(output.messages[0].text, "something quite new");
  EXPECT_EQ(output.messages[1].text, "strange text");
}

TEST(PtxasOutput, TheAllowListMatchesCodeAndText) {
  const std::string text =
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; "
      "unable to determine register count at entry.\n" +
      std::string(cleanText);
  EXPECT_TRUE(judged(text, "", {}, {{"C7508", "setmaxnreg", "a test"}}).empty());
  EXPECT_EQ(judged(text, "", {}, {{"C7508", "wgmma", "a test"}}).size(), 1u);
  EXPECT_EQ(judged(text, "", {}, {{"C7504", "", "a test"}}).size(), 1u);
}

TEST(PtxasOutput, AStackFrameIsAllowedToWhatUsesAName) {
  const std::string text =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 20 registers, used 1 barriers, 40 bytes cumulative stack size\n";
  const std::vector<AllowedMessage> allowed = {{"STACK", "__table", "a test"}};
  EXPECT_EQ(judged(text, ".entry k() { }", {}, allowed).size(), 1u);
  EXPECT_TRUE(judged(text, ".entry k() { mov.b64 %rd1, __table; }", {}, allowed).empty());
}

TEST(AllowList, EveryEntryHasAReason) {
  std::vector<std::string> errors;
  auto allowed = parseAllowList("# comment\n\nC7508 | setmaxnreg | launched with one warpgroup\n"
                                "C7509 | text |\n7510 | | no letter\n"
                                "STACK | | of everything\n",
                                errors);
  ASSERT_EQ(allowed.size(), 1u);
  EXPECT_EQ(allowed[0].code, "C7508");
  EXPECT_EQ(allowed[0].contains, "setmaxnreg");
  EXPECT_EQ(allowed[0].reason, "launched with one warpgroup");
  EXPECT_EQ(errors.size(), 3u);
}

TEST(AllowList, TheBuiltInListParses) {
  std::vector<std::string> errors;
  auto allowed = parseAllowList(builtinAllowListText(), errors);
  EXPECT_THAT(errors, testing::IsEmpty());
  EXPECT_EQ(allowed.size(), builtinAllowList().size());
}

TEST(LocationNumber, IsThatOfTheLastLocInTheFunction) {
  const std::string ptx =
      ".entry a()\n{\n.loc 1 1 5\nret;\n}\n.entry b()\n{\nret;\n.loc\t2 3 7\nret;\n}\n";
  EXPECT_EQ(locationNumberAt(ptx, 2), 0u);
  EXPECT_EQ(locationNumberAt(ptx, 4), 5u);
  EXPECT_EQ(locationNumberAt(ptx, 8), 0u);
  EXPECT_EQ(locationNumberAt(ptx, 10), 7u);
  EXPECT_EQ(locationNumberAt(ptx, 1000), 7u);
}
} // namespace
