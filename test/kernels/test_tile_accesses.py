"""Accesses of memory element by element, and CTAs that wait for each other, at tile level."""

import numpy as np
import pytest

import girih as gr

SEEDS = range(3)


@gr.kernel
def embed(table: gr.In["V,D"], ids: gr.In["N"], y: gr.Out["N,D"]):
    Ids, Y = ids.tiles(16), y.tiles(16, 64)
    for i, j in gr.tiles(Y):
        Y[i, j] = table.block((Ids[i], j * 64), (16, 64))


def test_rows_of_a_table():
    table = np.random.default_rng(0).random((50, 100), np.float32)
    ids = np.random.default_rng(1).integers(0, 50, 37).astype(np.int32)
    y = gr.empty((37, 100), gr.f32)
    embed(gr.asarray(table), gr.asarray(ids), y)
    np.testing.assert_array_equal(y.numpy(), table[ids])


@gr.kernel
def put_rows(x: gr.In["N,D"], ids: gr.In["N"], y: gr.InOut["V,D"]):
    X, Ids = x.tiles(16, 64), ids.tiles(16, fill=-1)
    for i, j in gr.tiles(X):
        y.block((Ids[i], j * 64), (16, 64)).store(X[i, j])


def test_rows_to_listed_places():
    x = np.random.default_rng(0).random((37, 100), np.float32)
    ids = np.random.default_rng(1).permutation(50)[:37].astype(np.int32)
    y = np.full((50, 100), -1, np.float32)
    out = gr.asarray(y)
    put_rows(gr.asarray(x), gr.asarray(ids), out)
    y[ids] = x
    np.testing.assert_array_equal(out.numpy(), y)


@gr.kernel
def elements(x: gr.In["M,N"], rows: gr.In["K"], columns: gr.In["K"], y: gr.InOut["M,N"]):
    for i in gr.tiles(gr.cdiv(rows.shape[0], 128)):
        at = i * 128 + gr.arange(128)
        here = at < rows.shape[0]
        row, column = rows.block(i * 128, 128).load(), columns.block(i * 128, 128).load()
        values = gr.gather(x, (row, column), mask=here, fill=-1.0)
        gr.scatter(y, (row, column), values * 2, mask=here & (values > 0))


def test_gather_and_scatter():
    random = np.random.default_rng(0)
    x = random.integers(-9, 9, (20, 30)).astype(np.float32)
    places = random.permutation(600)[:300].astype(np.int32)
    rows, columns = places // 30, places % 30
    y = gr.zeros((20, 30), gr.f32)
    elements(*map(gr.asarray, (x, rows, columns)), y)
    expected = np.zeros_like(x)
    values = x[rows, columns]
    expected[rows[values > 0], columns[values > 0]] = 2 * values[values > 0]
    np.testing.assert_array_equal(y.numpy(), expected)


@gr.kernel
def histogram(x: gr.In["N"], bins: gr.InOut["B"]):
    X = x.tiles(256)
    for i in gr.tiles(X):
        gr.atomic_add(bins, X[i], 1, mask=gr.coords(X[i]) < x.shape[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_histogram(seed):
    x = np.random.default_rng(seed).integers(0, 10, 1000).astype(np.int32)
    bins = gr.zeros(10, gr.i32)
    with gr.emulator.options(seed=seed):
        histogram(gr.asarray(x), bins)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(x, minlength=10))


@gr.kernel
def in_turn(x: gr.In["N"], flags: gr.InOut["F"], total: gr.InOut["F"]):
    """CTA i adds its sum when CTA i - 1 has."""
    X = x.tiles(128)
    for i in gr.tiles(X):
        s = gr.sum(X[i])
        gr.wait_for(flags, 0, i)
        total[0] = total[0] * 0.5 + s
        gr.signal(flags, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_ctas_wait_for_each_other(seed):
    x = np.random.default_rng(0).integers(-9, 9, 512).astype(np.float32)
    total = gr.zeros(1, gr.f32)
    with gr.emulator.options(seed=seed):
        in_turn(gr.asarray(x), gr.zeros(1, gr.i32), total)
    expected = 0.0
    for part in x.reshape(4, 128).sum(1):
        expected = expected * 0.5 + part
    assert total.numpy()[0] == expected


@gr.kernel
def queue(x: gr.In["N"], y: gr.InOut["N"]):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(X, dynamic=True):
        Y[i] += X[i]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_tile_is_taken_once(seed):
    x = np.arange(2000, dtype=np.float32)
    y = gr.zeros(2000, gr.f32)
    with gr.emulator.options(seed=seed):
        queue(gr.asarray(x), y)
    np.testing.assert_array_equal(y.numpy(), x)


@gr.kernel
def split_k(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *, S: gr.const
):  # fmt: skip
    """The CTA that comes last adds the parts up, in one order whoever that is."""
    A, B, C = a.tiles(64, 32), b.tiles(32, 64), c.tiles(64, 64)
    M, N = C.count
    parts = gr.workspace((S, M * 64, N * 64), gr.f32)
    done = gr.workspace((M, N), gr.i32, zero=True)
    for s, m, n in gr.tiles(S, M, N):
        acc = gr.zeros((64, 64))
        each = gr.cdiv(A.count[1], S)
        for k in gr.range(s * each, min((s + 1) * each, A.count[1])):
            acc = gr.dot(A[m, k], B[k, n], acc)
        parts[s].tiles(64, 64)[m, n] = acc
        if gr.signal(done, (m, n)) == S - 1:
            gr.wait_for(done, (m, n), S)
            total = gr.zeros((64, 64))
            for i in gr.range(S):
                total += parts[i].tiles(64, 64)[m, n]
            C[m, n] = total


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_a_product_in_a_workspace(seed):
    random = np.random.default_rng(0)
    x, y = random.integers(-8, 9, (100, 200)), random.integers(-8, 9, (200, 72))
    a, b = (gr.asarray(v.astype(np.float32), gr.bf16) for v in (x, y))
    c = gr.empty((100, 72), gr.f32)
    with gr.emulator.options(seed=seed):
        split_k(a, b, c, S=3)
    np.testing.assert_array_equal(c.numpy(), x @ y)
