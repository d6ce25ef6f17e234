// What ordinary kernels do: tiles in shared memory, atomics, vectors, local arrays, divergent
// control flow.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" __global__ void histogram(const unsigned char *x, unsigned *counts, int n) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (own[i])
      atomicAdd(&counts[i], own[i]);
}

extern "C" __global__ void transpose(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < rows && column < columns)
      tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (row + i < columns && column < rows)
      y[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int m, int n,
                                        int k) {
  __shared__ float tileA[16][16], tileB[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += 16) {
    int ka = start + threadIdx.x, kb = start + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    tileB[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i)
      sum += tileA[threadIdx.y][i] * tileB[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

// A vector of four floats a thread; the tail one by one.
extern "C" __global__ void axpy_vectors(float a, const float4 *x, float4 *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    float4 u = x[i], v = y[i];
    y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  } else {
    for (int j = 4 * i; j < n; ++j)
      ((float *)y)[j] = a * ((const float *)x)[j] + ((float *)y)[j];
  }
}

// An insertion sort in a local array with indices that are only known at run time.
extern "C" __global__ void local_arrays(const int *x, int *y, int n) {
  int values[16];
  for (int i = 0; i < n; ++i)
    values[i] = x[threadIdx.x * n + i];
  for (int i = 1; i < n; ++i) {
    int value = values[i], j = i;
    for (; j > 0 && values[j - 1] > value; --j)
      values[j] = values[j - 1];
    values[j] = value;
  }
  for (int i = 0; i < n; ++i)
    y[threadIdx.x * n + i] = values[i];
}

// Threads leave early, loops have their own lengths, switches have many arms.
extern "C" __global__ void divergence(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int value = x[i], steps = 0;
  while (value != 1 && steps < 200) {
    value = value % 2 ? 3 * value + 1 : value / 2;
    ++steps;
  }
  switch (steps % 7) {
  case 0:
    steps += 10;
    break;
  case 1:
    steps *= 3;
    [[fallthrough]];
  case 2:
    steps -= 1;
    break;
  case 3:
    steps = -steps;
    break;
  case 4:
    steps ^= 0x55;
    break;
  case 5:
    steps <<= 2;
    break;
  }
  y[i] = steps;
}

// A lock that each thread of each block takes once.
__device__ int lock = 0;

extern "C" __global__ void spin_lock(int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int *)counter = *(volatile int *)counter + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
