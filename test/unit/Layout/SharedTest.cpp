// Swizzled buffers against the tables of the PTX ISA, written as arithmetic on 16-byte chunks, and
// against what the copy engine does: place a box line by line, then permute address bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Shared.h"

namespace girih {
namespace {

using ::testing::Combine;
using ::testing::Values;

/// The tables of 5.5.7, "Swizzling Modes": each row is 128 bytes of shared memory, each cell 16
/// bytes, and the number says which of the row's eight cells of source data sits there. The 32-byte
/// pattern has two rows, the 64-byte one four, the 128-byte one eight.
constexpr int kTable[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
                              {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
                              {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                              {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};

/// The source cell (counted through the panel, line after line) at a place of shared memory.
int sourceCell(int span, int place) {
  int rows = span / 16; // rows after which the pattern repeats
  return place / 8 * 8 + kTable[place / 8 % rows][place % 8];
}

class Panels : public ::testing::TestWithParam<std::tuple<int, int, std::tuple<int, int>, bool>> {};

TEST_P(Panels, MatchTheFigures) {
  auto [span, elementBytes, extents, rowsContiguous] = GetParam();
  auto [lines, length] = extents;
  Layout layout =
      get(sharedBuffer(rowsContiguous ? length : lines, rowsContiguous ? lines : length,
                       elementBytes, *swizzleOfSpan(span), rowsContiguous ? Dim::Row : Dim::Col));
  int width = span / elementBytes, perChunk = 16 / elementBytes;
  int panels = (length + width - 1) / width;
  ASSERT_EQ(sharedBytes(layout, elementBytes), int64_t(panels) * lines * span);
  EXPECT_TRUE(layout.isInjective());
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_EQ(layout.hasPadding(), length % width != 0);
  int cellsPerLine = span / 16;
  for (int panel = 0; panel < panels; ++panel)
    for (int place = 0; place < lines * cellsPerLine; ++place)
      for (int e = 0; e < perChunk; ++e) {
        int source = sourceCell(span, place);
        int line = source / cellsPerLine;
        int along = panel * width + source % cellsPerLine * perChunk + e;
        Point expected = rowsContiguous ? Point::element(along, line) : Point::element(line, along);
        int at = panel * lines * width + place * perChunk + e;
        ASSERT_EQ(layout.apply(offset(at)), expected) << at;
        ASSERT_EQ(layout.contains(expected), along < length);
      }
}

INSTANTIATE_TEST_SUITE_P(All, Panels,
                         Combine(Values(32, 64, 128), Values(1, 2, 4),
                                 Values(std::tuple(8, 16), std::tuple(64, 64), std::tuple(24, 176),
                                        std::tuple(192, 48), std::tuple(128, 256)),
                                 Values(false, true)));

// The copy engine writes byte b of line l of a box to base + l * span + b and permutes bits of the
// absolute address.
TEST(Swizzle, LayoutAgreesWithAddressBits) {
  for (int span : {32, 64, 128}) {
    Swizzle swizzle = *swizzleOfSpan(span);
    Layout layout = get(sharedBuffer(64, span, 1, swizzle));
    uint32_t base = 0x400 + 5 * swizzleAlignment(swizzle);
    base -= base % swizzleAlignment(swizzle);
    for (int line = 0; line < 64; ++line)
      for (int byte = 0; byte < span; ++byte) {
        uint32_t address = swizzleAddress(base + line * span + byte, swizzle);
        EXPECT_EQ(layout.apply(offset(address - base)), Point::element(line, byte));
      }
  }
}

// Addresses worked out by hand from "bits 4..6 ^= bits 7..9" and its narrower kin.
TEST(Swizzle, Addresses) {
  EXPECT_EQ(swizzleAddress(0x0, Swizzle::B128), 0x0u);
  EXPECT_EQ(swizzleAddress(0x80, Swizzle::B128), 0x90u);
  EXPECT_EQ(swizzleAddress(0x3f4, Swizzle::B128), 0x384u);
  EXPECT_EQ(swizzleAddress(0x400, Swizzle::B128), 0x400u);
  EXPECT_EQ(swizzleAddress(0x380, Swizzle::B64), 0x3b0u);
  EXPECT_EQ(swizzleAddress(0x200, Swizzle::B64), 0x200u);
  EXPECT_EQ(swizzleAddress(0x80, Swizzle::B32), 0x90u);
  EXPECT_EQ(swizzleAddress(0x100, Swizzle::B32), 0x100u);
  EXPECT_EQ(swizzleAddress(0x3f0, Swizzle::None), 0x3f0u);
  EXPECT_EQ(swizzleOfSpan(16), std::nullopt);
  EXPECT_EQ(swizzleAlignment(Swizzle::B128), 1024);
  EXPECT_EQ(swizzleAlignment(Swizzle::B64), 512);
  EXPECT_EQ(swizzleAlignment(Swizzle::B32), 256);
}

TEST(SharedBuffer, WithoutSwizzleLinesFollowEachOther) {
  Layout rows = get(sharedBuffer(12, 176, 2, Swizzle::None));
  Layout cols = get(sharedBuffer(12, 176, 2, Swizzle::None, Dim::Row));
  for (int row = 0; row < 12; ++row)
    for (int col = 0; col < 176; ++col) {
      EXPECT_EQ(rows.apply(offset(row * 176 + col)), Point::element(row, col));
      EXPECT_EQ(cols.apply(offset(col * 12 + row)), Point::element(row, col));
    }
  EXPECT_EQ(sharedBytes(rows, 2), 12 * 176 * 2);
}

TEST(SharedBuffer, CoreMatricesAreEightLinesOfSixteenBytes) {
  Layout layout = get(coreMatrixBuffer(64, 24, 2));
  for (int row = 0; row < 64; ++row)
    for (int col = 0; col < 24; ++col) {
      int core = col / 8 * 8 + row / 8; // down the rows first, then to the next 16 bytes of K
      EXPECT_EQ(layout.apply(offset(core * 64 + row % 8 * 8 + col % 8)), Point::element(row, col));
    }
}

// A lone panel may have any number of lines; what is missing to a full pattern is padding.
TEST(SharedBuffer, FewLines) {
  Layout layout = get(sharedBuffer(3, 64, 2, Swizzle::B128));
  EXPECT_TRUE(layout.hasPadding());
  EXPECT_EQ(layout.tileError(3, 64), std::nullopt);
  EXPECT_EQ(layout.apply(offset(2 * 64 + 16)), Point::element(2, 0));
}

TEST(SharedBuffer, MistakesAreNamed) {
  EXPECT_EQ(sharedBuffer(12, 128, 2, Swizzle::B128).error(),
            "a buffer of 2 panels of 128 bytes has a multiple of 8 rows, found 12");
  EXPECT_EQ(sharedBuffer(128, 12, 2, Swizzle::B128, Dim::Row).error(),
            "a buffer of 2 panels of 128 bytes has a multiple of 8 columns, found 12");
  EXPECT_EQ(sharedBuffer(8, 8, 3, Swizzle::B128).error(),
            "a buffer has elements of 1, 2, 4 or 8 bytes, found 3");
  EXPECT_EQ(sharedBuffer(0, 8, 2, Swizzle::B128).error(),
            "a buffer has at least one row and one column, found 0x8");
  EXPECT_EQ(sharedBuffer(8, 8, 2, Swizzle::B128, Dim::Lane).error(),
            "the contiguous dimension of a buffer is row or col");
}

} // namespace
} // namespace girih
