// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that is launched again and again: what is computed anew, and what is not.
#include "Fixture.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <future>
#include <thread>

using namespace girih::runtime;
using nlohmann::json;

namespace {

class CallTest : public GemmTest {
protected:
  static void setAll(Call &call, int64_t m, int64_t n, int64_t k) {
    call.set(0, matrix(DType::BF16, m, k));
    call.set(1, matrix(DType::BF16, k, n));
    call.set(2, matrix(DType::F32, m, n));
    call.set(3, 1.5);
  }

  /// The last launch's argument as a number.
  template <typename T> static T argument(unsigned index) {
    T value;
    std::memcpy(&value, fake().launches.back().parameters.at(index).data(), sizeof(T));
    return value;
  }

  Program program{imageWith(gemmManifest)};
};

TEST_F(CallTest, RepeatsWithoutEncodingAnew) {
  Call call(program);
  setAll(call, 130, 264, 72);
  call.launch(device());
  setAll(call, 130, 264, 72);
  call.launch(device());
  ASSERT_EQ(fake().launches.size(), 2u);
  EXPECT_EQ(fake().maps.size(), 3u);
  EXPECT_EQ(fake().launches[0].parameters, fake().launches[1].parameters);
  EXPECT_EQ(fake().launches[1].config.gridDimX, 2u);
}

TEST_F(CallTest, AnArrayThatMovesHasItsMapEncodedAnew) {
  Call call(program);
  setAll(call, 128, 256, 64);
  call.launch(device());
  call.set(1, matrix(DType::BF16, 64, 256, 0x20000));
  call.launch(device());
  ASSERT_EQ(fake().maps.size(), 4u);
  EXPECT_EQ(fake().maps[3].address, 0x20000u);
  // The fake encodes map i as 128 bytes of value i + 1.
  EXPECT_EQ(fake().launches[1].parameters[0], std::string(128, 1));
  EXPECT_EQ(fake().launches[1].parameters[1], std::string(128, 4));
}

TEST_F(CallTest, AnotherShapeIsAnotherGridAndMap) {
  Call call(program);
  setAll(call, 128, 256, 64);
  call.launch(device());
  EXPECT_EQ(argument<int32_t>(3), 64);
  call.set(0, matrix(DType::BF16, 300, 64));
  call.set(2, matrix(DType::F32, 300, 256));
  call.launch(device());
  EXPECT_EQ(fake().launches[1].config.gridDimX, 3u); // ceil(300 / 128)
  EXPECT_EQ(fake().maps.size(), 5u);
  call.set(0, matrix(DType::BF16, 300, 72));
  call.set(1, matrix(DType::BF16, 72, 256));
  call.launch(device());
  EXPECT_EQ(argument<int32_t>(3), 72);
}

TEST_F(CallTest, AnotherNumberIsPassed) {
  Call call(program);
  setAll(call, 128, 256, 64);
  call.set(3, -0.0);
  call.launch(device());
  EXPECT_TRUE(std::signbit(argument<float>(4)));
  call.set(3, 0.0);
  call.launch(device());
  EXPECT_FALSE(std::signbit(argument<float>(4)));
  call.set(3, int64_t{3});
  call.launch(device());
  EXPECT_EQ(argument<float>(4), 3.0f);
  EXPECT_EQ(fake().maps.size(), 3u);
}

TEST_F(CallTest, AnIntegerThatSteersThePlan) {
  json root = json::parse(gemmManifest);
  root["parameters"][3]["dtype"] = "i32";
  root["kernels"][0]["parameters"] = json::parse(R"([{"kind":"scalar","dtype":"i32"}])");
  root["plan"] = json::parse(R"([{"op":"scalar","parameter":3},{"op":"constant","value":2},
    {"op":"mul","args":[0,1]},{"op":"launch","kernel":0,"grid":[2,1,1],"args":[0]}])");
  fake().parameterSizes["matmul"] = {4};
  Program steered(imageWith(root.dump()));
  Call call(steered);
  call.set(0, matrix(DType::BF16, 8, 8));
  call.set(1, matrix(DType::BF16, 8, 8));
  call.set(2, matrix(DType::F32, 8, 8));
  for (int64_t number : {3, 3, 5}) {
    call.set(3, number);
    call.launch(device());
    EXPECT_EQ(fake().launches.back().config.gridDimX, 2 * number);
    EXPECT_EQ(argument<int32_t>(0), number);
  }
}

TEST_F(CallTest, AFailureLeavesTheCallUsable) {
  Call call(program);
  setAll(call, 128, 256, 64);
  call.launch(device());
  EXPECT_EQ(messageOf<LaunchError>([&] { call.set(0, matrix(DType::F16, 128, 64)); }),
            "a: expected an array of bf16 with 2 dimensions, found an array of f16 with shape "
            "(128, 64)");
  call.set(0, matrix(DType::BF16, 128, 72));
  EXPECT_EQ(messageOf<LaunchError>([&] { call.launch(device()); }),
            "a has K = 72, b has K = 64: dimensions named K must agree");
  EXPECT_EQ(messageOf<LaunchError>([&] { call.launch(device()); }),
            "a has K = 72, b has K = 64: dimensions named K must agree");
  call.set(0, matrix(DType::BF16, 128, 64));
  EXPECT_EQ(call.launch(device()), Wait::Done);
  // A map that could not be encoded is not taken for one that was.
  fake().encodeResult = girih::cuda::CUDA_ERROR_INVALID_VALUE;
  call.set(0, matrix(DType::BF16, 128, 64, 0x40000));
  EXPECT_NE(messageOf<DeviceError>([&] { call.launch(device()); }), "no error");
  fake().encodeResult = girih::cuda::CUDA_SUCCESS;
  size_t before = fake().maps.size();
  EXPECT_EQ(call.launch(device()), Wait::Done);
  EXPECT_EQ(fake().maps.size(), before + 1);
  EXPECT_EQ(fake().maps.back().address, 0x40000u);
}

