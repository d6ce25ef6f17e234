# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoding from pages (girih.kernels.decode) at the edges of pages and shares, in constructed cases, under ten seeds."""

import numpy as np
import pytest

import girih as gr
from gemm_support import round_to
from girih import emulator
from girih.kernels import decode_parts, merge_parts

PAGE, D = 64, 128
# Of sequences: nothing, one key, a page less one, a page, one more, several.
LENGTHS = np.array([0, 1, PAGE - 1, PAGE, PAGE + 1, 4 * PAGE + 44], np.int32)
MOST = 5  # pages of a sequence


def normal(shape, seed):
    return round_to(np.random.default_rng(seed).standard_normal(shape), gr.bf16)


def decode(q, keys, values, pages, shares, scale, seed=0, dtype=gr.bf16, precision=None):
    """Output of the two kernels, in arrays that held NaN."""
    batch, heads, rows, d = q.shape
    parts = gr.asarray(np.full((batch, heads, shares, rows, d), np.nan, np.float32))
    sums = [gr.asarray(np.full((batch, heads, shares, rows), np.nan, np.float32)) for _ in range(2)]
    o = gr.asarray(np.full(q.shape, np.nan, np.float32), dtype)
    given = [gr.asarray(x, dtype) for x in (q, keys, values)]
    tables = [gr.asarray(pages), gr.asarray(LENGTHS)]
    with emulator.options(seed=seed):
        decode_parts(*given, *tables, parts, *sums, scale, R=rows, L=PAGE, D=d, precision=precision)
        merge_parts(parts, *sums, o, R=rows, D=d)
    return o.numpy().astype(np.float64)


def reference(q, keys, values, pages, scale, dtype=np.float64):
    """In float64; or in float32 with weights of bf16, as the kernel has them."""
    out = np.zeros(q.shape)
    for b, length in enumerate(LENGTHS):
        for h in range(q.shape[1]):
            k, v = (
                x[pages[b], h].reshape(-1, x.shape[-1])[:length].astype(dtype)
                for x in (keys, values)
            )
            s = (q[b, h].astype(dtype) @ k.T) * dtype(scale)
            p = np.exp(s - s.max(axis=1, keepdims=True, initial=-np.inf if length else 0))
            weights = p if dtype is np.float64 else round_to(p, gr.bf16).astype(dtype)
            out[b, h] = weights @ v / np.maximum(p.sum(axis=1, keepdims=True), 1e-30)
    return out


def pool(seed):
    """Keys, values and a table in which no page is used twice."""
    count = len(LENGTHS) * MOST
    pages = np.random.default_rng(seed).permutation(count).reshape(-1, MOST).astype(np.int32)
    shape = (count, 1, PAGE, D)
    return normal(shape, seed + 1), normal(shape, seed + 2), pages


@pytest.mark.parametrize("shares", [1, 3])
@pytest.mark.parametrize("rows", [1, 16])
def test_edges_of_pages_under_ten_seeds(rows, shares):
    q = normal((len(LENGTHS), 1, rows, D), 1)
    keys, values, pages = pool(2)
    expected = reference(q, keys, values, pages, D**-0.5)
    low = round_to(reference(q, keys, values, pages, D**-0.5, np.float32), gr.bf16)
    ulp = 2.0 ** (np.floor(np.log2(np.abs(expected).max())) - 7)
    bound = 2 * np.abs(low - expected).max() + ulp
    first = decode(q, keys, values, pages, shares, D**-0.5)
    assert np.abs(first - expected).max() <= bound
    assert (first[LENGTHS == 0] == 0).all()
    for seed in range(1, 10):
        np.testing.assert_array_equal(decode(q, keys, values, pages, shares, D**-0.5, seed), first)


def test_equal_scores_give_the_mean():
    q = np.zeros((len(LENGTHS), 1, 16, D), np.float32)
    keys, values, pages = pool(3)
    out = decode(q, keys, values, pages, 2, 1.0)
    for b, length in enumerate(LENGTHS):
        mine = values[pages[b], 0].reshape(-1, D)[:length].astype(np.float64)
        mean = mine.sum(axis=0) / max(length, 1)
        # Weights of 1 are exact, so only the sum's order and the output's rounding are left.
        assert np.abs(out[b, 0] - mean).max() <= 2.0**-8 * max(np.abs(mean).max(), 2.0**-8)


def test_one_key_takes_all():
    """Key 40 agrees with every query, by far, where there is one."""
    keys, values, pages = pool(4)
    keys = np.zeros_like(keys)
    keys[pages[:, 0], 0, 40] = 16
    q = np.ones((len(LENGTHS), 1, 16, D), np.float32)
    out = decode(q, keys, values, pages, 2, 1.0)
    for b in np.flatnonzero(LENGTHS > 40):
        np.testing.assert_array_equal(out[b, 0], np.tile(values[pages[b, 0], 0, 40], (16, 1)))


def test_pages_of_others_do_not_matter():
    """NaN in every page that a sequence does not have, and behind its last key."""
    q = normal((len(LENGTHS), 1, 16, D), 5)
    keys, values, pages = pool(6)
    expected = decode(q, keys, values, pages, 2, D**-0.5)
    used = np.zeros((len(keys), PAGE), bool)
    for b, length in enumerate(LENGTHS):
        used[pages[b]] = (np.arange(MOST * PAGE) < length).reshape(MOST, PAGE)
    for array in (keys, values):
        array[:, 0][~used] = np.nan
    np.testing.assert_array_equal(decode(q, keys, values, pages, 2, D**-0.5), expected)


@pytest.mark.parametrize("rows", [1, 16])
def test_f32_on_tensor_cores(rows):
    """Scores are those of exact products (the data fit tf32); of each weight 10 bits behind the first one count."""
    q = normal((len(LENGTHS), 1, rows, D), 30)
    keys, values, pages = pool(31)
    expected = reference(q, keys, values, pages, D**-0.5)
    out = decode(q, keys, values, pages, 2, D**-0.5, dtype=gr.f32, precision="tf32")
    assert np.abs(out - expected).max() <= 2.0**-10 * np.abs(values).max() + 1e-5
