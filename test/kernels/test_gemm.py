"""The GEMM of examples/gemm.py on the emulated device against float64, every variant and edge shape."""

import numpy as np
import pytest

import girih as gr
from gemm_support import (
    SHAPES,
    VARIANTS,
    Variant,
    assert_within_bound,
    integers,
    normal,
    operands,
    round_to,
    run,
    tiles_of,
)
from girih import emulator, wg
from girih.runtime import device

SEEDS = range(10)


@pytest.mark.parametrize("persistent", [False, True], ids=["one-tile", "persistent"])
@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
class TestEveryVariant:
    """Under ten seeds of the emulated device where data are whole numbers."""

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
    def test_integers_are_exact(self, variant, out, persistent, shape):
        """Every partial sum is an integer below 2^24, so the result is float64's, rounded once."""
        m, n, k = shape
        a, b = integers((m, k), 1), integers((k, n), 2)
        expected = round_to(a.astype(np.float64) @ b.astype(np.float64), out)
        for seed in SEEDS:
            result = run(variant, out, persistent, a, b, seed)
            np.testing.assert_array_equal(result, expected)

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
    def test_normal_data_is_within_the_bound(self, variant, out, persistent, shape):
        """|out - ref| <= (K + 1) 2^-24 |A||B| + 2^-p |ref|; the order of a sum depends on no seed."""
        m, n, k = shape
        a, b = normal((m, k), 3), normal((k, n), 4)
        results = [run(variant, out, persistent, a, b, seed) for seed in range(2)]
        assert_within_bound(results[0], a, b, out)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("variant", "stages"),
    [
        # 232448 bytes less 16384 of outbox for each warpgroup, over (BM + BN) * 128, at most four.
        (Variant(128, 256, 64, "kn"), 4),
        (Variant(128, 256, 64, "nk"), 4),
        (Variant(128, 128, 64, "kn"), 4),
        (Variant(128, 128, 64, "nk"), 4),
        (Variant(192, 176, 64, "nk"), 3),  # 183296 / 47104 = 3.9
        (Variant(128, 144, 64, "nk"), 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
def test_stages_default_to_the_most_that_fit(variant, stages, out):
    program = variant.compile(out)
    per_stage = (variant.BM + variant.BN) * variant.BK * 2
    outbox = variant.BM // 64 * 2 * 64 * 128
    slack = program.resources["shared_bytes"] - stages * per_stage - outbox
    assert 0 < slack < 1024 + 1024  # barriers and alignment


@gr.kernel
def matmul_even_tiles(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const, BN: gr.const, BK: gr.const,
):  # fmt: skip
    """Like the example's, but stores the even columns of tiles only."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    work = gr.tiles(C)
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))
    EN = 128 // c.dtype.bytes
    out = wg.outbox(2, wg.smem((64, EN), c.dtype))
    consumers = BM // 64

    @wg.role(warps=1, registers=40 if consumers == 2 else 32)
    def load():
        for m, n in work:
            for k, s in ring.fill(A.count[1]):
                wg.tma(A[m, k], s.a)
                wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=consumers, registers=232 if consumers == 2 else 160)
    def multiply():
        for m, n in work:
            acc = wg.acc(C)
            for k, s in ring.drain(A.count[1], lag=1):
                acc = wg.mma(s.a, s.b, acc)
            if n % 2 == 0:
                for t in acc.chunks(64, EN):
                    with out.slot() as o:
                        o.write(t.to(c.dtype))
                        wg.tma_store(o, C[m, n].at(t))


@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
@pytest.mark.parametrize(
    "variant", [Variant(192, 176, 64, "nk"), Variant(128, 144, 64, "nk")], ids=str
)
def test_a_narrow_last_chunk_leaves_the_neighbour_alone(variant, out):
    """The tile to the right of each stored one keeps the poison that was there."""
    m, n, k = variant.BM, 3 * variant.BN, 128
    a, b = integers((m, k), 5), integers((k, n), 6)
    device_a, device_b = operands(variant, a, b)
    c = gr.asarray(np.full((m, n), -7.5, np.float32), dtype=out)
    matmul_even_tiles(device_a, device_b, c, BM=variant.BM, BN=variant.BN, BK=variant.BK)
    expected = round_to(a.astype(np.float64) @ b.astype(np.float64), out)
    expected[:, variant.BN : 2 * variant.BN] = -7.5
    np.testing.assert_array_equal(c.numpy(), expected)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_shapes_have_more_tiles_than_the_persistent_runs_have_ctas(variant):
    """The device of these tests has two multiprocessors (conftest.py), so a launch has at most two CTAs."""
    assert device.multiprocessors() == 2
    assert sum(tiles_of(variant, shape) > 2 for shape in SHAPES) >= 1


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (
            (128, 256, 60),
            "a: the row pitch is 120 bytes (60 elements of bf16); TMA needs a multiple of 16",
        ),
        (
            (128, 252, 64),
            "b: the row pitch is 504 bytes (252 elements of bf16); TMA needs a multiple of 16",
        ),
    ],
)
def test_pitches_that_tma_cannot_take(shape, text):
    m, n, k = shape
    with pytest.raises(gr.LaunchError) as info:
        run(Variant(128, 256, 64, "kn"), gr.f32, False, normal((m, k), 1), normal((k, n), 2), 0)
    assert text in str(info.value)


@gr.kernel
def matmul_scaled(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.InOut["M,N"], alpha: gr.f32, rows: gr.i32,
):  # fmt: skip
    """c = 0.5 * alpha * (a @ b) + rows, by one warpgroup, with the ring's raw operations."""
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
            for _ in gr.range(A.count[1]):
                s = ring.get()
                acc = wg.mma(s.a, s.b, acc)
                wg.wait(acc)
                ring.free(s)
            done = wg.wait(acc) * 0.5 * alpha + rows
            for t in done.chunks(64, 32):
                with out.slot() as o:
                    o.write(t)
                    wg.tma_store(o, C[m, n].at(t))


@pytest.mark.parametrize("shape", [(64, 64, 64), (130, 72, 328)])
def test_arithmetic_on_tiles_and_raw_ring_operations(shape):
    m, n, k = shape
    a, b = integers((m, k), 7), integers((k, n), 8)
    c = gr.zeros((m, n), gr.f32)
    for seed in SEEDS:
        with emulator.options(seed=seed):
            matmul_scaled(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c, 4.0, 3)
        np.testing.assert_array_equal(c.numpy(), 2.0 * (a.astype(np.float64) @ b) + 3.0)


def test_dimensions_that_disagree_at_the_call():
    variant = Variant(128, 256, 64, "kn")
    a, b = operands(variant, normal((128, 64), 1), normal((72, 256), 2))
    with pytest.raises(gr.LaunchError) as info:
        variant.launch(a, b, gr.empty((128, 256), gr.bf16))
    assert "a has K = 64, b has K = 72: dimensions named K must agree" in str(info.value)
