# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the emulated device is, with its checks off and on, beside NumPy's sgemm on the same core in the same run.

    ./dev bench emulator [--json] [--repeat N] [--only gemm,attention,elementwise,scaling,shadow,load]

Rates are of the launch alone, the best of N runs, on one host thread unless it says otherwise. "of sgemm" is the rate over that of a 1024 x 1024 x
1024 float32 product by NumPy on one thread, measured between the launches. Attention is compiled by Triton until girih has a kernel of its own.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import girih as gr

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "test/emulator"))
import emulated
from gemm import matmul

SIZE = 1024
ATTENTION = "triton_attention_bench"
ELEMENTWISE = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 a)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [a];
  cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;
  mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
DONE:
  ret;
}
"""


def best(run: Callable[[], float], repeat: int) -> float:
    """The shortest of `repeat` runs after one that warms up, in seconds."""
    run()
    return min(run() for _ in range(repeat))


def sgemm_gflops() -> float:
    """NumPy's rate on one thread."""
    a = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)

    def run() -> float:
        begin = time.perf_counter()
        a @ a
        return time.perf_counter() - begin

    return 2e-9 * SIZE**3 / best(run, 5)


def launch_seconds() -> float:
    """The host's time in the last launch."""
    return emulated.stats()["seconds"]


def gemm_run(**options: Any) -> Callable[[], float]:
    """A launch of the example's GEMM at 1024 x 1024 x 1024, bf16 to bf16."""
    rng = np.random.default_rng(0)
    a, b = (gr.asarray(rng.standard_normal((SIZE, SIZE)), gr.bf16) for _ in range(2))
    c = gr.empty((SIZE, SIZE), gr.bf16)

    def run() -> float:
        with gr.emulator.options(**options):
            matmul(a, b, c)
            gr.device.synchronize()
        return launch_seconds()

    return run


def attention_run(heads: int = 2, length: int = SIZE, **options: Any) -> Callable[[], float]:
    """A launch of Triton's attention forward at 1 x heads x length x length x 128."""
    import triton_programs  # needs Triton, and takes a second
    from programs import PROGRAMS

    if ATTENTION not in PROGRAMS:
        triton_programs.attention(
            "_bench",
            False,
            (128, 64, 128),
            {"heads": heads, "length": length},
            num_stages=3,
            num_warps=8,
        )
    program = PROGRAMS[ATTENTION]
    launch = program.launch({"heads": heads, "length": length}, 0)
    module = emulated.Module(program.ptx())

    def run() -> float:
        result = module.run(
            program.entry,
            launch.grid,
            launch.block,
            launch.arguments,
            shared=launch.shared,
            **options,
        )
        if result.findings:
            sys.exit(result.text)
        return launch_seconds()

    return run


