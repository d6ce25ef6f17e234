// Blocked layouts: every element sits somewhere, vectors are vectors, and where nothing is left
// over every element sits once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Blocked.h"
#include "girih/Layout/Fragments.h"

namespace girih {
namespace {

TEST(Blocked, TwoDimensionsThatTheThreadsDivideAreRowBlocked) {
  EXPECT_EQ(get(blocked({64, 64}, 1, 4, 4, 1)), get(rowBlocked(64, 64, 4, 4, 1)));
  EXPECT_EQ(get(blocked({128, 256}, 1, 8, 4, 2)), get(rowBlocked(128, 256, 8, 4, 2)));
}

TEST(Blocked, FastestFirst) {
  // Columns of 64 stored one after the other: a lane holds four rows, sixteen lanes a column.
  Layout layout = get(blocked({64, 32}, 0, 4, 4, 1));
  forEverySlot(layout, [&](const Point &slot) {
    int reg = slot[Dim::Register], lane = slot[Dim::Lane], warp = slot[Dim::Warp];
    ASSERT_EQ(layout.apply(slot),
              Point::element(lane % 16 * 4 + reg % 4, reg / 4 * 8 + warp * 2 + lane / 16));
  });
}

TEST(Blocked, OneDimensionIsSharedByAllWarps) {
  Layout layout = get(blocked({2048}, 0, 4, 4, 2));
  forEverySlot(layout, [&](const Point &slot) {
    int reg = slot[Dim::Register];
    ASSERT_EQ(layout.apply(slot),
              Point::element(0, reg % 4 + 4 * slot[Dim::Lane] + 128 * slot[Dim::Warp] +
                                    512 * slot[Dim::Warpgroup] + 1024 * (reg / 4)));
  });
}

TEST(Blocked, AnyShape) {
  const std::vector<Extents> shapes = {
      {1},    {3},       {96},       {1000},     {80, 96},        {1, 7},
      {5, 1}, {3, 5, 7}, {2, 3, 64}, {4, 1, 80}, {2, 3, 4, 5, 6}, {256, 16}};
  for (const Extents &shape : shapes)
    for (int32_t fastest = 0; fastest < static_cast<int32_t>(shape.size()); ++fastest)
      for (auto [warps, warpgroups] : {std::pair(1, 1), {2, 1}, {4, 1}, {4, 3}, {4, 4}}) {
        Layout layout = get(blocked(shape, fastest, 1, warps, warpgroups));
        int32_t rows = 1;
        for (size_t i = 0; i + 1 < shape.size(); ++i)
          rows *= shape[i];
        EXPECT_EQ(layout.tileError(rows, shape.back()), std::nullopt) << layout.str();
        EXPECT_EQ(layout.inSize(Dim::Lane), 32);
        EXPECT_EQ(layout.inSize(Dim::Warp), warps);
        EXPECT_EQ(layout.inSize(Dim::Warpgroup), warpgroups);
        // No thread holds an element twice.
        EXPECT_LE(layout.inSize(Dim::Register), rows * shape.back());
      }
}

TEST(Innermost, ShapesOfTheSameElementsHaveItInCommon) {
  Layout layout = get(innermost({3, 5, 96}, 8, 4, 1));
  EXPECT_EQ(get(reshapeOf(layout, {3, 5, 96}, {20, 72})), get(innermost({20, 72}, 8, 4, 1)));
  forEverySlot(layout, [&](const Point &slot) {
    int flat = slot[Dim::Register] * 8 + slot[Dim::Lane] % 8;
    ASSERT_EQ(layout.apply(slot), Point::element(flat / 96, flat % 96));
  });
  EXPECT_EQ(innermost({4, 6}, 4, 4, 1).error(), "the last extent is no multiple of 4");
}

TEST(Blocked, Refuses) {
  EXPECT_EQ(blocked({64, 6}, 1, 4, 4, 1).error(),
            "an extent of 6 is no whole number of vectors of 4");
  EXPECT_EQ(blocked({64, 6}, 2, 1, 4, 1).error(), "a tile of 2 dimensions has no dimension 2");
  EXPECT_EQ(blocked({64}, 0, 1, 3, 1).error(),
            "a tile is shared by 1, 2 or 4 warps of at least one warpgroup, found 3 of 1");
}

} // namespace
} // namespace girih
