"""girih.kernels on rows: softmax, norms, reductions, scans; rows shorter and longer than a tile, under ten interleavings."""

import numpy as np
import pytest
from library_support import SEEDS, assert_close, held, result

import girih as gr
from girih.kernels import layer_norm, rms_norm, row_argmax, row_cumsum, row_sum, softmax

BM, BN = 4, 128
# No row, one element, a tile less one, a tile, one more, several.
SHAPES = [(0, 5), (1, 1), (BM - 1, BN - 1), (BM, BN), (BM + 1, BN + 1), (3 * BM + 1, 3 * BN + 7)]
TILE = {"BM": BM, "BN": BN}
FLOATS = [gr.f32, gr.bf16]


def softmax_in(x, dtype):
    """Tile by tile, each sum relative to the largest element so far."""
    x = x.astype(dtype)
    top, total = np.full((len(x), 1), -np.inf, dtype), np.zeros((len(x), 1), dtype)
    for start in range(0, x.shape[1], BN):
        t = x[:, start : start + BN]
        new = np.maximum(top, t.max(1, keepdims=True, initial=-np.inf))
        total = total * np.exp(top - new) + np.exp(t - new).sum(1, keepdims=True, dtype=dtype)
        top = new
    return (np.exp(x - top) / total).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(shape, dtype):
    for seed in SEEDS:
        x, exact = held(np.random.default_rng(seed).normal(0, 3, shape), dtype)
        y = gr.empty(shape, dtype)
        with gr.emulator.options(seed=seed):
            softmax(x, y, **TILE)
        assert_close(result(y), softmax_in(exact, np.float64), softmax_in(exact, np.float32), dtype)


def test_softmax_of_constructed_rows():
    """Equal elements, one that outweighs all, a first tile of -inf, and nothing but -inf."""
    n = 2 * BN
    x = np.zeros((4, n), np.float32)
    x[1, 7] = 1000
    x[2, :BN] = -np.inf
    x[3] = -np.inf
    y = gr.empty((4, n), gr.f32)
    softmax(gr.asarray(x), y, **TILE)
    out = y.numpy()
    np.testing.assert_array_equal(out[0], np.full(n, 1 / n))
    np.testing.assert_array_equal(out[1], np.arange(n) == 7)
    np.testing.assert_array_equal(out[2], np.where(np.arange(n) < BN, 0, 1 / BN))
    assert np.isnan(out[3]).all()


def layer_norm_in(x, weight, bias, eps, dtype):
    x, weight, bias = x.astype(dtype), weight.astype(dtype), bias.astype(dtype)
    away = x - x.mean(1, keepdims=True, dtype=dtype)
    variance = (away * away).mean(1, keepdims=True, dtype=dtype)
    return (away / np.sqrt(variance + dtype(eps)) * weight + bias).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layer_norm(shape, dtype):
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, exact = held(random.normal(2, 3, shape), dtype)
        weight, w = held(random.normal(1, 1, shape[1]), dtype)
        bias, b = held(random.normal(0, 1, shape[1]), dtype)
        y = gr.empty(shape, dtype)
        with gr.emulator.options(seed=seed):
            layer_norm(x, weight, bias, y, 1e-3, **TILE)
        low, high = (layer_norm_in(exact, w, b, 1e-3, d) for d in (np.float32, np.float64))
        assert_close(result(y), high, low, dtype)


def rms_norm_in(x, weight, eps, dtype):
    x, weight = x.astype(dtype), weight.astype(dtype)
    squares = (x * x).mean(1, keepdims=True, dtype=dtype)
    return (x / np.sqrt(squares + dtype(eps)) * weight).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rms_norm(shape, dtype):
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, exact = held(random.normal(2, 3, shape), dtype)
        weight, w = held(random.normal(1, 1, shape[1]), dtype)
        y = gr.empty(shape, dtype)
        with gr.emulator.options(seed=seed):
            rms_norm(x, weight, y, 1e-3, **TILE)
        low, high = (rms_norm_in(exact, w, 1e-3, d) for d in (np.float32, np.float64))
        assert_close(result(y), high, low, dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_row_sum_is_exact_on_integers(shape):
    for seed in SEEDS:
        x = np.random.default_rng(seed).integers(-99, 100, shape)
        y = gr.empty(shape[0], gr.f32)
        with gr.emulator.options(seed=seed):
            row_sum(gr.asarray(x.astype(np.float32)), y, **TILE)
        np.testing.assert_array_equal(y.numpy(), x.sum(1))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_row_argmax_finds_the_first(shape):
    for seed in SEEDS:
        # Few values, so that the largest one occurs often, in several tiles and lanes.
        x = np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float32)
        top, where = gr.empty(shape[0], gr.f32), gr.empty(shape[0], gr.i32)
        with gr.emulator.options(seed=seed):
            row_argmax(gr.asarray(x), top, where, **TILE)
        np.testing.assert_array_equal(top.numpy(), x.max(1, initial=-np.inf))
        np.testing.assert_array_equal(where.numpy(), x.argmax(1))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_row_cumsum_is_exact_on_integers(shape):
    for seed in SEEDS:
        x = np.random.default_rng(seed).integers(-99, 100, shape)
        y = gr.empty(shape, gr.f32)
        with gr.emulator.options(seed=seed):
            row_cumsum(gr.asarray(x.astype(np.float32)), y, **TILE)
        np.testing.assert_array_equal(y.numpy(), x.cumsum(1))
