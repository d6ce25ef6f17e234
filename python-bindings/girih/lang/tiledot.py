"""Matrix products: ``gr.dot`` and what is made of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, f32, f64, i32
from girih.lang import elementwise
from girih.lang.builtin import builtin
from girih.lang.tileshapes import shape_text
from girih.lang.values import Tile, Value

if TYPE_CHECKING:
    from girih.lang.context import Context


def result_type(a: DType, b: DType) -> DType | None:
    """The type in which products of ``a`` and ``b`` are summed up, or None where there is no such product."""
    if a.is_float and b.is_float and a.bits == b.bits == 8:
        return f32
    if a.bits == b.bits == 8 and {a.kind, b.kind} <= {"int", "uint"}:
        return i32
    if a != b or not a.is_float:
        return None
    return f64 if a == f64 else f32


@builtin("gr.dot")
def dot(
    cx: Context, a: object, b: object, acc: object = None, precision: str | None = None
) -> Tile:
    """The matrix product ``a @ b``, plus ``acc`` if there is one. Products of f16, bf16 and floats of 8 bits are
    summed up in f32, of integers of 8 bits in i32. f32 operands are multiplied exactly, or with
    ``precision="tf32"`` on tensor cores."""
    return product(cx, "gr.dot", a, b, acc, precision)


def product(cx: Context, what: str, a: object, b: object, acc: object, precision: object) -> Tile:
    """tile.dot."""
    cx.tile_level()
    cx.product = cx.product or cx.places()[0]
    tiles = []
    for name, operand in (("a", a), ("b", b)):
        value = operand.read(cx) if isinstance(operand, Value) else operand
        if not isinstance(value, Tile) or len(value.shape_) != 2:
            cx.fail(
                f"operand {name} of {what} is no matrix",
                expected="a tile of two dimensions",
                found=cx.describe(value),
            )
        tiles.append(value.opened(cx))
    x, y = tiles
    if x.shape_[1] != y.shape_[0]:
        cx.fail(
            f"the operands of {what} disagree in K",
            expected=f"b of {x.shape_[1]} rows, as a has {x.shape_[1]} columns",
            found=f"a of {shape_text(x.shape_)}, b of {shape_text(y.shape_)}",
            help="b.T if b is stored transposed" if x.shape_[1] == y.shape_[1] else None,
        )
    dtype = result_type(x.dtype_, y.dtype_)
    if dtype is None:
        cx.fail(
            f"the operands of {what} cannot be multiplied",
            expected="two tiles of f16, bf16, f32 or f64; of e4m3 and e5m2; of i8 and u8",
            found=f"{x.dtype_.name} and {y.dtype_.name}",
            help="convert one: x.to(…)" if x.dtype_ != y.dtype_ else "x.to(gr.f32)",
        )
    if precision not in (None, "exact", "tf32"):
        cx.fail(
            "there is no such precision", expected="'exact' or 'tf32'", found=cx.describe(precision)
        )
    if precision == "tf32" and x.dtype_ != f32:
        cx.fail(
            "precision tf32 is for operands of f32", expected="tiles of f32", found=x.describe()
        )
    result = Tile("", (x.shape_[0], y.shape_[1]), dtype)
    names = f"{x.name}, {y.name}"
    if acc is not None:
        start = acc.read(cx) if isinstance(acc, Value) else acc
        if not isinstance(start, Tile) or start.shape_ != result.shape_ or start.dtype_ != dtype:
            cx.fail(
                f"the accumulator of {what} does not fit the product",
                expected=result.describe(),
                found=cx.describe(start),
                help=f"gr.zeros({result.shape_}, gr.{dtype.name})",
            )
        names += f", {start.opened(cx).name}"
    flags = [f"unsigned_{n}" for n, t in (("a", x), ("b", y)) if t.dtype_.kind == "uint"]
    how = " precision tf32" if precision == "tf32" else ""
    how += f" {{{', '.join(flags)}}}" if flags else ""
    result.name = cx.builder.op(
        f"tile.dot {names}{how} : {x.tensor_type}, {y.tensor_type} -> {result.tensor_type}"
    )
    return result


@builtin("gr.scaled_dot")
def scaled_dot(
    cx: Context, a: object, b: object, scale_a: object, scale_b: object, acc: object = None
) -> Any:
    """``acc + (a @ b) * scale_a * scale_b``: the product is an accumulation of its own, then scaled. A scale is
    a number, a tile that broadcasts to the product, or a tile of one dimension: one scale for each row of a,
    each column of b."""
    result: Any = product(cx, "gr.scaled_dot", a, b, None, None)
    for scale, row in ((scale_a, True), (scale_b, False)):
        value = elementwise.operand(cx, scale)
        if isinstance(value, Tile) and len(value.shape_) == 1 and row:
            value = value.item(cx, (slice(None), None))
        result = elementwise.binary(cx, ast.Mult(), result, value)
    return result if acc is None else elementwise.binary(cx, ast.Add(), acc, result)
