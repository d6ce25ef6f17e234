"""Tile-level programs: views, launches, control flow and memory accesses do what Python and NumPy would."""

import re

import numpy as np
import pytest

import girih as gr

SEEDS = range(3)


@gr.kernel
def saxpy(a: gr.f32, x: gr.In["N"], y: gr.InOut["N"]):
    X, Y = x.tiles(1024), y.tiles(1024)
    for i in gr.tiles(X):
        Y[i] += a * X[i]


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 5000])
def test_saxpy(n):
    x, y = np.arange(n, dtype=np.float32), np.full(n, 3, np.float32)
    out = gr.asarray(y)
    saxpy(2.0, gr.asarray(x), out)
    np.testing.assert_array_equal(out.numpy(), 2 * x + y)


@gr.kernel
def transpose(x: gr.In["M,N"], y: gr.Out["N,M"], *, ctas: gr.const = None):
    X, Y = x.tiles(32, 32), y.tiles(32, 32)
    for i, j in gr.tiles(X, ctas=ctas):
        Y[j, i] = X[i, j].T


@pytest.mark.parametrize("shape", [(1, 1), (32, 64), (33, 31), (100, 70)])
@pytest.mark.parametrize("ctas", [None, 2])
def test_transpose(shape, ctas):
    x = np.random.default_rng(0).integers(-99, 99, shape).astype(np.float32)
    y = gr.empty(shape[::-1], gr.f32)
    transpose(gr.asarray(x), y, ctas=ctas)
    np.testing.assert_array_equal(y.numpy(), x.T)


@gr.kernel
def heads(x: gr.In["B,H,N,D"], y: gr.Out["B,H,D,N"]):
    B, H, N, D = x.shape
    for b, h, n in gr.tiles(B, H, gr.cdiv(N, 16)):
        block = x[b, h].block((n * 16, 0), (16, 8))
        row, col = gr.coords(block)
        y[b].permute(0, 2, 1)[h].block((n * 16, 0), (16, 8)).store(block * 2 + row + col)


def test_views_of_rank_four():
    x = np.random.default_rng(0).integers(-99, 99, (2, 3, 20, 8)).astype(np.float32)
    y = gr.empty((2, 3, 8, 20), gr.f32)
    heads(gr.asarray(x), y)
    expected = x * 2 + np.arange(20)[:, None] + np.arange(8)
    np.testing.assert_array_equal(y.numpy(), expected.transpose(0, 1, 3, 2))


@gr.kernel
def packed(x: gr.In["T,D"], starts: gr.In["S"], y: gr.InOut["T,D"]):
    """Each sequence minus its own maximum."""
    for s in gr.tiles(starts.shape[0] - 1):
        low, high = starts[s], starts[s + 1]
        X, Y = x[low:high].tiles(16, 8, fill=float("-inf")), y[low:high].tiles(16, 8)
        top = gr.full((8,), float("-inf"))
        for i in gr.range(X.count[0]):
            top = gr.maximum(top, gr.max(X[i, 0], axis=0))
        for i in gr.range(X.count[0]):
            Y[i, 0] = X[i, 0] - top


def test_packed_sequences_leave_their_neighbours_alone():
    lengths = [0, 1, 15, 16, 17, 40]
    starts = np.cumsum([3, *lengths]).astype(np.int32)
    total = int(starts[-1]) + 5
    x = np.random.default_rng(0).integers(-99, 99, (total, 8)).astype(np.float32)
    y = gr.asarray(np.full((total, 8), np.nan, np.float32))
    packed(gr.asarray(x), gr.asarray(starts), y)
    expected = np.full((total, 8), np.nan, np.float32)
    for low, high in zip(starts, starts[1:], strict=False):
        if high > low:
            expected[low:high] = x[low:high] - x[low:high].max(0)
    np.testing.assert_array_equal(y.numpy(), expected)


