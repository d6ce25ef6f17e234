//===- Program.h - An image, ready to be called
//--------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the whole of launching for a C++ user:
//
//   girih::runtime::Program program(imageBytes);
//   program.launch(girih::runtime::Device::get(), {a, b, c});
//
// Who launches often makes a Call, whose arguments stay from launch to launch.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_PROGRAM_H
#define GIRIH_RUNTIME_PROGRAM_H

#include "girih/Runtime/Argument.h"
#include "girih/Runtime/Device.h"
#include "girih/Runtime/Manifest.h"

#include <atomic>

namespace girih::runtime {

/// Where a function of the kernel stands in the user's source today.
struct Source {
  std::string name;
  std::string file;
  int64_t firstLine = 0;
};

/// Takes the text that kernels print.
using Print = std::function<void(const std::string &)>;

class HostPlan;
class Program;

/// A call of a program whose arguments stay until they are set again. A launch computes anew only
/// what depends on an argument that has changed, and allocates nothing but the workspaces that the
/// kernel asks for. One thread at a time; the program must outlive it.
class GIRIH_RUNTIME_API Call {
public:
  explicit Call(Program &program);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// Sets an argument. Throw LaunchError, with the parameter's name, for one that does not fit.
  void set(unsigned parameter, const ArrayArgument &array);
  void set(unsigned parameter, int64_t integer);
  void set(unsigned parameter, double real);
  /// For the sake of std::visit: no program takes nothing.
  void set(unsigned parameter, Absent nothing);
  /// How many CTAs a persistent kernel gets, up to one per multiprocessor; 0: that many. Throws
  /// LaunchError for a number out of range and for a kernel that does not ask.
  void setCtas(const Device &device, int64_t count);

  /// Runs the host plan on `device`, once every argument has been set, and, where the device is
  /// emulated or the kernel may print, waits. What it prints goes to `print`, or to stdout. The
  /// first launch of a program loads the image. Throws LaunchError for arguments that the kernel
  /// cannot take together, DeviceError for what the device reports.
  Wait launch(Device &device, cuda::CUstream stream = nullptr, const Interrupted &interrupted = {},
              const Print &print = {});

private:
  Wait finish(Device &device, cuda::CUstream stream, const Interrupted &interrupted,
              const Print &print);

  Program &program;
  std::unique_ptr<HostPlan> plan;
};

class GIRIH_RUNTIME_API Program {
public:
  /// Reads the manifest of `image` (a cubin with girih's sections, docs/Packages.md) and writes
  /// `sources` into its location table. Touches no device. Throws Error if the image is damaged.
  explicit Program(std::string_view image, const std::vector<Source> &sources = {});
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const Manifest &manifest() const { return contents; }
  /// The image, with the sources in its location table.
  std::string_view bytes() const { return image; }

  /// Throws LaunchError unless that many arguments are one for each parameter.
  void checkCount(size_t arguments) const;

  /// Checks the arguments and launches, as a Call does. May be called from several threads. All
  /// calls must name the same device.
  Wait launch(Device &device, const std::vector<Argument> &arguments,
              cuda::CUstream stream = nullptr, const Interrupted &interrupted = {},
              const Print &print = {});

  /// A call for the caller alone until it is given back: the one kept for this, or a new one while
  /// another thread has that.
  std::unique_ptr<Call> borrow();
  void giveBack(std::unique_ptr<Call> call);

private:
  friend class Call;
  void load(Device &device);
  std::string resolve(const Step &assertion) const;

  Manifest contents;
  std::string image;
  std::atomic<Call *> idle = nullptr;
  std::mutex loading;
  std::atomic<const Device *> readyOn = nullptr; ///< once everything is loaded
  const Device *loadedOn = nullptr;
  const std::string *internedName = nullptr; ///< see Device::intern
  cuda::CUmodule module = nullptr;
  std::vector<cuda::CUfunction> functions; ///< one per kernel of the manifest
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_PROGRAM_H
