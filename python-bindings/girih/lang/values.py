"""What a name in a kernel can stand for, besides plain Python constants.

Constants (numbers, strings, dtypes, tuples of them) are themselves. Everything that exists on the
device is a ``Value``. Methods and attributes that a kernel may use are marked with ``@method`` and
``@attribute``; all else is hidden from kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from girih.dtypes import DType, b1

if TYPE_CHECKING:
    from girih.lang.context import Context

F = TypeVar("F", bound=Callable[..., Any])


def method(function: F) -> F:
    """Marks a method that kernels may call; it takes the context first."""
    function.girih_role = "method"  # type: ignore[attr-defined]
    return function


def attribute(function: F) -> F:
    """Marks a method without arguments that kernels read as an attribute."""
    function.girih_role = "attribute"  # type: ignore[attr-defined]
    return function


def visible_names(value: object) -> list[str]:
    """Names that kernels may use on ``value``."""
    return sorted(
        name for name in dir(type(value)) if hasattr(getattr(type(value), name), "girih_role")
    )


class Value:
    """Something on the device."""

    def describe(self) -> str:
        """What it is, for messages."""
        raise TypeError(f"{type(self).__name__} has no description")

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        """The SSA values (name, type) that carry it through a loop or an if."""
        cx.fail(
            f"{self.describe()} cannot be assigned in a loop or a branch",
            expected="a tile or a scalar",
        )

    def rebuild(self, names: list[str]) -> Value:
        """The same kind of value held by other SSA names."""
        raise TypeError(f"{type(self).__name__} is not carried")

    def same_kind(self, other: object) -> bool:
        """Whether ``other`` can take its place after a loop iteration."""
        return type(self) is type(other) and self.describe() == other.describe()  # type: ignore[attr-defined]


class Scalar(Value):
    """A number that is known only on the device."""

    def __init__(self, name: str, dtype: DType) -> None:
        self.name = name
        self.dtype = dtype

    def describe(self) -> str:
        return f"a scalar of {self.dtype.name}"

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        return [(self.name, self.dtype.mlir)]

    def rebuild(self, names: list[str]) -> Scalar:
        return Scalar(names[0], self.dtype)


class Tile(Value):
    """A tile in registers, spread over the warpgroups of a role.

    ``written`` says whether an accumulator holds anything yet: a Python bool, or the name of an i1.
    A pending tile is the destination of wgmma instructions that may still run. ``reader`` is the text
    of a layout attribute.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, int],
        dtype: DType,
        layout: str,
        *,
        pending: bool = False,
        written: bool | str = True,
    ) -> None:
        self.name = name
        self.shape_ = shape
        self.dtype_ = dtype
        self.layout = layout
        self.pending = pending
        self.written = written
        self.waited = False

    @property
    def tensor_type(self) -> str:
        """The MLIR type of the finished tile."""
        rows, columns = self.shape_
        return f"tensor<{rows}x{columns}x{self.dtype_.mlir}, {self.layout}>"

    @property
    def mlir_type(self) -> str:
        """The MLIR type of the value that ``name`` is."""
        return f"!wg.pending<{self.tensor_type}>" if self.pending else self.tensor_type

    def describe(self) -> str:
        state = "a pending tile" if self.pending else "a tile"
        return f"{state} of {self.shape_[0]}x{self.shape_[1]} {self.dtype_.name}"

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        parts = [(self.name, self.mlir_type)]
        if self.pending:
            written = (
                self.written if isinstance(self.written, str) else cx.constant(self.written, b1)
            )
            parts.append((written, "i1"))
        return parts

    def rebuild(self, names: list[str]) -> Tile:
        written: bool | str = names[1] if self.pending else True
        return Tile(
            names[0], self.shape_, self.dtype_, self.layout, pending=self.pending, written=written
        )

    @property
    def unfinished(self) -> bool:
        """Whether wgmmas write it that nobody has waited for."""
        return self.pending and self.written is not False and not self.waited

    def ready(self, cx: Context) -> Tile:
        """This tile, or an error where it is pending."""
        if self.pending:
            cx.fail(
                "this tile is pending: a wgmma may still be writing it",
                expected="a tile that was waited for",
                found=self.describe(),
                help="use what wg.wait returned"
                if self.waited
                else "call wg.wait(tile) first, or use it after the drain loop that accumulates it",
            )
        return self

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.dtype_

    @attribute
    def shape(self, cx: Context) -> tuple[int, int]:
        """Rows and columns."""
        return self.shape_

    @method
    def to(self, cx: Context, dtype: DType) -> Tile:
        """The tile converted to another float type, rounded to nearest even."""
        tile = self.ready(cx)
        if not isinstance(dtype, DType) or not dtype.is_float or dtype.bits > 32:
            cx.fail(
                "tile.to() takes a float type",
                expected="girih.bf16, f16 or f32",
                found=cx.describe(dtype),
            )
        if dtype == tile.dtype_:
            return tile
        result = Tile("", tile.shape_, dtype, tile.layout)
        if dtype.bits == tile.dtype_.bits:
            cx.fail(
                f"{tile.dtype_.name} does not convert to {dtype.name} directly",
                help="convert to f32 in between",
            )
        op = "arith.truncf" if dtype.bits < tile.dtype_.bits else "arith.extf"
        result.name = cx.builder.op(
            f"{op} {tile.name} : {tile.tensor_type} to {result.tensor_type}"
        )
        return result

    @method
    def chunks(self, cx: Context, rows: int, columns: int) -> Chunks:
        """The tile's column chunks, for a loop that is unrolled: ``rows`` of each warpgroup by
        ``columns``; the last chunk is narrower where ``columns`` does not divide the tile."""
        return Chunks(self.ready(cx), rows, columns, cx)


