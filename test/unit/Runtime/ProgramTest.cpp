// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package from its image to the driver's launch call, and what happens when the device objects.
#include "Fixture.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

using namespace girih::runtime;
using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

class ProgramTest : public GemmTest {
protected:
  std::vector<Argument> arguments(int64_t m, int64_t n, int64_t k) {
    return {matrix(DType::BF16, m, k), matrix(DType::BF16, k, n), matrix(DType::F32, m, n), 1.5};
  }

  /// The manifest with a plan of the test's own.
  static std::string withPlan(const json &plan) {
    json root = json::parse(gemmManifest);
    root["plan"] = plan;
    return imageWith(root.dump());
  }

  std::string image = imageWith(gemmManifest);
};

template <typename T> T as(const std::string &bytes) {
  T value;
  EXPECT_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

TEST_F(ProgramTest, Launches) {
  Program program(image);
  EXPECT_EQ(program.launch(device(), arguments(130, 264, 72)), Wait::Done);
  ASSERT_EQ(fake().launches.size(), 1u);
  const FakeLaunch &launch = fake().launches[0];
  EXPECT_EQ(launch.kernel, "matmul");
  EXPECT_EQ(launch.config.gridDimX, 2u); // ceil(130 / 128)
  EXPECT_EQ(launch.config.gridDimY, 2u); // ceil(264 / 256)
  EXPECT_EQ(launch.config.gridDimZ, 1u);
  EXPECT_EQ(launch.config.blockDimX, 384u);
  EXPECT_EQ(launch.config.sharedMemBytes, 230000u);
  EXPECT_EQ(launch.config.numAttrs, 0u);
  // The fake encodes map i as 128 bytes of value i + 1.
  ASSERT_EQ(launch.parameters.size(), 5u);
  EXPECT_EQ(launch.parameters[0], std::string(128, 1));
  EXPECT_EQ(launch.parameters[1], std::string(128, 2));
  EXPECT_EQ(launch.parameters[2], std::string(128, 3));
  EXPECT_EQ(as<int32_t>(launch.parameters[3]), 72);
  EXPECT_EQ(as<float>(launch.parameters[4]), 1.5f);
  EXPECT_EQ(fake().attributes["matmul/8"], 230000); // MAX_DYNAMIC_SHARED_SIZE_BYTES
  EXPECT_THAT(fake().maps.at(0).dims, ElementsAre(72, 130));
}

TEST_F(ProgramTest, LoadsOnceAndUnloads) {
  {
    Program program(image);
    EXPECT_THAT(fake().calls, Not(Contains("cuModuleLoadData")));
    program.launch(device(), arguments(8, 8, 8));
    program.launch(device(), arguments(8, 8, 8));
    EXPECT_EQ(std::count(fake().calls.begin(), fake().calls.end(), "cuModuleLoadData"), 1);
    EXPECT_THAT(fake().calls, Not(Contains("cuModuleUnload")));
  }
  EXPECT_THAT(fake().calls, Contains("cuModuleUnload"));
}

TEST_F(ProgramTest, TheImageCarriesTheSources) {
  girih::image::LocationTable table;
  table.functions = {{"matmul", "", 0}};
  table.locations = {{{0, 9, 8}}};
  image = girih::image::withSections(image,
                                     {{std::string(girih::image::locationSection), table.print()}});
  Program program(image, {{"matmul", "/home/user/gemm.py", 12}});
  program.launch(device(), arguments(8, 8, 8));
  EXPECT_EQ(girih::image::readLocations(fake().image).text(1), "/home/user/gemm.py:20:8");
}

TEST_F(ProgramTest, RequirementsHaveValuesInTheirMessage) {
  Program program(image);
  auto mismatch = arguments(128, 256, 64);
  mismatch[1] = matrix(DType::BF16, 72, 256);
  EXPECT_EQ(messageOf<LaunchError>([&] { program.launch(device(), mismatch); }),
            "a has K = 64, b has K = 72: dimensions named K must agree");
  EXPECT_TRUE(fake().launches.empty());
}

TEST_F(ProgramTest, ArgumentsAreCheckedFirst) {
  Program program(image);
  EXPECT_EQ(messageOf<LaunchError>([&] { program.launch(device(), {}); }),
            "matmul takes 4 arguments (a, b, c, scale), found 0");
  EXPECT_THAT(fake().calls, Not(Contains("cuModuleLoadData")));
}

TEST_F(ProgramTest, PersistentGridAsksTheDevice) {
  // min(tiles, multiprocessors) CTAs, with 300 tiles on the fake's 132 multiprocessors.
  Program program(withPlan(json::parse(R"([
    {"op":"constant","value":300},{"op":"query","what":"multiprocessor_count"},
    {"op":"min","args":[0,1]},{"op":"constant","value":1},
    {"op":"tensor_map","array":0,"dtype":"bf16","box":[64,64],"order":[1,0],"swizzle":128},
    {"op":"lt","args":[1,0]},{"op":"select","args":[5,3,0]},{"op":"scalar","parameter":3},
    {"op":"launch","kernel":0,"grid":[2,6,3],"args":[4,4,4,0,7]}])")));
  program.launch(device(), arguments(8, 8, 8));
  EXPECT_EQ(fake().launches.at(0).config.gridDimX, 132u);
  EXPECT_EQ(fake().launches.at(0).config.gridDimY, 1u);
}

TEST_F(ProgramTest, WorkspacesAreZeroedPassedAndFreed) {
  json root = json::parse(gemmManifest);
  root["kernels"][0]["parameters"] = json::parse(R"([{"kind":"pointer"},{"kind":"pointer"}])");
  root["plan"] = json::parse(R"([
    {"op":"constant","value":4096},{"op":"constant","value":1},
    {"op":"workspace","bytes":0,"zero":true},{"op":"workspace","bytes":1},
    {"op":"launch","kernel":0,"grid":[1,1,1],"args":[2,3]}])");
  fake().parameterSizes["matmul"] = {8, 8};
  Program program(imageWith(root.dump()));
  program.launch(device(), arguments(8, 8, 8));
  auto address = as<uint64_t>(fake().launches.at(0).parameters[0]);
  ASSERT_EQ(fake().zeroed.size(), 1u);
  EXPECT_EQ(fake().zeroed[address], 4096u);
  EXPECT_NE(as<uint64_t>(fake().launches[0].parameters[1]), address);
  EXPECT_TRUE(fake().allocations.empty());
  EXPECT_EQ(std::count(fake().calls.begin(), fake().calls.end(), "cuMemFree"), 2);
}

TEST_F(ProgramTest, AnArraysAddressIsPassed) {
  json root = json::parse(gemmManifest);
  root["kernels"][0]["parameters"] = json::parse(R"([{"kind":"pointer"},{"kind":"pointer"}])");
  root["plan"] = json::parse(R"([
    {"op":"constant","value":1},{"op":"address","array":2},{"op":"address","array":0},
    {"op":"launch","kernel":0,"grid":[0,0,0],"args":[1,2]}])");
  fake().parameterSizes["matmul"] = {8, 8};
  Program program(imageWith(root.dump()));
  auto given = arguments(8, 8, 8);
  std::get<ArrayArgument>(given[0]).address = 0x7f0123456788;
  std::get<ArrayArgument>(given[2]).address = 0xfedcba9876543210;
  program.launch(device(), given);
  EXPECT_EQ(as<uint64_t>(fake().launches.at(0).parameters[0]), 0xfedcba9876543210u);
  EXPECT_EQ(as<uint64_t>(fake().launches.at(0).parameters[1]), 0x7f0123456788u);
}

