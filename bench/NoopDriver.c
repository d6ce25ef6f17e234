/* A CUDA driver that does nothing: every call succeeds at once, so that what is left is the cost of calling.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * It says that it is a Hopper GPU. Memory is an address that nobody reads. Beside what girih's runtime asks for, it has
 * what Triton's launcher does, which is measured on the same library. Types are those of the CUDA Driver API, written as
 * the integers and pointers that they are.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void *Handle;

/* Entry points whose results nobody looks at but for success. */
#define NOTHING(name)                                                                                                  \
  int name(void);                                                                                                      \
  int name(void) { return 0; }
NOTHING(cuInit)
NOTHING(cuCtxSetCurrent)
NOTHING(cuCtxSynchronize)
NOTHING(cuCtxSetLimit)
NOTHING(cuCtxGetLimit)
NOTHING(cuPointerGetAttributes)
NOTHING(cuModuleUnload)
NOTHING(cuFuncSetAttribute)
NOTHING(cuFuncSetCacheConfig)
NOTHING(cuMemFree_v2)
NOTHING(cuMemcpyHtoD_v2)
NOTHING(cuMemcpyDtoH_v2)
NOTHING(cuMemcpyDtoD_v2)
NOTHING(cuMemsetD8Async)
NOTHING(cuStreamQuery)
NOTHING(cuTensorMapEncodeTiled)
NOTHING(cuTensorMapEncodeIm2col)

/* The last launch, for tests: its stream and where its parameters lie. */
static Handle lastStream;
static void **lastParameters;

int cuLaunchKernelEx(const void *config, Handle function, void **parameters, void **extra);
int cuLaunchKernelEx(const void *config, Handle function, void **parameters, void **extra) {
  (void)function;
  (void)extra;
  memcpy(&lastStream, (const char *)config + 32, sizeof(lastStream)); /* CUlaunchConfig::hStream */
  lastParameters = parameters;
  return 0;
}

uint64_t noopStream(void);
uint64_t noopStream(void) { return (uint64_t)lastStream; }

/* The first eight bytes of a parameter. */
uint64_t noopParameter(unsigned index);
uint64_t noopParameter(unsigned index) {
  uint64_t value;
  memcpy(&value, lastParameters[index], sizeof(value));
  return value;
}

/* Entry points that hand out an object: any address but null. */
#define HANDLE(name)                                                                                                   \
  int name(Handle *result);                                                                                            \
  int name(Handle *result) {                                                                                           \
    *result = (Handle)0x1000;                                                                                          \
    return 0;                                                                                                          \
  }
HANDLE(cuCtxGetCurrent)
HANDLE(cuDevicePrimaryCtxRetain)
HANDLE(cuModuleLoadData)
HANDLE(cuModuleGetFunction)

/* Entry points that answer with a number. */
#define NUMBER(name, number)                                                                                           \
  int name(int *result);                                                                                               \
  int name(int *result) {                                                                                              \
    *result = number;                                                                                                  \
    return 0;                                                                                                          \
  }
NUMBER(cuDriverGetVersion, 13000)
NUMBER(cuDeviceGetCount, 1)
NUMBER(cuDeviceGet, 0)
NUMBER(cuCtxGetDevice, 0)
NUMBER(cuOccupancyMaxActiveBlocksPerMultiprocessor, 1)
NUMBER(cuOccupancyMaxActiveClusters, 66)

int cuGetErrorName(int error, const char **text);
int cuGetErrorName(int error, const char **text) {
  (void)error;
  *text = "CUDA_SUCCESS";
  return 0;
}

int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }

int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  strncpy(name, "the driver that does nothing", (size_t)length);
  return 0;
}

/* Numbers of CUdevice_attribute: the answers of an H200 where somebody asks. */
int cuDeviceGetAttribute(int *result, int attribute, int device);
int cuDeviceGetAttribute(int *result, int attribute, int device) {
  (void)device;
  *result = attribute == 75   ? 9   /* COMPUTE_CAPABILITY_MAJOR */
            : attribute == 76 ? 0   /* COMPUTE_CAPABILITY_MINOR */
            : attribute == 16 ? 132 /* MULTIPROCESSOR_COUNT */
            : attribute == 10 ? 32  /* WARP_SIZE */
            : attribute == 97 ? 232448 /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
                              : 65536;
  return 0;
}

/* Registers, spills and threads: what a small kernel has. */
int cuFuncGetAttribute(int *result, int attribute, Handle function);
int cuFuncGetAttribute(int *result, int attribute, Handle function) {
  (void)function;
  *result = attribute == 0 ? 1024 /* MAX_THREADS_PER_BLOCK */ : 0;
  return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  static uint64_t next = 1ULL << 40;
  *address = next;
  next += (bytes + 4095) / 4096 * 4096;
  return 0;
}

/* The address that was asked about is a device's. */
int cuPointerGetAttribute(uint64_t *result, int attribute, uint64_t address);
int cuPointerGetAttribute(uint64_t *result, int attribute, uint64_t address) {
  (void)attribute;
  *result = address;
  return 0;
}

int cuStreamIsCapturing(Handle stream, int *status);
int cuStreamIsCapturing(Handle stream, int *status) {
  (void)stream;
  *status = 0;
  return 0;
}
