# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PTX files of the C++ tests (test/unit/Emulator/Inputs), as programs."""

import numpy as np

from emulated import ROOT, TensorMap
from programs import PROGRAMS, Bf16, Launch, Program, bf16_bits, dot_bound, round_bf16

INPUTS = ROOT / "test/unit/Emulator/Inputs"


def own(file: str, *shapes: dict):
    """Adds a program: the decorated function builds its launches, its name is the kernel's."""

    def add(make):
        name = f"{file}:{make.__name__}"
        PROGRAMS[name] = Program(
            name, lambda: (INPUTS / file).read_text(), make.__name__, make, list(shapes) or [{}]
        )
        return make

    return add


@own("gemm_ws.ptx", {"m": 256, "n": 256, "k": 320}, {"m": 136, "n": 264, "k": 72})
def gemm_ws(rng, m, n, k):
    a = round_bf16(rng.standard_normal((m, k)))
    b = round_bf16(rng.standard_normal((n, k)))
    want = a.astype(np.float64) @ b.T.astype(np.float64)
    bound = dot_bound(a, b.T) + 2.0**-8 * np.abs(want)
    steps, down, right = -(-k // 64), -(-m // 128), -(-n // 128)
    return Launch(
        2,
        384,
        [
            TensorMap(bf16_bits(a), "bf16", (128, 64), swizzle=128),
            TensorMap(bf16_bits(b), "bf16", (128, 64), swizzle=128),
            TensorMap(np.zeros((m, n), np.uint16), "bf16", (64, 64), swizzle=128),
            steps,
            down,
            right,
        ],
        {2: Bf16(want, bound)},
        shared=131120,
    )


@own("cuda_kernels.ptx")
def sum(rng):
    x = rng.integers(-99, 99, 5000).astype(np.float32)
    return Launch(8, 256, [x, np.zeros(1, np.float32), 5000], {1: [x.sum()]})


@own("cuda_kernels.ptx")
def scan(rng):
    x = rng.integers(0, 2**32, (4, 256), dtype=np.uint32)
    want = x.astype(np.uint64).cumsum(1).astype(np.uint32)
    return Launch(4, 256, [x, np.zeros_like(x), 0], {1: want})


@own("cuda_kernels.ptx")
def histogram(rng):
    x = rng.integers(0, 2**32, 3000, dtype=np.uint32)
    want = np.bincount(x & 63, minlength=64)
    return Launch(6, 128, [x, np.zeros(64, np.uint32), 3000], {1: want})
