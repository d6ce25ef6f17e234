// girih-emu's files: .npy in and out, and the JSON that describes a launch.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../../../tools/girih-emu/Options.h"
#include "../../../tools/girih-emu/Spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace girih::emu;
using namespace girih::emu::tool;
namespace tool = girih::emu::tool;
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
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"i128":1}]})"),
              HasSubstr("\"i128\" is no kind of argument"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"i8":200}]})"),
              HasSubstr("{\"i8\": 200} does not fit"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"u32":-1}]})"),
              HasSubstr("{\"u32\": -1} does not fit"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"i32":0.5}]})"),
              HasSubstr("{\"i32\": 0.5} is no integer"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"args":[{"bytes":"0g"}]})"),
              HasSubstr("pairs of hexadecimal digits"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"arg":[]})"),
              HasSubstr("\"arg\" is no key of the spec"));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"arrays":{"a":{"dtype":"f4","shape":[1]}}})"),
              HasSubstr("NumPy writes them as \"<f4\""));
  EXPECT_THAT(problem(R"({"grid":[1],"block":[32],"arrays":{"a":{"dtype":"<f4","shape":[8]}},
                          "args":[{"map":{"array":"a","type":"f32","box":[8],"swizzle":48}}]})"),
              HasSubstr("swizzle 48 does not exist"));
  EXPECT_EQ(problem(R"({"grid":[1],"block":[32],"args":[{"i32":-1},{"f32":0.5}]})"), "");
}

tool::Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"k.ptx", "--args", "s.json"});
  return tool::parseOptions(arguments);
}
std::string mistake(const std::vector<std::string> &arguments) {
  try {
    tool::parseOptions(arguments);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST(ToolOptions, MistakesSayWhatIsExpected) {
  EXPECT_THAT(mistake({}), HasSubstr("which PTX file?"));
  EXPECT_THAT(mistake({"k.ptx"}), HasSubstr("--args is missing"));
  EXPECT_THAT(mistake({"k.ptx", "--sed", "1"}), HasSubstr("there is no option '--sed'"));
  EXPECT_THAT(mistake({"k.ptx", "--seed"}), HasSubstr("--seed needs S"));
  EXPECT_THAT(mistake({"k.ptx", "--seed", "-1"}), HasSubstr("expected a number from 0 to 2^64"));
  EXPECT_THAT(mistake({"k.ptx", "--seeds", "0"}), HasSubstr("expected a number from 1"));
  EXPECT_THAT(mistake({"k.ptx", "--adversary", "nobody"}),
              HasSubstr("expected one of none, async-late"));
  EXPECT_THAT(
      mistake({"k.ptx", "--args", "s.json", "--seed", "18446744073709551615", "--seeds", "2"}),
      HasSubstr("pass 2^64"));
}

TEST(ToolOptions, AllAdversariesAndTheReplay) {
  tool::Options options = parsed({"--adversary", "all", "--no-checks", "--numerics", "exact"});
  ASSERT_EQ(options.adversaries.size(), adversaryNames().size());
  EXPECT_FALSE(options.launch.checks);
  options.ptx = "it's.ptx";
  EXPECT_EQ(tool::replayCommand(options, "k$1", 7, Adversary::AsyncLate),
            "girih-emu 'it'\\''s.ptx' --entry 'k$1' --args s.json --seed 7 --adversary async-late "
            "--no-checks --numerics exact");
  EXPECT_EQ(parsed({}).adversaries, std::vector{Adversary::None});
}

TEST(ToolOptions, HelpNamesEveryOption) {
  std::string help = tool::helpText();
  for (const char *name : {"--entry", "--args", "--seeds", "--adversary", "--json"})
    EXPECT_THAT(help, HasSubstr(name));
  for (const AdversaryName &entry : adversaryNames())
    EXPECT_THAT(help, HasSubstr(entry.name));
}

TEST_F(Tool, VariablesAndUndefinedArrays) {
  Array x{"<i4", {2}, {}};
  x.data = {5, 0, 0, 0, 7, 0, 0, 0};
  writeNpy(path("x.npy"), x);
  write("spec.json",
        R"({"grid":[1],"block":[1],"arrays":{"t":{"file":"x.npy","variable":"table"},
            "y":{"dtype":"<i4","shape":[1],"undefined":true,"out":"y.npy"}},
            "args":[{"pointer":"y"},{"bytes":"0b00"},{"pointer":null}]})");
  Spec spec(path("spec.json"));
  Device device;
  auto module = device.loadModule(
      ".version 8.0\n.target sm_90a\n.address_size 64\n.const .align 4 .b8 table[8];\n"
      ".visible .entry k(.param .u64 p, .param .u16 n, .param .u64 z)\n"
      "{ .reg .b32 %r<4>; .reg .b16 %h; .reg .b64 %rd<4>; ld.param.u64 %rd0, [p]; "
      "ld.param.u16 %h, [n]; cvt.u32.u16 %r1, %h; ld.const.u32 %r0, [table+4]; "
      "add.u32 %r0, %r0, %r1; st.global.u32 [%rd0], %r0; }");
  const Function &kernel = module->kernel("k");
  EXPECT_TRUE(device.launch(kernel, spec.prepare(device, *module, kernel.attributes())).clean());
  spec.finish(device);
  EXPECT_EQ(readNpy(path("y.npy")).data[0], 7 + 11);
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
  EXPECT_TRUE(device.launch(kernel, spec.prepare(device, *module, kernel.attributes())).clean());
  spec.finish(device);
  Array y = readNpy(path("y.npy"));
  uint32_t last = 0;
  std::memcpy(&last, y.data.data() + 124, 4);
  EXPECT_EQ(last, 131u);
}

} // namespace
