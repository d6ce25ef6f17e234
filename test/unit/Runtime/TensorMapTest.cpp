// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the driver is asked to encode, and the sentences for arrays that TMA cannot address.
// Expected values follow the description of cuTensorMapEncodeTiled: fastest dimension first,
// strides in bytes.
#include "../../../lib/Runtime/TensorMap.h"
#include "Fixture.h"

using namespace girih::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class TensorMap : public FakeDeviceTest {
protected:
  TensorMap() {
    parameter.name = "b";
    parameter.isArray = true;
    parameter.dtype = DType::BF16;
    parameter.rank = 2;
    step.kind = StepKind::TensorMap;
    step.dtype = DType::BF16;
    step.box = {128, 64};
    step.order = {1, 0};
    step.swizzle = 128;
  }

  void encode(const ArrayArgument &array) {
    encodeTensorMap(device().driver(), step, parameter, array);
  }
  std::string message(const ArrayArgument &array) {
    return messageOf<LaunchError>([&] { encode(array); });
  }

  Parameter parameter;
  Step step;
};

TEST_F(TensorMap, RowMajor) {
  encode({0x1000, DType::BF16, {130, 72}, {80, 1}});
  ASSERT_EQ(fake().maps.size(), 1u);
  const FakeTensorMap &map = fake().maps[0];
  EXPECT_EQ(map.type, girih::cuda::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.address, 0x1000u);
  EXPECT_THAT(map.dims, ElementsAre(72, 130));
  EXPECT_THAT(map.strides, ElementsAre(160));
  EXPECT_THAT(map.box, ElementsAre(64, 128));
  EXPECT_THAT(map.elementStrides, ElementsAre(1, 1));
  EXPECT_EQ(map.swizzle, girih::cuda::CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(map.interleave, girih::cuda::CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(map.fill, girih::cuda::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

TEST_F(TensorMap, ColumnMajor) {
  step.order = {0, 1};
  step.box = {64, 256};
  step.swizzle = 64;
  encode({0x1000, DType::BF16, {72, 264}, {1, 80}});
  const FakeTensorMap &map = fake().maps.at(0);
  EXPECT_THAT(map.dims, ElementsAre(72, 264));
  EXPECT_THAT(map.strides, ElementsAre(160));
  EXPECT_THAT(map.box, ElementsAre(64, 256));
  EXPECT_EQ(map.swizzle, girih::cuda::CU_TENSOR_MAP_SWIZZLE_64B);
}

TEST_F(TensorMap, ThreeDimensionsOfF32) {
  parameter.dtype = step.dtype = DType::F32;
  step.box = {1, 64, 32};
  step.order = {2, 1, 0};
  encode({0x1000, DType::F32, {5, 100, 36}, {3600, 36, 1}});
  const FakeTensorMap &map = fake().maps.at(0);
  EXPECT_EQ(map.type, girih::cuda::CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_THAT(map.dims, ElementsAre(36, 100, 5));
  EXPECT_THAT(map.strides, ElementsAre(144, 14400));
  EXPECT_THAT(map.box, ElementsAre(32, 64, 1));
}

TEST_F(TensorMap, ASingleRowMayHaveAnyPitch) {
  // The pitch of one row is never used, yet the driver wants a legal one: 26 bytes rounded up.
  encode({0x1000, DType::BF16, {1, 13}, {13, 1}});
  EXPECT_THAT(fake().maps.at(0).strides, ElementsAre(32));
}

TEST_F(TensorMap, Pitch) {
  EXPECT_EQ(message({0x1000, DType::BF16, {8, 13}, {13, 1}}),
            "b: the row pitch is 26 bytes (13 elements of bf16); TMA needs a multiple of 16");
  EXPECT_EQ(message({0x1000, DType::BF16, {8, 13}, {-16, 1}}),
            "b: the row pitch is -16 elements; TMA needs a positive one, pass a contiguous copy");
  EXPECT_EQ(message({0x1000, DType::BF16, {8, 13}, {0, 1}}),
            "b: the row pitch is 0 bytes (0 elements of bf16); TMA needs a multiple of 16");
  EXPECT_EQ(message({0x1000, DType::BF16, {2, 13}, {int64_t{1} << 39, 1}}),
            "b: the row pitch is 549755813888 elements of bf16; TMA needs less than 2^40 bytes");
  step.order = {0, 1};
  EXPECT_EQ(message({0x1000, DType::BF16, {12, 5}, {1, 12}}),
            "b: the column pitch is 24 bytes (12 elements of bf16); TMA needs a multiple of 16");
}

TEST_F(TensorMap, Address) {
  EXPECT_EQ(
      message({0x1006, DType::BF16, {8, 16}, {16, 1}}),
      "b: the first element's address is 6 bytes past a multiple of 16; TMA needs a multiple of "
      "16");
}

TEST_F(TensorMap, FastestDimension) {
  EXPECT_EQ(message({0x1000, DType::BF16, {8, 16}, {1, 8}}),
            "b: the stride of dimension 1 is 8 elements; TMA needs 1, pass a contiguous copy");
}

TEST_F(TensorMap, WhatTheDriverRefuses) {
  fake().encodeResult = girih::cuda::CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(
      messageOf<DeviceError>([&] { encode({0x1000, DType::BF16, {8, 16}, {16, 1}}); }),
      "b: the driver refuses a tensor map with box (128, 64), swizzle 128 over shape (8, 16), "
      "strides (16, 1): CUDA_ERROR_INVALID_VALUE (text of the error)");
}

} // namespace
