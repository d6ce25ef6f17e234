"""Tiles whose extents are no powers of two: all threads share them, and what stands behind the true extents reaches nothing."""

import numpy as np
import pytest
from library_support import SEEDS, held, result

import girih as gr

WIDTHS = [1, 3, 100, 1000, 1023, 1025]


@gr.kernel
def whole_rows(
    x: gr.In["M,N"], sums: gr.Out["M"], tops: gr.Out["M"], scaled: gr.InOut["M,N"], running: gr.Out["M,N"], *,
    BM: gr.const, BN: gr.const,
):  # fmt: skip
    """Of rows that are one tile: the sum, the largest element, row less its largest element, running sums; the second in place."""
    X, Y, Z = x.tiles(BM, BN), scaled.tiles(BM, BN), running.tiles(BM, BN)
    S, T = sums.tiles(BM), tops.tiles(BM)
    for m, n in gr.tiles(X):
        t = X[m, n].to(gr.f32)
        top = gr.max(t, axis=1)
        S[m] = gr.sum(t, axis=1)
        T[m] = top
        Y[m, n] = Y[m, n].to(gr.f32) + t - top[:, None]
        Z[m, n] = gr.cumsum(t, axis=1)


@pytest.mark.parametrize("dtype", [gr.f32, gr.bf16], ids=str)
@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_any_width(width, rows, dtype):
    """Two tiles of rows less one; a column beside the tile's in memory, which stays as it was. All numbers are exact."""
    m = 2 * rows - 1 if rows > 1 else 2
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, exact = held(random.integers(-8, 9, (m, width)), dtype)
        y = gr.asarray(random.integers(-8, 9, (m, width)).astype(np.float32))
        before = y.numpy().copy()
        sums, tops = gr.empty((m,), gr.f32), gr.empty((m,), gr.f32)
        running = gr.empty((m, width), gr.f32)
        with gr.emulator.options(seed=seed):
            whole_rows(x, sums, tops, y, running, BM=rows, BN=width)
        np.testing.assert_array_equal(result(sums), exact.sum(1))
        np.testing.assert_array_equal(result(tops), exact.max(1))
        np.testing.assert_array_equal(result(y), before + exact - exact.max(1, keepdims=True))
        np.testing.assert_array_equal(result(running), exact.cumsum(1))


@gr.kernel
def best_of_rows(
    x: gr.In["M,N"], high: gr.Out["M"], low: gr.Out["M"], *, BM: gr.const, BN: gr.const
):
    X, H, L = x.tiles(BM, BN), high.tiles(BM), low.tiles(BM)
    for m in gr.tiles(H):
        t = X[m, 0].load()
        H[m], L[m] = gr.argmax(t, axis=1), gr.argmin(t, axis=1)


@pytest.mark.parametrize("dtype", [gr.f32, gr.i32, gr.u8], ids=str)
@pytest.mark.parametrize("width", [3, 100, 1000])
def test_the_places_of_extremes(width, dtype):
    """Rows of the worst number there is, too: the first of them is the place, and none behind the extent."""
    worst = {gr.f32: (-np.inf, np.inf), gr.i32: (-(2**31), 2**31 - 1), gr.u8: (0, 255)}[dtype]
    x = np.random.default_rng(0).integers(1, 9, (4, width)).astype(np.float64)
    x[2], x[3] = worst
    numpy = {gr.f32: np.float32, gr.i32: np.int32, gr.u8: np.uint8}[dtype]
    held_x = gr.asarray(x.astype(numpy))
    high, low = gr.empty((4,), gr.i32), gr.empty((4,), gr.i32)
    best_of_rows(held_x, high, low, BM=2, BN=width)
    np.testing.assert_array_equal(high.numpy(), x.argmax(1))
    np.testing.assert_array_equal(low.numpy(), x.argmin(1))


@gr.kernel
def blocks(x: gr.In["M,N"], y: gr.InOut["M,N"], *, BM: gr.const, BN: gr.const):
    """Tiles side by side in a row, each written by a CTA of its own."""
    X, Y = x.tiles(BM, BN), y.tiles(BM, BN)
    for m, n in gr.tiles(X):
        Y[m, n] = Y[m, n].load() * 2 + X[m, n].load()


@pytest.mark.parametrize("shape", [(3, 100), (5, 24), (1, 1000), (7, 7), (3, 129)], ids=str)
def test_tiles_beside_each_other(shape):
    """What a CTA reads and writes behind the true extents would be its neighbour's: a race, and a wrong number."""
    m, n = 2 * shape[0] + 1, 3 * shape[1] - 1
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        x, y = (random.integers(-99, 100, (m, n)).astype(np.float32) for _ in range(2))
        out = gr.asarray(y)
        with gr.emulator.options(seed=seed):
            blocks(gr.asarray(x), out, BM=shape[0], BN=shape[1])
        np.testing.assert_array_equal(out.numpy(), 2 * y + x)


@gr.kernel
def points(x: gr.In["N"], counts: gr.InOut["K"], picked: gr.Out["N"], *, BN: gr.const):
    X, P = x.tiles(BN), picked.tiles(BN)
    for n in gr.tiles(X):
        t = X[n].load()
        gr.atomic_add(counts, t, 1)
        P[n] = gr.sum(t) - t


@pytest.mark.parametrize("width", [3, 100, 1000])
def test_points_behind_the_extent_do_nothing(width):
    x = np.random.default_rng(0).integers(0, 5, 2 * width - 1).astype(np.int32)
    counts, picked = gr.zeros((5,), gr.i32), gr.zeros((2 * width - 1,), gr.i32)
    points(gr.asarray(x), counts, picked, BN=width)
    # The last tile has one place that is not of the array: it is read as 0, and counted there.
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x, minlength=5) + (np.arange(5) == 0))
    sums = np.repeat([x[:width].sum(), x[width:].sum()], width)[: len(x)]
    np.testing.assert_array_equal(picked.numpy(), sums - x)
