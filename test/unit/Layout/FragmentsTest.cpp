// Fragments against the PTX ISA: its formulas and figures, written here as plain index arithmetic
// over %tid, never as bases or counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Fragments.h"

namespace girih {
namespace {

using ::testing::Combine;
using ::testing::Values;

/// Register i of thread t of a warpgroup in the figure of the m64nN accumulator (9.7.15.5.1.1):
/// each warp has 16 rows; groupID = laneid >> 2 says the row among 8, d(4j), d(4j+1) are in that
/// row, d(4j+2), d(4j+3) 8 rows below; the pairs of threads 0..3 fill 8 columns, and the next 4
/// registers are 8 columns to the right.
Point accumulatorFigure(int t, int i) {
  int warp = t / 32, groupID = t % 32 / 4, threadInGroup = t % 4;
  int row = 16 * warp + groupID + (i % 4 >= 2 ? 8 : 0);
  int col = i / 4 * 8 + threadInGroup * 2 + i % 2;
  return Point::element(row, col);
}

class Accumulator : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(Accumulator, MatchesTheFigure) {
  auto [rows, cols, warpgroups] = GetParam();
  Layout layout = get(wgmmaAccumulator(rows, cols, warpgroups));
  ASSERT_EQ(layout.tileError(rows, cols), std::nullopt);
  EXPECT_TRUE(layout.isInjective());
  EXPECT_FALSE(layout.hasPadding());
  int rowsEach = rows / warpgroups,
      perBlock = cols / 2; // an m64nN accumulator has N/2 elements per thread
  ASSERT_EQ(layout.size(Dim::Register), rowsEach / 64 * perBlock);
  for (int wg = 0; wg < warpgroups; ++wg)
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < rowsEach / 64 * perBlock; ++i) {
        Point expected = accumulatorFigure(t, i % perBlock);
        expected[Dim::Row] += wg * rowsEach + i / perBlock * 64;
        ASSERT_EQ(layout.apply(thread(wg, t / 32, t % 32, i)), expected)
            << wg << " " << t << " " << i;
      }
}

INSTANTIATE_TEST_SUITE_P(OneBlockEach, Accumulator,
                         Values(std::tuple(64, 8, 1), std::tuple(64, 24, 1), std::tuple(64, 96, 1),
                                std::tuple(64, 176, 1), std::tuple(64, 192, 1),
                                std::tuple(64, 256, 1), std::tuple(128, 256, 2),
                                std::tuple(128, 144, 2), std::tuple(192, 24, 3),
                                std::tuple(192, 96, 3), std::tuple(192, 176, 3),
                                std::tuple(192, 192, 3), std::tuple(256, 128, 4)));
INSTANTIATE_TEST_SUITE_P(SeveralBlocks, Accumulator,
                         Values(std::tuple(128, 96, 1), std::tuple(192, 176, 1),
                                std::tuple(256, 80, 2), std::tuple(384, 24, 2)));

// Corners as the figure prints them: thread, register, row, column.
TEST(AccumulatorFigure, Corners) {
  Layout layout = get(wgmmaAccumulator(64, 24, 1));
  struct Corner {
    int warp, lane, reg, row, col;
  };
  for (Corner c : {Corner{0, 0, 0, 0, 0}, Corner{0, 0, 1, 0, 1}, Corner{0, 0, 2, 8, 0},
                   Corner{0, 0, 3, 8, 1}, Corner{0, 0, 4, 0, 8}, Corner{0, 1, 0, 0, 2},
                   Corner{0, 3, 1, 0, 7}, Corner{0, 4, 0, 1, 0}, Corner{0, 31, 1, 7, 7},
                   Corner{0, 31, 11, 15, 23}, Corner{1, 0, 0, 16, 0}, Corner{3, 31, 11, 63, 23}})
    EXPECT_EQ(layout.apply(thread(0, c.warp, c.lane, c.reg)), Point::element(c.row, c.col));
}

/// Multiplicand A in registers. The figures of m64nNk16, m64nNk32 and m64nNk8 are, warp by warp,
/// those of mma.m16n8k16, .m16n8k32 and .m16n8k8 (9.7.14.5), for which the ISA gives formulas.
Point operandFigure(int bits, int t, int i) {
  int groupID = t % 32 / 4, threadInGroup = t % 4, row = 0, col = 0;
  switch (bits) {
  case 16: // "row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise;
           //  col = threadID_in_group * 2 + (i & 1) for i < 4, + 8 for i >= 4"
    row = (i < 2 || (i >= 4 && i < 6)) ? groupID : groupID + 8;
    col = threadInGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    break;
  case 8: // "row = groupID for ai where 0 <= i < 4 || 8 <= i < 12, groupID + 8 otherwise;
          //  col = threadID_in_group * 4 + (i & 3) for i < 8, + 16 for i >= 8"
    row = (i < 4 || (i >= 8 && i < 12)) ? groupID : groupID + 8;
    col = threadInGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0);
    break;
  case 32: // "row = groupID for a0 and a2, groupID + 8 for a1 and a3;
           //  col = threadID_in_group for a0 and a1, + 4 for a2 and a3"
    row = (i == 0 || i == 2) ? groupID : groupID + 8;
    col = threadInGroup + (i >= 2 ? 4 : 0);
    break;
  }
  return Point::element(16 * (t / 32) + row, col);
}

