# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a recorded call of a kernel again, on the emulated device, which says what went wrong.

    python -m girih.replay [--seeds N] [--output FILE.npz] case.girih

``kernel.record("case.girih")`` records a kernel's calls, on a GPU or here; the file holds the last one. It needs no
compiler. The status is 1 if the device reports something, 2 if the file cannot be run.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Returns the status."""
    parser = argparse.ArgumentParser(
        prog="python -m girih.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1, help="how many interleavings to run")
    parser.add_argument("--output", type=Path, help="writes what the kernel wrote, of the last run")
    parser.add_argument("case", type=Path)
    options = parser.parse_args(arguments)
    os.environ["GIRIH_DEVICE"] = "emulated"
    return replay(options.case, options.seeds, options.output)


def replay(path: Path, seeds: int, output: Path | None) -> int:
    """Runs a case once for each seed, on the memory that was recorded; says what the device says."""
    from girih import emulator
    from girih._runtime import Program
    from girih.errors import DeviceError, GirihError
    from girih.runtime.case import read_case

    try:
        for seed in range(seeds):
            case = read_case(path)
            options = {"seed": seed} if seeds > 1 else {}
            try:
                with emulator.options(**options):
                    Program(case.image).launch(case.arguments, ctas=case.ctas)
            except DeviceError as error:
                print(f"{case.kernel}: {error}")
                return 1
    except GirihError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{case.kernel}: the emulated device has nothing to report")
    if output:
        import numpy as np

        np.savez(output, **{name: array.numpy() for name, array in case.outputs.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
