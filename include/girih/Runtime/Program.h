//===- Program.h - A package, ready to be called
//-------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the whole of launching for a C++ user:
//
//   girih::runtime::Program program(imageBytes);
//   program.launch(girih::runtime::Device::get(), {a, b, c});
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_PROGRAM_H
#define GIRIH_RUNTIME_PROGRAM_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Device.h"
#include "girih/Runtime/Manifest.h"

namespace girih::runtime {

/// Where a function of the kernel stands in the user's source today.
struct Source {
  std::string name;
  std::string file;
  int64_t firstLine = 0;
};

/// Takes the text that kernels print.
using Print = std::function<void(const std::string &)>;

class GIRIH_RUNTIME_API Program {
public:
  /// Reads the manifest of `image` (a cubin with girih's sections, docs/Packages.md) and writes
  /// `sources` into its location table. Touches no device. Throws Error if the image is damaged.
  explicit Program(std::string_view image, const std::vector<Source> &sources = {});
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const Manifest &manifest() const { return contents; }

  /// Checks the arguments, runs the host plan on `device` and, where the device is emulated or the
  /// kernel may print, waits. What it prints goes to `print`, or to stdout.
  /// The first call loads the image. Throws LaunchError for arguments that the kernel cannot take,
  /// DeviceError for what the device reports. May be called from several threads. All calls must
  /// name the same device.
  Wait launch(Device &device, const std::vector<Argument> &arguments,
              cuda::CUstream stream = nullptr, const Interrupted &interrupted = {},
              const Print &print = {});

private:
  void load(Device &device);
  std::string resolve(const Step &assertion) const;

  Manifest contents;
  std::string image;
  std::mutex loading;
  const Device *loadedOn = nullptr;
  cuda::CUmodule module = nullptr;
  std::vector<cuda::CUfunction> functions; ///< one per kernel of the manifest
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_PROGRAM_H