class OperandA : public ::testing::TestWithParam<std::tuple<int, std::tuple<int, int>, int>> {};

TEST_P(OperandA, MatchesTheFigure) {
  auto [bits, tile, steps] = GetParam();
  auto [rows, warpgroups] = tile;
  int k = 256 / bits, perStep = 128 / bits; // elements per thread and instruction: 64 * k / 128
  Layout layout = get(wgmmaOperandA(rows, steps * k, bits, warpgroups));
  ASSERT_EQ(layout.tileError(rows, steps * k), std::nullopt);
  EXPECT_TRUE(layout.isInjective());
  int rowsEach = rows / warpgroups;
  for (int wg = 0; wg < warpgroups; ++wg)
    for (int t = 0; t < 128; ++t)
      for (int block = 0; block < rowsEach / 64; ++block)
        for (int step = 0; step < steps; ++step)
          for (int i = 0; i < perStep; ++i) {
            Point expected = operandFigure(bits, t, i);
            expected[Dim::Row] += wg * rowsEach + block * 64;
            expected[Dim::Col] += step * k;
            ASSERT_EQ(
                layout.apply(thread(wg, t / 32, t % 32, (block * steps + step) * perStep + i)),
                expected);
          }
}

INSTANTIATE_TEST_SUITE_P(All, OperandA,
                         Combine(Values(8, 16, 32),
                                 Values(std::tuple(64, 1), std::tuple(128, 2), std::tuple(192, 3),
                                        std::tuple(128, 1)),
                                 Values(1, 3, 4)));

/// ldmatrix, stmatrix (9.7.14.5.15, .16): "a group of four threads holds an entire row"; thread 0
/// the first fragment (32 bits) of row 0, thread 4 that of row 1. Addresses of matrix m come from
/// threads 8m..8m+7, and register m is that matrix. With .trans a group of four threads holds a
/// column.
TEST(Ldmatrix, MatchesTheFigure) {
  for (int count : {1, 2, 4})
    for (int bits : {8, 16, 32}) {
      Layout layout = get(ldmatrixFragment(count, bits));
      int per = 32 / bits;
      ASSERT_EQ(layout.tileError(8 * count, 4 * per), std::nullopt);
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < count; ++reg)
          for (int e = 0; e < per; ++e)
            EXPECT_EQ(layout.apply(thread(0, 0, lane, reg * per + e)),
                      Point::element(8 * reg + lane / 4, lane % 4 * per + e));
    }
}

