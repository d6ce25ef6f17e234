// Runs Inputs/gemm_ws.ptx on the device with chosen data and lets tests change the text first.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TEST_UNIT_EMULATOR_GEMMHARNESS_H
#define GIRIH_TEST_UNIT_EMULATOR_GEMMHARNESS_H

#include "girih/Emulator/Device.h"
#include "girih/Emulator/FloatFormats.h"
#include "girih/Emulator/TensorMap.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace girih::emu::test {

inline std::string readInput(const std::string &name) {
  std::ifstream in(std::string(GIRIH_EMULATOR_INPUTS) + "/" + name);
  if (!in)
    throw std::runtime_error("cannot read " + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Replaces `from` by `to` in every line that carries the marker `// @mark`; an empty `from`
/// removes the statement.
inline std::string edit(const std::string &text, const std::string &mark, const std::string &from,
                        const std::string &to, int firstOnly = 0) {
  std::istringstream in(text);
  std::string out, line;
  int changed = 0;
  while (std::getline(in, line)) {
    size_t at = line.find("// @" + mark);
    bool hit = at != std::string::npos && line.substr(at + 4) == mark &&
               (!firstOnly || changed < firstOnly);
    if (hit && from.empty()) {
      line = "";
      ++changed;
    } else if (hit) {
      size_t where = line.find(from);
      if (where == std::string::npos)
        throw std::runtime_error("'" + from + "' is not in: " + line);
      line.replace(where, from.size(), to);
      ++changed;
    }
    out += line + "\n";
  }
  if (!changed)
    throw std::runtime_error("no line is marked @" + mark);
  return out;
}

class Gemm {
public:
  static constexpr uint32_t kShared = 131120;

  Gemm(uint32_t m, uint32_t n, uint32_t k, bool integers, uint32_t dataSeed = 1)
      : m(m), n(n), k(k) {
    uint64_t state = dataSeed * 77777u + 5;
    auto value = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      int v = static_cast<int>(state >> 60) - 8;
      return integers ? static_cast<float>(v) / 2
                      : static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
    };
    auto fill = [&](std::vector<uint16_t> &bits, size_t count) {
      bits.resize(count);
      for (uint16_t &b : bits)
        b = floatToBf16(value());
    };
    fill(a, size_t(m) * k);
    fill(b, size_t(n) * k);
    bytesA = device.allocate(a.size() * 2);
    bytesB = device.allocate(b.size() * 2);
    bytesC = device.allocate(size_t(m) * n * 2);
    device.copyToDevice(bytesA, a.data(), a.size() * 2);
    device.copyToDevice(bytesB, b.data(), b.size() * 2);
    map(params, bytesA, m, k, 64, 128);
    map(params + 128, bytesB, n, k, 64, 128);
    map(params + 256, bytesC, m, n, 64, 64);
    uint32_t scalars[3] = {(k + 63) / 64, (m + 127) / 128, (n + 127) / 128};
    std::memcpy(params + 384, scalars, sizeof(scalars));
  }

  LaunchResult run(const std::string &ptx, uint32_t ctas, const LaunchOptions &options) {
    std::vector<uint16_t> poison(size_t(m) * n, 0x7fc1);
    device.copyToDevice(bytesC, poison.data(), poison.size() * 2);
    auto module = device.loadModule(ptx, {"gemm_ws.ptx", {}});
    LaunchConfig config;
    config.grid = {ctas, 1, 1};
    config.block = {384, 1, 1};
    config.dynamicSharedBytes = kShared;
    config.params = params;
    config.paramBytes = sizeof(params);
    config.options = options;
    config.options.numerics = Numerics::Exact; // the bound of worst() is that of this mode
    return device.launch(module->kernel("gemm_ws"), config);
  }

  /// The largest |out - ref| / bound over C, where the bound is that of float32 accumulation and
  /// one bf16 rounding.
  double worst() {
    std::vector<uint16_t> c(size_t(m) * n);
    device.copyFromDevice(c.data(), bytesC, c.size() * 2);
    double worst = 0;
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (uint32_t x = 0; x < k; ++x) {
          double p = double(bf16ToFloat(a[size_t(i) * k + x])) * bf16ToFloat(b[size_t(j) * k + x]);
          sum += p;
          magnitude += std::fabs(p);
        }
        double error = std::fabs(bf16ToFloat(c[size_t(i) * n + j]) - sum);
        double bound = (k + 1) * 0x1p-24 * magnitude + 0x1p-8 * std::fabs(sum);
        if (!(error <= bound))
          worst = std::max(worst, std::isfinite(error) ? error / (bound + 1e-300) : INFINITY);
        else if (bound > 0)
          worst = std::max(worst, error / bound);
      }
    return worst;
  }

  Device device;

private:
  void map(uint8_t *bytes, uint64_t address, uint64_t rows, uint64_t columns, uint32_t boxColumns,
           uint32_t boxRows) {
    uint64_t dims[] = {columns, rows}, strides[] = {columns * 2};
    uint32_t box[] = {boxColumns, boxRows}, elementStrides[] = {1, 1};
    TiledMapArguments arguments;
    arguments.dataType = static_cast<int>(TensorDataType::BF16);
    arguments.rank = 2;
    arguments.globalAddress = address;
    arguments.globalDim = dims;
    arguments.globalStrides = strides;
    arguments.boxDim = box;
    arguments.elementStrides = elementStrides;
    arguments.swizzle = 3;
    if (std::string problem = encodeTiled(arguments, bytes); !problem.empty())
      throw std::runtime_error(problem);
  }

  uint32_t m, n, k;
  std::vector<uint16_t> a, b;
  uint64_t bytesA = 0, bytesB = 0, bytesC = 0;
  alignas(64) uint8_t params[396] = {};
};

} // namespace girih::emu::test

#endif // GIRIH_TEST_UNIT_EMULATOR_GEMMHARNESS_H
