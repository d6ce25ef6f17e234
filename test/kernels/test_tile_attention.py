"""Attention at tile level (girih.kernels.flash, decode) on the emulated device against float64: lengths around the tiles,
causal or not, changed scores, rows without keys, ten seeds, and what ptxas says."""

import numpy as np
import pytest

import girih as gr
from attention_support import check, normal, reference, tensors
from gemm_support import round_to
from girih import emulator
from girih.kernels.decode import decode_parts, merge_parts
from girih.kernels.flash import flash_attention

SEEDS = range(10)
ULP = 2.0**-8  # of bf16, of a number in [0.5, 1)


def run(q, k, v, seed=0, **constants):
    """The kernel on a seed: O, the log-sum-exp and the scale."""
    d = q.shape[-1]
    o = gr.asarray(np.full(q.shape, np.nan, np.float32), gr.bf16)
    lse = gr.asarray(np.full(q.shape[:-1], np.nan, np.float32))
    with emulator.options(seed=seed):
        flash_attention(
            *(gr.asarray(x, gr.bf16) for x in (q, k, v)), o, lse, d**-0.5, D=d, **constants
        )
    return o.numpy(), lse.numpy()


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize(
    ("rows", "keys"), [(1, 1), (127, 127), (128, 128), (129, 129), (300, 200), (65, 400)]
)
def test_lengths_around_the_tiles(rows, keys, d, causal):
    q, k, v = tensors((1, 2, rows, d), keys, 10)
    o, lse = run(q, k, v, causal=causal)
    check(o, lse, q, k, v, d**-0.5, causal=causal)


def test_every_seed_gives_the_same():
    q, k, v = tensors((2, 1, 200, 64), 300, 20)
    first = run(q, k, v, causal=True)
    check(*first, q, k, v, 64**-0.5, causal=True)
    for seed in SEEDS:
        o, lse = run(q, k, v, seed=seed, causal=True)
        np.testing.assert_array_equal(o, first[0])
        np.testing.assert_array_equal(lse, first[1])


def bias(s, row, col):
    return s + (row - col) * 0.125


def window(s, row, col):
    return gr.where(row - col <= 32, s, float("-inf"))


def soft_cap(s, row, col):
    return gr.tanh(s * 0.5) * 2.0


@pytest.mark.parametrize(
    ("score", "numpy_score"),
    [
        (bias, bias),
        (window, lambda s, row, col: np.where(row - col <= 32, s, -np.inf)),
        (soft_cap, lambda s, row, col: np.tanh(s * 0.5) * 2),
    ],
    ids=["bias", "window", "soft-cap"],
)
def test_the_caller_changes_the_scores(score, numpy_score):
    q, k, v = tensors((1, 1, 150, 64), 150, 30)
    o, lse = run(q, k, v, causal=True, score=score)
    check(o, lse, q, k, v, 64**-0.5, causal=True, score=numpy_score)


def test_equal_scores_give_the_mean():
    q = np.zeros((1, 1, 130, 64), np.float32)
    _, k, v = tensors((1, 1, 130, 64), 256, 40)
    o, lse = run(q, k, v)
    mean = np.broadcast_to(v.astype(np.float64).mean(-2, keepdims=True), o.shape)
    assert np.abs(o - mean).max() <= ULP * np.abs(mean).max() + ULP * 2**-4
    np.testing.assert_allclose(lse, np.log(256), rtol=1e-6)


def test_one_key_takes_all():
    """Scores so far apart that the other weights vanish: the row of V itself."""
    k = np.zeros((1, 1, 256, 64), np.float32)
    q = np.zeros((1, 1, 64, 64), np.float32)
    for row in range(64):
        q[..., row, row] = 64
        k[..., 3 * row, row] = 64
    v = normal((1, 1, 256, 64), 50)
    o, _ = run(q, k, v, BM=64)
    np.testing.assert_array_equal(o, v[:, :, : 3 * 64 : 3])


def test_rows_that_see_no_key():
    """More rows than keys, causal: the first ones see nothing. Zeros, and -inf for the log-sum-exp."""
    q, k, v = tensors((1, 1, 200, 64), 70, 60)
    o, lse = run(q, k, v, causal=True)
    assert (o[:, :, :130] == 0).all()
    assert np.isneginf(lse[:, :, :130]).all()
    check(o, lse, q, k, v, 64**-0.5, causal=True)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(("rows", "keys"), [(0, 5), (3, 0), (0, 0)])
def test_no_rows_and_no_keys(rows, keys, causal):
    o, lse = run(*tensors((1, 2, rows, 64), keys, 61), causal=causal)
    assert (o == 0).all()
    assert np.isneginf(lse).all()


def nothing(s, row, col):
    return gr.where(row < 0, s, float("-inf"))


def test_scores_that_hide_every_key():
    o, lse = run(*tensors((1, 1, 130, 64), 200, 62), score=nothing)
    assert (o == 0).all()
    assert np.isneginf(lse).all()


@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
def test_ptxas_has_nothing_to_say(d, causal):
    x = gr.zeros((1, 1, 128, d), gr.bf16)
    resources = flash_attention.compile(
        x, x, x, x, gr.zeros((1, 1, 128), gr.f32), 0.1, D=d, causal=causal
    ).resources
    assert resources["ptxas_messages"] == []
    assert resources["spill_bytes"] == 0
    assert resources["stack_bytes"] == 0


@pytest.mark.parametrize("shares", [1, 2, 4])
@pytest.mark.parametrize("rows", [1, 16])
def test_decoding_from_pages(rows, shares):
    """Sequences of different lengths, of which the shares get different numbers of pages, or none."""
    batch, heads, d, page, pool, most = 3, 2, 128, 64, 16, 5
    random = np.random.default_rng(70)
    q = normal((batch, heads, rows, d), 71)
    k, v = normal((pool, heads, page, d), 72), normal((pool, heads, page, d), 73)
    pages = random.permutation(pool)[: batch * most].reshape(batch, most).astype(np.int32)
    lengths = np.array([300, 65, 1], np.int32)
    parts = gr.asarray(np.full((batch, heads, shares, rows, d), np.nan, np.float32))
    tops, totals = (
        gr.asarray(np.full((batch, heads, shares, rows), np.nan, np.float32)) for _ in range(2)
    )
    o = gr.asarray(np.full(q.shape, np.nan, np.float32), gr.bf16)
    for seed in SEEDS[:3]:
        with emulator.options(seed=seed):
            decode_parts(
                *(gr.asarray(x, gr.bf16) for x in (q, k, v)),
                *(gr.asarray(pages), gr.asarray(lengths), parts, tops, totals),
                d**-0.5,
                R=rows,
            )
            merge_parts(parts, tops, totals, o, R=rows)
        for b in range(batch):
            mine = [
                np.moveaxis(x[pages[b]], 1, 0).reshape(heads, -1, d)[:, : lengths[b]]
                for x in (k, v)
            ]
            ref, _ = reference(q[b], *mine, d**-0.5)
            low, _ = reference(q[b], *mine, d**-0.5, dtype=np.float32)
            error = np.abs(o.numpy()[b] - ref).max()
            bound = 2 * np.abs(round_to(low, gr.bf16) - ref).max()
            assert error <= bound + 2.0 ** (np.floor(np.log2(np.abs(ref).max())) - 7)
