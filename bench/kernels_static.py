# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be said of each kernel without running it: registers, spills, shared memory, ptxas's messages and
instructions per wgmma in the main loop.

    ./dev bench kernels-static [--json] [PATTERN]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from typing import Any

from _kernels import Kernel, all_kernels
from _sass import instructions_per_wgmma, parse

from girih.compiler.path import compiler_path
from girih.compiler.worker import WORKER


def sass(kernel: Kernel) -> str:
    """The disassembly of a kernel; raises CalledProcessError with the compiler's words."""
    return subprocess.run(
        [compiler_path(), "-", "--emit=sass"],
        input=kernel.mlir,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def measure(kernel: Kernel) -> dict[str, Any]:
    """The benchmark's row for a kernel."""
    reply, _ = WORKER.request({"id": 1, "mlir": kernel.mlir, "emit": ["image"], "options": {}})
    if not reply["ok"]:
        sys.exit(f"{kernel.name}: {reply['diagnostics'][0]['message']}")
    resources = reply["resources"]
    densities = [instructions_per_wgmma(function) for function in parse(sass(kernel))]
    known = [density for density in densities if density is not None]
    return {
        "name": kernel.name,
        "level": kernel.level,
        "registers": resources["registers"],
        "spill_bytes": resources["spill_bytes"],
        "shared_bytes": resources["shared_bytes"],
        "ptxas_messages": resources["ptxas_messages"],
        "main_loop_instr_per_wgmma": round(max(known), 2) if known else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench kernels-static", description=__doc__)
    parser.add_argument(
        "pattern", nargs="?", default="", help="regular expression on kernels' names"
    )
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    options = parser.parse_args()
    rows = []
    print(f"{'kernel':42} {'regs':>5} {'spill':>6} {'shared':>7} {'instr/wgmma':>12}  messages")
    for kernel in all_kernels():
        if not re.search(options.pattern, kernel.name):
            continue
        row = measure(kernel)
        rows.append(row)
        print(
            f"{row['name']:42} {row['registers']:5} {row['spill_bytes']:6} {row['shared_bytes']:7} "
            f"{row['main_loop_instr_per_wgmma'] or '-':>12}  {len(row['ptxas_messages'])}"
        )
    if options.json:
        print(json.dumps({"kernels": rows}))


if __name__ == "__main__":
    main()
