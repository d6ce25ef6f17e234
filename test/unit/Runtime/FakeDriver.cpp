// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA driver that does nothing but remember; see FakeDriver.h. Memory is real host memory, so
// that copies can be checked.
#include "FakeDriver.h"

#include "girih/Image/Elf.h"

#include <cstdlib>
#include <cstring>

using namespace girih::cuda;

extern "C" FakeState *fakeStatePointer() {
  static FakeState state;
  return &state;
}

namespace {
FakeState &fakeState() { return *fakeStatePointer(); }

CUresult called(const char *function) {
  fakeState().calls.push_back(function);
  return CUDA_SUCCESS;
}
} // namespace

namespace girih::cuda {

CUresult cuInit(unsigned) { return fakeState().initResult; }

CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
          : error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
          : error == CUDA_ERROR_INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                              : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "text of the error";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = fakeState().deviceCount;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::strncpy(name, fakeState().name.c_str(), length);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? fakeState().major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? fakeState().minor
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? fakeState().multiprocessors
                                                                       : -1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(0x1234);
  return called("cuDevicePrimaryCtxRetain");
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return context == reinterpret_cast<CUcontext>(0x1234) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  fakeState().image.assign(static_cast<const char *>(image), girih::image::fileSize(image));
  *module = reinterpret_cast<CUmodule>(0x77);
  called("cuModuleLoadData");
  return fakeState().loadResult;
}
CUresult cuModuleUnload(CUmodule) { return called("cuModuleUnload"); }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  fakeState().kernels.push_back(name);
  *function = reinterpret_cast<CUfunction>(fakeState().kernels.size());
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  const std::string &kernel = fakeState().kernels[reinterpret_cast<size_t>(function) - 1];
  fakeState().attributes[kernel + "/" + std::to_string(attribute)] = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **) {
  called("cuLaunchKernelEx");
  FakeLaunch launch = {
      *config, fakeState().kernels[reinterpret_cast<size_t>(function) - 1], {}, {}};
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  for (size_t size : fakeState().parameterSizes[launch.kernel])
    launch.parameters.emplace_back(static_cast<const char *>(*parameters++), size);
  fakeState().launches.push_back(launch);
  return fakeState().launchResult;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction, int, size_t) {
  *blocks = fakeState().blocks;
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction, const CUlaunchConfig *) {
  *clusters = fakeState().clusters;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (bytes > fakeState().largestAllocation)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(512, (bytes + 511) / 512 * 512));
  fakeState().allocations[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  called("cuMemFree");
  std::free(reinterpret_cast<void *>(address));
  return fakeState().allocations.erase(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void *source, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(destination), source, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *destination, CUdeviceptr source, size_t bytes) {
  std::memcpy(destination, reinterpret_cast<const void *>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source),
               bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t bytes, CUstream) {
  called("cuMemsetD8Async");
  std::memset(reinterpret_cast<void *>(destination), value, bytes);
  fakeState().zeroed[destination] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream) {
  FakeState &state = fakeState();
  if (state.notReady != 0) {
    state.notReady -= state.notReady > 0;
    return CUDA_ERROR_NOT_READY;
  }
  return state.queryResult;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, uint32_t rank,
                                void *address, const uint64_t *dims, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *elementStrides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  fakeState().maps.push_back({type,
                              reinterpret_cast<uint64_t>(address),
                              {dims, dims + rank},
                              {strides, strides + rank - 1},
                              {box, box + rank},
                              {elementStrides, elementStrides + rank},
                              interleave,
                              swizzle,
                              fill});
  std::memset(map, static_cast<int>(fakeState().maps.size()), sizeof(*map));
  return fakeState().encodeResult;
}

size_t girihEmulatorReports(char *text, size_t capacity) {
  std::string &reports = fakeState().reports;
  size_t length = reports.size();
  if (length < capacity) {
    std::memcpy(text, reports.c_str(), length + 1);
    reports.clear();
  }
  return length;
}

size_t girihEmulatorReportsJson(char *text, size_t capacity) {
  const std::string &json = fakeState().json;
  if (json.size() < capacity)
    std::memcpy(text, json.c_str(), json.size() + 1);
  return json.size();
}

CUresult girihEmulatorSetOption(const char *name, const char *value) {
  if (std::string(name) != "seed")
    return CUDA_ERROR_INVALID_VALUE;
  fakeState().calls.push_back(std::string("seed=") + value);
  return CUDA_SUCCESS;
}

void girihEmulatorCancel() {
  called("girihEmulatorCancel");
  fakeState().notReady = 0;
  fakeState().queryResult = CUDA_ERROR_LAUNCH_FAILED;
}

} // namespace girih::cuda
