//===- Driver.h - Which CUDA driver runs the kernels
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One runtime, two drivers: NVIDIA's libcuda.so.1 where there is a Hopper GPU, otherwise our own
// libgirih_cuda.so, the emulated device. Both are found at run time, so a program linked with the
// runtime starts on any machine.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_RUNTIME_DRIVER_H
#define GIRIH_RUNTIME_DRIVER_H

#include "girih/Driver/CudaDriver.h"
#include "girih/Runtime/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace girih::runtime {

/// What the user asked for: GIRIH_DEVICE unset, "emulated" or "cuda".
enum class DeviceChoice { Automatic, Emulated, Cuda };

struct DriverOptions {
  DeviceChoice choice = DeviceChoice::Automatic;
  std::string cudaLibrary = "libcuda.so.1";
  std::string emulatedLibrary; ///< a path

  /// GIRIH_DEVICE, and GIRIH_CUDA_LIBRARY as the path of the emulated device's library; without it
  /// the library lies beside libgirih_runtime.so. Throws DeviceError if GIRIH_DEVICE says something
  /// else.
  GIRIH_RUNTIME_API static DriverOptions fromEnvironment();
};

/// The entry points of a loaded driver and the device that it runs on.
class GIRIH_RUNTIME_API Driver {
public:
  /// What code for the devices that `open` accepts is compiled for.
  static constexpr const char *architecture = "sm_90a";

  /// Loads a driver, initialises it and picks the device. Throws DeviceError with one sentence: why
  /// there is no GPU although one was asked for, or why the emulated device cannot be loaded.
  static std::unique_ptr<Driver> open(const DriverOptions &options);

  bool isEmulated() const { return emulated; }
  /// "NVIDIA H200" or what the emulated device calls itself.
  const std::string &deviceName() const { return name; }
  cuda::CUdevice device() const { return deviceHandle; }
  /// The line for the user's terminal that says which device runs the kernels, without line end.
  const std::string &announcement() const { return announced; }

  /// Throws DeviceError unless `result` is CUDA_SUCCESS: "<what>: CUDA_ERROR_... (<text>)",
  /// followed by what the emulated device has to say about it.
  void check(cuda::CUresult result, const std::string &what) const;
  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(cuda::CUresult result) const;

  /// Throws DeviceError with what the emulated device found since the last call, if anything. Never
  /// throws for a GPU.
  void throwFindings() const;
  /// What the emulated device has to say about launches that were stopped, as text; forgets it.
  std::string takeReports() const;
  /// How far the emulated device has come; nothing for a GPU.
  struct Progress {
    uint64_t ctasDone = 0, ctas = 0, warpInstructions = 0;
  };
  std::optional<Progress> progress() const;
  /// Sets an option of the emulated device (girihEmulatorSetOption in CudaDriver.h lists them) for
  /// the launches that follow. Throws DeviceError for a GPU and for unknown options and values.
  void setOption(const std::string &option, const std::string &value) const;
  /// What the emulated device counted in the last launch that has run (girihEmulatorStatsJson),
  /// "{}" for a GPU.
  std::string lastLaunchJson() const;
  /// Asks the emulated device to stop what runs. False if the driver cannot do that.
  bool cancel() const;

/// The functions that every driver must have.
#define GIRIH_CUDA_FUNCTIONS(X)                                                                    \
  X(cuInit)                                                                                        \
  X(cuGetErrorName)                                                                                \
  X(cuGetErrorString)                                                                              \
  X(cuDeviceGetCount)                                                                              \
  X(cuDeviceGet)                                                                                   \
  X(cuDeviceGetName)                                                                               \
  X(cuDeviceGetAttribute)                                                                          \
  X(cuDevicePrimaryCtxRetain)                                                                      \
  X(cuCtxSetCurrent)                                                                               \
  X(cuModuleLoadData)                                                                              \
  X(cuModuleUnload)                                                                                \
  X(cuModuleGetFunction)                                                                           \
  X(cuFuncSetAttribute)                                                                            \
  X(cuLaunchKernelEx)                                                                              \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                   \
  X(cuOccupancyMaxActiveClusters)                                                                  \
  X(cuMemAlloc_v2)                                                                                 \
  X(cuMemFree_v2)                                                                                  \
  X(cuMemcpyHtoD_v2)                                                                               \
  X(cuMemcpyDtoH_v2)                                                                               \
  X(cuMemcpyDtoD_v2)                                                                               \
  X(cuMemsetD8Async)                                                                               \
  X(cuStreamQuery)                                                                                 \
  X(cuTensorMapEncodeTiled)
/// Those without which there are no graphs; null where the driver lacks them.
#define GIRIH_CUDA_GRAPH_FUNCTIONS(X)                                                              \
  X(cuStreamCreate)                                                                                \
  X(cuStreamDestroy_v2)                                                                            \
  X(cuStreamBeginCapture_v2)                                                                       \
  X(cuStreamEndCapture)                                                                            \
  X(cuGraphInstantiateWithFlags)                                                                   \
  X(cuGraphExecUpdate_v2)                                                                          \
  X(cuGraphLaunch)                                                                                 \
  X(cuGraphDestroy)                                                                                \
  X(cuGraphExecDestroy)
#define GIRIH_DECLARE(function) decltype(&cuda::function) function = nullptr;
  GIRIH_CUDA_FUNCTIONS(GIRIH_DECLARE)
  GIRIH_CUDA_GRAPH_FUNCTIONS(GIRIH_DECLARE)
#undef GIRIH_DECLARE

private:
  Driver() = default;
  static std::unique_ptr<Driver> load(const std::string &library, std::string &reason);
  bool pickHopper(std::string &reason);
  std::string findingsJson() const;

  decltype(&cuda::girihEmulatorReports) reports = nullptr;
  decltype(&cuda::girihEmulatorReportsJson) reportsJson = nullptr;
  decltype(&cuda::girihEmulatorStatsJson) statsJson = nullptr;
  decltype(&cuda::girihEmulatorSetOption) set = nullptr;
  decltype(&cuda::girihEmulatorCancel) cancelLaunch = nullptr;
  decltype(&cuda::girihEmulatorProgress) progressOf = nullptr;
  cuda::CUdevice deviceHandle = 0;
  std::string name, announced;
  bool emulated = false;
};

} // namespace girih::runtime

#endif // GIRIH_RUNTIME_DRIVER_H
