// Asynchronous copies within a block: cuda::barrier, cuda::pipeline and memcpy_async, which become
// cp.async and mbarriers, and bulk copies.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Two halves of a block pass a buffer back and forth through two barriers.
extern "C" __global__ void barrier_producer_consumer(const int *x, int *y, int rounds) {
  __shared__ int buffer[2][64];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier ready[2], filled[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) {
      init(&ready[i], 128);
      init(&filled[i], 128);
    }
  __syncthreads();
  int own = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int round = 0; round < rounds; ++round) {
      ready[round % 2].arrive_and_wait();
      buffer[round % 2][own] = x[round * 64 + own];
      (void)filled[round % 2].arrive();
    }
  } else {
    Barrier::arrival_token tokens[2] = {ready[0].arrive(), ready[1].arrive()};
    int sum = 0;
    for (int round = 0; round < rounds; ++round) {
      filled[round % 2].arrive_and_wait();
      sum += buffer[round % 2][63 - own];
      y[round * 64 + own] = sum;
      tokens[round % 2] = ready[round % 2].arrive();
    }
  }
}

// Threads that are done drop out of the barrier.
extern "C" __global__ void barrier_drop(int *y, int rounds) {
  __shared__ Barrier barrier;
  __shared__ int total;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    total = 0;
  }
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < round * 8) {
      barrier.arrive_and_drop();
      return;
    }
    atomicAdd(&total, 1);
    barrier.arrive_and_wait();
    if (threadIdx.x == blockDim.x - 1)
      y[round] = total;
    barrier.arrive_and_wait();
  }
}

// memcpy_async on a barrier: sums of tiles while the next tile is on its way.
extern "C" __global__ void barrier_memcpy_async(const float *x, float *y, int tiles) {
  __shared__ alignas(16) float buffer[2][256];
  __shared__ Barrier barriers[2];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) {
    init(&barriers[0], blockDim.x);
    init(&barriers[1], blockDim.x);
  }
  block.sync();
  cuda::memcpy_async(block, buffer[0], x, cuda::aligned_size_t<16>(sizeof(buffer[0])), barriers[0]);
  for (int tile = 0; tile < tiles; ++tile) {
    int now = tile % 2, next = 1 - now;
    if (tile + 1 < tiles)
      cuda::memcpy_async(block, buffer[next], x + (tile + 1) * 256,
                         cuda::aligned_size_t<16>(sizeof(buffer[0])), barriers[next]);
    barriers[now].arrive_and_wait();
    y[tile * blockDim.x + threadIdx.x] = buffer[now][threadIdx.x] + buffer[now][255 - threadIdx.x];
    block.sync();
  }
}

// The unified pipeline over a block with shared state.
extern "C" __global__ void pipeline_block(const float *x, float *y, int tiles) {
  constexpr int Stages = 3;
  __shared__ alignas(16) float buffer[Stages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int fetched = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (; fetched < tiles && fetched < tile + Stages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffer[fetched % Stages], x + fetched * 128,
                         cuda::aligned_size_t<16>(sizeof(buffer[0])), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    block.sync();
    y[tile * 128 + threadIdx.x] = 2.0f * buffer[tile % Stages][127 - threadIdx.x];
    block.sync();
    pipeline.consumer_release();
  }
}

// Producer and consumer warps of one pipeline.
extern "C" __global__ void pipeline_roles(const float *x, float *y, int tiles) {
  constexpr int Stages = 2;
  __shared__ alignas(16) float buffer[Stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  auto block = cg::this_thread_block();
  bool producer = threadIdx.x < 64;
  auto pipeline = cuda::make_pipeline(
      block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  int own = threadIdx.x % 64;
  for (int tile = 0; tile < tiles; ++tile) {
    if (producer) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&buffer[tile % Stages][own], &x[tile * 64 + own],
                         cuda::aligned_size_t<4>(4), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      y[tile * 64 + own] = buffer[tile % Stages][63 - own] + 1.0f;
      pipeline.consumer_release();
    }
  }
}

// Each thread's own pipeline: cp.async groups without barriers.
extern "C" __global__ void pipeline_thread(const float4 *x, float4 *y, int tiles) {
  __shared__ float4 buffer[4][64];
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  int fetched = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    for (; fetched < tiles && fetched < tile + 4; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&buffer[fetched % 4][threadIdx.x], &x[fetched * 64 + threadIdx.x],
                         cuda::aligned_size_t<16>(16), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    float4 value = buffer[tile % 4][threadIdx.x];
    y[tile * 64 + threadIdx.x] = make_float4(value.w, value.z, value.y, value.x);
    pipeline.consumer_release();
  }
}

// cooperative_groups' own memcpy_async and wait.
extern "C" __global__ void cg_memcpy_async(const int *x, int *y, int tiles) {
  __shared__ alignas(16) int buffer[128];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (int tile = 0; tile < tiles; ++tile) {
    cg::memcpy_async(block, buffer, x + tile * 128, cuda::aligned_size_t<16>(sizeof(buffer)));
    cg::wait(block);
    int value = buffer[threadIdx.x ^ 5];
    for (int offset = warp.size() / 2; offset > 0; offset /= 2)
      value += warp.shfl_xor(value, offset);
    y[tile * 128 + threadIdx.x] = value;
    block.sync();
  }
}

// A tiled matmul whose tiles come by cp.async, three stages ahead.
extern "C" __global__ void matmul_pipelined(const float *a, const float *b, float *c, int n,
                                            int k) {
  constexpr int Tile = 32, Stages = 3;
  extern __shared__ __align__(16) float memory[];
  auto tileA = [&](int stage) { return memory + stage * 2 * Tile * Tile; };
  auto tileB = [&](int stage) { return tileA(stage) + Tile * Tile; };
  auto pipeline = cuda::make_pipeline();
  int steps = k / Tile;
  // Commits a group for steps behind the last, too: the wait counts groups.
  auto fetch = [&](int step) {
    int row = threadIdx.x / 8, column = threadIdx.x % 8 * 4, stage = step % Stages;
    pipeline.producer_acquire();
    if (step < steps) {
      cuda::memcpy_async(tileA(stage) + row * Tile + column,
                         a + (blockIdx.y * Tile + row) * k + step * Tile + column,
                         cuda::aligned_size_t<16>(16), pipeline);
      cuda::memcpy_async(tileB(stage) + row * Tile + column,
                         b + (step * Tile + row) * n + blockIdx.x * Tile + column,
                         cuda::aligned_size_t<16>(16), pipeline);
    }
    pipeline.producer_commit();
  };
  float sums[4] = {};
  int row = threadIdx.x / 8, column = threadIdx.x % 8 * 4;
  for (int step = 0; step < Stages - 1; ++step)
    fetch(step);
  for (int step = 0; step < steps; ++step) {
    fetch(step + Stages - 1);
    cuda::pipeline_consumer_wait_prior<Stages - 1>(pipeline);
    __syncthreads();
    for (int i = 0; i < Tile; ++i)
      for (int j = 0; j < 4; ++j)
        sums[j] +=
            tileA(step % Stages)[row * Tile + i] * tileB(step % Stages)[i * Tile + column + j];
    __syncthreads();
    pipeline.consumer_release();
  }
  for (int j = 0; j < 4; ++j)
    c[(blockIdx.y * Tile + row) * n + blockIdx.x * Tile + column + j] = sums[j];
}
