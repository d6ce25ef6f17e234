// Compose, invert, divide, slice, compare, convert: laws checked at every slot, and the words of
// the answers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Algebra.h"
#include "girih/Layout/Fragments.h"
#include "girih/Layout/Shared.h"

#include <numeric>

namespace girih {
namespace {

std::vector<Layout> samples() {
  return {get(wgmmaAccumulator(64, 24, 1)),
          get(wgmmaAccumulator(192, 176, 3)),
          get(wgmmaAccumulator(256, 96, 2)),
          get(wgmmaOperandA(192, 192, 16, 3)),
          get(wgmmaOperandA(64, 96, 8, 1)),
          get(wgmmaOperandA(128, 24, 32, 1)),
          get(ldmatrixFragment(4, 16, true)),
          get(rowBlocked(64, 48, 8, 4, 1)),
          get(sharedBuffer(64, 176, 2, Swizzle::B128)),
          get(sharedBuffer(192, 64, 2, Swizzle::B64, Dim::Row)),
          get(sharedBuffer(24, 176, 1, Swizzle::B32)),
          get(sharedBuffer(12, 176, 4, Swizzle::None)),
          get(coreMatrixBuffer(64, 24, 2))};
}

TEST(Invert, ComposedWithTheLayoutIsTheIdentity) {
  for (const Layout &layout : samples()) {
    Layout inverse = get(invert(layout));
    forEverySlot(layout, [&](const Point &slot) {
      ASSERT_EQ(inverse.apply(layout.apply(slot)), slot) << layout.str();
    });
    Layout identity = get(compose(inverse, layout));
    forEverySlot(identity, [&](const Point &slot) { ASSERT_EQ(identity.apply(slot), slot); });
    EXPECT_EQ(identity.numSlots(), layout.numSlots());
    Layout other = get(compose(layout, inverse));
    for (int row = 0; row < layout.rows(); ++row)
      for (int col = 0; col < layout.cols(); ++col)
        ASSERT_EQ(other.apply(Point::element(row, col)), Point::element(row, col));
    EXPECT_EQ(get(Layout::parse(inverse.str())), inverse);
  }
}

TEST(Invert, TextOfAnInverse) {
  EXPECT_EQ(get(invert(get(wgmmaAccumulator(192, 176, 3)))).str(),
            "{row: [[0,4,0,0],[0,8,0,0],[0,16,0,0],[2,0,0,0],[0,0,1,0],[0,0,2,0]], col: "
            "[[1,0,0,0],[0,1,0,0],"
            "[0,2,0,0]]} repeat {row: [0,0,0,1] x 3, col: [4,0,0,0] x 22} over {register: 88, "
            "lane: 32, warp: 4, "
            "warpgroup: 3}");
}

TEST(Invert, NotOneToOne) {
  EXPECT_EQ(invert(get(Layout::parse("{lane: [[0,0],[0,1]]}"))).error(),
            "the layout is not one-to-one, so it has no inverse");
  EXPECT_EQ(invert(get(Layout::parse("{lane: [[0,2]]}"))).error(),
            "the layout is not one-to-one, so it has no inverse");
  EXPECT_EQ(invert(get(Layout::parse("{}"))).error(),
            "a layout of one slot has no inverse to name");
}

TEST(Compose, FragmentToSharedOffset) {
  Layout fragment = get(wgmmaAccumulator(128, 64, 2)),
         buffer = get(sharedBuffer(128, 64, 2, Swizzle::B128));
  Layout offsets = get(compose(get(invert(buffer)), fragment));
  forEverySlot(fragment, [&](const Point &slot) {
    EXPECT_EQ(buffer.apply(offsets.apply(slot)), fragment.apply(slot));
  });
  EXPECT_EQ(offsets.outDims(), std::vector<Dim>{Dim::Offset});
}

TEST(Compose, MistakesAreNamed) {
  Layout fragment = get(wgmmaAccumulator(64, 176, 1)),
         buffer = get(sharedBuffer(64, 176, 2, Swizzle::B128));
  // 22 groups of 8 columns fall into panels of 8 groups: no counter says that.
  EXPECT_EQ(compose(get(invert(buffer)), fragment).error(),
            "the map is no power-of-two atom with repeats");
  EXPECT_EQ(compose(fragment, buffer).error(),
            "the outer layout has indices of 'register', which the inner one does not lead to");
  Layout small = get(invert(get(sharedBuffer(64, 64, 2, Swizzle::B128))));
  EXPECT_EQ(compose(small, fragment).error(),
            "the inner layout reaches col 175, but the outer one has 64");
}

/// layout(a + A*q) == atom(a) + shape(atom)*quotient(q), at every slot.
void expectQuotient(const Layout &layout, const Layout &atom, const Layout &quotient) {
  forEverySlot(layout, [&](const Point &slot) {
    Point low, high;
    for (Dim dim : layout.inDims()) {
      low[dim] = slot[dim] % atom.inSize(dim);
      high[dim] = slot[dim] / atom.inSize(dim);
    }
    Point inside = atom.apply(low), place = quotient.apply(high);
    ASSERT_EQ(layout.apply(slot), Point::element(inside[Dim::Row] + place[Dim::Row] * atom.rows(),
                                                 inside[Dim::Col] + place[Dim::Col] * atom.cols()));
  });
}

TEST(Divide, FragmentsAreMadeOfMatrices) {
  Layout accumulator = get(wgmmaAccumulator(192, 176, 3));
  Layout quotient = get(divide(accumulator, get(matrixFragment(16))));
  EXPECT_EQ(quotient.str(), "{register: [[1,0]], warp: [[2,0],[4,0]]} repeat {register: [0,1] x "
                            "22, warpgroup: [8,0] x 3}");
  expectQuotient(accumulator, get(matrixFragment(16)), quotient);
  for (int bits : {8, 16, 32}) {
    Layout operand = get(wgmmaOperandA(128, 3 * 256 / bits, bits, 1));
    expectQuotient(operand, get(matrixFragment(bits)),
                   get(divide(operand, get(matrixFragment(bits)))));
  }
  // By itself: one atom, at place (0, 0).
  EXPECT_EQ(get(divide(accumulator, accumulator)).str(), "{}");
}

TEST(Divide, MistakesAreNamed) {
  Layout atom = get(matrixFragment(16));
  EXPECT_EQ(divide(get(rowBlocked(64, 64, 8, 4, 1)), atom).error(),
            "warp 0 lane 1 register 0 holds row 0 col 8, the atom asks for row 0 col 2 there");
  EXPECT_EQ(divide(get(wgmmaAccumulator(64, 64, 1)), get(matrixFragment(16, true))).error(),
            "warp 0 lane 0 register 1 holds row 0 col 1, the atom asks for row 1 col 0 there");
  EXPECT_EQ(divide(get(ldmatrixFragment(1, 16)), get(ldmatrixFragment(4, 16))).error(),
            "the layout has 2 of 'register', which is no multiple of the atom's 8");
  EXPECT_EQ(divide(get(invert(atom)), atom).error(),
            "the layout and the atom lead to different dimensions");
}

/// The part holds what the whole holds at the kept indices, shifted, and all of it.
void expectSlice(const Layout &whole, const Slice &part, Dim axis, int begin, int end) {
  EXPECT_EQ(part.layout.size(axis), end - begin);
  EXPECT_TRUE(part.layout.isSurjective());
  ASSERT_EQ(part.kept.size(), static_cast<size_t>(part.layout.size(part.dim)));
  int64_t wrong = 0;
  forEverySlot(part.layout, [&](const Point &slot) {
    Point old = slot, expected = part.layout.apply(slot);
    old[part.dim] = part.kept[static_cast<size_t>(slot[part.dim])];
    expected[axis] += begin;
    wrong += !(whole.apply(old) == expected);
  });
  EXPECT_EQ(wrong, 0) << whole.str() << " " << begin << " " << end;
}

std::vector<int32_t> range(int32_t begin, int32_t end) {
  std::vector<int32_t> result(static_cast<size_t>(end - begin));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

TEST(Slice, ChunksOfAnAccumulator) {
  Layout whole = get(wgmmaAccumulator(64, 176, 1));
  Slice middle = *slice(whole, Dim::Col, 64, 128);
  EXPECT_EQ(middle.layout, get(wgmmaAccumulator(64, 64, 1)));
  EXPECT_EQ(middle.dim, Dim::Register);
  EXPECT_EQ(middle.kept, range(32, 64));
  Slice last = *slice(whole, Dim::Col, 128, 176);
  EXPECT_EQ(last.layout, get(wgmmaAccumulator(64, 48, 1)));
  EXPECT_EQ(last.kept, range(64, 88));
  EXPECT_EQ(slice(whole, Dim::Col, 0, 176)->layout, whole);
}

TEST(Slice, ChunksOfTwoBlocksTakeRegistersOfBoth) {
  Slice part = *slice(get(wgmmaAccumulator(256, 96, 2)), Dim::Col, 16, 32);
  EXPECT_EQ(part.layout, get(wgmmaAccumulator(256, 16, 2)));
  EXPECT_EQ(part.kept,
            (std::vector<int32_t>{8, 9, 10, 11, 12, 13, 14, 15, 56, 57, 58, 59, 60, 61, 62, 63}));
}

TEST(Slice, EveryPossibleSliceHoldsWhatItSays) {
  int possible = 0;
  for (const Layout &layout : samples())
    for (Dim axis : {Dim::Row, Dim::Col})
      for (int begin = 0; begin < layout.outSize(axis); begin += 8)
        for (int end : {begin + 8, begin + 24, begin + 64, layout.outSize(axis)})
          if (Result<Slice> part = slice(layout, axis, begin, end)) {
            ++possible;
            expectSlice(layout, *part, axis, begin, end);
          }
  EXPECT_GT(possible, 250);
}

TEST(Slice, EveryEightColumnsOfAnAccumulatorCanBeCut) {
  for (int cols : {24, 64, 96, 176})
    for (int begin = 0; begin < cols; begin += 8)
      for (int end = begin + 8; end <= cols; end += 8)
        EXPECT_TRUE(slice(get(wgmmaAccumulator(64, cols, 1)), Dim::Col, begin, end))
            << begin << " " << end;
}

TEST(Slice, PanelsOfABuffer) {
  Slice last = *slice(get(sharedBuffer(64, 176, 2, Swizzle::B128)), Dim::Col, 128, 176);
  EXPECT_EQ(last.dim, Dim::Offset);
  EXPECT_EQ(last.layout, get(sharedBuffer(64, 48, 2, Swizzle::B128)));
  EXPECT_EQ(last.kept, range(2 * 64 * 64, 3 * 64 * 64));
  Slice rows = *slice(get(sharedBuffer(128, 64, 2, Swizzle::B128)), Dim::Row, 64, 128);
  EXPECT_EQ(rows.kept, range(64 * 64, 128 * 64));
}

// Two counters along the columns: the wide one is fixed, the narrow one cut.
TEST(Slice, InsideAGroup) {
  Layout whole = get(
      Layout::parse("{} repeat {register: [0,1] x 5, register: [1,0] x 3, register: [0,5] x 3}"));
  Slice part = *slice(whole, Dim::Col, 6, 9);
  EXPECT_EQ(part.kept, (std::vector<int32_t>{16, 17, 18, 21, 22, 23, 26, 27, 28}));
  expectSlice(whole, part, Dim::Col, 6, 9);
  EXPECT_EQ(slice(whole, Dim::Col, 4, 6).error(),
            "cols [4, 6) cut through groups of 5 that stay together");
}

TEST(Slice, MistakesAreNamed) {
  EXPECT_EQ(slice(get(Layout::parse("{} repeat {register: [0,1] x 4, register: [0,2] x 2}")),
                  Dim::Col, 2, 4)
                .error(),
            "cols [2, 4) cannot be cut: groups of 4 cols start every 2 and overlap");
  Layout accumulator = get(wgmmaAccumulator(64, 176, 1));
  EXPECT_EQ(slice(accumulator, Dim::Col, 4, 16).error(),
            "cols [4, 16) cut through groups of 8 that stay together");
  EXPECT_EQ(slice(accumulator, Dim::Col, 8, 12).error(),
            "cols [8, 12) are not held by registers alone: every 2 cols the lane changes");
  EXPECT_EQ(slice(accumulator, Dim::Col, 128, 192).error(),
            "cols [128, 192) are no part of the 176 cols of the layout");
  EXPECT_EQ(slice(accumulator, Dim::Row, 0, 16).error(),
            "rows [0, 16) are not held by registers alone: every 16 rows the warp changes");
  EXPECT_EQ(slice(get(sharedBuffer(64, 64, 2, Swizzle::B128)), Dim::Col, 0, 32).error(),
            "cols [0, 32) cut through the atom of the layout");
  EXPECT_EQ(slice(accumulator, Dim::Lane, 0, 1).error(), "the layout does not lead to 'lane'");
}

TEST(FirstConflict, NamesTheElementAndBothPlaces) {
  Layout left = get(wgmmaAccumulator(64, 24, 1));
  EXPECT_EQ(firstConflict(left, left), std::nullopt);
  EXPECT_EQ(firstConflict(left, get(rowBlocked(64, 24, 2, 4, 1))),
            "element (0, 8) sits in warp 0 lane 0 register 4 on the left and in warp 0 lane 0 "
            "register 2 on the right");
  EXPECT_EQ(firstConflict(get(wgmmaAccumulator(128, 24, 2)), get(wgmmaAccumulator(128, 24, 1))),
            "element (64, 0) sits in warpgroup 1 warp 0 lane 0 register 0 on the left and in warp "
            "0 lane 0 register 12 "
            "on the right");
  EXPECT_EQ(firstConflict(get(sharedBuffer(8, 64, 2, Swizzle::B128)),
                          get(sharedBuffer(8, 64, 2, Swizzle::None))),
            "element (1, 0) sits in offset 72 on the left and in offset 64 on the right");
  EXPECT_EQ(firstConflict(left, get(wgmmaAccumulator(64, 32, 1))),
            "the left is of 64x24 elements, the right of 64x32");
  EXPECT_EQ(
      firstConflict(get(Layout::parse("{lane: [[0,1]]}")),
                    get(Layout::parse("{lane: [[0,1],[0,0]]}"))),
      "element (0, 0) sits nowhere else on the left and in warp 0 lane 2 register 0 on the right");
}

TEST(Convert, TheCheapestKind) {
  Layout accumulator = get(wgmmaAccumulator(64, 64, 1));
  // The accumulator of one product is operand A of the next one, 16-bit: attention lives on it.
  Conversion same = *convert(accumulator, get(wgmmaOperandA(64, 64, 16, 1)));
  EXPECT_EQ(same.kind, ConversionKind::None);
  EXPECT_EQ(same.moved, 0);

  // Registers of a thread in another order.
  Conversion order = *convert(get(Layout::parse("{register: [[0,1],[0,2]], lane: [[1,0]]}")),
                              get(Layout::parse("{register: [[0,2],[0,1]], lane: [[1,0]]}")));
  EXPECT_EQ(order.kind, ConversionKind::RegisterPermutation);
  EXPECT_EQ(order.moved, 4);
  EXPECT_EQ(order.reason,
            "element (0, 2) moves from warp 0 lane 0 register 2 to warp 0 lane 0 register 1");

  // Operand A of 8 bits wants four neighbours in a lane where the accumulator has two: the quad
  // swaps.
  Conversion quad = *convert(accumulator, get(wgmmaOperandA(64, 64, 8, 1)));
  EXPECT_EQ(quad.kind, ConversionKind::QuadShuffle);
  EXPECT_EQ(quad.reason,
            "element (0, 2) moves from warp 0 lane 1 register 0 to warp 0 lane 0 register 2");

  Conversion warp = *convert(get(ldmatrixFragment(1, 16)), get(ldmatrixFragment(1, 16, true)));
  EXPECT_EQ(warp.kind, ConversionKind::WarpShuffle);

  // Lanes 2 and 4 are neighbours of different quads.
  Conversion quads = *convert(get(Layout::parse("{lane: [[0,1],[0,2],[0,4]]}")),
                              get(Layout::parse("{lane: [[0,1],[0,4],[0,2]]}")));
  EXPECT_EQ(quads.kind, ConversionKind::WarpShuffle);
  EXPECT_EQ(quads.reason,
            "element (0, 4) moves from warp 0 lane 4 register 0 to warp 0 lane 2 register 0");

  Conversion shared = *convert(accumulator, get(rowBlocked(64, 64, 8, 4, 1)));
  EXPECT_EQ(shared.kind, ConversionKind::SharedMemory);
  EXPECT_EQ(shared.reason,
            "element (16, 0) moves from warp 1 lane 0 register 0 to warp 0 lane 0 register 8");

  // Of several copies the nearest serves.
  Conversion copy = *convert(get(Layout::parse("{lane: [[0,0],[0,1]]}")),
                             get(Layout::parse("{lane: [[0,1],[0,0]]}")));
  EXPECT_EQ(copy.kind, ConversionKind::QuadShuffle);
  EXPECT_EQ(copy.moved, 2);
}

TEST(Convert, MistakesAreNamed) {
  EXPECT_EQ(convert(get(wgmmaAccumulator(64, 64, 1)), get(wgmmaAccumulator(64, 72, 1))).error(),
            "the left is of 64x64 elements, the right of 64x72");
  EXPECT_EQ(convert(get(wgmmaAccumulator(64, 64, 1)), get(sharedBuffer(64, 64, 2, Swizzle::B128)))
                .error(),
            "a conversion is between register layouts; an offset is a place in shared memory");
  EXPECT_EQ(convert(get(Layout::parse("{lane: [[0,2]]}")),
                    get(Layout::parse("{} repeat {lane: [0,1] x 3}")))
                .error(),
            "element (0, 1) sits in no slot of the layout to convert from");
}

TEST(Fit, MapsWithoutAFormAreRefused) {
  auto square = [](const Point &slot) {
    return Point::element(0, slot[Dim::Lane] * slot[Dim::Lane]);
  };
  EXPECT_EQ(fitLayout({{Dim::Lane, 4}}, {Dim::Row, Dim::Col}, square).error(),
            "the map is no power-of-two atom with repeats");
  auto shifted = [](const Point &slot) { return Point::element(0, slot[Dim::Lane] + 1); };
  EXPECT_EQ(fitLayout({{Dim::Lane, 4}}, {Dim::Row, Dim::Col}, shifted).error(),
            "the map does not start at zero");
}

} // namespace
} // namespace girih
