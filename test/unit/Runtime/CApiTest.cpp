// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface on the emulated device: a call from C, and the status and text of each mistake.
#include "../Image/TinyElf.h"

#include "girih/Image/Image.h"
#include "girih/Image/PackageFile.h"
#include "girih/Runtime/girih.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

extern "C" int copyThroughAPackage(const void *data, size_t bytes, const float *source,
                                   float *target, int64_t rows, int64_t columns);

using nlohmann::json;
using testing::HasSubstr;
namespace image = girih::image;

namespace {

std::string input(const char *name) {
  std::ifstream file(std::string(GIRIH_RUNTIME_INPUTS "/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string copyPackage() {
  std::string code = image::withSections(
      TinyElf().bytes(), {{std::string(image::ptxSection), input("copy.ptx")},
                          {std::string(image::manifestSection), input("copy.json")}});
  json manifest = json::parse(input("copy.json")), parameters = json::array();
  for (const json &parameter : manifest["parameters"])
    parameters.push_back({{"name", parameter["name"]},
                          {"kind", parameter["kind"]},
                          {"access", parameter["access"]}});
  json index = {{"writer", "girih test"},
                {"kernels",
                 {{{"name", "copy"},
                   {"parameters", parameters},
                   {"variants", {{{"arch", "sm_90a"}, {"image", 0}}}}}}}};
  return image::writePackageFile(index.dump(), {code});
}

class CApi : public testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("GIRIH_DEVICE", "emulated", 1);
    setenv("GIRIH_CUDA_LIBRARY", GIRIH_EMULATED_LIBRARY, 1);
  }
  void SetUp() override {
    ASSERT_EQ(girih_load_memory(GIRIH_ABI, bytes.data(), bytes.size(), &package), GIRIH_OK);
    ASSERT_EQ(girih_find_kernel(package, "copy", &kernel), GIRIH_OK);
  }
  void TearDown() override { girih_free_package(package); }

  /// What the library says about a launch that must fail for its arguments.
  std::string refusal(const girih_array &a, const girih_array &b) {
    girih_argument arguments[] = {girih_from_array(&a), girih_from_array(&b)};
    EXPECT_EQ(girih_launch(kernel, arguments, 2, nullptr), GIRIH_ERROR_ARGUMENTS);
    return girih_last_error();
  }

  std::string bytes = copyPackage();
  girih_package *package = nullptr;
  girih_kernel *kernel = nullptr;
};

TEST_F(CApi, ACProgramRunsAKernel) {
  constexpr int64_t rows = 17, columns = 36;
  std::vector<float> source(rows * columns), target(rows * columns, -1);
  std::iota(source.begin(), source.end(), 0.0f);
  EXPECT_EQ(
      copyThroughAPackage(bytes.data(), bytes.size(), source.data(), target.data(), rows, columns),
      0)
      << girih_last_error();
  EXPECT_EQ(target, source);
}

TEST_F(CApi, ACallKnowsNothingOfTheOneBefore) {
  std::vector<float> source(16 * 32, 3), target(16 * 32, 0);
  ASSERT_EQ(copyThroughAPackage(bytes.data(), bytes.size(), source.data(), target.data(), 16, 32),
            0);
  girih_argument arguments[] = {girih_from_integer(1), girih_from_float(2)};
  EXPECT_EQ(girih_launch(kernel, arguments, 2, nullptr), GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(),
               "copy: a: expected an array of f32 with 2 dimensions, found the integer 1");
  ASSERT_EQ(copyThroughAPackage(bytes.data(), bytes.size(), source.data(), target.data(), 8, 64), 0)
      << girih_last_error();
  EXPECT_EQ(target, source);
}

TEST_F(CApi, KernelsHaveNames) {
  EXPECT_EQ(girih_kernel_count(package), 1u);
  EXPECT_STREQ(girih_kernel_name(package, 0), "copy");
  EXPECT_EQ(girih_kernel_name(package, 1), nullptr);
  girih_kernel *none = nullptr;
  EXPECT_EQ(girih_find_kernel(package, "move", &none), GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(), "the package has no kernel move: it has copy");
}

TEST_F(CApi, TheDeviceSaysWhatItIs) {
  int emulated = 0;
  const char *name = nullptr;
  EXPECT_EQ(girih_device_is_emulated(&emulated), GIRIH_OK);
  EXPECT_EQ(emulated, 1);
  EXPECT_EQ(girih_device_name(&name), GIRIH_OK);
  EXPECT_NE(std::string(name), "");
}

TEST_F(CApi, PackagesThatCannotBeReadAreNamed) {
  girih_package *other = nullptr;
  EXPECT_EQ(girih_load_memory(GIRIH_ABI, bytes.data(), 100, &other), GIRIH_ERROR_PACKAGE);
  EXPECT_THAT(girih_last_error(), HasSubstr("the package is damaged: it has 100 bytes"));
  EXPECT_EQ(girih_load_file(GIRIH_ABI, "/nowhere/x.girih", &other), GIRIH_ERROR_PACKAGE);
  EXPECT_STREQ(girih_last_error(),
               "cannot read the package /nowhere/x.girih: No such file or directory");
  EXPECT_EQ(girih_load_memory(GIRIH_ABI + 1, bytes.data(), bytes.size(), &other),
            GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(),
               "the program was compiled with a girih.h of ABI 2, this libgirih_runtime has ABI 1; "
               "compile it anew with this library's header");
  EXPECT_EQ(other, nullptr);
}

TEST_F(CApi, ArgumentsAreCheckedBeforeAnythingIsRead) {
  int64_t shape[] = {4, 8}, negative[] = {4, -8}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  girih_array good = {0x1000, GIRIH_F32, 2, shape, nullptr};
  auto with = [&](auto change) {
    girih_array array = good;
    change(array);
    return refusal(array, good);
  };
  EXPECT_EQ(with([](girih_array &a) { a.dtype = 16; }), "a: 16 is no girih_dtype");
  EXPECT_EQ(with([](girih_array &a) { a.rank = 9; }), "a: the rank is 9, expected 0 to 8");
  EXPECT_EQ(with([](girih_array &a) { a.shape = nullptr; }), "a: the shape is NULL");
  EXPECT_EQ(with([&](girih_array &a) { a.shape = negative; }),
            "a: the shape (4, -8) has a negative extent");
  EXPECT_EQ(with([&](girih_array &a) { a.shape = huge; }),
            "a: the shape (1099511627776, 1099511627776) has more elements than 64 bits count");
  EXPECT_EQ(
      with([](girih_array &a) { a.dtype = GIRIH_BF16; }),
      "copy: a: expected an array of f32 with 2 dimensions, found an array of bf16 with shape "
      "(4, 8)");
  EXPECT_EQ(girih_launch(kernel, nullptr, 1, nullptr), GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(), "arguments is NULL");
  EXPECT_EQ(girih_launch(kernel, nullptr, 0, nullptr), GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(), "copy takes 2 arguments (a, b), found 0");
  girih_argument odd[2] = {};
  odd[1].kind = 7;
  EXPECT_EQ(girih_launch(kernel, odd, 2, nullptr), GIRIH_ERROR_ARGUMENTS);
  EXPECT_STREQ(girih_last_error(), "b: 7 is no girih_argument_kind");
}

TEST_F(CApi, WhatTheDeviceFindsIsTheErrorOfTheCall) {
  char byte = 0;
  EXPECT_EQ(girih_copy_to_host(&byte, 0x10, 1), GIRIH_ERROR_DEVICE);
  EXPECT_THAT(girih_last_error(), HasSubstr("copying from the device failed"));
}

TEST_F(CApi, EachThreadHasItsOwnLastError) {
  EXPECT_EQ(girih_find_kernel(package, "mine", &kernel), GIRIH_ERROR_ARGUMENTS);
  std::string other = "unset";
  std::thread([&] { other = girih_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_THAT(girih_last_error(), HasSubstr("mine"));
}

} // namespace
