// Loads and stores of tiles: the addresses of a plan are followed as the instruction would, and
// every byte must land where the buffer's layout has it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestUtils.h"

#include "girih/Layout/Access.h"
#include "girih/Layout/Algebra.h"
#include "girih/Layout/Fragments.h"
#include "girih/Layout/Shared.h"

namespace girih {
namespace {

int addressOf(const AddressPlan &plan, int access, Point thread) {
  thread[Dim::Register] = 0;
  const AddressPlan::Step &step = plan.steps[static_cast<size_t>(access)];
  return (plan.thread.apply(thread)[Dim::Offset] ^ step.flip) + step.add;
}

/// st.shared.vN: element e of a thread's access goes to address + e.
void expectVectorsLand(const VectorAccess &access, const Layout &registers, const Layout &buffer) {
  ASSERT_EQ(static_cast<int>(access.addresses.steps.size()) * access.vector,
            registers.size(Dim::Register));
  forEverySlot(registers, [&](const Point &slot) {
    int address = addressOf(access.addresses, slot[Dim::Register] / access.vector, slot);
    ASSERT_EQ(address % access.vector, 0);
    ASSERT_EQ(buffer.apply(offset(address + slot[Dim::Register] % access.vector)),
              registers.apply(slot));
  });
}

/// stmatrix as 9.7.14.5.16 tells it: row r of matrix m starts at the address of lane 8m + r; thread
/// t holds in register m the 32 bits t%4 of row t/4, or with .trans the elements 2*(t%4) and
/// 2*(t%4)+1 of column t/4.
void expectMatricesLand(const MatrixAccess &access, const Layout &registers, const Layout &buffer,
                        int elementBytes) {
  int per = 4 / elementBytes;
  ASSERT_EQ(static_cast<int>(access.addresses.steps.size()) * access.count * per,
            registers.size(Dim::Register));
  forEverySlot(registers, [&](const Point &slot) {
    int word = slot[Dim::Register] / per, element = slot[Dim::Register] % per,
        lane = slot[Dim::Lane];
    int row = access.trans ? lane % 4 * 2 + element : lane / 4;
    int along = access.trans ? lane / 4 : lane % 4 * per + element;
    Point supplier = slot;
    supplier[Dim::Lane] = 8 * (word % access.count) + row;
    int address = addressOf(access.addresses, word / access.count, supplier);
    ASSERT_EQ(address * elementBytes % 16, 0);
    ASSERT_EQ(buffer.apply(offset(address + along)), registers.apply(slot));
  });
}

TEST(MatrixAccess, EpilogueOfSixteenBits) {
  // A chunk of 64 columns: 2 x 8 matrices per warp, four instructions of .x4, no conflicts under
  // the 128-byte swizzle.
  Layout registers = get(wgmmaAccumulator(128, 64, 2)),
         buffer = get(sharedBuffer(128, 64, 2, Swizzle::B128));
  MatrixAccess access = *matrixAccess(registers, buffer, 2);
  EXPECT_EQ(access.count, 4);
  EXPECT_FALSE(access.trans);
  EXPECT_EQ(access.cost.instructions, 4);
  EXPECT_EQ(access.cost.wavefronts, 16);
  EXPECT_EQ(access.cost.ideal, 16);
  expectMatricesLand(access, registers, buffer, 2);
  // Without a swizzle the eight lines of a matrix lie 128 bytes apart: all in the same banks.
  MatrixAccess plain = *matrixAccess(registers, get(sharedBuffer(128, 64, 2, Swizzle::None)), 2);
  EXPECT_EQ(plain.cost.wavefronts, 16 * 8);
  EXPECT_EQ(plain.cost.ideal, 16);
  // With pair stores instead: one row's lanes write 16 bytes, 8 rows cover all 32 banks.
  VectorAccess pairs = *vectorAccess(registers, buffer, 2);
  EXPECT_EQ(pairs.vector, 2);
  EXPECT_EQ(pairs.cost.instructions, 16);
  EXPECT_EQ(pairs.cost.wavefronts, 16);
  expectVectorsLand(pairs, registers, buffer);
}

TEST(MatrixAccess, NarrowSwizzlesConflictAsTheyMust) {
  // 64-byte lines: a matrix's eight lines span 512 bytes with 4 chunks to choose from, so two lines
  // share each place.
  Layout registers = get(wgmmaAccumulator(64, 32, 1));
  MatrixAccess b64 = *matrixAccess(registers, get(sharedBuffer(64, 32, 2, Swizzle::B64)), 2);
  EXPECT_EQ(b64.cost.wavefronts, b64.cost.ideal);
  // Without swizzle, lines of 64 bytes: lines 0, 2, 4, 6 meet in the same banks.
  MatrixAccess none = *matrixAccess(registers, get(sharedBuffer(64, 32, 2, Swizzle::None)), 2);
  EXPECT_EQ(none.cost.wavefronts, 4 * none.cost.ideal);
}

TEST(MatrixAccess, LandsForEveryTileAndBuffer) {
  for (auto [rows, cols, warpgroups] :
       {std::tuple(64, 24, 1), std::tuple(64, 8, 1), std::tuple(192, 48, 3),
        std::tuple(192, 176, 3), std::tuple(256, 32, 2)})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
      for (Dim contiguous : {Dim::Col, Dim::Row}) {
        Layout registers = get(wgmmaAccumulator(rows, cols, warpgroups));
        Layout buffer = get(sharedBuffer(rows, cols, 2, swizzle, contiguous));
        Result<MatrixAccess> access = matrixAccess(registers, buffer, 2);
        ASSERT_TRUE(access) << access.error();
        EXPECT_EQ(access->trans, contiguous == Dim::Row);
        EXPECT_EQ(access->count, cols % 16 == 0 || rows / warpgroups > 64 ? 4 : 2);
        expectMatricesLand(*access, registers, buffer, 2);
      }
}

TEST(MatrixAccess, OperandsOfEveryWidth) {
  for (int bits : {8, 16, 32}) {
    Layout registers = get(wgmmaOperandA(128, 3 * 256 / bits, bits, 2));
    Layout buffer = get(sharedBuffer(128, 3 * 256 / bits, bits / 8, Swizzle::B128));
    Result<MatrixAccess> access = matrixAccess(registers, buffer, bits / 8);
    ASSERT_TRUE(access) << access.error();
    EXPECT_EQ(access->count, 4);
    expectMatricesLand(*access, registers, buffer, bits / 8);
  }
}

TEST(MatrixAccess, QuadsOfColumns) {
  // A fragment whose quads hold columns: plain into a buffer with contiguous columns, transposed
  // into the other.
  Layout registers = get(ldmatrixFragment(4, 16, /*trans=*/true));
  for (Dim contiguous : {Dim::Col, Dim::Row}) {
    Layout buffer = get(sharedBuffer(32, 8, 2, Swizzle::None, contiguous));
    Result<MatrixAccess> access = matrixAccess(registers, buffer, 2);
    ASSERT_TRUE(access) << access.error();
    EXPECT_EQ(access->trans, contiguous == Dim::Col);
    expectMatricesLand(*access, registers, buffer, 2);
  }
}

TEST(MatrixAccess, RefusalsSayWhy) {
  EXPECT_EQ(
      matrixAccess(get(rowBlocked(64, 64, 8, 4, 1)), get(sharedBuffer(64, 64, 2, Swizzle::B128)), 2)
          .error(),
      "the fragment is not made of 8x8 matrices: warp 0 lane 1 register 0 holds row 0 col 8, the "
      "atom asks for "
      "row 0 col 2 there");
  EXPECT_EQ(
      matrixAccess(get(wgmmaAccumulator(64, 64, 1)), get(sharedBuffer(64, 64, 4, Swizzle::B128)), 4)
          .error(),
      "the fragment is not made of 8x8 matrices: warp 0 lane 1 register 0 holds row 0 col 2, the "
      "atom asks for "
      "row 0 col 1 there");
  // Lines of 48 bytes + 8: the second line is not aligned to 16 bytes.
  EXPECT_EQ(
      matrixAccess(
          get(wgmmaAccumulator(64, 24, 1)),
          get(Layout::parse(
              "{} repeat {offset: [0,1] x 28, offset: [1,0] x 64} over {row: 64, col: 24}")),
          2)
          .error(),
      "the lines of the fragment's matrices are not 16 aligned, consecutive bytes of the buffer");
  EXPECT_EQ(
      matrixAccess(get(wgmmaAccumulator(64, 24, 1)), get(sharedBuffer(64, 32, 2, Swizzle::B64)), 2)
          .error(),
      "the tile in registers does not match the buffer: the layout is of 64x24 elements, expected "
      "64x32");
}

TEST(VectorAccess, EpilogueOfThirtyTwoBits) {
  // A lane has two neighbours of f32: st.shared.v2. Half a warp is 4 rows of 32 bytes; the swizzle
  // of rows 0 and 1 (2 and 3) permutes the same two chunks, so each pass takes two wavefronts.
  Layout registers = get(wgmmaAccumulator(64, 32, 1)),
         buffer = get(sharedBuffer(64, 32, 4, Swizzle::B128));
  VectorAccess access = *vectorAccess(registers, buffer, 4);
  EXPECT_EQ(access.vector, 2);
  EXPECT_EQ(access.cost.instructions, 8);
  EXPECT_EQ(access.cost.ideal, 16);
  EXPECT_EQ(access.cost.wavefronts, 32);
  expectVectorsLand(access, registers, buffer);
  VectorAccess single = *vectorAccess(registers, buffer, 4, 1);
  EXPECT_EQ(single.vector, 1);
  expectVectorsLand(single, registers, buffer);
}

TEST(VectorAccess, RowsOfSixteenBytes) {
  Layout registers = get(rowBlocked(64, 64, 8, 4, 1)),
         buffer = get(sharedBuffer(64, 64, 2, Swizzle::B128));
  VectorAccess access = *vectorAccess(registers, buffer, 2);
  EXPECT_EQ(access.vector, 8);
  EXPECT_EQ(access.cost.instructions, 4);
  EXPECT_EQ(access.cost.ideal, 16);
  EXPECT_EQ(access.cost.wavefronts, 16);
  expectVectorsLand(access, registers, buffer);
}

TEST(VectorAccess, AcrossTheLinesOneElementAtATime) {
  // A column-major buffer: a lane's neighbours are a line apart.
  Layout registers = get(wgmmaAccumulator(64, 32, 1)),
         buffer = get(sharedBuffer(64, 32, 4, Swizzle::None, Dim::Row));
  VectorAccess access = *vectorAccess(registers, buffer, 4);
  EXPECT_EQ(access.vector, 1);
  // Eight rows are consecutive; the four lanes of a quad are 2 columns of 256 bytes apart: four
  // words per bank.
  EXPECT_EQ(access.cost.wavefronts, 4 * access.cost.ideal);
  expectVectorsLand(access, registers, buffer);
}

// Lines of an odd number of elements: neighbours are adjacent, but every other pair is not aligned.
TEST(VectorAccess, MisalignedPairsGoOneByOne) {
  Layout registers = get(wgmmaAccumulator(64, 24, 1));
  Layout buffer = get(
      Layout::parse("{} repeat {offset: [0,1] x 25, offset: [1,0] x 64} over {row: 64, col: 24}"));
  VectorAccess access = *vectorAccess(registers, buffer, 4);
  EXPECT_EQ(access.vector, 1);
  expectVectorsLand(access, registers, buffer);
}

TEST(VectorAccess, LandsForEveryTileAndBuffer) {
  for (auto [rows, cols, warpgroups] :
       {std::tuple(64, 24, 1), std::tuple(192, 48, 3), std::tuple(256, 32, 2)})
    for (int bytes : {1, 2, 4})
      for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
        for (Dim contiguous : {Dim::Col, Dim::Row}) {
          Layout registers = get(wgmmaAccumulator(rows, cols, warpgroups));
          Layout buffer = get(sharedBuffer(rows, cols, bytes, swizzle, contiguous));
          Result<VectorAccess> access = vectorAccess(registers, buffer, bytes);
          // Three warpgroups on panels of two warpgroups' rows: the third starts where no counter
          // leads.
          if (rows / warpgroups * bytes < static_cast<int>(swizzle) && warpgroups == 3 &&
              contiguous == Dim::Row) {
            EXPECT_EQ(
                access.error(),
                "the address is not linear in the thread: the map is no power-of-two atom with "
                "repeats");
            continue;
          }
          ASSERT_TRUE(access) << access.error() << " " << registers.str() << " " << buffer.str();
          EXPECT_EQ(access->vector, contiguous == Dim::Col ? 2 : 1);
          expectVectorsLand(*access, registers, buffer);
        }
}

// Chunks of an accumulator go to their own buffers, the last one narrower than its pitch.
TEST(VectorAccess, ChunksOfAnEpilogue) {
  Layout whole = get(wgmmaAccumulator(192, 176, 3));
  for (int begin = 0; begin < 176; begin += 64) {
    int end = std::min(begin + 64, 176);
    Layout part = slice(whole, Dim::Col, begin, end)->layout;
    Layout buffer = get(sharedBuffer(192, end - begin, 2, Swizzle::B128));
    EXPECT_EQ(sharedBytes(buffer, 2), 192 * 128);
    MatrixAccess access = *matrixAccess(part, buffer, 2);
    EXPECT_EQ(access.cost.wavefronts, access.cost.ideal);
    expectMatricesLand(access, part, buffer, 2);
  }
}

} // namespace
} // namespace girih
