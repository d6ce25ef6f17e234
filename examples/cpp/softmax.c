/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Softmax of the rows of a matrix through girih's C interface, checked against a loop:
 * softmax KERNELS.girih */
#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 37, COLUMNS = 1100 };

static float x[ROWS][COLUMNS], y[ROWS][COLUMNS];

/* Ends the program with what the library says unless a call went well. */
static void check(girih_status status) {
  if (status == GIRIH_OK)
    return;
  fprintf(stderr, "softmax: %s\n", girih_last_error());
  exit(1);
}

/* The largest difference from the same in double precision, relative to the right number. */
static double worst(void) {
  double result = 0;
  for (int row = 0; row < ROWS; ++row) {
    double top = x[row][0], total = 0;
    for (int i = 0; i < COLUMNS; ++i)
      top = fmax(top, x[row][i]);
    for (int i = 0; i < COLUMNS; ++i)
      total += exp(x[row][i] - top);
    for (int i = 0; i < COLUMNS; ++i) {
      double right = exp(x[row][i] - top) / total;
      result = fmax(result, fabs(y[row][i] - right) / right);
    }
  }
  return result;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: softmax KERNELS.girih\n");
    return 2;
  }
  for (int row = 0; row < ROWS; ++row)
    for (int i = 0; i < COLUMNS; ++i)
      x[row][i] = (float)((row * 31 + i * 17) % 101) / 8 - 6;

  girih_package *package;
  check(girih_load_file(GIRIH_ABI, argv[1], &package));
  const int64_t shape[2] = {ROWS, COLUMNS};
  girih_array in = {0, GIRIH_F32, 2, shape, NULL}, out = {0, GIRIH_F32, 2, shape, NULL};
  check(girih_allocate(sizeof(x), &in.address));
  check(girih_allocate(sizeof(y), &out.address));
  check(girih_copy_to_device(in.address, x, sizeof(x)));
  check(kernels_softmax(package, &in, &out, NULL));
  check(girih_synchronize(NULL));
  check(girih_copy_to_host(y, out.address, sizeof(y)));
  check(girih_free(in.address));
  check(girih_free(out.address));
  girih_free_package(package);

  const char *device;
  check(girih_device_name(&device));
  double error = worst();
  printf("softmax: largest relative error %.1e, on %s\n", error, device);
  return error < 1e-5 ? 0 : 1;
}
