# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products of girih.kernels on the emulated device against float64, over edge shapes and seeds, and with
faults planted in what is new in them: turns, slots with one reader."""

import inspect

import numpy as np
import pytest

import girih as gr
from gemm_support import assert_within_bound, integers, normal, plant, round_to
from girih import _runtime, emulator
from girih.compiler.worker import WORKER
from girih.kernels import matmul_cooperative, matmul_pingpong

SEEDS = range(10)
ADVERSARIES = ["async-late", "async-early", "starve-one", "producers-first", "consumers-first"]


def tiles(kernel, bm, bn, storage="kn", **more):
    """One kernel with one tile shape, as a parameter of tests."""
    details = "-".join(str(value) for value in more.values())
    name = "-".join(filter(None, (kernel.__name__, f"{bm}x{bn}", storage, details)))
    return pytest.param((kernel, dict(BM=bm, BN=bn, **more), storage), id=name)


CASES = [
    tiles(matmul_cooperative, 128, 256),
    tiles(matmul_cooperative, 128, 128, "nk"),
    tiles(matmul_pingpong, 64, 256),
    tiles(matmul_pingpong, 64, 176, "nk"),
    tiles(matmul_pingpong, 128, 128),
    tiles(matmul_cooperative, 128, 256, cluster=2),
    tiles(matmul_cooperative, 128, 176, "nk", cluster=2),
    tiles(matmul_pingpong, 64, 256, "nk", cluster=2),
    tiles(matmul_pingpong, 64, 128, cluster=2),
]


def shapes(constants):
    """One element, a tile less or more one, several tiles; TMA's pitches are multiples of 8 elements."""
    bm, bn = constants["BM"], constants["BN"]
    yield from [(1, 8, 8), (bm - 1, bn - 8, 56), (bm, bn, 64), (bm + 1, bn + 8, 72)]
    # Five k blocks over four slots, five or more tiles on two CTAs, an odd number of rows of tiles.
    yield from [(3 * bm - 1, 2 * bn, 320), (5 * bm, bn, 192)]


def on_device(storage, a, b):
    """The operands in bf16; b is stored K x N or N x K."""
    if storage == "nk":
        return gr.asarray(a, gr.bf16), gr.asarray(np.ascontiguousarray(b.T), gr.bf16).T
    return gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16)


def product(case, a, b, out, **options):
    """The kernel's result, in an array that was full of NaN."""
    kernel, constants, storage = case
    c = gr.asarray(np.full((a.shape[0], b.shape[1]), np.nan, np.float32), dtype=out)
    with emulator.options(**options):
        kernel(*on_device(storage, a, b), c, **constants)
    return c.numpy()


@pytest.mark.parametrize("case", CASES)
def test_integers_are_exact(case):
    for m, n, k in shapes(case[1]):
        a, b = integers((m, k), 1), integers((k, n), 2)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        for seed in SEEDS if m * n * k < 1 << 23 else range(3):
            result = product(case, a, b, gr.bf16, seed=seed)
            np.testing.assert_array_equal(result, round_to(expected, gr.bf16))


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("case", CASES)
def test_under_an_adversary(case, adversary):
    bm, bn = case[1]["BM"], case[1]["BN"]
    a, b = integers((5 * bm, 192), 3), integers((192, bn), 4)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    result = product(case, a, b, gr.f32, adversary=adversary)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
@pytest.mark.parametrize("case", CASES)
def test_normal_data_is_within_the_bound(case, out):
    a, b = normal((200, 328), 5), normal((328, 264), 6)
    assert_within_bound(product(case, a, b, out, seed=1), a, b, out)


@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
@pytest.mark.parametrize("case", CASES)
def test_ptxas_has_nothing_to_say(case, out):
    kernel, constants, storage = case
    a, b = on_device(storage, np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32))
    resources = kernel.compile(a, b, gr.empty((64, 64), out), **constants).resources
    assert resources["ptxas_messages"] == []
    assert resources["spill_bytes"] == resources["stack_bytes"] == 0


# Faults.


