# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ kernels that copy asynchronously, within a block, in clusters and by TMA."""

import numpy as np

from cuda_registry import cuda, f32, f64, i32, u32
from emulated import TensorMap
from programs import Close, Launch, ceil, dot_bound

# ---- Asynchronous copies within a block ------------------------------------------------------------------------------


@cuda("async.cu", {"rounds": 5}, {"rounds": 8})
def barrier_producer_consumer(rng, rounds):
    x = rng.integers(-99, 99, (rounds, 64), dtype=i32)
    want = x[:, ::-1].cumsum(0)
    return Launch(1, 128, [x, np.zeros((rounds, 64), i32), rounds], {1: want})


@cuda("async.cu")
def barrier_drop(rng):
    rounds, threads = 4, 64
    want = np.cumsum([threads - 8 * r for r in range(rounds)])
    return Launch(1, threads, [np.zeros(rounds, i32), rounds], {0: want})


@cuda("async.cu", {"tiles": 1}, {"tiles": 5})
def barrier_memcpy_async(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 256)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 128), f32), tiles], {1: (x + x[:, ::-1])[:, :128]})


@cuda("async.cu", {"tiles": 2}, {"tiles": 7})
def pipeline_block(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 128)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 128), f32), tiles], {1: 2 * x[:, ::-1]})


@cuda("async.cu", {"tiles": 1}, {"tiles": 6})
def pipeline_roles(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 64)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 64), f32), tiles], {1: x[:, ::-1] + 1})


@cuda("async.cu", {"tiles": 3}, {"tiles": 9})
def pipeline_thread(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 64, 4)).astype(f32)
    return Launch(1, 64, [x, np.zeros((tiles, 64, 4), f32), tiles], {1: x[:, :, ::-1]})


@cuda("async.cu", {"tiles": 3})
def cg_memcpy_async(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 128), dtype=i32)
    shuffled = x[:, np.arange(128) ^ 5].reshape(tiles, 4, 32)
    want = np.repeat(shuffled.sum(2), 32, 1)
    return Launch(1, 128, [x, np.zeros((tiles, 128), i32), tiles], {1: want})


