//===- Device.h - Memory, waiting and launches on the chosen device
//------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin layer over a Driver: it holds the device's primary context (the one that CUDA's own
// runtime uses, so that other libraries in the process share it), and it waits by polling, so that
// a user can stop a launch. All work goes to a stream that the caller names; the default stream is
// ordered with the blocking streams of other libraries.
//
// Launches on the emulated device are waited for, since what it finds belongs to the call that
// caused it; on a GPU they run on behind the caller, as usual.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_DEVICE_H
#define GIRIH_RUNTIME_DEVICE_H

#include "girih/Runtime/Driver.h"

#include <atomic>
#include <functional>
#include <mutex>

namespace girih::runtime {

/// Asked about 20 times a second while waiting; true: stop. It may take locks of its own.
using Interrupted = std::function<bool()>;

enum class Wait {
  Done,
  Stopped, ///< Interrupted said so; on the emulated device the launch is over, a GPU may still run
           ///< it
};

class GIRIH_RUNTIME_API Device {
public:
  explicit Device(std::unique_ptr<Driver> driver);

  /// The process's device, chosen at the first call from the environment. Throws DeviceError; the
  /// next call tries again. It is never destroyed, since arrays may outlive static destructors.
  static Device &get();

  const Driver &driver() const { return *cuda; }
  int multiprocessorCount() const { return multiprocessors; }

  /// Makes the device's context the calling thread's current one. Throws DeviceError in a process
  /// that was forked from one that had a device: no driver works there.
  void enter() const;

  /// Device memory; throws DeviceError when there is no room. `bytes` may be 0.
  uint64_t allocate(size_t bytes) const;
  /// Never waits for another thread.
  void free(uint64_t address) const noexcept;
  /// Both wait for the copy; copyToHost does not wait for launches on other streams than the
  /// default.
  void copyToDevice(uint64_t destination, const void *source, size_t bytes) const;
  void copyToHost(void *destination, uint64_t source, size_t bytes) const;
  void copyOnDevice(uint64_t destination, uint64_t source, size_t bytes) const;
  void fillWithZeros(uint64_t address, size_t bytes, cuda::CUstream stream = nullptr) const;

  /// Waits until everything on `stream` has run. Throws DeviceError with the findings if a launch
  /// on it failed.
  Wait synchronize(cuda::CUstream stream = nullptr, const Interrupted &interrupted = {}) const;

  /// Remembers which program is launched, for the error of a GPU that fails later. Names come from
  /// `intern`.
  void noteLaunch(const std::string *program) const {
    launchedLast.store(program, std::memory_order_relaxed);
  }
  /// A name that lives as long as the process.
  static const std::string *intern(const std::string &name);
  /// Throws DeviceError unless `result` is CUDA_SUCCESS. If it says that a kernel failed on a GPU,
  /// the text names the program launched last and how to find out why.
  void check(cuda::CUresult result, const std::string &what) const;

  /// The stream on which a Graph captures launches now, or null.
  cuda::CUstream capturing() const { return capturingOn.load(std::memory_order_relaxed); }

  /// Prints on stderr, once, which device runs the kernels.
  void announce() const;

  using Turn = std::unique_lock<std::recursive_timed_mutex>;

  /// Waits until no other thread is between a launch on the emulated device and its findings, which
  /// belong to that launch and to no one else's call; holds others off as long as the result lives.
  /// All functions above but free do so themselves. Empty for a GPU, where nobody waits. Gives up,
  /// with a lock that owns nothing, when `interrupted` says so; see isMine.
  Turn takeTurn(const Interrupted &interrupted = {}) const;
  /// False if takeTurn gave up.
  bool isMine(const Turn &turn) const { return !cuda->isEmulated() || turn.owns_lock(); }

private:
  friend class Graph;
  mutable std::atomic<cuda::CUstream> capturingOn = nullptr;
  std::unique_ptr<Driver> cuda;
  cuda::CUcontext context = nullptr;
  int multiprocessors = 0;
  mutable std::atomic<const std::string *> launchedLast = nullptr;
  mutable std::recursive_timed_mutex launching;
  mutable std::once_flag announced;
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_DEVICE_H
