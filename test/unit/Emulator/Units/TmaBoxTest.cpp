// Boxes against a walk over single elements, written from the documents: the element order of PTX
// ISA 5.5.3 and the index relation smem[y][x] <-> smem[y][((y + offset) % n) ^ x] of the CUDA C++
// Programming Guide ("The Swizzle Modes"), where y counts 128-byte lines and x 16-byte chunks.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TmaBox.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace girih::emu;

namespace {

TensorMap makeMap(TensorDataType type, std::vector<uint64_t> dims, std::vector<uint64_t> strides,
                  std::vector<uint32_t> box, std::vector<uint32_t> steps, Swizzle swizzle,
                  uint64_t address = 1 << 20) {
  int mode = swizzle == Swizzle::B32    ? 1
             : swizzle == Swizzle::B64  ? 2
             : swizzle == Swizzle::B128 ? 3
                                        : 0;
  TiledMapArguments args{static_cast<int>(type),
                         static_cast<uint32_t>(dims.size()),
                         address,
                         dims.data(),
                         strides.data(),
                         box.data(),
                         steps.data(),
                         0,
                         mode,
                         0,
                         0};
  uint8_t bytes[kTensorMapBytes];
  EXPECT_EQ(encodeTiled(args, bytes), "");
  TensorMap map;
  EXPECT_EQ(decodeTensorMap(bytes, map), "");
  return map;
}

/// Shared address by the guide's relation, from the address without a swizzle.
uint32_t guideSwizzle(uint32_t address, Swizzle mode) {
  if (mode == Swizzle::None)
    return address;
  uint32_t n = mode == Swizzle::B128 ? 8 : mode == Swizzle::B64 ? 4 : 2;
  uint32_t line = address / 128, chunk = address / 16 % 8;
  return line * 128 + ((line % n) ^ chunk) * 16 + address % 16;
}

constexpr int64_t kOutside = -1;

/// For every byte of shared memory that the box writes: the global address it comes from, or
/// kOutside.
std::map<uint32_t, int64_t> naiveWalk(const TensorMap &map, const std::vector<int32_t> &at,
                                      uint32_t shared) {
  std::map<uint32_t, int64_t> bytes;
  uint32_t size = map.elementBytes();
  uint32_t inner = map.boxDims[0];
  uint32_t span = static_cast<uint32_t>(map.swizzle);
  uint32_t pitch = std::max(inner * size, span);
  std::array<uint32_t, 5> count{inner, 1, 1, 1, 1};
  for (uint32_t d = 1; d < map.rank; ++d)
    count[d] = (map.boxDims[d] - 1) / map.elementStrides[d] + 1;
  uint32_t line = 0;
  std::array<uint32_t, 5> i{};
  for (i[4] = 0; i[4] < count[4]; ++i[4])
    for (i[3] = 0; i[3] < count[3]; ++i[3])
      for (i[2] = 0; i[2] < count[2]; ++i[2])
        for (i[1] = 0; i[1] < count[1]; ++i[1], ++line)
          for (i[0] = 0; i[0] < count[0]; ++i[0]) {
            bool inside = true;
            int64_t address = static_cast<int64_t>(map.globalAddress);
            for (uint32_t d = 0; d < map.rank; ++d) {
              int64_t position = int64_t(at[d]) + int64_t(i[d]) * (d ? map.elementStrides[d] : 1);
              inside &= position >= 0 && position < static_cast<int64_t>(map.dims[d]);
              address += position * static_cast<int64_t>(d ? map.strides[d] : size);
            }
            for (uint32_t b = 0; b < size; ++b)
              bytes[guideSwizzle(shared + line * pitch + i[0] * size + b, map.swizzle)] =
                  inside ? address + b : kOutside;
          }
  return bytes;
}

std::map<uint32_t, int64_t> walkRuns(const TmaBox &box) {
  std::map<uint32_t, int64_t> bytes;
  box.runs([&](const TmaRun &run) {
    EXPECT_GT(run.bytes, 0u);
    if (box.swizzle() != Swizzle::None)
      EXPECT_EQ(run.shared / 16, (run.shared + run.bytes - 1) / 16);
    for (uint32_t b = 0; b < run.bytes; ++b) {
      EXPECT_FALSE(bytes.count(run.shared + b)) << "written twice";
      bytes[run.shared + b] = run.inBounds ? static_cast<int64_t>(run.global) + b : kOutside;
    }
  });
  return bytes;
}

TEST(TmaBox, RandomBoxesMatchTheElementWalk) {
  std::mt19937 random(11);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const Swizzle modes[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};
  const TensorDataType types[] = {TensorDataType::U8, TensorDataType::BF16, TensorDataType::F32,
                                  TensorDataType::F64};
  for (int trial = 0; trial < 600; ++trial) {
    uint32_t rank = pick(1, 5);
    Swizzle mode = modes[pick(0, 3)];
    TensorDataType type = types[pick(0, 3)];
    uint32_t size = elementBytes(type);
    uint32_t innerChunks = pick(1, mode == Swizzle::None ? 6 : swizzleSpan(mode) / 16);
    std::vector<uint64_t> dims, strides;
    std::vector<uint32_t> box, steps;
    std::vector<int32_t> at;
    uint64_t stride = 0;
    for (uint32_t d = 0; d < rank; ++d) {
      dims.push_back(pick(1, d == 0 ? 100 : 12));
      box.push_back(d == 0 ? innerChunks * 16 / size : pick(1, 7));
      steps.push_back(pick(1, 3));
      at.push_back(pick(-int(box[d]) - 1, int(dims[d]) + 1));
      stride = d == 0 ? (dims[0] * size + 15) / 16 * 16 + 16 * pick(0, 2) : stride * dims[d];
      if (d + 1 < rank)
        strides.push_back(stride);
    }
    TensorMap map = makeMap(type, dims, strides, box, steps, mode);
    uint32_t shared = 1024 + 128 * pick(0, 9);
    TmaBox tile(map, at.data(), shared);
    std::map<uint32_t, int64_t> expected = naiveWalk(map, at, shared);
    ASSERT_EQ(walkRuns(tile), expected) << "trial " << trial;
    EXPECT_EQ(tile.bytes(), expected.size());
    EXPECT_EQ(tile.bytes(), map.boxBytes());
    EXPECT_GE(expected.begin()->first, tile.sharedBegin());
    EXPECT_LT(expected.rbegin()->first, tile.sharedBegin() + tile.sharedBytes());
  }
}

TEST(TmaBox, CopiesRowsBothWays) {
  for (Swizzle mode : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    std::vector<uint8_t> global(16 * 64);
    for (size_t i = 0; i < global.size(); ++i)
      global[i] = static_cast<uint8_t>(1 + i * 37 % 251);
    uint64_t base = 1 << 20;
    TensorMap map = makeMap(TensorDataType::U16, {20, 16}, {64}, {16, 10}, {1, 1}, mode, base);
    for (std::vector<int32_t> at : {std::vector<int32_t>{2, 3}, {-3, -2}, {13, 12}, {40, 0}}) {
      uint32_t shared = 256;
      TmaBox box(map, at.data(), shared);
      std::vector<uint8_t> memory(4096, 0xee), expected = memory;
      for (uint32_t r = 0; r < box.rowCount(); ++r) {
        TmaRow row = box.row(r);
        box.loadRow(row, row.bytes ? global.data() + (row.global - base) : nullptr, memory.data());
      }
      for (auto [address, source] : naiveWalk(map, at, shared))
        expected[address] = source == kOutside ? 0 : global[source - base];
      ASSERT_EQ(memory, expected);

      std::vector<uint8_t> written(global.size(), 0x55), wanted = written;
      for (uint32_t r = 0; r < box.rowCount(); ++r) {
        TmaRow row = box.row(r);
        box.storeRow(row, memory.data(),
                     row.bytes ? written.data() + (row.global - base) : nullptr);
      }
      for (auto [address, target] : naiveWalk(map, at, shared))
        if (target != kOutside)
          wanted[target - base] = memory[address];
      ASSERT_EQ(written, wanted) << "a store drops what is out of bounds";
    }
  }
}

TEST(TmaBox, FillsWithNanWhenAsked) {
  uint64_t dims[] = {8};
  uint32_t box[] = {8}, steps[] = {1};
  for (auto [type, bits] : {std::pair<int, uint64_t>{6, 0x7fff},
                            {9, 0x7fff},
                            {7, 0x7fffffff},
                            {8, 0x7fffffffffffffff}}) {
    TiledMapArguments args{type, 1, 4096, dims, nullptr, box, steps, 0, 0, 0, 1};
    uint8_t bytes[kTensorMapBytes];
    ASSERT_EQ(encodeTiled(args, bytes), "");
    TensorMap map;
    ASSERT_EQ(decodeTensorMap(bytes, map), "");
    int32_t at[] = {5};
    TmaBox tile(map, at, 0);
    uint8_t source[64] = {}, memory[64];
    std::memset(memory, 0xee, sizeof memory);
    TmaRow row = tile.row(0);
    EXPECT_EQ(row.bytes, 3 * map.elementBytes());
    tile.loadRow(row, source, memory);
    uint64_t value = 0;
    for (uint32_t element = 0; element < 8; ++element) {
      std::memcpy(&value, memory + element * map.elementBytes(), map.elementBytes());
      EXPECT_EQ(value, element < 3 ? 0 : bits) << element;
    }
  }
}

TEST(TmaBox, ChecksTheSharedSide) {
  TensorMap map = makeMap(TensorDataType::BF16, {64, 64}, {128}, {48, 16}, {1, 1}, Swizzle::B128);
  int32_t at[] = {0, 0};
  EXPECT_EQ(checkTmaBox(TmaBox(map, at, 1024), 1024, 1024 + 2048), "");
  EXPECT_EQ(checkTmaBox(TmaBox(map, at, 1040), 1024, 65536),
            "the shared-memory address of a tensor copy is 1040; it must be a multiple of 128");
  // 96-byte rows take the full 128 bytes of the swizzle.
  EXPECT_EQ(checkTmaBox(TmaBox(map, at, 1024), 1024, 1024 + 2047),
            "the box covers shared-memory bytes 1024 to 3072 (16 rows of 128 bytes), but shared "
            "memory is 1024 to 3071");
}

} // namespace
