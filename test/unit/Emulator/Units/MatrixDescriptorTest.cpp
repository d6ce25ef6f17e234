// Descriptors against the exact layouts that the PTX ISA prints as examples (9.7.15.5.1.2.1.3),
// evaluated here by a small CuTe layout evaluator, and against tiles that a TMA box wrote.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/MatrixDescriptor.h"

#include "girih/Emulator/TmaBox.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace girih::emu;
using ::testing::HasSubstr;

namespace {

constexpr uint32_t kBase = 1024;

/// One coordinate of a CuTe layout: nested shape and strides, first mode fastest.
struct Mode {
  std::vector<uint32_t> shape, stride;
  uint32_t operator()(uint32_t i) const {
    uint32_t sum = 0;
    for (size_t m = 0; m < shape.size(); ++m) {
      sum += i % shape[m] * stride[m];
      i /= shape[m];
    }
    return sum;
  }
};

/// Swizzle<B, 4, 3> on a byte address, by its definition in CuTe: the B bits at 4 are XORed with
/// the B bits at 7.
uint32_t cuteSwizzle(uint32_t address, int b) {
  return address ^ ((address >> 3) & (((1u << b) - 1) << 4));
}

struct IsaExample {
  const char *name;
  Mode row, column; // in elements
  int swizzleBits;
  OperandShape shape;
  uint32_t leading, stride; // bytes
};

// The five examples with their printed "Exact layout" and parameters; the operand is the first 32
// bytes of K.
const IsaExample kExamples[] = {
    {"K-major, no swizzle, tf32",
     {{8, 2}, {4, 32}},
     {{4, 4}, {1, 64}},
     0,
     {16, 4, Major::K},
     64 * 4,
     32 * 4},
    {"K-major, 32B, tf32", {{8, 2}, {8, 64}}, {{4, 4}, {1, 4}}, 1, {16, 4, Major::K}, 16, 64 * 4},
    {"MN-major, no swizzle, bf16",
     {{8, 1, 2}, {1, 8, 64}},
     {{8, 2}, {8, 128}},
     0,
     {16, 2, Major::MN},
     128 * 2,
     64 * 2},
    {"MN-major, 32B, bf16",
     {{8, 2, 2}, {1, 8, 128}},
     {{8, 2}, {16, 256}},
     1,
     {32, 2, Major::MN},
     128 * 2,
     256 * 2},
    {"MN-major, 64B, bf16",
     {{8, 4, 2}, {1, 8, 256}},
     {{8, 2}, {32, 512}},
     2,
     {64, 2, Major::MN},
     256 * 2,
     512 * 2},
};

std::vector<uint8_t> randomBytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(MatrixDescriptor, IsaExamples) {
  std::vector<uint8_t> memory = randomBytes(16384, 5);
  for (const IsaExample &example : kExamples) {
    SCOPED_TRACE(example.name);
    Swizzle mode = example.swizzleBits == 2   ? Swizzle::B64
                   : example.swizzleBits == 1 ? Swizzle::B32
                                              : Swizzle::None;
    MatrixDescriptor desc{2048, example.leading, example.stride, 0, mode};
    ASSERT_EQ(
        checkMatrixDescriptor(encodeMatrixDescriptor(desc), example.shape, kBase, kBase + 16384),
        "");
    std::vector<uint8_t> dense(example.shape.rows * 32);
    ASSERT_TRUE(gatherOperand(desc, example.shape, {memory.data(), kBase, 16384}, dense.data()));
    uint32_t size = example.shape.elementBytes;
    for (uint32_t r = 0; r < example.shape.rows; ++r)
      for (uint32_t c = 0; c < 32 / size; ++c)
        for (uint32_t b = 0; b < size; ++b) {
          uint32_t address = cuteSwizzle(2048 + (example.row(r) + example.column(c)) * size + b,
                                         example.swizzleBits);
          ASSERT_EQ(dense[r * 32 + c * size + b], memory[address - kBase]) << r << "," << c;
        }
  }
}

TEST(MatrixDescriptor, FieldsAreWhereTheIsaPutsThem) {
  // start 0x12340 -> 0x1234, LBO 0x400 -> 0x40, SBO 0x2000 -> 0x200, base offset 5, 128B swizzle.
  uint64_t bits = 0x1234ull | 0x40ull << 16 | 0x200ull << 32 | 5ull << 49 | 1ull << 62;
  MatrixDescriptor desc = decodeMatrixDescriptor(bits);
  EXPECT_EQ(desc.start, 0x12340u);
  EXPECT_EQ(desc.leading, 0x400u);
  EXPECT_EQ(desc.stride, 0x2000u);
  EXPECT_EQ(desc.baseOffset, 5u);
  EXPECT_EQ(desc.swizzle, Swizzle::B128);
  EXPECT_EQ(encodeMatrixDescriptor(desc), bits);
  EXPECT_EQ(decodeMatrixDescriptor(2ull << 62).swizzle, Swizzle::B64);
  EXPECT_EQ(decodeMatrixDescriptor(3ull << 62).swizzle, Swizzle::B32);
  EXPECT_EQ(decodeMatrixDescriptor(0).swizzle, Swizzle::None);
}

/// A matrix of `rows` x 64 elements of 2 bytes as TMA leaves it: boxes of one swizzle span along
/// the contiguous dimension, one panel after the other.
struct TmaTile {
  std::vector<uint16_t> global; // [row][k] (K-major) or [k][row] (MN-major)
  std::vector<uint8_t> memory;  // from kBase
  uint32_t start, panelBytes;
};
TmaTile loadWithTma(uint32_t rows, uint32_t depth, Major major, Swizzle mode, uint32_t start) {
  TmaTile tile;
  tile.start = start;
  uint32_t inner = major == Major::K ? depth : rows, outer = major == Major::K ? rows : depth;
  uint32_t pitch = (inner + 7) / 8 * 8;
  tile.global.resize(size_t(pitch) * outer);
  std::mt19937 random(rows * 7 + depth);
  for (uint16_t &element : tile.global)
    element = static_cast<uint16_t>(random());
  tile.memory.assign(160 * 1024, 0);
  uint32_t span = swizzleSpan(mode), panelElements = span / 2;
  uint64_t dims[] = {inner, outer}, strides[] = {pitch * 2};
  uint32_t steps[] = {1, 1};
  tile.panelBytes = outer * span;
  for (uint32_t first = 0, panel = 0; first < inner; first += panelElements, ++panel) {
    uint32_t box[] = {std::min(panelElements, (inner - first + 7) / 8 * 8), outer};
    int code = mode == Swizzle::B32 ? 1 : mode == Swizzle::B64 ? 2 : mode == Swizzle::B128 ? 3 : 0;
    TiledMapArguments args{9, 2, 4096, dims, strides, box, steps, 0, code, 0, 0};
    uint8_t bytes[kTensorMapBytes];
    TensorMap map;
    EXPECT_EQ(encodeTiled(args, bytes), "");
    EXPECT_EQ(decodeTensorMap(bytes, map), "");
    int32_t at[] = {static_cast<int32_t>(first), 0};
    TmaBox copy(map, at, start + panel * tile.panelBytes);
    EXPECT_EQ(checkTmaBox(copy, kBase, kBase + tile.memory.size()), "");
    for (uint32_t r = 0; r < copy.rowCount(); ++r) {
      TmaRow row = copy.row(r);
      const uint8_t *source =
          reinterpret_cast<const uint8_t *>(tile.global.data()) + (row.global - 4096);
      copy.loadRow(row, row.bytes ? source : nullptr, tile.memory.data() - kBase);
    }
  }
  return tile;
}

TEST(MatrixDescriptor, ReadsWhatTmaWrote) {
  constexpr uint32_t depth = 64;
  for (Swizzle mode : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (Major major : {Major::K, Major::MN})
      for (uint32_t rows = 8; rows <= 256; rows += 8)
        // The second start leaves room for a pattern that begins off its boundary.
        for (uint32_t start : {1024u, 1024u + 3 * 128u}) {
          uint32_t span = swizzleSpan(mode);
          TmaTile tile = loadWithTma(rows, depth, major, mode, start);
          uint32_t pitch = major == Major::K ? depth : (rows + 7) / 8 * 8;
          for (uint32_t k0 = 0; k0 < depth; k0 += 16) {
            MatrixDescriptor desc;
            desc.swizzle = mode;
            if (major == Major::K) {
              // k steps move inside a span, then to the next panel; without a swizzle a panel is 16
              // bytes of K.
              desc.start = start + k0 * 2 / span * tile.panelBytes + k0 * 2 % span;
              desc.leading = mode == Swizzle::None ? tile.panelBytes : 16;
              desc.stride = 8 * span;
            } else {
              desc.start = start + k0 * span;
              desc.leading = mode == Swizzle::None ? 8 * span : tile.panelBytes;
              desc.stride = mode == Swizzle::None ? tile.panelBytes : 8 * span;
            }
            uint32_t pattern = desc.start & ~(span - 1);
            if (mode != Swizzle::None && pattern % (8 * span))
              desc.baseOffset = (pattern >> 7) & 7;
            OperandShape shape{rows, 2, major};
            ASSERT_EQ(checkMatrixDescriptor(encodeMatrixDescriptor(desc), shape, kBase,
                                            kBase + tile.memory.size()),
                      "")
                << swizzleName(mode) << " rows " << rows << " k " << k0;
            std::vector<uint8_t> dense(rows * 32);
            ASSERT_TRUE(gatherOperand(
                desc, shape, {tile.memory.data(), kBase, static_cast<uint32_t>(tile.memory.size())},
                dense.data()));
            for (uint32_t r = 0; r < rows; ++r)
              for (uint32_t k = 0; k < 16; ++k) {
                uint16_t got;
                std::memcpy(&got, &dense[r * 32 + k * 2], 2);
                uint16_t want = major == Major::K ? tile.global[r * pitch + k0 + k]
                                                  : tile.global[(k0 + k) * pitch + r];
                ASSERT_EQ(got, want) << swizzleName(mode) << (major == Major::K ? " K" : " MN")
                                     << "-major rows " << rows << " element " << r << "," << k0 + k;
              }
          }
        }
}

TEST(MatrixDescriptor, RunsCoverExactlyTheGranulesRead) {
  // Memory holds each granule's number in every 4-byte word; the words gathered say which granules
  // were read.
  std::vector<uint32_t> words(64 * 1024 / 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(i / 4);
  SharedView view{reinterpret_cast<const uint8_t *>(words.data()), kBase, 64 * 1024};
  for (Swizzle mode : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    uint32_t span = swizzleSpan(mode);
    MatrixDescriptor desc{2048, mode == Swizzle::None ? 4096u : 16u, 8 * span, 0, mode};
    OperandShape shape{128, 4, Major::K};
    std::vector<uint8_t> dense(128 * 32);
    ASSERT_TRUE(gatherOperand(desc, shape, view, dense.data()));
    std::set<uint32_t> read, listed;
    for (size_t at = 0; at < dense.size(); at += 4) {
      uint32_t granule;
      std::memcpy(&granule, &dense[at], 4);
      read.insert(granule * 16 + kBase);
    }
    std::vector<GranuleRun> runs{{1, 2}};
    operandRuns(desc, shape, runs);
    for (const GranuleRun &run : runs)
      for (uint32_t at = 0; at < run.bytes; at += 16)
        EXPECT_TRUE(listed.insert(run.address + at).second) << "listed twice";
    EXPECT_EQ(listed, read);
    EXPECT_EQ(read.size(), 256u);
    EXPECT_LE(runs.size(), mode == Swizzle::None ? 2u : 128u) << swizzleName(mode);
  }
}

TEST(MatrixDescriptor, Diagnoses) {
  OperandShape k{64, 2, Major::K};
  auto check = [](MatrixDescriptor desc, const OperandShape &shape, uint32_t end = 200000) {
    return checkMatrixDescriptor(encodeMatrixDescriptor(desc), shape, kBase, end);
  };
  EXPECT_EQ(check({2048, 16, 1024, 0, Swizzle::B128}, k), "");
  EXPECT_EQ(check({2048 + 96, 16, 1024, 0, Swizzle::B128}, k), "") << "a k step inside the atom";
  EXPECT_THAT(check({2048 + 112, 16, 1024, 0, Swizzle::B128}, k),
              HasSubstr("lies 112 bytes into a 128-byte row of the 128B swizzle, and the "
                        "instruction reads 32 bytes"));
  EXPECT_THAT(
      check({2048 + 128, 16, 1024, 0, Swizzle::B128}, k),
      HasSubstr(
          "the base offset is 0, but the 128B swizzle's pattern starts at 2176, which needs 1"));
  EXPECT_EQ(check({2048 + 128, 16, 1024, 1, Swizzle::B128}, k), "");
  EXPECT_EQ(check({2048 + 512, 16, 512, 0, Swizzle::B64}, k), "")
      << "the 64B pattern repeats every 512 bytes";
  EXPECT_THAT(check({2048 + 512, 16, 512, 4, Swizzle::B64}, k), HasSubstr("the base offset is 4"));
  EXPECT_THAT(check({2048 + 64, 16, 512, 0, Swizzle::B64}, k),
              HasSubstr("must start at a multiple of 128"));
  EXPECT_THAT(check({2048, 128, 256, 2, Swizzle::None}, k),
              HasSubstr("without a swizzle it must be 0"));
  EXPECT_THAT(check({2048, 16, 1024, 0, Swizzle::B128}, {64, 4, Major::MN}),
              HasSubstr("wgmma transposes 2-byte elements (f16, bf16) only"));
  EXPECT_THAT(
      check({2048, 16, 1024, 0, Swizzle::B128}, k, 8192),
      HasSubstr("reads shared-memory bytes 8192 to 8208, but shared memory is 1024 to 8192"));
  EXPECT_THAT(
      checkMatrixDescriptor(encodeMatrixDescriptor({2048, 16, 1024, 0, Swizzle::B128}) | 1ull << 46,
                            k, kBase, 200000),
      HasSubstr("sets bits that have no meaning"));
  std::vector<uint8_t> memory(4096), dense(64 * 32);
  EXPECT_FALSE(gatherOperand({2048, 16, 1024, 0, Swizzle::B128}, k, {memory.data(), kBase, 4096},
                             dense.data()));
  EXPECT_FALSE(
      gatherOperand({0, 16, 128, 0, Swizzle::B128}, k, {memory.data(), kBase, 4096}, dense.data()));
}

TEST(MatrixDescriptor, PlansGatherWhatGatherOperandDoes) {
  std::mt19937 random(31);
  std::vector<uint8_t> memory(160 * 1024);
  for (uint8_t &byte : memory)
    byte = static_cast<uint8_t>(random());
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (Major major : {Major::K, Major::MN})
      for (uint32_t elementBytes : {1u, 2u, 4u})
        for (uint32_t rowBytes : {32u, 64u})
          for (uint32_t rows : {8u, 64u, 256u})
            for (bool evenOdd : {false, true}) {
              const uint32_t span = swizzleSpan(swizzle);
              if ((major == Major::MN && elementBytes != 2) ||
                  (major == Major::K && swizzle != Swizzle::None && rowBytes > span))
                continue;
              // Strides that keep blocks apart, whichever they are.
              MatrixDescriptor desc{2048, 4096, 8 * span, 0, swizzle};
              if (major == Major::MN)
                desc.stride = swizzle == Swizzle::None ? 1024 : 8 * span, desc.leading = 128;
              if (major == Major::MN && swizzle != Swizzle::None)
                desc.leading = 8 * span * 8;
              const OperandShape shape{rows, elementBytes, major, rowBytes};
              OperandPlan plan = planOperand(encodeMatrixDescriptor(desc), shape, evenOdd, kBase,
                                             static_cast<uint32_t>(memory.size()));
              ASSERT_EQ(plan.problem, "");
              std::vector<uint8_t> dense(rows * rowBytes), blocks(rows * rowBytes);
              ASSERT_TRUE(gatherOperand(desc, shape,
                                        {memory.data(), 0, static_cast<uint32_t>(memory.size())},
                                        dense.data()));
              gatherBlocks(plan, shape, evenOdd, memory.data(), blocks.data());
              // Element (row, k) by the definition of blocks.
              const uint32_t depth = rowBytes / elementBytes;
              for (uint32_t row = 0; row < rows; ++row)
                for (uint32_t k = 0; k < depth; ++k) {
                  uint32_t within = row % 8;
                  if (evenOdd)
                    within = within / 2 + 4 * (within % 2);
                  ASSERT_EQ(
                      0, std::memcmp(&blocks[((row / 8 * depth + k) * 8 + within) * elementBytes],
                                     &dense[row * rowBytes + k * elementBytes], elementBytes))
                      << swizzleName(swizzle) << " row " << row << " k " << k;
                }
              // The runs hold each granule once, in ascending order, with gaps between.
              std::set<uint32_t> granules(plan.granules.begin(), plan.granules.end());
              ASSERT_EQ(granules.size(), rows * rowBytes / 16);
              uint32_t end = 0;
              for (const GranuleRun &run : plan.runs) {
                ASSERT_GT(run.address, end);
                end = run.address + run.bytes;
                for (uint32_t at = run.address; at < end; at += 16)
                  ASSERT_EQ(granules.erase(at), 1u);
              }
              ASSERT_TRUE(granules.empty());
            }
}

} // namespace
