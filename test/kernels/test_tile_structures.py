"""Control flow around products at tile level: what both roles must walk through alike."""

import numpy as np
import pytest

import girih as gr
from gemm_support import round_to
from girih import emulator

SEEDS = range(3)


def integers(shape, seed, most=4):
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(np.float32)


def check(kernel, inputs, expected, *rest, out=gr.f32):
    """Runs the kernel on bf16 inputs, three seeds, and compares exactly."""
    for seed in SEEDS:
        y = gr.asarray(np.full(expected.shape, np.nan, np.float32), out)
        with emulator.options(seed=seed):
            kernel(*(gr.asarray(x, gr.bf16) for x in inputs), y, *rest)
        np.testing.assert_array_equal(y.numpy(), round_to(expected, out))


def product(x, w, steps=None, width=64):
    """The product over all blocks of K, or over some."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    if steps is None:
        return x @ w
    blocks = (slice(width * k, width * (k + 1)) for k in steps)
    return sum((x[:, k] @ w[k] for k in blocks), np.zeros((x.shape[0], w.shape[1])))


@gr.kernel
def gated(x: gr.In["M,K"], w: gr.In["K,N"], v: gr.In["K,N"], y: gr.Out["M,N"]):
    X, W, V, Y = x.tiles(128, 64), w.tiles(64, 64), v.tiles(64, 64), y.tiles(128, 64)
    for m, n in gr.tiles(Y):
        a, b = gr.zeros((128, 64)), gr.zeros((128, 64))
        for k in gr.range(X.count[1]):
            t = X[m, k]
            a = gr.dot(t, W[k, n], a)
            b = gr.dot(t, V[k, n], b)
        Y[m, n] = a * b


def test_two_products_of_one_operand_share_a_slot():
    x, w, v = integers((200, 136), 1), integers((136, 72), 2), integers((136, 72), 3)
    check(gated, (x, w, v), product(x, w) * product(x, v))


@gr.kernel
def every_other(x: gr.In["M,K"], w: gr.In["K,N"], y: gr.Out["M,N"], parity: gr.i32):
    X, W, Y = x.tiles(64, 64), w.tiles(64, 64), y.tiles(64, 64)
    for m, n in gr.tiles(Y, ctas=gr.sms()):
        acc = gr.zeros((64, 64))
        for k in gr.range(X.count[1]):
            if k % 2 == parity:
                acc = gr.dot(X[m, k], W[k, n], acc)
        if m > 0:
            acc = acc * 2.0
        Y[m, n] = acc


@pytest.mark.parametrize("parity", [0, 1])
def test_a_product_under_a_condition(parity):
    x, w = integers((200, 264), 4), integers((264, 136), 5)
    expected = product(x, w, range(parity, 5, 2))
    expected[64:] *= 2
    check(every_other, (x, w), expected, parity)


@gr.kernel
def two_layers(x: gr.In["M,K"], w: gr.In["K,N"], v: gr.In["N,P"], y: gr.Out["M,P"]):
    X, W, V, Y = x.tiles(128, 64), w.tiles(64, 128), v.tiles(128, 64), y.tiles(128, 64)
    for m, p in gr.tiles(Y):
        out = gr.zeros((128, 64))
        for n in gr.range(W.count[1]):
            hidden = gr.zeros((128, 128))
            for k in gr.range(X.count[1]):
                hidden = gr.dot(X[m, k], W[k, n], hidden)
            out = gr.dot(gr.maximum(hidden, 0.0).to(gr.bf16), V[n, p], out)
        Y[m, p] = out


def test_a_product_of_a_product():
    """The inner loop drains; what it gives is operand a of the outer one, from registers."""
    x, w, v = integers((200, 136), 6, 1), integers((136, 264), 7, 1), integers((264, 72), 8, 1)
    hidden = round_to(np.maximum(product(x, w), 0), gr.bf16)
    check(two_layers, (x, w, v), product(hidden, v))


@gr.kernel
def onto(x: gr.In["M,K"], w: gr.In["K,N"], z: gr.In["M,N"], y: gr.Out["M,N"]):
    X, W, Z, Y = x.tiles(64, 64), w.tiles(64, 64), z.tiles(64, 64), y.tiles(64, 64)
    for m, n in gr.tiles(Y):
        acc = Z[m, n].to(gr.f32)
        for k in gr.range(1, X.count[1], 2):
            acc = gr.dot(X[m, k], W[k, n], acc)
        Y[m, n] = acc


def test_a_sum_that_starts_from_something_and_a_loop_with_a_step():
    x, w, z = integers((200, 264), 9), integers((264, 136), 10), integers((200, 136), 11)
    check(onto, (x, w, z), z + product(x, w, (1, 3)))


def test_a_sum_that_starts_from_something_without_any_step():
    x, w, z = integers((70, 64), 12), integers((64, 136), 13), integers((70, 136), 14)
    check(onto, (x, w, z), z.astype(np.float64))


@gr.kernel
def by_while(x: gr.In["M,K"], w: gr.In["K,N"], y: gr.Out["M,N"]):
    X, W, Y = x.tiles(64, 64), w.tiles(64, 64), y.tiles(64, 64)
    for m, n in gr.tiles(Y):
        acc, k = gr.zeros((64, 64)), 0
        while k < X.count[1]:
            acc = gr.dot(X[m, k], W[k, n], acc)
            k = k + 2
        Y[m, n] = acc


def test_a_while_loop():
    x, w = integers((200, 264), 15), integers((264, 136), 16)
    check(by_while, (x, w), product(x, w, (0, 2, 4)))


@gr.kernel
def gram(x: gr.In["M,K"], y: gr.Out["M,M"]):
    X, Y = x.tiles(64, 64), y.tiles(64, 64)
    for m, n in gr.tiles(Y):
        acc = gr.zeros((64, 64))
        for k in gr.range(X.count[1]):
            acc = gr.dot(X[m, k], X[n, k].T, acc)
        Y[m, n] = acc


def test_both_operands_of_one_array():
    x = integers((200, 136), 17)
    check(gram, (x,), product(x, x.T))


@gr.kernel
def ragged(x: gr.In["M,K"], w: gr.In["K,N"], y: gr.Out["M,N"], counts: gr.In["B"]):
    X, W, Y = x.tiles(64, 64), w.tiles(64, 64), y.tiles(64, 64)
    for m, n in gr.tiles(Y):
        acc, total = gr.zeros((64, 64)), 0
        for k in gr.range(counts[m]):
            acc = gr.dot(X[m, k], W[k, n], acc)
            total = total + k
        Y[m, n] = acc + total.to(gr.f32)


def test_a_count_that_memory_gives():
    """Both roles read it; zero steps for one tile; a number beside the accumulator, which the one that loads lacks."""
    x, w = integers((200, 264), 18), integers((264, 136), 19)
    counts = np.array([0, 5, 2, 1], np.int32)
    expected = np.concatenate(
        [
            product(x[64 * m : 64 * m + 64], w, range(c)) + sum(range(c))
            for m, c in enumerate(counts)
        ]
    )
    check(ragged, (x, w), expected, gr.asarray(counts))


@gr.kernel
def converted(x: gr.In["M,K"], w: gr.In["K,N"], y: gr.Out["M,N"], *, BM: gr.const = 128):
    X, W, Y = x.tiles(BM, 64), w.tiles(64, 64), y.tiles(BM, 64)
    for m, n in gr.tiles(Y):
        acc = gr.zeros((BM, 64))
        for k in gr.range(X.count[1]):
            acc = gr.dot((X[m, k] * 2.0).to(gr.bf16), (W[k, n] + 1.0).to(gr.bf16), acc)
        Y[m, n] = acc.to(y.dtype)


@pytest.mark.parametrize("rows", [96, 128])
def test_operands_that_the_kernel_computes(rows):
    """96 rows are no part of 64: without tensor cores. The result is stored by columns, from registers."""
    x, w = integers((200, 136), 20), integers((136, 72), 21)
    y = gr.asarray(np.full((72, 200), np.nan, np.float32), gr.bf16)
    converted(gr.asarray(x), gr.asarray(w), y.T, BM=rows)
    np.testing.assert_array_equal(y.numpy().T, round_to(product(2 * x, w + 1), gr.bf16))


@gr.kernel
def typed(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *, sums: gr.const, precision: gr.const,
):  # fmt: skip
    A, B, C = a.tiles(128, 64), b.tiles(64, 64), c.tiles(128, 64)
    for m, n in gr.tiles(C):
        acc = gr.zeros((128, 64), sums)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc, precision=precision)
        C[m, n] = acc


@pytest.mark.parametrize("stored", ["kn", "nk"])
@pytest.mark.parametrize("dtype", [gr.e4m3, gr.e5m2, gr.f32, gr.i8, gr.u8], ids=str)
def test_products_of_other_types_on_tensor_cores(dtype, stored):
    """Of what has no 16 bits wgmma reads B along K only: stored K x N it goes through registers."""
    random = np.random.default_rng(22)
    x, w = (random.integers(-4 * (dtype != gr.u8), 5, s) for s in ((200, 160), (160, 144)))
    host = {gr.i8: np.int8, gr.u8: np.uint8}.get(dtype, np.float32)
    a, b = gr.asarray(x.astype(host), dtype), gr.asarray(w.astype(host), dtype)
    if stored == "nk":
        b = gr.asarray(np.ascontiguousarray(w.T.astype(host)), dtype).T
    sums = gr.i32 if dtype in (gr.i8, gr.u8) else gr.f32
    c = gr.zeros((200, 144), sums)
    typed(a, b, c, sums=sums, precision="tf32" if dtype == gr.f32 else None)
    np.testing.assert_array_equal(c.numpy(), x @ w)


@pytest.mark.parametrize("signed", ["a", "b"])
def test_a_signed_times_an_unsigned_operand(signed):
    """The whole range of both, which the other type reads as other numbers."""
    random = np.random.default_rng(23)
    ranges = {gr.i8: (np.int8, -128, 128), gr.u8: (np.uint8, 0, 256)}
    types = (gr.i8, gr.u8) if signed == "a" else (gr.u8, gr.i8)
    numbers = []
    for dtype, shape in zip(types, ((130, 96), (96, 144)), strict=True):
        host, low, high = ranges[dtype]
        numbers.append(random.integers(low, high, shape).astype(host))
    x, w = numbers
    a, b = gr.asarray(x, types[0]), gr.asarray(np.ascontiguousarray(w.T), types[1]).T
    c = gr.zeros((130, 144), gr.i32)
    typed(a, b, c, sums=gr.i32, precision=None)
    np.testing.assert_array_equal(c.numpy(), x.astype(np.int64) @ w.astype(np.int64))
