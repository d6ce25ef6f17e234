"""Which type two operands meet in. docs/Language.md has this as a table; a test compares all pairs with it.

Python numbers are weak: they take the type of what they meet. A float wins over integers; floats of two
types, and integers of one width with and without a sign, do not mix; of two widths of integers the wider
wins; booleans count as 0 and 1. f64 appears only where someone wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from girih.dtypes import DType, b1, f32, i32

if TYPE_CHECKING:
    from girih.lang.context import Context


def pair(left: DType, right: DType) -> DType | None:
    """The common type of two types, or None where they need a cast."""
    if left == right:
        return left
    if left.is_float and right.is_float:
        return None
    for one, other in ((left, right), (right, left)):
        if one.is_float or other == b1:
            return one
    if left.bits == right.bits:
        return None
    return left if left.bits > right.bits else right


def with_number(dtype: DType, number: int | float | bool) -> DType:
    """The common type of a type and a Python number."""
    if isinstance(number, bool) or dtype.is_float:
        return dtype
    if isinstance(number, float):
        return f32
    return i32 if dtype == b1 else dtype


def of_number(number: int | float | bool) -> DType:
    """The type of a Python number that meets nothing."""
    if isinstance(number, bool):
        return b1
    return i32 if isinstance(number, int) else f32


def common(
    cx: Context, what: str, dtypes: Iterable[DType], numbers: Iterable[int | float | bool] = ()
) -> DType:
    """The type in which the operands of ``what`` meet, or the user's error."""
    result: DType | None = None
    for dtype in dtypes:
        met = dtype if result is None else pair(result, dtype)
        if met is None:
            assert result is not None
            floats = dtype.is_float
            cx.fail(
                f"{what} of {result.name} and {dtype.name} needs a cast",
                expected="one float type"
                if floats
                else "integers that both have a sign or both have none, or of two widths",
                found=f"{result.name} and {dtype.name}",
                help=f"convert one of them: x.to(gr.{max(dtype, result, key=lambda d: d.bits).name})",
            )
        result = met
    for number in numbers:
        result = of_number(number) if result is None else with_number(result, number)
    assert result is not None
    return result
