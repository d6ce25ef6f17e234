"""Kernel parameters that are arrays in global memory, cut into tiles that TMA moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.dtypes import DType, i32
from girih.lang.builder import symbol
from girih.lang.scalars import i32_name
from girih.lang.values import Chunk, Scalar, Value, attribute, method

if TYPE_CHECKING:
    from girih.lang.context import Context

# The tensor map's limit on each box dimension (CUDA driver API, cuTensorMapEncodeTiled).
MAX_BOX = 256


def buffer_type(shape: tuple[int, int], dtype: DType, order: tuple[int, int], swizzle: int) -> str:
    """The MLIR type of a shared-memory buffer."""
    return f"!wg.buffer<{shape[0]}x{shape[1]}x{dtype.mlir}{_order(order)}, swizzle = {swizzle}>"


def _order(order: tuple[int, int]) -> str:
    return "" if order == (1, 0) else f", order = [{order[0]}, {order[1]}]"


def swizzle_span(extent: int, dtype: DType) -> int:
    """The widest swizzle span in bytes that a contiguous extent fills without a rest, or 0."""
    return next((span for span in (128, 64, 32) if extent * dtype.bytes % span == 0), 0)


class ArrayParameter(Value):
    """A parameter of the kernel.

    ``dims`` are the dimensions' names; those without one are called after the array, as in ``a.0``, which
    is no identifier. ``contiguous`` is the dimension with stride 1, or -1; ``aligned`` says that the first
    element's address and all other strides are multiples of 16 bytes.
    """

    def __init__(
        self,
        name: str,
        dtype: DType,
        dims: tuple[str, ...],
        access: str,
        *,
        contiguous: int,
        aligned: bool,
    ) -> None:
        self.name = name
        self.dtype_ = dtype
        self.dims = dims
        self.access = access
        self.contiguous = contiguous
        self.aligned = aligned

    def describe(self) -> str:
        names = ("_" if "." in name else name for name in self.dims)
        return f"array {self.name} of {self.dtype_.name} [{', '.join(names)}]"

    @property
    def plan_type(self) -> str:
        """Its type in the host plan."""
        promises = f", contiguous = {self.contiguous}" if self.contiguous >= 0 else ""
        promises += ", aligned" if self.aligned else ""
        return f"!plan.array<{self.dtype_.plan}, rank = {len(self.dims)}{promises}, {self.access}>"

    def tma_order(self, cx: Context) -> tuple[int, int]:
        """Dimensions from the fastest to the slowest, as TMA wants them."""
        if self.contiguous < 0:
            cx.fail(
                f"TMA cannot copy {self.name}: no dimension has stride 1",
                expected="one dimension whose elements are neighbours in memory",
                help="pass a contiguous copy",
            )
        return (0, 1) if self.contiguous == 0 else (1, 0)

    def host_extent(self, cx: Context, dim: int) -> str:
        """The extent of a dimension in the host plan (i64)."""
        return cx.plan.step(f"plan.dim %{symbol(self.name)}[{dim}] : {self.plan_type}")

    def extent(self, cx: Context, dim: int) -> str:
        """The extent of a dimension on the device (i32); dimensions of one name share one parameter."""
        return cx.device_argument(f"dim.{self.dims[dim]}", "i32", self.host_extent(cx, dim), "i64")

    def host_stride(self, cx: Context, dim: int) -> str:
        """The stride of a dimension in elements, in the host plan (i64)."""
        return cx.plan.step(f"plan.stride %{symbol(self.name)}[{dim}] : {self.plan_type}")

    def stride(self, cx: Context, dim: int) -> str:
        """The stride of a dimension in elements, on the device (i64)."""
        name = f"{self.name}.stride.{dim}"
        return cx.device_argument(name, "i64", self.host_stride(cx, dim), "i64")

    def address(self, cx: Context) -> str:
        """The address of the first element on the device (``!llvm.ptr<1>``)."""
        host = f"%{symbol(self.name)}"
        return cx.device_argument(f"{self.name}.address", "!llvm.ptr<1>", host, self.plan_type)

    def view(self, cx: Context, box: tuple[int, int], swizzle: int) -> tuple[str, str]:
        """A tensor map over the whole array with this box: (SSA name, type) on the device."""
        type_ = f"!wg.view<{self.dtype_.mlir}, box = [{box[0]}, {box[1]}]{_order(self.tma_order(cx))}, swizzle = {swizzle}>"
        host = cx.plan.step(f"plan.tensor_map %{symbol(self.name)} : {self.plan_type} -> {type_}")
        # A dot keeps the name apart from every name of the user's.
        name = f"{self.name}.{box[0]}x{box[1]}.{swizzle}"
        return cx.device_argument(name, type_, host, type_), type_

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.dtype_

    @attribute
    def shape(self, cx: Context) -> tuple[Scalar, ...]:
        """The extents, known on the device."""
        return tuple(Scalar(self.extent(cx, dim), i32) for dim in range(len(self.dims)))

    @method
    def tiles(self, cx: Context, *shape: int) -> Tiles:
        """The array cut into tiles of this shape; the last ones may reach over the edge."""
        if len(self.dims) != 2:
            cx.fail(
                f"{self.name} has {len(self.dims)} dimensions", expected='2, as in gr.In["M,K"]'
            )
        if len(shape) != len(self.dims):
            cx.fail(
                f"{self.name}.tiles() takes one extent per dimension",
                expected=f"{len(self.dims)} extents for [{', '.join(self.dims)}]",
                found=str(len(shape)),
            )
        for extent in shape:
            if type(extent) is not int or not 1 <= extent < 1 << 31:
                cx.fail("a tile's extent must be a positive constant", found=cx.describe(extent))
        return Tiles(self, (shape[0], shape[1]))


class Tiles(Value):
    """An array seen as a grid of tiles: ``A[i, j]`` is a tile, ``A.count`` how many there are."""

    def __init__(self, array: ArrayParameter, tile: tuple[int, int]) -> None:
        self.array = array
        self.tile = tile

    def describe(self) -> str:
        return f"tiles of {self.tile[0]}x{self.tile[1]} of {self.array.describe()}"

    def count_name(self, cx: Context, dim: int) -> str:
        """The number of tiles along a dimension (i32), hoisted to the kernel's entry."""
        size = cx.constant(self.tile[dim], i32)
        return cx.hoisted(f"arith.ceildivsi {self.array.extent(cx, dim)}, {size} : i32", "count")

    @attribute
    def count(self, cx: Context) -> tuple[Scalar, ...]:
        """The number of tiles along each dimension."""
        return tuple(Scalar(self.count_name(cx, dim), i32) for dim in range(2))

    def item(self, cx: Context, index: object) -> TileRef:
        """``tiles[i, j]``."""
        if not isinstance(index, tuple) or len(index) != 2:
            cx.fail(
                f"tiles of {self.array.name} take one index per dimension",
                expected="two indices, as in tiles[i, j]",
                found=cx.describe(index),
            )
        return TileRef(self, index)


