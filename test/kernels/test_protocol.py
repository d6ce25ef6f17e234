# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The protocol checker against the emulated device: kernels as they are, and with faults of every class.

``girih-opt --wg-plant-fault`` spoils a kernel in every way that it knows. The checker must name the class and the line of
each, and the emulated device must find fault with some of each class, in its own words.
"""

import inspect
import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gemm
import girih as gr
from gemm_support import VARIANTS, integers, operands
from girih import _runtime, emulator
from girih.compiler.worker import WORKER
from girih.kernels import attention_ws, matmul_cooperative, matmul_pingpong

GIRIH_OPT = Path(gr.__file__).parents[2] / "bin" / "girih-opt"
LOWER = (
    "wg-derive-waits,wg-choose-stages,wg-expand-ring-loops,wg-lower-turns,wg-lower-rings,"
    "wg-allocate-shared"
)
FINISH = (
    "wg-lower-roles,convert-wg-to-nvvm,convert-scf-to-cf,convert-scalars-to-nvvm,"
    "reconcile-unrealized-casts,verify-nvvm-phase"
)

# What the emulated device says of programs of each class: at least one of these, in some run.
STUCK = {"deadlock", "mbarrier-parity", "barrier-count"}
RACES = {"async-race", "async-overwrite", "shared-race", "uninitialised-shared", "async-exit"}
KINDS = {
    "deadlock": STUCK,
    "lost-release": STUCK,
    "double-release": {"mbarrier-overrun", "mbarrier-arrivals"},
    "wrong-parity": {"mbarrier-parity"},
    "wrong-bytes": {"mbarrier-bytes"},
    "in-flight": RACES,
    "missing-proxy-fence": {"missing-proxy-fence"},
    "register-budget": {"setmaxnreg-pool"},
}
# On the device each class is tried with so many faults of each kernel, spread over those that there are.
ON_DEVICE = 5
RUNS = [(0, "none"), (1, "async-late"), (2, "starve-one"), (3, "producers-first")]

KERNELS = {
    "gemm": (gemm.matmul, {"BM": 128, "BN": 128, "BK": 64}),
    "pingpong": (matmul_pingpong, {"BM": 64, "BN": 128}),
}


def opt(text, passes):
    """girih-opt over the device module, without verification in between, so that faults get through."""
    pipeline = f"builtin.module(gpu.module({passes}))"
    command = [GIRIH_OPT, f"--pass-pipeline={pipeline}", "--verify-each=0"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


@cache
def kernel_text(name):
    """The kernel's MLIR, and arguments of nine k blocks and five or more tiles for two CTAs."""
    kernel, constants = KERNELS[name]
    m, n, k = 5 * constants["BM"], constants["BN"], 9 * 64
    a = gr.asarray(integers((m, k), 1), gr.bf16)
    b = gr.asarray(integers((k, n), 2), gr.bf16)
    arguments = (a, b, gr.empty((m, n), gr.bf16))
    return kernel.emit(*arguments, **constants), arguments


@cache
def planted(name, kind):
    """The faults of a class that the kernel offers: each one's number, place and description."""
    text, _ = kernel_text(name)
    faults = []
    while True:
        done = opt(text, f"{LOWER},wg-plant-fault{{fault={kind}:{len(faults)}}}")
        found = re.search(
            r"^(.*?):(\d+):\d+: remark: planted \S+: (.*)$", done.stderr, re.MULTILINE
        )
        if not found:
            assert "places for a fault" in done.stderr, done.stderr
            return faults
        faults.append((len(faults), f"{found[1]}:{found[2]}", found[3]))


@cache
def checked(name, fault):
    """girih-opt's verdict on the kernel with a fault."""
    text, _ = kernel_text(name)
    return opt(text, f"{LOWER},wg-plant-fault{{fault={fault}}},wg-check-barriers")


