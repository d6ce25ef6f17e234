// girih-emu's files: .npy in and out, and the JSON that describes a launch.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../../../tools/girih-emu/Spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace girih::emu;
using namespace girih::emu::tool;
using testing::HasSubstr;

namespace {

class Tool : public testing::Test {
protected:
  void SetUp() override {
    folder =
        std::filesystem::temp_directory_path() / ("girih_tool_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string &name) const { return (folder / name).string(); }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string problem(const std::string &json) const {
    write("spec.json", json);
    try {
      Spec spec(path("spec.json"));
    } catch (const std::runtime_error &error) {
      return error.what();
    }
    return "";
  }
  std::filesystem::path folder;
};

TEST_F(Tool, NpyRoundTrip) {
  Array array{"<i4", {2, 3}, {}};
  array.data.resize(24);
  for (uint8_t i = 0; i < 24; ++i)
    array.data[i] = i;
  writeNpy(path("a.npy"), array);
  // NEP 1: the data begin at a multiple of 64.
  EXPECT_EQ((std::filesystem::file_size(path("a.npy")) - 24) % 64, 0u);
  Array back = readNpy(path("a.npy"));
  EXPECT_EQ(back.dtype, "<i4");
  EXPECT_EQ(back.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(back.data, array.data);
}

TEST_F(Tool, BrokenNpyIsNamed) {
  write("b.npy", "no array");
  EXPECT_THAT([&] { readNpy(path("b.npy")); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("b.npy: is no .npy file")));
  EXPECT_THAT([&] { readNpy(path("c.npy")); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("cannot be read")));
}

TEST_F(Tool, MistakesInTheSpecAreNamed) {
  EXPECT_THAT(problem("{\"block\":[32]}"), HasSubstr("\"grid\" is missing"));
  EXPECT_THAT(problem("{"), HasSubstr("spec.json"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"pointer":"a"}]})"),
              HasSubstr("no array is named \"a\""));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"i16":1}]})"),
              HasSubstr("\"i16\" is no kind of argument"));
  EXPECT_EQ(problem(R"({"grid":[1],"block":[32],"args":[{"i32":-1},{"f32":0.5}]})"), "");
}

TEST_F(Tool, RunsAKernelOnArrays) {
  Array x{"<i4", {32}, {}};
  x.data.resize(128);
  for (uint32_t i = 0; i < 32; ++i)
    std::memcpy(x.data.data() + 4 * i, &i, 4);
  writeNpy(path("x.npy"), x);
  write(
      "spec.json",
      R"({"grid":[1],"block":[32],"arrays":{"x":{"file":"x.npy","out":"y.npy"}},"args":[{"pointer":"x"},{"i32":100}]})");
  Spec spec(path("spec.json"));
  Device device;
  auto module = device.loadModule(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry "
                                  "k(.param .u64 p, .param .u32 n)\n"
                                  "{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd0, [p]; "
                                  "ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;"
                                  " mad.wide.u32 %rd1, %r1, 4, %rd0; ld.global.u32 %r2, [%rd1]; "
                                  "add.u32 %r2, %r2, %r0; st.global.u32 [%rd1], %r2; }");
  const Function &kernel = module->kernel("k");
  EXPECT_TRUE(device.launch(kernel, spec.prepare(device, kernel.attributes())).clean());
  spec.finish(device);
  Array y = readNpy(path("y.npy"));
  uint32_t last = 0;
  std::memcpy(&last, y.data.data() + 124, 4);
  EXPECT_EQ(last, 131u);
}

} // namespace
