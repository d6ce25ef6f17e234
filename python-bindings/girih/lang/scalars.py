"""Arithmetic on numbers that are known only on the device, and the promotion of constants to them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import DType, b1, f32, i32
from girih.lang.values import Scalar

if TYPE_CHECKING:
    from girih.lang.context import Context

_ARITHMETIC: dict[type[ast.operator], tuple[str, str, str]] = {
    # Python operator: symbol, integer op, float op ("" where there is none)
    ast.Add: ("+", "arith.addi", "arith.addf"),
    ast.Sub: ("-", "arith.subi", "arith.subf"),
    ast.Mult: ("*", "arith.muli", "arith.mulf"),
    ast.Div: ("/", "", "arith.divf"),
    ast.FloorDiv: ("//", "arith.floordivsi", ""),
    ast.Mod: ("%", "mod", ""),
    ast.LShift: ("<<", "arith.shli", ""),
    ast.RShift: (">>", "arith.shrsi", ""),
    ast.BitAnd: ("&", "arith.andi", ""),
    ast.BitOr: ("|", "arith.ori", ""),
    ast.BitXor: ("^", "arith.xori", ""),
}
# Booleans compare as 0 and 1, as in Python: their one bit is no sign.
_COMPARE_B1 = {"slt": "ult", "sle": "ule", "sgt": "ugt", "sge": "uge"}
_COMPARE: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Eq: ("==", "eq", "oeq"),
    ast.NotEq: ("!=", "ne", "une"),
    ast.Lt: ("<", "slt", "olt"),
    ast.LtE: ("<=", "sle", "ole"),
    ast.Gt: (">", "sgt", "ogt"),
    ast.GtE: (">=", "sge", "oge"),
}


def operator_symbol(op: ast.operator) -> str:
    """How the user wrote it."""
    return _ARITHMETIC[type(op)][0] if type(op) in _ARITHMETIC else type(op).__name__


def float_op(op: ast.operator) -> str:
    """The arith op on floats (scalars and tiles alike), or ""."""
    return _ARITHMETIC[type(op)][2] if type(op) in _ARITHMETIC else ""


def to_scalar(cx: Context, value: object, dtype: DType | None = None) -> Scalar:
    """A constant or scalar as a scalar of ``dtype`` (default: i32 for int, b1 for bool, f32 for float).

    Python numbers are weak: they take the other operand's type.
    """
    if isinstance(value, Scalar):
        if dtype is not None and dtype.is_float and value.dtype.kind == "int":
            return Scalar(
                cx.builder.op(f"arith.sitofp {value.name} : {value.dtype.mlir} to {dtype.mlir}"),
                dtype,
            )
        if dtype is not None and value.dtype != dtype:
            cx.fail(
                "scalars of two types do not mix",
                expected=f"a scalar of {dtype.name}",
                found=value.describe(),
            )
        return value
    if isinstance(value, bool):
        target = dtype or b1
        if target == b1:
            return Scalar(cx.constant(value, b1), b1)
    if isinstance(value, int):
        target = dtype or i32
        if target.is_float:
            try:
                return Scalar(cx.constant(float(value), target), target)
            except OverflowError:
                cx.fail(f"the constant does not fit {target.name}")
        low, high = (
            (0, 1) if target == b1 else (-(1 << target.bits - 1), (1 << target.bits - 1) - 1)
        )
        if not low <= int(value) <= high:
            cx.fail(f"the constant does not fit {target.name}", found=str(value))
        return Scalar(cx.constant(int(value), target), target)
    if isinstance(value, float):
        target = dtype or f32
        if not target.is_float:
            cx.fail("an integer was expected", expected=target.name, found=repr(value))
        return Scalar(cx.constant(value, target), target)
    cx.fail("a number was expected", expected="an integer or a float", found=cx.describe(value))


def truth(cx: Context, value: object) -> Scalar:
    """Whether a number is true, as in Python: a b1 scalar that says if it is not 0."""
    if not isinstance(value, Scalar):
        return to_scalar(cx, bool(value), b1)
    return value if value.dtype == b1 else compare(cx, ast.NotEq(), value, 0)


def i32_name(cx: Context, value: object) -> str:
    """The SSA name of ``value`` as an i32."""
    return to_scalar(cx, value, i32).name


def common_type(left: object, right: object) -> DType:
    """The type in which two operands meet: a float wins over integers, Python numbers follow the scalar."""
    scalars = [side.dtype for side in (left, right) if isinstance(side, Scalar)]
    floats = [dtype for dtype in scalars if dtype.is_float]
    if floats:
        return floats[0]
    if isinstance(left, float) or isinstance(right, float):
        return f32
    return scalars[0] if scalars else i32


def binary(cx: Context, op: ast.operator, left: object, right: object) -> Scalar:
    """``left op right`` where at least one side is a scalar."""
    dtype = common_type(left, right)
    a, b = to_scalar(cx, left, dtype), to_scalar(cx, right, dtype)
    symbol, integer, floating = _ARITHMETIC.get(type(op), (type(op).__name__, "", ""))
    name = floating if dtype.is_float else integer
    if not name or dtype == b1 and name not in ("arith.andi", "arith.ori", "arith.xori"):
        cx.fail(f"'{symbol}' does not work on scalars of {dtype.name}")
    if name == "mod":
        # Python's modulo has the sign of the divisor; remsi has the sign of the dividend.
        type_, zero, op = dtype.mlir, cx.constant(0, dtype), cx.builder.op
        rest = op(f"arith.remsi {a.name}, {b.name} : {type_}")
        signs = op(f"arith.xori {rest}, {b.name} : {type_}")
        differ = op(f"arith.cmpi slt, {signs}, {zero} : {type_}")
        there = op(f"arith.cmpi ne, {rest}, {zero} : {type_}")
        moved = op(f"arith.addi {rest}, {b.name} : {type_}")
        wrong = op(f"arith.andi {differ}, {there} : i1")
        return Scalar(op(f"arith.select {wrong}, {moved}, {rest} : {type_}"), dtype)
    return Scalar(cx.builder.op(f"{name} {a.name}, {b.name} : {dtype.mlir}"), dtype)


def compare(cx: Context, op: ast.cmpop, left: object, right: object) -> Scalar:
    """``left op right`` as a b1 scalar."""
    if type(op) not in _COMPARE:
        cx.fail(
            f"'{type(op).__name__}' does not compare scalars", expected="==, !=, <, <=, > or >="
        )
    dtype = common_type(left, right)
    a, b = to_scalar(cx, left, dtype), to_scalar(cx, right, dtype)
    _, integer, floating = _COMPARE[type(op)]
    if dtype == b1:
        integer = _COMPARE_B1.get(integer, integer)
    name = f"arith.cmpf {floating}" if dtype.is_float else f"arith.cmpi {integer}"
    return Scalar(cx.builder.op(f"{name}, {a.name}, {b.name} : {dtype.mlir}"), b1)


def minmax(cx: Context, which: str, values: list[object]) -> Scalar:
    """``min`` or ``max`` of integers, at least one of them a scalar."""
    result = to_scalar(cx, values[0], i32)
    for value in values[1:]:
        other = to_scalar(cx, value, i32)
        result = Scalar(cx.builder.op(f"arith.{which}si {result.name}, {other.name} : i32"), i32)
    return result
