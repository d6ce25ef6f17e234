// Sums of an array, from one warp's shuffles to a barrier over the whole grid.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

__device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

// The sum in thread 0.
__device__ float blockSum(float value) {
  __shared__ float partial[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warpSum(value);
  if (lane == 0)
    partial[warp] = value;
  __syncthreads();
  int warps = (blockDim.x + 31) / 32;
  value = threadIdx.x < warps ? partial[lane] : 0.0f;
  if (warp == 0)
    value = warpSum(value);
  return value;
}

extern "C" __global__ void reduce_shuffle(const float *x, float *sums, int n) {
  float value = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  value = blockSum(value);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = value;
}

extern "C" __global__ void reduce_tree(const int *x, int *sums, int n) {
  extern __shared__ int tree[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tree[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      tree[threadIdx.x] += tree[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = tree[0];
}

// Global and shared atomics of several types.
extern "C" __global__ void reduce_atomic(const int *x, int n, int *sum, int *low, int *high,
                                         unsigned *bits, double *exact) {
  __shared__ int partial;
  if (threadIdx.x == 0)
    partial = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&partial, x[i]);
    atomicMin(low, x[i]);
    atomicMax(high, x[i]);
    atomicOr(bits, 1u << (x[i] & 31));
    atomicAdd(exact, (double)x[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd(sum, partial);
}

extern "C" __global__ void reduce_warp_hardware(const int *x, int *sums, unsigned *masks, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? x[i] : 0;
  int sum = __reduce_add_sync(0xffffffff, value);
  int top = __reduce_max_sync(0xffffffff, value);
  unsigned any = __reduce_or_sync(0xffffffff, (unsigned)value);
  unsigned odd = __ballot_sync(0xffffffff, value & 1);
  unsigned same = __match_any_sync(0xffffffff, value & 3);
  int all = 0;
  unsigned equal = __match_all_sync(0xffffffff, value >> 31, &all);
  masks[i] = same;
  if (threadIdx.x % 32 == 0) {
    int *out = sums + (i / 32) * 6;
    out[0] = sum;
    out[1] = top;
    out[2] = (int)any;
    out[3] = (int)odd;
    out[4] = all;
    out[5] = (int)equal;
  }
}

// The last block to arrive adds the others' sums: a fence, an atomic counter, plain reads.
__device__ unsigned arrived = 0;

extern "C" __global__ void reduce_last_block(const float *x, volatile float *partial, float *sum,
                                             int n) {
  __shared__ bool last;
  float value = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  value = blockSum(value);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = value;
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  value = 0.0f;
  for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
    value += partial[i];
  __syncthreads();
  value = blockSum(value);
  if (threadIdx.x == 0)
    *sum = value;
}

// A barrier over the grid, made of one counter that all blocks spin on.
__device__ unsigned gridCount = 0;

__device__ void gridBarrier() {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    unsigned ticket = atomicAdd(&gridCount, 1);
    unsigned goal = (ticket / gridDim.x + 1) * gridDim.x;
    while (*(volatile unsigned *)&gridCount < goal)
      __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}

// Jacobi steps on a ring: each step reads what other blocks wrote in the step before.
extern "C" __global__ void grid_barrier_steps(float *a, float *b, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < steps; ++step) {
    if (i < n)
      b[i] = 0.5f * (a[(i + 1) % n] + a[(i + n - 1) % n]);
    gridBarrier();
    float *swap = a;
    a = b;
    b = swap;
  }
}
