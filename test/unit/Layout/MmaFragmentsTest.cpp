// Fragments of mma.sync against the formulas of the PTX ISA 9.0, 9.7.14.5, written here as plain
// index arithmetic, and how warps share a product.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Access.h"
#include "girih/Layout/MmaFragments.h"
#include "girih/Layout/Shared.h"

namespace girih {
namespace {

using ::testing::Combine;
using ::testing::Values;

/// c0..c3 of m16n8: "row = groupID for i < 2, groupID + 8 for i >= 2; col = threadID_in_group * 2 +
/// (i & 1)".
Point sumFigure(int lane, int i) {
  return Point::element(lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1));
}

/// ai of m16n8k16 (16 bits), m16n8k32 (8), m16n8k8 (32, and 64).
Point aFigure(int bits, int lane, int i) {
  int group = lane / 4, inGroup = lane % 4;
  switch (bits) {
  case 8: // "row = groupID for i < 4 || 8 <= i < 12, + 8 otherwise; col = threadID_in_group * 4 +
          //  (i & 3), + 16 for i >= 8"
    return Point::element(group + (i < 4 || (i >= 8 && i < 12) ? 0 : 8),
                          inGroup * 4 + (i & 3) + (i >= 8 ? 16 : 0));
  case 16: // "row = groupID for i < 2 || 4 <= i < 6, + 8 otherwise; col = threadID_in_group * 2 +
           //  (i & 1), + 8 for i >= 4"
    return Point::element(group + (i < 2 || (i >= 4 && i < 6) ? 0 : 8),
                          inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0));
  default: // "row = groupID for a0 and a2, + 8 for a1 and a3; col = threadID_in_group for a0 and
           //  a1, + 4 for a2 and a3"
    return Point::element(group + (i % 2 ? 8 : 0), inGroup + (i >= 2 ? 4 : 0));
  }
}

/// bi: "row = threadID_in_group * n + (i & (n - 1)), with half of K more in the upper half of the
/// elements; col = groupID".
Point bFigure(int bits, int lane, int i) {
  int group = lane / 4, inGroup = lane % 4, n = bits < 32 ? 32 / bits : 1;
  int halfDepth = bits == 8 ? 16 : bits == 16 ? 8 : 4;
  return Point::element(inGroup * n + i % n + (i / n) * halfDepth, group);
}

struct Shares {
  MmaShare share;
  int rows, cols; ///< warps with rows and with columns of their own, warpgroups included
};

class MmaFragments : public ::testing::TestWithParam<std::tuple<int, Shares>> {};

TEST_P(MmaFragments, MatchTheFigures) {
  auto [bits, shares] = GetParam();
  MmaShare share = shares.share;
  Layout sum = get(mmaAccumulator(share)), a = get(mmaOperandA(share, bits)),
         b = get(mmaOperandB(share, bits));
  ASSERT_EQ(sum.tileError(share.rows, share.cols), std::nullopt);
  ASSERT_EQ(a.tileError(share.rows, share.depth), std::nullopt);
  ASSERT_EQ(b.tileError(share.depth, share.cols), std::nullopt);

  int step = mmaDepth(bits), steps = share.depth / step;
  int perA = 16 * step / 32, perB = 8 * step / 32;
  int blocksM = share.rows / 16 / shares.rows, blocksN = share.cols / 8 / shares.cols;
  ASSERT_EQ(sum.size(Dim::Register), blocksM * blocksN * 4);
  ASSERT_EQ(a.size(Dim::Register), blocksM * steps * perA);
  ASSERT_EQ(b.size(Dim::Register), blocksN * steps * perB);

  // Where a warp's part begins is read off its first registers; the figures say all the rest, and
  // each instruction gets the parts of A, B and the sum that belong together.
  for (int wg = 0; wg < share.warpgroups; ++wg)
    for (int warp = 0; warp < share.warps; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int m = 0; m < blocksM; ++m)
          for (int n = 0; n < blocksN; ++n) {
            Point corner = sum.apply(thread(wg, warp, 0, (m * blocksN + n) * 4));
            for (int i = 0; i < 4; ++i) {
              Point expected = sumFigure(lane, i);
              expected[Dim::Row] += corner[Dim::Row];
              expected[Dim::Col] += corner[Dim::Col];
              ASSERT_EQ(sum.apply(thread(wg, warp, lane, (m * blocksN + n) * 4 + i)), expected);
            }
            for (int k = 0; k < steps; ++k) {
              for (int i = 0; i < perA; ++i) {
                Point expected = aFigure(bits, lane, i);
                expected[Dim::Row] += corner[Dim::Row];
                expected[Dim::Col] += k * step;
                ASSERT_EQ(a.apply(thread(wg, warp, lane, (m * steps + k) * perA + i)), expected);
              }
              for (int i = 0; i < perB; ++i) {
                Point expected = bFigure(bits, lane, i);
                expected[Dim::Row] += k * step;
                expected[Dim::Col] += corner[Dim::Col];
                ASSERT_EQ(b.apply(thread(wg, warp, lane, (n * steps + k) * perB + i)), expected);
              }
            }
          }
}

