// Entry points: device memory, copies and fills.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "State.h"

#include <cstring>

using namespace girih::cuda;

namespace {

std::string rangeText(uint64_t address, uint64_t bytes) {
  return std::to_string(bytes) + " bytes at " + hex(address) +
         " do not lie in one allocation of the device";
}

} // namespace

#define GIRIH_REQUIRE_RANGE(address, bytes)                                                        \
  if (!State::get().isDeviceRange(address, bytes))                                                 \
  GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, rangeText(address, bytes))

namespace girih::cuda {

GIRIH_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(address);
  if (bytes == 0)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, "bytes is 0");
  State &state = State::get();
  try {
    uint64_t begin = state.device().allocate(bytes);
    std::lock_guard lock(state.mutex);
    state.allocations[begin] = bytes;
    *address = begin;
    return CUDA_SUCCESS;
  } catch (const emu::DeviceError &error) {
    GIRIH_REFUSE(CUDA_ERROR_OUT_OF_MEMORY, error.what());
  }
}

GIRIH_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  State &state = State::get();
  CUresult context = state.enter();
  // Memory is given back even after a failed launch: its owner will not ask twice.
  if (context == CUDA_ERROR_NOT_INITIALIZED || context == CUDA_ERROR_INVALID_CONTEXT)
    GIRIH_REFUSE(context, State::reasonFor(context));
  if (address == 0)
    return context;
  {
    std::lock_guard lock(state.mutex);
    if (!state.allocations.count(address))
      GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, hex(address) + " is not the start of an allocation");
  }
  // Freeing waits for launches that may use the memory (CUDA driver API, cuMemFree: implicit
  // synchronisation).
  state.queue.wait(state.queue.lastPushed());
  {
    std::lock_guard lock(state.mutex);
    if (!state.allocations.erase(address))
      GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, hex(address) + " was freed by another thread");
  }
  state.device().free(address);
  return context;
}

GIRIH_EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_REQUIRE_POINTER(free);
  GIRIH_REQUIRE_POINTER(total);
  emu::Device &device = State::get().device();
  *total = device.options().memoryBytes;
  *free = *total - device.bytesAllocated();
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void *source, size_t bytes) {
  GIRIH_REQUIRE_CONTEXT();
  if (bytes == 0)
    return CUDA_SUCCESS;
  GIRIH_REQUIRE_POINTER(source);
  GIRIH_REQUIRE_RANGE(destination, bytes);
  State &state = State::get();
  return state.runAndWait(state.findStream(nullptr),
                          [=, &state] { state.device().copyToDevice(destination, source, bytes); });
}

GIRIH_EXPORT CUresult cuMemcpyDtoH_v2(void *destination, CUdeviceptr source, size_t bytes) {
  GIRIH_REQUIRE_CONTEXT();
  if (bytes == 0)
    return CUDA_SUCCESS;
  GIRIH_REQUIRE_POINTER(destination);
  GIRIH_REQUIRE_RANGE(source, bytes);
  State &state = State::get();
  return state.runAndWait(state.findStream(nullptr), [=, &state] {
    state.device().copyFromDevice(destination, source, bytes);
  });
}

GIRIH_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return cuMemcpyDtoDAsync_v2(destination, source, bytes, nullptr); // does not wait on a GPU either
}

GIRIH_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source,
                                           size_t bytes, CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  if (bytes == 0)
    return CUDA_SUCCESS;
  GIRIH_REQUIRE_POINTER(source);
  GIRIH_REQUIRE_RANGE(destination, bytes);
  State &state = State::get();
  // Pageable memory is staged before the call returns (CUDA driver API, "API synchronization
  // behavior").
  auto staged = std::make_shared<std::string>(static_cast<const char *>(source), bytes);
  state.enqueue(stream,
                [=, &state] { state.device().copyToDevice(destination, staged->data(), bytes); });
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes,
                                           CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  if (bytes == 0)
    return CUDA_SUCCESS;
  GIRIH_REQUIRE_POINTER(destination);
  GIRIH_REQUIRE_RANGE(source, bytes);
  State &state = State::get();
  state.enqueue(stream, [=, &state] { state.device().copyFromDevice(destination, source, bytes); });
  return CUDA_SUCCESS;
}

