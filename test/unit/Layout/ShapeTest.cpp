// Layouts of reduced, expanded, broadcast, transposed, reshaped, joined and split tiles: every slot
// is compared with index arithmetic on multi-dimensional indices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Fragments.h"
#include "girih/Layout/Shape.h"

namespace girih {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Layout accumulator() { return get(wgmmaAccumulator(64, 24, 1)); }

/// Rank 3, 4x8x16: columns over registers and lanes, the middle dimension over lanes, the first
/// over warps.
Layout cube() {
  return get(Layout::parse("{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], "
                           "warp: [[8,0],[16,0]]}"));
}

TEST(Elements, RankOneIsARowAndLeadingDimensionsAreRows) {
  EXPECT_EQ(elementOf({5}, {3}), Point::element(0, 3));
  EXPECT_EQ(elementOf({2, 3, 4}, {1, 2, 3}), Point::element(5, 3));
  EXPECT_THAT(indexOf({2, 3, 4}, Point::element(5, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(indexOf({5}, Point::element(0, 3)), ElementsAre(3));
}

TEST(Reduce, RowsOfAnAccumulatorStayInTheQuadsThatHoldThem) {
  Layout rows = get(reduceOf(accumulator(), {64, 24}, 1));
  EXPECT_EQ(rows.str(), "{register: [[0,8]], lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: "
                        "[[0,16],[0,32]]}");
}

TEST(Reduce, ColumnsOfAnAccumulatorAreHeldByEveryWarp) {
  Layout cols = get(reduceOf(accumulator(), {64, 24}, 0));
  EXPECT_EQ(cols.shape(), (std::vector<int32_t>{1, 24}));
  EXPECT_EQ(cols.inSize(Dim::Register), 6);
  forEverySlot(cols, [&](const Point &slot) {
    int reg = slot[Dim::Register], lane = slot[Dim::Lane];
    ASSERT_EQ(cols.apply(slot), Point::element(0, reg / 2 * 8 + lane % 4 * 2 + reg % 2));
  });
}

TEST(Reduce, MiddleOfThreeDimensions) {
  Layout part = get(reduceOf(cube(), {4, 8, 16}, 1));
  EXPECT_EQ(part.shape(), (std::vector<int32_t>{4, 16}));
  forEverySlot(cube(), [&](const Point &slot) {
    Point from = cube().apply(slot);
    ASSERT_EQ(part.apply(slot), Point::element(from[Dim::Row] / 8, from[Dim::Col]));
  });
}

TEST(Reduce, OfOneDimensionIsANumber) {
  EXPECT_EQ(reduceOf(get(Layout::parse("{lane: [[0,1]]}")), {2}, 0).error(),
            "a tile of one dimension reduces to a number, which has no layout");
}

TEST(Reduce, ShapeDisagrees) {
  EXPECT_EQ(reduceOf(accumulator(), {24, 64}, 1).error(),
            "the layout is of 64x24 elements, which a tile of 24x64 does not have");
}

TEST(Expand, UndoesAReduction) {
  Layout rows = get(reduceOf(accumulator(), {64, 24}, 1));
  Layout column = get(expandOf(rows, {64}, 1));
  EXPECT_EQ(column.shape(), (std::vector<int32_t>{64, 1}));
  forEverySlot(rows, [&](const Point &slot) {
    ASSERT_EQ(column.apply(slot), Point::element(rows.apply(slot)[Dim::Col], 0));
  });
  EXPECT_EQ(get(reduceOf(column, {64, 1}, 1)), rows);
  EXPECT_EQ(get(expandOf(rows, {64}, 0)), rows); // 1x64 has the same rows and columns
}

TEST(Broadcast, SourceIsWhatTheReductionLeaves) {
  Layout source = get(broadcastSourceOf(accumulator(), {64, 24}, {64, 1}));
  Layout rows = get(reduceOf(accumulator(), {64, 24}, 1));
  EXPECT_EQ(source, get(expandOf(rows, {64}, 1)));
}

TEST(Broadcast, ForwardRepeatsInRegisters) {
  Layout column = get(expandOf(get(reduceOf(accumulator(), {64, 24}, 1)), {64}, 1));
  Layout tile = get(broadcastOf(column, {64, 1}, {64, 24}));
  EXPECT_EQ(tile.inSize(Dim::Register), 2 * 24);
  forEverySlot(tile, [&](const Point &slot) {
    Point from = slot;
    from[Dim::Register] %= 2;
    ASSERT_EQ(tile.apply(slot),
              Point::element(column.apply(from)[Dim::Row], slot[Dim::Register] / 2));
  });
  EXPECT_EQ(broadcastOf(column, {64, 1}, {32, 24}).error(),
            "a tile of 64x1 cannot be broadcast to 32x24");
}

TEST(Transpose, SwapsRowsAndColumns) {
  Layout turned = get(transposeOf(accumulator(), {64, 24}, {1, 0}));
  forEverySlot(turned, [&](const Point &slot) {
    Point from = accumulator().apply(slot);
    ASSERT_EQ(turned.apply(slot), Point::element(from[Dim::Col], from[Dim::Row]));
  });
  EXPECT_EQ(transposeOf(accumulator(), {64, 24}, {1, 1}).error(),
            "the order names each of the 2 dimensions once");
}

TEST(Transpose, OfThreeDimensions) {
  Layout turned = get(transposeOf(cube(), {4, 8, 16}, {2, 0, 1}));
  forEverySlot(turned, [&](const Point &slot) {
    Extents index = indexOf({4, 8, 16}, cube().apply(slot));
    ASSERT_EQ(turned.apply(slot), Point::element(index[2] * 4 + index[0], index[1]));
  });
}

TEST(Reshape, KeepsRowMajorOrder) {
  Layout flat = get(reshapeOf(cube(), {4, 8, 16}, {512}));
  forEverySlot(flat, [&](const Point &slot) {
    Point from = cube().apply(slot);
    ASSERT_EQ(flat.apply(slot), Point::element(0, from[Dim::Row] * 16 + from[Dim::Col]));
  });
  EXPECT_EQ(reshapeOf(cube(), {4, 8, 16}, {100}).error(),
            "a tile of 4x8x16 cannot be reshaped to 100");
}

TEST(JoinAndSplit, AreInverse) {
  Layout rows = get(reduceOf(accumulator(), {64, 24}, 1));
  Layout pairs = get(joinOf(rows, {64}));
  forEverySlot(pairs, [&](const Point &slot) {
    Point from = slot;
    from[Dim::Register] /= 2;
    ASSERT_EQ(pairs.apply(slot),
              Point::element(rows.apply(from)[Dim::Col], slot[Dim::Register] % 2));
  });
  EXPECT_EQ(get(splitOf(pairs, {64, 2})), rows);
}

TEST(Split, RefusedWhereLanesHoldThePlaces) {
  Layout layout = get(Layout::parse("{lane: [[0,1],[1,0],[2,0],[4,0],[8,0]]}"));
  EXPECT_THAT(splitOf(layout, {16, 2}).error(), HasSubstr("not every thread holds both places"));
}

TEST(Coordinate, OfEachDimension) {
  for (int dim = 0; dim < 3; ++dim) {
    Layout coordinate = get(coordinateOf(cube(), {4, 8, 16}, dim));
    forEverySlot(cube(), [&](const Point &slot) {
      ASSERT_EQ(coordinate.apply(slot)[Dim::Row],
                indexOf({4, 8, 16}, cube().apply(slot))[static_cast<size_t>(dim)]);
    });
  }
}

TEST(Coordinate, OfRowsAndColumns) {
  Layout row = get(coordinateOf(accumulator(), {64, 24}, 0));
  Layout col = get(coordinateOf(accumulator(), {64, 24}, 1));
  Layout rows = get(reduceOf(accumulator(), {64, 24}, 1));
  Layout only = get(coordinateOf(rows, {64}, 0));
  forEverySlot(accumulator(), [&](const Point &slot) {
    Point element = accumulator().apply(slot);
    ASSERT_EQ(row.apply(slot)[Dim::Row], element[Dim::Row]);
    ASSERT_EQ(col.apply(slot)[Dim::Row], element[Dim::Col]);
  });
  forEverySlot(rows, [&](const Point &slot) {
    ASSERT_EQ(only.apply(slot)[Dim::Row], rows.apply(slot)[Dim::Col]);
  });
}

TEST(RegisterSources, OfABroadcast) {
  Layout column = get(expandOf(get(reduceOf(accumulator(), {64, 24}, 1)), {64}, 1));
  auto sources = registerSources(column, accumulator(), [](const Point &element) {
    return Point::element(element[Dim::Row], 0);
  });
  ASSERT_TRUE(sources) << sources.error();
  EXPECT_THAT(*sources, ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1));
}

TEST(RegisterSources, ElementElsewhere) {
  Layout rows = get(Layout::parse("{register: [[1,0]], lane: [[0,1],[0,2],[0,4],[0,8],[0,16]]}"));
  Layout cols = get(Layout::parse("{register: [[0,1]], lane: [[0,2],[0,4],[0,8],[0,16],[1,0]]}"));
  EXPECT_EQ(registerSources(rows, cols).error(),
            "element (0, 1) of the source is needed in warp 0 lane 0 register 1, where it is not");
}

TEST(RegisterSources, ANameIsAskedForOnce) {
  int asked = 0;
  auto ask = [&](std::vector<int32_t> name, int32_t row) {
    auto sources = registerSources(
        accumulator(), accumulator(),
        [&](const Point &element) {
          ++asked;
          return Point::element((element[Dim::Row] + row) % 64, element[Dim::Col]);
        },
        name);
    return sources ? static_cast<int>(sources->size()) : -1;
  };
  EXPECT_EQ(ask({7, 0}, 0), 12);
  int once = asked;
  EXPECT_EQ(ask({7, 0}, 0), 12);
  EXPECT_EQ(asked, once);
  EXPECT_EQ(ask({7, 16}, 16), -1); // another name is another question: its rows are in other warps
  EXPECT_GT(asked, once);
  once = asked;
  EXPECT_EQ(ask({}, 0), 12); // what has no name is always asked
  EXPECT_GT(asked, once);
}

TEST(Layout, AnswersToManyQuestionsAreRight) {
  // More than are remembered, twice.
  for (int round = 0; round < 2; ++round)
    for (int32_t extent = 2; extent < 2000; ++extent) {
      Layout layout =
          get(Layout::create({{Dim::Row, Dim::Col}, {}, {{Dim::Register, {0, 1}, extent}}, {}}));
      ASSERT_EQ(layout.cols(), extent);
      ASSERT_EQ(get(transposeOf(layout, {1, extent}, {1, 0})).rows(), extent);
    }
}

} // namespace
} // namespace girih
