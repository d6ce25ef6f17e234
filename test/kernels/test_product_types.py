# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of every type that the tensor cores take, at wg level: exact on integers, against float64."""

import numpy as np
import pytest

import girih as gr
from gemm_support import integers
from girih import emulator, wg


@gr.kernel
def product(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *, BN: gr.const, BK: gr.const, sums: gr.const,
):  # fmt: skip
    """One warpgroup, tiles of 64 x BN x BK, accumulated in ``sums``."""
    A, B, C = a.tiles(64, BK), b.tiles(BK, BN), c.tiles(64, BN)
    work = gr.tiles(C)
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))
    out = wg.outbox(1, wg.smem((64, 32), c.dtype))

    @wg.role(warps=1)
    def load():
        for m, n in work:
            for k, s in ring.fill(A.count[1]):
                wg.tma(A[m, k], s.a)
                wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=1)
    def multiply():
        for m, n in work:
            acc = wg.acc(C, sums)
            for k, s in ring.drain(A.count[1], lag=1):
                acc = wg.mma(s.a, s.b, acc)
            for t in acc.chunks(64, 32):
                with out.slot() as o:
                    o.write(t)
                    wg.tma_store(o, C[m, n].at(t))


CASES = {
    "e4m3": (gr.e4m3, gr.e4m3, gr.f32, 128),
    "e5m2": (gr.e5m2, gr.e5m2, gr.f32, 128),
    "e4m3-e5m2": (gr.e4m3, gr.e5m2, gr.f32, 64),
    "s8": (gr.i8, gr.i8, gr.i32, 128),
    "u8": (gr.u8, gr.u8, gr.i32, 64),
    "s8-u8": (gr.i8, gr.u8, gr.i32, 64),
    "u8-s8": (gr.u8, gr.i8, gr.i32, 64),
    "tf32": (gr.f32, gr.f32, gr.f32, 32),
    "f16": (gr.f16, gr.f16, gr.f32, 64),
}


def operand(shape, dtype, seed):
    """Integers of at most 8 in magnitude, which every type holds exactly; of u8 up to 248, which i8 takes for
    negative ones."""
    x = integers(shape, seed)
    return 31 * np.abs(x) if dtype is gr.u8 else x


def on_device(x, dtype):
    """An array of ``dtype``; integers are converted here, since that may lose something."""
    numbers = {gr.i8: np.int8, gr.u8: np.uint8}.get(dtype)
    return gr.asarray(x if numbers is None else x.astype(numbers), dtype)


@pytest.mark.parametrize("shape", [(1, 16, 16), (65, 80, 144), (128, 64, 272)], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_integers_are_exact(case, shape):
    a_type, b_type, sums, depth = CASES[case]
    m, n, k = shape
    x, y = operand((m, k), a_type, 1), operand((k, n), b_type, 2)
    a = on_device(x, a_type)
    b = on_device(np.ascontiguousarray(y.T), b_type).T  # K contiguous
    for seed in range(10):
        c = gr.zeros((m, n), sums)
        with emulator.options(seed=seed):
            product(a, b, c, BN=64, BK=depth, sums=sums)
        np.testing.assert_array_equal(c.numpy(), x.astype(np.float64) @ y)


@pytest.mark.parametrize("dtype", [gr.e4m3, gr.i8, gr.f32], ids=lambda dtype: dtype.name)
def test_storage_that_the_tensor_cores_cannot_read(dtype):
    """Only 16-bit operands may have another dimension than K contiguous."""
    sums = gr.i32 if dtype is gr.i8 else gr.f32
    a, b, c = gr.zeros((64, 128), dtype), gr.zeros((128, 64), dtype), gr.zeros((64, 64), sums)
    with pytest.raises(gr.CompileError) as info:
        product.compile(a, b, c, BN=64, BK=32, sums=sums)
    assert info.value.message == f"wgmma reads operands of {dtype.name} along K only"
    assert info.value.expected == "operand b stored with K contiguous"
