// Who owns an element that several slots hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Fragments.h"
#include "girih/Layout/Replicas.h"
#include "girih/Layout/Shape.h"

namespace girih {
namespace {

/// Slots that number 0 gives each element.
std::vector<int> ownersOf(const Layout &layout, const Layout &replicas) {
  std::vector<int> owners(static_cast<size_t>(layout.rows() * layout.cols()), 0);
  forEverySlot(layout, [&](const Point &slot) {
    Point element = layout.apply(slot);
    owners[static_cast<size_t>(element[Dim::Row] * layout.cols() + element[Dim::Col])] +=
        replicas.apply(slot)[Dim::Row] == 0;
  });
  return owners;
}

TEST(Replicas, NoneInAnAccumulator) {
  Layout layout = get(wgmmaAccumulator(128, 24, 2));
  forEverySlot(layout, [replicas = get(replicasOf(layout))](const Point &slot) {
    ASSERT_EQ(replicas.apply(slot)[Dim::Row], 0);
  });
}

TEST(Replicas, LanesOfAQuadHoldARowsSum) {
  Layout rows = get(reduceOf(get(wgmmaAccumulator(192, 24, 3)), {192, 24}, 1));
  Layout replicas = get(replicasOf(rows));
  EXPECT_THAT(ownersOf(rows, replicas), testing::Each(1));
  EXPECT_EQ(replicas.apply(thread(2, 3, 4, 1))[Dim::Row], 0);
  EXPECT_NE(replicas.apply(thread(0, 0, 1, 0))[Dim::Row], 0);
}

TEST(Replicas, WarpgroupsOfAnyNumberHoldAColumnsSum) {
  Layout cols = get(reduceOf(get(wgmmaAccumulator(192, 24, 3)), {192, 24}, 0));
  Layout replicas = get(replicasOf(cols));
  EXPECT_THAT(ownersOf(cols, replicas), testing::Each(1));
  EXPECT_NE(replicas.apply(thread(2, 0, 0, 0))[Dim::Row], 0);
}

TEST(Replicas, DependentBases) {
  // The third bit of the lane moves by what the first two move together.
  Layout layout = get(Layout::parse("{register: [[0,0],[2,0]], lane: [[0,1],[1,0],[1,1]]}"));
  EXPECT_THAT(ownersOf(layout, get(replicasOf(layout))), testing::Each(1));
}

TEST(Replicas, OverlappingCountersAreRefused) {
  Layout layout = get(Layout::parse("{} repeat {register: [0,1] x 3, lane: [0,2] x 3}"));
  EXPECT_EQ(replicasOf(layout).error(),
            "which slots hold the same element has no form of an atom with repeats");
}

} // namespace
} // namespace girih
