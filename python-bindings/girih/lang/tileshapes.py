"""Tiles in other shapes: expand, broadcast, reshape, transpose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.values import Tile


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as messages write it."""
    return "x".join(map(str, shape)) if shape else "a scalar"


def count_of(number: int, one: str, more: str) -> str:
    """A number of things, as messages write it."""
    return f"{number} {one if number == 1 else more}"


def reshaped(cx: Context, op: str, tile: Tile, shape: tuple[int, ...], how: str = "") -> Tile:
    """``op`` on a tile, with a result of another shape."""
    source = tile.opened(cx)
    result = type(source)("", shape, tile.dtype_)
    result.name = cx.builder.op(
        f"{op} {source.name}{how} : {source.mlir_type} -> {result.mlir_type}"
    )
    return result


def check_shape(cx: Context, what: str, shape: object) -> tuple[int, ...]:
    """``shape`` as a tuple of extents, or the user's error."""
    if type(shape) is int:
        shape = (shape,)
    if not isinstance(shape, tuple) or not shape:
        cx.fail(f"{what} needs a shape", expected="a tuple of constants", found=cx.describe(shape))
    for extent in shape:
        if type(extent) is not int or extent < 1:
            cx.fail(
                "a tile's extent must be a positive constant",
                expected="a shape of constants, each at least 1",
                found=cx.describe(shape),
            )
    return shape


def check_axis(cx: Context, axis: object, rank: int) -> int:
    """``axis`` as a dimension of a tile of ``rank`` dimensions; negative ones count from the end."""
    if type(axis) is not int or not -rank <= axis < rank:
        cx.fail(
            "there is no such axis",
            expected=f"a constant from {-rank} to {rank - 1}: the tile has {rank} dimensions"
            if rank > 1
            else "0 or -1: the tile has one dimension",
            found=cx.describe(axis),
        )
    return axis % rank


def permutation(cx: Context, order: tuple[object, ...], rank: int) -> tuple[int, ...]:
    """``order`` as a permutation of ``rank`` dimensions, or the user's error."""
    if len(order) == 1 and isinstance(order[0], tuple):
        order = order[0]
    if any(type(dim) is not int for dim in order) or sorted(order) != list(range(rank)):  # type: ignore[type-var]
        cx.fail(
            "permute names every dimension once",
            expected=f"an order of {', '.join(map(str, range(rank)))}",
            found=cx.describe(order),
        )
    return order  # type: ignore[return-value]


def permute(cx: Context, tile: Tile, order: tuple[object, ...]) -> Tile:
    """Dimensions in another order."""
    dims = permutation(cx, order, len(tile.shape_))
    if dims == tuple(range(len(dims))):
        return tile
    shape = tuple(tile.shape_[dim] for dim in dims)
    return reshaped(cx, "tile.transpose", tile, shape, f" [{', '.join(map(str, dims))}]")


def transposed(cx: Context, tile: Tile) -> Tile:
    """Rows and columns exchanged."""
    if len(tile.shape_) != 2:
        cx.fail(
            "x.T exchanges rows and columns",
            expected="a tile of two dimensions",
            found=tile.describe(),
            help="x.permute(...) orders any number of dimensions",
        )
    return permute(cx, tile, (1, 0))


def reshape(cx: Context, tile: Tile, shape: tuple[object, ...]) -> Tile:
    """The same elements in another shape."""
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = shape[0]
    elements = math.prod(tile.shape_)
    if all(type(extent) is int for extent in shape) and shape.count(-1) == 1:
        known = -math.prod(shape)  # type: ignore[arg-type]
        if known > 0 and elements % known == 0:
            shape = tuple(elements // known if extent == -1 else extent for extent in shape)
    new = check_shape(cx, "x.reshape", shape)
    if math.prod(new) != elements:
        cx.fail(
            "reshape keeps the number of elements",
            expected=f"{elements} elements, as {tile.describe()} has",
            found=f"{math.prod(new)} in a shape of {shape_text(new)}",
        )
    return tile if new == tile.shape_ else reshaped(cx, "tile.reshape", tile, new)


def expand(cx: Context, tile: Tile, index: object) -> Tile:
    """``x[:, None]``: new dimensions of extent 1."""
    parts = list(index) if isinstance(index, tuple) else [index]
    whole = [part for part in parts if part == slice(None)]
    if any(part is not None and part != slice(None) for part in parts) or len(whole) > len(
        tile.shape_
    ):
        cx.fail(
            "a tile is indexed with : and None only",
            expected="x[:, None] or the like",
            found="another index",
            help="take a part of an array with a.block(...), combine elements with gr.sum or gr.reduce",
        )
    for dim, part in enumerate(parts):
        if part is None:
            shape = (*tile.shape_[:dim], 1, *tile.shape_[dim:])
            tile = reshaped(cx, "tile.expand", tile, shape, f" dim({dim})")
    return tile


def broadcast_shape(cx: Context, what: str, tiles: list[Tile]) -> tuple[int, ...]:
    """The shape in which tiles meet: missing leading dimensions and extents of 1 are repeated."""
    rank = max(len(tile.shape_) for tile in tiles)
    result = [1] * rank
    for tile in tiles:
        for dim, extent in enumerate(tile.shape_, rank - len(tile.shape_)):
            if extent not in (1, result[dim]) and result[dim] != 1:
                others = " and ".join(shape_text(other.shape_) for other in tiles)
                help = (
                    "x.reshape(...), x[:, None] and gr.broadcast_to(x, shape) give it another shape"
                )
                lacking = min(tiles, key=lambda other: len(other.shape_))
                if len(lacking.shape_) == rank - 1 and lacking.shape_[0] in (
                    other.shape_[0] for other in tiles if len(other.shape_) == rank
                ):
                    help = "x[:, None] makes a column of a tile of one dimension"
                cx.fail(
                    f"the shapes of {what} do not fit",
                    expected="equal extents, or 1, from the last dimension on",
                    found=others,
                    help=help,
                )
            result[dim] = max(result[dim], extent)
    return tuple(result)


def broadcast(cx: Context, tile: Tile, shape: tuple[int, ...]) -> Tile:
    """A tile repeated to ``shape``, which it fits."""
    if tile.shape_ == shape:
        return tile
    tile = tile.opened(cx)
    while len(tile.shape_) < len(shape):
        tile = reshaped(cx, "tile.expand", tile, (1, *tile.shape_), " dim(0)")
    return tile if tile.shape_ == shape else reshaped(cx, "tile.broadcast", tile, shape)
