// What a reduction combines where, and a tile's trip through shared memory: checked by walking all
// threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Exchange.h"
#include "girih/Layout/Fragments.h"
#include "girih/Layout/Reduction.h"

#include <map>

namespace girih {
namespace {

Reduction reduction(const Layout &layout, const Extents &shape, int32_t dim) {
  Result<Reduction> result = analyseReduction(layout, shape, dim);
  EXPECT_TRUE(result) << result.error();
  return *result;
}

TEST(Reduction, RowsOfAnAccumulatorAreInQuads) {
  Reduction rows = reduction(get(wgmmaAccumulator(128, 24, 2)), {128, 24}, 1);
  EXPECT_EQ(rows.laneBits, 3);
  EXPECT_EQ(rows.laneReplicas, 0);
  EXPECT_EQ(rows.results, 2);
  EXPECT_FALSE(rows.acrossWarps());
  EXPECT_THAT(rows.resultOf, testing::ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_EQ(rows.laneSlots, 8);
}

TEST(Reduction, ColumnsOfAnAccumulatorAreInAllWarps) {
  Reduction cols = reduction(get(wgmmaAccumulator(192, 24, 3)), {192, 24}, 0);
  EXPECT_EQ(cols.laneBits, 28);
  EXPECT_TRUE(cols.acrossWarps());
  int32_t warps = 1;
  for (const DigitAlong &digit : cols.digits)
    if (digit.dim == Dim::Warp)
      warps *= digit.extent;
  EXPECT_EQ(warps, 12);
  for (int warp = 0; warp < 12; ++warp)
    EXPECT_EQ(cols.firstWarp.apply(thread(warp / 4, warp % 4, 0, 0))[Dim::Row], 0);
}

TEST(Reduction, CopiesAreNotCounted) {
  Layout layout = get(Layout::parse(
      "{register: [[0,0],[0,1]], lane: [[0,2],[0,0],[1,0],[2,0],[4,0]], warp: [[0,0],[8,0]]}"));
  Reduction rows = reduction(layout, {16, 4}, 1);
  EXPECT_THAT(rows.resultOf, testing::ElementsAre(0, -1, 0, -1));
  EXPECT_EQ(rows.laneBits, 1);
  EXPECT_EQ(rows.laneReplicas, 2);
  // Each row has four elements: two registers of two lanes.
  EXPECT_EQ(rows.laneSlots, 8);
}

TEST(Reduction, ADigitAlongTwoDimensionsIsRefused) {
  Layout layout = get(Layout::parse("{lane: [[1,1],[1,0]]}"));
  EXPECT_EQ(analyseReduction(layout, {2, 2}, 1).error(),
            "every 1 of 'lane' moves along dimension 1 and along another one at once");
}

TEST(Reduction, ACounterOverTwoDimensionsIsADigitOfEach) {
  Layout layout = get(Layout::parse("{} repeat {register: [1,0] x 21}"));
  Reduction rows = reduction(layout, {7, 3, 1}, 0);
  ASSERT_EQ(rows.digits.size(), 1u);
  EXPECT_EQ(rows.digits[0].stride, 3);
  EXPECT_EQ(rows.digits[0].extent, 7);
  EXPECT_EQ(rows.digits[0].step, 1);
  EXPECT_EQ(scanOrder(rows, 7)->size(), 1u);
}

TEST(ScanOrder, FromRegistersToWarps) {
  Layout layout = get(Layout::parse("{register: [[0,1],[0,128]], lane: "
                                    "[[0,2],[0,4],[0,8],[0,16],[0,32]], warp: [[0,64],[1,0]]}"));
  Result<std::vector<DigitAlong>> order = scanOrder(reduction(layout, {2, 256}, 1), 256);
  ASSERT_TRUE(order) << order.error();
  std::vector<Dim> dims;
  for (const DigitAlong &digit : *order)
    dims.push_back(digit.dim);
  EXPECT_THAT(dims, testing::ElementsAre(Dim::Register, Dim::Lane, Dim::Lane, Dim::Lane, Dim::Lane,
                                         Dim::Lane, Dim::Warp, Dim::Register));
}

/// Writes every element where the plan says and reads it back in the other layout.
void checkExchange(const Layout &from, const Layout &to, int32_t bytes) {
  Result<Exchange> exchange = planExchange(from, to, bytes);
  ASSERT_TRUE(exchange) << exchange.error();
  auto offsetOf = [](const VectorAccess &access, const Point &slot) {
    Point thread = slot;
    thread[Dim::Register] = 0;
    AddressPlan::Step step =
        access.addresses.steps[static_cast<size_t>(slot[Dim::Register] / access.vector)];
    return (access.addresses.thread.apply(thread)[Dim::Offset] ^ step.flip) + step.add +
           slot[Dim::Register] % access.vector;
  };
  std::map<int32_t, Point> memory;
  forEverySlot(
      from, [&](const Point &slot) { memory[offsetOf(exchange->store, slot)] = from.apply(slot); });
  forEverySlot(to, [&](const Point &slot) {
    int32_t offset = offsetOf(exchange->load, slot);
    ASSERT_LT(offset * bytes, exchange->bytes);
    ASSERT_EQ(memory.at(offset), to.apply(slot));
  });
  // What a swizzle or padding must reach: no more than twice the least.
  EXPECT_LE(exchange->store.cost.wavefronts, 2 * exchange->store.cost.ideal);
  EXPECT_LE(exchange->load.cost.wavefronts, 2 * exchange->load.cost.ideal);
}

TEST(Exchange, AccumulatorToRows) {
  for (int32_t bytes : {2, 4})
    checkExchange(get(wgmmaAccumulator(64, 64, 1)), get(rowBlocked(64, 64, 16 / bytes, 4, 1)),
                  bytes);
}

TEST(Exchange, RowsToColumns) {
  Layout rows = get(rowBlocked(64, 64, 4, 4, 1));
  checkExchange(rows, get(transposeOf(rows, {64, 64}, {1, 0})), 4);
}

TEST(Exchange, KnowsWhatStaysInAWarp) {
  Layout accumulator = get(wgmmaAccumulator(64, 64, 1));
  Layout sameWarps = get(Layout::parse("{register: [[0,1],[0,2],[0,4],[0,8],[0,16]], lane: "
                                       "[[0,32],[1,0],[2,0],[4,0],[8,0]], warp: [[16,0],[32,0]]}"));
  EXPECT_TRUE(planExchange(accumulator, sameWarps, 4)->withinWarps);
  EXPECT_FALSE(planExchange(accumulator, get(rowBlocked(64, 64, 4, 4, 1)), 4)->withinWarps);
}

} // namespace
} // namespace girih
