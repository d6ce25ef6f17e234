//===- LaunchBench.cpp - What a launch costs from C++
//--------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   girih_launch_bench IMAGE
//
// IMAGE is a package whose parameters are matrices and scalars. Prints one JSON object:
// microseconds of the driver's launch alone, and of girih's launch without it, for arguments that
// stay (a Call), that are set anew, and that come as a list.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Program.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

using namespace girih::runtime;
namespace cuda = girih::cuda;

/// The fastest of several runs, in microseconds per repetition: what disturbs only adds.
template <typename Action> static double microseconds(Action &&action) {
  using Clock = std::chrono::steady_clock;
  constexpr int runs = 200, repetitions = 2000;
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    auto start = Clock::now();
    for (int i = 0; i < repetitions; ++i)
      action();
    std::chrono::duration<double, std::micro> elapsed = Clock::now() - start;
    best = std::min(best, elapsed.count() / repetitions);
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: girih_launch_bench IMAGE\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  Program program(image);
  Device &device = Device::get();
  std::vector<Argument> arguments;
  for (const Parameter &parameter : program.manifest().parameters) {
    if (parameter.isArray)
      arguments.push_back(
          ArrayArgument{uint64_t{1} << 40, parameter.dtype, {1024, 1024}, {1024, 1}});
    else if (isInteger(parameter.dtype))
      arguments.push_back(int64_t{3});
    else
      arguments.push_back(2.5);
  }
  // Outputs have memory of their own.
  for (size_t i = 0; i < arguments.size(); ++i)
    if (auto *array = std::get_if<ArrayArgument>(&arguments[i]))
      array->address += i << 24;

  cuda::CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = 1;
  void *none[32] = {};
  auto function = reinterpret_cast<cuda::CUfunction>(uintptr_t{0x1000});
  const Driver &driver = device.driver();
  double alone = microseconds([&] { driver.cuLaunchKernelEx(&config, function, none, nullptr); });

  Call call(program);
  call.setCtas(device, 0);
  auto set = [&] {
    for (size_t i = 0; i < arguments.size(); ++i)
      std::visit([&](const auto &value) { call.set(i, value); }, arguments[i]);
  };
  set();
  double bound = microseconds([&] { call.launch(device); });
  double anew = microseconds([&] {
    set();
    call.launch(device);
  });
  double list = microseconds([&] { program.launch(device, arguments); });
  std::printf("{\"driver_us\": %.4f, \"call_us\": %.4f, \"set_us\": %.4f, \"list_us\": %.4f}\n",
              alone, bound - alone, anew - alone, list - alone);
  return 0;
}
