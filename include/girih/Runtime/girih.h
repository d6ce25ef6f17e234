/* girih.h - Calling packaged kernels from C
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The stable interface of libgirih_runtime: C99, opaque handles, status codes. It needs neither
 * LLVM nor Python nor a CUDA toolkit; kernels run on a Hopper GPU or, where there is none, on the
 * emulated device.
 *
 *   girih_package *package;
 *   if (girih_load_file(GIRIH_ABI, "kernels.girih", &package) != GIRIH_OK)
 *     fprintf(stderr, "%s\n", girih_last_error());
 *
 * `girih-package header kernels.girih` writes a typed function for each kernel of a package, which
 * fills in the arguments of girih_launch.
 *
 * A function that returns a status sets its outputs only if it returns GIRIH_OK, and otherwise
 * leaves a text for girih_last_error. Functions may be called from several threads at once; a
 * package must not be freed while a thread uses one of its kernels. */
#ifndef GIRIH_RUNTIME_GIRIH_H
#define GIRIH_RUNTIME_GIRIH_H

#include <stddef.h>
#include <stdint.h>

#define GIRIH_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** What this header and the library that it came with agree on. It counts up whenever a structure
 * or a function below changes; girih_load_file and girih_load_memory compare it with the library's.
 */
#define GIRIH_ABI 1

typedef enum girih_status {
  GIRIH_OK = 0,
  GIRIH_ERROR_PACKAGE = 1,   /**< a package that is damaged, of another version or cannot be read */
  GIRIH_ERROR_ARGUMENTS = 2, /**< a call that the library or the kernel cannot take */
  GIRIH_ERROR_DEVICE = 3,    /**< no device, or a device that stopped a kernel */
  GIRIH_ERROR_MEMORY = 4,    /**< no host memory */
  GIRIH_ERROR_INTERNAL = 5   /**< a mistake of the library's */
} girih_status;

/** What the last failed call of this thread said, complete sentences for the user; "" before the
 * first one. Valid until this thread's next call of a girih function. */
GIRIH_API const char *girih_last_error(void);

/** Element types; the numbers stay. */
typedef enum girih_dtype {
  GIRIH_F64 = 0,
  GIRIH_F32 = 1,
  GIRIH_TF32 = 2,
  GIRIH_F16 = 3,
  GIRIH_BF16 = 4,
  GIRIH_E4M3 = 5,
  GIRIH_E5M2 = 6,
  GIRIH_I8 = 7,
  GIRIH_U8 = 8,
  GIRIH_I16 = 9,
  GIRIH_U16 = 10,
  GIRIH_I32 = 11,
  GIRIH_U32 = 12,
  GIRIH_I64 = 13,
  GIRIH_U64 = 14,
  GIRIH_B1 = 15 /**< a byte that is 0 or 1 */
} girih_dtype;

/** An array in device memory. */
typedef struct girih_array {
  uint64_t address;       /**< of the first element */
  int32_t dtype;          /**< a girih_dtype */
  int32_t rank;           /**< number of dimensions, at most GIRIH_MAX_RANK */
  const int64_t *shape;   /**< extents */
  const int64_t *strides; /**< in elements; NULL: row-major without gaps */
} girih_array;

#define GIRIH_MAX_RANK 8

typedef enum girih_argument_kind {
  GIRIH_ABSENT = 0, /**< nothing, for an optional parameter */
  GIRIH_ARRAY = 1,
  GIRIH_INTEGER = 2,
  GIRIH_FLOAT = 3
} girih_argument_kind;

/** An argument of a kernel. */
typedef struct girih_argument {
  int32_t kind; /**< a girih_argument_kind, which says what of the union counts */
  int32_t reserved;
  union {
    girih_array array;
    int64_t integer;
    double real;
  } value;
} girih_argument;

/** @name Packages
 * @{ */

typedef struct girih_package girih_package;
/** Belongs to its package and lives as long. */
typedef struct girih_kernel girih_kernel;
/** A CUstream; NULL is the default stream. */
typedef void *girih_stream;

/** Reads a package. `abi` is GIRIH_ABI as the caller was compiled with it. No device is touched. */
GIRIH_API girih_status girih_load_file(uint32_t abi, const char *path, girih_package **package);
/** The same from memory, which may be freed afterwards. */
GIRIH_API girih_status girih_load_memory(uint32_t abi, const void *data, size_t bytes,
                                         girih_package **package);
/** NULL is allowed. */
GIRIH_API void girih_free_package(girih_package *package);

GIRIH_API size_t girih_kernel_count(const girih_package *package);
/** The name of the kernel with this index, NULL if there is none. */
GIRIH_API const char *girih_kernel_name(const girih_package *package, size_t index);
GIRIH_API girih_status girih_find_kernel(girih_package *package, const char *name,
                                         girih_kernel **kernel);

/** Picks the kernel's variant for the device and these arguments, one for each parameter, checks
 * them and launches. On a GPU the call returns at once; on the emulated device, and for kernels
 * that print or assert, when the kernel has run. What a kernel prints goes to stdout. */
GIRIH_API girih_status girih_launch(girih_kernel *kernel, const girih_argument *arguments,
                                    size_t count, girih_stream stream);
/** @} */

/** @name The device
 * One per process, chosen at the first call that needs it: a Hopper GPU, otherwise the emulated
 * device. The environment variable GIRIH_DEVICE (cuda, emulated) says which on purpose.
 * @{ */

/** The device's name; valid for ever. */
GIRIH_API girih_status girih_device_name(const char **name);
/** 1 for the emulated device, 0 for a GPU. */
GIRIH_API girih_status girih_device_is_emulated(int *emulated);

/** Device memory; `bytes` may be 0. */
GIRIH_API girih_status girih_allocate(size_t bytes, uint64_t *address);
GIRIH_API girih_status girih_free(uint64_t address);
/** Both wait for the copy. */
GIRIH_API girih_status girih_copy_to_device(uint64_t destination, const void *source, size_t bytes);
GIRIH_API girih_status girih_copy_to_host(void *destination, uint64_t source, size_t bytes);
/** Waits for everything on `stream`; fails with what the device found if a kernel on it failed. */
GIRIH_API girih_status girih_synchronize(girih_stream stream);
/** @} */

/** @name Arguments
 * @{ */

/** NULL stands for an absent optional argument. */
static inline girih_argument girih_from_array(const girih_array *array) {
  girih_argument argument;
  argument.kind = array ? GIRIH_ARRAY : GIRIH_ABSENT;
  argument.reserved = 0;
  if (array)
    argument.value.array = *array;
  else
    argument.value.integer = 0;
  return argument;
}

static inline girih_argument girih_from_integer(int64_t number) {
  girih_argument argument;
  argument.kind = GIRIH_INTEGER;
  argument.reserved = 0;
  argument.value.integer = number;
  return argument;
}

static inline girih_argument girih_from_float(double number) {
  girih_argument argument;
  argument.kind = GIRIH_FLOAT;
  argument.reserved = 0;
  argument.value.real = number;
  return argument;
}
/** @} */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GIRIH_RUNTIME_GIRIH_H */