def elementwise_run(**options: Any) -> Callable[[], float]:
    """A launch of y = a x + y over 2^22 elements."""
    x, y = np.ones(1 << 22, np.float32), np.ones(1 << 22, np.float32)
    module = emulated.Module(ELEMENTWISE)

    def run() -> float:
        arguments = [x, y, x.size, np.float32(2)]
        result = module.run("axpy", x.size // 256, 256, arguments, **options)
        if result.findings:
            sys.exit(result.text)
        return launch_seconds()

    return run


def products(
    name: str, make: Callable[..., Callable[[], float]], flop: float, repeat: int
) -> list[dict[str, Any]]:
    rows = []
    for numerics in ("exact", "hopper"):
        for checks in (0, 1):
            reference = sgemm_gflops()
            seconds = best(make(checks=checks, numerics=numerics, threads=1), repeat)
            rate = flop / seconds / 1e9
            rows.append(
                {
                    "name": name,
                    "numerics": numerics,
                    "checks": checks,
                    "seconds": round(seconds, 4),
                    "gflops": round(rate, 1),
                    "sgemm_gflops": round(reference, 1),
                    "of_sgemm": round(rate / reference, 3),
                }
            )
            print(
                f"{name:12} {numerics:7} checks {checks}: {seconds:7.3f} s {rate:7.1f} GFLOP/s, "
                f"{rate / reference:.2f} of sgemm ({reference:.0f} GFLOP/s)"
            )
    return rows


def elementwise(repeat: int) -> list[dict[str, Any]]:
    rows = []
    for checks in (0, 1):
        seconds = best(elementwise_run(checks=checks), repeat)
        rate = emulated.stats()["thread_instructions"] / seconds
        rows.append({"name": "elementwise", "checks": checks, "per_second": rate})
        print(f"elementwise          checks {checks}: {rate:.3g} thread-instructions a second")
    return rows


def scaling(repeat: int) -> list[dict[str, Any]]:
    rows = []
    for name, make in (("gemm", gemm_run), ("elementwise", elementwise_run)):
        for checks in (0, 1):
            one, two = (
                best(make(checks=checks, numerics="exact", threads=threads), repeat)
                for threads in (1, 2)
            )
            rows.append(
                {"name": f"scaling {name}", "checks": checks, "speedup": round(one / two, 2)}
            )
            print(
                f"{name:12} checks {checks}: {one / two:.2f} times as fast on two cores as on one"
            )
    return rows


def shadow() -> list[dict[str, Any]]:
    rows = []
    for name, make in (
        ("gemm", gemm_run),
        ("attention", attention_run),
        ("elementwise", elementwise_run),
    ):
        make(checks=1)()
        stats = emulated.stats()
        ratio = stats["shadow_bytes"] / stats["touched_bytes"]
        rows.append({"name": f"shadow {name}", "bytes_per_byte": round(ratio, 2)})
        print(f"{name:12} shadow memory: {ratio:.2f} bytes for each byte touched")
    return rows


def load(repeat: int) -> list[dict[str, Any]]:
    """Loading 1 MB of PTX: the elementwise kernel under many names."""
    head, body = ELEMENTWISE.split(".visible", 1)
    count = (1 << 20) // len(body) + 1
    text = head + "".join(f".visible{body}".replace("axpy", f"axpy{i}") for i in range(count))

    def run() -> float:
        begin = time.perf_counter()
        emulated.Module(text)
        return time.perf_counter() - begin

    ms = 1e3 * best(run, repeat) * (1 << 20) / len(text)
    print(f"loading 1 MB of PTX: {ms:.0f} ms")
    return [{"name": "load 1 MB", "ms": round(ms, 1)}]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that other tools read (docs/Design.md, 9); null where a part was left out."""

    def pick(key: str, name: str, **where: Any) -> Any:
        for row in rows:
            if row["name"] == name and all(row.get(k) == v for k, v in where.items()):
                return row[key]
        return None

    result = {"sgemm_gflops": pick("sgemm_gflops", "gemm", numerics="exact", checks=0)}
    for name in ("gemm", "attention"):
        for checks, suffix in enumerate(("off", "on")):
            key = f"{name}_gflops_{suffix}"
            result[key] = pick("gflops", name, numerics="exact", checks=checks)
    for checks, suffix in enumerate(("off", "on")):
        result[f"instr_per_s_{suffix}"] = pick("per_second", "elementwise", checks=checks)
    result["two_core_speedup"] = pick("speedup", "scaling gemm", checks=1)
    shadows = [row["bytes_per_byte"] for row in rows if row["name"].startswith("shadow")]
    result["shadow_bytes_per_byte"] = max(shadows, default=None)
    result["load_ms_per_mb"] = pick("ms", "load 1 MB")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench emulator", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each launch")
    parser.add_argument("--only", default="", help="a comma-separated list of parts")
    options = parser.parse_args()
    flop_attention = 4.0 * 2 * SIZE * SIZE * 128
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "gemm": lambda: products("gemm", gemm_run, 2.0 * SIZE**3, options.repeat),
        "attention": lambda: products("attention", attention_run, flop_attention, options.repeat),
        "elementwise": lambda: elementwise(options.repeat),
        "scaling": lambda: scaling(options.repeat),
        "shadow": shadow,
        "load": lambda: load(options.repeat),
    }
    chosen = options.only.split(",") if options.only else list(parts)
    if unknown := sorted(set(chosen) - set(parts)):
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(parts)}")
    rows = [row for name in chosen for row in parts[name]()]
    if options.json:
        print(json.dumps(summary(rows) | {"rows": rows}))


if __name__ == "__main__":
    main()
