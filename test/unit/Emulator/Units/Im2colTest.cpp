// Im2col maps and boxes: the rules of cuTensorMapEncodeIm2col, and the pixels of random copies
// against a walk in the words of PTX ISA 9.0, 5.5.4; interleaved maps; and fields that
// tensormap.replace changes (9.7.9.28).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Emulator/TmaBox.h"

#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace girih::emu;
using ::testing::HasSubstr;

namespace {

/// NHWC of 64 x 14 x 9 x 64 half words, as in the ISA's first example.
struct Arguments {
  uint64_t dims[5] = {64, 9, 14, 64, 1};
  uint64_t strides[4] = {128, 128 * 9, 128 * 9 * 14, 128 * 9 * 14 * 64};
  int lower[3] = {-1, -1, 0}, upper[3] = {-1, -1, 0};
  uint32_t steps[5] = {1, 1, 1, 1, 1};
  Im2colMapArguments raw;
  Arguments() { raw = {1, 4, 1 << 20, dims, strides, lower, upper, 8, 64, steps, 0, 0, 0, 0}; }
};

TensorMap decoded(const Im2colMapArguments &raw) {
  uint8_t bytes[kTensorMapBytes];
  EXPECT_EQ(encodeIm2col(raw, bytes), "");
  TensorMap map;
  EXPECT_EQ(decodeTensorMap(bytes, map), "");
  return map;
}

TEST(Im2colMap, RoundTrip) {
  Arguments a;
  a.lower[0] = -3; // H
  a.lower[1] = -2; // W
  a.upper[0] = 5;
  a.upper[1] = 4;
  a.steps[1] = 2;
  a.raw.swizzle = 1;
  TensorMap map = decoded(a.raw);
  EXPECT_EQ(map.kind, TensorMapKind::Im2col);
  EXPECT_EQ(map.rank, 4u);
  EXPECT_THAT(map.dims, testing::ElementsAre(64, 9, 14, 64, 1));
  EXPECT_EQ(map.boxDims[0], 8u);
  EXPECT_EQ(map.pixels, 64u);
  // Corners come outermost first, and are kept from W on.
  EXPECT_THAT(map.lowerCorner, testing::ElementsAre(-2, -3, 0));
  EXPECT_THAT(map.upperCorner, testing::ElementsAre(4, 5, 0));
  EXPECT_THAT(map.elementStrides, testing::ElementsAre(1, 2, 1, 1, 1));
  EXPECT_EQ(map.boxBytes(), 64u * 16);
}

TEST(Im2colMap, EveryRule) {
  struct Rule {
    const char *text;
    std::function<void(Arguments &)> bend;
  };
  const Rule rules[] = {
      {"tensorRank is 2; of an im2col map it must be 3 to 5", [](auto &a) { a.raw.rank = 2; }},
      {"tensorRank is 6", [](auto &a) { a.raw.rank = 6; }},
      {"models im2col maps without it only", [](auto &a) { a.raw.interleave = 1; }},
      {"PixelBoxUpperCorner must not be null", [](auto &a) { a.raw.upperCorner = nullptr; }},
      {"pixelBoxLowerCorner[0] is -129; for rank 4 it must be -128 to 127",
       [](auto &a) { a.lower[0] = -129; }},
      {"pixelBoxUpperCorner[1] is 128; for rank 4 it must be -128 to 127",
       [](auto &a) { a.upper[1] = 128; }},
      {"the pixel box is empty: along a dimension of 9 it goes from -1 to -2",
       [](auto &a) { a.upper[1] = -10; }},
      {"channelsPerPixel is 257; it must be 1 to 256",
       [](auto &a) { a.raw.channelsPerPixel = 257; }},
      {"channelsPerPixel is 0; it must be 1 to 256", [](auto &a) { a.raw.channelsPerPixel = 0; }},
      {"channelsPerPixel is 4 elements of u16, 8 bytes; it must be a multiple of 16 bytes",
       [](auto &a) { a.raw.channelsPerPixel = 4; }},
      {"with the 32B swizzle it must be at most 32 bytes",
       [](auto &a) {
         a.raw.swizzle = 1;
         a.raw.channelsPerPixel = 32;
       }},
      {"pixelsPerColumn is 1025; it must be 1 to 1024",
       [](auto &a) { a.raw.pixelsPerColumn = 1025; }},
      {"pixelsPerColumn is 0; it must be 1 to 1024", [](auto &a) { a.raw.pixelsPerColumn = 0; }},
      {"elementStrides[2] is 9; it must be 1 to 8", [](auto &a) { a.steps[2] = 9; }},
      {"globalAddress is 0x100008; it must be a multiple of 16",
       [](auto &a) { a.raw.globalAddress = (1 << 20) + 8; }},
      {"globalStrides[1] (dimension 2) is 24 bytes", [](auto &a) { a.strides[1] = 24; }},
      {"NaN needs a floating-point type", [](auto &a) { a.raw.oobFill = 1; }},
  };
  for (const Rule &rule : rules) {
    Arguments a;
    rule.bend(a);
    uint8_t bytes[kTensorMapBytes];
    std::string text = rule.text;
    if (text.find("PixelBox") == 0)
      text[0] = 'p';
    EXPECT_THAT(encodeIm2col(a.raw, bytes), HasSubstr(text));
  }
  // The limits of the other ranks.
  Arguments three;
  three.raw.rank = 3;
  three.lower[0] = -32768;
  uint8_t bytes[kTensorMapBytes];
  EXPECT_EQ(encodeIm2col(three.raw, bytes), "");
  three.lower[0] = -32769;
  EXPECT_THAT(encodeIm2col(three.raw, bytes), HasSubstr("it must be -32768 to 32767"));
  Arguments five;
  five.raw.rank = 5;
  five.lower[2] = -16;
  EXPECT_EQ(encodeIm2col(five.raw, bytes), "");
  five.lower[2] = -17;
  EXPECT_THAT(encodeIm2col(five.raw, bytes), HasSubstr("it must be -16 to 15"));
}

/// Shared address by the programming guide's relation, from the address without a swizzle.
uint32_t guideSwizzle(uint32_t address, Swizzle mode) {
  if (mode == Swizzle::None)
    return address;
  uint32_t n = mode == Swizzle::B128 ? 8 : mode == Swizzle::B64 ? 4 : 2;
  uint32_t line = address / 128, chunk = address / 16 % 8;
  return line * 128 + ((line % n) ^ chunk) * 16 + address % 16;
}
constexpr int64_t kOutside = -1;

/// The walk of 5.5.4: the filter's base goes along W, H, D and the images; what is accessed lies
/// the offsets further on.
std::map<uint32_t, int64_t> walk(const TensorMap &map, std::vector<int32_t> at,
                                 const std::vector<uint16_t> &offsets, uint32_t shared) {
  std::map<uint32_t, int64_t> bytes;
  const uint32_t size = map.elementBytes(), width = map.boxDims[0] * size;
  const uint32_t pitch = std::max(width, static_cast<uint32_t>(map.swizzle));
  const uint32_t spatial = map.rank - 2;
  std::vector<int64_t> base(at.begin() + 1, at.end() - 1);
  int64_t image = at.back();
  for (uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    for (uint32_t c = 0; c < map.boxDims[0]; ++c) {
      int64_t channel = int64_t(at[0]) + c;
      bool inside = channel >= 0 && channel < int64_t(map.dims[0]) && image >= 0 &&
                    image < int64_t(map.dims[map.rank - 1]);
      int64_t address =
          int64_t(map.globalAddress) + channel * size + image * int64_t(map.strides[map.rank - 1]);
      for (uint32_t d = 0; d < spatial; ++d) {
        int64_t position = base[d] + offsets[d];
        inside &= position >= 0 && position < int64_t(map.dims[d + 1]);
        address += position * int64_t(map.strides[d + 1]);
      }
      for (uint32_t b = 0; b < size; ++b)
        bytes[guideSwizzle(shared + pixel * pitch + c * size + b, map.swizzle)] =
            inside ? address + b : kOutside;
    }
    uint32_t d = 0;
    for (; d < spatial; ++d) {
      base[d] += map.elementStrides[d + 1];
      if (base[d] <= int64_t(map.dims[d + 1]) - 1 + map.upperCorner[d])
        break;
      base[d] = map.lowerCorner[d];
    }
    if (d == spatial)
      ++image;
  }
  return bytes;
}
std::map<uint32_t, int64_t> runsOf(const TmaBox &box) {
  std::map<uint32_t, int64_t> bytes;
  box.runs([&](const TmaRun &run) {
    for (uint32_t b = 0; b < run.bytes; ++b)
      bytes[run.shared + b] = run.inBounds ? static_cast<int64_t>(run.global) + b : kOutside;
  });
  return bytes;
}

TEST(Im2colBox, RandomCopiesMatchTheWalk) {
  std::mt19937 random(5);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int trial = 0; trial < 500; ++trial) {
    Arguments a;
    a.raw.rank = static_cast<uint32_t>(pick(3, 5));
    const uint32_t spatial = a.raw.rank - 2;
    a.raw.dataType = pick(0, 1) ? 1 : 7;
    const uint32_t size = a.raw.dataType == 1 ? 2 : 4;
    a.raw.swizzle = pick(0, 3);
    a.raw.channelsPerPixel =
        static_cast<uint32_t>(pick(1, a.raw.swizzle ? 16 << (a.raw.swizzle) : 96) / 16 + 1) * 16 /
        size;
    if (a.raw.swizzle && a.raw.channelsPerPixel * size > (16u << a.raw.swizzle))
      a.raw.channelsPerPixel = (16u << a.raw.swizzle) / size;
    a.raw.pixelsPerColumn = static_cast<uint32_t>(pick(1, 60));
    uint64_t stride = 0;
    std::vector<int32_t> at{pick(-4, 20)};
    std::vector<uint16_t> offsets;
    a.dims[0] = static_cast<uint64_t>(pick(1, 40));
    stride = (a.dims[0] * size + 15) / 16 * 16;
    for (uint32_t d = 1; d < a.raw.rank; ++d) {
      a.dims[d] = static_cast<uint64_t>(pick(1, 7));
      a.strides[d - 1] = stride;
      stride *= a.dims[d];
      a.steps[d] = static_cast<uint32_t>(pick(1, 3));
    }
    for (uint32_t i = 0; i < spatial; ++i) {
      // The API's order is outermost first.
      const uint32_t d = spatial - i;
      a.lower[i] = pick(-3, 1);
      a.upper[i] = std::max(pick(-2, 2), a.lower[i] + 1 - int(a.dims[d]));
    }
    TensorMap map = decoded(a.raw);
    for (uint32_t d = 1; d <= spatial; ++d) {
      at.push_back(pick(map.lowerCorner[d - 1], int(a.dims[d]) - 1 + map.upperCorner[d - 1]));
      offsets.push_back(static_cast<uint16_t>(pick(0, 3)));
    }
    at.push_back(pick(-1, int(a.dims[a.raw.rank - 1])));
    uint32_t shared = 1024 + 128 * static_cast<uint32_t>(pick(0, 9));
    TmaBox box(map, at.data(), shared, offsets.data());
    ASSERT_EQ(box.checkPixels(), "");
    auto expected = walk(map, at, offsets, shared);
    ASSERT_EQ(runsOf(box), expected) << "trial " << trial;
    EXPECT_EQ(box.bytes(), expected.size());
    EXPECT_EQ(box.bytes(), map.boxBytes());
  }
}

