// Bank conflicts and uncoalesced accesses, counted by hand.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckCases.h"

namespace girih::emu::test {
namespace {

LineCounters count(const std::string &body) {
  KernelSetup setup{.module = ".shared .align 128 .b8 buf[8192];",
                    .data = std::vector<uint32_t>(4096)};
  setup.counters = true;
  Ran ran = run("mov.u32 %r5, buf; " + body, setup);
  // Parameters and registers count nothing, so the access is the only line.
  EXPECT_EQ(ran.result.lines.size(), 1u);
  return ran.result.lines.empty() ? LineCounters() : ran.result.lines.back();
}

TEST(Counters, BankConflicts) {
  struct {
    uint32_t stride;
    const char *access;
    uint64_t passes, ideal;
  } rows[] = {
      {4, "st.shared.u32 [%r4], %r0;", 1, 1},    // a word each
      {8, "st.shared.u32 [%r4], %r0;", 2, 1},    // every other bank
      {128, "st.shared.u32 [%r4], %r0;", 32, 1}, // one bank
      {132, "st.shared.u32 [%r4], %r0;", 1, 1},  // padded
      {0, "st.shared.u32 [%r4], %r0;", 1, 1},    // the same word
      {2, "st.shared.u16 [%r4], %rs1;", 1, 1},   // two lanes a word
      {8, "st.shared.v2.u32 [%r4], {%r0, %r0};", 2, 2},
      {16, "st.shared.v4.u32 [%r4], {%r0, %r0, %r0, %r0};", 4, 4},
      {128, "st.shared.v4.u32 [%r4], {%r0, %r0, %r0, %r0};", 32, 4},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(row.stride);
    LineCounters got = count("mov.u16 %rs1, 1; mad.lo.u32 %r4, %r0, " + std::to_string(row.stride) +
                             ", %r5;" + row.access);
    EXPECT_EQ(got.executions, 1u);
    EXPECT_EQ(got.sharedPasses, row.passes);
    EXPECT_EQ(got.sharedIdeal, row.ideal);
    EXPECT_EQ(got.globalSectors, 0u);
  }
}

TEST(Counters, Sectors) {
  struct {
    uint32_t stride;
    uint64_t sectors, ideal;
  } rows[] = {{4, 4, 4}, {8, 8, 4}, {32, 32, 4}, {0, 1, 1}, {256, 32, 4}};
  for (const auto &row : rows) {
    SCOPED_TRACE(row.stride);
    LineCounters got = count("mad.wide.u32 %rd2, %r0, " + std::to_string(row.stride) +
                             ", %rd0; ld.global.u32 %r4, [%rd2];");
    EXPECT_EQ(got.globalSectors, row.sectors);
    EXPECT_EQ(got.globalIdeal, row.ideal);
    EXPECT_EQ(got.sharedPasses, 0u);
    EXPECT_THAT(got.ptxText, testing::HasSubstr("ld.global.u32"));
  }
}

TEST(Counters, TableSortsByWaste) {
  KernelSetup setup{.data = std::vector<uint32_t>(4096)};
  setup.counters = true;
  Ran ran = run("ld.global.u32 %r4, [%rd1]; mad.wide.u32 %rd2, %r0, 64, %rd0; ld.global.f32 %f0, "
                "[%rd2];",
                setup);
  std::string table = ran.result.renderCounters();
  EXPECT_LT(table.find("ld.global.f32"), table.find("ld.global.u32")) << table;
  EXPECT_THAT(table, testing::HasSubstr("32/4"));
  EXPECT_EQ(run("ld.global.u32 %r4, [%rd1];").result.renderCounters(), "");
}

} // namespace
} // namespace girih::emu::test
