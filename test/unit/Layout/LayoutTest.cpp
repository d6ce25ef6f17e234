// Construction, canonical form, text and messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Fragments.h"
#include "girih/Layout/Shared.h"

#include <map>
#include <random>
#include <set>

namespace girih {
namespace {

using ::testing::HasSubstr;

constexpr const char *kAccumulator =
    "{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} "
    "repeat {register: [0,8] x 22, warpgroup: [64,0] x 3}";

TEST(LayoutText, AccumulatorPrintsAsDocumented) {
  EXPECT_EQ(get(wgmmaAccumulator(192, 176, 3)).str(), kAccumulator);
  EXPECT_EQ(get(Layout::parse(kAccumulator)), get(wgmmaAccumulator(192, 176, 3)));
}

TEST(LayoutText, PaddingAndOtherDimensionsAreSaid) {
  EXPECT_EQ(get(sharedBuffer(8, 48, 2, Swizzle::B128)).str(),
            "{offset: [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,8],[2,16],[4,32]]} over {row: 8, "
            "col: 48}");
  EXPECT_EQ(get(Layout::parse("{lane: [[1],[2]]} over {offset: 4}")).str(),
            "{lane: [[1],[2]]} over {offset: 4}");
}

TEST(LayoutText, SpacesDoNotMatter) {
  EXPECT_EQ(get(Layout::parse(" {\nlane:[ [ 0 , 1 ] ]}repeat{register :[0, 2]x 3} ")).str(),
            "{lane: [[0,1]]} repeat {register: [0,2] x 3}");
}

TEST(LayoutText, OneSlot) {
  Layout one = get(Layout::parse("{}"));
  EXPECT_EQ(one.str(), "{}");
  EXPECT_EQ(one.rows(), 1);
  EXPECT_EQ(one.numSlots(), 1);
  EXPECT_EQ(one.apply(Point()), Point::element(0, 0));
}

struct BadText {
  const char *text, *message;
};

class LayoutBadText : public ::testing::TestWithParam<BadText> {};

TEST_P(LayoutBadText, IsRefusedWithItsPlace) {
  Result<Layout> result = Layout::parse(GetParam().text);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LayoutBadText,
    ::testing::Values(
        BadText{"", "expected '{' at column 1, found the end of the text"},
        BadText{"{lanes: [[0,1]]}", "expected a dimension (register, lane, warp, warpgroup, "
                                    "offset, row or col) at column 2, found 'lanes'"},
        BadText{"{lane [[0,1]]}", "expected ':' at column 7, found '['"},
        BadText{"{lane: [[0,1]", "expected ',' or ']' at column 14, found the end of the text"},
        BadText{"{lane: [[0,-1]]}", "expected a coordinate at column 12, found '-'"},
        BadText{"{lane: [[0,1]]} repeat {lane: [0,2] x}",
                "expected the extent of the repeat at column 38, found '}'"},
        BadText{"{lane: [[0,1]]} repeat {lane: [0,2] 4}", "expected 'x' at column 37, found '4'"},
        BadText{"{lane: [[0,1]]} twice", "expected the end of the layout at column 17, found "
                                         "'twice'"},
        BadText{"{lane: [[0,1]]} over {row: 1, row: 2}", "out dimension 'row' is named twice"},
        BadText{"{lane: [[0,1,2]]}", "a vector of 'lane' has 3 coordinates, expected 2"},
        BadText{"{} repeat {lane: [0,1] x 33}", "'lane' has 33 indices, but a warp has 32"},
        BadText{"{} repeat {warp: [0,1] x 5}", "'warp' has 5 indices, but a warpgroup has 4"},
        BadText{"{} repeat {register: [0,1] x 0}",
                "a repeat of 'register' has the extent 0, expected 1 to 4194304"},
        BadText{"{} repeat {offset: [0,1] x 4194304, offset: [1,0] x 2}",
                "a layout has at most 4194304 slots"},
        BadText{"{lane: [[0,99999999]]}",
                "a vector of 'lane' has the coordinate 99999999, expected 0 to 16777216"},
        BadText{"{lane: [[9999999,9999999]]}", "the layout spans 100000000000000 elements, "
                                               "expected at most 16777216"},
        BadText{"{lane: [[0,1]]} over {row: 0, col: 2}",
                "the shape has the extent 0, expected 1 to 16777216"}));

// Different ways to write one map are one layout, with one text.
TEST(LayoutCanonical, SpellingsOfOneMapAreEqual) {
  const char *spellings[] = {
      "{register: [[0,1],[8,0]]}", "{register: [[0,1]]} repeat {register: [8,0] x 2}",
      "{} repeat {register: [0,1] x 2, register: [8,0] x 2, register: [0,8] x 1, warp: [0,3] x 1}"};
  for (const char *spelling : spellings)
    // Rows 1..7 stay empty; canonical forms do not care.
    EXPECT_EQ(get(Layout::parse(spelling)).str(), "{register: [[0,1],[8,0]]}");
  EXPECT_EQ(get(Layout::parse("{register: [[0,1]]} repeat {register: [0,2] x 11}")).str(),
            "{} repeat {register: [0,1] x 22}");
}

// An XOR that is no sum must stay in the atom, and a sum that is no XOR must not enter it.
TEST(LayoutCanonical, XorAndSumAreKeptApart) {
  Layout flip = get(Layout::parse("{offset: [[0,1],[1,1]]}"));
  EXPECT_EQ(flip.apply(offset(3)), Point::element(1, 0));
  EXPECT_EQ(flip.str(), "{offset: [[0,1],[1,1]]}");
  Layout sum = get(Layout::parse("{} repeat {offset: [0,1] x 2, offset: [1,1] x 2}"));
  EXPECT_EQ(sum.apply(offset(3)), Point::element(1, 2));
  EXPECT_EQ(sum.str(), "{offset: [[0,1]]} repeat {offset: [1,1] x 2}");
  EXPECT_NE(flip, sum);
}

// Small layouts at random, so that many of them map alike: those and only those are equal.
TEST(LayoutCanonical, EqualExactlyWhenTheyMapAlike) {
  std::mt19937 random(11);
  auto number = [&](int below) { return static_cast<int32_t>(random() % below); };
  std::map<std::vector<int32_t>, Layout> byMap;
  std::map<std::string, std::vector<int32_t>> byText;
  int alike = 0;
  for (int i = 0; i < 30000; ++i) {
    LayoutSpec spec;
    auto dim = [&] { return number(3) ? Dim::Register : Dim::Lane; };
    for (int n = number(5); n > 0; --n)
      spec.bases.push_back({dim(), {number(2), number(5)}});
    for (int n = number(4); n > 0; --n)
      spec.repeats.push_back({dim(), {number(2), number(7)}, 1 + number(4)});
    Result<Layout> made = Layout::create(spec);
    if (!made)
      continue; // more than 32 lanes
    Layout layout = *made;
    std::vector<int32_t> map = {layout.inSize(Dim::Register), layout.inSize(Dim::Lane)};
    forEverySlot(layout, [&](const Point &slot) {
      Point element = layout.apply(slot);
      map.push_back(element[Dim::Row]);
      map.push_back(element[Dim::Col]);
    });
    auto [seen, isNew] = byMap.try_emplace(map, layout);
    alike += !isNew;
    ASSERT_EQ(seen->second, layout);
    ASSERT_EQ(byText.try_emplace(layout.str(), map).first->second, map) << layout.str();
  }
  EXPECT_GT(alike, 3000);
}

TEST(LayoutCanonical, ReachOfOverlappingBases) {
  // 3 ^ 3 is 0, so the columns reach 3, not 3 | 3 by luck nor 6.
  Layout layout = get(Layout::parse("{lane: [[0,6]], register: [[0,5]]}"));
  EXPECT_EQ(layout.reach(Dim::Col), 7);
}

TEST(LayoutProperties, HolesCopiesAndPadding) {
  Layout hole = get(Layout::parse("{lane: [[0,2]]}"));
  EXPECT_FALSE(hole.isSurjective());
  EXPECT_TRUE(hole.isInjective());
  EXPECT_EQ(hole.tileError(1, 3), "element (0, 1) sits in no slot of the layout");
  EXPECT_EQ(hole.tileError(2, 3), "the layout is of 1x3 elements, expected 2x3");
  Layout copies = get(Layout::parse("{lane: [[0,0],[0,1]]}"));
  EXPECT_TRUE(copies.isSurjective());
  EXPECT_FALSE(copies.isInjective());
  EXPECT_EQ(copies.tileError(1, 2), std::nullopt);
  Layout padded = get(Layout::parse("{} repeat {offset: [0,1] x 4} over {row: 1, col: 3}"));
  EXPECT_TRUE(padded.hasPadding());
  EXPECT_FALSE(padded.contains(padded.apply(offset(3))));
  EXPECT_EQ(padded.tileError(1, 3), std::nullopt);
}

/// A random layout: bases that may overlap, counters of any extent, a shape that may cut.
LayoutSpec randomSpec(std::mt19937 &random) {
  auto number = [&](int below) { return static_cast<int32_t>(random() % below); };
  LayoutSpec spec;
  for (int i = number(6); i > 0; --i)
    spec.bases.push_back({number(2) ? Dim::Register : Dim::Lane, {number(16), number(16)}});
  for (int i = number(4); i > 0; --i)
    spec.repeats.push_back(
        {number(2) ? Dim::Register : Dim::Warpgroup, {number(16), number(16)}, 1 + number(5)});
  if (number(3) == 0)
    spec.shape = {1 + number(20), 1 + number(20)};
  return spec;
}

/// The definition of LayoutSpec, written down again.
Point reference(const LayoutSpec &spec, Point slot) {
  int32_t row = 0, col = 0;
  for (const Base &base : spec.bases) {
    if (slot[base.dim] % 2)
      row ^= base.to[0], col ^= base.to[1];
    slot[base.dim] /= 2;
  }
  for (const Repeat &repeat : spec.repeats) {
    row += slot[repeat.dim] % repeat.extent * repeat.step[0];
    col += slot[repeat.dim] % repeat.extent * repeat.step[1];
    slot[repeat.dim] /= repeat.extent;
  }
  return Point::element(row, col);
}

TEST(LayoutProperties, RandomLayoutsMeanWhatTheySayAndReadBack) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    LayoutSpec spec = randomSpec(random);
    Layout layout = get(Layout::create(spec));
    Point most;
    std::set<std::pair<int32_t, int32_t>> elements;
    bool injective = true, padding = false;
    forEverySlot(layout, [&](const Point &slot) {
      Point element = layout.apply(slot);
      ASSERT_EQ(element, reference(spec, slot)) << layout.str();
      for (Dim dim : {Dim::Row, Dim::Col})
        most[dim] = std::max(most[dim], element[dim]);
      if (!layout.contains(element))
        padding = true;
      else
        injective &= elements.insert({element[Dim::Row], element[Dim::Col]}).second;
    });
    EXPECT_EQ(layout.reach(Dim::Row), most[Dim::Row] + 1) << layout.str();
    EXPECT_EQ(layout.reach(Dim::Col), most[Dim::Col] + 1) << layout.str();
    EXPECT_EQ(layout.isInjective(), injective) << layout.str();
    EXPECT_EQ(layout.hasPadding(), padding) << layout.str();
    EXPECT_EQ(layout.isSurjective(), elements.size() == static_cast<size_t>(layout.rows()) *
                                                            static_cast<size_t>(layout.cols()))
        << layout.str();
    Layout again = get(Layout::parse(layout.str()));
    EXPECT_EQ(again, layout);
    EXPECT_EQ(again.str(), layout.str());
    EXPECT_EQ(again.hash(), layout.hash());
    EXPECT_EQ(get(Layout::create(layout.spec())), layout) << layout.str();
  }
}

} // namespace
} // namespace girih
