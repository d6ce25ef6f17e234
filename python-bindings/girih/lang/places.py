"""Places in global memory that hold a tile: loaded where they are read, stored to where they are assigned."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import DType, i32
from girih.lang import elementwise, tileshapes
from girih.lang.scalars import ceil_div, i32_name, to_scalar
from girih.lang.tileshapes import count_of, shape_text
from girih.lang.values import Chunk, Scalar, Tile, Value, attribute, method

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.views import View


class Tiles(Value):
    """An array seen as a grid of tiles: ``A[i, j]`` is a tile, ``A.count`` how many there are."""

    def __init__(self, array: View, tile: tuple[int, ...], fill: object = None) -> None:
        self.array = array
        self.tile = tile
        self.fill = fill

    def describe(self) -> str:
        return f"tiles of {shape_text(self.tile)} of {self.array.describe()}"

    def counts(self, cx: Context) -> tuple[Scalar, ...]:
        """The number of tiles along each dimension."""
        return tuple(
            ceil_div(cx, self.array.extent_of(cx, dim), extent, at_entry=self.array.at_entry)
            for dim, extent in enumerate(self.tile)
        )

    def matrix(self, cx: Context) -> tuple[int, int]:
        """The extents of a tile's matrix, as the wg level takes them: its last two; others are 1."""
        if len(self.tile) < 2 or any(extent != 1 for extent in self.tile[:-2]):
            cx.fail(
                "TMA and wgmma take matrices here",
                expected="tiles of two dimensions, of more with extents of 1 before the last two",
                found=self.describe(),
            )
        return self.tile[-2], self.tile[-1]

    @attribute
    def count(self, cx: Context) -> tuple[Scalar, ...]:
        """The number of tiles along each dimension."""
        return self.counts(cx)

    def item(self, cx: Context, index: object) -> TileRef:
        """``tiles[i, j]``."""
        parts = index if isinstance(index, tuple) else (index,)
        rank = len(self.tile)
        if len(parts) != rank:
            cx.fail(
                f"tiles of {self.array.label} take one index per dimension",
                expected="two indices, as in tiles[i, j]"
                if rank == 2
                else count_of(rank, "index", "indices"),
                found=cx.describe(index),
            )
        for part in parts:
            if type(part) is not int and not isinstance(part, Scalar):
                cx.fail(
                    "tiles are counted",
                    expected="an integer for each dimension",
                    found=cx.describe(part),
                    help="a.block(index, shape) begins at any element",
                )
        return TileRef(self, parts)

    def set_item(self, cx: Context, index: object, value: object) -> None:
        """``tiles[i, j] = x``."""
        self.item(cx, index).put(cx, value)


class Place(Value):
    """A tile in global memory."""

    array: View
    shape_: tuple[int, ...]
    fill: object
    ids: tuple[int, Tile] | None = None

    def element(self, cx: Context) -> tuple[str, ...]:
        """The element coordinates of its first element (i32 names)."""
        raise TypeError(f"{type(self).__name__} has no coordinates")

    def read(self, cx: Context) -> Tile:
        return self.get(cx)

    def get(self, cx: Context) -> Tile:
        """Emits the load."""
        view = self.array
        view.check_read(cx)
        cx.tile_level()
        result = Tile("", self.shape_, view.dtype_, place=self)
        fill, fill_type = "", ""
        if self.fill is not None:
            value = self.fill.read(cx) if isinstance(self.fill, Value) else self.fill
            scalar = to_scalar(cx, value, view.dtype_)
            fill, fill_type = f" fill({scalar.name})", f", {view.dtype_.mlir}"
        where = f"{view.view_name(cx)}[{', '.join(self.element(cx))}]"
        if self.ids is None:
            op = f"tile.load {where}{fill} : {view.view_type}{fill_type}"
        else:
            dim, ids = self.ids
            op = f"tile.take {where} at({ids.name}) dim({dim}){fill} : {view.view_type}, {ids.tensor_type}{fill_type}"
        result.name = cx.builder.op(f"{op} -> {result.tensor_type}")
        return result

    def put(self, cx: Context, value: object) -> None:
        """Emits the store."""
        view = self.array
        view.check_write(cx)
        cx.tile_level()
        tile = elementwise.operand(cx, value)
        if not isinstance(tile, Tile):
            number = to_scalar(cx, tile, view.dtype_)
            spread = Tile("", self.shape_, view.dtype_)
            spread.name = cx.builder.op(f"tensor.splat {number.name} : {spread.tensor_type}")
            tile = spread
        if tile.dtype_ != view.dtype_:
            cx.fail(
                f"{view.label} holds elements of {view.dtype_.name}",
                expected=f"a tile of {view.dtype_.name}",
                found=tile.describe(),
                help=f"convert first: x.to({view.label}.dtype)",
            )
        if tile.shape_ != self.shape_:
            cx.fail(
                "the tile does not fit the place where it is stored",
                expected=f"a tile of {shape_text(self.shape_)}",
                found=tile.describe(),
                help="gr.broadcast_to(x, shape) or x.reshape(...) gives it that shape",
            )
        where = f"{view.view_name(cx)}[{', '.join(self.element(cx))}]"
        if self.ids is None:
            cx.builder.line(
                f"tile.store {tile.name}, {where} : {tile.tensor_type}, {view.view_type}"
            )
        else:
            dim, ids = self.ids
            cx.builder.line(
                f"tile.put {tile.name}, {where} at({ids.name}) dim({dim}) : {tile.tensor_type}, {view.view_type}, {ids.tensor_type}"
            )

    def item(self, cx: Context, index: object) -> Tile:
        """``place[:, None]``: of the loaded tile."""
        return tileshapes.expand(cx, self.get(cx), index)

    @method
    def load(self, cx: Context) -> Tile:
        """The tile that is there now."""
        return self.get(cx)

    @method
    def store(self, cx: Context, value: object) -> None:
        """Writes a tile, or one number everywhere."""
        self.put(cx, value)

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.array.dtype_

    @attribute
    def shape(self, cx: Context) -> tuple[int, ...]:
        """The extents of the tile."""
        return self.shape_


