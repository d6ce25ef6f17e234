# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ programs of cuda/, compiled by NVRTC, and what NumPy says they compute."""

import functools

import numpy as np

from cuda_compiler import compile_cuda
from emulated import BUILD, Struct, TensorMap
from programs import (
    E4M3,
    E5M2,
    PROGRAMS,
    Bf16,
    Close,
    Launch,
    Program,
    bf16_bits,
    dot_bound,
    round_bf16,
    sum_bound,
)

i32, u32, f32, f64 = np.int32, np.uint32, np.float32, np.float64


def cuda(source: str, *shapes: dict, entry: str | None = None, options: tuple[str, ...] = ()):
    """Adds a program: the decorated function builds its launches; the kernel has its name unless ``entry`` says another."""

    def add(make):
        kernel = entry or make.__name__
        name = " ".join([entry or make.__name__, *options])
        PROGRAMS[name] = Program(
            name,
            functools.partial(compile_cuda, BUILD, source, options),
            kernel,
            make,
            list(shapes) or [{}],
        )
        return make

    return add


def ceil(a, b):
    return -(-a // b)


def recompiled(option: str, *names: str) -> None:
    """Adds programs again, compiled with one more option and run on their last shape."""
    for name in names:
        program = PROGRAMS[name]
        source = program.ptx.args[1]
        cuda(source, program.shapes[-1], entry=program.entry, options=(option,))(program.make)


# ---- Reductions ------------------------------------------------------------------------------------------------------


def block_sums(x, blocks, threads):
    """Sums of the elements that each block of a grid-stride loop visits, and their absolute values."""
    owner = np.arange(len(x)) // threads % blocks
    return (
        np.bincount(owner, x.astype(f64), blocks),
        np.bincount(owner, np.abs(x).astype(f64), blocks),
    )


@cuda("reduce.cu", {"n": 1000}, {"n": 4096, "threads": 128}, {"n": 31, "threads": 1024})
def reduce_shuffle(rng, n, threads=256, blocks=3):
    x = rng.standard_normal(n).astype(f32)
    sums, sizes = block_sums(x, blocks, threads)
    return Launch(
        blocks,
        threads,
        [x, np.full(blocks, np.nan, f32), n],
        {1: Close(sums, sizes * n * 2.0**-24)},
    )


@cuda("reduce.cu", {"n": 1000}, {"n": 64, "threads": 64})
def reduce_tree(rng, n, threads=256):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    blocks = ceil(n, threads)
    padded = np.pad(x, (0, blocks * threads - n)).reshape(blocks, threads)
    return Launch(
        blocks, threads, [x, np.zeros(blocks, i32), n], {1: padded.sum(1)}, shared=4 * threads
    )


@cuda("reduce.cu", {"n": 500})
def reduce_atomic(rng, n):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    bits = np.bitwise_or.reduce(u32(1) << (x & 31).astype(u32))
    outs = [np.zeros(1, i32), np.full(1, 2**30, i32), np.full(1, -(2**30), i32)]
    outs += [np.zeros(1, u32), np.zeros(1, f64)]
    return Launch(
        3,
        96,
        [x, n, *outs],
        {2: [x.sum()], 3: [x.min()], 4: [x.max()], 5: [bits], 6: [float(x.sum())]},
    )


@cuda("reduce.cu", {"n": 100}, {"n": 128})
def reduce_warp_hardware(rng, n):
    x = rng.integers(-1000, 1000, n, dtype=i32)
    x[:32] = np.abs(x[:32])
    lanes = np.pad(x, (0, 128 - n)).reshape(4, 32)
    order = np.arange(32)
    out = np.empty((4, 6), i32)
    out[:, 0], out[:, 1] = lanes.sum(1), lanes.max(1)
    out[:, 2] = np.bitwise_or.reduce(lanes, 1)
    out[:, 3] = ((lanes & 1).astype(u32) << order).sum(1).astype(u32).view(i32)
    out[:, 4] = (lanes >> 31 == (lanes >> 31)[:, :1]).all(1)
    out[:, 5] = np.where(out[:, 4], -1, 0)
    same = ((lanes & 3)[:, :, None] == (lanes & 3)[:, None, :]).astype(u32)
    masks = (same << order.astype(u32)).sum(2).astype(u32).reshape(-1)
    return Launch(2, 64, [x, np.zeros((4, 6), i32), np.zeros(128, u32), n], {1: out, 2: masks})


@cuda("reduce.cu", {"n": 3000}, {"n": 200, "blocks": 7})
def reduce_last_block(rng, n, blocks=4):
    x = rng.standard_normal(n).astype(f32)
    return Launch(
        blocks,
        128,
        [x, np.zeros(blocks, f32), np.zeros(1, f32), n],
        {2: Close(np.array([x.astype(f64).sum()]), sum_bound(x, n))},
    )


@cuda("reduce.cu", {"n": 250, "steps": 3}, {"n": 256, "steps": 4})
def grid_barrier_steps(rng, n, steps):
    a = rng.integers(-1000, 1000, n).astype(f32) * 2**steps
    want = [a, np.zeros(n, f32)]
    for step in range(steps):
        now = want[step % 2]
        want[1 - step % 2] = (np.roll(now, -1) + np.roll(now, 1)) / 2
    return Launch(4, 64, [a, np.zeros(n, f32), n, steps], dict(enumerate(want)))


# ---- Scans -----------------------------------------------------------------------------------------------------------


@cuda("scan.cu")
def scan_warps(rng):
    x = rng.integers(-99, 99, 256, dtype=i32)
    want = x.reshape(-1, 32).cumsum(1).reshape(-1)
    return Launch(2, 128, [x, np.zeros(256, i32)], {1: want})


@cuda("scan.cu", {"n": 1000}, {"n": 512})
def scan_blocks(rng, n, threads=256):
    x = rng.integers(-99, 99, n, dtype=i32)
    want = np.concatenate([x[i : i + threads].cumsum() for i in range(0, n, threads)])
    return Launch(ceil(n, threads), threads, [x, np.zeros(n, i32), n], {1: want})


@cuda("scan.cu")
def scan_two_buffers(rng):
    x = rng.integers(-99, 99, 512, dtype=i32)
    want = x.reshape(2, 256).cumsum(1).reshape(-1)
    return Launch(2, 256, [x, np.zeros(512, i32)], {1: want})


@cuda("scan.cu", {"n": 1000}, {"n": 640})
def scan_look_back(rng, n, threads=128):
    x = rng.integers(-99, 99, n, dtype=i32)
    tiles = ceil(n, threads)
    scratch = [np.zeros(tiles, np.uint64), np.zeros(1, u32)]
    return Launch(tiles, threads, [x, np.zeros(n, i32), *scratch, n], {1: x.cumsum()})


@cuda("scan.cu", {"n": 1000})
def scan_look_back_acquire(rng, n, threads=128):
    x = rng.integers(-99, 99, n, dtype=i32)
    tiles = ceil(n, threads)
    scratch = [np.zeros(tiles, i32), np.zeros(tiles, i32), np.zeros(tiles, u32)]
    return Launch(tiles, threads, [x, np.zeros(n, i32), *scratch, n], {1: x.cumsum()})


# ---- Ordinary kernels ------------------------------------------------------------------------------------------------


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


# ---- Numbers ---------------------------------------------------------------------------------------------------------


def signed(x):
    return np.asarray(x, np.int64).astype(u32).view(i32).astype(np.int64)


@cuda("numbers.cu")
def integer_intrinsics(rng):
    n = 128
    a, b, c = rng.integers(0, 2**32, (3, n), dtype=u32)
    a[:4], b[:4], c[:4] = [0, 1, 2**32 - 1, 2**31], [0, 2**32 - 1, 7, 2**31], [0, 31, 32, 33]
    want = np.empty((n, 24), np.int64)
    for i, (u, v, w) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        s, t = int(signed(u)), int(signed(v))
        bytes_of = lambda x: [x >> 8 * k & 255 for k in range(4)]  # noqa: E731
        as_signed = lambda x, bits: x - (1 << bits) if x >> (bits - 1) else x  # noqa: E731
        both = (u | v << 32).to_bytes(8, "little")
        halves = [as_signed(u & 0xFFFF, 16), as_signed(u >> 16, 16)]
        t1 = t | 1
        row = [
            u.bit_count(),
            32 - u.bit_length(),
            (u & -u).bit_length(),
            int(f"{u:032b}"[::-1], 2),
            int.from_bytes(bytes(both[w >> 4 * k & 7] for k in range(4)), "little"),
            (v << 32 | u) << (w & 31) >> 32,
            (v << 32 | u) >> (w & 31),
            (v << 32 | u) << min(w & 63, 32) >> 32,
            w
            + sum(
                as_signed(p, 8) * as_signed(q, 8)
                for p, q in zip(bytes_of(u), bytes_of(v), strict=True)
            ),
            w + sum(p * q for p, q in zip(bytes_of(u), bytes_of(v), strict=True)),
            w + halves[0] * as_signed(v & 255, 8) + halves[1] * as_signed(v >> 8 & 255, 8),
            u * v >> 32,
            s * t >> 32,
            abs(s - t) + w,
            (u + v) >> 1,
            (s + t + 1) >> 1,
            u // v if v else 0,
            u % v if v else 0,
            int(abs(s) // abs(t1)) * (1 if (s < 0) == (t1 < 0) else -1),
            (abs(s) % abs(t1)) * (-1 if s < 0 else 1),
            int.from_bytes(
                bytes(p + q & 255 for p, q in zip(bytes_of(u), bytes_of(v), strict=True)), "little"
            ),
            int.from_bytes(
                bytes(abs(p - q) for p, q in zip(bytes_of(u), bytes_of(v), strict=True)), "little"
            ),
            sum(
                (
                    max(as_signed(u >> 16 * k & 0xFFFF, 16), as_signed(v >> 16 * k & 0xFFFF, 16))
                    & 0xFFFF
                )
                << 16 * k
                for k in range(2)
            ),
            (u << 32 | v).bit_count() + 64 - (v << 20).bit_length(),
        ]
        want[i] = [value & 0xFFFFFFFF for value in row]
    return Launch(2, 64, [a, b, c, np.zeros((n, 24), u32)], {3: want.astype(u32)})


@cuda("numbers.cu")
def long_integers(rng):
    a, b = rng.integers(-(2**63), 2**63, (2, 64), dtype=np.int64)
    b[:20] >>= 40
    b[0], a[1], b[2] = 0, 2**63 - 1, 1
    want = []
    for u, v in zip(a.tolist(), b.tolist(), strict=True):
        uu, vv = u % 2**64, v % 2**64
        quotient = (abs(u) // abs(v)) * (1 if (u < 0) == (v < 0) else -1) if v else 0
        want.append(
            [
                u * v,
                quotient,
                u - quotient * v if v else 0,
                u * v >> 64,
                uu * vv >> 64,
                u >> (v & 63),
                int(f"{uu:064b}"[::-1], 2),
                uu // (vv | 1),
            ]
        )
    want = np.array([[x % 2**64 for x in row] for row in want], np.uint64).view(np.int64)
    return Launch(1, 64, [a, b, np.zeros((64, 8), np.int64)], {2: want})


def erf(x):
    from math import erf as one

    return np.vectorize(one)(x)


def lgamma(x):
    from math import lgamma as one

    return np.vectorize(one)(x)


def math_inputs(rng, n, dtype):
    x = (rng.standard_normal(n) * 3).astype(dtype)
    z = (rng.standard_normal(n) * 2).astype(dtype)
    z[np.abs(z) < 0.05] = 0.5
    x[:6] = [0.0, 1.0, -1.0, 10.0, -20.0, 1e-3]
    return x, z


def within_ulps(wants, limits, dtype):
    """A Close for rows of float64 values, each with its bound in ulps of ``dtype``."""
    wants = np.stack(wants)
    with np.errstate(over="ignore"):
        ulp = np.abs(np.spacing(wants.astype(dtype))).astype(f64)
    return Close(wants, ulp * np.array(limits)[:, None])


@cuda("numbers.cu")
def math32(rng):
    # Bounds in ulps: CUDA C++ Programming Guide, "Mathematical Functions", table of single precision; 1/2
    # more, since the reference is rounded too.
    n = 256
    x, z = math_inputs(rng, n, f32)
    u, v = x.astype(f64), z.astype(f64)
    a = np.abs(u)
    with np.errstate(divide="ignore"):
        rows = {
            "sin": (np.sin(u), 2), "cos": (np.cos(u), 2), "tan": (np.tan(u), 4), "exp": (np.exp(u), 2),
            "log": (np.log(a), 1), "pow": (a**v, 4), "erf": (erf(u), 2), "tanh": (np.tanh(u), 2),
            "sqrt": (np.sqrt(a), 0), "rsqrt": (1 / np.sqrt(a), 2), "div": (u / v, 0), "cbrt": (np.cbrt(u), 1),
            "atan2": (np.arctan2(u, v), 3), "fmod": (np.fmod(u, v), 0), "expm1": (np.expm1(u), 1),
            "log1p": (np.log1p(a), 1), "lgamma": (lgamma((x.copy().__abs__() + f32(1)).astype(f64)), 6),
            "hypot": (np.hypot(u, v), 3), "round": (np.copysign(np.floor(a + 0.5), u), 0),
            "erfc": (1 - erf(u), 6), "exp2": (np.exp2(u), 2), "log2": (np.log2(a), 1),
            "sinh": (np.sinh(u), 3), "asin": (np.arcsin((x / (np.abs(x) + f32(1))).astype(f64)), 4),
        }  # fmt: skip
    close = within_ulps(
        [w for w, _ in rows.values()], [ulps + 0.6 for _, ulps in rows.values()], f32
    )
    # lgamma's bound holds outside (-10.001, -2.264) and is absolute near its zeros at 1 and 2; erfc through
    # 1 - erf loses what float64 cannot hold.
    for name, floor in (("lgamma", 2e-6), ("erfc", 2e-15)):
        row = list(rows).index(name)
        close.bound[row] = np.maximum(close.bound[row], floor)
    return Launch(2, 128, [x, z, np.zeros((24, n), f32)], {2: close})


@cuda("numbers.cu")
def fast_math(rng):
    """Approximations: the bounds are the PTX ISA's for the instructions behind them, loosely."""
    n = 256
    x = rng.uniform(-3, 3, n).astype(f32)
    u = x.astype(f64)
    a = np.abs(u)
    absolute, relative = 2.0**-20, 2.0**-20
    rows = [
        np.sin(u), np.cos(u), np.exp(u), np.log(a), u / 3, 1 / u, np.sqrt(a), u * u + 1, u + 1e-8,
        np.clip(u, 0, 1), 10 ** (u * 0.1), a**1.5,
    ]  # fmt: skip
    want = np.stack(rows)
    return Launch(
        2, 128, [x, np.zeros((12, n), f32)], {1: Close(want, absolute + relative * np.abs(want))}
    )


@cuda("numbers.cu")
def math64(rng):
    n = 128
    u, v = math_inputs(rng, n, f64)
    a = np.abs(u)
    with np.errstate(divide="ignore"):
        rows = [
            (np.sin(u), 2), (np.exp(u), 1), (np.log(a), 1), (a**v, 2), (u / v, 0), (np.sqrt(a), 0), (erf(u), 2),
            (np.tanh(u), 2), (1 / np.sqrt(a), 1), (u * v + a, 4), (np.floor(u), 0), (np.rint(u), 0),
            (np.arctan(u), 2), (np.cbrt(u), 1), (np.fmod(u, v), 0), (1 / v, 0),
        ]  # fmt: skip
    # NumPy's own float64 functions are within an ulp, no better.
    close = within_ulps([w for w, _ in rows], [ulps + (ulps > 0) for _, ulps in rows], f64)
    close.bound[9] = 4 * np.finfo(f64).eps * (np.abs(u * v) + a)
    return Launch(1, n, [u, v, np.zeros((16, n), f64)], {2: close})


@cuda("numbers.cu")
def rounding(rng):
    x = (rng.standard_normal(64) * 100).astype(f32)
    x[:8] = [0.5, 1.5, -0.5, -2.5, 2.0**31, -(2.0**31), np.nan, np.inf]
    d = rng.standard_normal(64) * 1000
    wide = np.where(np.isnan(x), 0, x.astype(f64))
    clip = lambda v, lo, hi: np.clip(v, lo, hi).astype(np.int64)  # noqa: E731
    s32 = lambda v: clip(v, -(2**31), 2**31 - 1)  # noqa: E731
    want = np.empty((64, 8), np.int64)
    want[:, 0], want[:, 1] = s32(np.rint(wide)), s32(np.trunc(wide))
    want[:, 2], want[:, 3] = s32(np.ceil(wide)), s32(np.floor(wide))
    want[:, 4] = clip(np.rint(wide), 0, 2**32 - 1)
    want[:, 5] = s32(np.rint(d))
    want[:, 6] = d.astype(f32).view(i32)
    want[:, 7] = x.view(i32).astype(f32).view(i32)
    longs = np.empty((64, 4), np.int64)
    scaled = np.where(np.isnan(x), 0, (x * f32(1e9)).astype(f64))
    # A NaN becomes the most negative s64 (PTX ISA 9.0, 9.7.9.21: cvt of NaN to .s64/.u64).
    big = np.where(np.isinf(scaled), np.copysign(2.0**62, scaled), np.rint(scaled)).astype(np.int64)
    longs[:, 0] = np.where(np.isinf(scaled), 2**63 - 1, big)
    longs[np.isnan(x), 0] = -(2**63)
    longs[:, 1] = np.floor(d * 1e12)
    longs[:, 2] = x.astype(f64).view(np.int64)
    longs[:, 3] = d.view(np.int64).astype(f64).view(np.int64)
    want = (want & 0xFFFFFFFF).astype(u32).view(i32)
    return Launch(
        1, 64, [x, d, np.zeros((64, 8), i32), np.zeros((64, 4), np.int64)], {2: want, 3: longs}
    )


@cuda("numbers.cu")
def half_arithmetic(rng):
    n = 128
    a, b = rng.standard_normal((2, n, 2)).astype(np.float16)
    u, v = a.astype(f64), b.astype(f64)
    sums = u + v
    rows = [
        sums, u - v, u * v, u * v + u, np.minimum(u, v), np.maximum(u, v), -u, np.abs(u),
        np.clip(sums, 0, 1), np.maximum(u * v + u, 0), u / v, np.sqrt(np.abs(u)),
    ]  # fmt: skip
    want = np.stack([r.astype(np.float16) for r in rows])
    bound = np.zeros(want.shape)
    bound[10:] = np.abs(np.spacing(want[10:])).astype(f64)
    return Launch(1, n, [a, b, np.zeros((12, n, 2), np.float16)], {2: Close(want, bound)})


@cuda("numbers.cu")
def bfloat_arithmetic(rng):
    n = 128
    u, v = round_bf16(rng.standard_normal((2, n, 2)))
    v[:16] = u[:16]
    a, b = u.astype(f64), v.astype(f64)
    rows = [a + b, a - b, a * b, a * b + a, np.minimum(a, b), np.maximum(a, b), -a, np.abs(a)]
    less = np.where(u < v, 0xFFFF, 0).astype(u32)
    compare = (less[:, 0] | less[:, 1] << 16) ^ (u == v).all(1).astype(u32)
    return Launch(
        1,
        n,
        [bf16_bits(u), bf16_bits(v), np.zeros((8, n, 2), np.uint16), np.zeros(n, u32)],
        {2: Bf16(round_bf16(np.stack(rows))), 3: compare},
    )


def round_fp8(x, values):
    """Bits of the nearest value, ties to the even bits, saturating."""
    size = np.abs(x.astype(f64))
    above = np.clip(np.searchsorted(values, size), 1, len(values) - 1)
    low, high = values[above - 1], values[above]
    up = (high - size < size - low) | ((high - size == size - low) & (above % 2 == 0))
    return np.where(up, above, above - 1).astype(np.uint8) | np.where(np.signbit(x), 128, 0).astype(
        np.uint8
    )


@cuda("numbers.cu")
def narrow_conversions(rng):
    n = 256
    x = (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).astype(f32)
    x[:8] = [0, -0.0, 448, 464, 1e6, -1e6, 2.0**-9, 2.0**-10]
    bits4, bits5 = round_fp8(x, E4M3), round_fp8(x, E5M2)
    sign = lambda bits: np.where(bits & 128, -1.0, 1.0)  # noqa: E731
    back = np.stack([E4M3[bits4 & 127] * sign(bits4), E5M2[bits5 & 127] * sign(bits5)], 1)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).view(np.uint16)
    outs = [np.zeros(n, np.uint16), np.zeros(n, np.uint16), np.zeros(n, np.uint8)]
    outs += [np.zeros(n, np.uint8), np.zeros((n, 2), f32)]
    return Launch(
        1, n, [x, *outs], {1: half, 2: bf16_bits(round_bf16(x)), 3: bits4, 4: bits5, 5: back}
    )


# ---- Tensor cores ----------------------------------------------------------------------------------------------------


def wmma(name, shapes, operand, dtype, bound, result=f32, by_columns=False, tile=32, threads=128):
    """A program of wmma.cu: ``operand(rng, shape)`` gives values and their storage."""

    def make(rng, m, n, k):
        a, stored_a = operand(rng, (m, k))
        b, stored_b = operand(rng, (k, n))
        exact = a.astype(dtype) @ b.astype(dtype)
        return Launch(
            (n // tile, m // tile),
            threads,
            [stored_a, stored_b, np.zeros((m, n), result), n, k],
            {2: Close(exact, bound(a, b))},
        )

    make.__name__ = name
    cuda("wmma.cu", *shapes)(make)


def halves(rng, shape):
    x = rng.standard_normal(shape).astype(np.float16)
    return x, x


def bfloats(rng, shape):
    x = round_bf16(rng.standard_normal(shape))
    return x, bf16_bits(x)


def tf32s(rng, shape):
    """Ten bits of fraction, so that the conversion to tf32 changes nothing."""
    x = (rng.integers(-1023, 1024, shape) / 512).astype(f32)
    return x, x


def bytes_(rng, shape):
    x = rng.integers(-128, 128, shape, dtype=np.int8)
    return x, x


def doubles(rng, shape):
    x = rng.standard_normal(shape)
    return x, x


def half_sums(a, b):
    """Sums in f16 are rounded at every step of sixteen products at the latest."""
    return dot_bound(a, b, 2.0**-11)


TILES = [{"m": 32, "n": 32, "k": 32}, {"m": 64, "n": 32, "k": 96}]
wmma("wmma_f16", TILES, halves, f64, dot_bound)
wmma("wmma_f16_half_sums", TILES, halves, f64, half_sums, result=np.float16)
wmma("wmma_bf16", TILES, bfloats, f64, dot_bound)
wmma("wmma_tf32", TILES, tf32s, f64, dot_bound)
wmma("wmma_s8", TILES, bytes_, np.int64, lambda a, b: 0, result=i32)
wmma(
    "wmma_f64",
    [{"m": 16, "n": 8, "k": 12}],
    doubles,
    f64,
    lambda a, b: 2 * dot_bound(a, b, 2.0**-53),
    result=f64,
    tile=8,
    threads=32,
)


# ---- Asynchronous copies within a block ------------------------------------------------------------------------------


@cuda("async.cu", {"rounds": 5}, {"rounds": 8})
def barrier_producer_consumer(rng, rounds):
    x = rng.integers(-99, 99, (rounds, 64), dtype=i32)
    want = x[:, ::-1].cumsum(0)
    return Launch(1, 128, [x, np.zeros((rounds, 64), i32), rounds], {1: want})


@cuda("async.cu")
def barrier_drop(rng):
    rounds, threads = 4, 64
    want = np.cumsum([threads - 8 * r for r in range(rounds)])
    return Launch(1, threads, [np.zeros(rounds, i32), rounds], {0: want})


@cuda("async.cu", {"tiles": 1}, {"tiles": 5})
def barrier_memcpy_async(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 256)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 128), f32), tiles], {1: (x + x[:, ::-1])[:, :128]})


