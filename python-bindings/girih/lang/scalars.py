"""Numbers that are known only on the device: constants that become one, and conditions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import DType, b1, i32
from girih.lang import promotion
from girih.lang.casts import cast
from girih.lang.elementwise import MAXIMUM, MINIMUM, compare, extremum, operand
from girih.lang.hostplan import host_extremum, host_op
from girih.lang.values import Scalar

if TYPE_CHECKING:
    from girih.lang.context import Context


def to_scalar(cx: Context, value: object, dtype: DType | None = None) -> Scalar:
    """A constant or scalar as a scalar of ``dtype`` (default: i32 for int, b1 for bool, f32 for float).

    Python numbers are weak: they take the other operand's type. Scalars convert where promotion would.
    """
    if isinstance(value, Scalar):
        if dtype is None or value.dtype_ == dtype:
            return value
        if promotion.pair(value.dtype_, dtype) != dtype:
            cx.fail(
                f"this needs a scalar of {dtype.name}",
                expected=f"a scalar of {dtype.name}",
                found=value.describe(),
                help=f"x.to(gr.{dtype.name})",
            )
        converted: Scalar = cast(cx, value, dtype)
        return converted
    if isinstance(value, (bool, int, float)):
        target = dtype or promotion.of_number(value)
        return Scalar(cx.constant(value, target), target)
    cx.fail("a number was expected", expected="an integer or a float", found=cx.describe(value))


def truth(cx: Context, value: object) -> Scalar:
    """Whether a number is true, as in Python: a b1 scalar that says if it is not 0."""
    if not isinstance(value, Scalar):
        return to_scalar(cx, bool(value), b1)
    return value if value.dtype_ == b1 else compare(cx, ast.NotEq(), value, 0)


def i32_name(cx: Context, value: object) -> str:
    """The SSA name of ``value`` as an i32."""
    return to_scalar(cx, value, i32).name


def minmax(cx: Context, which: str, values: list[object]) -> Scalar:
    """Python's ``min`` or ``max`` of numbers, at least one of them a scalar."""
    for value in values:
        if not isinstance(operand(cx, value), (Scalar, int, float)):
            cx.fail(
                f"{which}() compares numbers",
                expected="scalars",
                found=cx.describe(value),
                help=f"gr.{which}imum works element by element, gr.{which} along an axis",
            )
    result: Scalar = extremum(cx, f"{which}()", MINIMUM if which == "min" else MAXIMUM, values)
    result.host = host_extremum(which, values)
    return result


def ceil_div(cx: Context, a: object, b: object, *, at_entry: bool = False) -> Scalar:
    """``a / b`` rounded up, for non-negative integers; the host knows it where it knows both. ``at_entry``:
    computed at the kernel's entry, where both are known, once."""
    text = f"arith.ceildivsi {i32_name(cx, a)}, {i32_name(cx, b)} : i32"
    name = cx.hoisted(text, "count") if at_entry else cx.builder.op(text, "count")
    return Scalar(name, i32, host_op("arith.ceildivsi", a, b))