TEST(Im2colBox, TheIsaExamples) {
  // Example 1 (Figure 13): 64 pixels from (N 7, H 7, W 4) on; the row of the box ends at W 7 and
  // the image at H 12. Coordinates of the figure are (7, 7, 4, 0), outermost first.
  Arguments a;
  TensorMap map = decoded(a.raw);
  int32_t at[] = {0, 4, 7, 7};
  TmaBox box(map, at, 1024);
  auto global = [&](int64_t n, int64_t h, int64_t w) {
    return (1 << 20) + uint64_t(n * 128 * 9 * 14 + h * 128 * 9 + w * 128);
  };
  EXPECT_EQ(box.row(0).global, global(7, 7, 4));
  EXPECT_EQ(box.row(3).global, global(7, 7, 7));
  EXPECT_EQ(box.row(4).bytes, 0u) << "W -1, which is padding";
  EXPECT_EQ(box.row(5).global, global(7, 8, 0));
  // 4 + 5 rows of 9 end the image; the next one begins with a row of padding at H -1.
  EXPECT_EQ(box.row(4 + 45 - 1).global, global(7, 12, 7));
  for (uint32_t pixel = 49; pixel < 59; ++pixel)
    EXPECT_EQ(box.row(pixel).bytes, 0u) << pixel;
  EXPECT_EQ(box.row(59).global, global(8, 0, 0));

  // Example 2 (Figure 14): offsets (2, 2) reach the last rows and columns.
  Arguments b;
  b.lower[0] = b.lower[1] = 0;
  b.upper[0] = b.upper[1] = -2;
  TensorMap shifted = decoded(b.raw);
  uint16_t offsets[] = {2, 2};
  TmaBox box2(shifted, at, 1024, offsets);
  EXPECT_EQ(box2.row(0).global, global(7, 9, 6));
  EXPECT_EQ(box2.row(2).global, global(7, 9, 8));
  EXPECT_EQ(box2.row(3).global, global(7, 10, 2));
  for (uint32_t pixel = 0; pixel < 64; ++pixel)
    EXPECT_EQ(box2.row(pixel).bytes, 16u);
}

