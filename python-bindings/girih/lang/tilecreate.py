"""Tiles made from nothing, put together and taken apart: what kernels call as ``gr.zeros``, ``gr.arange``, …"""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, f32, i32
from girih.lang import elementwise, promotion, tileshapes
from girih.lang.builtin import Builtin, builtin
from girih.lang.places import coordinates
from girih.lang.scalars import to_scalar
from girih.lang.tileshapes import check_shape, shape_text
from girih.lang.values import Scalar, Tile, Value, filled

if TYPE_CHECKING:
    from girih.lang.context import Context


class _HostToo(Builtin):
    """A function of the kernel language that makes arrays when it is called outside kernels."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = importlib.import_module("girih.runtime.array")
        return getattr(module, self.name.removeprefix("gr."))(*args, **kwargs)


def _zeros(cx: Context, shape: object, dtype: object = f32) -> Tile:
    """A tile of zeros. Outside kernels: an array of zeros on the device."""
    return make_full(cx, "gr.zeros", shape, 0, dtype)


zeros = _HostToo("gr.zeros", _zeros)


@builtin("gr.full")
def full(cx: Context, shape: object, value: object, dtype: object = None) -> Tile:
    """A tile all of whose elements are ``value``, of the value's type or ``dtype``."""
    return make_full(cx, "gr.full", shape, value, dtype)


def make_full(cx: Context, what: str, shape: object, value: object, dtype: object) -> Tile:
    """A tile of one number."""
    cx.tile_level()
    extents = check_shape(cx, what, shape)
    if dtype is not None and not isinstance(dtype, DType):
        cx.fail(f"{what} takes an element type", expected="gr.f32, …", found=cx.describe(dtype))
    if isinstance(value, Scalar):
        number = to_scalar(cx, value, dtype)
        result = Tile("", extents, number.dtype_)
        result.name = cx.builder.op(f"tensor.splat {number.name} : {result.tensor_type}")
        return result
    if not isinstance(value, (bool, int, float)):
        cx.fail(f"{what} takes a number", expected="one number", found=cx.describe(value))
    result = Tile("", extents, dtype or promotion.of_number(value))
    result.name = filled(cx, result.tensor_type, value, result.dtype_)
    return result


@builtin("gr.arange")
def arange(cx: Context, start: object, stop: object = None) -> Tile:
    """The integers from ``start`` (0 without it) to ``stop`` as a tile of i32; their number is a constant."""
    cx.tile_level()
    if stop is None:
        start, stop = 0, start
    if type(start) is not int or type(stop) is not int or stop <= start:
        cx.fail(
            "gr.arange takes constants",
            expected="gr.arange(n), or gr.arange(start, stop) with start below stop",
            found=f"{cx.describe(start)} to {cx.describe(stop)}",
            help="x + gr.arange(n) begins at a number of the device",
        )
    result = Tile("", (stop - start,), i32)
    result.name = cx.builder.op(f"tile.iota dim(0) : {result.tensor_type}")
    return elementwise.binary(cx, ast.Add(), result, start) if start else result


@builtin("gr.coords")
def coords(cx: Context, tile: object) -> tuple[Tile, ...] | Tile:
    """Where each element of a tile of an array is: one tile of i32 for each dimension, which broadcast to its
    shape; for an array of one dimension that tile itself."""
    return coordinates(cx, tile)


@builtin("gr.broadcast_to")
def broadcast_to(cx: Context, x: object, shape: object) -> Tile:
    """A tile or number repeated to ``shape``."""
    cx.tile_level()
    extents = check_shape(cx, "gr.broadcast_to", shape)
    value = elementwise.operand(cx, x)
    if not isinstance(value, Tile):
        return make_full(cx, "gr.broadcast_to", shape, value, None)
    fits = len(value.shape_) <= len(extents) and all(
        extent in (1, wanted)
        for extent, wanted in zip(reversed(value.shape_), reversed(extents), strict=False)
    )
    if not fits:
        cx.fail(
            f"the tile does not broadcast to {shape_text(extents)}",
            expected="equal extents, or 1, from the last dimension on",
            found=value.describe(),
        )
    return tileshapes.broadcast(cx, value, extents)


@builtin("gr.join")
def join(cx: Context, first: object, second: object) -> Tile:
    """Two tiles as the two places of a new last dimension."""
    cx.tile_level()
    a, b = elementwise.meet(cx, "gr.join", [first, second])
    if not isinstance(a, Tile):
        cx.fail("gr.join takes tiles", found=a.describe())
    a, b = a.opened(cx), b.opened(cx)
    result = Tile("", (*a.shape_, 2), a.dtype_)
    result.name = cx.builder.op(
        f"tile.join {a.name}, {b.name} : {a.tensor_type} -> {result.tensor_type}"
    )
    return result


@builtin("gr.split")
def split(cx: Context, x: object) -> tuple[Tile, Tile]:
    """The two places of the last dimension, which has extent 2, as two tiles."""
    cx.tile_level()
    value = x.read(cx) if isinstance(x, Value) else x
    if not isinstance(value, Tile) or len(value.shape_) < 2 or value.shape_[-1] != 2:
        cx.fail(
            "gr.split takes the last dimension apart",
            expected="a tile whose last dimension, after another one, has extent 2",
            found=cx.describe(value),
            help="x.reshape(n, 2) pairs neighbours",
        )
    source = value.opened(cx)
    parts = [Tile(cx.builder.fresh("part"), source.shape_[:-1], source.dtype_) for _ in range(2)]
    cx.builder.line(
        f"{parts[0].name}, {parts[1].name} = tile.split {source.name} : {source.tensor_type} -> {parts[0].tensor_type}"
    )
    return parts[0], parts[1]