GIRIH_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source,
                                           size_t bytes, CUstream handle) {
  GIRIH_REQUIRE_CONTEXT();
  GIRIH_FIND_STREAM(stream, handle);
  if (bytes == 0)
    return CUDA_SUCCESS;
  GIRIH_REQUIRE_RANGE(destination, bytes);
  GIRIH_REQUIRE_RANGE(source, bytes);
  State &state = State::get();
  state.enqueue(stream, [=, &state] { state.device().copyOnDevice(destination, source, bytes); });
  return CUDA_SUCCESS;
}

static CUresult fill(const char *function, CUdeviceptr destination, uint32_t value,
                     unsigned elementBytes, size_t count, CUstream handle) {
  State &state = State::get();
  if (CUresult code = state.enter(); code != CUDA_SUCCESS)
    return refuse(code, function, State::reasonFor(code));
  StreamPtr stream = state.findStream(handle);
  if (!stream)
    return refuse(CUDA_ERROR_INVALID_HANDLE, function,
                  hex(reinterpret_cast<uintptr_t>(handle)) + " is no stream");
  if (stream->capture)
    return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, function,
                  hex(reinterpret_cast<uintptr_t>(handle)) +
                      " is capturing; only launches can be captured");
  if (count == 0)
    return CUDA_SUCCESS;
  if (destination % elementBytes)
    return refuse(CUDA_ERROR_INVALID_VALUE, function,
                  hex(destination) + " is not aligned to " + std::to_string(elementBytes) +
                      " bytes");
  if (count > UINT64_MAX / elementBytes || !state.isDeviceRange(destination, count * elementBytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, function, rangeText(destination, count * elementBytes));
  state.enqueue(stream,
                [=, &state] { state.device().fill(destination, value, elementBytes, count); });
  return CUDA_SUCCESS;
}

// Fills of device memory do not wait, with or without Async in the name (CUDA driver API, "API
// synchronization behavior", Memset).
GIRIH_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr destination, unsigned char value, size_t count) {
  return fill(__func__, destination, value, 1, count, nullptr);
}
GIRIH_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr destination, unsigned short value, size_t count) {
  return fill(__func__, destination, value, 2, count, nullptr);
}
GIRIH_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr destination, unsigned value, size_t count) {
  return fill(__func__, destination, value, 4, count, nullptr);
}
GIRIH_EXPORT CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t bytes,
                                      CUstream stream) {
  return fill(__func__, destination, value, 1, bytes, stream);
}
GIRIH_EXPORT CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                                       CUstream stream) {
  return fill(__func__, destination, value, 2, count, stream);
}
GIRIH_EXPORT CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned value, size_t count,
                                       CUstream stream) {
  return fill(__func__, destination, value, 4, count, stream);
}

GIRIH_EXPORT CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                            CUdeviceptr address) {
  GIRIH_REQUIRE_INITIALISED();
  GIRIH_REQUIRE_POINTER(value);
  State &state = State::get();
  std::optional<emu::AllocationInfo> found;
  if (state.isActive())
    found = state.findMemory(address);
  if (!found)
    GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE, hex(address) + " is no device memory");
  auto put = [&](auto result) {
    std::memcpy(value, &result, sizeof(result));
    return CUDA_SUCCESS;
  };
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return put(state.current());
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return put(static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return put(address);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return put(0u);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return put(0);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return put(found->address);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return put(static_cast<size_t>(found->bytes));
  }
  GIRIH_REFUSE(CUDA_ERROR_INVALID_VALUE,
               "attribute " + std::to_string(attribute) + " is not known here");
}

} // namespace girih::cuda
