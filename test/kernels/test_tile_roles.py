# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products at tile level by roles and clusters that hints ask for, on the emulated device against float64: edge shapes, ten
seeds, adversaries, what ptxas and the checker of barriers say, and what passes choose where nobody asks."""

import functools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import girih as gr
from gemm_support import assert_within_bound, integers, normal, round_to
from girih import emulator
from girih.kernels.products import matmul

SEEDS = range(10)
ADVERSARIES = ["async-late", "async-early", "starve-one", "producers-first", "consumers-first"]
GIRIH_OPT = Path(gr.__file__).parents[2] / "bin" / "girih-opt"
CHECK = (
    "builtin.module(girih-tile-to-wg,gpu.module(wg-derive-waits,wg-choose-stages,wg-expand-ring-loops,"
    "wg-lower-turns,wg-lower-rings,wg-allocate-shared,wg-check-barriers{verdicts}))"
)


@functools.cache
def hinted(roles, cluster):
    """The library's product with hints."""
    return gr.kernel(roles=roles, cluster=cluster)(matmul.function)


def case(bm, bn, storage="kn", roles="pingpong", cluster=None):
    """The kernel, the tiles and how B is stored, as a parameter of tests."""
    name = f"{roles}-{bm}x{bn}-{storage}" + (f"-{cluster[0]}x{cluster[1]}" if cluster else "")
    return pytest.param(hinted(roles, cluster), {"BM": bm, "BN": bn}, storage, id=name)


CASES = [
    case(64, 256),
    case(64, 176, "nk"),
    case(128, 128),
    case(64, 128, cluster=(2, 1)),
    case(64, 256, "nk", cluster=(2, 1)),
    case(64, 128, cluster=(1, 2)),
    case(128, 256, roles="cooperative", cluster=(2, 1)),
    case(128, 256, "nk", roles="cooperative", cluster=(1, 2)),
]
each_case = pytest.mark.parametrize(("kernel", "tiles", "storage"), CASES)


def on_device(storage, a, b):
    """The operands in bf16; b is stored K x N or N x K."""
    if storage == "nk":
        return gr.asarray(a, gr.bf16), gr.asarray(np.ascontiguousarray(b.T), gr.bf16).T
    return gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16)


def run(kernel, tiles, storage, a, b, out, **options):
    """The kernel's result, in an array that was full of NaN."""
    c = gr.asarray(np.full((a.shape[0], b.shape[1]), np.nan, np.float32), out)
    with emulator.options(**options):
        kernel(*on_device(storage, a, b), c, **tiles)
    return c.numpy()


def compiled(kernel, tiles, storage="kn", out=gr.bf16):
    zeros = np.zeros((64, 64), np.float32)
    return kernel.compile(*on_device(storage, zeros, zeros), gr.empty((64, 64), out), **tiles)


@each_case
def test_integers_are_exact(kernel, tiles, storage):
    bm, bn = tiles["BM"], tiles["BN"]
    for m, n, k in [
        (1, 8, 8),
        (bm - 1, bn - 8, 56),
        (bm, bn, 64),
        (bm + 1, bn + 8, 72),
        (3 * bm - 1, 2 * bn, 320),  # five k blocks over four slots, an odd number of rows of tiles
        (5 * bm, bn, 192),
        (bm + 1, bn, 0),  # nobody multiplies, and turns are passed on all the same
    ]:
        a, b = integers((m, k), 1), integers((k, n), 2)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        for seed in SEEDS if m * n * k < 1 << 23 else range(3):
            result = run(kernel, tiles, storage, a, b, gr.bf16, seed=seed)
            np.testing.assert_array_equal(result, round_to(expected, gr.bf16))


@pytest.mark.parametrize("adversary", ADVERSARIES)
@each_case
def test_under_an_adversary(kernel, tiles, storage, adversary):
    a, b = integers((5 * tiles["BM"], 192), 3), integers((192, tiles["BN"]), 4)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    result = run(kernel, tiles, storage, a, b, gr.f32, adversary=adversary)
    np.testing.assert_array_equal(result, expected)


