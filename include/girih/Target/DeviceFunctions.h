//===- DeviceFunctions.h - Functions that a user wrote in CUDA C++
//--------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC compiles them to PTX, and they become .func of the kernel's own PTX module: to a function
// of another module ptxas would give a calling convention that serialises every wgmma (C7509).
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_TARGET_DEVICEFUNCTIONS_H
#define GIRIH_TARGET_DEVICEFUNCTIONS_H

#include "girih/Target/Diagnostic.h"
#include "girih/Target/Toolchain.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace girih::target {

/// One text of the user's, and the functions by which kernels call it.
struct DeviceSource {
  std::string source;                ///< CUDA C++
  std::string file;                  ///< what the user calls its place
  int64_t line = 1;                  ///< where it begins there
  std::vector<std::string> wrappers; ///< definitions of C linkage that come behind it
};

/// Compiles a source to PTX for an architecture ("sm_90a"); functions need no __device__. NVRTC is
/// loaded at the first call. Nothing, with errors at the user's lines, if it does not compile.
std::optional<std::string> compileDeviceSource(const DeviceSource &source, const Toolchain &tools,
                                               const std::string &arch,
                                               std::vector<Diagnostic> &diagnostics);

/// Puts functions into a kernel's module: the definitions of `names`, in place of their
/// declarations, and what these need of the rest, whose names get `suffix`: two sources may have
/// helpers of one name. Nothing of it is visible from outside. The module's version becomes the
/// higher of the two.
std::string mergeFunctions(std::string_view kernel, std::string_view functions,
                           const std::vector<std::string> &names, const std::string &suffix);

} // namespace girih::target

#endif // GIRIH_TARGET_DEVICEFUNCTIONS_H