TEST_F(ProgramTest, ScalarsOfEveryType) {
  auto passed = [&](const char *dtype, Argument argument, const char *ofKernel = nullptr) {
    json root = json::parse(gemmManifest);
    root["parameters"][3]["dtype"] = dtype;
    root["kernels"][0]["parameters"] =
        json::array({{{"kind", "scalar"}, {"dtype", ofKernel ? ofKernel : dtype}}});
    root["plan"] = json::parse(R"([{"op":"constant","value":1},{"op":"scalar","parameter":3},
      {"op":"launch","kernel":0,"grid":[0,0,0],"args":[1]}])");
    fake().parameterSizes["matmul"] = {8};
    fake().launches.clear();
    auto given = arguments(8, 8, 8);
    given[3] = argument;
    Program(imageWith(root.dump())).launch(device(), given);
    return as<uint64_t>(fake().launches.at(0).parameters[0]);
  };
  EXPECT_EQ(passed("f16", 1.5), 0x3e00u);
  EXPECT_EQ(passed("bf16", -2.0), 0xc000u);
  EXPECT_EQ(passed("f32", int64_t{3}), 0x40400000u);
  EXPECT_EQ(passed("f64", 1.0), 0x3ff0000000000000u);
  EXPECT_EQ(passed("u8", int64_t{255}), 255u);
  EXPECT_EQ(passed("u32", int64_t{4294967295}), 4294967295u);
  EXPECT_EQ(passed("b1", int64_t{1}), 1u);
  EXPECT_EQ(passed("i16", int64_t{-2}) & 0xffff, 0xfffeu);
  // Kernels know integers without a sign; what the compiler writes for them is the signed type.
  EXPECT_EQ(passed("u32", int64_t{4294967295}, "i32"), 4294967295u);
  EXPECT_EQ(messageOf<LaunchError>([&] { passed("i64", int64_t{4294967295}, "i32"); }),
            "matmul: argument 0 of the kernel is 4294967295, which does not fit i32");
}

