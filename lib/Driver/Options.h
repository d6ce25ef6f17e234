// How launches run: seed, host threads, checks. From the environment at cuInit, then by
// girihEmulatorSetOption.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_LIB_DRIVER_OPTIONS_H
#define GIRIH_LIB_DRIVER_OPTIONS_H

#include "girih/Emulator/Device.h"

#include <string>
#include <string_view>

namespace girih::cuda {

struct Options {
  emu::LaunchOptions launch; // without `cancel`
  unsigned threads = 0;      // 0: every hardware thread
  uint32_t multiprocessors = emu::DeviceOptions().multiprocessors;

  /// Sets one option. Returns an empty string, or what was expected.
  std::string set(std::string_view name, std::string_view value);
  /// Reads GIRIH_SEED, GIRIH_THREADS, GIRIH_CHECKS, GIRIH_NUMERICS, GIRIH_ADVERSARY,
  /// GIRIH_CONTRACT and GIRIH_SMS.
  /// Returns an empty string, or a sentence about the first that cannot be understood.
  std::string readEnvironment();
  /// The options of one launch.
  emu::LaunchOptions forLaunch() const;
};

} // namespace girih::cuda

#endif // GIRIH_LIB_DRIVER_OPTIONS_H
