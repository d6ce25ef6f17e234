"""What kernels tell the user while they run: ``gr.print`` and ``gr.assert_``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.dtypes import b1
from girih.lang import elementwise
from girih.lang.builder import quoted
from girih.lang.builtin import builtin
from girih.lang.values import Elements, Tile

if TYPE_CHECKING:
    from girih.lang.context import Context


@builtin("gr.print")
def print_(cx: Context, *values: object, where: object = None) -> None:
    """Prints scalars and tiles (and texts before them, as labels) when the kernel has run: all elements, or
    those where ``where`` holds."""
    cx.tile_level()
    label = ""
    if not any(not isinstance(value, str) for value in values):
        cx.fail(
            "gr.print shows numbers", expected="gr.print(x), or gr.print('x', x)", found="no number"
        )
    for number, value in enumerate(values):
        if isinstance(value, str):
            label = value
            continue
        read = elementwise.operand(cx, value)
        if not isinstance(read, Elements):
            read = elementwise.meet(cx, "gr.print", [read])[0]
        if isinstance(read, Tile):
            read = read.opened(cx)
        condition, condition_type = "", ""
        if where is not None:
            shown = elementwise.operand(cx, where)
            if not isinstance(shown, Elements):
                shown = elementwise.meet(cx, "gr.print", [bool(shown)])[0]
            if shown.dtype_ != b1 or (shown.shape_ and not read.shape_):
                cx.fail(
                    "where= is a condition",
                    expected="a b1 scalar, or a tile of b1 that broadcasts to what is printed",
                    found=shown.describe(),
                )
            if shown.shape_:
                read, shown = elementwise.meet_shapes(cx, "gr.print", [read, shown])
            condition, condition_type = f" where({shown.name})", f", {shown.mlir_type}"
        sign = " {wg.unsigned}" if read.dtype_.kind == "uint" else ""
        text = label or cx.argument_text(number)
        cx.builder.line(
            f"tile.print {quoted(text)} {read.name}{condition}{sign} : {read.mlir_type}{condition_type}"
        )
        label = ""


@builtin("gr.assert_")
def assert_(cx: Context, condition: object, message: str = "gr.assert_ failed") -> None:
    """The call raises DeviceError with ``message`` unless the condition holds, for every element of a tile.
    The kernel runs to its end all the same."""
    if not isinstance(message, str):
        cx.fail(
            "gr.assert_ takes a text", expected="a constant message", found=cx.describe(message)
        )
    read = elementwise.operand(cx, condition)
    if not isinstance(read, Elements):
        if not read:
            cx.fail(message, help="the condition is a constant: it never holds")
        return
    if read.dtype_ != b1:
        cx.fail("gr.assert_ takes a condition", expected="b1", found=read.describe(), help="x != 0")
    cx.tile_level()
    if isinstance(read, Tile):
        read = read.opened(cx)
    cx.builder.line(f"tile.assert {read.name}, {quoted(message)} : {read.mlir_type}")
