// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device over the fake driver, and a package with a manifest like that of a GEMM.
#ifndef GIRIH_TEST_UNIT_RUNTIME_FIXTURE_H
#define GIRIH_TEST_UNIT_RUNTIME_FIXTURE_H

#include "../Image/TinyElf.h"
#include "FakeDriver.h"

#include "girih/Image/Image.h"
#include "girih/Runtime/Program.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace girih::runtime {

/// The message of the E that `action` throws.
template <typename E, typename Action> std::string messageOf(Action &&action) {
  try {
    action();
  } catch (const E &error) {
    return error.what();
  }
  return "no error";
}

inline FakeState &fake() {
  static auto *state = reinterpret_cast<FakeState *(*)()>(
      dlsym(dlopen(GIRIH_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), "fakeStatePointer"))();
  return *state;
}

/// The fake driver as the emulated device, or as the real one.
inline DriverOptions fakeOptions(DeviceChoice choice) {
  DriverOptions options;
  options.choice = choice;
  options.cudaLibrary = GIRIH_FAKE_DRIVER;
  options.emulatedLibrary = GIRIH_FAKE_DRIVER;
  return options;
}

class FakeDeviceTest : public testing::Test {
protected:
  void SetUp() override { fake() = FakeState(); }

  Device &device(DeviceChoice choice = DeviceChoice::Emulated) {
    if (!opened)
      opened = std::make_unique<Device>(Driver::open(fakeOptions(choice)));
    return *opened;
  }

  std::unique_ptr<Device> opened;
};

/// An image with this manifest and nothing else that matters to the runtime.
inline std::string imageWith(std::string_view manifest) {
  return image::withSections(TinyElf().bytes(),
                             {{std::string(image::manifestSection), std::string(manifest)}});
}

/// A 128x256x64 GEMM: C[M,N] = A[M,K] B[K,N], all row-major, one CTA per tile.
inline const char *const gemmManifest = R"({"schema":1,"name":"matmul","arch":"sm_90a",
 "parameters":[
  {"name":"a","kind":"array","dtype":"bf16","rank":2,"contiguous":1,"access":"in"},
  {"name":"b","kind":"array","dtype":"bf16","rank":2,"contiguous":1,"access":"in"},
  {"name":"c","kind":"array","dtype":"f32","rank":2,"contiguous":1,"access":"out"},
  {"name":"scale","kind":"scalar","dtype":"f32"}],
 "kernels":[{"name":"matmul","block":[384,1,1],"cluster":[1,1,1],"dynamic_shared_bytes":230000,
  "registers":168,"spill_bytes":0,"stack_bytes":0,
  "parameters":[{"kind":"tensor_map"},{"kind":"tensor_map"},{"kind":"tensor_map"},
   {"kind":"scalar","dtype":"i32"},{"kind":"scalar","dtype":"f32"}]}],
 "plan":[
  {"op":"dim","array":0,"dim":0},
  {"op":"dim","array":0,"dim":1},
  {"op":"dim","array":1,"dim":0},
  {"op":"dim","array":1,"dim":1},
  {"op":"eq","args":[1,2]},
  {"op":"require","cond":4,"message":"a has K = {0}, b has K = {1}: dimensions named K must agree",
   "args":[1,2]},
  {"op":"constant","value":128},
  {"op":"constant","value":256},
  {"op":"constant","value":1},
  {"op":"ceildiv","args":[0,6]},
  {"op":"ceildiv","args":[3,7]},
  {"op":"tensor_map","array":0,"dtype":"bf16","box":[128,64],"order":[1,0],"swizzle":128},
  {"op":"tensor_map","array":1,"dtype":"bf16","box":[64,64],"order":[1,0],"swizzle":128},
  {"op":"tensor_map","array":2,"dtype":"f32","box":[64,32],"order":[1,0],"swizzle":128},
  {"op":"scalar","parameter":3},
  {"op":"launch","kernel":0,"grid":[9,10,8],"args":[11,12,13,1,14]}]})";

/// With a driver that knows the GEMM's kernel; what the runtime says on stderr is not shown.
class GemmTest : public FakeDeviceTest {
protected:
  void SetUp() override {
    FakeDeviceTest::SetUp();
    fake().parameterSizes["matmul"] = {128, 128, 128, 4, 4};
    testing::internal::CaptureStderr(); // the line about the device
  }
  void TearDown() override { testing::internal::GetCapturedStderr(); }
};

inline ArrayArgument matrix(DType dtype, int64_t rows, int64_t columns,
                            uint64_t address = 0x10000) {
  return {address, dtype, {rows, columns}, {columns, 1}};
}

} // namespace girih::runtime

#endif // GIRIH_TEST_UNIT_RUNTIME_FIXTURE_H
