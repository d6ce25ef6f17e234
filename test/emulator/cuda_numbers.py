# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ arithmetic in every type, tensor cores included, against NumPy."""

import numpy as np

from cuda_registry import cuda, f32, f64, i32, u32
from programs import E4M3, E5M2, Bf16, Close, Launch, bf16_bits, dot_bound, round_bf16

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
