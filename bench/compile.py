# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a compilation takes with a warm worker, how much of it is ours, and what `import girih` costs.

    ./dev bench compile [--json] [--repeat N]

"ours" is everything but ptxas, the front end in Python included. "edit to result" is what a user waits for after changing a kernel: the front end,
the compilation, loading the image and a launch on one tile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from _kernels import TILES, Kernel, gemm

from girih.compiler.worker import WORKER

IMPORT = "import time; t = time.perf_counter(); import girih; print(time.perf_counter() - t)"


def import_ms(repeat: int) -> float:
    """The median time of `import girih` in a fresh interpreter, in milliseconds."""
    seconds = [
        float(
            subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, check=True).stdout
        )
        for _ in range(repeat)
    ]
    return 1e3 * statistics.median(seconds)


def measure(emit: Callable[[], Kernel], repeat: int) -> dict[str, Any]:
    """Medians over `repeat` compilations of one kernel, in milliseconds, from Python source to the image."""
    totals, ours, ptxas = [], [], []
    for _ in range(repeat):
        begin = time.perf_counter()
        kernel = emit()
        reply, _ = WORKER.request({"id": 1, "mlir": kernel.mlir, "emit": ["image"], "options": {}})
        total = 1e3 * (time.perf_counter() - begin)
        if not reply["ok"]:
            sys.exit(f"{kernel.name}: {reply['diagnostics'][0]['message']}")
        totals.append(total)
        ptxas.append(reply["timings_ms"]["ptxas"])
        ours.append(total - ptxas[-1])
    return {
        "name": kernel.name,
        "total_ms": round(statistics.median(totals), 1),
        "ours_ms": round(statistics.median(ours), 1),
        "ptxas_ms": round(statistics.median(ptxas), 1),
    }


def edit_to_result_gemm_ms(repeat: int) -> float:
    """The median time from the source of a GEMM to its result on one tile, in milliseconds."""
    import girih as gr
    from gemm import matmul

    a = gr.zeros((128, 64), gr.bf16)
    b = gr.zeros((64, 256), gr.bf16)
    c = gr.zeros((128, 256), gr.bf16)
    times = []
    for _ in range(repeat):
        edited = gr.kernel(matmul.function)  # knows nothing of earlier compilations
        begin = time.perf_counter()
        edited(a, b, c)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench compile", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--repeat", type=int, default=7, help="compilations of each kernel")
    options = parser.parse_args()
    kernels = [partial(gemm, bm, bn, storages[0]) for bm, bn, storages in TILES]
    measure(kernels[0], 1)  # starts the worker
    rows = [measure(emit, options.repeat) for emit in kernels]
    result: dict[str, Any] = {
        "import_ms": round(import_ms(options.repeat), 1),
        "median_total_ms": round(statistics.median(row["total_ms"] for row in rows), 1),
        "median_ours_ms": round(statistics.median(row["ours_ms"] for row in rows), 1),
        "edit_to_result_gemm_ms": round(edit_to_result_gemm_ms(options.repeat), 1),
        "edit_to_result_attention_ms": None,  # there is no attention kernel yet
        "kernels": rows,
    }
    print(f"{'kernel':42} {'total':>8} {'ours':>8} {'ptxas':>8}  ms")
    for row in rows:
        print(f"{row['name']:42} {row['total_ms']:8} {row['ours_ms']:8} {row['ptxas_ms']:8}")
    print(f"median: total {result['median_total_ms']} ms, ours {result['median_ours_ms']} ms")
    print(f"import girih: {result['import_ms']} ms")
    print(f"from an edit to the result of a GEMM: {result['edit_to_result_gemm_ms']} ms")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