@gr.kernel
def paged_sum(
    cache: gr.In["P,R,D"],
    table: gr.In["B,T"],
    lengths: gr.In["B"],
    y: gr.Out["B,D"],
    *,
    rows: gr.const,
):
    for b in gr.tiles(table.shape[0]):
        K = cache.paged(table[b], lengths[b]).tiles(rows, 32)
        total = gr.zeros((32,))
        for j in gr.range(gr.cdiv(lengths[b], rows)):
            total += gr.sum(K[j, 0], axis=0)
        y[b].block(0, 32).store(total)


@pytest.mark.parametrize("rows", [8, 16])
def test_pages(rows):
    random = np.random.default_rng(0)
    cache = random.integers(-9, 9, (9, 16, 32)).astype(np.float32)
    table = random.permutation(9)[:8].reshape(2, 4).astype(np.int32)
    lengths = np.array([50, 17], np.int32)
    y = gr.empty((2, 32), gr.f32)
    paged_sum(*map(gr.asarray, (cache, table, lengths)), y, rows=rows)
    for b in range(2):
        sequence = cache[table[b]].reshape(64, 32)[: lengths[b]]
        np.testing.assert_array_equal(y.numpy()[b], sequence.sum(0))


def test_pages_that_tiles_do_not_divide():
    arrays = gr.zeros((4, 12, 32), gr.f32), gr.zeros((1, 4), gr.i32), gr.zeros(1, gr.i32)
    with pytest.raises(
        gr.LaunchError, match="cache has pages of 12 rows: expected a multiple of 8"
    ):
        paged_sum(*arrays, gr.empty((1, 32), gr.f32), rows=8)


@gr.kernel
def collatz(x: gr.In["N"], y: gr.Out["N"]):
    for i in gr.tiles(x.shape[0]):
        n = x[i]
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
                odd = 0
            else:
                n = 3 * n + 1
                odd = 1
            steps += 1 + odd * 0
        y[i] = steps


def test_while_and_if():
    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    x = np.array([1, 2, 7, 27, 97], np.int32)
    y = gr.empty(5, gr.i32)
    collatz(gr.asarray(x), y)
    np.testing.assert_array_equal(y.numpy(), [steps(n) for n in x])


@gr.function
def step(state, x):
    (low, high), count = state
    return (gr.minimum(low, x), gr.maximum(high, x)), count + 1


@gr.kernel
def carried(x: gr.In["N"], y: gr.Out["K,N"]):
    X = x.tiles(64)
    for i in gr.tiles(1):
        state = (X[0], X[0]), 0
        for j in gr.range(1, X.count[0]):
            (low, high), count = step(state, X[j])
            state = (low, high), count
        (low, high), count = state
        y[0].block(0, 64).store(low)
        y[1].block(0, 64).store(high)
        y[2].block(0, 64).store(gr.full((64,), count).to(gr.f32))


def test_nested_tuples_are_carried():
    x = np.random.default_rng(0).integers(-99, 99, 256).astype(np.float32)
    y = gr.zeros((3, 256), gr.f32)
    carried(gr.asarray(x), y)
    blocks = x.reshape(4, 64)
    np.testing.assert_array_equal(y.numpy()[:, :64], [blocks.min(0), blocks.max(0), np.full(64, 3)])


@gr.kernel
def affine(x: gr.In["N"], y: gr.Out["N"], *, f: gr.const):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(X):
        Y[i] = f(X[i])


def test_lambdas_are_compiled_once_for_each_closure():
    x = np.arange(128, dtype=np.float32)
    y = gr.empty(128, gr.f32)

    def line(slope):
        return lambda t: t * slope + 1

    for slope in (2.0, 3.0, 2.0):
        affine(gr.asarray(x), y, f=line(slope))
        np.testing.assert_array_equal(y.numpy(), x * slope + 1)
    assert len(affine._programs) == 2


def test_two_lambdas_on_one_line():
    x = np.arange(128, dtype=np.float32)
    y = gr.empty(128, gr.f32)
    for f, expected in ((lambda t: t + 1, x + 1), (lambda t: t * 2, x * 2)):
        affine(gr.asarray(x), y, f=f)
        np.testing.assert_array_equal(y.numpy(), expected)


