//===- Toolchain.cpp - Where NVIDIA's tools are
//--------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/Toolchain.h"
#include "girih/Target/ChildProcess.h"
#include "girih/Target/Config.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace girih;
using namespace girih::target;

static std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static std::string join(llvm::StringRef root, llvm::StringRef rest) {
  llvm::SmallString<256> path(root);
  llvm::sys::path::append(path, rest);
  return std::string(path);
}

/// The CUDA wheels of a virtual environment, "" if it has none. The wheels of CUDA 13 share the
/// folder nvidia/cu13 in site-packages.
static std::string wheelsOf(const std::string &venv) {
  if (venv.empty())
    return "";
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(join(venv, "lib"), error), end; !error && it != end;
       it.increment(error)) {
    std::string candidate = join(it->path(), "site-packages/nvidia/cu13");
    if (llvm::sys::fs::exists(candidate))
      return candidate;
  }
  return "";
}

Toolchain target::findToolchain(const std::string &ptxasOption) {
  Toolchain tools;
  std::string home = environment("GIRIH_CUDA_HOME");
  if (home.empty()) {
    home = GIRIH_BUILD_CUDA_HOME;
    if (!home.empty() && !llvm::sys::fs::exists(home)) {
      tools.missing.push_back(home);
      home.clear();
    }
    if (home.empty())
      home = wheelsOf(environment("VIRTUAL_ENV"));
  }
  if (!home.empty()) {
    tools.ptxas = join(home, "bin/ptxas");
    tools.nvdisasm = join(home, "bin/nvdisasm");
    tools.libdevice = join(home, "nvvm/libdevice/libdevice.10.bc");
    tools.include = join(home, "include");
    // A wheel has the first, a toolkit one of the others.
    for (const char *name : {"lib/libnvrtc.so.13", "lib64/libnvrtc.so.13", "lib64/libnvrtc.so"}) {
      tools.nvrtc = join(home, name);
      if (llvm::sys::fs::exists(tools.nvrtc))
        break;
    }
  }
  std::string fromEnvironment = environment("GIRIH_PTXAS");
  if (!fromEnvironment.empty())
    tools.ptxas = fromEnvironment;
  if (!ptxasOption.empty())
    tools.ptxas = ptxasOption;
  return tools;
}

std::optional<std::string> target::whyNoPtxas(const Toolchain &tools) {
  const std::string advice =
      "run ./dev setup, which installs the pinned nvidia-cuda-nvcc wheel, or "
      "set GIRIH_PTXAS to a ptxas or GIRIH_CUDA_HOME to a CUDA 13 toolkit";
  if (tools.ptxas.empty())
    return "ptxas not found: " + advice;
  if (!llvm::sys::fs::exists(tools.ptxas))
    return "ptxas not found at '" + tools.ptxas + "': " + advice;
  if (!llvm::sys::fs::can_execute(tools.ptxas))
    return "'" + tools.ptxas + "' cannot be executed: " + advice;
  return std::nullopt;
}

std::optional<std::string> target::ptxasVersion(const Toolchain &tools) {
  if (whyNoPtxas(tools))
    return std::nullopt;
  ChildProcess child = runChild(tools.ptxas, {"--version"});
  if (child.status != 0)
    return std::nullopt;
  // "Cuda compilation tools, release 13.5, V13.5.37"
  llvm::StringRef rest = llvm::StringRef(child.messages).split(", V").second;
  llvm::StringRef version =
      rest.take_while([](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (version.empty())
    return std::nullopt;
  return version.str();
}
