// The device, contexts, memory, streams and events.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fixture.h"

#include "Kernels.h"

#include <cstring>
#include <numeric>
#include <thread>

using namespace girih::cuda;
using ::testing::Each;

namespace {

int attribute(CUdevice_attribute which) {
  int value = -1;
  EXPECT_OK(CALL(cuDeviceGetAttribute)(&value, which, 0));
  return value;
}

TEST_F(DriverTest, IsAHopper) {
  int count = 0, version = 0;
  char name[64];
  EXPECT_OK(CALL(cuDeviceGetCount)(&count));
  EXPECT_EQ(count, 1);
  EXPECT_OK(CALL(cuDriverGetVersion)(&version));
  EXPECT_GE(version, 12000);
  EXPECT_OK(CALL(cuDeviceGetName)(name, sizeof name, 0));
  EXPECT_STREQ(name, "girih emulated Hopper");
  EXPECT_OK(CALL(cuDeviceGetName)(name, 6, 0));
  EXPECT_STREQ(name, "girih") << "cut to the buffer, with its zero";
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 232448);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), 233472);
  size_t total = 0, free = 0;
  EXPECT_OK(CALL(cuDeviceTotalMem_v2)(&total, 0));
  EXPECT_GE(total, size_t(1) << 30);
  EXPECT_OK(CALL(cuMemGetInfo_v2)(&free, &total));
  EXPECT_LE(free, total);
}

TEST_F(DriverTest, ContextsStack) {
  CUcontext current = nullptr, popped = nullptr;
  EXPECT_OK(CALL(cuCtxGetCurrent)(&current));
  EXPECT_EQ(current, context);
  EXPECT_OK(CALL(cuCtxPushCurrent_v2)(context));
  EXPECT_OK(CALL(cuCtxPopCurrent_v2)(&popped));
  EXPECT_EQ(popped, context);
  EXPECT_OK(CALL(cuCtxSetCurrent)(nullptr));
  CUdeviceptr address = 0;
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CALL(cuCtxPopCurrent_v2)(&popped), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(CALL(cuCtxSetCurrent)(context));
  EXPECT_OK(CALL(cuMemAlloc_v2)(&address, 16));
  EXPECT_OK(CALL(cuMemFree_v2)(address));
  std::thread([] {
    CUcontext none = reinterpret_cast<CUcontext>(1);
    EXPECT_OK(CALL(cuCtxGetCurrent)(&none));
    EXPECT_EQ(none, nullptr) << "each thread has its own";
  }).join();
}

TEST_F(DriverTest, CopiesAndFills) {
  std::vector<uint32_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 5);
  CUdeviceptr a = upload(numbers), b = upload(std::vector<uint32_t>(1000));
  EXPECT_OK(CALL(cuMemcpyDtoD_v2)(b, a, 4000));
  EXPECT_EQ(download<uint32_t>(b, 1000), numbers);
  EXPECT_OK(CALL(cuMemsetD32Async)(a, 0x01020304, 1000, nullptr));
  EXPECT_THAT(download<uint32_t>(a, 1000), Each(0x01020304u));
  EXPECT_OK(CALL(cuMemsetD8_v2)(a + 4, 0xff, 8));
  EXPECT_OK(CALL(cuMemsetD16_v2)(a + 16, 0x7788, 4));
  EXPECT_EQ(download<uint32_t>(a, 7),
            (std::vector<uint32_t>{0x01020304, 0xffffffff, 0xffffffff, 0x01020304, 0x77887788,
                                   0x77887788, 0x01020304}));
  EXPECT_OK(CALL(cuMemcpyHtoD_v2)(a, nullptr, 0));
  EXPECT_OK(CALL(cuMemFree_v2)(a));
  EXPECT_OK(CALL(cuMemFree_v2)(b));
  EXPECT_OK(CALL(cuMemFree_v2)(0));
}