@gr.kernel
def uniform(y: gr.Out["N"], seed: gr.i64):
    Y = y.tiles(1024)
    for i in gr.tiles(Y):
        Y[i] = gr.rand(seed, i * 1024 + gr.arange(1024))


def test_random_numbers_are_uniform_and_depend_on_the_seed():
    y, z = gr.empty(8192, gr.f32), gr.empty(8192, gr.f32)
    uniform(y, 1)
    uniform(z, 1 << 40)
    for values in (y.numpy(), z.numpy()):
        assert values.min() >= 0 and values.max() < 1
        counts = np.histogram(values, 16, (0, 1))[0]
        # Chi squared of 15 degrees of freedom: beyond 37.7 once in a thousand.
        assert ((counts - 512) ** 2 / 512).sum() < 37.7
    assert abs(np.corrcoef(y.numpy(), z.numpy())[0, 1]) < 0.05


@gr.kernel
def swap(x: gr.InOut["N"], y: gr.InOut["N"]):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(X):
        t = X[i]
        X[i] = Y[i]
        Y[i] = t


def test_a_name_holds_what_was_loaded():
    x, y = np.arange(200, dtype=np.float32), np.arange(200, 400, dtype=np.float32)
    p, q = gr.asarray(x), gr.asarray(y)
    swap(p, q)
    np.testing.assert_array_equal(p.numpy(), y)
    np.testing.assert_array_equal(q.numpy(), x)


@gr.function
def add_one(place):
    place.store(place + 1)


@gr.kernel
def visit(y: gr.InOut["B,M,N"], *, ctas: gr.const, order: gr.const):
    B, M, N = y.shape
    grouped = None if order is None else gr.grouped(order)
    for b, m, n in gr.tiles(B, gr.cdiv(M, 16), gr.cdiv(N, 16), ctas=ctas, order=grouped):
        add_one(y[b].tiles(16, 16)[m, n])


@pytest.mark.parametrize("ctas", [None, 1, 3])
@pytest.mark.parametrize("order", [None, 2, 3])
def test_every_tile_is_visited_once(ctas, order):
    y = gr.zeros((2, 70, 40), gr.f32)
    visit(y, ctas=ctas, order=order)
    np.testing.assert_array_equal(y.numpy(), np.ones((2, 70, 40), np.float32))


@gr.kernel
def fill(y: gr.InOut["N"], n: gr.u16, value: gr.f64, *, hints: gr.const = (None, None)):
    for i in gr.tiles(gr.cdiv(n, 64) + 0 * gr.sms(), warps=hints[0], stages=hints[1]):
        y[:n].tiles(64)[i] = value.to(y.dtype)


@pytest.mark.parametrize("n", [0, 1, 64, 100])
def test_a_parameter_decides_the_launch(n):
    y = gr.zeros(200, gr.f16)
    fill(y, n, 1.5)
    np.testing.assert_array_equal(y.numpy(), np.where(np.arange(200) < n, 1.5, 0))


def test_hints_are_an_attribute_of_the_kernel():
    y = gr.zeros(200, gr.f16)
    assert "girih.hints" not in fill.emit(y, 1, 1.0)
    text = fill.emit(y, 1, 1.0, hints=(8, 3))
    assert re.search(
        r"attributes \{girih\.hints = \{at = loc\(#loc\d+\), stages = 3 : i32, warps = 8 : i32\}\}",
        text,
    )


@gr.kernel
def undecided(y: gr.Out["K,N"], n: gr.i32):
    """What ``k`` decides before the loop is decided on the device in it."""
    for i in gr.tiles(1):
        k, once, more = 0, gr.zeros((64,)), gr.zeros((64,))
        for j in gr.range(n):
            if k == 0:
                once = once + 1
            else:
                more = more + 1
            k = k + 1
        y[0].block(0, 64).store(once)
        y[1].block(0, 64).store(more)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_changes_what_a_constant_decided(n):
    y = gr.empty((2, 64), gr.f32)
    undecided(y, n)
    np.testing.assert_array_equal(y.numpy()[:, 0], [min(n, 1), max(n - 1, 0)])
