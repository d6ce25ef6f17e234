# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binary floating-point arithmetic in exact rational numbers, rounded once by definition.

The reference for what the emulated device computes. It shares nothing with it: no host
floating-point operation takes part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    name: str
    exponent_bits: int
    mantissa_bits: int
    nan: int
    #: e4m3 has no infinity: the codes that would be infinite are numbers, but for the last.
    infinite: bool = True

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def precision(self) -> int:
        return self.mantissa_bits + 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def least_exponent(self) -> int:
        return 1 - self.bias

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def largest(self) -> int:
        """The code of the largest finite number."""
        return self.infinity - 1 if self.infinite else (1 << (self.width - 1)) - 2


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, 0x7FFFFFFFFFFFFFFF)
TF32 = Format("tf32", 8, 10, 0x3FFFF)
E4M3 = Format("e4m3", 4, 3, 0x7F, infinite=False)
E5M2 = Format("e5m2", 5, 2, 0x7F)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64, E4M3, E5M2)}


@dataclass(frozen=True)
class Number:
    """A decoded operand. `magnitude` is None for infinity; NaN has `nan` set."""

    negative: bool
    magnitude: Fraction | None = None
    nan: bool = False

    @property
    def infinite(self) -> bool:
        return self.magnitude is None and not self.nan

    @property
    def zero(self) -> bool:
        return self.magnitude == 0

    @property
    def value(self) -> Fraction:
        assert self.magnitude is not None
        return -self.magnitude if self.negative else self.magnitude


NAN = Number(False, nan=True)


def decode(f: Format, code: int) -> Number:
    code &= (1 << f.width) - 1
    negative = bool(code >> (f.width - 1))
    code &= (1 << (f.width - 1)) - 1
    if code > (f.infinity if f.infinite else f.largest):
        return Number(negative, nan=True)
    if f.infinite and code == f.infinity:
        return Number(negative)
    exponent, mantissa = code >> f.mantissa_bits, code & ((1 << f.mantissa_bits) - 1)
    if exponent:
        mantissa |= 1 << f.mantissa_bits
    else:
        exponent = 1
    return Number(negative, _scaled(mantissa, exponent - f.bias - f.mantissa_bits))


def _scaled(integer: int, exponent: int) -> Fraction:
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def round_to(
    magnitude: Fraction, negative: bool, precision: int, least: int | None, mode: str
) -> Fraction:
    """Rounds to `precision` bits, or fewer below 2**least."""
    if magnitude == 0:
        return magnitude
    numerator, denominator = magnitude.numerator, magnitude.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if magnitude < _scaled(1, exponent):
        exponent -= 1
    if least is not None:
        exponent = max(exponent, least)
    unit = exponent - precision + 1
    if unit >= 0:
        denominator <<= unit
    else:
        numerator <<= -unit
    whole, rest = divmod(numerator, denominator)
    twice = 2 * rest - denominator
    up = {
        "rn": twice > 0 or (twice == 0 and whole & 1),
        "rna": twice >= 0,
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    return _scaled(whole + bool(up), unit)


def encode(f: Format, x: Number, mode: str = "rn", satfinite: bool = False) -> int:
    sign = int(x.negative) << (f.width - 1)
    if x.nan:
        return f.nan
    if x.magnitude is None:
        return sign | (f.largest if satfinite or not f.infinite else f.infinity)
    rounded = round_to(x.magnitude, x.negative, f.precision, f.least_exponent, mode)
    top = decode(f, f.largest).magnitude
    assert top is not None
    if rounded > top:
        away = mode in ("rn", "rna") or mode == ("rm" if x.negative else "rp")
        code = f.infinity if away and f.infinite and not satfinite else f.largest
        return sign | code
    if rounded == 0:
        return sign
    exponent = rounded.numerator.bit_length() - rounded.denominator.bit_length()
    if rounded < _scaled(1, exponent):
        exponent -= 1
    exponent = max(exponent, f.least_exponent)
    mantissa = rounded / _scaled(1, exponent - f.mantissa_bits)
    assert mantissa.denominator == 1
    # The hidden bit adds one to the exponent field of a normal number.
    return sign | ((exponent + f.bias - 1) << f.mantissa_bits) + mantissa.numerator


def _sum(x: Number, y: Number, mode: str) -> Number:
    if x.nan or y.nan or (x.infinite and y.infinite and x.negative != y.negative):
        return NAN
    if x.infinite or y.infinite:
        return x if x.infinite else y
    total = x.value + y.value
    if total == 0:
        # Equal signs keep theirs; otherwise +0, and -0 when rounding down.
        return Number(x.negative if x.negative == y.negative else mode == "rm", Fraction(0))
    return Number(total < 0, abs(total))


def add(x: Number, y: Number, mode: str = "rn") -> Number:
    return _sum(x, y, mode)


def negate(x: Number) -> Number:
    return Number(not x.negative, x.magnitude, x.nan)


def mul(x: Number, y: Number) -> Number:
    if x.nan or y.nan or (x.infinite and y.zero) or (x.zero and y.infinite):
        return NAN
    negative = x.negative != y.negative
    if x.magnitude is None or y.magnitude is None:
        return Number(negative)
    return Number(negative, x.magnitude * y.magnitude)


def fma(x: Number, y: Number, z: Number, mode: str = "rn") -> Number:
    return NAN if z.nan else _sum(mul(x, y), z, mode)


def div(x: Number, y: Number) -> Number:
    if x.nan or y.nan or (x.infinite and y.infinite) or (x.zero and y.zero):
        return NAN
    negative = x.negative != y.negative
    if x.magnitude is None or y.zero:
        return Number(negative)
    if y.magnitude is None:
        return Number(negative, Fraction(0))
    return Number(negative, x.magnitude / y.magnitude)


def sqrt(x: Number) -> Number:
    """To 200 bits, an inexact result with its last bit odd: enough to round it correctly."""
    if x.nan or (x.negative and not x.zero):
        return NAN
    if x.magnitude is None or x.zero:
        return x
    n, d = x.magnitude.numerator, x.magnitude.denominator
    shift = 2 * max(0, 220 - n.bit_length() + d.bit_length())
    scaled, rest = divmod(n << shift, d)
    if shift % 4:
        scaled, rest = divmod(n << (shift + 2), d)
        shift += 2
    root = math.isqrt(scaled)
    exact = rest == 0 and root * root == scaled
    return Number(False, _scaled(2 * root + (not exact), -(shift // 2) - 1))
