"""Reductions and scans along an axis: ``gr.sum``, ``gr.argmax``, ``gr.reduce``, ``gr.cumsum``, …"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, f32, i32, u32
from girih.lang import elementwise
from girih.lang.builtin import builtin
from girih.lang.casts import cast
from girih.lang.constants import literal
from girih.lang.elementwise import MAXIMUM, MINIMUM
from girih.lang.tilemath import choose
from girih.lang.tileshapes import check_axis, expand, shape_text
from girih.lang.values import Scalar, Tile, Value

if TYPE_CHECKING:
    from girih.lang.context import Context

Combiner = Callable[[list[Scalar], list[Scalar]], list[Scalar]]


def accumulator_type(dtype: DType) -> DType:
    """The type in which a sum of many elements is formed."""
    if dtype.is_float:
        return f32 if dtype.bits < 32 else dtype
    if dtype.bits >= 32:
        return dtype
    return u32 if dtype.kind == "uint" else i32


def _tile(cx: Context, what: str, x: object) -> Tile:
    value = x.read(cx) if isinstance(x, Value) else x
    if not isinstance(value, Tile):
        cx.fail(f"{what} works along an axis of a tile", expected="a tile", found=cx.describe(x))
    return value.opened(cx)


def _combining(
    cx: Context,
    op: str,
    tiles: list[Tile],
    axis: int,
    how: str,
    shape: tuple[int, ...],
    combine: Combiner,
) -> list[Any]:
    """tile.reduce or tile.scan with the combiner's code in its region."""
    builder = cx.builder
    dtypes = [tile.dtype_ for tile in tiles]
    results: list[Any] = []
    for dtype in dtypes:
        name = builder.fresh(op)
        results.append(Tile(name, shape, dtype) if shape else Scalar(name, dtype))
    left = [Scalar(builder.fresh("a"), dtype) for dtype in dtypes]
    right = [Scalar(builder.fresh("b"), dtype) for dtype in dtypes]
    names = ", ".join(tile.name for tile in tiles)
    types = ", ".join(tile.tensor_type for tile in tiles)
    made = ", ".join(result.mlir_type for result in results)
    made = f"({made})" if len(results) > 1 else made
    head = f"{', '.join(result.name for result in results)} = tile.{op} {names} dim({axis}){how} : {types} -> {made}"
    with builder.region(head), cx.visitor.device_control_flow():
        arguments = ", ".join(f"{side.name}: {side.mlir_type}" for side in left + right)
        builder.block.lines.append(f"^bb0({arguments}):")
        combined = combine(left, right)
        values = ", ".join(value.name for value in combined)
        builder.line(f"tile.yield {values} : {', '.join(dtype.mlir for dtype in dtypes)}")
    return results


def reduce_tiles(
    cx: Context,
    tiles: list[Tile],
    axis: object,
    keepdims: object,
    combine: Combiner,
    how: str = "",
) -> list[Any]:
    """The tiles combined along an axis, or along all of them one after another."""
    cx.tile_level()
    if type(keepdims) is not bool:
        cx.fail("keepdims is True or False", found=cx.describe(keepdims))
    rank = len(tiles[0].shape_)
    axes = range(rank) if axis is None else [check_axis(cx, axis, rank)]
    results: list[Any] = tiles
    for dim in reversed(axes):
        shape = results[0].shape_
        results = _combining(
            cx, "reduce", results, dim, how, shape[:dim] + shape[dim + 1 :], combine
        )
    if not keepdims:
        return results
    if axis is None or rank == 1:
        cx.fail(
            "keepdims needs an axis that others are left beside",
            expected="axis=… of a tile of at least two dimensions",
            found=f"{tiles[0].describe()}, axis={axis}",
        )
    index = tuple(None if dim == axes[0] else slice(None) for dim in range(rank))
    return [expand(cx, result, index) for result in results]


def _one_op(cx: Context, op: str) -> Combiner:
    return lambda a, b: [elementwise.emit(cx, op, [a[0], b[0]])]


