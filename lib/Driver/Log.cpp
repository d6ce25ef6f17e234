// Names of result codes, and the line on stderr that explains a refusal.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Log.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace girih::cuda {
namespace {

struct Row {
  CUresult code;
  const char *name;
  const char *text;
};
#define ROW(code, text) {code, #code, text}
const Row kRows[] = {
    ROW(CUDA_SUCCESS, "no error"),
    ROW(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ROW(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ROW(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ROW(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    ROW(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ROW(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ROW(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ROW(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ROW(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    ROW(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    ROW(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ROW(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ROW(CUDA_ERROR_NOT_READY, "device not ready"),
    ROW(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    ROW(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    ROW(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    ROW(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    ROW(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    ROW(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    ROW(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ROW(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    ROW(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    ROW(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        "the graph update was not performed because it included changes which violated constraints "
        "specific to instantiated graph update"),
    ROW(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    ROW(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ROW(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster misconfiguration"),
    ROW(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef ROW

const Row *find(CUresult code) {
  for (const Row &row : kRows)
    if (row.code == code)
      return &row;
  return nullptr;
}

bool logging() {
  static const bool on = [] {
    const char *value = std::getenv("GIRIH_LOG");
    // Words are topics of girih's Python package.
    return value && std::strcmp(value, "1") == 0;
  }();
  return on;
}

} // namespace

const char *errorName(CUresult code) {
  const Row *row = find(code);
  return row ? row->name : nullptr;
}

const char *errorText(CUresult code) {
  const Row *row = find(code);
  return row ? row->text : nullptr;
}

CUresult refuse(CUresult code, const char *function, const std::string &reason) {
  if (logging())
    std::fprintf(stderr, "girih: %s: %s: %s\n", function, errorName(code), reason.c_str());
  return code;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace girih::cuda
