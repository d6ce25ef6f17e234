// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests tell the fake driver to answer, and what it remembers of the calls. The fake
// driver is a shared library of its own, since the runtime finds drivers with dlopen; the tests
// reach this state through its function
// fakeStatePointer().
#ifndef GIRIH_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define GIRIH_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include "girih/Driver/CudaDriver.h"

#include <map>
#include <string>
#include <vector>

struct FakeTensorMap {
  int type = 0;
  uint64_t address = 0;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box, elementStrides;
  int interleave = 0, swizzle = 0, fill = 0;
};

struct FakeLaunch {
  girih::cuda::CUlaunchConfig config;
  std::string kernel;
  std::vector<std::string> parameters; ///< the bytes of each, sizes from FakeState::parameterSizes
  std::vector<girih::cuda::CUlaunchAttribute> attributes;
};

struct FakeState {
  // Answers
  std::string name = "Fake H200";
  int deviceCount = 1, major = 9, minor = 0, multiprocessors = 132;
  girih::cuda::CUresult initResult = girih::cuda::CUDA_SUCCESS;
  girih::cuda::CUresult loadResult = girih::cuda::CUDA_SUCCESS;
  girih::cuda::CUresult launchResult = girih::cuda::CUDA_SUCCESS;
  girih::cuda::CUresult queryResult = girih::cuda::CUDA_SUCCESS;
  girih::cuda::CUresult encodeResult = girih::cuda::CUDA_SUCCESS;
  int blocks = 0, clusters = 0; ///< how many are on a multiprocessor, on the device at once
  int notReady = 0; ///< how often cuStreamQuery says "not ready" first; -1: until cancelled
  size_t largestAllocation = size_t{1} << 40;
  std::string reports, json = "[]";
  std::map<std::string, std::vector<size_t>> parameterSizes;

  // Records
  std::vector<std::string> calls;
  std::string image;
  std::vector<FakeTensorMap> maps;
  std::vector<FakeLaunch> launches;
  std::map<std::string, int> attributes; ///< "kernel/attribute number" to value
  std::map<uint64_t, size_t> allocations;
  std::map<uint64_t, size_t> zeroed;
  std::vector<std::string> kernels; ///< CUfunction values are 1-based indices
};

#endif // GIRIH_TEST_UNIT_RUNTIME_FAKEDRIVER_H
