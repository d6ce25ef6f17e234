"""girih.kernels on vectors: sums, histograms, dropout; at edges of tiles, under ten interleavings."""

import numpy as np
import pytest
from library_support import SEEDS, held, result

import girih as gr
from girih.kernels import dropout, histogram, saxpy, vector_add

# Nothing, one element, a tile less one, a tile, one more, several; the tile is B.
B = 256
SIZES = [0, 1, B - 1, B, B + 1, 4 * B + 17]


@pytest.mark.parametrize("n", SIZES)
def test_vector_add(n):
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, y = random.standard_normal((2, n)).astype(np.float32)
        z = gr.empty(n, gr.f32)
        with gr.emulator.options(seed=seed):
            vector_add(gr.asarray(x), gr.asarray(y), z, B=B)
        np.testing.assert_array_equal(z.numpy(), x + y)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("tile", [B, 64])
def test_saxpy(n, tile):
    """64 elements are held by two threads each: both load, one stores."""
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, y = random.standard_normal((2, n)).astype(np.float32)
        out = gr.asarray(y)
        with gr.emulator.options(seed=seed):
            saxpy(0.3, gr.asarray(x), out, B=tile)
        np.testing.assert_array_equal(out.numpy(), np.float32(0.3) * x + y)


@pytest.mark.parametrize("n", SIZES)
def test_histogram(n):
    for seed in SEEDS:
        x = np.random.default_rng(seed).integers(-2, 12, n).astype(np.int32)
        before = np.arange(10, dtype=np.int32)
        bins = gr.asarray(before)
        with gr.emulator.options(seed=seed):
            histogram(gr.asarray(x), bins, BLOCK=B)
        counted = x[(x >= 0) & (x < 10)]
        np.testing.assert_array_equal(bins.numpy(), before + np.bincount(counted, minlength=10))


def philox(seed, offset):
    """The first word of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011)."""
    key = [seed & 0xFFFFFFFF, seed >> 32]
    counter = [offset & 0xFFFFFFFF, offset >> 32, 0, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ counter[3] ^ key[1],
            first & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter[0]


def test_philox_is_that_of_the_paper():
    # The known answers of the authors' Random123 library, kat_vectors: philox4x32 10 of zeros.
    assert philox(0, 0) == 0x6627E8D5


@pytest.mark.parametrize("dtype", [gr.f32, gr.bf16])
@pytest.mark.parametrize("n", SIZES)
def test_dropout(n, dtype):
    p = 0.25
    for seed in SEEDS:
        key = seed * 0x1_0000_0001 + 5
        x, exact = held(np.random.default_rng(seed).standard_normal(n), dtype)
        y = gr.empty(n, dtype)
        with gr.emulator.options(seed=seed):
            dropout(x, y, p, key, B=B)
        # 24 bits of the word make a number below 1 that f32 holds.
        kept = np.array([(philox(key, i) >> 8) * 2.0**-24 >= p for i in range(n)], bool)
        expected, _ = held(np.where(kept, exact.astype(np.float32) / np.float32(0.75), 0), dtype)
        np.testing.assert_array_equal(result(y), result(expected))
