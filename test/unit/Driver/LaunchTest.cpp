// Kernels through the driver: a vector addition, a TMA copy, failures and cancellation.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fixture.h"

#include "Kernels.h"

#include "girih/Image/Image.h"

#include <chrono>
#include <cstring>
#include <elf.h>
#include <numeric>
#include <thread>

using namespace girih::cuda;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// The smallest ELF file that sections can be appended to: a header, the null section and the
/// names' section.
std::string emptyElf() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = 190; // EM_CUDA
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  const std::string names("\0.shstrtab", 11);
  header.e_shoff = sizeof(Elf64_Ehdr) + 16;
  Elf64_Shdr sections[2] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof(Elf64_Ehdr);
  sections[1].sh_size = names.size();
  sections[1].sh_addralign = 1;
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  file += names;
  file.resize(header.e_shoff);
  return file.append(reinterpret_cast<const char *>(sections), sizeof sections);
}

/// addPtx as an image: number 2 is line 5 of `helper`, called from line 3 of `add`.
std::string addImage() {
  const char *table = R"({"version": 1,
    "functions": [{"name": "add", "file": "/home/me/add.py", "line": 10},
                  {"name": "helper", "file": "/home/me/util.py", "line": 100}],
    "locations": [[[0, 2, 4]], [[1, 5, 8], [0, 3, 4]]]})";
  return girih::image::withSections(emptyElf(),
                                    {{std::string(girih::image::ptxSection), addPtx},
                                     {std::string(girih::image::locationSection), table}});
}

struct LaunchTest : DriverTest {
  CUresult add(CUfunction function, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, unsigned n,
               CUstream stream = nullptr) {
    void *parameters[] = {&a, &b, &c, &n};
    return CALL(cuLaunchKernel)(function, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters,
                                nullptr);
  }
};

TEST_F(LaunchTest, AddsVectors) {
  constexpr unsigned n = 1000;
  std::vector<float> x(n), y(n), sum(n);
  for (unsigned i = 0; i < n; ++i) {
    x[i] = 0.5f * static_cast<float>(i);
    y[i] = 1000.0f - static_cast<float>(i);
    sum[i] = x[i] + y[i];
  }
  CUfunction function = load(addPtx, "add");
  CUdeviceptr a = upload(x), b = upload(y), c = upload(std::vector<float>(n));
  ASSERT_OK(add(function, a, b, c, n));
  EXPECT_OK(CALL(cuStreamSynchronize)(nullptr)) << takeReports();
  EXPECT_EQ(download<float>(c, n), sum);
}

TEST_F(LaunchTest, CountsWhatTheLastLaunchDid) {
  CUfunction function = load(addPtx, "add");
  CUdeviceptr a = upload(std::vector<float>(256)), b = upload(std::vector<float>(256));
  CUdeviceptr c = upload(std::vector<float>(256));
  auto threadInstructions = [&](unsigned n) {
    EXPECT_OK(add(function, a, b, c, n));
    EXPECT_OK(CALL(cuStreamSynchronize)(nullptr));
    char text[512];
    EXPECT_LT(CALL(girihEmulatorStatsJson)(text, sizeof(text)), sizeof(text));
    EXPECT_THAT(text, HasSubstr("\"tma_bytes\":0,"));
    EXPECT_THAT(text, HasSubstr("\"seconds\":"));
    const char *key = "\"thread_instructions\":";
    const char *at = std::strstr(text, key);
    return at ? std::strtoull(at + std::strlen(key), nullptr, 10) : 0;
  };
  // Threads past the end do less than the others, and two full blocks twice what one does.
  const uint64_t one = threadInstructions(128);
  EXPECT_EQ(threadInstructions(256), 2 * one);
  EXPECT_LT(threadInstructions(100), one);
}

