"""Elementwise arithmetic on finished tiles."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.lang.scalars import float_op, operator_symbol, to_scalar
from girih.lang.values import Chunk, Scalar, Tile

if TYPE_CHECKING:
    from girih.lang.context import Context


def _like(tile: Tile, name: str) -> Tile:
    result = Tile(name, tile.shape_, tile.dtype_, tile.layout)
    return Chunk(result, tile.column) if isinstance(tile, Chunk) else result


def _as_tile(cx: Context, value: object, like: Tile) -> str:
    """A scalar spread over a tile's shape."""
    scalar = to_scalar(cx, value, like.dtype_)
    return cx.builder.op(f"tensor.splat {scalar.name} : {like.tensor_type}")


def tile_binary(cx: Context, op: ast.operator, left: object, right: object) -> Tile:
    """``left op right`` where at least one side is a tile and the other a tile alike or a number."""
    tile = left if isinstance(left, Tile) else right
    assert isinstance(tile, Tile)
    name = float_op(op)
    if not name:
        cx.fail(
            f"'{operator_symbol(op)}' does not work on tiles of {tile.dtype_.name}",
            expected="+, -, * or /",
        )
    operands = []
    for side in (left, right):
        if isinstance(side, Tile):
            side.ready(cx)
            if side.tensor_type != tile.tensor_type:
                cx.fail("the tiles differ", expected=tile.describe(), found=side.describe())
            operands.append(side.name)
        elif isinstance(side, (int, float, Scalar)):
            operands.append(_as_tile(cx, side, tile))
        else:
            cx.fail("a tile or a number was expected", found=cx.describe(side))
    return _like(tile, cx.builder.op(f"{name} {operands[0]}, {operands[1]} : {tile.tensor_type}"))


def tile_negate(cx: Context, tile: Tile) -> Tile:
    """``-tile``."""
    tile.ready(cx)
    return _like(tile, cx.builder.op(f"arith.negf {tile.name} : {tile.tensor_type}"))
