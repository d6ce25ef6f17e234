/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface as a C99 program sees it: includes nothing but girih.h. Returns the line of the first
 * call that went wrong, 0 if none did. */
#include "girih/Runtime/girih.h"

#define CHECK(call)                                                                                \
  if ((call) != GIRIH_OK)                                                                          \
  return __LINE__

int copyThroughAPackage(const void *data, size_t bytes, const float *source, float *target,
                        int64_t rows, int64_t columns);

/* Copies a matrix by the kernel `copy` of a package. */
int copyThroughAPackage(const void *data, size_t bytes, const float *source, float *target,
                        int64_t rows, int64_t columns) {
  girih_package *package;
  girih_kernel *kernel;
  uint64_t from, to;
  const int64_t shape[2] = {rows, columns};
  size_t size = (size_t)(rows * columns) * sizeof(float);
  CHECK(girih_load_memory(GIRIH_ABI, data, bytes, &package));
  CHECK(girih_find_kernel(package, "copy", &kernel));
  CHECK(girih_allocate(size, &from));
  CHECK(girih_allocate(size, &to));
  CHECK(girih_copy_to_device(from, source, size));
  {
    girih_array a = {from, GIRIH_F32, 2, shape, NULL}, b = {to, GIRIH_F32, 2, shape, NULL};
    girih_argument arguments[2];
    arguments[0] = girih_from_array(&a);
    arguments[1] = girih_from_array(&b);
    CHECK(girih_launch(kernel, arguments, 2, NULL));
  }
  CHECK(girih_synchronize(NULL));
  CHECK(girih_copy_to_host(target, to, size));
  CHECK(girih_free(from));
  CHECK(girih_free(to));
  girih_free_package(package);
  return 0;
}
