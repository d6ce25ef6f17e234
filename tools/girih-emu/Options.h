// girih-emu's command line. One table holds every option with its text, so that --help cannot say
// anything else than what is parsed.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_TOOLS_EMU_OPTIONS_H
#define GIRIH_TOOLS_EMU_OPTIONS_H

#include "girih/Emulator/Device.h"

#include <string>
#include <vector>

namespace girih::emu::tool {

struct Options {
  std::string ptx, entry, args;
  /// Runs: every adversary with each of `seeds` seeds from launch.seed on.
  std::vector<Adversary> adversaries;
  uint64_t seeds = 1;
  LaunchOptions launch;
  DeviceOptions device;
  bool json = false, help = false, check = false, timeLoad = false, contractions = false;
  /// What a replay must repeat beside seed and adversary, as on the command line.
  std::vector<std::string> repeated;
};

/// Reads the command line, and GIRIH_NUMERICS and GIRIH_CONTRACT where no option is given. Throws
/// std::runtime_error with what was expected.
Options parseOptions(const std::vector<std::string> &arguments);

/// The text of --help.
std::string helpText();

/// The command that runs one launch again, quoted for a shell.
std::string replayCommand(const Options &options, const std::string &entry, uint64_t seed,
                          Adversary adversary);

} // namespace girih::emu::tool

#endif // GIRIH_TOOLS_EMU_OPTIONS_H
