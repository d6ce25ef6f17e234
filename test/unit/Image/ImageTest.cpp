// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An image made of a cubin that ptxas assembled: NVIDIA's own disassembler must still read it and
// print the same instructions as before.
#include "girih/Image/Image.h"

#include "TinyElf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

using namespace girih::image;
using testing::HasSubstr;

namespace {

const char *const ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry add_one(.param .u64 p)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r3, %r2, 1;
  st.global.u32 [%rd2], %r3;
  ret;
}
)";

std::string readFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void writeFile(const std::filesystem::path &path, std::string_view contents) {
  std::ofstream(path, std::ios::binary).write(contents.data(), contents.size());
}

/// A folder of its own per test, removed afterwards, with a cubin assembled from `ptx`.
class Cubin : public testing::Test {
protected:
  void SetUp() override {
    std::string bin = GIRIH_WHEEL_BIN;
    if (!std::filesystem::exists(bin + "/ptxas"))
      GTEST_SKIP() << "the wheel nvidia-cuda-nvcc is not installed beside the configured Python";
    std::string pattern = std::filesystem::temp_directory_path() / "girih-image-XXXXXX";
    folder = mkdtemp(pattern.data());
    writeFile(folder / "k.ptx", ptx);
    ASSERT_EQ(run(bin + "/ptxas -arch=sm_90a " + path("k.ptx") + " -o " + path("k.cubin")), "");
    cubin = readFile(folder / "k.cubin");
    ASSERT_FALSE(cubin.empty());
  }

  void TearDown() override {
    if (!folder.empty())
      std::filesystem::remove_all(folder);
  }

  std::string path(const char *name) const { return folder / name; }

  /// Standard output and error of a command.
  static std::string run(const std::string &command) {
    std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
    std::string text;
    std::array<char, 4096> buffer;
    while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe.get()))
      text.append(buffer.data(), count);
    return text;
  }

  std::string disassemble(std::string_view file) const {
    writeFile(folder / "d.cubin", file);
    return run(GIRIH_WHEEL_BIN "/nvdisasm " + path("d.cubin"));
  }

  std::filesystem::path folder;
  std::string cubin;
};

LocationTable exampleTable() {
  LocationTable table;
  table.functions = {{"add_one", "", 0}};
  table.locations = {{{0, 9, 8}}};
  return table;
}

TEST_F(Cubin, IsStillReadByTheDisassembler) {
  std::string before = disassemble(cubin);
  ASSERT_THAT(before, HasSubstr("LDG"));
  Bytes image = withSections(cubin, {{std::string(ptxSection), ptx},
                                     {std::string(locationSection), exampleTable().print()},
                                     {std::string(manifestSection), "{}"}});
  EXPECT_EQ(requireSection(image, ptxSection), ptx);
  EXPECT_EQ(requireSection(image, manifestSection), "{}");
  std::string after = disassemble(image);
  // The new sections are listed as data between the old ones and the symbols.
  size_t symbols = before.find("//--------------------- SYMBOLS");
  ASSERT_NE(symbols, std::string::npos) << before;
  EXPECT_EQ(after.substr(0, symbols), before.substr(0, symbols));
  EXPECT_NE(after.find(before.substr(symbols)), std::string::npos) << after;
}

TEST_F(Cubin, KeepsEverySectionAtItsOffset) {
  Bytes image = withSections(cubin, {{std::string(ptxSection), ptx}});
  for (const std::string &name : sectionNames(cubin)) {
    if (name == ".shstrtab")
      continue;
    std::string_view old = requireSection(cubin, name);
    std::string_view now = requireSection(image, name);
    EXPECT_EQ(old, now) << name;
    if (old.empty()) // without bytes in the file there is no offset either
      continue;
    EXPECT_EQ(old.data() - cubin.data(), now.data() - image.data()) << name;
  }
}

TEST_F(Cubin, SourcesAreSetWithoutTouchingTheRest) {
  Bytes image = withSections(cubin, {{std::string(ptxSection), ptx},
                                     {std::string(locationSection), exampleTable().print()}});
  EXPECT_EQ(readLocations(image).text(1), "add_one+9:8");
  Bytes placed = setSources(image, {{"add_one", "/home/user/gemm.py", 12}});
  EXPECT_EQ(readLocations(placed).text(1), "/home/user/gemm.py:20:8");
  EXPECT_EQ(requireSection(placed, ptxSection), ptx);
  // The function moved: setting its source again starts from the same table.
  Bytes moved = setSources(placed, {{"add_one", "/home/user/gemm.py", 30}});
  EXPECT_EQ(readLocations(moved).text(1), "/home/user/gemm.py:38:8");
  EXPECT_EQ(moved.size(), placed.size());
  EXPECT_EQ(disassemble(placed).substr(0, 200), disassemble(cubin).substr(0, 200));
}

TEST_F(Cubin, AnImageWithoutATableKeepsItsBytes) {
  EXPECT_EQ(setSources(cubin, {{"add_one", "gemm.py", 12}}), cubin);
  EXPECT_EQ(readLocations(cubin).text(1), "");
}

TEST(Image, WrittenAnewItHasNoTracesOfEarlierSources) {
  auto made = [](const char *folder) {
    LocationTable table;
    table.functions = {{"matmul", std::string(folder) + "/gemm.py", 12}};
    std::string image =
        withSections(TinyElf().bytes(), {{std::string(locationSection), table.print()},
                                         {std::string(manifestSection), "{}"}});
    return setSources(image, {{"matmul", "gemm.py", 12}});
  };
  std::string one = made("/home/one"), other = made("/elsewhere");
  ASSERT_THAT(one, HasSubstr("/home/one")); // where the old table was
  EXPECT_EQ(withoutTraces(one), withoutTraces(other));
  EXPECT_EQ(withoutTraces(one).find("/home/one"), std::string::npos);
  EXPECT_EQ(readSection(withoutTraces(one), manifestSection), "{}");
  EXPECT_EQ(readLocations(withoutTraces(one)).functions[0].file, "gemm.py");
}

} // namespace
