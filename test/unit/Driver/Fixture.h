// The library as a program sees it: loaded by path, functions found by name.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_TEST_UNIT_DRIVER_FIXTURE_H
#define GIRIH_TEST_UNIT_DRIVER_FIXTURE_H

#include "girih/Driver/CudaDriver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace girih::cuda {

inline void *library() {
  static void *handle = dlopen(GIRIH_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle;
}

template <typename Function> Function *lookUp(const char *name) {
  void *found = dlsym(library(), name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function *>(found);
}

/// CALL(cuMemAlloc_v2)(&address, 16): one call through the library.
#define CALL(function) (::girih::cuda::lookUp<decltype(::girih::cuda::function)>(#function))
#define EXPECT_OK(call) EXPECT_EQ(call, ::girih::cuda::CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, ::girih::cuda::CUDA_SUCCESS)

/// A context for every test, and no error left behind.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_OK(CALL(cuInit)(0));
    ASSERT_OK(CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    ASSERT_OK(CALL(cuCtxSetCurrent)(context));
  }
  void TearDown() override {
    CALL(girihEmulatorResetError)();
    EXPECT_OK(CALL(girihEmulatorSetOption)("seed", "0"));
    EXPECT_OK(CALL(cuCtxSetCurrent)(nullptr));
    EXPECT_OK(CALL(cuDevicePrimaryCtxRelease_v2)(0));
  }

  CUfunction load(const std::string &ptx, const char *kernel) {
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, ptx.c_str()), CUDA_SUCCESS) << takeReports();
    CUfunction function = nullptr;
    EXPECT_OK(CALL(cuModuleGetFunction)(&function, module, kernel));
    return function;
  }

  std::string takeReports() {
    std::string text(1 << 16, '\0');
    text.resize(CALL(girihEmulatorReports)(text.data(), text.size()));
    return text;
  }

  template <typename T> CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr address = 0;
    EXPECT_OK(CALL(cuMemAlloc_v2)(&address, values.size() * sizeof(T)));
    EXPECT_OK(CALL(cuMemcpyHtoD_v2)(address, values.data(), values.size() * sizeof(T)));
    return address;
  }
  template <typename T> std::vector<T> download(CUdeviceptr address, size_t count) {
    std::vector<T> values(count);
    EXPECT_OK(CALL(cuMemcpyDtoH_v2)(values.data(), address, count * sizeof(T)));
    return values;
  }

  CUcontext context = nullptr;
};

} // namespace girih::cuda

#endif // GIRIH_TEST_UNIT_DRIVER_FIXTURE_H