TEST(Im2colBox, ChecksPlaceAndOffsets) {
  Arguments a;
  TensorMap map = decoded(a.raw);
  int32_t outside[] = {0, 8, 0, 0};
  EXPECT_EQ(TmaBox(map, outside, 1024).checkPixels(),
            "coordinate 1 of an im2col copy is 8, outside the map's pixel box, -1 to 7");
  int32_t inside[] = {0, 7, 0, 0};
  EXPECT_EQ(TmaBox(map, inside, 1024).checkPixels(), "");
  uint16_t offsets[] = {0, 256};
  EXPECT_EQ(TmaBox(map, inside, 1024, offsets).checkPixels(),
            "the im2col offset of dimension 2 is 256; for rank 4 it must be less than 256");
}

TEST(InterleavedMap, DimensionZeroIsTheSlice) {
  // NC/8HWC8 of half words: {C8, W, H, C/8}.
  uint64_t dims[] = {8, 5, 4, 3}, strides[] = {16, 80, 320};
  uint32_t box[] = {8, 3, 2, 2}, steps[] = {1, 1, 1, 1};
  TiledMapArguments args{1, 4, 1 << 20, dims, strides, box, steps, 1, 0, 0, 0};
  uint8_t bytes[kTensorMapBytes];
  ASSERT_EQ(encodeTiled(args, bytes), "");
  TensorMap map;
  ASSERT_EQ(decodeTensorMap(bytes, map), "");
  EXPECT_EQ(map.interleave, TensorInterleave::B16);
  int32_t at[] = {0, 1, 1, 1};
  TmaBox tile(map, at, 1024);
  EXPECT_EQ(tile.rowPitch(), 16u);
  EXPECT_EQ(tile.row(0).global, (1u << 20) + 16 + 80 + 320);
  EXPECT_EQ(tile.row(6).global, (1u << 20) + 16 + 80 + 640);

  uint8_t none[kTensorMapBytes];
  box[0] = 4;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("its slice of 16 bytes"));
  box[0] = 8;
  dims[0] = 16;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("its slice of 16 bytes"));
  dims[0] = 8;
  steps[0] = 2;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("models 1 only"));
  steps[0] = 1;
  args.rank = 2;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("with an interleaved layout it must be 3 to 5"));
  // 32 bytes: everything a multiple of 32, and the 32B swizzle.
  args.rank = 4;
  args.interleave = 2;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("with the 32B interleave it must be 32B"));
  args.swizzle = 1;
  args.globalAddress = (1 << 20) + 16;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("it must be a multiple of 32 (32B interleave)"));
  args.globalAddress = 1 << 20;
  EXPECT_THAT(encodeTiled(args, none), HasSubstr("globalStrides[0]"));
  strides[0] = 32;
  strides[1] = 160;
  strides[2] = 640;
  dims[0] = box[0] = 16;
  EXPECT_EQ(encodeTiled(args, none), "");
}

