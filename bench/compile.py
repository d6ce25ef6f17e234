# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a compilation takes with a warm worker, how much of it is ours, and what `import girih` costs.

    ./dev bench compile [--json] [--repeat N] [--passes] [PATTERN]

"ours" is everything but ptxas, the front end in Python included. "edit to result" is what a user waits for after changing a kernel: the front end,
the compilation, loading the image and a launch on one tile.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from _kernels import Kernel, compiled_kernels
from _unrolled import unrolled

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


def edit_to_result_ms(kernel: Any, arguments: tuple[Any, ...], repeat: int) -> float:
    """The median time from a kernel's source to its result on one tile, in milliseconds."""
    import girih as gr

    times = []
    for _ in range(repeat):
        edited = gr.kernel(kernel.function)  # knows nothing of earlier compilations
        begin = time.perf_counter()
        edited(*arguments)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def edit_to_result_gemm_ms(repeat: int) -> float:
    """Of the example's GEMM."""
    import girih as gr
    from gemm import matmul

    shapes = (128, 64), (64, 256), (128, 256)
    return edit_to_result_ms(matmul, tuple(gr.zeros(s, gr.bf16) for s in shapes), repeat)


def edit_to_result_attention_ms(repeat: int) -> float:
    """Of attention at tile level, one block of 128 queries and 128 keys."""
    import girih as gr
    from girih.kernels import flash_attention

    heads = [gr.zeros((1, 1, 128, 128), gr.bf16) for _ in range(4)]
    lse = gr.zeros((1, 1, 128), gr.f32)
    return edit_to_result_ms(flash_attention, (*heads, lse, 0.1), repeat)


def print_passes(kernel: Kernel, repeat: int) -> None:
    """The median time of each pass over one kernel."""
    runs: dict[str, list[float]] = {}
    for _ in range(repeat):
        request = {"id": 1, "mlir": kernel.mlir, "emit": ["nvvm"], "options": {"timing": True}}
        reply, _ = WORKER.request(request)
        total: dict[str, float] = {}
        for name, milliseconds in reply["passes_ms"]:
            total[name] = total.get(name, 0.0) + milliseconds
        for name, milliseconds in total.items():
            runs.setdefault(name, []).append(milliseconds)
    print(f"{kernel.name}:")
    for name, times in sorted(runs.items(), key=lambda row: -statistics.median(row[1])):
        print(f"  {name:32} {statistics.median(times):8.2f} ms")


def unrolled_4x(repeat: int) -> float:
    """How many times as long a kernel takes that is unrolled four times as far, without ptxas."""
    times = {}
    for steps in (8, 32):
        emit = partial(Kernel, f"unrolled_{steps}", "tile", emit=partial(unrolled, steps))
        times[steps] = measure(emit, repeat)["ours_ms"]
    return times[32] / times[8]


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench compile", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--repeat", type=int, default=7, help="compilations of each kernel")
    parser.add_argument("--passes", action="store_true", help="the time of each pass, too")
    parser.add_argument(
        "pattern", nargs="?", default="", help="regular expression on kernels' names"
    )
    options = parser.parse_args()
    os.environ["GIRIH_CACHE"] = "0"
    kernels = [emit for emit in compiled_kernels() if re.search(options.pattern, emit().name)]
    if not kernels:
        parser.error(f"no kernel's name matches '{options.pattern}'")
    measure(kernels[0], 1)  # starts the worker
    rows = [measure(emit, options.repeat) for emit in kernels]
    result: dict[str, Any] = {
        "import_ms": round(import_ms(options.repeat), 1),
        "median_total_ms": round(statistics.median(row["total_ms"] for row in rows), 1),
        "median_ours_ms": round(statistics.median(row["ours_ms"] for row in rows), 1),
        "edit_to_result_gemm_ms": round(edit_to_result_gemm_ms(options.repeat), 1),
        "edit_to_result_attention_ms": round(edit_to_result_attention_ms(options.repeat), 1),
        "unrolled_4x": round(unrolled_4x(options.repeat), 2),
        "kernels": rows,
    }
    print(f"{'kernel':42} {'total':>8} {'ours':>8} {'ptxas':>8}  ms")
    for row in rows:
        print(f"{row['name']:42} {row['total_ms']:8} {row['ours_ms']:8} {row['ptxas_ms']:8}")
    print(f"median: total {result['median_total_ms']} ms, ours {result['median_ours_ms']} ms")
    print(f"import girih: {result['import_ms']} ms")
    print(f"from an edit to the result of a GEMM: {result['edit_to_result_gemm_ms']} ms")
    print(f"of attention at tile level: {result['edit_to_result_attention_ms']} ms")
    print(f"unrolled four times as far, a kernel takes {result['unrolled_4x']} times as long")
    if options.passes:
        for emit in kernels:
            print_passes(emit(), options.repeat)
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
