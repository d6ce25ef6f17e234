# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ reductions and scans, and what NumPy says they compute."""

import numpy as np

from cuda_registry import cuda, f32, f64, i32, u32
from programs import Close, Launch, ceil, sum_bound

# ---- Reductions ------------------------------------------------------------------------------------------------------


def block_sums(x, blocks, threads):
    """Sums of the elements that each block of a grid-stride loop visits, and their absolute values."""
    owner = np.arange(len(x)) // threads % blocks
    return (
        np.bincount(owner, x.astype(f64), blocks),
        np.bincount(owner, np.abs(x).astype(f64), blocks),
    )


@cuda("reduce.cu", {"n": 1000}, {"n": 4096, "threads": 128}, {"n": 31, "threads": 1024})
def reduce_shuffle(rng, n, threads=256, blocks=3):
    x = rng.standard_normal(n).astype(f32)
    sums, sizes = block_sums(x, blocks, threads)
    return Launch(
        blocks,
        threads,
        [x, np.full(blocks, np.nan, f32), n],
        {1: Close(sums, sizes * n * 2.0**-24)},
    )


@cuda("reduce.cu", {"n": 1000}, {"n": 64, "threads": 64})
def reduce_tree(rng, n, threads=256):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    blocks = ceil(n, threads)
    padded = np.pad(x, (0, blocks * threads - n)).reshape(blocks, threads)
    return Launch(
        blocks, threads, [x, np.zeros(blocks, i32), n], {1: padded.sum(1)}, shared=4 * threads
    )


@cuda("reduce.cu", {"n": 500})
def reduce_atomic(rng, n):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    bits = np.bitwise_or.reduce(u32(1) << (x & 31).astype(u32))
    outs = [np.zeros(1, i32), np.full(1, 2**30, i32), np.full(1, -(2**30), i32)]
    outs += [np.zeros(1, u32), np.zeros(1, f64)]
    return Launch(
        3,
        96,
        [x, n, *outs],
        {2: [x.sum()], 3: [x.min()], 4: [x.max()], 5: [bits], 6: [float(x.sum())]},
    )


@cuda("reduce.cu", {"n": 100}, {"n": 128})
def reduce_warp_hardware(rng, n):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    x[:32] = np.abs(x[:32])
    lanes = np.pad(x, (0, 128 - n)).reshape(4, 32)
    order = np.arange(32)
    out = np.empty((4, 6), i32)
    out[:, 0], out[:, 1] = lanes.sum(1), lanes.max(1)
    out[:, 2] = np.bitwise_or.reduce(lanes, 1)
    out[:, 3] = ((lanes & 1).astype(u32) << order).sum(1).astype(u32).view(i32)
    out[:, 4] = (lanes >> 31 == (lanes >> 31)[:, :1]).all(1)
    out[:, 5] = np.where(out[:, 4], -1, 0)
    same = ((lanes & 3)[:, :, None] == (lanes & 3)[:, None, :]).astype(u32)
    masks = (same << order.astype(u32)).sum(2).astype(u32).reshape(-1)
    return Launch(2, 64, [x, np.zeros((4, 6), i32), np.zeros(128, u32), n], {1: out, 2: masks})


@cuda("reduce.cu", {"n": 3000}, {"n": 200, "blocks": 7})
def reduce_last_block(rng, n, blocks=4):
    x = rng.standard_normal(n).astype(f32)
    return Launch(
        blocks,
        128,
        [x, np.zeros(blocks, f32), np.zeros(1, f32), n],
        {2: Close(np.array([x.astype(f64).sum()]), sum_bound(x, n))},
    )


@cuda("reduce.cu", {"n": 250, "steps": 3}, {"n": 256, "steps": 4})
def grid_barrier_steps(rng, n, steps):
    a = rng.integers(-1000, 1000, n).astype(f32) * 2**steps
    want = [a, np.zeros(n, f32)]
    for step in range(steps):
        now = want[step % 2]
        want[1 - step % 2] = (np.roll(now, -1) + np.roll(now, 1)) / 2
    return Launch(4, 64, [a, np.zeros(n, f32), n, steps], dict(enumerate(want)))


# ---- Scans -----------------------------------------------------------------------------------------------------------


@cuda("scan.cu")
def scan_warps(rng):
    x = rng.integers(-99, 99, 256, dtype=i32)
    want = x.reshape(-1, 32).cumsum(1).reshape(-1)
    return Launch(2, 128, [x, np.zeros(256, i32)], {1: want})


@cuda("scan.cu", {"n": 1000}, {"n": 512})
def scan_blocks(rng, n, threads=256):
    x = rng.integers(-99, 99, n, dtype=i32)
    want = np.concatenate([x[i : i + threads].cumsum() for i in range(0, n, threads)])
    return Launch(ceil(n, threads), threads, [x, np.zeros(n, i32), n], {1: want})


@cuda("scan.cu")
def scan_two_buffers(rng):
    x = rng.integers(-99, 99, 512, dtype=i32)
    want = x.reshape(2, 256).cumsum(1).reshape(-1)
    return Launch(2, 256, [x, np.zeros(512, i32)], {1: want})


@cuda("scan.cu", {"n": 1000}, {"n": 640})
def scan_look_back(rng, n, threads=128):
    x = rng.integers(-99, 99, n, dtype=i32)
    tiles = ceil(n, threads)
    scratch = [np.zeros(tiles, np.uint64), np.zeros(1, u32)]
    return Launch(tiles, threads, [x, np.zeros(n, i32), *scratch, n], {1: x.cumsum()})


@cuda("scan.cu", {"n": 1000})
def scan_look_back_acquire(rng, n, threads=128):
    x = rng.integers(-99, 99, n, dtype=i32)
    tiles = ceil(n, threads)
    scratch = [np.zeros(tiles, i32), np.zeros(tiles, i32), np.zeros(tiles, u32)]
    return Launch(tiles, threads, [x, np.zeros(n, i32), *scratch, n], {1: x.cumsum()})
