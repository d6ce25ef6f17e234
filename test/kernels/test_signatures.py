"""A kernel is compiled once for each signature: dtypes, the dimension with stride 1, constants."""

import numpy as np
import pytest

import girih as gr
from girih import wg
from girih.compiler import client


@pytest.fixture
def compiled(monkeypatch):
    """The names of the kernels that were compiled, one entry for each time."""
    names = []
    compile_text = client.compile_text

    def counted(name, text, sources, **options):
        names.append(name)
        return compile_text(name, text, sources, **options)

    monkeypatch.setattr(client, "compile_text", counted)
    monkeypatch.setenv("GIRIH_CACHE", "0")
    return names


def small_gemm():
    """A kernel of its own for each test, so that nothing is compiled yet."""

    @gr.kernel
    def matmul(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *, BN: gr.const = 64):
        A, B, C = a.tiles(64, 64), b.tiles(64, BN), c.tiles(64, BN)
        work = gr.tiles(C)
        ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
        columns = 128 // c.dtype.bytes
        out = wg.outbox(1, wg.smem((64, columns), c.dtype))

        @wg.role(warps=1, registers=40)
        def load():
            for m, n in work:
                for k, s in ring.fill(A.count[1]):
                    wg.tma(A[m, k], s.a)
                    wg.tma(B[k, n], s.b)

        @wg.role(warpgroups=1, registers=232)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    acc = wg.mma(s.a, s.b, acc)
                for t in acc.chunks(64, columns):
                    with out.slot() as o:
                        o.write(t.to(c.dtype))
                        wg.tma_store(o, C[m, n].at(t))

    return matmul


def check(kernel, shape, dtype=gr.f32, transposed=False, **constants):
    """One call, whose result is exact."""
    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    a, b = (random.integers(-4, 5, x).astype(np.float32) for x in ((m, k), (k, n)))
    stored = b.T.copy() if transposed else b
    device_b = gr.asarray(stored, gr.bf16)
    c = gr.empty((m, n), dtype)
    kernel(gr.asarray(a, gr.bf16), device_b.T if transposed else device_b, c, **constants)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c.numpy() - expected).max() <= (0 if dtype == gr.f32 else 1)


def test_other_extents_and_arrays_reuse_the_program(compiled):
    kernel = small_gemm()
    check(kernel, (64, 64, 64))
    check(kernel, (64, 64, 64))
    check(kernel, (130, 72, 200))
    assert compiled == ["matmul"]


def test_each_part_of_a_signature_is_compiled_for(compiled):
    kernel = small_gemm()
    calls = [{}, {"BN": 32}, {"dtype": gr.bf16}, {"transposed": True}]
    for number, call in enumerate(calls, 1):
        check(kernel, (64, 64, 64), **call)
        assert len(compiled) == number, call
    for call in calls:
        check(kernel, (64, 128, 64), **call)
    assert len(compiled) == len(calls)


def test_compile_and_call_share_the_program(compiled):
    kernel = small_gemm()
    a, b, c = (gr.zeros((64, 64), dtype) for dtype in (gr.bf16, gr.bf16, gr.f32))
    program = kernel.compile(a, b, c)
    kernel(a, b, c)
    assert kernel.compile(a, b, c) is program
    assert compiled == ["matmul"]
