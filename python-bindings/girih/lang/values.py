"""What a name in a kernel can stand for, besides plain Python constants.

Constants (numbers, strings, dtypes, tuples of them) are themselves. Everything that exists on the
device is a ``Value``. Methods and attributes that a kernel may use are marked with ``@method`` and
``@attribute``; all else is hidden from kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from girih.dtypes import DType, b1
from girih.lang import casts, tileshapes
from girih.lang.constants import literal

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.hostplan import HostExpression

F = TypeVar("F", bound=Callable[..., Any])


def method(function: F) -> F:
    """Marks a method that kernels may call; it takes the context first."""
    function.girih_role = "method"  # type: ignore[attr-defined]
    return function


def attribute(function: F) -> F:
    """Marks a method without arguments that kernels read as an attribute."""
    function.girih_role = "attribute"  # type: ignore[attr-defined]
    return function


def visible_names(value: object) -> tuple[str, ...]:
    """Names that kernels may use on ``value``, which may be a class."""
    return _visible_names(value if isinstance(value, type) else type(value))


@functools.cache
def _visible_names(kind: type) -> tuple[str, ...]:
    return tuple(sorted(name for name in dir(kind) if hasattr(getattr(kind, name), "girih_role")))


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
            found=self.describe(),
            help="a part of an array is made anew in each iteration, from numbers that the loop carries",
        )

    def rebuild(self, names: list[str]) -> Value:
        """The same kind of value held by other SSA names."""
        raise TypeError(f"{type(self).__name__} is not carried")

    def read(self, cx: Context) -> Elements:
        """The numbers that it stands for: a tile in global memory is loaded."""
        cx.fail("a tile or a number was expected", found=self.describe())

    def same_kind(self, other: object) -> bool:
        """Whether ``other`` can take its place after a loop iteration."""
        return type(self) is type(other) and self.describe() == other.describe()


class Elements(Value):
    """Numbers of one type: a scalar or a tile. ``layout`` is the text of a layout attribute, "" where passes
    choose the layout."""

    name: str
    dtype_: DType
    shape_: tuple[int, ...]
    layout: str

    @property
    def mlir_type(self) -> str:
        """The MLIR type of the value that ``name`` is."""
        raise TypeError(f"{type(self).__name__} has no type")

    def derive(self, name: str, dtype: DType) -> Any:
        """Elements of another type in the same places."""
        raise TypeError(f"{type(self).__name__} has no elements")

    def filled(self, cx: Context, number: int | float | bool) -> str:
        """The SSA name of a value of this type all of whose elements are ``number``."""
        raise TypeError(f"{type(self).__name__} has no elements")

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.dtype_

    @method
    def to(
        self, cx: Context, dtype: DType, rounding: str | None = None, saturate: bool = False
    ) -> Any:
        """Converted to another element type: to a float with rounding to nearest even, from a float to an
        integer toward zero and clamped to its range, unless ``rounding`` is "nearest", "zero", "up" or "down".
        With ``saturate`` what is out of range becomes the largest finite value."""
        return casts.convert(cx, self.read(cx), dtype, rounding, saturate)

    @method
    def view(self, cx: Context, dtype: DType) -> Any:
        """The same bits as another element type of the same width."""
        return casts.bitcast(cx, self.read(cx), dtype)


class Scalar(Elements):
    """A number that is known only on the device. ``host`` is the same number for the host plan, where the
    host can compute it at the launch."""

    def __init__(self, name: str, dtype: DType, host: HostExpression | None = None) -> None:
        self.name = name
        self.dtype_ = dtype
        self.shape_ = ()
        self.layout = ""
        self.host = host

    @property
    def mlir_type(self) -> str:
        return self.dtype_.mlir

    def describe(self) -> str:
        return f"a scalar of {self.dtype_.name}"

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        return [(self.name, self.dtype_.mlir)]

    def rebuild(self, names: list[str]) -> Scalar:
        return Scalar(names[0], self.dtype_)

    def read(self, cx: Context) -> Scalar:
        return self

    def derive(self, name: str, dtype: DType) -> Scalar:
        return Scalar(name, dtype)

    def filled(self, cx: Context, number: int | float | bool) -> str:
        return cx.constant(number, self.dtype_)


class Tile(Elements):
    """A tile. With a layout it is in the registers of a role, spread over its warpgroups.

    ``written`` says whether an accumulator holds anything yet: a Python bool, or the name of an i1.
    A pending tile is the destination of wgmma instructions that may still run. ``place`` is where in global
    memory it was loaded from.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: DType,
        layout: str = "",
        *,
        pending: bool = False,
        written: bool | str = True,
        place: Value | None = None,
    ) -> None:
        self.name = name
        self.shape_ = shape
        self.dtype_ = dtype
        self.layout = layout
        self.pending = pending
        self.written = written
        self.waited = False
        self.place = place

    @property
    def tensor_type(self) -> str:
        """The MLIR type of the finished tile."""
        layout = f", {self.layout}" if self.layout else ""
        return f"tensor<{'x'.join(map(str, self.shape_))}x{self.dtype_.mlir}{layout}>"

    @property
    def mlir_type(self) -> str:
        return f"!wg.pending<{self.tensor_type}>" if self.pending else self.tensor_type

    def describe(self) -> str:
        state = "a pending tile" if self.pending else "a tile"
        return f"{state} of {'x'.join(map(str, self.shape_))} {self.dtype_.name}"

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

    def read(self, cx: Context) -> Tile:
        return self.ready(cx)

    def derive(self, name: str, dtype: DType) -> Tile:
        return Tile(name, self.shape_, dtype, self.layout)

    def filled(self, cx: Context, number: int | float | bool) -> str:
        return filled(cx, self.tensor_type, number, self.dtype_, bool(self.layout))

    def fragment(self, cx: Context) -> Tile:
        """This tile as a wgmma accumulator's fragment, which wg operations on parts of a tile need."""
        if self.layout or len(self.shape_) != 2:
            return self
        rows, columns = self.shape_
        return self.spread(cx, cx.accumulator_layout(rows, columns))

    def spread(self, cx: Context, layout: str, free: bool = False) -> Tile:
        """This tile in a layout; ``free`` forbids that this costs an instruction."""
        if self.layout == layout:
            return self
        result = Tile("", self.shape_, self.dtype_, layout)
        how = " {free}" if free else ""
        result.name = cx.builder.op(
            f"wg.convert_layout {self.name}{how} : {self.tensor_type} -> {result.tensor_type}"
        )
        return result

    def opened(self, cx: Context) -> Tile:
        """This tile without a layout of its own, for operations whose layout passes choose."""
        if not self.layout:
            return self
        result = Tile("", self.shape_, self.dtype_)
        result.name = cx.builder.op(
            f"wg.convert_layout {self.name} : {self.tensor_type} -> {result.tensor_type}"
        )
        return result

    @attribute
    def shape(self, cx: Context) -> tuple[int, ...]:
        """The extents."""
        return self.shape_

    @attribute
    def T(self, cx: Context) -> Tile:
        """Rows and columns exchanged."""
        return tileshapes.transposed(cx, self.read(cx))

    @method
    def permute(self, cx: Context, *order: int) -> Tile:
        """Dimensions in another order: dimension i of the result is dimension ``order[i]``."""
        return tileshapes.permute(cx, self.read(cx), order)

    @method
    def reshape(self, cx: Context, *shape: int) -> Tile:
        """The same elements, in row-major order, in another shape; one extent may be -1."""
        return tileshapes.reshape(cx, self.read(cx), shape)

    def item(self, cx: Context, index: object) -> Tile:
        """``x[:, None]``: a new dimension of extent 1."""
        return tileshapes.expand(cx, self.read(cx), index)

    @method
    def as_operand_a(self, cx: Context, moves: bool = False) -> Tile:
        """The tile where wgmma wants operand A in registers. Elements of 16 bits that come from an accumulator
        are there already; where data would have to move that is an error, unless ``moves`` allows it."""
        tile = self.ready(cx)
        role = cx.current_role()
        depth = 256 // tile.dtype_.bits
        if (
            not role.warpgroups
            or len(tile.shape_) != 2
            or tile.dtype_.bits not in (8, 16, 32)
            or tile.shape_[0] % (64 * role.warpgroups)
            or tile.shape_[1] % depth
        ):
            cx.fail(
                "wgmma takes no such operand",
                expected=f"a multiple of {64 * max(1, role.warpgroups)} rows and {depth} columns of 8, 16 or 32 bits",
                found=tile.describe(),
            )
        rows, columns = tile.shape_
        layout = cx.operand_layout(rows, columns, tile.dtype_.bits)
        return tile.spread(cx, layout, free=moves is not True)

    @method
    def chunks(self, cx: Context, rows: int, columns: int) -> Chunks:
        """The tile's column chunks, for a loop that is unrolled: ``rows`` of each warpgroup by
        ``columns``; the last chunk is narrower where ``columns`` does not divide the tile."""
        return Chunks(self.ready(cx), rows, columns, cx)


def filled(
    cx: Context, type_: str, number: int | float | bool, dtype: DType, spread: bool = False
) -> str:
    """The SSA name of a tile of ``type_`` all of whose elements are ``number``."""
    if spread:
        return cx.builder.op(f"tensor.splat {cx.constant(number, dtype)} : {type_}")
    return cx.builder.op(f"arith.constant dense<{literal(cx, number, dtype)}> : {type_}")


class Chunk(Tile):
    """Columns of a tile that know where they were: ``tile[:, column : column + width]``."""

    def __init__(self, tile: Tile, column: int) -> None:
        super().__init__(tile.name, tile.shape_, tile.dtype_, tile.layout)
        self.column = column

    def derive(self, name: str, dtype: DType) -> Chunk:
        return Chunk(super().derive(name, dtype), self.column)


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
        self.tile = tile.fragment(cx)
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