/// A map made by encodeTiled, and one changed into it field by field.
TEST(ReplaceField, EveryFieldGivesTheMapThatTheDriverWouldEncode) {
  uint64_t dims[] = {64, 16, 4}, strides[] = {128, 2048};
  uint32_t box[] = {64, 8, 2}, steps[] = {1, 1, 1};
  TiledMapArguments from{1, 2, 1 << 20, dims, strides, box, steps, 0, 3, 1, 0};
  uint8_t bytes[kTensorMapBytes];
  ASSERT_EQ(encodeTiled(from, bytes), "");

  auto change = [&](TensorMapField field, uint64_t value, uint32_t ordinal = 0) {
    EXPECT_EQ(replaceTensorMapField(bytes, field, ordinal, value), "");
  };
  change(TensorMapField::GlobalAddress, 1 << 21);
  change(TensorMapField::Rank, 2); // one less
  change(TensorMapField::GlobalDim, 40);
  change(TensorMapField::GlobalDim, 6, 2);
  change(TensorMapField::GlobalStride, 192);
  change(TensorMapField::GlobalStride, 4096, 1);
  change(TensorMapField::BoxDim, 8);
  change(TensorMapField::BoxDim, 3, 1);
  change(TensorMapField::BoxDim, 2, 2);
  change(TensorMapField::ElementStride, 2, 1);
  change(TensorMapField::ElementType, 7); // f32, as in the driver's enumeration
  change(TensorMapField::SwizzleMode, 1);
  change(TensorMapField::FillMode, 1);

  uint64_t newDims[] = {40, 16, 6}, newStrides[] = {192, 4096};
  uint32_t newBox[] = {8, 3, 2}, newSteps[] = {1, 2, 1};
  TiledMapArguments to{7, 3, 1 << 21, newDims, newStrides, newBox, newSteps, 0, 1, 1, 1};
  uint8_t wanted[kTensorMapBytes];
  ASSERT_EQ(encodeTiled(to, wanted), "");
  EXPECT_EQ(std::memcmp(bytes, wanted, sizeof bytes), 0);
}

