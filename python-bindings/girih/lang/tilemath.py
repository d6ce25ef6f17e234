"""Functions element by element that kernels call: ``gr.exp``, ``gr.where``, ``gr.minimum``, …"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from girih.dtypes import b1, f32
from girih.lang import elementwise
from girih.lang.builtin import Builtin, builtin
from girih.lang.casts import cast
from girih.lang.elementwise import FMAX, FMIN, MAXIMUM, MINIMUM
from girih.lang.values import Elements

if TYPE_CHECKING:
    from girih.lang.context import Context


def _rounded(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x))


# Name: the op on floats, what Python computes on constants, and what it is.
_FUNCTIONS: dict[str, tuple[str, Callable[[float], float], str]] = {
    "exp": ("math.exp", math.exp, "e to the power of x"),
    "exp2": ("math.exp2", lambda x: 2.0**x, "2 to the power of x"),
    "log": ("math.log", math.log, "The natural logarithm"),
    "log2": ("math.log2", math.log2, "The logarithm to base 2"),
    "sin": ("math.sin", math.sin, "The sine"),
    "cos": ("math.cos", math.cos, "The cosine"),
    "tanh": ("math.tanh", math.tanh, "The hyperbolic tangent"),
    "erf": ("math.erf", math.erf, "The error function"),
    "sqrt": ("math.sqrt", math.sqrt, "The square root"),
    "rsqrt": ("math.rsqrt", lambda x: 1.0 / math.sqrt(x), "1 / sqrt(x)"),
    "floor": ("math.floor", _rounded(math.floor), "The largest whole number that is at most x"),
    "ceil": ("math.ceil", _rounded(math.ceil), "The smallest whole number that is at least x"),
}


def on_floats(cx: Context, what: str, op: str, values: list[object]) -> Any:
    """``op`` on floats; those of 16 bits are computed in f32 and rounded once."""
    met = elementwise.meet(cx, what, values)
    dtype = met[0].dtype_
    if not dtype.is_float:
        cx.fail(f"{what} works on floats", found=met[0].describe(), help="x.to(gr.f32)")
    elementwise.check_arithmetic(cx, what, dtype)
    if dtype.bits == 16:
        return cast(cx, elementwise.emit(cx, op, [cast(cx, side, f32) for side in met]), dtype)
    return elementwise.emit(cx, op, met)


def _function(name: str) -> Builtin:
    op, on_constants, what = _FUNCTIONS[name]

    def emit(cx: Context, x: object) -> Any:
        if isinstance(x, (int, float)):
            return cx.visitor.constant_operation(on_constants, float(x))
        return on_floats(cx, f"gr.{name}", op, [x])

    emit.__name__ = name
    emit.__doc__ = f"{what}, element by element."
    return Builtin(f"gr.{name}", emit)


exp, exp2, log, log2 = (_function(name) for name in ("exp", "exp2", "log", "log2"))
sin, cos, tanh, erf = (_function(name) for name in ("sin", "cos", "tanh", "erf"))
sqrt, rsqrt, floor, ceil = (_function(name) for name in ("sqrt", "rsqrt", "floor", "ceil"))


@builtin("gr.sigmoid")
def sigmoid(cx: Context, x: object) -> Any:
    """1 / (1 + exp(-x)), element by element."""
    value = elementwise.operand(cx, x)
    if not isinstance(value, Elements):
        return cx.visitor.constant_operation(lambda v: 1.0 / (1.0 + math.exp(-v)), float(value))
    if not value.dtype_.is_float:
        cx.fail("gr.sigmoid works on floats", found=value.describe(), help="x.to(gr.f32)")
    wide = cast(cx, value, f32) if value.dtype_.bits < 32 else value
    grown = elementwise.emit(cx, "math.exp", [elementwise.negate(cx, wide)])
    result = elementwise.binary(cx, ast.Div(), 1.0, elementwise.binary(cx, ast.Add(), grown, 1.0))
    return cast(cx, result, value.dtype_)


def absolute(cx: Context, x: object) -> Any:
    """|x|, element by element."""
    value: Any = elementwise.operand(cx, x)
    if not isinstance(value, Elements):
        return abs(value)
    elementwise.check_arithmetic(cx, "gr.abs", value.dtype_)
    if value.dtype_.kind in ("uint", "bool"):
        return value
    return elementwise.emit(cx, "math.absf" if value.dtype_.is_float else "math.absi", [value])


abs_ = Builtin("gr.abs", absolute)


@builtin("gr.fma")
def fma(cx: Context, a: object, b: object, c: object) -> Any:
    """a * b + c of floats, rounded once."""
    return on_floats(cx, "gr.fma", "math.fma", [a, b, c])


@builtin("gr.where")
def where(cx: Context, condition: object, a: object, b: object) -> Any:
    """``a`` where the condition holds, else ``b``, element by element."""
    return choose(cx, condition, a, b)


def choose(cx: Context, condition: object, a: object, b: object) -> Any:
    """gr.where on anything that has elements."""
    chooser = elementwise.operand(cx, condition)
    if not isinstance(chooser, Elements):
        return a if chooser else b
    if chooser.dtype_ != b1:
        cx.fail(
            "gr.where takes a condition",
            expected="booleans",
            found=chooser.describe(),
            help="x != 0",
        )
    sides = [elementwise.operand(cx, side) for side in (a, b)]
    dtype = elementwise.common_type(cx, "gr.where", sides)
    typed: list[Any] = [
        cast(cx, side, dtype) if isinstance(side, Elements) else (side, dtype) for side in sides
    ]
    if chooser.shape_:
        return elementwise.select(cx, *elementwise.meet_shapes(cx, "gr.where", [chooser, *typed]))
    return elementwise.select(cx, chooser, *elementwise.meet_shapes(cx, "gr.where", typed))


def _extremum(name: str, ops: dict[str, str], doc: str) -> Builtin:
    def emit(cx: Context, a: object, b: object) -> Any:
        return elementwise.extremum(cx, f"gr.{name}", ops, [a, b])

    emit.__name__ = name
    emit.__doc__ = doc
    return Builtin(f"gr.{name}", emit)


minimum = _extremum(
    "minimum", MINIMUM, "The smaller one, element by element; NaN if one of them is NaN."
)
maximum = _extremum(
    "maximum", MAXIMUM, "The larger one, element by element; NaN if one of them is NaN."
)
fmin = _extremum("fmin", FMIN, "The smaller one, element by element; a number rather than NaN.")
fmax = _extremum("fmax", FMAX, "The larger one, element by element; a number rather than NaN.")