@builtin("gr.sum")
def sum_(cx: Context, x: object, axis: int | None = None, keepdims: bool = False) -> Any:
    """The sum along an axis, or of all elements. Floats of 16 bits are added up in f32 and rounded once;
    integers narrower than 32 bits, and booleans, give i32 or u32."""
    tile = _tile(cx, "gr.sum", x)
    elementwise.check_arithmetic(cx, "gr.sum", tile.dtype_)
    wide = accumulator_type(tile.dtype_)
    op = "arith.addf" if wide.is_float else "arith.addi"
    source: Any = cast(cx, tile, wide)
    (result,) = reduce_tiles(cx, [source], axis, keepdims, _one_op(cx, op))
    return cast(cx, result, tile.dtype_) if wide.is_float else result


def _extreme(cx: Context, what: str, ops: dict[str, str], x: object, axis: Any, keep: Any) -> Any:
    tile = _tile(cx, what, x)
    elementwise.check_arithmetic(cx, what, tile.dtype_)
    return reduce_tiles(cx, [tile], axis, keep, _one_op(cx, ops[tile.dtype_.kind]))[0]


@builtin("gr.max")
def max_(cx: Context, x: object, axis: int | None = None, keepdims: bool = False) -> Any:
    """The largest element along an axis, or of all; NaN if one of them is NaN."""
    return _extreme(cx, "gr.max", MAXIMUM, x, axis, keepdims)


@builtin("gr.min")
def min_(cx: Context, x: object, axis: int | None = None, keepdims: bool = False) -> Any:
    """The smallest element along an axis, or of all; NaN if one of them is NaN."""
    return _extreme(cx, "gr.min", MINIMUM, x, axis, keepdims)


def _arg_extreme(cx: Context, what: str, better: ast.cmpop, x: object, axis: object) -> Any:
    """The index of the first best element; NaN is better than any number, as in NumPy."""
    tile = _tile(cx, what, x)
    dim = check_axis(cx, axis, len(tile.shape_))
    places = Tile("", tile.shape_, i32)
    places.name = cx.builder.op(f"tile.iota dim({dim}) : {places.tensor_type}")

    def compare(op: ast.cmpop, left: Any, right: Any) -> Any:
        return elementwise.compare(cx, op, left, right)

    def both(left: Any, right: Any) -> Any:
        return elementwise.binary(cx, ast.BitAnd(), left, right)

    def either(left: Any, right: Any) -> Any:
        return elementwise.binary(cx, ast.BitOr(), left, right)

    def combine(left: list[Scalar], right: list[Scalar]) -> list[Scalar]:
        (a, i), (b, j) = left, right
        wins, ties = compare(better, a, b), compare(ast.Eq(), a, b)
        if a.dtype_.is_float:
            a_nan, b_nan = compare(ast.NotEq(), a, a), compare(ast.NotEq(), b, b)
            wins = either(wins, both(a_nan, elementwise.invert(cx, b_nan)))
            ties = either(ties, both(a_nan, b_nan))
        first = either(wins, both(ties, compare(ast.Lt(), i, j)))
        return [choose(cx, first, a, b), choose(cx, first, i, j)]

    worst = _worst(cx, better, tile.dtype_)
    neutral = (
        f" {{tile.neutral = [{worst} : {tile.dtype_.mlir}, 0x7FFFFFFF : i32]}}" if worst else ""
    )
    return reduce_tiles(cx, [tile, places], axis, False, combine, neutral)[1]


def _worst(cx: Context, better: ast.cmpop, dtype: DType) -> str | None:
    """What no element is worse than, if the type has it."""
    high = isinstance(better, ast.Lt)
    if dtype.is_float:
        return (
            literal(cx, float("inf") if high else float("-inf"), dtype) if dtype.bits > 8 else None
        )
    bits = dtype.bits - (dtype.kind == "int")
    low = -(2**bits) if dtype.kind == "int" else 0
    return literal(cx, 2**bits - 1 if high else low, dtype)


@builtin("gr.argmax")
def argmax(cx: Context, x: object, axis: int) -> Any:
    """The index (i32) of the largest element along an axis, of the first if there are several; NaN counts as
    larger than any number."""
    return _arg_extreme(cx, "gr.argmax", ast.Gt(), x, axis)


