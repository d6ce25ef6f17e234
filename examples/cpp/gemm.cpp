// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A B in bf16 through girih's C++ classes, checked against a loop: gemm KERNELS.girih
#include <girih/Runtime/Package.h>

#include <cstdio>
#include <cstring>

using namespace girih::runtime;

/// A matrix of small integers, which bf16 holds exactly: the upper half of a float's bits.
static std::vector<uint16_t> integers(int64_t count, int64_t seed) {
  std::vector<uint16_t> bits(count);
  for (int64_t i = 0; i < count; ++i) {
    float value = static_cast<float>((i * 7 + i / 13 + seed) % 9 - 4);
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    bits[i] = word >> 16;
  }
  return bits;
}

static float toFloat(uint16_t bits) {
  uint32_t word = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

template <typename T>
static ArrayArgument upload(const Device &device, DType dtype, int64_t rows, int64_t columns,
                            const std::vector<T> &elements) {
  ArrayArgument array{
      device.allocate(elements.size() * sizeof(T)), dtype, {rows, columns}, {columns, 1}};
  device.copyToDevice(array.address, elements.data(), elements.size() * sizeof(T));
  return array;
}

static int run(const char *path) {
  constexpr int64_t m = 200, n = 136, k = 72;
  Device &device = Device::get();
  auto package = Package::load(path);
  std::vector<uint16_t> a = integers(m * k, 0), b = integers(k * n, 5);
  std::vector<float> c(m * n, -1);
  ArrayArgument onDevice[] = {upload(device, DType::BF16, m, k, a),
                              upload(device, DType::BF16, k, n, b),
                              upload(device, DType::F32, m, n, c)};
  package->kernel("matmul").launch(device, {onDevice[0], onDevice[1], onDevice[2]});
  device.synchronize();
  device.copyToHost(c.data(), onDevice[2].address, c.size() * sizeof(float));
  for (const ArrayArgument &array : onDevice)
    device.free(array.address);

  // Every sum is an integer below 2^24: both ways are exact.
  int64_t wrong = 0;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += toFloat(a[row * k + i]) * toFloat(b[i * n + column]);
      wrong += sum != c[row * n + column];
    }
  std::printf("gemm: %lld of %lld elements differ, on %s\n", static_cast<long long>(wrong),
              static_cast<long long>(m * n), device.driver().deviceName().c_str());
  return wrong != 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: gemm KERNELS.girih\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const Error &error) {
    std::fprintf(stderr, "gemm: %s\n", error.what());
    return 1;
  }
}
