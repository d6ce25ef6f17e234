// cuGetProcAddress: functions by name, without the version suffix that the exported symbols carry.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include <cstring>

namespace girih::cuda {
namespace {

struct Entry {
  const char *name;
  void *function;
};
#define PLAIN(function) {#function, reinterpret_cast<void *>(&function)}
#define VERSIONED(name, suffix) {#name, reinterpret_cast<void *>(&name##suffix)}
const Entry kEntries[] = {
    PLAIN(cuInit),
    PLAIN(cuDriverGetVersion),
    PLAIN(cuGetErrorName),
    PLAIN(cuGetErrorString),
    VERSIONED(cuGetProcAddress, _v2),
    PLAIN(cuDeviceGetCount),
    PLAIN(cuDeviceGet),
    PLAIN(cuDeviceGetName),
    PLAIN(cuDeviceGetAttribute),
    VERSIONED(cuDeviceTotalMem, _v2),
    PLAIN(cuDevicePrimaryCtxRetain),
    VERSIONED(cuDevicePrimaryCtxRelease, _v2),
    VERSIONED(cuDevicePrimaryCtxSetFlags, _v2),
    PLAIN(cuDevicePrimaryCtxGetState),
    PLAIN(cuCtxSetCurrent),
    PLAIN(cuCtxGetCurrent),
    VERSIONED(cuCtxPushCurrent, _v2),
    VERSIONED(cuCtxPopCurrent, _v2),
    PLAIN(cuCtxGetDevice),
    PLAIN(cuCtxSynchronize),
    PLAIN(cuModuleLoadData),
    PLAIN(cuModuleLoadDataEx),
    PLAIN(cuModuleUnload),
    PLAIN(cuModuleGetFunction),
    VERSIONED(cuModuleGetGlobal, _v2),
    PLAIN(cuFuncGetAttribute),
    PLAIN(cuFuncSetAttribute),
    PLAIN(cuOccupancyMaxActiveBlocksPerMultiprocessor),
    PLAIN(cuOccupancyMaxActiveClusters),
    PLAIN(cuLaunchKernel),
    PLAIN(cuLaunchKernelEx),
    VERSIONED(cuMemAlloc, _v2),
    VERSIONED(cuMemFree, _v2),
    VERSIONED(cuMemGetInfo, _v2),
    VERSIONED(cuMemcpyHtoD, _v2),
    VERSIONED(cuMemcpyDtoH, _v2),
    VERSIONED(cuMemcpyDtoD, _v2),
    VERSIONED(cuMemcpyHtoDAsync, _v2),
    VERSIONED(cuMemcpyDtoHAsync, _v2),
    VERSIONED(cuMemcpyDtoDAsync, _v2),
    VERSIONED(cuMemsetD8, _v2),
    VERSIONED(cuMemsetD16, _v2),
    VERSIONED(cuMemsetD32, _v2),
    PLAIN(cuMemsetD8Async),
    PLAIN(cuMemsetD16Async),
    PLAIN(cuMemsetD32Async),
    PLAIN(cuPointerGetAttribute),
    PLAIN(cuStreamCreate),
    PLAIN(cuStreamCreateWithPriority),
    VERSIONED(cuStreamDestroy, _v2),
    PLAIN(cuStreamQuery),
    PLAIN(cuStreamSynchronize),
    PLAIN(cuStreamWaitEvent),
    PLAIN(cuEventCreate),
    PLAIN(cuEventRecord),
    PLAIN(cuEventQuery),
    PLAIN(cuEventSynchronize),
    VERSIONED(cuEventElapsedTime, _v2),
    VERSIONED(cuEventDestroy, _v2),
    VERSIONED(cuStreamBeginCapture, _v2),
    PLAIN(cuStreamEndCapture),
    PLAIN(cuStreamIsCapturing),
    PLAIN(cuGraphInstantiateWithFlags),
    VERSIONED(cuGraphExecUpdate, _v2),
    PLAIN(cuGraphLaunch),
    PLAIN(cuGraphDestroy),
    PLAIN(cuGraphExecDestroy),
    PLAIN(cuTensorMapEncodeIm2col),
    PLAIN(cuTensorMapEncodeTiled),
    PLAIN(girihEmulatorReports),
    PLAIN(girihEmulatorReportsJson),
    PLAIN(girihEmulatorStatsJson),
    PLAIN(girihEmulatorResetError),
    PLAIN(girihEmulatorSetOption),
    PLAIN(girihEmulatorCancel),
    PLAIN(girihEmulatorProgress),
};

} // namespace

GIRIH_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, uint64_t,
                                          CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "symbol or function is null");
  *function = nullptr;
  for (const Entry &entry : kEntries)
    if (std::strcmp(entry.name, symbol) == 0)
      *function = entry.function;
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  // With a status to read, not finding a symbol is no error (CUDA driver API, cuGetProcAddress).
  if (!*function && !status)
    GIRIH_REFUSE(CUDA_ERROR_NOT_FOUND,
                 std::string(symbol) + " is not modelled by the emulated device");
  return CUDA_SUCCESS;
}

/// Before CUDA 12.4 the elapsed time had no version in its name; both mean the same here.
GIRIH_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

} // namespace girih::cuda