TEST_F(ProgramTest, AMapOverAnEmptyArrayIsOverAZero) {
  Program program(image);
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 0)), Wait::Done);
  ASSERT_EQ(fake().maps.size(), 3u);
  EXPECT_THAT(fake().maps[0].dims, ElementsAre(1, 1));
  EXPECT_THAT(fake().maps[2].dims, ElementsAre(8, 8));
  EXPECT_EQ(fake().maps[2].address, 0x10000u);
  EXPECT_EQ(fake().zeroed[fake().maps[0].address], 2u); // one bf16
  EXPECT_NE(fake().maps[0].address, fake().maps[1].address);
  EXPECT_TRUE(fake().allocations.empty()); // freed after the launch
}

TEST_F(ProgramTest, ClustersBecomeALaunchAttribute) {
  json root = json::parse(gemmManifest);
  root["kernels"][0]["cluster"] = {2, 8, 1};
  Program program(imageWith(root.dump()));
  program.launch(device(), arguments(8, 8, 8));
  const FakeLaunch &launch = fake().launches.at(0);
  ASSERT_EQ(launch.config.numAttrs, 1u);
  EXPECT_EQ(launch.attributes.at(0).id, girih::cuda::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(launch.attributes.at(0).value.clusterDim.x, 2u);
  EXPECT_EQ(launch.attributes.at(0).value.clusterDim.y, 8u);
  EXPECT_EQ(launch.attributes.at(0).value.clusterDim.z, 1u);
  EXPECT_EQ(fake().attributes["matmul/14"], 1); // 16 CTAs: NON_PORTABLE_CLUSTER_SIZE_ALLOWED
}

TEST_F(ProgramTest, AGridThatMustBeResidentIsLaunchedCooperatively) {
  json root = json::parse(gemmManifest);
  root["kernels"][0]["cluster"] = {2, 1, 1};
  root["kernels"][0]["co_resident"] = true;
  Program program(imageWith(root.dump()));
  program.launch(device(), arguments(256, 8, 8));
  const FakeLaunch &launch = fake().launches.at(0);
  ASSERT_EQ(launch.attributes.size(), 2u);
  EXPECT_EQ(launch.attributes[1].id, girih::cuda::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(launch.attributes[1].value.cooperative, 1);
}

TEST_F(ProgramTest, AGridThatMustBeResidentAndIsTooLargeIsRefusedWithTheNumbers) {
  fake().launchResult = girih::cuda::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  fake().blocks = 1;
  fake().clusters = 60;
  json root = json::parse(gemmManifest);
  root["kernels"][0]["co_resident"] = true;
  auto refusal = [&] {
    Program program(imageWith(root.dump()));
    return messageOf<LaunchError>([&] { program.launch(device(), arguments(128 * 134, 8, 8)); });
  };
  EXPECT_EQ(refusal(), "matmul: its CTAs wait for one another, so all 134 must be on the device at "
                       "once, which holds 132 of them; launch as many or fewer");
  root["kernels"][0]["cluster"] = {2, 1, 1};
  EXPECT_EQ(refusal(), "matmul: its CTAs wait for one another, so all 134 must be on the device at "
                       "once, which holds 120 of them; launch as many or fewer");
}

TEST_F(ProgramTest, AnEmptyGridLaunchesNothing) {
  Program program(withPlan(json::parse(R"([
    {"op":"constant","value":0},{"op":"constant","value":1},
    {"op":"tensor_map","array":0,"dtype":"bf16","box":[64,64],"order":[1,0],"swizzle":128},
    {"op":"scalar","parameter":3},
    {"op":"launch","kernel":0,"grid":[0,1,1],"args":[2,2,2,0,3]}])")));
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8)), Wait::Done);
  EXPECT_TRUE(fake().launches.empty());
}