@each_case
def test_normal_data_is_within_the_bound(kernel, tiles, storage):
    a, b = normal((200, 328), 5), normal((328, 264), 6)
    for out in (gr.bf16, gr.f32):
        assert_within_bound(run(kernel, tiles, storage, a, b, out, seed=1), a, b, out)


@each_case
def test_ptxas_has_nothing_to_say(kernel, tiles, storage):
    for out in (gr.bf16, gr.f32):
        resources = compiled(kernel, tiles, storage, out).resources
        assert resources["ptxas_messages"] == []
        assert resources["spill_bytes"] == resources["stack_bytes"] == 0


@each_case
def test_the_protocol_is_ok(kernel, tiles, storage):
    zeros = np.zeros((64, 64), np.float32)
    text = kernel.emit(*on_device(storage, zeros, zeros), gr.empty((64, 64), gr.bf16), **tiles)
    done = subprocess.run(
        [GIRIH_OPT, f"--pass-pipeline={CHECK}"], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"the protocol of kernel 'matmul' is ok: \d+ runs", done.stderr), done.stderr


def test_three_warpgroups_take_every_third_tile():
    @gr.kernel(roles="pingpong", warps=12)
    def every_third(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
        for m, n in gr.tiles(C, ctas=gr.sms()):
            acc = gr.zeros((64, 64), gr.f32)
            for k in gr.range(A.count[1]):
                acc = gr.dot(A[m, k], B[k, n], acc)
            C[m, n] = acc

    a, b = integers((700, 136), 7), integers((136, 72), 8)
    for seed in SEEDS:
        c = gr.asarray(np.full((700, 72), np.nan, np.float32))
        with emulator.options(seed=seed):
            every_third(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c)
        np.testing.assert_array_equal(c.numpy(), a.astype(np.float64) @ b)


def test_products_that_are_waited_for_in_every_step():
    """Sums of their own for each step, as fp8 needs them: slots are got one by one, and the turn ends behind the loop."""

    @gr.kernel
    def promoted(a: gr.In["M,K"], b: gr.In["K,N"], bias: gr.In["N"], c: gr.Out["M,N"]):
        A, B, C, Bias = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64), bias.tiles(64)
        for m, n in gr.tiles(C, ctas=gr.sms(), roles="pingpong"):
            total = gr.zeros((64, 64), gr.f32)
            for k in gr.range(A.count[1]):
                total = total + gr.dot(A[m, k], B[k, n])
            C[m, n] = gr.maximum(total + Bias[n], 0.0)

    a, b, bias = integers((300, 136), 9), integers((136, 72), 10), integers((72,), 11)
    expected = np.maximum(a.astype(np.float64) @ b + bias, 0)
    for seed in SEEDS:
        c = gr.asarray(np.full((300, 72), np.nan, np.float32))
        with emulator.options(seed=seed):
            promoted(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), gr.asarray(bias), c)
        np.testing.assert_array_equal(c.numpy(), expected)


@pytest.mark.parametrize(
    ("bm", "remark"),
    [
        (64, "roles: pingpong, two warpgroups take every other tile"),
        (128, "roles: cooperative, 2 warpgroups share the rows of each tile"),
    ],
)
def test_a_remark_says_what_is_chosen_without_a_hint(bm, remark):
    remarks = "\n".join(compiled(matmul, {"BM": bm, "BN": 128}).remarks)
    assert remark in remarks


def test_remarks_say_what_registers_are_for():
    """64 x 256 sums over 128 threads are 128 registers; what the role that loads does not need goes to the other."""
    remarks = "\n".join(compiled(matmul, {"BM": 64, "BN": 256}).remarks)
    assert re.search(
        r"role 'load' has 40 registers a thread; .*: \d+ of numbers, 16 beside", remarks
    )
    assert (
        "role 'compute' has 232 registers a thread; most are alive here: "
        "128 of a tile of 64x256 of f32, 24 beside" in remarks
    )
