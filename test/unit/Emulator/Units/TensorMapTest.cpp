// Encoding of tensor maps: a round trip, one case per rule of cuTensorMapEncodeTiled with its text,
// and bytes that are no map.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TensorMap.h"

#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace girih::emu;
using ::testing::HasSubstr;

namespace {

/// A valid map that tests bend: bf16, 3-D, box 64 x 8 x 2, 128B swizzle.
struct Arguments {
  uint64_t dims[5] = {100, 37, 5, 1, 1};
  uint64_t strides[4] = {208, 208 * 37, 16, 16};
  uint32_t box[5] = {64, 8, 2, 1, 1};
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  TiledMapArguments raw;
  Arguments() { raw = {9, 3, 0x7f0000000040, dims, strides, box, steps, 0, 3, 2, 0}; }
};

std::string encodeError(const std::function<void(Arguments &)> &bend) {
  Arguments args;
  bend(args);
  uint8_t bytes[kTensorMapBytes];
  std::memset(bytes, 0xab, sizeof bytes);
  std::string error = encodeTiled(args.raw, bytes);
  if (!error.empty())
    for (uint8_t byte : bytes)
      EXPECT_EQ(byte, 0xab) << "a refused map must leave the bytes alone";
  return error;
}

TEST(TensorMap, RoundTrip) {
  Arguments args;
  args.dims[1] = uint64_t(1) << 32;
  args.strides[1] = (uint64_t(1) << 40) - 16;
  args.steps[0] = 7; // ignored: TMA has no stride in dimension 0
  args.steps[1] = 3;
  args.raw.oobFill = 1;
  uint8_t bytes[kTensorMapBytes];
  ASSERT_EQ(encodeTiled(args.raw, bytes), "");
  TensorMap map;
  ASSERT_EQ(decodeTensorMap(bytes, map), "");
  EXPECT_EQ(map.type, TensorDataType::BF16);
  EXPECT_EQ(map.rank, 3u);
  EXPECT_EQ(map.globalAddress, 0x7f0000000040u);
  EXPECT_THAT(map.dims, testing::ElementsAre(100, uint64_t(1) << 32, 5, 1, 1));
  EXPECT_THAT(map.strides, testing::ElementsAre(2, 208, (uint64_t(1) << 40) - 16, 0, 0));
  EXPECT_THAT(map.boxDims, testing::ElementsAre(64, 8, 2, 1, 1));
  EXPECT_THAT(map.elementStrides, testing::ElementsAre(1, 3, 1, 1, 1));
  EXPECT_EQ(map.swizzle, Swizzle::B128);
  EXPECT_EQ(map.fill, TensorFill::Nan);
  EXPECT_EQ(map.l2Promotion, 2);
  EXPECT_EQ(map.boxCount(1), 3u); // ceil(8 / 3)
  EXPECT_EQ(map.boxBytes(), 64u * 2 * 3 * 2);
}

TEST(TensorMap, EveryRuleHasItsText) {
  struct Case {
    const char *text;
    std::function<void(Arguments &)> bend;
  };
  const Case cases[] = {
      {"tensorDataType is 99; it must be a CUtensorMapDataType, 0 to 12",
       [](auto &a) { a.raw.dataType = 99; }},
      {"compute capability 9.0 does not have", [](auto &a) { a.raw.dataType = 13; }},
      {"interleave is 3; it must be", [](auto &a) { a.raw.interleave = 3; }},
      {"with the 16B interleave the emulated device models no swizzle only",
       [](auto &a) { a.raw.interleave = 1; }},
      {"with the 32B interleave it must be 32B", [](auto &a) { a.raw.interleave = 2; }},
      {"swizzle is 7; it must be a CUtensorMapSwizzle, 0 to 3", [](auto &a) { a.raw.swizzle = 7; }},
      {"swizzle is 4, a 128B mode with another atom", [](auto &a) { a.raw.swizzle = 4; }},
      {"l2Promotion is 4; it must be", [](auto &a) { a.raw.l2Promotion = 4; }},
      {"oobFill is 2; it must be", [](auto &a) { a.raw.oobFill = 2; }},
      {"oobFill asks for NaN, but the element type is u16",
       [](auto &a) { a.raw.oobFill = 1, a.raw.dataType = 1; }},
      {"tensorRank is 0; it must be 1 to 5", [](auto &a) { a.raw.rank = 0; }},
      {"tensorRank is 6; it must be 1 to 5", [](auto &a) { a.raw.rank = 6; }},
      {"must not be null", [](auto &a) { a.raw.boxDim = nullptr; }},
      {"must not be null", [](auto &a) { a.raw.globalStrides = nullptr; }},
      {"globalAddress is 0x1008; it must be a multiple of 16",
       [](auto &a) { a.raw.globalAddress = 0x1008; }},
      {"globalDim[1] is 0; it must be 1 to 2^32", [](auto &a) { a.dims[1] = 0; }},
      {"globalDim[2] is 4294967297; it must be 1 to 2^32",
       [](auto &a) { a.dims[2] = (uint64_t(1) << 32) + 1; }},
      {"globalStrides[0] (dimension 1) is 200 bytes; it must be a multiple of 16",
       [](auto &a) { a.strides[0] = 200; }},
      {"globalStrides[1] (dimension 2) is 1099511627776 bytes; it must be less than 2^40",
       [](auto &a) { a.strides[1] = uint64_t(1) << 40; }},
      {"boxDim[1] is 257; it must be 1 to 256", [](auto &a) { a.box[1] = 257; }},
      {"boxDim[2] is 0; it must be 1 to 256", [](auto &a) { a.box[2] = 0; }},
      {"elementStrides[1] is 9; it must be 1 to 8", [](auto &a) { a.steps[1] = 9; }},
      {"elementStrides[2] is 0; it must be 1 to 8", [](auto &a) { a.steps[2] = 0; }},
      {"boxDim[0] is 60 elements of bf16, 120 bytes; it must be a multiple of 16 bytes",
       [](auto &a) { a.box[0] = 60; }},
      {"boxDim[0] is 72 elements of bf16, 144 bytes; with the 128B swizzle it must be at most 128 "
       "bytes",
       [](auto &a) { a.box[0] = 72; }},
      {"with the 64B swizzle it must be at most 64 bytes", [](auto &a) { a.raw.swizzle = 2; }},
      {"with the 32B swizzle it must be at most 32 bytes", [](auto &a) { a.raw.swizzle = 1; }},
  };
  EXPECT_EQ(encodeError([](auto &) {}), "");
  for (const Case &c : cases)
    EXPECT_THAT(encodeError(c.bend), HasSubstr(c.text));
}

TEST(TensorMap, AcceptsTheLimits) {
  EXPECT_EQ(encodeError([](auto &a) { a.raw.rank = 1, a.raw.globalStrides = nullptr; }), "");
  EXPECT_EQ(encodeError([](auto &a) { a.raw.swizzle = 0, a.box[0] = 256, a.box[1] = 256; }), "");
  EXPECT_EQ(encodeError([](auto &a) { a.raw.rank = 5; }), "");
  EXPECT_EQ(encodeError([](auto &a) { a.dims[2] = 1, a.strides[1] = 0; }), "")
      << "a dimension of one element";
}

TEST(TensorMap, GarbageAndTamperingAreRecognised) {
  TensorMap map;
  uint8_t bytes[kTensorMapBytes] = {};
  EXPECT_THAT(decodeTensorMap(bytes, map), HasSubstr("these 128 bytes are not a tensor map"));
  Arguments args;
  ASSERT_EQ(encodeTiled(args.raw, bytes), "");
  uint8_t copy[kTensorMapBytes];
  for (size_t at = 8; at < kTensorMapBytes; ++at) {
    std::memcpy(copy, bytes, sizeof copy);
    copy[at] ^= 0x10;
    ASSERT_THAT(decodeTensorMap(copy, map), HasSubstr("changed after it was encoded")) << at;
  }
  std::mt19937 random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    for (uint8_t &byte : copy)
      byte = static_cast<uint8_t>(random());
    ASSERT_NE(decodeTensorMap(copy, map), "");
  }
}

} // namespace
