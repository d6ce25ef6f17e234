// Bulk and tensor copies by cuda::ptx and cuda::device, with tensor maps as grid constants.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

struct alignas(64) CUtensorMap_st {
  unsigned long long opaque[16];
};

// One array through shared memory by bulk copies, one added on the way.
extern "C" __global__ void bulk_increment(int *x, int n) {
  __shared__ alignas(16) int tile[256];
  __shared__ Barrier barrier;
  int start = blockIdx.x * 256, count = min(256, n - start);
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(tile, x + start, count * 4, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, count * 4);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(cuda::std::move(token));
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    tile[i] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, x + start, tile, count * 4);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// A sum over blocks by bulk reductions into global memory.
extern "C" __global__ void bulk_reduce(const int *x, int *sums) {
  __shared__ alignas(16) int tile[128];
  tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, tile,
                              sizeof(tile));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

// A 2-D tile in, scaled, out again; maps may reach over the edge of the tensor.
extern "C" __global__ void tensor_scale(const __grid_constant__ CUtensorMap in,
                                        const __grid_constant__ CUtensorMap out, float scale) {
  __shared__ alignas(128) float tile[32][16];
  __shared__ Barrier barrier;
  int column = blockIdx.x * 16, row = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    const int32_t where[2] = {column, row};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, where,
                              cuda::device::barrier_native_handle(barrier));
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(tile));
  } else {
    token = barrier.arrive();
  }
  barrier.wait(cuda::std::move(token));
  for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x)
    tile[i / 16][i % 16] *= scale;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    const int32_t where[2] = {column, row};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, where, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

// A transpose of 16-byte chunks through a tile with the 128-byte swizzle, undone by hand (the
// 16-byte chunk is XORed with the row's low three bits, PTX ISA 9.0, 5.5.6).
extern "C" __global__ void tensor_swizzled(const __grid_constant__ CUtensorMap in, int *y) {
  __shared__ alignas(1024) int tile[64 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const int32_t where[3] = {(int)blockIdx.x * 32, 0, (int)blockIdx.y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, where, &barrier);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                   sizeof(tile));
  }
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
    ;
  int *out = y + (blockIdx.y * gridDim.x + blockIdx.x) * 64 * 32;
  for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) {
    int row = i / 32, column = i % 32;
    out[column * 64 + row] = tile[row * 32 + ((column / 4) ^ (row % 8)) * 4 + column % 4];
  }
}

// One block of the cluster fetches a tile for all of them.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    tensor_multicast(const __grid_constant__ CUtensorMap in, float *y) {
  __shared__ alignas(128) float tile[8][32];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned rank = ptx::get_sreg_cluster_ctarank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &barrier,
                                   sizeof(tile));
  }
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
  if (rank == 0 && threadIdx.x == 0) {
    const int32_t where[2] = {0, (int)(blockIdx.x / 4) * 8};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, where, &barrier,
                              (uint16_t)0xf);
  }
  while (!ptx::mbarrier_try_wait_parity(&barrier, 0))
    ;
  y[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32] * (rank + 1);
  // The copy into this block is over; the others' memory is theirs.
}

// A ring of stages between one producer warp and consumers, as in a GEMM's main loop.
extern "C" __global__ void tensor_ring(const __grid_constant__ CUtensorMap in, float *y,
                                       int steps) {
  constexpr int Stages = 3;
  __shared__ alignas(128) float tiles[Stages][8 * 32];
  __shared__ alignas(8) unsigned long long full[Stages], empty[Stages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < Stages; ++i) {
      ptx::mbarrier_init(&full[i], 1);
      ptx::mbarrier_init(&empty[i], 128);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int step = 0; step < steps; ++step) {
        int stage = step % Stages, phase = step / Stages % 2;
        while (!ptx::mbarrier_try_wait_parity(&empty[stage], phase ^ 1))
          ;
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                       &full[stage], sizeof(tiles[0]));
        const int32_t where[2] = {step * 32, (int)blockIdx.x * 8};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tiles[stage], &in, where,
                                  &full[stage]);
      }
    return;
  }
  float low = 0.0f, high = 0.0f;
  for (int step = 0; step < steps; ++step) {
    int stage = step % Stages, phase = step / Stages % 2;
    while (!ptx::mbarrier_try_wait_parity(&full[stage], phase))
      ;
    low += tiles[stage][threadIdx.x];
    high += tiles[stage][threadIdx.x + 128];
    ptx::mbarrier_arrive(&empty[stage]);
  }
  y[blockIdx.x * 256 + threadIdx.x] = low;
  y[blockIdx.x * 256 + 128 + threadIdx.x] = high;
}
