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
}

TEST_F(CheckArguments, Extent) {
  array(0).shape[0] = int64_t{1} << 31;
  EXPECT_EQ(message(), "a: expected dimension 0 below 2147483648, found 2147483648");
  array(0).shape[0] -= 1;
  EXPECT_EQ(message(), "no error");
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
