// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime over the library that users get: a package written by hand, whose PTX the emulated
// device runs.
#include "../Image/TinyElf.h"

#include "girih/Image/Image.h"
#include "girih/Runtime/Program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace girih::runtime;

namespace {

std::string input(const char *name) {
  std::ifstream file(std::string(GIRIH_RUNTIME_INPUTS "/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class EmulatedTest : public testing::Test {
protected:
  static Device &device() {
    static Device device([] {
      DriverOptions options;
      options.choice = DeviceChoice::Emulated;
      options.emulatedLibrary = GIRIH_EMULATED_LIBRARY;
      return Driver::open(options);
    }());
    return device;
  }

  /// A row-major f32 matrix with these elements.
  static ArrayArgument upload(int64_t rows, int64_t columns, const std::vector<float> &elements) {
    ArrayArgument array{device().allocate(elements.size() * sizeof(float)),
                        DType::F32,
                        {rows, columns},
                        {columns, 1}};
    device().copyToDevice(array.address, elements.data(), elements.size() * sizeof(float));
    return array;
  }

  static std::string image(const std::string &ptx) {
    namespace image = girih::image;
    return image::withSections(TinyElf().bytes(),
                               {{std::string(image::ptxSection), ptx},
                                {std::string(image::manifestSection), input("copy.json")}});
  }
};

TEST_F(EmulatedTest, ItIsAHopper) {
  EXPECT_TRUE(device().driver().isEmulated());
  EXPECT_EQ(device().multiprocessorCount(), 132); // H200
}

TEST_F(EmulatedTest, RunsAPackage) {
  constexpr int64_t rows = 17, columns = 36;
  std::vector<float> source(rows * columns), target(rows * columns, -1);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = i;
  ArrayArgument a = upload(rows, columns, source), b = upload(rows, columns, target);
  Program program(image(input("copy.ptx")));
  EXPECT_EQ(program.launch(device(), {a, b}), Wait::Done);
  device().copyToHost(target.data(), b.address, target.size() * sizeof(float));
  EXPECT_EQ(target, source);
  device().free(a.address);
  device().free(b.address);
}

TEST_F(EmulatedTest, AFindingLeavesTheDeviceUsable) {
  std::string ptx = input("copy.ptx");
  size_t bytes = ptx.find("_, [%r2], 2048");
  ASSERT_NE(bytes, std::string::npos);
  ArrayArgument a = upload(16, 32, std::vector<float>(16 * 32, 3));
  ArrayArgument b = upload(16, 32, std::vector<float>(16 * 32, 0));
  Program faulty(image(std::string(ptx).replace(bytes, 14, "_, [%r2], 2064")));
  try {
    faulty.launch(device(), {a, b});
    FAIL() << "16 bytes that never come were not noticed";
  } catch (const DeviceError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("16 more bytes"));
    EXPECT_THAT(error.findings(), testing::HasSubstr("\"kind\""));
  }
  Program(image(ptx)).launch(device(), {a, b});
  std::vector<float> target(16 * 32);
  device().copyToHost(target.data(), b.address, target.size() * sizeof(float));
  EXPECT_EQ(target, std::vector<float>(16 * 32, 3));
}

TEST_F(EmulatedTest, ItsOwnChecksReachTheMessage) {
  char byte = 0;
  try {
    device().copyToHost(&byte, 0x10, 1);
    FAIL() << "an address that is nobody's was read";
  } catch (const DeviceError &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("copying from the device failed: CUDA_ERROR_"));
  }
}

} // namespace
