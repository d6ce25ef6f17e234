// Prefix sums: within a warp, within a block, and over the grid in one pass with decoupled
// look-back.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

__device__ int warpScan(int value) {
  int lane = threadIdx.x % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset)
      value += other;
  }
  return value;
}

__device__ int blockScan(int value, int *warpTotals) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warpScan(value);
  if (lane == 31)
    warpTotals[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int total = lane < blockDim.x / 32 ? warpTotals[lane] : 0;
    total = warpScan(total);
    if (lane < blockDim.x / 32)
      warpTotals[lane] = total;
  }
  __syncthreads();
  if (warp > 0)
    value += warpTotals[warp - 1];
  return value;
}

extern "C" __global__ void scan_warps(const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = warpScan(x[i]);
}

extern "C" __global__ void scan_blocks(const int *x, int *y, int n) {
  __shared__ int totals[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = blockScan(i < n ? x[i] : 0, totals);
  if (i < n)
    y[i] = value;
}

// Kogge and Stone's scan in shared memory with two buffers.
extern "C" __global__ void scan_two_buffers(const int *x, int *y) {
  __shared__ int buffers[2][256];
  int from = 0;
  buffers[0][threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  for (int offset = 1; offset < 256; offset *= 2) {
    __syncthreads();
    int value = buffers[from][threadIdx.x];
    if (threadIdx.x >= offset)
      value += buffers[from][threadIdx.x - offset];
    buffers[from ^ 1][threadIdx.x] = value;
    from ^= 1;
  }
  y[blockIdx.x * 256 + threadIdx.x] = buffers[from][threadIdx.x];
}

// State of a tile: 0 nothing, 1 its own sum, 2 the sum up to its end. Value and state share 64
// bits, so one store publishes both. Tiles are numbered as they start, so a tile waits only for
// tiles that run.
extern "C" __global__ void scan_look_back(const int *x, int *y, unsigned long long *state,
                                          unsigned *nextTile, int n) {
  __shared__ int totals[32];
  __shared__ unsigned tileShared;
  __shared__ int before;
  if (threadIdx.x == 0)
    tileShared = atomicAdd(nextTile, 1);
  __syncthreads();
  unsigned tile = tileShared;
  int i = tile * blockDim.x + threadIdx.x;
  int value = blockScan(i < n ? x[i] : 0, totals);
  int total = totals[blockDim.x / 32 - 1];
  volatile unsigned long long *states = state;
  if (threadIdx.x == 0) {
    states[tile] = (unsigned long long)(tile == 0 ? 2 : 1) << 32 | (unsigned)total;
    int sum = 0;
    for (int other = (int)tile - 1; other >= 0;) {
      unsigned long long seen = states[other];
      unsigned status = (unsigned)(seen >> 32);
      if (status == 0)
        continue;
      sum += (int)(unsigned)seen;
      if (status == 2)
        break;
      --other;
    }
    if (tile > 0)
      states[tile] = (unsigned long long)2 << 32 | (unsigned)(sum + total);
    before = sum;
  }
  __syncthreads();
  if (i < n)
    y[i] = value + before;
}

// The same with state and values in separate words, ordered by release and acquire.
extern "C" __global__ void scan_look_back_acquire(const int *x, int *y, int *sums, int *prefixes,
                                                  unsigned *flags, int n) {
  __shared__ int totals[32];
  __shared__ int before;
  unsigned tile = blockIdx.x;
  int i = tile * blockDim.x + threadIdx.x;
  int value = blockScan(i < n ? x[i] : 0, totals);
  int total = totals[blockDim.x / 32 - 1];
  if (threadIdx.x == 0) {
    if (tile > 0) {
      sums[tile] = total;
      __nv_atomic_store_n(&flags[tile], 1u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    }
    int sum = 0;
    for (int other = (int)tile - 1; other >= 0;) {
      unsigned status =
          __nv_atomic_load_n(&flags[other], __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
      if (status == 0)
        continue;
      if (status == 2) {
        sum += prefixes[other];
        break;
      }
      sum += sums[other];
      --other;
    }
    prefixes[tile] = sum + total;
    __nv_atomic_store_n(&flags[tile], 2u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    before = sum;
  }
  __syncthreads();
  if (i < n)
    y[i] = value + before;
}