class TileRef(Place):
    """One of the tiles of an array."""

    def __init__(
        self,
        tiles: Tiles,
        index: tuple[object, ...],
        column: int = 0,
        columns: int | None = None,
    ) -> None:
        self.tiles = tiles
        self.array = tiles.array
        self.fill = tiles.fill
        self.index = index
        self.column = column
        self.columns = columns
        self.shape_ = tiles.tile if columns is None else (*tiles.tile[:-1], columns)

    def describe(self) -> str:
        return f"a tile of {shape_text(self.shape_)} of {self.array.describe()}"

    def element(self, cx: Context) -> tuple[str, ...]:
        coordinates = []
        for index, extent in zip(self.index, self.tiles.tile, strict=True):
            if type(index) is int:
                coordinates.append(i32_name(cx, index * extent))
            elif extent == 1:
                coordinates.append(i32_name(cx, index))
            else:
                size = cx.constant(extent, i32)
                coordinates.append(cx.builder.op(f"arith.muli {i32_name(cx, index)}, {size} : i32"))
        if self.column:
            offset = cx.constant(self.column, i32)
            coordinates[-1] = cx.builder.op(f"arith.addi {coordinates[-1]}, {offset} : i32")
        return tuple(coordinates)

    @method
    def at(self, cx: Context, chunk: Chunk) -> TileRef:
        """The part of the tile where ``chunk`` belongs."""
        if not isinstance(chunk, Chunk):
            cx.fail(
                "tile.at() takes a chunk",
                expected="what tile.chunks(...) yields",
                found=cx.describe(chunk),
            )
        rows, columns = chunk.shape_
        tile_rows, tile_columns = self.tiles.matrix(cx)
        if rows != tile_rows or chunk.column + columns > tile_columns:
            cx.fail(
                "the chunk does not fit the tile",
                expected=f"a chunk of {tile_rows} rows inside {tile_columns} columns",
                found=f"{rows}x{columns} at column {chunk.column}",
            )
        return TileRef(self.tiles, self.index, chunk.column, columns)


class Block(Place):
    """A tile that begins at any element; along one dimension its places may be listed."""

    def __init__(
        self,
        cx: Context,
        array: View,
        index: tuple[object, ...],
        shape: tuple[int, ...],
        fill: object,
    ) -> None:
        self.array = array
        self.shape_ = shape
        self.fill = fill
        self.start: list[object] = []
        for dim, part in enumerate(index):
            if isinstance(part, (Tile, Place)):
                self.ids = self._check_ids(cx, part.read(cx), dim)
                part = 0
            elif type(part) is not int and not isinstance(part, Scalar):
                cx.fail(
                    "a block begins at an element",
                    expected="an integer for each dimension, or a tile of i32 for one of them",
                    found=cx.describe(part),
                )
            self.start.append(part)

    def _check_ids(self, cx: Context, ids: Tile, dim: int) -> tuple[int, Tile]:
        if self.ids is not None:
            cx.fail(
                "the places of a block are listed along one dimension",
                expected="integers for the others",
                found="a second tile",
                help="gr.gather takes elements from places of their own",
            )
        ids = ids.opened(cx)
        if ids.shape_ != (self.shape_[dim],) or ids.dtype_ != i32:
            cx.fail(
                f"the places along dimension {dim} do not fit the block",
                expected=f"a tile of {self.shape_[dim]} i32",
                found=ids.describe(),
            )
        return dim, ids

    def describe(self) -> str:
        return f"a block of {shape_text(self.shape_)} of {self.array.describe()}"

    def element(self, cx: Context) -> tuple[str, ...]:
        return tuple(i32_name(cx, part) for part in self.start)


def coordinates(cx: Context, value: object) -> tuple[Tile, ...] | Tile:
    """Where each element of a tile in global memory is: tiles that broadcast to its shape, one per dimension."""
    place = value.place if isinstance(value, Tile) else value
    if not isinstance(place, Place):
        cx.fail(
            "gr.coords tells where a tile is in its array",
            expected="A[i, j], a.block(...), or what was loaded from them",
            found=cx.describe(value),
            help="gr.arange(n) counts the elements of a tile",
        )
    cx.tile_level()
    result = []
    rank = len(place.shape_)
    for dim, start in enumerate(place.element(cx)):
        shape = tuple(extent if other == dim else 1 for other, extent in enumerate(place.shape_))
        if place.ids is not None and place.ids[0] == dim:
            result.append(tileshapes.reshape(cx, place.ids[1], shape))
            continue
        count = Tile("", shape, i32)
        count.name = cx.builder.op(f"tile.iota dim({dim}) : {count.tensor_type}")
        result.append(elementwise.binary(cx, ast.Add(), count, Scalar(start, i32)))
    return result[0] if rank == 1 else tuple(result)
