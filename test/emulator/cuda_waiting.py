# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ kernels that wait for each other, and that use memory in unusual ways."""

import numpy as np

from cuda_registry import cuda, f32, f64, i32, u32
from programs import Bf16, Close, Launch, sum_bound

# ---- Waiting ---------------------------------------------------------------------------------------------------------


@cuda("sync.cu")
def voting_barriers(rng):
    x = rng.integers(-99, 99, (3, 96), dtype=i32)
    votes = [(x > 0).sum(1), (x > -90).all(1), (x > 95).any(1)]
    want = np.repeat(np.stack(votes, 1)[:, None, :], 96, 1)
    return Launch(3, 96, [x, np.zeros((3, 96, 3), i32)], {1: want})


@cuda("sync.cu", {"rounds": 1}, {"rounds": 6})
def named_barriers(rng, rounds):
    x = rng.integers(-99, 99, (rounds, 2, 32), dtype=i32)
    return Launch(1, 128, [x, np.zeros_like(x), rounds], {1: x[:, :, ::-1]})


def chain(rng, blocks=12):
    x = rng.integers(-99, 99, blocks, dtype=i32)
    return Launch(blocks, 32, [x, np.zeros(blocks, i32), np.zeros(blocks, u32)], {1: x.cumsum()})


for name in ("chain_of_blocks", "chain_with_fences", "atomic_wait"):
    cuda("sync.cu", entry=name)(chain)


@cuda("sync.cu")
def semaphore_and_latch(rng):
    x = rng.integers(-99, 99, 8, dtype=i32)
    return Launch(2, 256, [x, np.zeros(4, i32)], {1: [x.sum(), 1, x.sum(), 1]})


@cuda("sync.cu", {"parts": 2, "length": 100}, {"parts": 5, "length": 333})
def stream_k_sums(rng, parts, length, tiles=3):
    x = rng.standard_normal((tiles, parts, length)).astype(f32)
    blocks = tiles * parts
    return Launch(
        blocks,
        128,
        [x, np.zeros(blocks, f32), np.zeros(blocks, u32), np.zeros(tiles, f32), parts, length],
        {3: Close(x.sum((1, 2), f64), sum_bound(x, parts * length, (1, 2)))},
    )


@cuda("sync.cu")
def registers_and_clocks(rng):
    x = rng.integers(-99, 99, 384, dtype=i32)
    return Launch(1, 384, [x, np.zeros(384, i32)], {1: x + 2})


# ---- Memory ----------------------------------------------------------------------------------------------------------


@cuda("memory.cu")
def cache_operators(rng):
    n = 96
    x = rng.integers(-99, 99, (n, 4), dtype=i32)
    want = 6 * x
    want[:, :2] += x[:, :2]
    want[:, 2] += x.view(np.int8).reshape(-1)[::16]
    want[:, 3] += x.view(np.uint16).reshape(n, 8)[:, 1]
    return Launch(3, 32, [x, np.zeros_like(x)], {1: want})


@cuda("memory.cu")
def atomic_sums(rng):
    x = rng.integers(-3, 4, 128).astype(f32)
    total = x.sum()
    outs = [np.zeros(1, f32), np.zeros(1, f64), np.zeros(2, np.float16), np.zeros(2, np.uint16)]
    outs += [np.zeros(4, f32), np.zeros(1, np.float16)]
    return Launch(
        2,
        64,
        [x, *outs],
        {
            1: [total],
            2: [total],
            3: [total, 128],
            4: Bf16(np.array([total, 128])),
            5: [total, 128, 256, -total],
            6: [128],
        },
    )


@cuda("memory.cu")
def atomic_integers(rng):
    x = rng.integers(0, 2**32, 160, dtype=u32)
    y = np.array([5, 5, 2**32 - 1, 5, 0, 0, 2**32 - 1, 2**31], u32)
    z = np.array([1, 0, 0, 0, 1], np.uint64)
    wide = x.tolist()
    product = 1
    for value in wide:
        product = product * (value | 1) % 2**64
    ored, wants = 0, [1 + sum(wide) * 256, max(v * v for v in wide), -max(wide) % 2**64]
    for value in wide:
        ored |= 1 << (value & 63)
    down = 0
    for _ in wide:
        down = 9 if down == 0 or down > 9 else down - 1
    want_y = [
        (5 + sum(wide)) % 2**32,
        (5 - sum(wide)) % 2**32,
        np.bitwise_and.reduce(x | u32(255)),
        u32(5) ^ np.bitwise_xor.reduce(x),
        160 % 7,
        down,
        x.min(),
        int(x.view(i32).max()) % 2**32,
    ]
    # atomicMin_block is atomic only within a block: one block.
    return Launch(
        1,
        160,
        [x, y, z],
        {1: np.array(want_y, u32), 2: np.array([*wants, ored, product], np.uint64)},
    )


@cuda("memory.cu")
def atomic_pairs(rng):
    rounds, count = 3, 40
    low, high = 0, 0
    for _ in range(rounds * count):
        low, high = low + 1, high + low
    want = np.array([low, high], np.uint64)
    return Launch(4, 10, [np.zeros(2, np.uint64), rounds], {0: want})


@cuda("memory.cu")
def linked_list(rng):
    x = rng.integers(-99, 99, 96, dtype=i32)
    pool, head = np.zeros((96, 2), np.uint64), np.zeros(1, np.uint64)
    counters = [np.zeros(1, u32), np.zeros(1, i32), np.zeros(1, u32)]
    return Launch(3, 32, [x, pool, head, *counters], {4: [x.sum()], 3: [96], 5: [96]})


@cuda("memory.cu")
def generic_pointers(rng):
    x = rng.integers(-99, 99, 32, dtype=i32)
    sums = {0: x[:4].sum() * 10 + 1, 1: x[:4].sum() * 20 + 2}
    want = [sums.get(i % 3, 10 * np.roll(x, -i)[:4].sum() + 4) for i in range(32)]
    return Launch(1, 32, [x, np.zeros(32, i32)], {1: np.array(want, i32)})