def image_of(case):
    """A case's image and arguments with five tiles on two CTAs and five k blocks over four slots."""
    kernel, constants, storage = case
    m, n, k = 5 * constants["BM"], constants["BN"], 320
    a, b = on_device(storage, integers((m, k), 1), integers((k, n), 2))
    arguments = (a, b, gr.empty((m, n), gr.bf16))
    text = kernel.emit(*arguments, **constants)
    reply, blobs = WORKER.request({"id": 1, "mlir": text, "arch": "sm_90a", "emit": ["image"]})
    assert reply["ok"], reply["diagnostics"]
    return blobs["image"], arguments


def findings(kernel, image, arguments, kind):
    """The report of the first run, over 10 seeds, that finds a fault of this kind."""
    _, first = inspect.getsourcelines(kernel.function)
    for seed in SEEDS:
        with emulator.options(seed=seed):
            try:
                program = _runtime.Program(
                    image, [(kernel.__name__, inspect.getfile(kernel.function), first)]
                )
                program.launch(list(arguments))
            except gr.DeviceError as error:
                if any(finding["kind"] == kind for finding in error.findings):
                    return str(error)
    return ""


PINGPONG = (matmul_pingpong, {"BM": 64, "BN": 256}, "kn")
CLUSTER = (matmul_pingpong, {"BM": 64, "BN": 256, "cluster": 2}, "kn")
CLUSTER_SYNC = r"barrier\.cluster\.arrive;\s*barrier\.cluster\.wait;"


@pytest.mark.parametrize(
    ("case", "pattern", "replacement", "kind", "line"),
    [
        pytest.param(
            PINGPONG,
            r"barrier\.cta\.arrive\.aligned [^;]*;|bar\.arrive [^;]*;",
            "",
            "deadlock",
            "storing.take()",
            id="nobody gives warpgroup 0 its first turn",
        ),
        pytest.param(
            PINGPONG,
            r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )4;",
            r"\g<1>8;",
            "deadlock",
            "ring.fill",
            id="a slot waits for both warpgroups",
        ),
        pytest.param(
            PINGPONG,
            r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )4;",
            r"\g<1>3;",
            "mbarrier-overrun",
            "ring.drain",
            id="a slot does not wait for all warps of its reader",
        ),
        pytest.param(
            CLUSTER,
            r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )8;",
            r"\g<1>4;",
            "mbarrier-overrun",
            "ring.drain",
            id="a slot does not wait for the other CTA's readers",
        ),
        pytest.param(
            CLUSTER,
            r"@%p\d+ mbarrier\.arrive\.release\.cluster[^;]*;",
            "",
            "deadlock",
            "ring.fill",
            id="readers do not free a slot in the cluster",
        ),
        pytest.param(
            CLUSTER,
            r"(expect_tx\.shared::cta\.b64 _, \[%r\d+\], )40960;",
            r"\g<1>24576;",
            "mbarrier-bytes",
            "ring.fill",
            id="the other CTA's share of the bytes is not expected",
        ),
        pytest.param(
            CLUSTER,
            CLUSTER_SYNC,
            "",
            "mbarrier-uninitialised",
            "multicast=",
            id="a CTA arrives before the other's barriers are set up",
        ),
        pytest.param(
            CLUSTER,
            f"(?s)({CLUSTER_SYNC}.*){CLUSTER_SYNC}",
            r"\g<1>",
            "cluster-exit",
            "ring.drain",
            id="a CTA leaves while the other may arrive at its barriers",
        ),
    ],
)
def test_a_planted_fault_is_found(case, pattern, replacement, kind, line):
    image, arguments = image_of(case)
    report = findings(matmul_pingpong, plant(image, pattern, replacement), arguments, kind)
    source = inspect.getsource(inspect.getmodule(matmul_pingpong.function)).splitlines()
    numbers = [number for number, text in enumerate(source, 1) if line in text]
    assert any(f"matmul.py:{number}" in report for number in numbers), report


@pytest.mark.parametrize("case", [PINGPONG, CLUSTER], ids=["one-cta", "cluster"])
def test_without_a_fault_nothing_is_found(case):
    image, arguments = image_of(case)
    _, first = inspect.getsourcelines(matmul_pingpong.function)
    file = inspect.getfile(matmul_pingpong.function)
    for seed in SEEDS:
        with emulator.options(seed=seed):
            _runtime.Program(image, [("matmul_pingpong", file, first)]).launch(list(arguments))
