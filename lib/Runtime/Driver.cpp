//===- Driver.cpp - Which CUDA driver runs the kernels
//-------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading a driver, choosing between the two, and turning result codes into text.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace girih::runtime {
namespace {

std::string environment(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

/// The folder that libgirih_runtime.so was loaded from.
std::filesystem::path ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ownFolder), &info) || !info.dli_fname)
    return {};
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::canonical(info.dli_fname, ignored);
  return file.parent_path();
}

} // namespace

DriverOptions DriverOptions::fromEnvironment() {
  DriverOptions options;
  std::string device = environment("GIRIH_DEVICE");
  if (device == "emulated")
    options.choice = DeviceChoice::Emulated;
  else if (device == "cuda")
    options.choice = DeviceChoice::Cuda;
  else if (!device.empty())
    throw DeviceError("GIRIH_DEVICE is \"" + device + "\"; expected \"emulated\" or \"cuda\"");
  options.emulatedLibrary = environment("GIRIH_CUDA_LIBRARY");
  if (options.emulatedLibrary.empty())
    options.emulatedLibrary = ownFolder() / "libgirih_cuda.so";
  return options;
}

std::unique_ptr<Driver> Driver::load(const std::string &library, std::string &reason) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    reason = library + " cannot be loaded (" + dlerror() + ")";
    return nullptr;
  }
  std::unique_ptr<Driver> driver(new Driver);
#define GIRIH_FIND(function)                                                                       \
  driver->function = reinterpret_cast<decltype(driver->function)>(dlsym(handle, #function));       \
  if (!driver->function) {                                                                         \
    reason = library + " has no function " #function "; a driver for CUDA 12 or newer is needed";  \
    dlclose(handle);                                                                               \
    return nullptr;                                                                                \
  }
  GIRIH_CUDA_FUNCTIONS(GIRIH_FIND)
#undef GIRIH_FIND
#define GIRIH_FIND_GRAPH(function)                                                                 \
  driver->function = reinterpret_cast<decltype(driver->function)>(dlsym(handle, #function));
  GIRIH_CUDA_GRAPH_FUNCTIONS(GIRIH_FIND_GRAPH)
#undef GIRIH_FIND_GRAPH
// Only the emulated device has these.
#define GIRIH_FIND_OPTIONAL(member, function)                                                      \
  driver->member = reinterpret_cast<decltype(driver->member)>(dlsym(handle, #function))
  GIRIH_FIND_OPTIONAL(reports, girihEmulatorReports);
  GIRIH_FIND_OPTIONAL(reportsJson, girihEmulatorReportsJson);
  GIRIH_FIND_OPTIONAL(statsJson, girihEmulatorStatsJson);
  GIRIH_FIND_OPTIONAL(set, girihEmulatorSetOption);
  GIRIH_FIND_OPTIONAL(cancelLaunch, girihEmulatorCancel);
  GIRIH_FIND_OPTIONAL(progressOf, girihEmulatorProgress);
#undef GIRIH_FIND_OPTIONAL
  if (cuda::CUresult result = driver->cuInit(0); result != cuda::CUDA_SUCCESS) {
    reason = "the driver in " + library + " does not start: " + driver->describe(result);
    return nullptr;
  }
  // The library stays loaded for the rest of the process, as a driver must.
  return driver;
}

/// Hopper is compute capability 9.0 (CUDA C++ Programming Guide, "Compute Capabilities"); code for
/// sm_90a runs on no other, newer ones included.
bool Driver::pickHopper(std::string &reason) {
  int count = 0;
  if (cuda::CUresult result = cuDeviceGetCount(&count); result != cuda::CUDA_SUCCESS) {
    reason = "its driver cannot count GPUs: " + describe(result);
    return false;
  }
  reason = "its driver reports no GPU";
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int major = 0, minor = 0;
    char text[256] = "";
    if (cuDeviceGet(&deviceHandle, ordinal) != cuda::CUDA_SUCCESS)
      continue;
    cuDeviceGetName(text, sizeof(text), deviceHandle);
    cuDeviceGetAttribute(&major, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, deviceHandle);
    cuDeviceGetAttribute(&minor, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, deviceHandle);
    name = text;
    if (major == 9 && minor == 0)
      return true;
    reason = "the GPU is " + name + " with compute capability " + std::to_string(major) + "." +
             std::to_string(minor) + ", and girih's kernels need Hopper (9.0)";
  }
  return false;
}

std::unique_ptr<Driver> Driver::open(const DriverOptions &options) {
  std::string reason;
  if (options.choice != DeviceChoice::Emulated) {
    std::unique_ptr<Driver> driver = load(options.cudaLibrary, reason);
    if (driver && driver->pickHopper(reason)) {
      driver->announced = "girih: running on " + driver->name;
      return driver;
    }
    if (options.choice == DeviceChoice::Cuda)
      throw DeviceError("GIRIH_DEVICE=cuda asks for a GPU, but " + reason +
                        "; unset it to run on the emulated device");
  }
  std::unique_ptr<Driver> driver = load(options.emulatedLibrary, reason);
  if (!driver || !driver->pickHopper(reason))
    throw DeviceError("the emulated device cannot be used: " + reason);
  driver->emulated = true;
  driver->announced = options.choice == DeviceChoice::Emulated
                          ? "girih: running on the emulated device"
                          : "girih: no Hopper GPU found, running on the emulated device (set "
                            "GIRIH_DEVICE=cuda to require a GPU)";
  return driver;
}

std::string Driver::describe(cuda::CUresult result) const {
  const char *code = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &code) != cuda::CUDA_SUCCESS || !code)
    return "CUDA error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != cuda::CUDA_SUCCESS || !text)
    return code;
  return std::string(code) + " (" + text + ")";
}

void Driver::check(cuda::CUresult result, const std::string &what) const {
  if (result == cuda::CUDA_SUCCESS)
    return;
  std::string message = what + ": " + describe(result), json = findingsJson();
  if (std::string found = takeReports(); !found.empty())
    throw DeviceError(message + "\n" + found, json);
  throw DeviceError(message);
}

void Driver::throwFindings() const {
  std::string json = findingsJson();
  if (std::string found = takeReports(); !found.empty())
    throw DeviceError(found, json);
}

void Driver::setOption(const std::string &option, const std::string &value) const {
  if (!emulated || !set)
    throw DeviceError("option " + option + " belongs to the emulated device; " + name +
                      " has no options");
  check(set(option.c_str(), value.c_str()),
        "the emulated device does not take " + option + " = \"" + value + "\"");
}

/// The text that a function of the emulated device writes to a buffer; empty without the function.
static std::string textFrom(size_t (*function)(char *, size_t)) {
  if (!function)
    return "";
  std::string text(4096, '\0');
  for (;;) {
    size_t length = function(text.data(), text.size());
    if (length < text.size()) {
      text.resize(length);
      return text;
    }
    text.resize(length + 1);
  }
}

std::string Driver::takeReports() const { return textFrom(reports); }

std::string Driver::findingsJson() const {
  std::string json = textFrom(reportsJson);
  return json.empty() ? "[]" : json;
}

std::optional<Driver::Progress> Driver::progress() const {
  if (!progressOf)
    return std::nullopt;
  Progress progress;
  progressOf(&progress.ctasDone, &progress.ctas, &progress.warpInstructions);
  return progress;
}

std::string Driver::lastLaunchJson() const {
  std::string json = textFrom(statsJson);
  return json.empty() ? "{}" : json;
}

bool Driver::cancel() const {
  if (cancelLaunch)
    cancelLaunch();
  return cancelLaunch != nullptr;
}

} // namespace girih::runtime