@builtin("gr.argmin")
def argmin(cx: Context, x: object, axis: int) -> Any:
    """The index (i32) of the smallest element along an axis, of the first if there are several; NaN counts as
    smaller than any number."""
    return _arg_extreme(cx, "gr.argmin", ast.Lt(), x, axis)


def _user_combiner(cx: Context, what: str, function: object, dtypes: list[DType]) -> Combiner:
    def combine(left: list[Scalar], right: list[Scalar]) -> list[Scalar]:
        sides = (left[0], right[0]) if len(dtypes) == 1 else (tuple(left), tuple(right))
        value = cx.visitor.call(function, list(sides), {})
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != len(dtypes):
            cx.fail(
                f"the function of {what} combines two partial results into one",
                expected=f"{len(dtypes)} values",
                found=cx.describe(value),
            )
        results = []
        for item, dtype in zip(values, dtypes, strict=True):
            if not isinstance(item, Scalar) or item.dtype_ != dtype:
                cx.fail(
                    f"the function of {what} gives another type than it takes",
                    expected=f"a scalar of {dtype.name}",
                    found=cx.describe(item),
                )
            results.append(item)
        return results

    return combine


def _tiles(cx: Context, what: str, x: object) -> list[Tile]:
    tiles = [_tile(cx, what, item) for item in (x if isinstance(x, tuple) else (x,))]
    for tile in tiles:
        if tile.shape_ != tiles[0].shape_:
            cx.fail(
                f"the tiles of {what} are combined together",
                expected=f"tiles of {shape_text(tiles[0].shape_)}",
                found=tile.describe(),
            )
    if not tiles:
        cx.fail(f"{what} needs a tile", found="()")
    return tiles


@builtin("gr.reduce")
def reduce(
    cx: Context, x: object, axis: int | None, function: object, keepdims: bool = False
) -> Any:
    """The elements along an axis (None: all) combined by ``function(a, b)``, which must be associative and
    commutative. ``x`` may be a tuple of tiles: then a, b and the result are tuples."""
    tiles = _tiles(cx, "gr.reduce", x)
    combine = _user_combiner(cx, "gr.reduce", function, [tile.dtype_ for tile in tiles])
    results = reduce_tiles(cx, tiles, axis, keepdims, combine)
    return tuple(results) if isinstance(x, tuple) else results[0]


def scan_tiles(
    cx: Context, tiles: list[Tile], axis: object, reverse: object, combine: Combiner
) -> list[Any]:
    """Every partial result of combining along an axis."""
    cx.tile_level()
    if type(reverse) is not bool:
        cx.fail("reverse is True or False", found=cx.describe(reverse))
    dim = check_axis(cx, axis, len(tiles[0].shape_))
    how = " reverse" if reverse else ""
    return _combining(cx, "scan", tiles, dim, how, tiles[0].shape_, combine)


@builtin("gr.scan")
def scan(cx: Context, x: object, axis: int, function: object, reverse: bool = False) -> Any:
    """Element i is elements 0 to i (with ``reverse`` i to the last) combined by ``function(a, b)``, which must
    be associative."""
    tiles = _tiles(cx, "gr.scan", x)
    combine = _user_combiner(cx, "gr.scan", function, [tile.dtype_ for tile in tiles])
    results = scan_tiles(cx, tiles, axis, reverse, combine)
    return tuple(results) if isinstance(x, tuple) else results[0]


@builtin("gr.cumsum")
def cumsum(cx: Context, x: object, axis: int, reverse: bool = False) -> Any:
    """The running sum along an axis; types as those of ``gr.sum``."""
    tile = _tile(cx, "gr.cumsum", x)
    elementwise.check_arithmetic(cx, "gr.cumsum", tile.dtype_)
    wide = accumulator_type(tile.dtype_)
    op = "arith.addf" if wide.is_float else "arith.addi"
    source: Any = cast(cx, tile, wide)
    (result,) = scan_tiles(cx, [source], axis, reverse, _one_op(cx, op))
    return cast(cx, result, tile.dtype_) if wide.is_float else result
