"""Python numbers as literals of MLIR: rounded once, to the element type that they are used with."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from girih.dtypes import DType

if TYPE_CHECKING:
    from girih.lang.context import Context

# Element type: bits of the exponent and of the mantissa, and whether it has infinities.
_FORMATS = {
    "f32": (8, 23, True),
    "bf16": (8, 7, True),
    "f16": (5, 10, True),
    "e5m2": (5, 2, True),
    "e4m3": (4, 3, False),
}


def float_bits(value: float, dtype: DType) -> int | None:
    """The bits of ``value`` rounded to nearest even, or None where a finite number overflows."""
    if dtype.bits == 64:
        return int.from_bytes(struct.pack("<d", value), "little")
    exponent_bits, mantissa_bits, has_infinity = _FORMATS[dtype.name]
    bias = (1 << exponent_bits - 1) - 1
    sign = (math.copysign(1.0, value) < 0) << dtype.bits - 1
    all_ones = (1 << exponent_bits + mantissa_bits) - 1
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    if math.isnan(value):
        return sign | (infinity | 1 << mantissa_bits - 1 if has_infinity else all_ones)
    if math.isinf(value):
        return sign | infinity if has_infinity else None
    # abs(value) = q * 2**(exponent - mantissa_bits), where q has a leading one unless it is subnormal.
    exponent = max(math.frexp(value)[1] - 1, 1 - bias) if value else 1 - bias
    q = round(math.ldexp(abs(value), mantissa_bits - exponent))  # Python rounds to even
    bits = (exponent + bias - 1 << mantissa_bits) + q
    return None if bits >= (infinity if has_infinity else all_ones) else sign | bits


def literal(cx: Context, value: int | float | bool, dtype: DType) -> str:
    """``value`` as MLIR spells it in a constant of ``dtype``, or the user's error where it does not fit."""
    if dtype.kind == "bool":
        return "true" if value else "false"
    if dtype.is_float:
        try:
            bits = float_bits(float(value), dtype)
        except OverflowError:
            bits = None
        if bits is None:
            cx.fail(
                f"the constant does not fit {dtype.name}",
                expected="a number below its largest one",
                found=repr(value),
            )
        # Hexadecimal bits are the only spelling of a float that MLIR reads back exactly.
        return f"0x{bits:0{dtype.bits // 4}X}"
    if isinstance(value, float):
        cx.fail(
            "an integer was expected",
            expected=dtype.name,
            found=repr(value),
            help="x.to(gr.f32) makes floats of the other side",
        )
    signed = dtype.kind == "int"
    low, high = (
        (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1)
        if signed
        else (0, (1 << dtype.bits) - 1)
    )
    if not low <= int(value) <= high:
        cx.fail(
            f"the constant does not fit {dtype.name}",
            expected=f"an integer from {low} to {high}",
            found=str(value),
        )
    return str(int(value))