TEST_F(DriverTest, AsynchronousCopiesKeepTheirOrder) {
  CUstream stream = nullptr;
  ASSERT_OK(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr a = upload(std::vector<int>(64)), b = upload(std::vector<int>(64));
  std::vector<int> source(64, 1), result(64);
  EXPECT_OK(CALL(cuMemcpyHtoDAsync_v2)(a, source.data(), 256, stream));
  source.assign(64, 2); // pageable memory was staged
  EXPECT_OK(CALL(cuMemcpyDtoDAsync_v2)(b, a, 256, stream));
  EXPECT_OK(CALL(cuMemsetD32Async)(a, 9, 64, stream));
  EXPECT_OK(CALL(cuMemcpyDtoHAsync_v2)(result.data(), b, 256, stream));
  EXPECT_OK(CALL(cuStreamSynchronize)(stream));
  EXPECT_THAT(result, Each(1));
  EXPECT_THAT(download<int>(a, 64), Each(9));
  EXPECT_OK(CALL(cuStreamDestroy_v2)(stream));
  EXPECT_EQ(CALL(cuStreamQuery)(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, EventsMeasureAndOrder) {
  CUfunction count = load(countPtx, "count");
  CUevent start = nullptr, end = nullptr;
  ASSERT_OK(CALL(cuEventCreate)(&start, CU_EVENT_DEFAULT));
  ASSERT_OK(CALL(cuEventCreate)(&end, CU_EVENT_DEFAULT));
  float milliseconds = -1;
  EXPECT_EQ(CALL(cuEventElapsedTime_v2)(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE)
      << "not recorded";
  uint64_t n = 1000;
  void *parameters[] = {&n};
  EXPECT_OK(CALL(cuEventRecord)(start, nullptr));
  EXPECT_OK(CALL(cuLaunchKernel)(count, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_OK(CALL(cuEventRecord)(end, nullptr));
  EXPECT_OK(CALL(cuStreamWaitEvent)(nullptr, end, 0));
  EXPECT_OK(CALL(cuEventSynchronize)(end));
  EXPECT_OK(CALL(cuEventQuery)(end));
  EXPECT_OK(CALL(cuEventElapsedTime_v2)(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0);
  EXPECT_OK(CALL(cuEventDestroy_v2)(start));
  EXPECT_OK(CALL(cuEventDestroy_v2)(end));
  EXPECT_EQ(CALL(cuEventQuery)(end), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, PointersTellWhereTheyPoint) {
  CUdeviceptr a = upload(std::vector<char>(100)), begin = 0;
  unsigned type = 0;
  size_t size = 0;
  EXPECT_OK(CALL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 50));
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_OK(CALL(cuPointerGetAttribute)(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, a + 50));
  EXPECT_EQ(begin, a);
  EXPECT_OK(CALL(cuPointerGetAttribute)(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + 50));
  EXPECT_EQ(size, 100u);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        reinterpret_cast<uintptr_t>(&type)),
            CUDA_ERROR_INVALID_VALUE)
      << "host memory";
}

TEST_F(DriverTest, ExportsNothingElse) {
  EXPECT_EQ(dlsym(library(), "_ZN5girih4cuda5State3getEv"), nullptr);
  EXPECT_EQ(dlsym(library(), "_ZN5girih3emu6DeviceC1ERKNS0_13DeviceOptionsE"), nullptr);
}

TEST_F(DriverTest, GetProcAddressTakesNamesWithoutVersions) {
  for (auto [name, symbol] : {std::pair{"cuMemAlloc", "cuMemAlloc_v2"},
                              {"cuInit", "cuInit"},
                              {"cuStreamDestroy", "cuStreamDestroy_v2"}}) {
    void *function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    EXPECT_OK(CALL(cuGetProcAddress_v2)(name, &function, 12000, 0, &status));
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT_EQ(function, dlsym(library(), symbol));
  }
  void *function = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_OK(CALL(cuGetProcAddress_v2)("cuGraphCreate", &function, 12000, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(CALL(cuGetProcAddress_v2)("cuGraphCreate", &function, 12000, 0, nullptr),
            CUDA_ERROR_NOT_FOUND);
}

} // namespace