class TileRef(Value):
    """One tile in global memory."""

    def __init__(
        self,
        tiles: Tiles,
        index: tuple[object, object],
        column: int = 0,
        columns: int | None = None,
    ) -> None:
        self.tiles = tiles
        self.index = index
        self.column = column
        self.columns = columns

    def describe(self) -> str:
        shape = self.tiles.tile
        return f"a tile of {shape[0]}x{self.columns or shape[1]} of {self.tiles.array.describe()}"

    def element(self, cx: Context) -> tuple[str, str]:
        """The element coordinates of its first element (two i32 names)."""
        coordinates = []
        for index, extent in zip(self.index, self.tiles.tile, strict=True):
            if type(index) is int:
                coordinates.append(i32_name(cx, index * extent))
            else:
                size = cx.constant(extent, i32)
                coordinates.append(cx.builder.op(f"arith.muli {i32_name(cx, index)}, {size} : i32"))
        if self.column:
            offset = cx.constant(self.column, i32)
            coordinates[1] = cx.builder.op(f"arith.addi {coordinates[1]}, {offset} : i32")
        return coordinates[0], coordinates[1]

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
        if rows != self.tiles.tile[0] or chunk.column + columns > self.tiles.tile[1]:
            cx.fail(
                "the chunk does not fit the tile",
                expected=f"a chunk of {self.tiles.tile[0]} rows inside {self.tiles.tile[1]} columns",
                found=f"{rows}x{columns} at column {chunk.column}",
            )
        return TileRef(self.tiles, self.index, chunk.column, columns)
