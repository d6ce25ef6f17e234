# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a launch costs before the driver's part of it: microseconds a call, on a driver that does nothing.

    ./dev bench launch [--json] [--runs N]

Arrays are girih's own unless a line says otherwise. "moving" calls alternate between two sets of arrays, so that every
tensor map is encoded anew. ctypes packs the same arguments into the driver's launch; Triton's launcher runs, where it is
installed, on the same driver. Each number is the fastest of several runs: what else the machine does only adds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _noop import noop_environment

# Short runs, so that some of them have the processor to themselves.
RUNS, REPETITIONS = 200, 2000


def on_noop_driver() -> None:
    """Starts this program again with the driver that does nothing in front of any other."""
    environment = noop_environment()
    folder = environment["GIRIH_BENCH"]
    if os.environ.get("GIRIH_DEVICE") == "cuda" and os.environ.get("GIRIH_BENCH") == folder:
        return
    os.environ |= environment
    os.environ |= {
        "TRITON_LIBCUDA_PATH": folder,
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "TRITON_DEFAULT_FP_FUSION": "1",  # says the default, so that Triton does not
    }
    os.execv(sys.executable, [sys.executable, *sys.argv])


def microseconds(call: Callable[[], object], runs: int) -> float:
    """The fastest of several runs, per call."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(REPETITIONS):
            call()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / REPETITIONS


def girih_calls() -> dict[str, Callable[[], object]]:
    """Every kind of call of girih's, ready to be timed."""
    import _launch_kernels as kernels

    import girih as gr

    a, b, c, d, e, f = (gr.empty((1024, 1024), gr.bf16) for _ in range(6))
    every = [gr.empty((1024, 1024), gr.f32) for _ in range(11)]
    few, many, s = kernels.few, kernels.many, kernels.SCALARS
    bound = few.prepare(a, b, c, 2.5, 3)
    bound_many = many.prepare(*every, *s)

    def moving() -> None:
        few(a, b, c, 2.5, 3)
        few(d, e, f, 2.5, 3)

    def bound_moving() -> None:
        bound(a, b, c, 2.5, 3)
        bound(d, e, f, 2.5, 3)

    # Compiled before anything is timed.
    many(*every, *s)
    moving()
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = every
    i0, i1, i2, i3, f0, f1, f2, f3 = s
    return {
        "python_5_args_us": lambda: few(a, b, c, 2.5, 3),
        "python_5_args_keywords_us": lambda: few(a, b, c, alpha=2.5, shift=3),
        "python_5_args_new_scalar_us": _with_new_scalars(few, a, b, c),
        "python_5_args_moving_us": moving,
        "python_19_args_us": lambda: many(
            x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, i0, i1, i2, i3, f0, f1, f2, f3
        ),
        "stream_us": lambda: few.launch(a, b, c, 2.5, 3, stream=16),
        "bound_us": bound,
        "bound_19_args_us": bound_many,
        "bound_moving_us": bound_moving,
    }


def _with_new_scalars(kernel: Any, a: Any, b: Any, c: Any) -> Callable[[], object]:
    """Calls whose numbers differ from call to call."""
    number = iter(range(1 << 60)).__next__

    def call() -> None:
        kernel(a, b, c, 2.5, number() & 0xFFFF)

    return call


class OnGpu:
    """An array of another library: it hands out what it is by DLPack."""

    def __init__(self, array: Any) -> None:
        self.__dlpack__ = array.__dlpack__
        self.__dlpack_device__ = array.__dlpack_device__


def dlpack_call() -> Callable[[], object]:
    """The call of 3 arrays and 2 scalars with arrays of another library."""
    import _launch_kernels as kernels

    import girih as gr

    a, b, c = (OnGpu(gr.empty((1024, 1024), gr.bf16)) for _ in range(3))
    return lambda: kernels.few(a, b, c, 2.5, 3)


# Those of which one measurement makes two calls.
PAIRS = ("python_5_args_moving_us", "bound_moving_us")


def ctypes_call(arrays: int, scalars: int) -> Callable[[], object]:
    """The driver's launch with as many arguments, packed anew for each call."""
    library = ctypes.CDLL("libcuda.so.1")
    launch = library.cuLaunchKernelEx
    pointers = [ctypes.c_uint64() for _ in range(arrays)]
    numbers = [ctypes.c_int32() if i % 2 else ctypes.c_float() for i in range(scalars)]
    values = [*(1 << 40 for _ in pointers), *(3 for _ in numbers)]
    packed = [*pointers, *numbers]
    addresses = (ctypes.c_void_p * len(packed))(*map(ctypes.addressof, packed))
    config = (ctypes.c_uint32 * 16)()
    function = ctypes.c_void_p(0x1000)

    def call() -> None:
        for argument, value in zip(packed, values, strict=True):
            argument.value = value
        launch(ctypes.byref(config), function, addresses, None)

    return call


def cpp_us() -> dict[str, float]:
    """The launches from C++ (bench/LaunchBench.cpp), in a process of their own."""
    import _launch_kernels as kernels

    program = Path(os.environ["GIRIH_BENCH"]) / "girih_launch_bench"
    with tempfile.NamedTemporaryFile(suffix=".girih") as image:
        image.write(kernels.image_of_few())
        image.flush()
        finished = subprocess.run([program, image.name], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(finished.stdout)
    return result


def triton_calls() -> dict[str, Callable[[], object]]:
    """Triton's launcher with as many arguments; empty where Triton is not installed."""
    try:
        from _launch_triton import triton_calls
    except ImportError:
        return {}
    return triton_calls()


def main() -> None:
    on_noop_driver()
    parser = argparse.ArgumentParser(prog="./dev bench launch", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each call is measured")
    options = parser.parse_args()
    nothing = microseconds(lambda: None, options.runs)
    calls = girih_calls()
    calls["dlpack_5_args_us"] = dlpack_call()
    calls |= {"ctypes_5_args_us": ctypes_call(3, 2), "ctypes_19_args_us": ctypes_call(11, 8)}
    calls |= triton_calls()
    result = {}
    for name, call in calls.items():
        each = microseconds(call, options.runs) / (2 if name in PAIRS else 1)
        result[name] = round(each - (0 if name.startswith("bound") else nothing), 3)
    cpp = cpp_us()
    result |= {
        "cpp_us": round(cpp["set_us"], 3),
        "cpp_call_us": round(cpp["call_us"], 3),
        "cpp_list_us": round(cpp["list_us"], 3),
        "cpp_driver_us": round(cpp["driver_us"], 4),
    }
    for name, value in result.items():
        print(f"{name.removesuffix('_us').replace('_', ' '):32} {value:8.3f} µs")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
