// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments against parameters: one case per message.
#include "../../../lib/Runtime/CheckArguments.h"
#include "Fixture.h"

using namespace girih::runtime;

namespace {

class CheckArguments : public testing::Test {
protected:
  Manifest manifest = Manifest::parse(gemmManifest);
  std::vector<Argument> arguments = {matrix(DType::BF16, 128, 64), matrix(DType::BF16, 64, 256),
                                     matrix(DType::F32, 128, 256), 1.5};

  std::string message() {
    return messageOf<LaunchError>([&] { checkArguments(manifest, arguments); });
  }
  ArrayArgument &array(size_t i) { return std::get<ArrayArgument>(arguments[i]); }
};

TEST_F(CheckArguments, WhatFitsIsAccepted) {
  EXPECT_EQ(message(), "no error");
  arguments[3] = int64_t{2}; // an integer is a float, too
  EXPECT_EQ(message(), "no error");
}

TEST_F(CheckArguments, Count) {
  arguments.pop_back();
  EXPECT_EQ(message(), "matmul takes 4 arguments (a, b, c, scale), found 3");
}

TEST_F(CheckArguments, ScalarForAnArray) {
  arguments[1] = int64_t{3};
  EXPECT_EQ(message(), "b: expected an array of bf16 with 2 dimensions, found the integer 3");
}

TEST_F(CheckArguments, ArrayForAScalar) {
  arguments[3] = matrix(DType::F32, 4, 4);
  EXPECT_EQ(message(),
            "scale: expected a scalar of type f32, found an array of f32 with shape (4, 4)");
}

TEST_F(CheckArguments, Dtype) {
  array(0).dtype = DType::F16;
  EXPECT_EQ(message(), "a: expected an array of bf16 with 2 dimensions, found an array of f16 with "
                       "shape (128, 64)");
}

TEST_F(CheckArguments, Rank) {
  arguments[2] = ArrayArgument{0, DType::F32, {128}, {1}};
  EXPECT_EQ(message(), "c: expected an array of f32 with 2 dimensions, found an array of f32 with "
                       "shape (128,)");
}

TEST_F(CheckArguments, Stride) {
  array(1).strides = {1, 64};
  EXPECT_EQ(message(), "b: expected stride 1 in dimension 1, found strides (1, 64) (in elements); "
                       "pass a contiguous copy");
  array(1).shape = {64, 1}; // one column: its stride means nothing
  EXPECT_EQ(message(), "no error");
  array(1).shape = {0, 256}; // NumPy's strides of an empty array are 0
  array(1).strides = {0, 0};
  EXPECT_EQ(message(), "no error");
}

TEST_F(CheckArguments, Extent) {
  array(0).shape[0] = int64_t{1} << 31;
  EXPECT_EQ(message(), "a: expected dimension 0 below 2147483648, found 2147483648");
  array(0).shape[0] -= 1;
  EXPECT_EQ(message(), "no error");
}

TEST_F(CheckArguments, WithoutAPromiseAnyStrideIsAnInputs) {
  manifest.parameters[0].contiguous = -1;
  array(0).address += 2;
  for (std::vector<int64_t> strides : {std::vector<int64_t>{-64, -1}, {0, 0}, {1000, 7}, {1, 1}}) {
    array(0).strides = strides;
    EXPECT_EQ(message(), "no error") << printExtents(strides);
  }
}

TEST_F(CheckArguments, AlignmentOfTheAddress) {
  array(0).address += 8;
  EXPECT_EQ(message(), "no error");
  manifest.parameters[0].aligned = true;
  EXPECT_EQ(message(),
            "a: the first element's address is 8 bytes past a multiple of 16; the kernel "
            "was compiled for multiples of 16");
  array(0).shape[0] = 0; // nothing is there
  EXPECT_EQ(message(), "no error");
}

TEST_F(CheckArguments, AlignmentOfStrides) {
  manifest.parameters[0].aligned = true;
  EXPECT_EQ(message(), "no error");
  array(0).strides[0] = 68;
  EXPECT_EQ(message(),
            "a: the stride of dimension 0 is 68 elements of bf16, which is no multiple of "
            "16 bytes; the kernel was compiled for multiples of 16");
  array(0).strides[0] = -72;
  EXPECT_EQ(message(), "no error");
  array(0).strides[0] = (int64_t{1} << 62) + 4; // 2^63 + 8 bytes
  EXPECT_EQ(message(),
            "a: the stride of dimension 0 is 4611686018427387908 elements of bf16, which "
            "is no multiple of 16 bytes; the kernel was compiled for multiples of 16");
  array(0).shape[0] = 1; // one row: its stride means nothing
  EXPECT_EQ(message(), "no error");
  manifest.parameters[0].contiguous = -1; // the stride of 1 must be a multiple as well
  EXPECT_EQ(message(),
            "a: the stride of dimension 1 is 1 elements of bf16, which is no multiple of "
            "16 bytes; the kernel was compiled for multiples of 16");
}

TEST_F(CheckArguments, OutputsDoNotOverlapThemselves) {
  manifest.parameters[2].contiguous = -1;
  ArrayArgument &c = array(2);
  auto with = [&](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    c.shape = std::move(shape);
    c.strides = std::move(strides);
    return message();
  };
  EXPECT_EQ(
      with({4, 256}, {0, 1}),
      "c: the kernel writes it, and all elements along dimension 0 share one place (shape (4, "
      "256), strides (0, 1) in elements); pass an array of its own memory");
  EXPECT_EQ(
      with({10, 4}, {1, 1}),
      "c: the kernel writes it, and elements along dimensions 0 and 1 share places (shape (10, "
      "4), strides (1, 1) in elements); pass an array of its own memory");
  EXPECT_EQ(with({1, 256}, {0, 1}), "no error");
  EXPECT_EQ(with({0, 256}, {0, 1}), "no error");
  EXPECT_EQ(with({4, 4}, {-4, -1}), "no error");
  // Elements 0, 2, 4 and 3, 5, 7: interleaved, and none twice. One more row and column, and 6 is.
  EXPECT_EQ(with({2, 3}, {3, 2}), "no error");
  EXPECT_NE(with({3, 4}, {3, 2}), "no error");
  manifest.parameters[2].access = Access::InOut;
  EXPECT_NE(with({4, 256}, {0, 1}), "no error");
  manifest.parameters[2].access = Access::In;
  EXPECT_EQ(with({4, 256}, {0, 1}), "no error");
}

TEST_F(CheckArguments, FloatRange) {
  manifest.parameters[3].dtype = DType::F16;
  arguments[3] = 65504.0;
  EXPECT_EQ(message(), "no error");
  arguments[3] = 1e5;
  EXPECT_EQ(message(),
            "scale: expected a scalar of type f16, in which it would be an infinity, found "
            "the float 100000");
  arguments[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message(), "no error");
  arguments[3] = int64_t{70000};
  EXPECT_EQ(message(),
            "scale: expected a scalar of type f16, in which it would be an infinity, found "
            "the integer 70000");
}

TEST_F(CheckArguments, IntegerRange) {
  manifest.parameters[3].dtype = DType::I32;
  arguments[3] = int64_t{1} << 31;
  EXPECT_EQ(message(),
            "scale: expected a scalar of type i32 (-2147483648 to 2147483647), found the "
            "integer 2147483648");
  arguments[3] = -(int64_t{1} << 31);
  EXPECT_EQ(message(), "no error");
  arguments[3] = 2.5;
  EXPECT_EQ(message(), "scale: expected a scalar of type i32, found the float 2.5");
  manifest.parameters[3].dtype = DType::U8;
  arguments[3] = int64_t{-1};
  EXPECT_EQ(message(), "scale: expected a scalar of type u8 (0 to 255), found the integer -1");
  manifest.parameters[3].dtype = DType::B1;
  arguments[3] = int64_t{2};
  EXPECT_EQ(message(), "scale: expected a scalar of type b1 (0 to 1), found the integer 2");
}

} // namespace
