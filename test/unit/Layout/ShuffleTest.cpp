// Layout conversions by shuffles: each plan is carried out on paper, and every lane must then hold
// what the layout says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/ConversionPlan.h"
#include "girih/Layout/Fragments.h"
#include "girih/Layout/Shape.h"
#include "girih/Layout/Shuffle.h"

namespace girih {
namespace {

int number(const Layout &layout, const Point &slot) {
  Point element = layout.apply(slot);
  return element[Dim::Row] * layout.cols() + element[Dim::Col];
}

/// Carries out a plan in every warp, one word of a lane at a time.
void carryOut(const Layout &from, const Layout &to, const ShufflePlan &plan, size_t perWord) {
  ASSERT_EQ(static_cast<int>(plan.registers.size()), to.inSize(Dim::Register));
  for (int group = 0; group < to.inSize(Dim::Warpgroup); ++group)
    for (int warp = 0; warp < to.inSize(Dim::Warp); ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < to.inSize(Dim::Register); ++reg) {
          const ShuffledRegister &where = plan.registers[static_cast<size_t>(reg)];
          size_t l = static_cast<size_t>(lane);
          const ShuffleRound &round =
              plan.rounds[static_cast<size_t>(where.round.options[where.round.of[l]])];
          int source = lane;
          if (round.source)
            source = round.source->apply(thread(0, 0, lane, 0))[Dim::Row] ^ round.flip;
          const std::vector<int32_t> &word =
              round.word.options[round.word.of[static_cast<size_t>(source)]];
          ASSERT_LE(word.size(), perWord);
          ASSERT_LT(static_cast<size_t>(where.element), word.size());
          ASSERT_EQ(
              number(from, thread(group, warp, source, word[static_cast<size_t>(where.element)])),
              number(to, thread(group, warp, lane, reg)))
              << "lane " << lane << " register " << reg;
        }
}

ShufflePlan planOf(const Layout &from, const Layout &to, int32_t elementBytes) {
  Result<ShufflePlan> plan = planShuffles(from, to, elementBytes);
  if (!plan) {
    ADD_FAILURE() << plan.error();
    return {};
  }
  carryOut(from, to, *plan, static_cast<size_t>(std::max(1, 4 / elementBytes)));
  return *plan;
}

TEST(Shuffle, NothingMovesWithoutAShuffle) {
  Layout acc = get(wgmmaAccumulator(64, 32, 1));
  ShufflePlan plan = planOf(acc, get(wgmmaOperandA(64, 32, 16, 1)), 2);
  EXPECT_EQ(plan.shuffles, 0);
  EXPECT_EQ(plan.selections, 0);
}

TEST(Shuffle, OneBitOfTheLaneForOneOfTheRegister) {
  // Half of a thread's elements change places with those of the thread beside it: each sends one
  // that it chooses, and puts what it gets beside the one that stays.
  Layout pairs = get(Layout::parse("{register: [[0,1]], lane: [[0,2],[0,4],[0,8],[1,0],[2,0]]}"));
  Layout halves = get(Layout::parse("{register: [[0,2]], lane: [[0,1],[0,4],[0,8],[1,0],[2,0]]}"));
  ShufflePlan plan = planOf(pairs, halves, 4);
  EXPECT_EQ(plan.shuffles, 1);
  EXPECT_EQ(plan.selections, 4);
  // Eight bytes are two words.
  EXPECT_EQ(planOf(pairs, halves, 8).shuffles, 2);
}

TEST(Shuffle, VectorsOfOtherLengths) {
  Layout fours = get(rowBlocked(16, 64, 4, 1, 1)), eights = get(rowBlocked(16, 64, 8, 1, 1));
  EXPECT_EQ(planOf(fours, eights, 4).shuffles, 32);
  EXPECT_EQ(planOf(fours, eights, 2).shuffles, 16);
  EXPECT_EQ(planOf(eights, fours, 1).shuffles, 8);
}

TEST(Shuffle, ProbabilitiesOfEightBitsBecomeAnOperand) {
  // The accumulator has two adjacent columns in a lane, the operand four: within a quad, each lane
  // takes two words of 4 bytes for each 32 columns and 16 rows.
  for (int32_t cols : {32, 64, 96, 128}) {
    ShufflePlan plan =
        planOf(get(wgmmaAccumulator(128, cols, 2)), get(wgmmaOperandA(128, cols, 8, 2)), 1);
    EXPECT_EQ(plan.shuffles, cols / 32 * 4);
  }
}

TEST(Shuffle, AnOperandOfTf32) {
  ShufflePlan plan = planOf(get(wgmmaAccumulator(64, 64, 1)), get(wgmmaOperandA(64, 64, 32, 1)), 4);
  EXPECT_EQ(plan.shuffles, 32);
}

TEST(Shuffle, RowsOfOneWarpFromAFragment) {
  // 16 rows of a warp, from the accumulator's order to whole lines.
  Layout acc = get(wgmmaAccumulator(64, 64, 1));
  Layout lines = get(Layout::parse("{register: [[0,1],[0,2],[0,4],[4,0],[8,0]], lane: "
                                   "[[0,8],[0,16],[0,32],[1,0],[2,0]], warp: [[16,0],[32,0]]}"));
  for (int32_t bytes : {1, 2, 4, 8}) {
    planOf(acc, lines, bytes);
    planOf(lines, acc, bytes);
  }
}

TEST(Shuffle, CopiesOfRowsInAQuad) {
  // Each lane of a quad holds a row's sum; afterwards one lane for each row does, again and again.
  Layout quads = get(reduceOf(get(wgmmaAccumulator(64, 32, 1)), {64, 32}, 1));
  Layout lanes =
      get(Layout::parse("{lane: [[0,1],[0,2],[0,4],[0,8],[0,0]], warp: [[0,16],[0,32]]}"));
  ShufflePlan plan = planOf(quads, lanes, 4);
  EXPECT_LE(plan.shuffles, 2);
  EXPECT_EQ(plan.selections, 1);
  EXPECT_EQ(planOf(lanes, quads, 4).shuffles, 2);
}

TEST(Shuffle, ExtentsThatAreNoPowersOfTwo) {
  Layout acc = get(wgmmaAccumulator(192, 96, 3));
  planOf(acc, get(wgmmaOperandA(192, 96, 8, 3)), 1);
}

TEST(ConversionPlan, TheCheapestWay) {
  Layout acc = get(wgmmaAccumulator(64, 64, 1));
  Result<ConversionPlan> plan = planConversion(acc, acc, 4);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->renames);
  EXPECT_EQ(plan->transactions, 0);