@cuda("async.cu", {"m": 32, "n": 32, "k": 32}, {"m": 64, "n": 32, "k": 160})
def matmul_pipelined(rng, m, n, k):
    a = rng.standard_normal((m, k)).astype(f32)
    b = rng.standard_normal((k, n)).astype(f32)
    return Launch(
        (n // 32, m // 32),
        256,
        [a, b, np.zeros((m, n), f32), n, k],
        {2: Close(a.astype(f64) @ b.astype(f64), dot_bound(a, b))},
        shared=3 * 2 * 32 * 32 * 4,
    )


# ---- Clusters --------------------------------------------------------------------------------------------------------


@cuda("cluster.cu", {"blocks": 4, "cluster": 2}, {"blocks": 8, "cluster": 8})
def cluster_histogram(rng, blocks, cluster, n=900, bins=64):
    x = rng.integers(0, bins, n, dtype=i32)
    return Launch(
        blocks,
        64,
        [x, np.zeros(bins, u32), n, bins],
        {1: np.bincount(x, minlength=bins)},
        cluster=cluster,
        shared=4 * bins // cluster,
    )


@cuda(
    "cluster.cu",
    {"cluster": 4, "steps": 3},
    {"cluster": 2, "steps": 4},
    {"cluster": 16, "steps": 2},
)
def cluster_ring(rng, cluster, steps):
    x = rng.integers(-99, 99, (16, 64)).astype(f32) * 2**steps
    want = x.reshape(-1, cluster * 64)
    for _ in range(steps):
        want = (np.roll(want, 1, 1) + np.roll(want, -1, 1)) / 2
    return Launch(
        16, 64, [x, np.zeros((16, 64), f32), steps], {1: want.reshape(16, 64)}, cluster=cluster
    )


@cuda("cluster.cu")
def cluster_split_barrier(rng):
    ids = np.arange(8, dtype=i32)
    want = np.repeat((ids * 10 + 1).reshape(2, 4).sum(1), 4)
    return Launch(8, 32, [np.zeros(8, i32)], {0: want}, cluster=4)


@cuda("cluster.cu")
def cg_collectives(rng):
    x = rng.integers(-99, 99, 128, dtype=i32)
    tiles = x.reshape(-1, 16)
    sums = np.repeat(tiles.sum(1), 16)
    scans = tiles.cumsum(1) - tiles
    odd = (x & 1).reshape(-1, 32)
    rank = odd.cumsum(1) - odd
    want = np.where(odd, odd.sum(1, keepdims=True) * 100 + rank, -1).reshape(-1)
    outs = [np.zeros(128, i32) for _ in range(3)]
    return Launch(2, 64, [x, *outs], {1: sums, 2: scans.reshape(-1), 3: want})


@cuda("cluster.cu", {"cluster": 2}, {"cluster": 4})
def cluster_st_async(rng, cluster):
    x = rng.integers(-99, 99, (4, 128), dtype=i32)
    want = np.roll(x.reshape(-1, cluster, 128), 1, 1).reshape(4, 128) + 1
    return Launch(4, 128, [x, np.zeros((4, 128), i32)], {1: want}, cluster=cluster)


@cuda("cluster.cu", {"cluster": 2}, {"cluster": 4})
def cluster_bulk_copy(rng, cluster):
    x = rng.integers(-99, 99, (4, 128), dtype=i32)
    want = np.roll(x.reshape(-1, cluster, 128), 1, 1).reshape(4, 128) * 3
    return Launch(4, 128, [x, np.zeros((4, 128), i32)], {1: want}, cluster=cluster)


# ---- Bulk and tensor copies ------------------------------------------------------------------------------------------


@cuda("tma.cu", {"n": 512}, {"n": 256 * 3 + 64})
def bulk_increment(rng, n):
    x = rng.integers(-99, 99, n, dtype=i32)
    return Launch(ceil(n, 256), 128, [x, n], {0: x + 1})


@cuda("tma.cu")
def bulk_reduce(rng):
    x = rng.integers(-99, 99, (5, 128), dtype=i32)
    return Launch(5, 128, [x, np.zeros(128, i32)], {1: x.sum(0)})


@cuda("tma.cu", {"rows": 64, "columns": 32}, {"rows": 50, "columns": 36})
def tensor_scale(rng, rows, columns):
    x = rng.standard_normal((rows, columns)).astype(f32)
    y = np.zeros((rows, columns), f32)
    box = (32, 16)
    launch = Launch(
        (ceil(columns, 16), ceil(rows, 32)),
        128,
        [TensorMap(x, "f32", box), TensorMap(y, "f32", box), f32(2)],
        {1: 2 * x},
    )
    return launch


@cuda("tma.cu")
def tensor_swizzled(rng):
    x = rng.integers(-999, 999, (2, 64, 64), dtype=i32)
    want = x.reshape(2, 64, 2, 32).transpose(0, 2, 3, 1)
    y = np.zeros((2, 2, 32, 64), i32)
    return Launch((2, 2), 128, [TensorMap(x, "i32", (1, 64, 32), swizzle=128), y], {1: want})


@cuda("tma.cu")
def tensor_multicast(rng):
    x = rng.integers(-99, 99, (16, 32)).astype(f32)
    want = x.reshape(2, 1, 256) * np.arange(1, 5)[None, :, None]
    return Launch(8, 256, [TensorMap(x, "f32", (8, 32)), np.zeros((2, 4, 256), f32)], {1: want})


@cuda("tma.cu", {"steps": 2}, {"steps": 8})
def tensor_ring(rng, steps):
    x = rng.integers(-99, 99, (16, 32 * steps)).astype(f32)
    want = x.reshape(2, 8, steps, 32).sum(2).reshape(2, 256)
    return Launch(2, 160, [TensorMap(x, "f32", (8, 32)), np.zeros((2, 256), f32), steps], {1: want})