TEST(Ldmatrix, TransposedHoldsColumnsInQuads) {
  for (int count : {1, 2, 4}) {
    // Thread 0 receives the first two elements of column 0 of the matrix in memory, thread 4 those
    // of column 1.
    Layout layout = get(ldmatrixFragment(count, 16, /*trans=*/true));
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < count; ++reg)
        for (int e = 0; e < 2; ++e)
          EXPECT_EQ(layout.apply(thread(0, 0, lane, reg * 2 + e)),
                    Point::element(8 * reg + lane % 4 * 2 + e, lane / 4));
  }
}

TEST(RowBlocked, ThreadsRunAlongRowsAndEachHoldsAVector) {
  Layout layout = get(rowBlocked(64, 64, 8, 4, 1));
  for (int t = 0; t < 128; ++t)
    for (int reg = 0; reg < 32; ++reg)
      // 8 threads of 8 elements make a row; 128 threads make 16 rows, four times.
      EXPECT_EQ(layout.apply(thread(0, t / 32, t % 32, reg)),
                Point::element(reg / 8 * 16 + t / 8, t % 8 * 8 + reg % 8));
}

TEST(RowBlocked, RowsOfAnyNumberOfVectors) {
  for (auto [rows, cols, vector, warps, warpgroups] :
       {std::tuple(64, 48, 8, 4, 1), std::tuple(192, 176, 8, 4, 3), std::tuple(16, 512, 4, 2, 1),
        std::tuple(32, 8, 8, 1, 1), std::tuple(128, 24, 2, 4, 2)}) {
    Layout layout = get(rowBlocked(rows, cols, vector, warps, warpgroups));
    EXPECT_EQ(layout.tileError(rows, cols), std::nullopt);
    EXPECT_TRUE(layout.isInjective());
    forEverySlot(layout, [&, vector = vector](const Point &slot) {
      Point first = slot;
      first[Dim::Register] -= slot[Dim::Register] % vector;
      Point expected = layout.apply(first);
      EXPECT_EQ(expected[Dim::Col] % vector, 0);
      expected[Dim::Col] += slot[Dim::Register] % vector;
      EXPECT_EQ(layout.apply(slot), expected);
    });
  }
}

TEST(Fragments, MistakesAreNamed) {
  EXPECT_EQ(wgmmaAccumulator(96, 64, 1).error(),
            "a wgmma accumulator of 1 warpgroups has a multiple of 64 rows, found 96");
  EXPECT_EQ(wgmmaAccumulator(192, 64, 2).error(),
            "a wgmma accumulator of 2 warpgroups has a multiple of 128 rows, found 192");
  EXPECT_EQ(wgmmaAccumulator(64, 20, 1).error(),
            "a wgmma accumulator has a multiple of 8 columns, found 20");
  EXPECT_EQ(wgmmaAccumulator(64, 8, 0).error(),
            "a wgmma accumulator needs at least one warpgroup, found 0");
  EXPECT_EQ(wgmmaOperandA(64, 16, 64, 1).error(),
            "a wgmma operand has elements of 8, 16 or 32 bits, found 64");
  EXPECT_EQ(wgmmaOperandA(64, 24, 16, 1).error(),
            "a wgmma operand of 16-bit elements has a multiple of 16 columns, found 24");
  EXPECT_EQ(ldmatrixFragment(3, 16).error(),
            "ldmatrix and stmatrix move 1, 2 or 4 matrices, found 3");
  EXPECT_EQ(ldmatrixFragment(1, 8, true).error(),
            "ldmatrix and stmatrix transpose elements of 16 bits, found 8");
  EXPECT_EQ(rowBlocked(64, 60, 8, 4, 1).error(),
            "a row of 60 elements is no whole number of vectors of 8");
  EXPECT_EQ(rowBlocked(60, 64, 8, 4, 1).error(),
            "one pass of all threads takes 16 rows of 64 elements, and 60 rows "
            "are no multiple of that");
  EXPECT_EQ(rowBlocked(60, 64, 3, 4, 1).error(),
            "a vector of a row has a power of two of elements, found 3");
}

} // namespace
} // namespace girih
