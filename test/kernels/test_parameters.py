"""What a kernel's parameters may be declared as, and what a call is checked for before anything runs."""

import numpy as np
import pytest

import girih as gr
from girih import wg
from girih.lang.annotations import ArrayAnnotation, Dim
from girih.lang.optional import OptionalAnnotation


def gemm(a_is=gr.In["M,K"], b_is=gr.In["K,N"], c_is=gr.Out["M,N"], factor_is=gr.f32 | None):
    """C = A · B, times a factor if there is one."""

    @gr.kernel
    def matmul(a: a_is, b: b_is, c: c_is, factor: factor_is = None):
        A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
        work = gr.tiles(C)
        ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
        out = wg.outbox(1, wg.smem((64, 32), c.dtype))

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
                for k, s in ring.drain(A.count[1]):
                    acc = wg.mma(s.a, s.b, acc)
                if factor is not None:
                    acc = acc * factor
                for t in acc.chunks(64, 32):
                    with out.slot() as o:
                        o.write(t)
                        wg.tma_store(o, C[m, n].at(t))

    return matmul


def operands(m, n, k):
    random = np.random.default_rng(m + n + k)
    x, y = random.integers(-4, 5, (m, k)), random.integers(-4, 5, (k, n))
    a, b = (gr.asarray(v.astype(np.float32), gr.bf16) for v in (x, y))
    return a, b, gr.asarray(np.full((m, n), np.nan), gr.f32), x @ y


def test_annotations():
    assert gr.In["M, K%8"] == ArrayAnnotation("in", (Dim("M"), Dim("K", 8)))
    assert gr.Out[""] == ArrayAnnotation("out", ())
    assert gr.InOut["B,H,M,D,E"].dims[4] == Dim("E")
    assert gr.In.dims is None
    assert gr.In["N"] | None == OptionalAnnotation(gr.In["N"])
    assert None | gr.In == OptionalAnnotation(gr.In)
    assert gr.f32 | None == OptionalAnnotation(gr.f32)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ("M,,K", "found ''"),
        ("M,2", "found '2'"),
        ("K%", "found 'K%'"),
        ("K%0", "found 'K%0'"),
        ("K%x", "found 'K%x'"),
        ("%8", "found '%8'"),
        ("A,B,C,D,E,F", "expected at most 5 dimensions, found 6"),
    ],
)
def test_annotations_that_mean_nothing(dims, message):
    with pytest.raises(ValueError, match=message):
        gr.In[dims]


def test_only_none_can_stand_for_an_absent_argument():
    with pytest.raises(TypeError):
        gr.In["M"] | 3
    with pytest.raises(TypeError):
        gr.f32 | gr.f64


@pytest.mark.parametrize("arrays", [(gr.In, gr.In, gr.Out), (gr.In, gr.In["K,N"], gr.Out)])
def test_dimensions_need_no_names(arrays):
    a, b, c, product = operands(70, 72, 136)
    gemm(*arrays)(a, b, c)
    np.testing.assert_array_equal(c.numpy(), product)


def test_an_absent_argument_specialises_the_code():
    kernel = gemm()
    a, b, c, product = operands(64, 64, 64)
    kernel(a, b, c)
    np.testing.assert_array_equal(c.numpy(), product)
    kernel(a, b, c, 2.0)
    np.testing.assert_array_equal(c.numpy(), 2 * product)
    kernel(a, b, c, factor=None)
    np.testing.assert_array_equal(c.numpy(), product)
    assert "mulf" in kernel.emit(a, b, c, 2.0)
    assert "mulf" not in kernel.emit(a, b, c)
    assert [p["name"] for p in kernel.compile(a, b, c).parameters] == ["a", "b", "c"]


def test_only_optional_arguments_may_be_absent():
    a, _, c, _ = operands(64, 64, 64)
    with pytest.raises(
        gr.LaunchError, match="^matmul: b: expected an array, found an object of type None"
    ):
        gemm()(a, None, c)


def test_divisors_are_checked_at_the_call():
    kernel = gemm(a_is=gr.In["M,K%16"])
    a, b, c, product = operands(8, 64, 48)
    kernel(a, b, c)
    np.testing.assert_array_equal(c.numpy(), product)
    a, b, c, _ = operands(8, 64, 40)
    with pytest.raises(gr.LaunchError) as error:
        kernel(a, b, c)
    assert str(error.value) == ("a has K = 40: expected a multiple of 16, as its declaration says")


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 0, 64), (0, 0, 64), (0, 0, 0), (0, 64, 0)])
def test_an_empty_result_needs_no_launch(shape):
    a, b, c, _ = operands(*shape)
    gemm()(a, b, c)
    assert c.numpy().size == 0


def test_accumulators_need_a_product():
    a, b, c, _ = operands(64, 64, 0)
    with pytest.raises(gr.LaunchError) as error:
        gemm()(a, b, c)
    assert str(error.value) == (
        "a has K = 0: expected at least 1, since the kernel's accumulators hold nothing before their "
        "first product"
    )


@pytest.mark.parametrize("shape", [(64, 64, 1), (64, 1, 64), (1, 64, 64), (1, 1, 1), (64, 1, 1)])
def test_one_element_along_a_dimension(shape):
    # In a column of single elements, neighbours are what TMA calls a row.
    a, b, c, product = operands(*shape)
    wide = gr.asarray(np.full((shape[0], 64), np.nan), gr.f32)[:, : shape[1]]
    gemm()(a, b, wide)
    np.testing.assert_array_equal(wide.numpy(), product)


def test_tma_needs_neighbours():
    a, b, c, _ = operands(64, 64, 128)
    with pytest.raises(gr.CompileError) as error:
        gemm()(a[:, ::2], b[:64], c)
    text = str(error.value)
    assert "TMA cannot copy a: no dimension has stride 1" in text
    assert "ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))" in text
    assert "pass a contiguous copy" in text


def test_tma_needs_aligned_rows():
    a, b, c, _ = operands(64, 64, 65)
    with pytest.raises(
        gr.LaunchError, match=r"^a: the row pitch is 130 bytes \(65 elements of bf16\); TMA"
    ):
        gemm()(a, b, c)
    with pytest.raises(
        gr.LaunchError, match="^a: the first element's address is 2 bytes past a mult"
    ):
        gemm()(gr.zeros((64, 72), gr.bf16)[:, 1:65], b[:64], c)


def test_ranks():
    a, b, c, _ = operands(64, 64, 64)
    with pytest.raises(gr.LaunchError, match=r"^matmul: a has 3 dimensions, expected 2: \[M, K\]$"):
        gemm()(a[None], b, c)
    deep = a
    for _ in range(4):
        deep = deep[None]
    with pytest.raises(gr.LaunchError, match="^matmul: a has 6 dimensions, expected at most 5"):
        gemm(a_is=gr.In)(deep, b, c)


def test_outputs_do_not_overlap_themselves():
    a, b, _, _ = operands(64, 64, 64)
    c = gr.zeros((1, 64), gr.f32).broadcast_to((64, 64))
    with pytest.raises(
        gr.LaunchError, match="^c: the kernel writes it, and all elements along dimension 0"
    ):
        gemm()(a, b, c)
