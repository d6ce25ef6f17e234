// Entry points: initialisation, the device and its context.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include <cstring>

using namespace girih::cuda;
using girih::emu::DeviceLimits;

namespace {

/// The driver interface that this library implements; what cuDriverGetVersion says.
constexpr int kDriverVersion = 13000;

constexpr const char *kDeviceName = "girih emulated Hopper";

struct AttributeRow {
  CUdevice_attribute attribute;
  int value;
};
// Limits: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability",
// column 9.0. Clock, memory and cache: NVIDIA H200 data sheet; nothing here depends on them.
constexpr AttributeRow kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, DeviceLimits::maxThreadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * 1024},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 * 1024},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, DeviceLimits::registersPerSm},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 0},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 * 1024 * 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, DeviceLimits::maxThreadsPerSm},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0}, // its addresses are not the host's
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, DeviceLimits::sharedPerSm},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, DeviceLimits::registersPerSm},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, DeviceLimits::sharedPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, DeviceLimits::maxBlocksPerSm},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, DeviceLimits::reservedShared},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
};

} // namespace

#define GIRIH_REQUIRE_DEVICE(device)                                                               \
  if ((device) != 0)                                                                               \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_DEVICE, "there is one device, 0, not " + std::to_string(device))

namespace girih::cuda {

GIRIH_EXPORT CUresult cuInit(unsigned flags) {
  if (flags != 0)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  CUresult code = State::get().initialise();
  if (code == CUDA_ERROR_NOT_INITIALIZED)
    GIRIH_REFUSE(code, State::reasonFor(code));
  return code;
}

GIRIH_EXPORT CUresult cuDriverGetVersion(int *version) {
  GIRIH_REQUIRE_POINTER(version);
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
  GIRIH_REQUIRE_POINTER(text);
  *text = errorName(error);
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

GIRIH_EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
  GIRIH_REQUIRE_POINTER(text);
  *text = errorText(error);
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

GIRIH_EXPORT CUresult cuDeviceGetCount(int *count) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(count);
  *count = 1;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(device);
  GIRIH_REQUIRE_DEVICE(ordinal);
  *device = 0;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(name);
  GIRIH_REQUIRE_DEVICE(device);
  if (length <= 0)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "length is " + std::to_string(length));
  std::strncpy(name, kDeviceName, static_cast<size_t>(length) - 1);
  name[length - 1] = '\0';
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                           CUdevice device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(value);
  GIRIH_REQUIRE_DEVICE(device);
  State &state = State::get();
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
    std::lock_guard lock(state.mutex);
    *value = static_cast<int>(state.optionsLocked().multiprocessors);
    return CUDA_SUCCESS;
  }
  for (const AttributeRow &row : kAttributes)
    if (row.attribute == attribute) {
      *value = row.value;
      return CUDA_SUCCESS;
    }
  GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
               "attribute " + std::to_string(attribute) + " is not known here");
}

GIRIH_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(bytes);
  GIRIH_REQUIRE_DEVICE(device);
  *bytes = emu::DeviceOptions().memoryBytes;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(context);
  GIRIH_REQUIRE_DEVICE(device);
  *context = State::get().retain();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_DEVICE(device);
  if (!State::get().release())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_DEVICE(device);
  std::lock_guard lock(State::get().mutex);
  State::get().contextFlags = flags; // how a GPU's host threads wait: no effect here
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_DEVICE(device);
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (flags)
    *flags = state.contextFlags;
  if (active)
    *active = state.isActive();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  GIRIH_REQUIRE_INITIALISED();
  if (!State::get().setCurrent(context))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_CONTEXT, "this is not the retained primary context");
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(context);
  *context = State::get().current();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  GIRIH_REQUIRE_INITIALISED();
  if (!State::get().pushCurrent(context))
    GIRIH_REFUSE(CUDA_ERROR_INVALID_CONTEXT, "this is not the retained primary context");
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  GIRIH_REQUIRE_INITIALISED();
  CUcontext top = State::get().popCurrent();
  if (!top)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
  if (context)
    *context = top;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(device);
  if (!State::get().current())
    GIRIH_REFUSE(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
  *device = 0;
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuCtxSynchronize() {
  GIRIH_REQUIRE_CONTEXT();
  State &state = State::get();
  state.queue.wait(state.queue.lastPushed());
  std::vector<StreamPtr> all = {state.findStream(nullptr)};
  {
    std::lock_guard lock(state.mutex);
    for (auto &entry : state.streams)
      all.push_back(entry.second);
  }
  CUresult result = CUDA_SUCCESS;
  for (const StreamPtr &stream : all)
    if (CUresult code = state.outcomeOf(*stream); code != CUDA_SUCCESS)
      result = code;
  return result;
}

} // namespace girih::cuda
