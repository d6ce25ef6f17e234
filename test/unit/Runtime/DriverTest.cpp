// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which driver is chosen, and the one sentence that a user gets where none can be.
#include "Fixture.h"

#include <cstdlib>

using namespace girih::runtime;
using testing::HasSubstr;

namespace {

class DriverTest : public FakeDeviceTest {
protected:
  static std::unique_ptr<Driver> open(DeviceChoice choice, const char *real, const char *emulated) {
    DriverOptions options;
    options.choice = choice;
    options.cudaLibrary = real;
    options.emulatedLibrary = emulated;
    return Driver::open(options);
  }
};

TEST_F(DriverTest, AHopperGpuIsPreferred) {
  auto driver = open(DeviceChoice::Automatic, GIRIH_FAKE_DRIVER, "/nowhere.so");
  EXPECT_FALSE(driver->isEmulated());
  EXPECT_EQ(driver->announcement(), "girih: running on Fake H200");
}

TEST_F(DriverTest, WithoutADriverTheEmulatedDeviceIsUsed) {
  auto driver = open(DeviceChoice::Automatic, "libno-such-cuda.so.1", GIRIH_FAKE_DRIVER);
  EXPECT_TRUE(driver->isEmulated());
  EXPECT_EQ(driver->announcement(),
            "girih: no Hopper GPU found, running on the emulated device (set GIRIH_DEVICE=cuda to "
            "require a GPU)");
}

TEST_F(DriverTest, EmulatedOnRequest) {
  auto driver = open(DeviceChoice::Emulated, "/must-not-be-opened.so", GIRIH_FAKE_DRIVER);
  EXPECT_TRUE(driver->isEmulated());
  EXPECT_EQ(driver->announcement(), "girih: running on the emulated device");
}

TEST_F(DriverTest, NoDriverAlthoughAGpuIsRequired) {
  std::string message = messageOf<DeviceError>(
      [] { open(DeviceChoice::Cuda, "libno-such-cuda.so.1", GIRIH_FAKE_DRIVER); });
  EXPECT_THAT(message,
              HasSubstr("GIRIH_DEVICE=cuda asks for a GPU, but libno-such-cuda.so.1 cannot "
                        "be loaded ("));
  EXPECT_THAT(message, HasSubstr("; unset it to run on the emulated device"));
}

TEST_F(DriverTest, ADriverThatDoesNotStart) {
  fake().initResult = girih::cuda::CUDA_ERROR_NO_DEVICE;
  EXPECT_THAT(
      messageOf<DeviceError>([] { open(DeviceChoice::Cuda, GIRIH_FAKE_DRIVER, "/nowhere.so"); }),
      HasSubstr("does not start: CUDA_ERROR_NO_DEVICE (text of the error); unset it"));
}

TEST_F(DriverTest, ADriverWithoutGpus) {
  fake().deviceCount = 0;
  EXPECT_EQ(
      messageOf<DeviceError>([] { open(DeviceChoice::Cuda, GIRIH_FAKE_DRIVER, "/nowhere.so"); }),
      "GIRIH_DEVICE=cuda asks for a GPU, but its driver reports no GPU; unset it to run on the "
      "emulated device");
}

TEST_F(DriverTest, AGpuThatIsNotHopper) {
  fake().name = "NVIDIA B200";
  fake().major = 10;
  EXPECT_EQ(
      messageOf<DeviceError>([] { open(DeviceChoice::Cuda, GIRIH_FAKE_DRIVER, "/nowhere.so"); }),
      "GIRIH_DEVICE=cuda asks for a GPU, but the GPU is NVIDIA B200 with compute capability "
      "10.0, and girih's kernels need Hopper (9.0); unset it to run on the emulated device");
}

TEST_F(DriverTest, NeitherDriver) {
  EXPECT_THAT(messageOf<DeviceError>([] {
                open(DeviceChoice::Automatic, "libno-such-cuda.so.1", "/nowhere/libgirih_cuda.so");
              }),
              HasSubstr("the emulated device cannot be used: /nowhere/libgirih_cuda.so cannot be "
                        "loaded ("));
}

TEST_F(DriverTest, ALibraryThatIsNoDriver) {
  EXPECT_THAT(
      messageOf<DeviceError>([] { open(DeviceChoice::Cuda, "libdl.so.2", ""); }),
      HasSubstr("libdl.so.2 has no function cuInit; a driver for CUDA 12 or newer is needed"));
}

TEST_F(DriverTest, TheEnvironmentIsRead) {
  setenv("GIRIH_DEVICE", "gpu", 1);
  EXPECT_EQ(messageOf<DeviceError>([] { DriverOptions::fromEnvironment(); }),
            "GIRIH_DEVICE is \"gpu\"; expected \"emulated\" or \"cuda\"");
  setenv("GIRIH_DEVICE", "cuda", 1);
  setenv("GIRIH_CUDA_LIBRARY", "/some/where.so", 1);
  EXPECT_EQ(DriverOptions::fromEnvironment().choice, DeviceChoice::Cuda);
  EXPECT_EQ(DriverOptions::fromEnvironment().emulatedLibrary, "/some/where.so");
  setenv("GIRIH_DEVICE", "emulated", 1);
  unsetenv("GIRIH_CUDA_LIBRARY");
  EXPECT_EQ(DriverOptions::fromEnvironment().choice, DeviceChoice::Emulated);
  EXPECT_THAT(DriverOptions::fromEnvironment().emulatedLibrary, HasSubstr("/libgirih_cuda.so"));
  unsetenv("GIRIH_DEVICE");
  EXPECT_EQ(DriverOptions::fromEnvironment().choice, DeviceChoice::Automatic);
}

TEST_F(DriverTest, LongReportsArriveWhole) {
  auto driver = open(DeviceChoice::Emulated, "", GIRIH_FAKE_DRIVER);
  fake().reports = std::string(10000, 'x') + "end";
  fake().json = "[" + std::string(5000, ' ') + "]";
  try {
    driver->throwFindings();
    FAIL() << "nothing was thrown";
  } catch (const DeviceError &error) {
    EXPECT_EQ(error.what(), std::string(10000, 'x') + "end");
    EXPECT_EQ(error.findings(), fake().json);
  }
  EXPECT_NO_THROW(driver->throwFindings());
}

TEST_F(DriverTest, OptionsOfTheEmulatedDevice) {
  auto driver = open(DeviceChoice::Emulated, "", GIRIH_FAKE_DRIVER);
  driver->setOption("seed", "7");
  EXPECT_THAT(fake().calls, testing::Contains("seed=7"));
  EXPECT_EQ(
      messageOf<DeviceError>([&] { driver->setOption("weather", "fine"); }),
      "the emulated device does not take weather = \"fine\": CUDA_ERROR_INVALID_VALUE (text of "
      "the error)");
  driver = open(DeviceChoice::Cuda, GIRIH_FAKE_DRIVER, "");
  EXPECT_EQ(messageOf<DeviceError>([&] { driver->setOption("seed", "7"); }),
            "option seed belongs to the emulated device; Fake H200 has no options");
}

TEST_F(DriverTest, UnknownCodesAreNumbers) {
  auto driver = open(DeviceChoice::Emulated, "", GIRIH_FAKE_DRIVER);
  EXPECT_EQ(driver->describe(static_cast<girih::cuda::CUresult>(4242)), "CUDA error 4242");
}

} // namespace
