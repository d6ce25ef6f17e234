# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel costs that has been compiled before: from disk in a fresh process, and in memory.

    ./dev bench cache [--json] [--repeat N]

"disk hit" is from `import girih` and the kernel's module done to a program that can be launched; "memory hit" a whole call,
the look-up by its arguments included, on a driver that does nothing; "to a checked GEMM" from the start of the process to the comparison with NumPy, M = N = K = 512, on the
emulated device. "peak memory" is what a process that only launches holds above one that only imports NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _noop import noop_environment

EXAMPLES = Path(__file__).parents[1] / "examples"

DISK_HIT = """
import time
import girih as gr
from gemm import matmul
from girih.lang.module import ArraySignature
row, column = (ArraySignature(gr.bf16, 2, order, True) for order in (1, 0))
signature = {"a": row, "b": row, "c": row, **{
    parameter.name: matmul._signature.parameters[parameter.name].default
    for parameter in matmul.parameters if parameter.annotation is gr.const}}
begin = time.perf_counter()
program = matmul._program(signature)
end = time.perf_counter()
print(1e3 * (end - begin), program.from_cache)
"""

MEMORY_HIT = """
import time
import girih as gr
from gemm import matmul
arrays = [gr.zeros(shape, gr.bf16) for shape in ((128, 64), (64, 256), (128, 256))]
matmul(*arrays)
count = 2000
begin = time.perf_counter()
for _ in range(count):
    matmul(*arrays)
print(1e6 * (time.perf_counter() - begin) / count, True)
"""

TO_RESULT = """
import time
import numpy as np
import girih as gr
from gemm import matmul
random = np.random.default_rng(0)
a, b = (random.integers(-3, 4, (512, 512)).astype(np.float32) for _ in range(2))
c = gr.empty((512, 512), gr.f32)
matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c)
assert np.array_equal(c.numpy(), a @ b)
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, True)
"""

NUMPY_ONLY = """
import numpy, resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, True)
"""


def run(program: str, environment: dict[str, str]) -> tuple[float, bool, float]:
    """What the program prints, and the time of its process in ms."""
    begin = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    wall = 1e3 * (time.perf_counter() - begin)
    number, hit = result.stdout.split()
    return float(number), hit == "True", wall


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench cache", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--repeat", type=int, default=9, help="processes for each figure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "GIRIH_CACHE_DIR": folder, "PYTHONPATH": path}
        for program in (DISK_HIT, TO_RESULT):
            run(program, environment)
        disk = [run(DISK_HIT, environment) for _ in range(options.repeat)]
        if not all(hit for _, hit, _ in disk):
            sys.exit("a kernel was compiled again: GIRIH_LOG=compile says why")
        memory = [run(MEMORY_HIT, environment | noop_environment())[0] for _ in range(3)]
        whole = [run(TO_RESULT, environment) for _ in range(options.repeat)]
        numpy_only = run(NUMPY_ONLY, environment)[0]
    result = {
        "disk_hit_ms": round(statistics.median(time for time, _, _ in disk), 2),
        "memory_hit_us": round(statistics.median(memory), 2),
        "cached_to_result_gemm_ms": round(statistics.median(wall for _, _, wall in whole), 1),
        "peak_memory_mb": round(statistics.median(peak for peak, _, _ in whole) - numpy_only, 1),
    }
    print(f"disk hit in a fresh process:              {result['disk_hit_ms']} ms")
    print(f"memory hit:                               {result['memory_hit_us']} us")
    print(f"process start to a checked GEMM, 512^3:   {result['cached_to_result_gemm_ms']} ms")
    print(f"its peak memory above Python and NumPy:   {result['peak_memory_mb']} MB")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
