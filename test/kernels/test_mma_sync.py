# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by mma.sync: few rows, every type, every order of storage, operands from slots and from registers."""

import numpy as np
import pytest

import girih as gr
from gemm_support import integers, normal
from girih import emulator, wg

SEEDS = range(10)


@gr.kernel
def product(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const, BN: gr.const = 64, BK: gr.const = 64, sums: gr.const = gr.f32, precision: gr.const = None,
    warps: gr.const = 4,
):  # fmt: skip
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    for m, n in gr.tiles(C, warps=warps):
        acc = gr.zeros((BM, BN), sums)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc, precision=precision)
        C[m, n] = acc.to(c.dtype)


CASES = {
    "bf16": (gr.bf16, gr.bf16, gr.f32, 64),
    "f16": (gr.f16, gr.f16, gr.f32, 32),
    "tf32": (gr.f32, gr.f32, gr.f32, 32),
    "e4m3": (gr.e4m3, gr.e4m3, gr.f32, 64),
    "e4m3-e5m2": (gr.e4m3, gr.e5m2, gr.f32, 32),
    "s8": (gr.i8, gr.i8, gr.i32, 64),
    "u8-s8": (gr.u8, gr.i8, gr.i32, 64),
    "f64": (gr.f64, gr.f64, gr.f64, 16),
}


def on_device(x, dtype, order="rows"):
    """An array of ``dtype`` that holds the integers or numbers ``x``, stored by rows or by columns."""
    numbers = {gr.i8: np.int8, gr.u8: np.uint8, gr.f64: np.float64}.get(dtype, np.float32)
    x = np.abs(x) if dtype is gr.u8 else x
    if order == "columns":
        return gr.asarray(np.ascontiguousarray(x.T).astype(numbers), dtype).T
    return gr.asarray(x.astype(numbers), dtype)


def said(program, text):
    return any(text in remark for remark in program.remarks)


@pytest.mark.parametrize("shape", [(1, 16, 16), (17, 81, 145), (33, 128, 272)], ids=str)
@pytest.mark.parametrize("order", ["rows", "columns"])
@pytest.mark.parametrize("case", CASES)
def test_integers_are_exact(case, order, shape):
    """K x N by rows and by columns; 16 rows of tiles that the arrays' edges cut; pitches that TMA cannot take."""
    a_type, b_type, sums, depth = CASES[case]
    m, n, k = shape
    x, y = integers((m, k), 1).astype(np.float64), integers((k, n), 2).astype(np.float64)
    a, b = on_device(x, a_type), on_device(y, b_type, order)
    x = np.abs(x) if a_type is gr.u8 else x
    precision = "tf32" if case == "tf32" else None
    for seed in SEEDS:
        c = gr.zeros((m, n), sums)
        with emulator.options(seed=seed):
            product(a, b, c, BM=16, BK=depth, sums=sums, precision=precision)
        np.testing.assert_array_equal(c.numpy(), x @ y)
    program = product.compile(a, b, c, BM=16, BK=depth, sums=sums, precision=precision)
    assert said(program, "multiplies by mma.sync")
    assert program.resources["ptxas_messages"] == []
    assert program.resources["spill_bytes"] == program.resources["stack_bytes"] == 0


@pytest.mark.parametrize("warps", [4, 8, 12])
@pytest.mark.parametrize("rows", [1, 2, 4, 8, 16, 32, 48, 80, 96])
def test_rows_and_warps(rows, warps):
    """Fewer rows than an instruction has are repeated; more are shared out over warps, columns after them."""
    m, n, k = 100, 72, 136
    x, y = integers((m, k), 3), integers((k, n), 4)
    a, b, c = gr.asarray(x, gr.bf16), gr.asarray(y, gr.bf16), gr.zeros((m, n), gr.f32)
    product(a, b, c, BM=rows, warps=warps)
    np.testing.assert_array_equal(c.numpy(), x.astype(np.float64) @ y)


@pytest.mark.parametrize("n", [300, 304], ids=["registers", "tma"])
@pytest.mark.parametrize("warps", [4, 8, 12])
@pytest.mark.parametrize("columns", [8, 24, 40, 96, 160, 224])
def test_columns(columns, warps, n):
    """Parts of warps that do not end where the panels of a buffer do; pitches that TMA takes, and others."""
    x, y = integers((48, 64), 5), integers((64, n), 6)
    c = gr.zeros((48, n), gr.f32)
    for a in (gr.asarray(x, gr.bf16), gr.asarray(np.ascontiguousarray(x.T), gr.bf16).T):
        product(a, gr.asarray(y, gr.bf16), c, BM=16, BN=columns, warps=warps)
        np.testing.assert_array_equal(c.numpy(), x.astype(np.float64) @ y)


def test_operands_that_do_not_fit():
    """33 blocks of 8 columns, which no two warps can share: with two warpgroups, too, each would have all of them."""
    x, y = integers((16, 64), 17), integers((64, 264), 18)
    a, b, c = gr.asarray(x, gr.bf16), gr.asarray(y, gr.bf16), gr.zeros((16, 264), gr.f32)
    product(a, b, c, BM=16, BN=264)
    np.testing.assert_array_equal(c.numpy(), x.astype(np.float64) @ y)
    assert said(
        product.compile(a, b, c, BM=16, BN=264), "without tensor cores: mma.sync would take"
    )


