# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention of girih.kernels at wg level on the emulated device against float64: edge shapes, constructed cases,
seeds and adversaries, and what ptxas says."""

import numpy as np
import pytest

import girih as gr
from gemm_support import round_to
from girih import emulator
from girih.kernels import attention_ws

SEEDS = range(10)
VARIANTS = [(64, False), (64, True), (128, False), (128, True)]
NAMES = [f"d{d}-{'causal' if causal else 'full'}" for d, causal in VARIANTS]
# Queries and keys: one, a tile less or more one, a tile, several.
SHAPES = [(1, 1), (127, 129), (128, 128), (129, 127), (130, 300), (300, 40)]


def visible(queries, keys, causal):
    """Which keys each query sees: causal, query i of M sees keys up to i + N - M."""
    if not causal:
        return np.ones((queries, keys), bool)
    return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + (keys - queries)


def reference(q, k, v, scale, causal, lowp=False):
    """Output and log-sum-exp in float64, or with weights and output rounded to bf16 as the kernel rounds them."""
    scores = np.einsum("zmd,znd->zmn", q.astype(np.float64), k.astype(np.float64)) * scale
    scores = np.where(visible(*scores.shape[1:], causal)[None], scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    used = round_to(weights, gr.bf16) if lowp else weights
    out = (used.astype(np.float64) @ v.astype(np.float64)) / np.where(total == 0, 1.0, total)
    with np.errstate(divide="ignore"):
        lse = np.log(total[..., 0]) + top[..., 0]
    return (round_to(out, gr.bf16) if lowp else out), lse


def attention(q, k, v, scale, causal, **options):
    """The kernel's output and log-sum-exp, in arrays that were full of NaN."""
    z, m, d = q.shape
    arrays = [gr.asarray(x, gr.bf16) for x in (q, k, v)]
    out = gr.asarray(np.full((z, m, d), np.nan, np.float32), gr.bf16)
    lse = gr.asarray(np.full((z, m), np.nan, np.float32))
    with emulator.options(**options):
        attention_ws(*arrays, out, lse, scale, D=d, causal=causal)
    return out.numpy().astype(np.float64), lse.numpy().astype(np.float64)


def data(z, m, n, d, seed=0):
    """Normal queries, keys and values, rounded to bf16."""
    random = np.random.default_rng(seed)
    shapes = (z, m, d), (z, n, d), (z, n, d)
    return [round_to(random.standard_normal(shape), gr.bf16) for shape in shapes]


def check(q, k, v, scale, causal, **options):
    """|out - ref| <= 2 |lowp - ref| + an ulp of bf16 at |ref|; log-sum-exp within 1e-5."""
    out, lse = attention(q, k, v, scale, causal, **options)
    expected, expected_lse = reference(q, k, v, scale, causal)
    lowp, _ = reference(q, k, v, scale, causal, lowp=True)
    bound = 2 * np.abs(lowp - expected).max() + 2.0**-7 * np.abs(expected).max()
    assert np.abs(out - expected).max() <= bound
    finite = np.isfinite(expected_lse)
    np.testing.assert_array_equal(lse[~finite], expected_lse[~finite])
    error = np.abs(lse - expected_lse)[finite]
    assert (error <= 1e-5 * np.maximum(1, np.abs(expected_lse[finite]))).all()


@pytest.mark.parametrize(("d", "causal"), VARIANTS, ids=NAMES)
class TestAttention:
    """Heads of 64 and 128, with and without the causal mask."""

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
    def test_edge_shapes(self, d, causal, shape):
        q, k, v = data(2, *shape, d)
        for seed in SEEDS if max(shape) < 130 else range(2):
            check(q, k, v, d**-0.5, causal, seed=seed)

    @pytest.mark.parametrize(
        "adversary", ["async-late", "async-early", "starve-one", "consumers-first"]
    )
    def test_under_an_adversary(self, d, causal, adversary):
        q, k, v = data(1, 200, 400, d, seed=1)
        check(q, k, v, d**-0.5, causal, adversary=adversary)

    def test_equal_scores_give_means(self, d, causal):
        _, k, v = data(1, 130, 260, d, seed=2)
        q = np.zeros((1, 130, d), np.float32)
        check(q, k, v, 1.0, causal, seed=0)
        _, lse = attention(q, k, v, 1.0, causal, seed=0)
        np.testing.assert_allclose(lse[0], np.log(visible(130, 260, causal).sum(axis=1)), atol=1e-5)

    def test_one_hot_rows_give_values(self, d, causal):
        """Key i agrees with query i alone, by far: the output is value i."""
        n = min(d, 64)
        q = np.zeros((1, n, d), np.float32)
        q[0, np.arange(n), np.arange(n)] = 64.0
        _, _, v = data(1, n, n, d, seed=3)
        out, _ = attention(q, q, v, 1.0, causal, seed=0)
        np.testing.assert_array_equal(out, v)

    def test_ptxas_has_nothing_to_say(self, d, causal):
        q, k, v = (gr.zeros((1, 64, d), gr.bf16) for _ in range(3))
        resources = attention_ws.compile(
            q,
            k,
            v,
            gr.zeros((1, 64, d), gr.bf16),
            gr.zeros((1, 64), gr.f32),
            1.0,
            D=d,
            causal=causal,
        ).resources
        assert resources["ptxas_messages"] == []
        assert resources["spill_bytes"] == resources["stack_bytes"] == 0


def test_queries_before_every_key_see_nothing():
    """With 300 queries and 40 keys the first 260 queries see no key: zeros, and a sum of nothing."""
    q, k, v = data(1, 300, 40, 64)
    out, lse = attention(q, k, v, 0.125, True, seed=0)
    assert (out[0, :260] == 0).all()
    assert (lse[0, :260] == -np.inf).all()
    assert np.isfinite(lse[0, 260:]).all()
