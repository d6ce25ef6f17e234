// Runs a few lines of PTX as a kernel that writes one 32-bit word per thread.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TEST_UNIT_EMULATOR_KERNELHARNESS_H
#define GIRIH_TEST_UNIT_EMULATOR_KERNELHARNESS_H

#include "girih/Emulator/Device.h"

#include <string>
#include <vector>

namespace girih::emu::test {

struct KernelSetup {
  uint32_t grid = 1, block = 32, cluster = 1, dynamicShared = 0;
  uint64_t seed = 0;
  unsigned threads = 1;
  Adversary adversary = Adversary::None;
  Numerics numerics = Numerics::Hopper;
  bool contract = false;
  /// Text before the kernel, e.g. variables.
  std::string module = {};
  std::string directives = {};
  /// Initial contents of the output buffer, one word per thread when empty.
  std::vector<uint32_t> data = {};
  LocationResolver resolver = {};
  MemoryModel model = MemoryModel::Practice;
  bool counters = false;
};

struct Ran {
  LaunchResult result;
  std::vector<uint32_t> out;

  bool has(const std::string &kind) const {
    for (const Finding &f : result.findings)
      if (f.kind == kind)
        return true;
    return false;
  }
  std::string text() const { return result.render(); }
};

/// The whole module around a body. In it: %rd0 is the output, %rd1 the thread's word in it, %r0 =
/// %tid.x.
inline std::string kernelText(const std::string &body, const KernelSetup &setup) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n" + setup.module +
         "\n.visible .entry k(.param .u64 p_out)\n" + setup.directives +
         "{\n.reg .pred %p<10>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .f32 %f<20>; .reg .f64 "
         "%fd<10>;"
         " .reg .b64 %rd<20>;\nld.param.u64 %rd0, [p_out]; mov.u32 %r0, %tid.x; mov.u32 %r39, "
         "%ctaid.x;"
         " mov.u32 %r38, %ntid.x; mad.lo.u32 %r38, %r39, %r38, %r0; mad.wide.u32 %rd1, %r38, 4, "
         "%rd0;\n" +
         body + "\n}\n";
}

inline Ran run(const std::string &body, const KernelSetup &setup = {}) {
  Device device;
  auto module = device.loadModule(kernelText(body, setup), {"test.ptx", setup.resolver});
  std::vector<uint32_t> data = setup.data;
  if (data.empty())
    data.assign(setup.grid * setup.block, 0);
  uint64_t address = device.allocate(data.size() * 4);
  device.copyToDevice(address, data.data(), data.size() * 4);
  LaunchConfig config;
  config.grid = {setup.grid, 1, 1};
  config.block = {setup.block, 1, 1};
  if (setup.cluster > 1)
    config.cluster = Dim3{setup.cluster, 1, 1};
  config.dynamicSharedBytes = setup.dynamicShared;
  config.params = &address;
  config.paramBytes = 8;
  config.options.seed = setup.seed;
  config.options.threads = setup.threads;
  config.options.adversary = setup.adversary;
  config.options.numerics = setup.numerics;
  config.options.model = setup.model;
  config.options.counters = setup.counters;
  config.options.contract = setup.contract;
  Ran ran;
  ran.result = device.launch(module->kernel("k"), config);
  ran.out.resize(data.size());
  device.copyFromDevice(ran.out.data(), address, data.size() * 4);
  return ran;
}

/// The message with which a module is refused; empty if it loads.
inline std::string refusal(const std::string &text) {
  Device device;
  try {
    device.loadModule(text, {"test.ptx", {}});
  } catch (const DeviceError &error) {
    return error.what();
  }
  return "";
}

} // namespace girih::emu::test

#endif // GIRIH_TEST_UNIT_EMULATOR_KERNELHARNESS_H
