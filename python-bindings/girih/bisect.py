# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the optional step of the compiler that changes what a kernel computes.

    girih-bisect [--tolerance R] [--output FOLDER] PROGRAM.py [ARGUMENT …]

Runs the program. Each kernel that it calls is compiled without any optional step, then with the first of
them, the first two and so on, and runs each time on the same arguments. The first step after which an array
differs, the device reports something or the compiler fails is named, with the kernel in the wg phase before
and after it in FOLDER. The program itself goes on with the last result.

Whole numbers must agree bit by bit; floats may differ by R (default 1e-3) times the largest magnitude of
their array, since a step may change the order of a sum. The status is 1 if a step was named, 2 if the kernel
fails without any of them.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from girih.compiler.client import compile_module, phase_of
from girih.compiler.worker import WORKER
from girih.errors import GirihError
from girih.lang.kernel import Kernel
from girih.lang.module import emit_module
from girih.runtime import array as arrays


@dataclass
class Outcome:
    """What one run of a kernel left in the arrays that it writes, or why it failed."""

    arrays: dict[str, Any]
    failure: str = ""


@dataclass
class Culprit:
    """The first step that makes a difference; "" where the kernel fails without any step."""

    step: str
    difference: str


def difference(before: Outcome, after: Outcome, tolerance: float) -> str:
    """In which way two outcomes differ, "" if they do not."""
    if after.failure:
        return after.failure
    for name, old in before.arrays.items():
        new = after.arrays[name]
        if old.dtype.kind in "iub":
            wrong = old != new
        else:
            a, b = old.astype(np.float64), new.astype(np.float64)
            finite = np.abs(a[np.isfinite(a)])
            slack = tolerance * (finite.max() if finite.size else 0.0)
            wrong = ~(np.isclose(a, b, rtol=0.0, atol=slack, equal_nan=True))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return f"{name}{list(at)} was {old[at]!r} and is {new[at]!r}; {int(wrong.sum())} of {old.size} elements differ"
    return ""


def bisect(
    steps: list[str], run: Callable[[list[str]], Outcome], tolerance: float
) -> Culprit | None:
    """The first of ``steps`` with which ``run(without)`` differs from the run without any step. Steps are added in
    order: which later steps do to a wrong program says nothing."""
    plain = run(list(steps))
    if plain.failure:
        return Culprit("", plain.failure)
    for count in range(1, len(steps) + 1):
        found = difference(plain, run(steps[count:]), tolerance)
        if found:
            return Culprit(steps[count - 1], found)
    return None


def _memory(array: arrays.Array) -> Any:
    """The bytes of an array's memory."""
    memory = np.empty(array._span, np.uint8)
    array._read(memory)
    return memory


def optional_steps() -> list[str]:
    """The compiler's optional steps, in the order in which they run."""
    reply, _ = WORKER.request({"id": 0, "mlir": "", "emit": ["tile"], "options": {}})
    steps: list[str] = reply["optional_steps"]
    return steps


class Call:
    """One call of a kernel, to be repeated with other steps on the same arguments."""

    def __init__(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        signature, self.given = kernel._bind(args, kwargs)
        self.name = kernel.__name__
        self.text, self.sources = emit_module(kernel.definition, kernel.parameters, signature)
        self.arguments = [
            value if not hasattr(value, "__dlpack__") else arrays.to_device(value)
            for value in self.given
        ]
        self.before = {
            index: _memory(value)
            for index, value in enumerate(self.arguments)
            if isinstance(value, arrays.Array)
        }

    def run(self, without: list[str]) -> Outcome:
        """Compiles without some steps and runs; the arrays are first brought back to what they were."""
        try:
            program = compile_module(self.name, self.text, self.sources, without)
        except GirihError as error:
            return Outcome({}, f"it does not compile: {error}")
        for index, memory in self.before.items():
            self.arguments[index]._write(memory)
        try:
            program.launch(self.arguments)
        except GirihError as error:
            return Outcome({}, f"the device reports: {error}")
        return Outcome(
            {
                parameter["name"]: value.numpy()
                for parameter, value in zip(program.parameters, self.arguments, strict=True)
                if parameter["kind"] == "array" and parameter["access"] != "in"
            }
        )

    def copy_back(self) -> None:
        """Hands what the last run wrote to the caller's arrays in host memory."""
        for given, used in zip(self.given, self.arguments, strict=True):
            if given is not used and arrays.on_host(given) and given.flags.writeable:
                arrays.copy_back(used, given)

    def write_phases(self, steps: list[str], step: str, folder: Path) -> tuple[Path, Path]:
        """The wg phase without ``step`` and all after it, and with it."""
        index = steps.index(step)
        paths = folder / f"{self.name}-before.mlir", folder / f"{self.name}-after.mlir"
        folder.mkdir(parents=True, exist_ok=True)
        for path, without in zip(paths, (steps[index:], steps[index + 1 :]), strict=True):
            path.write_text(phase_of(self.text, "wg", without))
        return paths


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="girih-bisect",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--output", type=Path, help="default: a new folder in the temporary one")
    parser.add_argument("program", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not options.program.is_file():
        parser.error(f"{options.program} is no file; expected a Python program that calls kernels")
    steps = optional_steps()
    status = 0

    def bisected(kernel: Kernel, ctas: Any, stream: Any, /, *args: Any, **kwargs: Any) -> None:
        nonlocal status
        call = Call(kernel, args, kwargs)
        found = bisect(steps, call.run, options.tolerance)
        call.copy_back()
        if found is None:
            print(f"{call.name}: the same after each of {', '.join(steps)}")
            return
        status = max(status, 1 if found.step else 2)
        if not found.step:
            print(f"{call.name}: fails without any optional step: {found.difference}")
            return
        print(
            f"{call.name}: {found.step} is the first step that changes the result: {found.difference}"
        )
        folder = options.output or Path(tempfile.mkdtemp(prefix="girih-bisect-"))
        before, after = call.write_phases(steps, found.step, folder)
        print(f"  before it: {before}\n  after it:  {after}")

    Kernel._launch = bisected  # type: ignore[method-assign]
    sys.argv = [str(options.program), *options.arguments]
    sys.path.insert(0, str(options.program.absolute().parent))
    runpy.run_path(str(options.program), run_name="__main__")
    return status


if __name__ == "__main__":
    sys.exit(main())
