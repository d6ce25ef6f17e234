# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roles by hand in the middle of kernels at tile level: @wg.function."""

import numpy as np
import pytest

import girih as gr
from gemm_support import integers, normal
from girih import emulator, wg

SEEDS = range(10)


@wg.function
def main_loop(A, B, m, n, shape):
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

    @wg.role(warps=1, registers=40)
    def load():
        for k, s in ring.fill(A.count[1]):
            wg.tma(A[m, k], s.a)
            wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=2, registers=232)
    def multiply():
        acc = wg.acc(shape)
        for k, s in ring.drain(A.count[1], lag=1):
            acc = wg.mma(s.a, s.b, acc)
        return acc


@gr.kernel
def by_passes(
    a: gr.In["M,K"], b: gr.In["K,N"], bias: gr.In["N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64, persistent: gr.const = False,
):  # fmt: skip
    A, B, C, Bias = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN), bias.tiles(BN)
    for m, n in gr.tiles(C, ctas=gr.sms(), order=gr.grouped(2)) if persistent else gr.tiles(C):
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        C[m, n] = gr.maximum(acc + Bias[n][None, :].to(gr.f32), 0.0).to(c.dtype)


@gr.kernel
def by_hand(
    a: gr.In["M,K"], b: gr.In["K,N"], bias: gr.In["N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64, persistent: gr.const = False,
):  # fmt: skip
    """The same, but for the loop over k."""
    A, B, C, Bias = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN), bias.tiles(BN)
    for m, n in gr.tiles(C, ctas=gr.sms(), order=gr.grouped(2)) if persistent else gr.tiles(C):
        acc = main_loop(A, B, m, n, (BM, BN))
        C[m, n] = gr.maximum(acc + Bias[n][None, :].to(gr.f32), 0.0).to(c.dtype)


SHAPES = [(1, 8, 8), (127, 120, 64), (128, 128, 256), (129, 136, 72), (300, 400, 520)]


@pytest.mark.parametrize("persistent", [False, True], ids=["one", "persistent"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_same_bits_as_the_passes_give(shape, persistent):
    m, n, k = shape
    a, b, bias = (
        gr.asarray(normal(s, i), gr.bf16) for i, s in enumerate([(m, k), (k, n), (n,)], 1)
    )
    for seed in SEEDS:
        outs = [gr.zeros((m, n), gr.bf16) for _ in range(2)]
        with emulator.options(seed=seed):
            for kernel, out in zip((by_passes, by_hand), outs, strict=True):
                kernel(a, b, bias, out, persistent=persistent)
        np.testing.assert_array_equal(outs[0].numpy(raw=True), outs[1].numpy(raw=True))
    program = by_hand.compile(a, b, bias, outs[1], persistent=persistent)
    assert program.resources["ptxas_messages"] == []
    assert program.resources["spill_bytes"] == program.resources["stack_bytes"] == 0
    assert any("stores c by TMA" in remark for remark in program.remarks)


@wg.function
def two_loops(ring, A, B, C, m, n, first, last):
    """Tiles `first` to `last` - 1 along K, with the sum of the product's rows."""

    @wg.role(warps=1)
    def load():
        for k, s in ring.fill(last - first):
            wg.tma(A[m, first + k], s.a)
            wg.tma(B[first + k, n], s.b)

    @wg.role(warpgroups=1)
    def multiply():
        acc = wg.acc(C)
        for _, s in ring.drain(last - first, lag=1):
            acc = wg.mma(s.a, s.b, acc)
        return acc, gr.sum(acc, axis=1), last - first


@gr.kernel
def halves(
    a: gr.In["M,K"],
    b: gr.In["K,N"],
    weights: gr.In["N,P"],
    c: gr.Out["M,N"],
    d: gr.Out["M,P"],
    e: gr.Out["M"],
):
    """Two calls that share a ring, in a loop over persistent tiles and under a branch; a product of the rest by mma.sync."""
    A, B, C, D, E = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64), d.tiles(64, 32), e.tiles(64)
    ring = wg.ring(3, a=wg.smem(A), b=wg.smem(B))
    for m, n in gr.tiles(C, ctas=gr.sms()):
        steps = A.count[1]
        half = steps // 2
        low, rows, _ = two_loops(ring, A, B, C, m, n, 0, half)
        if m % 2 == 0:
            high, more, count = two_loops(ring, A, B, C, m, n, half, steps)
            total = low + high * count
            rows = rows + more
        else:
            total = low * 2.0
        C[m, n] = total
        if n == 0:
            E[m] = rows
            D[m, 0] = gr.dot(total.to(gr.bf16), weights.tiles(64, 32)[0, 0])


def test_calls_that_share_a_ring():
    m, n, k = 300, 64, 336
    x, y, w = integers((m, k), 4), integers((k, n), 5), integers((n, 32), 6) % 2
    steps, half = 6, 3
    parts = [x[:, :192].astype(np.float64) @ y[:192], x[:, 192:].astype(np.float64) @ y[192:]]
    even = (np.arange(m) // 64 % 2 == 0)[:, None]
    expected = np.where(even, parts[0] + parts[1] * (steps - half), 2 * parts[0])
    sums = parts[0].sum(1) + even[:, 0] * parts[1].sum(1)
    narrow = gr.asarray(expected.astype(np.float32), gr.bf16).numpy().astype(np.float64) @ w
    arrays = [gr.asarray(v, gr.bf16) for v in (x, y, w)]
    for seed in SEEDS:
        c, d, e = (gr.zeros(s, gr.f32) for s in ((m, n), (m, 32), (m,)))
        with emulator.options(seed=seed, numerics="exact"):
            halves(*arrays, c, d, e)
        np.testing.assert_array_equal(c.numpy(), expected)
        np.testing.assert_array_equal(d.numpy(), narrow)
        np.testing.assert_array_equal(e.numpy(), sums)


@gr.kernel
def depends(a: gr.In["M,K"], b: gr.In["K,N"], counts: gr.InOut["M"], c: gr.Out["M,N"]):
    A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
    ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
    for m, n in gr.tiles(C):
        acc, _, _ = two_loops(ring, A, B, C, m, n, 0, counts[m])
        C[m, n] = acc


@gr.kernel
def hinted(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
    A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
    ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
    for m, n in gr.tiles(C, stages=3):
        C[m, n] = two_loops(ring, A, B, C, m, n, 0, 1)[0]


def test_what_the_other_roles_cannot_know():
    x, y, counts, c = (
        gr.zeros(s, t)
        for s, t in (((64, 64), gr.bf16), ((64, 64), gr.bf16), ((1,), gr.i32), ((64, 64), gr.f32))
    )
    with pytest.raises(gr.CompileError) as info:
        depends.compile(x, y, counts, c)
    assert info.value.message == (
        "role 'load' needs what tile.read gives, which only the role that executes the rest of the kernel has; "
        "expected numbers that follow from parameters, and from arrays that the kernel does not write"
    )
    assert "counts[m]" in str(info.value)


def test_hints_are_the_functions_to_say():
    x, c = gr.zeros((64, 64), gr.bf16), gr.zeros((64, 64), gr.f32)
    with pytest.raises(
        gr.CompileError, match="the hint stages is for kernels whose roles passes choose"
    ):
        hinted.compile(x, x, c)