TEST_F(ProgramTest, GridAndArgumentsMustFit) {
  auto message = [&](int64_t grid, int64_t argument) {
    Program program(withPlan(
        {{{"op", "constant"}, {"value", grid}},
         {{"op", "constant"}, {"value", argument}},
         {{"op", "constant"}, {"value", 1}},
         json::parse(
             R"({"op":"tensor_map","array":0,"dtype":"bf16","box":[64,64],"order":[1,0],"swizzle":128})"),
         {{"op", "scalar"}, {"parameter", 3}},
         {{"op", "launch"}, {"kernel", 0}, {"grid", {2, 0, 2}}, {"args", {3, 3, 3, 1, 4}}}}));
    return messageOf<LaunchError>([&] { program.launch(device(), arguments(8, 8, 8)); });
  };
  EXPECT_EQ(message(65536, 1), "matmul: the grid's extent y is 65536, expected 0 to 65535");
  EXPECT_EQ(message(-1, 1), "matmul: the grid's extent y is -1, expected 0 to 65535");
  EXPECT_EQ(message(1, int64_t{1} << 31),
            "matmul: argument 3 of the kernel is 2147483648, which does not fit i32");
  EXPECT_EQ(message(65535, (int64_t{1} << 31) - 1), "no error");
}

TEST_F(ProgramTest, AFindingIsTheError) {
  Program program(image);
  fake().queryResult = girih::cuda::CUDA_ERROR_LAUNCH_FAILED;
  fake().reports = "deadlock: a consumer waits for ever\n  at gemm.py:20:8";
  EXPECT_EQ(messageOf<DeviceError>([&] { program.launch(device(), arguments(8, 8, 8)); }),
            "deadlock: a consumer waits for ever\n  at gemm.py:20:8");
  fake().queryResult = girih::cuda::CUDA_SUCCESS;
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8)), Wait::Done);
}

TEST_F(ProgramTest, AFindingOfACompletedLaunchIsAnErrorToo) {
  Program program(image);
  fake().reports = "race: ...";
  EXPECT_EQ(messageOf<DeviceError>([&] { program.launch(device(), arguments(8, 8, 8)); }),
            "race: ...");
}

TEST_F(ProgramTest, AFailureWithoutFindings) {
  Program program(image);
  fake().queryResult = girih::cuda::CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_EQ(messageOf<DeviceError>([&] { program.launch(device(), arguments(8, 8, 8)); }),
            "the device stopped the kernel: CUDA_ERROR_LAUNCH_FAILED (text of the error)");
}

TEST_F(ProgramTest, ALaunchThatTheDriverRefuses) {
  Program program(image);
  fake().launchResult = girih::cuda::CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(messageOf<DeviceError>([&] { program.launch(device(), arguments(8, 8, 8)); }),
            "matmul cannot be launched: CUDA_ERROR_INVALID_VALUE (text of the error)");
}

TEST_F(ProgramTest, AnImageThatTheDeviceRefuses) {
  Program program(image);
  fake().loadResult = girih::cuda::CUDA_ERROR_INVALID_PTX;
  fake().reports = "kernel.ptx:12: tcgen05.mma is not modelled";
  EXPECT_EQ(messageOf<DeviceError>([&] { program.launch(device(), arguments(8, 8, 8)); }),
            "matmul cannot be loaded on Fake H200: CUDA_ERROR_INVALID_PTX (text of the error)\n"
            "kernel.ptx:12: tcgen05.mma is not modelled");
}

TEST_F(ProgramTest, ALaunchCanBeStopped) {
  Program program(image);
  fake().notReady = -1;
  int questions = 0;
  auto start = std::chrono::steady_clock::now();
  Wait outcome =
      program.launch(device(), arguments(8, 8, 8), nullptr, [&] { return ++questions == 2; });
  EXPECT_EQ(outcome, Wait::Stopped);
  EXPECT_EQ(questions, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  EXPECT_THAT(fake().calls, Contains("girihEmulatorCancel"));
  // The device is usable afterwards.
  fake().queryResult = girih::cuda::CUDA_SUCCESS;
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8)), Wait::Done);
}

