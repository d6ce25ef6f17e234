// What the driver refuses, with which code.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fixture.h"

#include "Kernels.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace girih::cuda;
using ::testing::HasSubstr;

namespace {

using ErrorTest = DriverTest;

struct Bend {
  CUlaunchConfig config{1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, 0};
  CUlaunchAttribute attribute{};
  Bend() { attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION; }
  Bend &cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
    attribute.value.clusterDim = {x, y, z};
    config.attrs = &attribute;
    config.numAttrs = 1;
    return *this;
  }
};

TEST_F(ErrorTest, Launches) {
  CUfunction shape = load(shapePtx, "shape");
  auto launch = [&](Bend &bend) {
    return CALL(cuLaunchKernelEx)(&bend.config, shape, nullptr, nullptr);
  };
  {
    Bend ok;
    EXPECT_OK(launch(ok));
    EXPECT_OK(CALL(cuCtxSynchronize)()) << takeReports();
  }
  auto expect = [&](CUresult code, const std::function<void(Bend &)> &change) {
    Bend bend;
    change(bend);
    EXPECT_EQ(launch(bend), code);
  };
  expect(CUDA_ERROR_INVALID_VALUE, [](Bend &b) { b.config.gridDimX = 0; });
  expect(CUDA_ERROR_INVALID_VALUE, [](Bend &b) { b.config.gridDimY = 65536; });
  expect(CUDA_ERROR_INVALID_VALUE, [](Bend &b) { b.config.blockDimX = 32; }); // .reqntid says 64
  expect(CUDA_ERROR_INVALID_VALUE, [](Bend &b) { b.config.blockDimY = 32; }); // 2048 threads
  expect(CUDA_ERROR_INVALID_VALUE, [](Bend &b) { b.config.sharedMemBytes = 48 * 1024; });
  expect(CUDA_ERROR_INVALID_HANDLE,
         [](Bend &b) { b.config.hStream = reinterpret_cast<CUstream>(0x1234); });
  expect(CUDA_ERROR_INVALID_CLUSTER_SIZE, [](Bend &b) { b.cluster(2); }); // a grid of one block
  expect(CUDA_ERROR_INVALID_CLUSTER_SIZE, [](Bend &b) { b.cluster(16).config.gridDimX = 16; });
  expect(CUDA_ERROR_NOT_SUPPORTED,
         [](Bend &b) { b.cluster(1).attribute.id = CUlaunchAttributeID(7); });
  EXPECT_EQ(CALL(cuLaunchKernelEx)(nullptr, shape, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  Bend bend;
  EXPECT_EQ(
      CALL(cuLaunchKernelEx)(&bend.config, reinterpret_cast<CUfunction>(&bend), nullptr, nullptr),
      CUDA_ERROR_INVALID_HANDLE);
  CUfunction add = load(addPtx, "add");
  EXPECT_EQ(CALL(cuLaunchKernel)(add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE)
      << "no parameters";
}

TEST_F(ErrorTest, SharedMemoryHasToBeAllowed) {
  CUfunction shape = load(shapePtx, "shape");
  int value = -1;
  EXPECT_OK(CALL(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shape));
  EXPECT_EQ(value, 1024);
  EXPECT_OK(
      CALL(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shape));
  EXPECT_EQ(value, 48 * 1024 - 1024);
  EXPECT_OK(CALL(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, shape));
  EXPECT_EQ(value, 64);
  EXPECT_EQ(
      CALL(cuFuncSetAttribute)(shape, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448),
      CUDA_ERROR_INVALID_VALUE)
      << "with the static kilobyte it is too much";
  EXPECT_OK(CALL(cuFuncSetAttribute)(shape, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     232448 - 1024));
  Bend bend;
  bend.config.sharedMemBytes = 232448 - 1024;
  EXPECT_OK(CALL(cuLaunchKernelEx)(&bend.config, shape, nullptr, nullptr));
  EXPECT_OK(CALL(cuCtxSynchronize)()) << takeReports();
  int blocks = 0;
  EXPECT_OK(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, shape, 64, 0));
  EXPECT_EQ(blocks, 16) << "65536 / (64 * 64): 64 registers a thread are assumed";
  EXPECT_OK(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, shape, 64, 100 * 1024));
  EXPECT_EQ(blocks, 2) << "228 / (100 + 1 + 1)";
}

TEST_F(ErrorTest, Memory) {
  CUdeviceptr a = upload(std::vector<char>(64)), nothing = 0;
  char host[64] = {};
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&nothing, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&nothing, size_t(1) << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(a, host, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(host, a + 60, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemcpyDtoHAsync_v2)(host, 16, 8, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(a, nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD32Async)(a + 2, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "not aligned";
  EXPECT_EQ(CALL(cuMemsetD8Async)(a, 0, 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(a + 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CALL(cuMemFree_v2)(a));
  EXPECT_EQ(CALL(cuMemFree_v2)(a), CUDA_ERROR_INVALID_VALUE) << "freed already";
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(host, a, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorTest, ModulesThatCannotBeLoaded) {
  CUmodule module = nullptr;
  EXPECT_EQ(CALL(cuModuleLoadData)(&module, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(takeReports(), "the image is neither an ELF cubin with girih's sections nor PTX text");
  EXPECT_EQ(CALL(cuModuleLoadData)(&module, nullptr), CUDA_ERROR_INVALID_VALUE);

  const char *unknown =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n  frobnicate.b32;\n"
      "  ret;\n}\n";
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_EQ(CALL(cuModuleLoadDataEx)(&module, unknown, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(log, HasSubstr("frobnicate"));
  EXPECT_THAT(takeReports(), HasSubstr(":6:")) << "the line";

  CUfunction function = nullptr;
  ASSERT_OK(CALL(cuModuleLoadData)(&module, shapePtx));
  EXPECT_EQ(CALL(cuModuleGetFunction)(&function, module, "missing"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  EXPECT_OK(CALL(cuModuleGetGlobal_v2)(&address, &bytes, module, "table"));
  EXPECT_EQ(bytes, 64u);
  EXPECT_OK(CALL(cuMemsetD8_v2)(address, 1, bytes));
  EXPECT_EQ(CALL(cuModuleGetGlobal_v2)(&address, &bytes, module, "shape"), CUDA_ERROR_NOT_FOUND);
  ASSERT_OK(CALL(cuModuleGetFunction)(&function, module, "shape"));
  EXPECT_OK(CALL(cuModuleUnload)(module));
  EXPECT_EQ(CALL(cuModuleUnload)(module), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  EXPECT_EQ(CALL(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ErrorTest, TensorMaps) {
  CUtensorMap map;
  uint64_t dims[] = {64, 64}, strides[] = {100};
  uint32_t box[] = {64, 8}, steps[] = {1, 1};
  auto encode = [&](CUtensorMap *where) {
    return CALL(cuTensorMapEncodeTiled)(where, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, nullptr, dims,
                                        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(&map), CUDA_ERROR_INVALID_VALUE) << "a stride of 100 bytes";
  strides[0] = 128;
  EXPECT_OK(encode(&map));
  EXPECT_EQ(encode(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(reinterpret_cast<CUtensorMap *>(reinterpret_cast<char *>(&map) + 8)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorTest, Im2colMaps) {
  CUtensorMap map;
  uint64_t dims[] = {64, 9, 14, 8}, strides[] = {128, 1152, 16128};
  int lower[] = {-1, -1}, upper[] = {-1, -1};
  uint32_t steps[] = {1, 1, 1, 1};
  auto encode = [&](CUtensorMap *where) {
    return CALL(cuTensorMapEncodeIm2col)(
        where, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, nullptr, dims, strides, lower, upper, 32, 64,
        steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_OK(encode(&map));
  lower[1] = -129;
  EXPECT_EQ(encode(&map), CUDA_ERROR_INVALID_VALUE) << "a corner of more than 8 bits";
  EXPECT_EQ(encode(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorTest, Options) {
  EXPECT_OK(CALL(girihEmulatorSetOption)("seed", "18446744073709551615"));
  EXPECT_EQ(CALL(girihEmulatorSetOption)("seed", "-1"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(girihEmulatorSetOption)("threads", "many"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(girihEmulatorSetOption)("checks", "2"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(girihEmulatorSetOption)("adversary", "nobody"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(girihEmulatorSetOption)("colour", "blue"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CALL(girihEmulatorSetOption)("adversary", "async-late"));
  EXPECT_OK(CALL(girihEmulatorSetOption)("adversary", "none"));
  EXPECT_EQ(CALL(girihEmulatorSetOption)("sms", "8"), CUDA_ERROR_NOT_PERMITTED)
      << "a context exists";
}

TEST_F(ErrorTest, CodesHaveNames) {
  const char *text = nullptr;
  EXPECT_OK(CALL(cuGetErrorName)(CUDA_ERROR_LAUNCH_FAILED, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_LAUNCH_FAILED");
  EXPECT_OK(CALL(cuGetErrorString)(CUDA_ERROR_LAUNCH_FAILED, &text));
  EXPECT_STREQ(text, "unspecified launch failure");
  EXPECT_EQ(CALL(cuGetErrorName)(CUresult(12345), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ErrorTest, AForkedChildIsToldSo) {
  pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(CALL(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A death test in this style runs in a process of its own, in which the library has not been used.
TEST(Environment, IsReadAndExplained) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto initialiseWith = [](const char *variable, const char *value) {
    setenv(variable, value, 1);
    return CALL(cuInit)(0);
  };
  EXPECT_EXIT(_exit(initialiseWith("GIRIH_SEED", "x")),
              testing::ExitedWithCode(CUDA_ERROR_INVALID_VALUE),
              "girih: GIRIH_SEED is \"x\": expected a number from 0 to 2\\^64 - 1");
  auto multiprocessors = [&] {
    int value = -1;
    initialiseWith("GIRIH_SMS", "4");
    CALL(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
    return value;
  };
  EXPECT_EXIT(_exit(multiprocessors()), testing::ExitedWithCode(4), "");
}

TEST(Environment, TheLogSaysWhatWasWrong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto refused = [] {
    setenv("GIRIH_LOG", "1", 1);
    CUdevice device;
    CALL(cuDeviceGet)(&device, 0);
    CALL(cuInit)(0);
    return CALL(cuDeviceGet)(&device, 3);
  };
  EXPECT_EXIT(_exit(refused()), testing::ExitedWithCode(CUDA_ERROR_INVALID_DEVICE),
              "girih: cuDeviceGet: CUDA_ERROR_NOT_INITIALIZED: cuInit has not been called\n"
              "girih: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE: there is one device, 0, not 3");
}

} // namespace
