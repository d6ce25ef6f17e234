# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""girih-bisect: its search on made-up outcomes, and on kernels with a compiler that has a fault planted."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from girih import bisect
from girih.bisect import Culprit, Outcome
from girih.compiler.path import compiler_path

STEPS = ["one", "two", "three"]
PROGRAM = """
import numpy as np
import girih as gr

@gr.kernel
def scale(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(Y):
        Y[i] = X[i] * 3.0

x, y = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
scale(x, y)
print("sum", y.sum())
"""
# Stands before the compiler and turns products into sums unless a request does without the step.
FAULTY = """#!{python}
import json, struct, subprocess, sys
compiler = subprocess.Popen([{compiler!r}, "--server"], stdin=subprocess.PIPE)
source, target = sys.stdin.buffer, compiler.stdin
while head := source.read(4):
    request = json.loads(source.read(struct.unpack("<I", head)[0]))
    if {step!r} not in request["options"].get("without", []):
        request["mlir"] = request["mlir"].replace("arith.mulf", "arith.addf")
    body = json.dumps(request).encode()
    target.write(struct.pack("<I", len(body)) + body)
    target.flush()
target.close()
sys.exit(compiler.wait())
"""


def outcome(value: float) -> Outcome:
    return Outcome({"c": np.array([1.0, value], np.float32)})


def test_the_step_that_starts_it_is_named() -> None:
    def run(without: list[str]) -> Outcome:
        return outcome(2.0 if "two" in without else 3.0)

    found = bisect.bisect(STEPS, run, 1e-3)
    assert found is not None and found.step == "two"
    assert (
        found.difference
        == "c[1] was np.float32(2.0) and is np.float32(3.0); 1 of 2 elements differ"
    )


def test_a_later_step_that_hides_it_does_not_matter() -> None:
    def run(without: list[str]) -> Outcome:
        return outcome(3.0 if "one" not in without and "three" in without else 2.0)

    found = bisect.bisect(STEPS, run, 1e-3)
    assert found is not None and found.step == "one"


def test_an_order_of_summation_is_no_difference() -> None:
    assert bisect.bisect(STEPS, lambda without: outcome(2.0 + 1e-4 * len(without)), 1e-3) is None


def test_whole_numbers_agree_exactly() -> None:
    def run(without: list[str]) -> Outcome:
        return Outcome({"n": np.array([1000000, 7 if without else 8])})

    assert bisect.bisect(STEPS, run, 1e-3) == Culprit(
        "three", "n[1] was np.int64(7) and is np.int64(8); 1 of 2 elements differ"
    )


def test_a_kernel_that_never_worked() -> None:
    assert bisect.bisect(STEPS, lambda without: Outcome({}, "it fails"), 1e-3) == Culprit(
        "", "it fails"
    )


def bisected(program: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "girih.bisect", *options, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_right_compiler(tmp_path: Path) -> None:
    program = tmp_path / "scale.py"
    program.write_text(PROGRAM)
    done = bisected(program)
    assert done.returncode == 0, done.stderr
    assert "scale: the same after each of simplify, " in done.stdout
    assert f"sum {3 * sum(range(200)):.1f}" in done.stdout


@pytest.mark.parametrize("step", bisect.optional_steps())
def test_a_planted_fault(step: str, tmp_path: Path) -> None:
    program, faulty = tmp_path / "scale.py", tmp_path / "girih-compile"
    program.write_text(PROGRAM)
    faulty.write_text(FAULTY.format(python=sys.executable, compiler=compiler_path(), step=step))
    faulty.chmod(faulty.stat().st_mode | stat.S_IXUSR)
    done = bisected(program, "--output", str(tmp_path / "ir"), GIRIH_COMPILE=str(faulty))
    assert done.returncode == 1, done.stderr
    # x[0] * 3 is 0, x[0] + 3 is not.
    assert (
        f"scale: {step} is the first step that changes the result: y[0] was np.float32(0.0) and is np.float32(3.0)"
        in done.stdout
    )
    before = (tmp_path / "ir" / "scale-before.mlir").read_text()
    after = (tmp_path / "ir" / "scale-after.mlir").read_text()
    assert "arith.mulf" in before and "arith.mulf" not in after


def test_no_program(tmp_path: Path) -> None:
    done = bisected(tmp_path / "none.py")
    assert done.returncode == 2
    assert "none.py is no file; expected a Python program that calls kernels" in done.stderr