class Chunk(Tile):
    """Columns of a tile that know where they were: ``tile[:, column : column + width]``."""

    def __init__(self, tile: Tile, column: int) -> None:
        super().__init__(tile.name, tile.shape_, tile.dtype_, tile.layout)
        self.column = column

    @method
    def to(self, cx: Context, dtype: DType) -> Chunk:
        """The chunk converted to another float type."""
        return Chunk(super().to(cx, dtype), self.column)


class Chunks(Value):
    """The chunks of a tile, to loop over."""

    def __init__(self, tile: Tile, rows: int, columns: int, cx: Context) -> None:
        role = cx.current_role()
        owned = tile.shape_[0] // role.warpgroups
        if rows != owned:
            cx.fail(
                "chunks are cut along columns only",
                expected=f"{owned} rows, what each of the {role.warpgroups} warpgroups holds",
                found=f"{cx.describe(rows)} rows",
            )
        if not isinstance(columns, int) or columns < 8 or columns % 8:
            cx.fail(
                "a chunk's columns must be a multiple of 8",
                expected="8, 16, …",
                found=cx.describe(columns),
            )
        self.tile = tile
        self.columns = columns

    def describe(self) -> str:
        return f"the chunks of {self.tile.describe()}"

    def static_items(self, cx: Context) -> list[Callable[[], Chunk]]:
        """One function per chunk that emits it when its turn comes."""

        def slice_at(column: int) -> Callable[[], Chunk]:
            def emit() -> Chunk:
                rows, total = self.tile.shape_
                shape = (rows, min(self.columns, total - column))
                layout = cx.accumulator_layout(*shape)
                part = Tile("", shape, self.tile.dtype_, layout)
                part.name = cx.builder.op(
                    f"wg.slice {self.tile.name}[0, {column}] : {self.tile.tensor_type} -> {part.tensor_type}"
                )
                # A chunk of a chunk counts from the start of the whole tile.
                start = self.tile.column if isinstance(self.tile, Chunk) else 0
                return Chunk(part, start + column)

            return emit

        return [slice_at(column) for column in range(0, self.tile.shape_[1], self.columns)]