TEST_F(CallTest, OutputsThatShareMemory) {
  json root = json::parse(gemmManifest);
  root["parameters"][1]["access"] = "out";
  root["parameters"][1]["dtype"] = "f32";
  root["kernels"][0]["parameters"] = json::array();
  fake().parameterSizes.clear();
  root["plan"] = json::parse(R"([{"op":"constant","value":1},
    {"op":"launch","kernel":0,"grid":[0,0,0],"args":[]}])");
  Program writes(imageWith(root.dump()));
  Call call(writes);
  auto message = [&](const ArrayArgument &b, const ArrayArgument &c) {
    call.set(0, matrix(DType::BF16, 4, 4));
    call.set(1, b);
    call.set(2, c);
    call.set(3, 1.0);
    return messageOf<LaunchError>([&] { call.launch(device()); });
  };
  const std::string shared = "c: the kernel writes it, and it shares memory with b, which the "
                             "kernel writes, too; pass arrays of their own memory";
  EXPECT_EQ(message(matrix(DType::F32, 8, 8), matrix(DType::F32, 4, 4)), shared);
  EXPECT_EQ(message(matrix(DType::F32, 8, 8), matrix(DType::F32, 4, 4, 0x10000 + 252)), shared);
  EXPECT_EQ(message(matrix(DType::F32, 8, 8), matrix(DType::F32, 4, 4, 0x10000 + 256)), "no error");
  EXPECT_EQ(message(matrix(DType::F32, 0, 8), matrix(DType::F32, 4, 4)), "no error");
  // The left and the right half of a matrix interleave.
  EXPECT_EQ(message({0x10000, DType::F32, {8, 4}, {8, 1}}, {0x10010, DType::F32, {8, 4}, {8, 1}}),
            "no error");
}

TEST_F(CallTest, CtasOfAPersistentKernel) {
  json root = json::parse(gemmManifest);
  root["kernels"][0]["parameters"] = json::array();
  fake().parameterSizes.clear();
  root["plan"] = json::parse(R"([{"op":"query","what":"multiprocessor_count"},
    {"op":"constant","value":1},{"op":"launch","kernel":0,"grid":[0,1,1],"args":[]}])");
  Program persistent(imageWith(root.dump()));
  Call call(persistent);
  setAll(call, 8, 8, 8);
  auto grid = [&](int64_t ctas) {
    call.setCtas(device(), ctas);
    call.launch(device());
    return fake().launches.back().config.gridDimX;
  };
  EXPECT_EQ(grid(0), 132u);
  EXPECT_EQ(grid(100), 100u);
  EXPECT_EQ(grid(0), 132u);
  EXPECT_EQ(messageOf<LaunchError>([&] { grid(133); }),
            "matmul: ctas is 133, expected 1 to 132, the number of multiprocessors");
  Call fixed(program);
  EXPECT_EQ(messageOf<LaunchError>([&] { fixed.setCtas(device(), 4); }),
            "matmul: ctas is for persistent kernels, and this one has one CTA for each tile; "
            "gr.tiles(..., ctas=gr.sms()) makes it persistent");
}

TEST_F(CallTest, AGpusFailureNamesTheLastProgram) {
  Device &gpu = device(DeviceChoice::Cuda);
  Call call(program);
  setAll(call, 128, 256, 64);
  call.launch(gpu);
  fake().queryResult = girih::cuda::CUDA_ERROR_LAUNCH_FAILED;
  const std::string expected =
      "a kernel failed on Fake H200, where matmul was launched last: CUDA_ERROR_LAUNCH_FAILED "
      "(text "
      "of the error)\n  to see why: matmul.record(\"case.girih\") in Python before the call, then "
      "python -m girih.replay case.girih runs it on the emulated device";
  EXPECT_EQ(messageOf<DeviceError>([&] { gpu.synchronize(); }), expected);
  fake().launchResult = girih::cuda::CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_EQ(messageOf<DeviceError>([&] { call.launch(gpu); }), expected);
  // What the driver refuses says so.
  fake().launchResult = girih::cuda::CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(messageOf<DeviceError>([&] { call.launch(gpu); }),
            "matmul cannot be launched: CUDA_ERROR_INVALID_VALUE (text of the error)");
}

TEST_F(CallTest, ACallIsLentToOneAtATime) {
  std::unique_ptr<Call> first = program.borrow(), second = program.borrow();
  Call *kept = first.get();
  EXPECT_NE(first.get(), second.get());
  program.giveBack(std::move(first));
  program.giveBack(std::move(second));
  EXPECT_EQ(program.borrow().get(), kept);
}

} // namespace