TEST_F(LaunchTest, TakesParametersAsABuffer) {
  CUfunction function = load(addPtx, "add");
  CUdeviceptr a = upload(std::vector<float>{1, 2}), b = upload(std::vector<float>{10, 20});
  CUdeviceptr c = upload(std::vector<float>{0, 0});
  struct {
    CUdeviceptr a, b, c;
    unsigned n;
  } buffer{a, b, c, 2};
  size_t size = 28; // without the struct's padding
  void *extra[] = {reinterpret_cast<void *>(launchParamBufferPointer), &buffer,
                   reinterpret_cast<void *>(launchParamBufferSize), &size,
                   reinterpret_cast<void *>(launchParamEnd)};
  ASSERT_OK(CALL(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(download<float>(c, 2), (std::vector<float>{11, 22}));
  size = 24;
  EXPECT_EQ(CALL(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LaunchTest, CopiesABoxWithTma) {
  constexpr uint32_t width = 40, height = 20; // the box of 32 x 16 at (16, 8) crosses both ends
  std::vector<uint32_t> source(width * height), expected(width * height, 0xaaaaaaaa);
  std::iota(source.begin(), source.end(), 1u);
  CUdeviceptr from = upload(source), to = upload(expected);
  for (uint32_t y = 8; y < height; ++y)
    for (uint32_t x = 16; x < width; ++x)
      expected[y * width + x] = source[y * width + x];
  uint64_t dims[] = {width, height}, strides[] = {width * 4};
  uint32_t box[] = {32, 16}, steps[] = {1, 1};
  CUtensorMap maps[2];
  CUdeviceptr addresses[] = {from, to};
  for (int i = 0; i < 2; ++i)
    ASSERT_OK(CALL(cuTensorMapEncodeTiled)(
        &maps[i], CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, reinterpret_cast<void *>(addresses[i]), dims,
        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CUfunction function = load(copyPtx, "copy");
  uint32_t x = 16, y = 8;
  void *parameters[] = {&maps[0], &maps[1], &x, &y};
  ASSERT_OK(CALL(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_OK(CALL(cuStreamSynchronize)(nullptr)) << takeReports();
  EXPECT_EQ(download<uint32_t>(to, width * height), expected);
}

TEST_F(LaunchTest, ReturnsBeforeTheKernelHasRun) {
  CUfunction function = load(countPtx, "count");
  CUstream stream = nullptr, other = nullptr;
  ASSERT_OK(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(CALL(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  uint64_t n = uint64_t(1) << 60;
  void *parameters[] = {&n};
  ASSERT_OK(CALL(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  EXPECT_EQ(CALL(cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
  EXPECT_OK(CALL(cuStreamQuery)(other)) << "nothing was given to it";

  // A launch that runs is stopped, one that waits never starts; the stream says so once.
  ASSERT_OK(CALL(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto begin = std::chrono::steady_clock::now();
  CALL(girihEmulatorCancel)();
  EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(400));
  EXPECT_OK(CALL(cuStreamSynchronize)(stream));
  // Where the one that ran was; that it was stopped is no error of the context.
  EXPECT_EQ(
      takeReports().rfind("kernel count: stopped (note): stopped while 0 warps waited and 1 ran\n"
                          "  runs: CTA (0,0,0) warp 0\n",
                          0),
      0u);

  n = 100;
  ASSERT_OK(CALL(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  EXPECT_OK(CALL(cuStreamSynchronize)(stream)) << "usable afterwards";
}

TEST_F(LaunchTest, AFindingFailsTheContextUntilItIsTaken) {
  std::string image = addImage();
  CUmodule module = nullptr;
  ASSERT_EQ(CALL(cuModuleLoadData)(&module, image.data()), CUDA_SUCCESS) << takeReports();
  CUfunction function = nullptr;
  ASSERT_OK(CALL(cuModuleGetFunction)(&function, module, "add"));
  CUdeviceptr a = upload(std::vector<float>(256)), c = upload(std::vector<float>(100));
  ASSERT_OK(CALL(girihEmulatorSetOption)("seed", "42"));
  ASSERT_OK(add(function, a, a, c, 256)); // writes 256 elements into 100
  EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(CALL(cuStreamQuery)(nullptr), CUDA_ERROR_LAUNCH_FAILED) << "it stays";
  CUdeviceptr address = 0;
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 16), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(add(function, a, a, c, 100), CUDA_ERROR_LAUNCH_FAILED);

  size_t length = CALL(girihEmulatorReports)(nullptr, 0);
  ASSERT_GT(length, 0u);
  char start[8];
  EXPECT_EQ(CALL(girihEmulatorReports)(start, sizeof start), length);
  EXPECT_STREQ(start, "kernel ") << "cut, and kept for the next call";
  std::string text = takeReports();
  EXPECT_EQ(text.size(), length);
  EXPECT_THAT(text, HasSubstr("kernel add on the emulated device: "));
  EXPECT_THAT(text, HasSubstr("st.global.f32"));
  // Relative line 5 of a function whose first line is 100, called from relative line 3 of one
  // at 10.
  EXPECT_THAT(text, HasSubstr("/home/me/util.py:104 in helper"));
  EXPECT_THAT(text, HasSubstr("/home/me/add.py:12 in add"));
  EXPECT_THAT(text, HasSubstr("(GIRIH_SEED=42 repeats this run)"));
  EXPECT_EQ(takeReports(), "");

  std::string json(1 << 16, '\0');
  json.resize(CALL(girihEmulatorReportsJson)(json.data(), json.size()));
  EXPECT_THAT(json, testing::StartsWith("[{"));
  EXPECT_THAT(json, HasSubstr("/home/me/util.py:104 in helper"));

  ASSERT_OK(add(function, a, a, c, 100));
  EXPECT_OK(CALL(cuStreamSynchronize)(nullptr)) << "usable once the text was taken";
  EXPECT_EQ(CALL(cuModuleLoadData)(&module, "no image"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(CALL(girihEmulatorReportsJson)(nullptr, 0), 2u)
      << "the findings are not this error's: []";
}

TEST_F(LaunchTest, TheSameSeedFindsTheSame) {
  CUfunction function = load(addPtx, "add");
  CUdeviceptr a = upload(std::vector<float>(256)), c = upload(std::vector<float>(100));
  std::string first;
  for (const char *threads : {"1", "2", "3"}) {
    ASSERT_OK(CALL(girihEmulatorSetOption)("threads", threads));
    ASSERT_OK(add(function, a, a, c, 256));
    EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_ERROR_LAUNCH_FAILED);
    std::string text = takeReports();
    if (first.empty())
      first = text;
    EXPECT_EQ(text, first) << threads << " threads";
  }
  EXPECT_OK(CALL(girihEmulatorSetOption)("threads", "0"));
}

} // namespace
