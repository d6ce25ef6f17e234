# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stream-K: every way in which runs of k steps can meet tiles, and sums that depend on no schedule."""

from __future__ import annotations

import numpy as np
import pytest

import girih as gr
from girih.kernels import stream_k_matmul

# The conftest of this folder gives the device two multiprocessors.
CTAS = gr.device.multiprocessors()
TILE = {"BM": 64, "BN": 64, "BK": 32}
# No row, no step, fewer steps than CTAs, runs inside a tile, over tiles, ends of tiles and of runs together, edges.
SHAPES = [
    (0, 8, 8),
    (8, 8, 0),
    (1, 8, 8),
    (64, 64, 32),
    (64, 64, 320),
    (63, 72, 40),
    (65, 64, 96),
    (130, 136, 200),
    (200, 64, 64),
]


def product(x: np.ndarray, y: np.ndarray, dtype: gr.DType, ctas: int) -> np.ndarray:
    a, b = gr.asarray(x.astype(np.float32), gr.bf16), gr.asarray(y.astype(np.float32), gr.bf16)
    c = gr.empty((x.shape[0], y.shape[1]), dtype)
    stream_k_matmul(a, b, c, ctas, **TILE)
    return c.numpy()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ctas", range(1, CTAS + 1))
def test_whole_numbers_are_exact(shape: tuple[int, int, int], ctas: int, seed: int) -> None:
    m, n, k = shape
    random = np.random.default_rng(seed)
    x, y = random.integers(-8, 9, (m, k)), random.integers(-8, 9, (k, n))
    with gr.emulator.options(seed=seed):
        assert (product(x, y, gr.f32, ctas) == x @ y).all()


@pytest.mark.parametrize(
    "adversary", ["producers-first", "consumers-first", "async-late", "ctas-reversed"]
)
def test_the_order_of_a_sum_is_fixed(adversary: str) -> None:
    random = np.random.default_rng(1)
    x, y = random.standard_normal((130, 400)), random.standard_normal((400, 72))
    expected = product(x, y, gr.f32, CTAS)
    with gr.emulator.options(adversary=adversary):
        assert (product(x, y, gr.f32, CTAS).view(np.uint32) == expected.view(np.uint32)).all()


def test_the_error_is_that_of_the_accumulation() -> None:
    random = np.random.default_rng(2)
    x, y = (random.standard_normal(s).astype(np.float32) for s in ((100, 500), (500, 72)))
    a, b = (gr.asarray(v, gr.bf16).numpy().astype(np.float64) for v in (x, y))
    result = product(x, y, gr.f32, CTAS)
    bound = (x.shape[1] + 1) * 2.0**-24 * (abs(a) @ abs(b)) + abs(a @ b) * 2.0**-24
    assert (abs(result - a @ b) <= bound).all()


def test_the_code_is_clean() -> None:
    a, b, c = gr.zeros((64, 64), gr.bf16), gr.zeros((64, 64), gr.bf16), gr.zeros((64, 64), gr.bf16)
    resources = stream_k_matmul.compile(a, b, c, CTAS).resources
    assert resources["ptxas_messages"] == []
    assert resources["spill_bytes"] == resources["stack_bytes"] == 0