@cuda("async.cu", {"tiles": 2}, {"tiles": 7})
def pipeline_block(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 128)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 128), f32), tiles], {1: 2 * x[:, ::-1]})


@cuda("async.cu", {"tiles": 1}, {"tiles": 6})
def pipeline_roles(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 64)).astype(f32)
    return Launch(1, 128, [x, np.zeros((tiles, 64), f32), tiles], {1: x[:, ::-1] + 1})


@cuda("async.cu", {"tiles": 3}, {"tiles": 9})
def pipeline_thread(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 64, 4)).astype(f32)
    return Launch(1, 64, [x, np.zeros((tiles, 64, 4), f32), tiles], {1: x[:, :, ::-1]})


@cuda("async.cu", {"tiles": 3})
def cg_memcpy_async(rng, tiles):
    x = rng.integers(-99, 99, (tiles, 128), dtype=i32)
    shuffled = x[:, np.arange(128) ^ 5].reshape(tiles, 4, 32)
    want = np.repeat(shuffled.sum(2), 32, 1)
    return Launch(1, 128, [x, np.zeros((tiles, 128), i32), tiles], {1: want})


@cuda("async.cu", {"m": 32, "n": 32, "k": 32}, {"m": 64, "n": 32, "k": 160})
def matmul_pipelined(rng, m, n, k):
    a = rng.standard_normal((m, k)).astype(f32)
    b = rng.standard_normal((k, n)).astype(f32)
    return Launch(
        (n // 32, m // 32),
        256,
        [a, b, np.zeros((m, n), f32), n, k],
        {2: Close(a.astype(f64) @ b.astype(f64), dot_bound(a, b))},
        shared=3 * 2 * 32 * 32 * 4,
    )


# ---- Clusters --------------------------------------------------------------------------------------------------------


@cuda("cluster.cu", {"blocks": 4, "cluster": 2}, {"blocks": 8, "cluster": 8})
def cluster_histogram(rng, blocks, cluster, n=900, bins=64):
    x = rng.integers(0, bins, n, dtype=i32)
    return Launch(
        blocks,
        64,
        [x, np.zeros(bins, u32), n, bins],
        {1: np.bincount(x, minlength=bins)},
        cluster=cluster,
        shared=4 * bins // cluster,
    )


@cuda(
    "cluster.cu",
    {"cluster": 4, "steps": 3},
    {"cluster": 2, "steps": 4},
    {"cluster": 16, "steps": 2},
)
def cluster_ring(rng, cluster, steps):
    x = rng.integers(-99, 99, (16, 64)).astype(f32) * 2**steps
    want = x.reshape(-1, cluster * 64)
    for _ in range(steps):
        want = (np.roll(want, 1, 1) + np.roll(want, -1, 1)) / 2
    return Launch(
        16, 64, [x, np.zeros((16, 64), f32), steps], {1: want.reshape(16, 64)}, cluster=cluster
    )


@cuda("cluster.cu")
def cluster_split_barrier(rng):
    ids = np.arange(8, dtype=i32)
    want = np.repeat((ids * 10 + 1).reshape(2, 4).sum(1), 4)
    return Launch(8, 32, [np.zeros(8, i32)], {0: want}, cluster=4)


@cuda("cluster.cu")
def cg_collectives(rng):
    x = rng.integers(-99, 99, 128, dtype=i32)
    tiles = x.reshape(-1, 16)
    sums = np.repeat(tiles.sum(1), 16)
    scans = tiles.cumsum(1) - tiles
    odd = (x & 1).reshape(-1, 32)
    rank = odd.cumsum(1) - odd
    want = np.where(odd, odd.sum(1, keepdims=True) * 100 + rank, -1).reshape(-1)
    outs = [np.zeros(128, i32) for _ in range(3)]
    return Launch(2, 64, [x, *outs], {1: sums, 2: scans.reshape(-1), 3: want})


@cuda("cluster.cu", {"cluster": 2}, {"cluster": 4})
def cluster_st_async(rng, cluster):
    x = rng.integers(-99, 99, (4, 128), dtype=i32)
    want = np.roll(x.reshape(-1, cluster, 128), 1, 1).reshape(4, 128) + 1
    return Launch(4, 128, [x, np.zeros((4, 128), i32)], {1: want}, cluster=cluster)


@cuda("cluster.cu", {"cluster": 2}, {"cluster": 4})
def cluster_bulk_copy(rng, cluster):
    x = rng.integers(-99, 99, (4, 128), dtype=i32)
    want = np.roll(x.reshape(-1, cluster, 128), 1, 1).reshape(4, 128) * 3
    return Launch(4, 128, [x, np.zeros((4, 128), i32)], {1: want}, cluster=cluster)


# ---- Bulk and tensor copies ------------------------------------------------------------------------------------------


@cuda("tma.cu", {"n": 512}, {"n": 256 * 3 + 64})
def bulk_increment(rng, n):
    x = rng.integers(-99, 99, n, dtype=i32)
    return Launch(ceil(n, 256), 128, [x, n], {0: x + 1})


@cuda("tma.cu")
def bulk_reduce(rng):
    x = rng.integers(-99, 99, (5, 128), dtype=i32)
    return Launch(5, 128, [x, np.zeros(128, i32)], {1: x.sum(0)})


@cuda("tma.cu", {"rows": 64, "columns": 32}, {"rows": 50, "columns": 36})
def tensor_scale(rng, rows, columns):
    x = rng.standard_normal((rows, columns)).astype(f32)
    y = np.zeros((rows, columns), f32)
    box = (32, 16)
    launch = Launch(
        (ceil(columns, 16), ceil(rows, 32)),
        128,
        [TensorMap(x, "f32", box), TensorMap(y, "f32", box), f32(2)],
        {1: 2 * x},
    )
    return launch


@cuda("tma.cu")
def tensor_swizzled(rng):
    x = rng.integers(-999, 999, (2, 64, 64), dtype=i32)
    want = x.reshape(2, 64, 2, 32).transpose(0, 2, 3, 1)
    y = np.zeros((2, 2, 32, 64), i32)
    return Launch((2, 2), 128, [TensorMap(x, "i32", (1, 64, 32), swizzle=128), y], {1: want})


@cuda("tma.cu")
def tensor_multicast(rng):
    x = rng.integers(-99, 99, (16, 32)).astype(f32)
    want = x.reshape(2, 1, 256) * np.arange(1, 5)[None, :, None]
    return Launch(8, 256, [TensorMap(x, "f32", (8, 32)), np.zeros((2, 4, 256), f32)], {1: want})


@cuda("tma.cu", {"steps": 2}, {"steps": 8})
def tensor_ring(rng, steps):
    x = rng.integers(-99, 99, (16, 32 * steps)).astype(f32)
    want = x.reshape(2, 8, steps, 32).sum(2).reshape(2, 256)
    return Launch(2, 160, [TensorMap(x, "f32", (8, 32)), np.zeros((2, 256), f32), steps], {1: want})


# ---- Waiting ---------------------------------------------------------------------------------------------------------


@cuda("sync.cu")
def voting_barriers(rng):
    x = rng.integers(-99, 99, (3, 96), dtype=i32)
    votes = [(x > 0).sum(1), (x > -90).all(1), (x > 95).any(1)]
    want = np.repeat(np.stack(votes, 1)[:, None, :], 96, 1)
    return Launch(3, 96, [x, np.zeros((3, 96, 3), i32)], {1: want})


@cuda("sync.cu", {"rounds": 1}, {"rounds": 6})
def named_barriers(rng, rounds):
    x = rng.integers(-99, 99, (rounds, 2, 32), dtype=i32)
    return Launch(1, 128, [x, np.zeros_like(x), rounds], {1: x[:, :, ::-1]})


def chain(rng, blocks=12):
    x = rng.integers(-99, 99, blocks, dtype=i32)
    return Launch(blocks, 32, [x, np.zeros(blocks, i32), np.zeros(blocks, u32)], {1: x.cumsum()})


for name in ("chain_of_blocks", "chain_with_fences", "atomic_wait"):
    cuda("sync.cu", entry=name)(chain)


@cuda("sync.cu")
def semaphore_and_latch(rng):
    x = rng.integers(-99, 99, 8, dtype=i32)
    return Launch(2, 256, [x, np.zeros(4, i32)], {1: [x.sum(), 1, x.sum(), 1]})


@cuda("sync.cu", {"parts": 2, "length": 100}, {"parts": 5, "length": 333})
def stream_k_sums(rng, parts, length, tiles=3):
    x = rng.standard_normal((tiles, parts, length)).astype(f32)
    blocks = tiles * parts
    return Launch(
        blocks,
        128,
        [x, np.zeros(blocks, f32), np.zeros(blocks, u32), np.zeros(tiles, f32), parts, length],
        {3: Close(x.sum((1, 2), f64), sum_bound(x, parts * length, (1, 2)))},
    )


@cuda("sync.cu")
def registers_and_clocks(rng):
    x = rng.integers(-99, 99, 384, dtype=i32)
    return Launch(1, 384, [x, np.zeros(384, i32)], {1: x + 2})


# ---- Memory ----------------------------------------------------------------------------------------------------------


@cuda("memory.cu")
def cache_operators(rng):
    n = 96
    x = rng.integers(-99, 99, (n, 4), dtype=i32)
    want = 6 * x
    want[:, :2] += x[:, :2]
    want[:, 2] += x.view(np.int8).reshape(-1)[::16]
    want[:, 3] += x.view(np.uint16).reshape(n, 8)[:, 1]
    return Launch(3, 32, [x, np.zeros_like(x)], {1: want})


@cuda("memory.cu")
def atomic_sums(rng):
    x = rng.integers(-3, 4, 128).astype(f32)
    total = x.sum()
    outs = [np.zeros(1, f32), np.zeros(1, f64), np.zeros(2, np.float16), np.zeros(2, np.uint16)]
    outs += [np.zeros(4, f32), np.zeros(1, np.float16)]
    return Launch(
        2,
        64,
        [x, *outs],
        {
            1: [total],
            2: [total],
            3: [total, 128],
            4: Bf16(np.array([total, 128])),
            5: [total, 128, 256, -total],
            6: [128],
        },
    )


@cuda("memory.cu")
def atomic_integers(rng):
    x = rng.integers(0, 2**32, 160, dtype=u32)
    y = np.array([5, 5, 2**32 - 1, 5, 0, 0, 2**32 - 1, 2**31], u32)
    z = np.array([1, 0, 0, 0, 1], np.uint64)
    wide = x.tolist()
    product = 1
    for value in wide:
        product = product * (value | 1) % 2**64
    ored, wants = 0, [1 + sum(wide) * 256, max(v * v for v in wide), -max(wide) % 2**64]
    for value in wide:
        ored |= 1 << (value & 63)
    down = 0
    for _ in wide:
        down = 9 if down == 0 or down > 9 else down - 1
    want_y = [
        (5 + sum(wide)) % 2**32,
        (5 - sum(wide)) % 2**32,
        np.bitwise_and.reduce(x | u32(255)),
        u32(5) ^ np.bitwise_xor.reduce(x),
        160 % 7,
        down,
        x.min(),
        int(x.view(i32).max()) % 2**32,
    ]
    # atomicMin_block is atomic only within a block: one block.
    return Launch(
        1,
        160,
        [x, y, z],
        {1: np.array(want_y, u32), 2: np.array([*wants, ored, product], np.uint64)},
    )


@cuda("memory.cu")
def atomic_pairs(rng):
    rounds, count = 3, 40
    low, high = 0, 0
    for _ in range(rounds * count):
        low, high = low + 1, high + low
    want = np.array([low, high], np.uint64)
    return Launch(4, 10, [np.zeros(2, np.uint64), rounds], {0: want})


@cuda("memory.cu")
def linked_list(rng):
    x = rng.integers(-99, 99, 96, dtype=i32)
    pool, head = np.zeros((96, 2), np.uint64), np.zeros(1, np.uint64)
    counters = [np.zeros(1, u32), np.zeros(1, i32), np.zeros(1, u32)]
    return Launch(3, 32, [x, pool, head, *counters], {4: [x.sum()], 3: [96], 5: [96]})


@cuda("memory.cu")
def generic_pointers(rng):
    x = rng.integers(-99, 99, 32, dtype=i32)
    sums = {0: x[:4].sum() * 10 + 1, 1: x[:4].sum() * 20 + 2}
    want = [sums.get(i % 3, 10 * np.roll(x, -i)[:4].sum() + 4) for i in range(32)]
    return Launch(1, 32, [x, np.zeros(32, i32)], {1: np.array(want, i32)})


# With debug sections, every variable in local memory and nothing optimised away.
recompiled(
    "--device-debug",
    "reduce_shuffle",
    "reduce_last_block",
    "scan_look_back",
    "matmul_tiled",
    "structs",
    "recursion",
    "virtual_calls",
    "local_arrays",
    "divergence",
    "wmma_f16",
    "pipeline_block",
    "cluster_ring",
    "tensor_ring",
)
recompiled("--generate-line-info", "reduce_tree", "recursion", "half_arithmetic", "pipeline_roles")
recompiled("--use_fast_math", "fast_math", "matmul_tiled")