def test_a_bias_that_products_add_to_in_registers():
    """Both operands are computed, the sum starts from what was loaded, K is that of one tile."""

    @gr.kernel
    def computed(a: gr.In["M,K"], b: gr.In["K,N"], bias: gr.In["N"], c: gr.Out["M,N"]):
        A, B, C, Bias = a.tiles(16, 64), b.tiles(64, 64), c.tiles(16, 64), bias.tiles(64)
        for m, n in gr.tiles(C):
            x, y = (A[m, 0] * 2.0).to(gr.bf16), (B[0, n] + 1.0).to(gr.bf16)
            C[m, n] = gr.dot(x, y, gr.broadcast_to(Bias[n][None, :], (16, 64)))

    x, y, bias = integers((40, 64), 7), integers((64, 96), 8), integers((96,), 9)
    a, b, c = gr.asarray(x), gr.asarray(y), gr.zeros((40, 96), gr.f32)
    for seed in SEEDS:
        with emulator.options(seed=seed):
            computed(a, b, gr.asarray(bias), c)
        np.testing.assert_array_equal(c.numpy(), (2.0 * x) @ (y + 1.0) + bias)


@pytest.mark.parametrize("case", ["bf16", "tf32", "f64"])
def test_normal_data_is_within_the_bound(case):
    """Every sum of binary32 (binary64) within (K + 1) units of the sum of magnitudes; tf32 reads 10 bits of each factor."""
    dtype, _, sums, depth = CASES[case]
    m, n, k = 33, 72, 1000
    a = on_device(normal((m, k), 10), dtype)
    b = on_device(normal((k, n), 11), dtype)
    x, y = a.numpy(), b.numpy()
    if case == "tf32":
        x, y = ((v.view(np.uint32) & ~np.uint32(0x1FFF)).view(np.float32) for v in (x, y))
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    c = gr.zeros((m, n), sums)
    with emulator.options(numerics="exact"):
        product(a, b, c, BM=16, BK=depth, sums=sums, precision="tf32" if case == "tf32" else None)
    unit = 2.0 ** (-53 if case == "f64" else -24)
    assert (np.abs(c.numpy() - x @ y) <= (k + 1) * unit * (np.abs(x) @ np.abs(y))).all()


def test_8_bit_floats_keep_more_than_wgmma_does():
    """docs/Numerics.md: sums of wgmma keep 13 bits behind the point, those of mma.sync are added up in f32."""
    random = np.random.default_rng(12)
    x, y = random.random((64, 4096)), random.random((4096, 64))
    a, b = on_device(x, gr.e4m3), on_device(y, gr.e4m3, "columns")
    reference = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)

    def distance(rows):
        c = gr.zeros((64, 64), gr.f32)
        with emulator.options(numerics="hopper"):
            product(a, b, c, BM=rows)
        z = c.numpy().astype(np.float64)
        return 1 - 2 * (z * reference).sum() / ((z**2).sum() + (reference**2).sum())

    assert distance(16) < 1e-6
    assert distance(64) > 1e-4


def test_a_product_in_a_role():
    """gr.dot between tiles of a role, beside wgmma: two warps that multiply what they have loaded."""

    @gr.kernel
    def in_role(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(32, 64), b.tiles(64, 48), c.tiles(32, 48)
        work = gr.tiles(C)

        @wg.role(warps=2)
        def multiply():
            for m, n in work:
                acc = gr.zeros((32, 48))
                for k in gr.range(A.count[1]):
                    acc = gr.dot(A[m, k].load(), B[k, n].load(), acc)
                C[m, n].store(acc)

    x, y = integers((70, 136), 13), integers((136, 96), 14)
    a, b, c = gr.asarray(x, gr.bf16), gr.asarray(y, gr.bf16), gr.zeros((70, 96), gr.f32)
    for seed in SEEDS:
        with emulator.options(seed=seed):
            in_role(a, b, c)
        np.testing.assert_array_equal(c.numpy(), x.astype(np.float64) @ y)
    assert said(
        in_role.compile(a, b, c), "multiplies by mma.sync: its operands are tiles of a role"
    )


def test_a_large_product_of_f64_is_shared_by_two_warpgroups():
    @gr.kernel
    def doubles(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 16), b.tiles(16, 64), c.tiles(128, 64)
        for m, n in gr.tiles(C):
            acc = gr.zeros((128, 64), gr.f64)
            for k in gr.range(A.count[1]):
                acc = gr.dot(A[m, k], B[k, n], acc)
            C[m, n] = acc

    x, y = normal((128, 40), 15).astype(np.float64), normal((40, 64), 16).astype(np.float64)
    a, b, c = gr.asarray(x), gr.asarray(y), gr.zeros((128, 64), gr.f64)
    doubles(a, b, c)
    assert (np.abs(c.numpy() - x @ y) <= 42 * 2.0**-52 * (np.abs(x) @ np.abs(y))).all()
    assert doubles.compile(a, b, c).kernels[0]["block"] == (384, 1, 1)  # one loads