TEST(ReplaceField, ElementTypesAreNumberedByTheIsa) {
  // Table of 9.7.9.28: 8 is f32.ftz, 9 f64, 10 bf16, 11 tf32, 12 tf32.ftz.
  uint64_t dims[] = {64};
  uint32_t box[] = {16}, steps[] = {1};
  TiledMapArguments args{0, 1, 1 << 20, dims, nullptr, box, steps, 0, 0, 0, 0};
  const TensorDataType types[] = {
      TensorDataType::U8,     TensorDataType::U16, TensorDataType::U32,  TensorDataType::S32,
      TensorDataType::U64,    TensorDataType::S64, TensorDataType::F16,  TensorDataType::F32,
      TensorDataType::F32Ftz, TensorDataType::F64, TensorDataType::BF16, TensorDataType::TF32,
      TensorDataType::TF32Ftz};
  for (uint64_t code = 0; code < 13; ++code) {
    uint8_t bytes[kTensorMapBytes];
    ASSERT_EQ(encodeTiled(args, bytes), "");
    ASSERT_EQ(replaceTensorMapField(bytes, TensorMapField::ElementType, 0, code), "");
    TensorMap map;
    ASSERT_EQ(decodeTensorMap(bytes, map), "");
    EXPECT_EQ(map.type, types[code]) << code;
  }
}

