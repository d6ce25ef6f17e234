# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel costs to compile grows as its code does. Counted and not timed: the machine may be busy;
`./dev bench compile` has the times."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from girih.compiler.worker import WORKER

sys.path.insert(0, str(Path(__file__).absolute().parents[2] / "bench"))
from _unrolled import unrolled


def calls_to_emit(steps: int) -> int:
    """How many Python functions are called to emit the kernel."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    outer = sys.getprofile()
    sys.setprofile(count)
    try:
        unrolled(steps)
    finally:
        sys.setprofile(outer)
    return calls


def test_a_kernel_unrolled_four_times_as_far_takes_the_front_end_five_times_as_long() -> None:
    unrolled(1)  # what is remembered of functions and signatures is remembered
    assert calls_to_emit(32) < 5 * calls_to_emit(8)
    assert calls_to_emit(128) < 5 * calls_to_emit(32)


def test_its_code_grows_as_much() -> None:
    """In every phase: nothing that is made for one step is made again for those around it."""
    sizes = {}
    for steps in (8, 32):
        request = {"id": 1, "mlir": unrolled(steps), "emit": ["wg", "nvvm", "ptx"], "options": {}}
        reply, blobs = WORKER.request(request)
        assert reply["ok"], reply["diagnostics"]
        sizes[steps] = {phase: text.count(b"\n") for phase, text in blobs.items()}
    for phase, size in sizes[8].items():
        assert size < sizes[32][phase] < 4.2 * size, phase