INSTANTIATE_TEST_SUITE_P(OneWarp, MmaFragments,
                         Combine(Values(8, 16, 32, 64), Values(Shares{{16, 8, 32, 1, 1}, 1, 1},
                                                               Shares{{48, 24, 64, 1, 1}, 1, 1})));
INSTANTIATE_TEST_SUITE_P(Warps, MmaFragments,
                         Combine(Values(8, 16, 32, 64),
                                 Values(Shares{{16, 64, 64, 4, 1}, 1, 4}, // columns
                                        Shares{{64, 24, 32, 4, 1}, 4, 1}, // rows, as wgmma
                                        Shares{{32, 40, 96, 4, 1}, 2, 1}, // half of them idle
                                        Shares{{96, 80, 64, 4, 2}, 2, 2}, // both, one group
                                        Shares{{16, 8, 32, 2, 3}, 1, 1},  // nothing to share
                                        Shares{{96, 48, 32, 2, 3}, 6, 1})));

TEST(MmaFragmentErrors, SayWhatIsMissing) {
  EXPECT_EQ(mmaAccumulator({24, 8, 16, 4, 1}).error(),
            "a product of mma.sync has a multiple of 16 rows, found 24");
  EXPECT_EQ(mmaAccumulator({16, 12, 16, 4, 1}).error(),
            "a product of mma.sync has a multiple of 8 columns, found 12");
  EXPECT_EQ(mmaOperandA({16, 8, 24, 4, 1}, 16).error(),
            "a product of mma.sync has a multiple of 16 elements of K, found 24");
  EXPECT_EQ(mmaOperandB({16, 8, 16, 3, 1}, 16).error(),
            "a tile is shared by 1, 2 or 4 warps of at least one warpgroup, found 3 of 1");
  EXPECT_EQ(mmaOperandB({16, 8, 16, 4, 1}, 4).error(),
            "an operand of mma.sync has elements of 8, 16, 32 or 64 bits, found 4");
}

// ldmatrix brings operands from swizzled buffers: lines along K as they are, lines along N (of 16
// bits) transposed, without conflicts.
TEST(MmaFragmentAccess, LdmatrixFromSwizzledBuffers) {
  MmaShare share{16, 128, 64, 4, 1};
  for (bool alongK : {false, true}) {
    Layout buffer = get(sharedBuffer(64, 128, 2, Swizzle::B128, alongK ? Dim::Row : Dim::Col));
    Result<MatrixAccess> access = matrixAccess(get(mmaOperandB(share, 16)), buffer, 2);
    ASSERT_TRUE(access) << access.error();
    EXPECT_EQ(access->count, 4);
    EXPECT_EQ(access->trans, !alongK);
    EXPECT_EQ(access->addresses.steps.size(), 4u * 4 / 2); // 4 blocks of columns, 4 steps, 2 each
    EXPECT_EQ(access->cost.wavefronts, access->cost.ideal);
  }
  for (int bytes : {1, 2, 4}) {
    Layout buffer = get(sharedBuffer(16, 128 / bytes, bytes, Swizzle::B128));
    MmaShare few{16, 64, 128 / bytes, 4, 1};
    Result<MatrixAccess> access = matrixAccess(get(mmaOperandA(few, 8 * bytes)), buffer, bytes);
    ASSERT_TRUE(access) << access.error();
    EXPECT_EQ(access->count, 4);
    EXPECT_FALSE(access->trans);
    EXPECT_EQ(access->cost.wavefronts, access->cost.ideal);
  }
}

} // namespace
} // namespace girih
