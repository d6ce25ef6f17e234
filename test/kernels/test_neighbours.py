# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on parts of larger arrays. Around what they read lies NaN: none of it may reach a result. Around what they write
lies a pattern: it must be there afterwards, bit for bit. What they write must be what they write without neighbours."""

import itertools

import numpy as np
import pytest

import girih as gr
from girih import emulator
from girih.kernels import (
    attention_ws,
    dropout,
    embedding,
    flash_attention,
    layer_norm,
    linear,
    matmul,
    matmul_pingpong,
    rms_norm,
    row_argmax,
    row_cumsum,
    row_sum,
    saxpy,
    scaled_matmul,
    softmax,
    split_k_matmul,
    transpose,
    vector_add,
)
from girih.kernels.flash import attend

# Around the last two dimensions. TMA takes what begins at multiples of 16 bytes; everything else goes through registers.
ALIGNED, ODD = (3, 16), (3, 5)
PATTERN = 77.0


class Around:
    """An array whose neighbours are known."""

    def __init__(self, values, dtype, margins, poison):
        values = np.asarray(values)
        wide = [(0, 0)] * (values.ndim - 2) + [(m, m) for m in margins[-values.ndim :]]
        self.inner = tuple(
            slice(low, low + n) for (low, _), n in zip(wide, values.shape, strict=True)
        )
        whole = np.pad(values, wide, constant_values=poison)
        self.whole = gr.asarray(whole, dtype)
        self.view = self.whole[self.inner]
        self.before = self.whole.numpy(raw=True).copy()

    def inside(self):
        return self.whole.numpy(raw=True)[self.inner]

    def is_intact_outside(self):
        """Whether all but the part has the bits that it had."""
        now = self.whole.numpy(raw=True).copy()
        now[self.inner] = self.before[self.inner]
        return np.array_equal(now.view(np.uint8), self.before.view(np.uint8))


def normal(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def nothing(*shape):
    return np.zeros(shape, np.float32)


b, f = gr.bf16, gr.f32
ROWS = {"BM": 4, "BN": 128}
TILE = {"BM": 64, "BN": 64}
# Kernel, inputs, outputs (both as values and types, outputs hold what is there before), scalars behind them, constants.
X, K = normal((13, 136), 1), normal((1, 2, 200, 64), 2)
CASES = {
    "vector_add": (vector_add, [(X[0], f), (X[1], f)], [(nothing(136), f)], (), {"B": 64}),
    "dropout": (dropout, [(X[0], f)], [(nothing(136), f)], (0.5, 7), {"B": 64}),
    "softmax": (softmax, [(X, f)], [(nothing(13, 136), f)], (), ROWS),
    "softmax-bf16": (softmax, [(X, b)], [(nothing(13, 136), b)], (), ROWS),
    "layer_norm": (layer_norm, [(X, f), (X[0], f), (X[1], f)], [(nothing(13, 136), f)], (0.1,), ROWS),
    "rms_norm": (rms_norm, [(X, b), (X[0], b)], [(nothing(13, 136), b)], (0.1,), ROWS),
    "row_sum": (row_sum, [(X, f)], [(nothing(13), f)], (), ROWS),
    "row_argmax": (row_argmax, [(X, f)], [(nothing(13), f), (nothing(13).astype(np.int32), gr.i32)], (), ROWS),
    "row_cumsum": (row_cumsum, [(X, f)], [(nothing(13, 136), f)], (), ROWS),
    "transpose": (transpose, [(X, f)], [(nothing(136, 13), f)], (), {"BM": 64, "BN": 32}),
    "transpose-bf16": (transpose, [(X, b)], [(nothing(136, 13), b)], (), {"BM": 64, "BN": 32}),
    "embedding": (
        embedding,
        [(X, f), (np.arange(-1, 18) % 15, gr.i32)],
        [(nothing(19, 136), f)],
        (),
        {"BN": 16, "BD": 64},
    ),
    "matmul": (matmul, [(K[0, 0], b), (X[:, :64].T[:, :8], b)], [(nothing(200, 8), b)], (), TILE),
    "linear": (
        linear,
        [(K[0, 0, :72], b), (normal((64, 72), 3), b), (X[0, :72], b)],
        [(nothing(72, 72), f)],
        (),
        TILE,
    ),
    "split_k": (
        split_k_matmul,
        [(K[0, 0, :72], b), (normal((64, 72), 3), b)],
        [(nothing(2, 72, 72), f)],
        (),
        TILE | {"BK": 32},
    ),
    "scaled": (
        scaled_matmul,
        [(K[0, 0, :80], gr.e4m3), (normal((64, 80), 3), gr.e4m3), (X[:1, :80].T ** 2, f), (X[:1, :2] ** 2, f)],
        [(nothing(80, 80), f)],
        (),
        TILE | {"BK": 64},
    ),
    "flash": (
        flash_attention,
        [(K[:, :, :130], b), (K, b), (K[:, ::-1], b)],
        [(nothing(1, 2, 130, 64), b), (nothing(1, 2, 130), f)],
        (0.1,),
        {"D": 64, "BM": 64, "BN": 64, "causal": True},
    ),
}  # fmt: skip


def call(case, margins, poison, seed):
    """What the kernel writes in the midst of neighbours."""
    kernel, inputs, outputs, scalars, constants = case
    read = [Around(x, dtype, margins, 0 if dtype is gr.i32 else poison) for x, dtype in inputs]
    written = [Around(y, dtype, margins, PATTERN) for y, dtype in outputs]
    with emulator.options(seed=seed):
        kernel(*(a.view for a in (*read, *written)), *scalars, **constants)
    assert all(array.is_intact_outside() for array in (*read, *written))
    return written


@pytest.mark.parametrize("margins", [ALIGNED, ODD], ids=["aligned", "odd"])
@pytest.mark.parametrize("name", CASES)
def test_neighbours_neither_matter_nor_change(name, margins):
    kernel, inputs, outputs, scalars, constants = CASES[name]
    expected = call(CASES[name], margins, 0.0, seed=0)
    for seed in range(2):
        for array, right in zip(call(CASES[name], margins, np.nan, seed), expected, strict=True):
            np.testing.assert_array_equal(array.inside(), right.inside())
    # Without neighbours sums may have another order.
    alone = [gr.asarray(y, dtype) for y, dtype in outputs]
    kernel(*(gr.asarray(x, dtype) for x, dtype in inputs), *alone, *scalars, **constants)
    for right, array in zip(expected, alone, strict=True):
        np.testing.assert_allclose(right.view.numpy(), array.numpy(), rtol=2.0**-7, atol=2.0**-7)


def test_saxpy_keeps_its_neighbours():
    y = Around(X[1], f, (5,), PATTERN)
    saxpy(0.5, Around(X[0], f, (5,), np.nan).view, y.view, B=64)
    np.testing.assert_array_equal(y.inside().view(np.float32), np.float32(0.5) * X[0] + X[1])
    assert y.is_intact_outside()


def test_kernels_at_wg_level_keep_their_neighbours():
    """Their arrays are all copied by TMA."""
    a, w = Around(K[0, 0, :72], b, ALIGNED, np.nan), Around(normal((64, 72), 3), b, ALIGNED, np.nan)
    c, alone = Around(nothing(72, 72), b, ALIGNED, PATTERN), gr.empty((72, 72), b)
    matmul_pingpong(a.view, w.view, c.view, BM=64, BN=64)
    matmul(*(gr.asarray(x, b) for x in (K[0, 0, :72], normal((64, 72), 3))), alone, **TILE)
    np.testing.assert_array_equal(c.inside(), alone.numpy(raw=True))
    q, o = (
        Around(K[0, :, :130], b, ALIGNED, np.nan),
        Around(nothing(2, 130, 64), b, ALIGNED, PATTERN),
    )
    lse = Around(nothing(2, 130), f, ALIGNED, PATTERN)
    attention_ws(q.view, q.view, q.view, o.view, lse.view, 0.1, D=64, causal=True)
    out, sums = gr.empty((2, 130, 64), b), gr.empty((2, 130), f)
    attention_ws(*(gr.asarray(K[0, :, :130], b),) * 3, out, sums, 0.1, D=64, causal=True)
    np.testing.assert_array_equal(o.inside(), out.numpy(raw=True))
    np.testing.assert_array_equal(lse.inside(), sums.numpy(raw=True))
    assert all(array.is_intact_outside() for array in (a, w, c, q, o, lse))


@gr.kernel
def packed_attention(
    q: gr.In["T,D"], k: gr.In["T,D"], v: gr.In["T,D"], offsets: gr.In["G1"], o: gr.Out["T,D"], scale: gr.f32,
    rows: gr.i32, sequences: gr.i32, *, D: gr.const = 64, BM: gr.const = 64, BN: gr.const = 64,
):  # fmt: skip
    """Attention of sequences that lie one behind the other, causal in each; ``rows`` is what the longest has."""
    for g, m in gr.tiles(sequences, gr.cdiv(rows, BM)):
        low, high = offsets[g], offsets[g + 1]
        if m * BM < high - low:
            Q, K, V = q[low:high].tiles(BM, D), k[low:high].tiles(BN, D), v[low:high].tiles(BN, D)
            given = Q[m, 0].load(), K, V, gr.arange(BM) + m * BM, high - low, scale, None, True, 0
            acc, top, total = gr.zeros((BM, D)), gr.full((BM,), float("-inf")), gr.zeros((BM, 8))
            seen = min(high - low, (m + 1) * BM)
            for j in gr.range(gr.cdiv(seen, BN)):
                acc, top, total = attend(given, j, acc, top, total, True)
            o[low:high].tiles(BM, D)[m, 0] = (acc / gr.sum(total, axis=1)[:, None]).to(o.dtype)


def test_packed_sequences_do_not_see_each_other():
    """Sequences of 0, 1, 63, 64, 65 and 150 rows among NaN: each is what it is alone."""
    sizes = np.array([0, 1, 63, 64, 65, 150])
    offsets = (3 + np.concatenate([[0], np.cumsum(sizes)])).astype(np.int32)
    rows = int(offsets[-1]) + 5
    x = [normal((rows, 64), seed) for seed in (4, 5, 6)]
    for array in x:
        array[:3] = array[-5:] = np.nan
    expected = gr.asarray(np.full((rows, 64), PATTERN, np.float32), b).numpy(raw=True).copy()
    for low, high in itertools.pairwise(offsets):
        alone = [gr.asarray(array[low:high].reshape(1, 1, -1, 64), b) for array in x]
        out, lse = gr.empty((1, 1, high - low, 64), b), gr.empty((1, 1, high - low), f)
        flash_attention(*alone, out, lse, 0.125, D=64, BM=64, BN=64, causal=True)
        expected[low:high] = out.numpy(raw=True)[0, 0]
    for seed in range(3):
        o = gr.asarray(np.full((rows, 64), PATTERN, np.float32), b)
        with emulator.options(seed=seed):
            packed_attention(
                *(gr.asarray(array, b) for array in x), gr.asarray(offsets), o, 0.125, 150, 6
            )
        np.testing.assert_array_equal(o.numpy(raw=True), expected)