TEST_F(ProgramTest, WaitingForAnothersLaunchCanBeStopped) {
  Program program(image);
  std::promise<void> taken, finished;
  std::thread other([&] {
    Device::Turn turn = device().takeTurn();
    taken.set_value();
    finished.get_future().wait();
  });
  taken.get_future().wait();
  auto stop = [] { return true; };
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8), nullptr, stop), Wait::Stopped);
  EXPECT_EQ(device().synchronize(nullptr, stop), Wait::Stopped);
  EXPECT_TRUE(fake().launches.empty());
  finished.set_value();
  other.join();
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8)), Wait::Done);
}

TEST_F(ProgramTest, OthersDoNotTakeALaunchsFindings) {
  // While one thread waits for its launch, another copies: the finding is the first one's.
  Program program(image);
  fake().notReady = -1;
  fake().reports = "race: ...";
  uint64_t address = device().allocate(4);
  std::string found;
  std::promise<void> waiting;
  std::thread launching([&, told = false]() mutable {
    // Asked for the first time after about 50 ms of waiting; the launch lasts another tenth of a
    // second.
    auto tell = [&] {
      if (!std::exchange(told, true)) {
        fake().notReady = 100;
        waiting.set_value();
      }
      return false;
    };
    found = messageOf<DeviceError>(
        [&] { program.launch(device(), arguments(8, 8, 8), nullptr, tell); });
  });
  waiting.get_future().wait();
  EXPECT_EQ(messageOf<DeviceError>([&] { device().synchronize(); }), "no error");
  launching.join();
  EXPECT_EQ(found, "race: ...");
  device().free(address);
}

TEST_F(ProgramTest, AShortLaunchIsWaitedFor) {
  Program program(image);
  fake().notReady = 3;
  EXPECT_EQ(program.launch(device(), arguments(8, 8, 8)), Wait::Done);
  EXPECT_EQ(fake().notReady, 0);
}

TEST_F(ProgramTest, AGpuIsNotWaitedFor) {
  Program program(image);
  fake().notReady = 3;
  EXPECT_EQ(program.launch(device(DeviceChoice::Cuda), arguments(8, 8, 8)), Wait::Done);
  EXPECT_EQ(fake().notReady, 3);
}

TEST_F(ProgramTest, TheDeviceIsAnnouncedOnce) {
  Program program(image);
  program.launch(device(DeviceChoice::Cuda), arguments(8, 8, 8));
  program.launch(device(), arguments(8, 8, 8));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "girih: running on Fake H200\n");
  testing::internal::CaptureStderr();
}

TEST_F(ProgramTest, DamagedImages) {
  EXPECT_THAT(messageOf<Error>([] { Program("not an image"); }), HasSubstr("not an image"));
  EXPECT_EQ(messageOf<Error>([] { Program(TinyElf().bytes()); }),
            "the image has no section .girih.manifest: expected one written by girih-compile");
  json root = json::parse(gemmManifest);
  root["arch"] = "sm_100a";
  EXPECT_EQ(messageOf<Error>([&] { Program(imageWith(root.dump())); }),
            "matmul was compiled for sm_100a, this runtime launches kernels for sm_90a");
}

TEST_F(ProgramTest, MemoryIsCopiedBothWays) {
  uint64_t address = device().allocate(5);
  device().copyToDevice(address, "hello", 5);
  char back[5];
  device().copyToHost(back, address, 5);
  EXPECT_EQ(std::string(back, 5), "hello");
  device().fillWithZeros(address, 4);
  device().copyToHost(back, address, 5);
  EXPECT_EQ(std::string(back, 5), std::string("\0\0\0\0o", 5));
  device().copyOnDevice(address, address + 4, 1);
  device().copyToHost(back, address, 5);
  EXPECT_EQ(std::string(back, 5), std::string("o\0\0\0o", 5));
  device().free(address);
  EXPECT_TRUE(fake().allocations.empty());
  EXPECT_EQ(
      messageOf<DeviceError>([&] { device().allocate(size_t{1} << 50); }),
      "no room on the device for 1125899906842624 bytes: CUDA_ERROR_OUT_OF_MEMORY (text of the "
      "error)");
}

} // namespace
