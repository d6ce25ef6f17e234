// Clusters and distributed shared memory through cooperative groups.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;

// A histogram whose bins are spread over the cluster's blocks.
extern "C" __global__ void cluster_histogram(const int *x, unsigned *counts, int n, int bins) {
  extern __shared__ unsigned own[];
  auto cluster = cg::this_cluster();
  int perBlock = bins / (int)cluster.num_blocks();
  for (int i = threadIdx.x; i < perBlock; i += blockDim.x)
    own[i] = 0;
  cluster.sync();
  for (int i = (int)cg::this_grid().thread_rank(); i < n; i += (int)cg::this_grid().num_threads()) {
    int bin = x[i];
    unsigned *remote = cluster.map_shared_rank(own, bin / perBlock);
    atomicAdd(remote + bin % perBlock, 1u);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < perBlock; i += blockDim.x)
    atomicAdd(&counts[cluster.block_rank() * perBlock + i], own[i]);
}

// Halves of a stencil from the neighbours' shared memory.
extern "C" __global__ void cluster_ring(const float *x, float *y, int steps) {
  __shared__ float values[2][64];
  auto cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), count = cluster.num_blocks();
  values[0][threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  for (int step = 0; step < steps; ++step) {
    float *now = values[step % 2];
    float left = threadIdx.x > 0 ? now[threadIdx.x - 1]
                                 : cluster.map_shared_rank(now, (rank + count - 1) % count)[63];
    float right = threadIdx.x < 63 ? now[threadIdx.x + 1]
                                   : cluster.map_shared_rank(now, (rank + 1) % count)[0];
    values[1 - step % 2][threadIdx.x] = 0.5f * (left + right);
    cluster.sync();
  }
  // The last of these barriers also keeps a block from leaving while another reads its memory.
  y[blockIdx.x * 64 + threadIdx.x] = values[steps % 2][threadIdx.x];
}

// arrive and wait split: work between them touches only own memory.
extern "C" __global__ void cluster_split_barrier(int *y) {
  __shared__ int mine, gathered;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0)
    gathered = 0;
  auto token = cluster.barrier_arrive();
  if (threadIdx.x == 0)
    mine = (int)blockIdx.x * 10;
  cluster.barrier_wait(cuda::std::move(token));
  if (threadIdx.x == 0)
    atomicAdd(cluster.map_shared_rank(&gathered, 0), mine + 1);
  cluster.sync();
  if (threadIdx.x == 0)
    y[blockIdx.x] = *cluster.map_shared_rank(&gathered, 0);
  cluster.sync();
}

// Reduce and scan of cooperative groups over tiles and a coalesced group.
extern "C" __global__ void cg_collectives(const int *x, int *sums, int *scans, int *odd) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
  sums[i] = cg::reduce(tile, value, cg::plus<int>());
  scans[i] = cg::exclusive_scan(tile, value);
  odd[i] = -1;
  if (value & 1) {
    auto group = cg::coalesced_threads();
    odd[i] = (int)(group.size() * 100 + group.thread_rank());
  }
}

// Shared memory of one block to its neighbour's by st.async, completion on the neighbour's
// mbarrier.
extern "C" __global__ void cluster_st_async(const int *x, int *y) {
  namespace ptx = cuda::ptx;
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ int inbox[128];
  __shared__ Barrier barrier;
  auto cluster = cg::this_cluster();
  unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
  if (threadIdx.x == 0)
    init(&barrier, 1);
  cluster.sync();
  uint64_t *native = cuda::device::barrier_native_handle(barrier);
  Barrier::arrival_token token;
  if (threadIdx.x == 0)
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(inbox));
  uint64_t *remoteBarrier = cluster.map_shared_rank(native, next);
  ptx::st_async(cluster.map_shared_rank(&inbox[threadIdx.x], next),
                x[blockIdx.x * 128 + threadIdx.x] + 1, remoteBarrier);
  barrier.wait_parity(false);
  y[blockIdx.x * 128 + threadIdx.x] = inbox[threadIdx.x];
  cluster.sync();
}

// A bulk copy from shared memory to a neighbour's shared memory.
extern "C" __global__ void cluster_bulk_copy(const int *x, int *y) {
  namespace ptx = cuda::ptx;
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int outbox[128];
  __shared__ alignas(16) int inbox[128];
  __shared__ Barrier barrier;
  auto cluster = cg::this_cluster();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0)
    init(&barrier, 1);
  outbox[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x] * 3;
  ptx::fence_proxy_async(ptx::space_shared);
  cluster.sync();
  if (threadIdx.x == 0) {
    (void)cuda::device::barrier_arrive_tx(barrier, 1, sizeof(inbox));
    uint64_t *remote = cluster.map_shared_rank(cuda::device::barrier_native_handle(barrier), next);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(inbox, next),
                       outbox, sizeof(outbox), remote);
  }
  barrier.wait_parity(false);
  y[blockIdx.x * 128 + threadIdx.x] = inbox[threadIdx.x];
  cluster.sync();
}
