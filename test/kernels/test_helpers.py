"""A helper called from two places: what the emulated device finds in it leads to both of the user's lines."""

import inspect

import numpy as np
import pytest

import girih as gr
from gemm_support import WAIT, integers, plant
from girih import _runtime, emulator, wg
from girih.compiler.worker import WORKER


@gr.function
def step(ring, acc):
    s = ring.get()
    acc = wg.mma(s.a, s.b, acc)
    wg.wait(acc)
    ring.free(s)
    return acc


@gr.kernel
def two_steps(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
    """Two k blocks, each multiplied by the helper."""
    A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
    work = gr.tiles(C)
    ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
    out = wg.outbox(1, wg.smem((64, 32), c.dtype))

    @wg.role(warps=1, registers=40)
    def load():
        for m, n in work:
            for k, s in ring.fill(2):
                wg.tma(A[m, k], s.a)
                wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=1, registers=232)
    def multiply():
        for m, n in work:
            acc = wg.acc(C)
            acc = step(ring, acc)  # the first
            acc = step(ring, acc)  # the second
            done = wg.wait(acc)
            for t in done.chunks(64, 32):
                with out.slot() as o:
                    o.write(t)
                    wg.tma_store(o, C[m, n].at(t))


def place(function, text):
    """file:line of a line of a function."""
    lines, first = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if text in line]
    return f"{__file__}:{first + offset}"


@pytest.fixture(scope="module")
def case():
    """Arguments and the image before any fault."""
    a, b = integers((64, 128), 1), integers((128, 64), 2)
    c = gr.empty((64, 64), gr.f32)
    args = [gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c]
    text = two_steps.emit(*args)
    reply, blobs = WORKER.request({"id": 1, "mlir": text, "arch": "sm_90a", "emit": ["image"]})
    assert reply["ok"], reply["diagnostics"]
    return args, blobs["image"], a.astype(np.float64) @ b.astype(np.float64)


def load(image):
    sources = [
        (function.__name__, __file__, inspect.getsourcelines(function)[1])
        for function in (two_steps.function, step.function)
    ]
    return _runtime.Program(image, sources)


def test_without_a_fault_the_result_is_exact(case):
    args, image, reference = case
    load(image).launch(args)
    np.testing.assert_array_equal(args[2].numpy(), reference)


@pytest.mark.parametrize(("which", "call"), [(0, "# the first"), (1, "# the second")])
def test_a_finding_in_a_helper_names_the_call(case, which, call):
    """Without the wait for a full slot its wgmma reads what TMA may not have written yet."""
    args, image, _ = case
    program = load(plant(image, WAIT, "", which))
    inside, outside = place(step.function, "wg.mma("), place(two_steps.function, call)
    for seed in range(20):
        with emulator.options(seed=seed):
            try:
                program.launch(args)
            except gr.DeviceError as error:
                report = str(error)
                chain = f"at {inside} in step\n    called from {outside} in two_steps\n"
                assert chain in report, report
                return
    pytest.fail("nothing was found in 20 seeds")