TEST(ReplaceField, WrongValuesShowWhenTheMapIsUsed) {
  uint64_t dims[] = {64, 16}, strides[] = {128};
  uint32_t box[] = {64, 8}, steps[] = {1, 1};
  TiledMapArguments args{1, 2, 1 << 20, dims, strides, box, steps, 0, 3, 0, 0};
  struct Wrong {
    TensorMapField field;
    uint32_t ordinal;
    uint64_t value;
    const char *text;
  };
  for (Wrong w : {Wrong{TensorMapField::GlobalAddress, 0, 8, "globalAddress is 0x8"},
                  {TensorMapField::Rank, 0, 5, "tensorRank is 6"},
                  {TensorMapField::Rank, 0, ~uint64_t(0) >> 32, "tensorRank is 255"},
                  {TensorMapField::BoxDim, 1, 257, "boxDim[1] is 257"},
                  {TensorMapField::BoxDim, 0, 1 << 20, "boxDim[0] is 65535"},
                  {TensorMapField::GlobalDim, 1, 0, "globalDim[1] is 0"},
                  {TensorMapField::GlobalStride, 0, 24, "globalStrides[0]"},
                  {TensorMapField::ElementStride, 1, 9, "elementStrides[1] is 9"},
                  {TensorMapField::Interleave, 0, 2, "interleave"},
                  {TensorMapField::FillMode, 0, 1, "NaN needs a floating-point type"},
                  {TensorMapField::SwizzleMode, 0, 1, "with the 32B swizzle"}}) {
    uint8_t bytes[kTensorMapBytes];
    ASSERT_EQ(encodeTiled(args, bytes), "");
    EXPECT_EQ(replaceTensorMapField(bytes, w.field, w.ordinal, w.value), "");
    TensorMap map;
    EXPECT_THAT(decodeTensorMap(bytes, map), HasSubstr(w.text));
  }
  uint8_t noise[kTensorMapBytes] = {1};
  EXPECT_THAT(replaceTensorMapField(noise, TensorMapField::Rank, 0, 1),
              HasSubstr("not a tensor map"));
  Arguments a;
  uint8_t im2col[kTensorMapBytes];
  ASSERT_EQ(encodeIm2col(a.raw, im2col), "");
  EXPECT_THAT(replaceTensorMapField(im2col, TensorMapField::Rank, 0, 1), HasSubstr("im2col"));
}

TEST(ReplaceField, BuildsAMapFromZeros) {
  uint8_t bytes[kTensorMapBytes] = {};
  TensorMap map;
  auto replace = [&](TensorMapField field, uint32_t ordinal, uint64_t value) {
    ASSERT_EQ(replaceTensorMapField(bytes, field, ordinal, value), "");
  };
  EXPECT_THAT(decodeTensorMap(bytes, map), HasSubstr("not a tensor map"));
  replace(TensorMapField::GlobalAddress, 0, 0x7000'0000'1000);
  EXPECT_NE(decodeTensorMap(bytes, map), ""); // the rest is missing
  replace(TensorMapField::Rank, 0, 1);        // the ISA counts from 0 for one dimension
  for (uint32_t d = 0; d < 2; ++d) {
    replace(TensorMapField::BoxDim, d, 16);
    replace(TensorMapField::GlobalDim, d, 100 + d);
    replace(TensorMapField::ElementStride, d, 1);
  }
  replace(TensorMapField::GlobalStride, 0, 208);
  replace(TensorMapField::ElementType, 0, 6); // .f16
  replace(TensorMapField::Interleave, 0, 0);
  replace(TensorMapField::SwizzleMode, 0, 1);
  replace(TensorMapField::FillMode, 0, 0);
  ASSERT_EQ(decodeTensorMap(bytes, map), "");
  EXPECT_EQ(map.rank, 2u);
  EXPECT_EQ(map.dims[1], 101u);
  EXPECT_EQ(map.strides[1], 208u);
  EXPECT_EQ(map.boxDims[0], 16u);
  EXPECT_EQ(map.swizzle, Swizzle::B32);
}

} // namespace