def says(name, fault):
    """What the emulated device finds: the kinds of all runs."""
    text, arguments = kernel_text(name)
    kernel, _ = KERNELS[name]
    done = opt(text, f"{LOWER},wg-plant-fault{{fault={fault}}},{FINISH}")
    assert done.returncode == 0, done.stderr
    reply, blobs = WORKER.request(
        {"id": 1, "mlir": done.stdout, "arch": "sm_90a", "emit": ["image"]}
    )
    assert reply["ok"], reply["diagnostics"]
    _, first = inspect.getsourcelines(kernel.function)
    source = [(kernel.__name__, inspect.getfile(kernel.function), first)]
    kinds = set()
    for seed, adversary in RUNS:
        with emulator.options(seed=seed, adversary=adversary):
            try:
                _runtime.Program(blobs["image"], source).launch(list(arguments))
            except gr.DeviceError as error:
                kinds |= {finding["kind"] for finding in error.findings}
    return kinds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", KERNELS)
def test_every_fault_has_its_class_and_line(name, kind):
    faults = planted(name, kind)
    assert len(faults) >= 5
    for number, place, what in faults:
        done = checked(name, f"{kind}:{number}")
        errors = re.findall(r"^(.*?:\d+):\d+: error: (.*)$", done.stderr, re.MULTILINE)
        assert done.returncode == 1 and len(errors) == 1, (what, done.stderr)
        assert errors[0][1].endswith(f"[{kind}]"), (what, errors)
        # The place is the error's, a note's, or one of the schedule.
        report = done.stderr.split(": error: ", 1)[1]
        assert place == errors[0][0] or f"{place}:" in report, (what, place, done.stderr)
        assert "the schedule that leads there" in report


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", KERNELS)
def test_the_emulated_device_agrees(name, kind):
    faults = planted(name, kind)
    for number, _, what in faults[:: max(1, len(faults) // ON_DEVICE)][:ON_DEVICE]:
        kinds = says(name, f"{kind}:{number}")
        assert kinds & KINDS[kind], (what, kinds)


def signatures():
    """Kernels of the project, each with a signature: what `emit` takes."""
    for variant in VARIANTS:
        for persistent in (False, True):
            a, b = operands(
                variant,
                np.zeros((variant.BM, 64), np.float32),
                np.zeros((64, variant.BN), np.float32),
            )
            constants = {"BM": variant.BM, "BN": variant.BN, "BK": variant.BK}
            c = gr.empty((variant.BM, variant.BN), gr.bf16)
            yield pytest.param(
                gemm.matmul,
                (a, b, c),
                constants | {"persistent": persistent},
                id=f"gemm-{variant}-{persistent}",
            )
    q, lse = gr.zeros((2, 256, 128), gr.bf16), gr.zeros((2, 256), gr.f32)
    for causal in (False, True):
        arguments = (q, q, q, q, lse, 1.0)
        yield pytest.param(attention_ws, arguments, {"causal": causal}, id=f"attention-{causal}")
    a, b, c = (gr.zeros((256, 256), gr.bf16) for _ in range(3))
    for kernel, bm, bn in [
        (matmul_cooperative, 128, 256),
        (matmul_cooperative, 128, 128),
        (matmul_pingpong, 64, 256),
        (matmul_pingpong, 128, 128),
    ]:
        for cluster in (1, 2):
            constants = {"BM": bm, "BN": bn, "cluster": cluster}
            name = f"{kernel.__name__}-{bm}x{bn}-{cluster}"
            yield pytest.param(kernel, (a, b, c), constants, id=name)


@pytest.mark.parametrize(("kernel", "arguments", "constants"), list(signatures()))
def test_kernels_are_ok(kernel, arguments, constants):
    text = kernel.emit(*arguments, **constants)
    done = opt(text, f"{LOWER},wg-check-barriers{{verdicts}}")
    assert done.returncode == 0, done.stderr
    assert re.search(r"remark: the protocol of kernel '\w+' is ok: \d+ runs", done.stderr), (
        done.stderr
    )
