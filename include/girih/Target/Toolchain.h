//===- Toolchain.h - Where NVIDIA's tools are
//----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// girih uses the pinned wheels' ptxas, nvdisasm and libdevice, so that a machine with a CUDA
// toolkit and one without behave the same. PATH is not searched for that reason; a toolkit is used
// only where the user names it.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_TOOLCHAIN_H
#define GIRIH_TARGET_TOOLCHAIN_H

#include <optional>
#include <string>
#include <vector>

namespace girih::target {

struct Toolchain {
  std::string ptxas;
  std::string nvdisasm;
  std::string libdevice; ///< libdevice.10.bc
  std::string nvrtc;     ///< libnvrtc.so, which compiles CUDA C++
  std::string include;   ///< headers for it
  /// Folders of toolkits that would have come first and are not there.
  std::vector<std::string> missing;
};

/// Finds the tools. Each is looked for in this order: `ptxasOption` (for ptxas only, from --ptxas),
/// GIRIH_PTXAS (ditto), GIRIH_CUDA_HOME, the place known when girih was built, and the wheels in
/// the virtual environment that is active (VIRTUAL_ENV). A path that the user gave is taken as it
/// is, even if nothing is there: falling back silently would use another version than asked for.
/// What was not found is empty.
Toolchain findToolchain(const std::string &ptxasOption = {});

/// Why `tools.ptxas` cannot be run, with what to set; nothing if it can.
std::optional<std::string> whyNoPtxas(const Toolchain &tools);

/// The release that `ptxas --version` prints, e.g. "13.5.37"; nothing if it does not run.
std::optional<std::string> ptxasVersion(const Toolchain &tools);

} // namespace girih::target

#endif // GIRIH_TARGET_TOOLCHAIN_H
