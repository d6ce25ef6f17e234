"""girih.kernels that move numbers: transposition, rows of a table; bit for bit, at edges of tiles, under ten interleavings."""

import numpy as np
import pytest
from library_support import SEEDS, held, result

import girih as gr
from girih.kernels import embedding, transpose

TYPES = [gr.f32, gr.bf16]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (63, 31), (64, 32), (65, 33), (200, 100)], ids=str
)
def test_transpose(shape, dtype):
    for seed in SEEDS:
        x, exact = held(np.random.default_rng(seed).standard_normal(shape), dtype)
        y = gr.empty(shape[::-1], dtype)
        with gr.emulator.options(seed=seed):
            transpose(x, y, BM=64, BN=32)
        np.testing.assert_array_equal(result(y), exact.T)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(("n", "d"), [(0, 5), (1, 1), (15, 63), (16, 64), (17, 65), (70, 200)])
def test_embedding(n, d, dtype):
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        table, exact = held(random.standard_normal((50, d)), dtype)
        ids = random.integers(-3, 53, n).astype(np.int32)
        y = gr.empty((n, d), dtype)
        with gr.emulator.options(seed=seed):
            embedding(table, gr.asarray(ids), y, BN=16, BD=64)
        known = (ids >= 0) & (ids < 50)
        np.testing.assert_array_equal(
            result(y), np.where(known[:, None], exact[np.where(known, ids, 0)], 0)
        )