  plan = planConversion(acc, get(wgmmaOperandA(64, 64, 8, 1)), 1);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->shuffles);
  // Four warps, eight shuffles, and a selection before and after each two of them.
  EXPECT_EQ(plan->transactions,
            4 * (2 * plan->shuffles->shuffles + plan->shuffles->selections + 1) / 2);

  // To whole lines of 16 rows each lane chooses among many registers: shared memory is cheaper.
  Layout lines = get(Layout::parse("{register: [[0,1],[0,2],[0,4],[4,0],[8,0]], lane: "
                                   "[[0,8],[0,16],[0,32],[1,0],[2,0]], warp: [[16,0],[32,0]]}"));
  plan = planConversion(acc, lines, 4);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->renames || plan->shuffles);
  // 128 lines of 128 bytes, 32 words for each lane of four warps, two barriers of four warps.
  EXPECT_EQ(plan->transactions, 128 + 4 * 32 + 2 * 4 * 4);

  EXPECT_EQ(planConversion(acc, get(wgmmaAccumulator(64, 32, 1)), 4).error(),
            "the two layouts are of different shapes");
}

TEST(Shuffle, OtherWarpsAreOutOfReach) {
  Layout acc = get(wgmmaAccumulator(64, 64, 1));
  EXPECT_EQ(planShuffles(acc, get(rowBlocked(64, 64, 4, 4, 1)), 4).error(),
            "an element comes from another warp, or from none");
  EXPECT_EQ(planShuffles(acc, get(wgmmaAccumulator(128, 64, 2)), 4).error(),
            "the two layouts are of different shapes");
}

} // namespace
} // namespace girih
