// PTX that another compiler wrote: Inputs/cuda_kernels.cu, compiled by NVRTC, against host
// arithmetic.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GemmHarness.h"

#include <gtest/gtest.h>

#include <bit>

using namespace girih::emu;
using namespace girih::emu::test;

namespace {

class Cuda : public testing::TestWithParam<uint64_t> {
protected:
  /// Kernels are f(const T *x, T *y, int n).
  std::vector<uint32_t> run(const char *name, uint32_t grid, uint32_t block,
                            const std::vector<uint32_t> &x, std::vector<uint32_t> y, int32_t n) {
    static const std::string text = readInput("cuda_kernels.ptx");
    Device device;
    auto module = device.loadModule(text, {"cuda_kernels.ptx", {}});
    uint64_t addressX = device.allocate(x.size() * 4 + 4), addressY = device.allocate(y.size() * 4);
    device.copyToDevice(addressX, x.data(), x.size() * 4);
    device.copyToDevice(addressY, y.data(), y.size() * 4);
    uint8_t params[20];
    std::memcpy(params, &addressX, 8);
    std::memcpy(params + 8, &addressY, 8);
    std::memcpy(params + 16, &n, 4);
    LaunchConfig config;
    config.grid = {grid, 1, 1};
    config.block = {block, 1, 1};
    config.params = params;
    config.paramBytes = sizeof(params);
    config.options.seed = GetParam();
    config.options.threads = 1 + GetParam() % 3;
    LaunchResult result = device.launch(module->kernel(name), config);
    EXPECT_TRUE(result.clean()) << result.render();
    device.copyFromDevice(y.data(), addressY, y.size() * 4);
    return y;
  }
  std::vector<uint32_t> numbers(size_t count) {
    std::vector<uint32_t> result(count);
    uint32_t state = 12345;
    for (uint32_t &v : result)
      v = state = state * 1664525u + 1013904223u;
    return result;
  }
};

TEST_P(Cuda, SumByShufflesSharedMemoryAndAtomics) {
  // Small integers: every partial sum is exact, whatever the order.
  std::vector<uint32_t> x = numbers(5000);
  double expected = 0;
  for (uint32_t &v : x) {
    float f = static_cast<float>(v >> 24) - 100;
    expected += f;
    v = std::bit_cast<uint32_t>(f);
  }
  std::vector<uint32_t> y = run("sum", 8, 256, x, {0}, 5000);
  EXPECT_EQ(std::bit_cast<float>(y[0]), expected);
}

TEST_P(Cuda, Scan) {
  std::vector<uint32_t> x = numbers(1024),
                        y = run("scan", 4, 256, x, std::vector<uint32_t>(1024), 0);
  for (uint32_t i = 0, sum = 0; i < 1024; ++i) {
    sum = i % 256 ? sum + x[i] : x[i];
    ASSERT_EQ(y[i], sum) << i;
  }
}

TEST_P(Cuda, Histogram) {
  std::vector<uint32_t> x = numbers(3000),
                        y = run("histogram", 6, 128, x, std::vector<uint32_t>(64), 3000),
                        expected(64);
  for (uint32_t v : x)
    ++expected[v & 63];
  EXPECT_EQ(y, expected);
}

TEST_P(Cuda, BlocksWaitForEachOther) {
  std::vector<uint32_t> y = run("gridBarrier", 20, 64, {0}, std::vector<uint32_t>(41), 5);
  for (uint32_t b = 0; b < 20; ++b)
    EXPECT_EQ(y[21 + b], (b + 1) % 20 * 3 + 5);
}

TEST_P(Cuda, Divergence) {
  std::vector<uint32_t> y = run("divergence", 1, 96, {0}, std::vector<uint32_t>(96), 7);
  for (int32_t t = 0; t < 96; ++t) {
    int32_t s = 0;
    for (int32_t i = 0; i < t % 7; ++i) {
      if ((t * i) & 1)
        s += i * t;
      else if (t % 3 == 0)
        s -= i;
      else
        for (int32_t j = 0; j < i; ++j)
          s ^= j * t;
    }
    int32_t kind = t % 5;
    s = kind == 0 ? s + 1 : kind == 1 ? s * 3 - 7 : kind == 2 ? s - 7 : ~s;
    EXPECT_EQ(static_cast<int32_t>(y[static_cast<size_t>(t)]), s) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Cuda, testing::Range(uint64_t(0), uint64_t(12)));

} // namespace
