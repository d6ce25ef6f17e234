# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ordinary CUDA C++ kernels, and what NumPy says they compute."""

import numpy as np

from cuda_registry import cuda, f32, f64, i32, u32
from emulated import Struct
from programs import Close, Launch, ceil, dot_bound


@cuda("basics.cu", {"n": 3000})
def histogram(rng, n):
    x = rng.integers(0, 256, n, dtype=np.uint8)
    return Launch(
        3, 128, [x, np.zeros(256, u32), n], {1: np.bincount(x, minlength=256).astype(u32)}
    )


@cuda("basics.cu", {"rows": 64, "columns": 32}, {"rows": 45, "columns": 70})
def transpose(rng, rows, columns):
    x = rng.standard_normal((rows, columns)).astype(f32)
    grid = (ceil(columns, 32), ceil(rows, 32))
    return Launch(grid, (32, 8), [x, np.zeros((columns, rows), f32), rows, columns], {1: x.T})


@cuda("basics.cu", {"m": 32, "n": 16, "k": 48}, {"m": 19, "n": 33, "k": 21})
def matmul_tiled(rng, m, n, k):
    a = rng.standard_normal((m, k)).astype(f32)
    b = rng.standard_normal((k, n)).astype(f32)
    return Launch(
        (ceil(n, 16), ceil(m, 16)),
        (16, 16),
        [a, b, np.full((m, n), np.nan, f32), m, n, k],
        {2: Close(a.astype(f64) @ b.astype(f64), dot_bound(a, b))},
    )


@cuda("basics.cu", {"n": 1024}, {"n": 1001})
def axpy_vectors(rng, n):
    x, y = rng.standard_normal((2, n)).astype(f32)
    want = 1.5 * x.astype(f64) + y
    return Launch(
        ceil(n, 512), 128, [f32(1.5), x, y, n], {2: Close(want, 2.0**-23 * np.abs(want) + 2.0**-24)}
    )


BODY = np.dtype(
    {
        "names": ["position", "mass", "tag", "id"],
        "formats": [(f64, 3), f32, np.int8, np.int16],
        "offsets": [0, 24, 28, 30],
        "itemsize": 32,
    }
)


@cuda("calls.cu")
def structs(rng):
    first = np.zeros((), BODY)
    first["position"], first["mass"], first["tag"] = [1.0, 2.0, 3.0], 0.5, 7
    want = np.zeros(32, BODY)
    want["position"] = [1.0, 2.0, 3.0]
    want["position"][:, 1] = np.arange(32)
    want["position"] += 4.0 * 0.5
    want["mass"], want["tag"], want["id"] = 0.5, 7, np.arange(32) + 7
    # Byte 29 is padding, which a copy may leave undefined.
    return Launch(1, 32, [Struct(first.tobytes()), np.zeros(32, BODY), f64(4.0)], {1: Bodies(want)})


class Bodies(Close):
    """Equality of structs field by field."""

    def problem(self, result):
        for name in BODY.names:
            if problem := Close(self.expected[name]).problem(result[name]):
                return f"{name}: {problem}"
        return None


@cuda("calls.cu")
def recursion(rng):
    x = rng.integers(0, 9, 64, dtype=i32)
    fibonacci = [0, 1]
    for _ in range(10):
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    return Launch(
        1,
        64,
        [x, np.zeros(64, i32), np.zeros(64, i32)],
        {1: np.array(fibonacci)[x], 2: (x % 2 == 0).astype(i32)},
    )


@cuda("calls.cu")
def function_pointers(rng):
    which = rng.integers(0, 4, 64, dtype=i32)
    a, b = rng.integers(-50, 50, (2, 64), dtype=i32)
    quotient = np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(i32)
    want = np.choose(which, [a + b, a - b, a * b, quotient])
    return Launch(1, 64, [which, a, b, np.zeros(64, i32)], {3: want})


@cuda("calls.cu")
def virtual_calls(rng):
    x = rng.integers(1, 50, 64).astype(f32)
    want = np.where(np.arange(64) % 3, x * x, 3 * x * x)
    return Launch(1, 64, [x, np.zeros(64, f32)], {1: want})


@cuda("calls.cu")
def constants(rng):
    threads = np.arange(32)
    factorials = np.array([1, 1, 2, 6, 24, 120, 720, 5040])
    want = np.append(factorials[threads % 8] * 10 + np.where(threads % 2, 3, 4), 42)
    return Launch(1, 32, [np.zeros(33, i32)], {0: want})


@cuda("basics.cu", {"n": 16}, {"n": 7})
def local_arrays(rng, n):
    x = rng.integers(-999, 999, (64, n), dtype=i32)
    return Launch(1, 64, [x, np.zeros((64, n), i32), n], {1: np.sort(x, 1)})


@cuda("basics.cu")
def divergence(rng):
    n = 300
    x = rng.integers(1, 60, n, dtype=i32)
    want = []
    for value in map(int, x):
        steps = 0
        while value != 1 and steps < 200:
            value = 3 * value + 1 if value % 2 else value // 2
            steps += 1
        arm = steps % 7
        steps = {
            0: steps + 10,
            1: steps * 3 - 1,
            2: steps - 1,
            3: -steps,
            4: steps ^ 0x55,
            5: steps << 2,
            6: steps,
        }[arm]
        want.append(steps)
    return Launch(ceil(n, 128), 128, [x, np.zeros(n, i32), n], {1: np.array(want, i32)})


@cuda("basics.cu")
def spin_lock(rng):
    return Launch(3, 40, [np.zeros(1, i32)], {0: [120]})
