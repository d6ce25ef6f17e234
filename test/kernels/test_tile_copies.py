"""Operands of products that TMA cannot describe (listed rows, slices of K, pitches of 4 bytes) go from global to shared
memory by cp.async; exact on integers, at edges of tiles, under ten interleavings."""

import numpy as np
import pytest

import girih as gr
from gemm_support import integers
from girih import emulator

SEEDS = range(10)


def rows_of(x, ids):
    """Rows by number; zeros for those that there are not."""
    known = (ids >= 0) & (ids < len(x))
    return np.where(known[:, None], x[np.where(known, ids, 0)], 0)


@gr.kernel
def listed_matmul(
    a: gr.In["T,K"], ids: gr.In["M"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 64, BN: gr.const = 64, BK: gr.const = 64,
):  # fmt: skip
    """c = a[ids] · b."""
    Ids, B, C = ids.tiles(BM), b.tiles(BK, BN), c.tiles(BM, BN)
    for m, n in gr.tiles(C):
        rows = Ids[m].load()
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(B.count[0]):
            acc = gr.dot(a.block((rows, k * BK), (BM, BK)), B[k, n], acc)
        C[m, n] = acc.to(c.dtype)


@pytest.mark.parametrize("shape", [(1, 8, 8), (63, 72, 56), (64, 64, 64), (130, 136, 200)], ids=str)
@pytest.mark.parametrize("dtype", [gr.bf16, gr.e4m3], ids=str)
def test_rows_by_number(shape, dtype):
    m, n, k = shape
    if dtype == gr.e4m3:
        n, k = 16 * -(-n // 16), 16 * -(-k // 16)
    a, b = integers((50, k), 1), integers((k, n), 2)
    ids = np.random.default_rng(3).integers(-2, 52, m).astype(np.int32)
    expected = rows_of(a, ids) @ b
    # 8-bit operands are stored along K.
    right = gr.asarray(np.ascontiguousarray(b.T), dtype).T
    for seed in SEEDS:
        c = gr.asarray(np.full((m, n), np.nan, np.float32))
        with emulator.options(seed=seed):
            listed_matmul(gr.asarray(a, dtype), gr.asarray(ids), right, c)
        np.testing.assert_array_equal(c.numpy(), expected)


@gr.kernel
def listed_scores(
    q: gr.In["M,D"], keys: gr.In["T,D"], values: gr.In["T,D"], ids: gr.In["L"], o: gr.Out["M,D"], *,
    BM: gr.const = 64, BL: gr.const = 64, D: gr.const = 64,
):  # fmt: skip
    """o = (q · keys[ids].T) · values[ids]: what attention to a list of rows multiplies."""
    Ids, Sums = ids.tiles(BL), o.tiles(BM, D)
    for m in gr.tiles(Sums.count[0]):
        query = q.tiles(BM, D)[m, 0].load()
        acc = gr.zeros((BM, D), gr.f32)
        for s in gr.range(Ids.count[0]):
            rows = Ids[s].load()
            scores = gr.dot(query, keys.block((rows, 0), (BL, D)).T)
            acc = gr.dot(scores.to(q.dtype), values.block((rows, 0), (BL, D)), acc)
        Sums[m, 0] = acc.to(o.dtype)


@pytest.mark.parametrize("length", [1, 64, 100])
def test_keys_and_values_by_number(length):
    random = np.random.default_rng(4)
    q, keys, values = (random.integers(-1, 2, (n, 64)) for n in (70, 200, 200))
    # The last block of ids has none behind the list: their number is 0, and row 0 holds zeros.
    keys[0] = values[0] = 0
    ids = random.integers(1, 200, length).astype(np.int32)
    scores = q @ keys[ids].T
    expected = scores @ values[ids]
    assert np.abs(scores).max() <= 256
    for seed in SEEDS:
        o = gr.asarray(np.full((70, 64), np.nan, np.float32))
        with emulator.options(seed=seed):
            listed_scores(
                *(gr.asarray(x.astype(np.float32), gr.bf16) for x in (q, keys, values)),
                gr.asarray(ids), o,
            )  # fmt: skip
        np.testing.assert_array_equal(o.numpy(), expected)


@gr.kernel
def sliced_matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], bounds: gr.In["G1"], c: gr.Out["G,M,N"], *,
    BM: gr.const = 64, BN: gr.const = 64, BK: gr.const = 64,
):  # fmt: skip
    """c[g] = a[:, low:high] · b[low:high] for the slice of K that bounds[g] and bounds[g + 1] give."""
    for g, m, n in gr.tiles(c.shape[0], gr.cdiv(c.shape[1], BM), gr.cdiv(c.shape[2], BN)):
        low, high = bounds[g], bounds[g + 1]
        A, B = a[:, low:high].tiles(BM, BK), b[low:high].tiles(BK, BN)
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        c[g].tiles(BM, BN)[m, n] = acc


def test_slices_of_k():
    """Slices of 0, 8, 64, 72 and 56 columns; b beyond each is its neighbour's, and must not be added."""
    bounds = np.cumsum([0, 0, 8, 64, 72, 56]).astype(np.int32)
    a, b = integers((70, 200), 5), integers((200, 72), 6)
    expected = [a[:, s:e] @ b[s:e] for s, e in zip(bounds[:-1], bounds[1:], strict=True)]
    for seed in SEEDS:
        c = gr.asarray(np.full((5, 70, 72), np.nan, np.float32))
        with emulator.options(seed=seed):
            sliced_matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), gr.asarray(bounds), c)
        np.testing.assert_array_equal(c.numpy(), expected)
