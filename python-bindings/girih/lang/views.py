"""Views of global memory: what an array parameter is at tile level, and what is cut out of it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import DType
from girih.lang import elementwise
from girih.lang.places import Block, Tiles
from girih.lang.scalars import i32_name, minmax, to_scalar
from girih.lang.tileshapes import count_of, permutation
from girih.lang.values import Scalar, Tile, Value, attribute, method

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.paged import Paged


class View(Value):
    """A part of global memory: extents and strides known on the device, any rank.

    ``contiguous`` is the dimension whose stride is one element, or -1; ``align`` the bytes of which address
    and other strides are multiples; ``access`` what the parameter is declared for.
    """

    label: str
    dtype_: DType
    rank: int
    contiguous: int
    align: int
    access: str
    at_entry = False  # whether extents are known at the kernel's entry

    def view_name(self, cx: Context) -> str:
        """The SSA name of the view."""
        raise TypeError(f"{type(self).__name__} has no name")

    def extent_of(self, cx: Context, dim: int) -> Scalar:
        """The extent of a dimension."""
        raise TypeError(f"{type(self).__name__} has no extents")

    @property
    def view_type(self) -> str:
        """The MLIR type of the view."""
        contiguous = f", contiguous = {self.contiguous}" if self.contiguous >= 0 else ""
        align = f", align = {self.align}" if self.align > self.dtype_.bytes else ""
        return f"!tile.view<{self.dtype_.mlir}, rank = {self.rank}{contiguous}{align}>"

    def tma_order(self, cx: Context) -> tuple[int, int]:
        """The last two dimensions (0 and 1) from the fastest to the slowest, as TMA wants them."""
        if self.contiguous < 0:
            cx.fail(
                f"TMA cannot copy {self.label}: no dimension has stride 1",
                expected="one dimension whose elements are neighbours in memory",
                help="pass a contiguous copy",
            )
        first = self.rank - 2
        if self.contiguous < first:
            cx.fail(
                f"TMA cannot copy matrices of {self.label}: neighbours in memory are in different ones",
                expected="stride 1 in one of the last two dimensions",
                found=f"stride 1 in dimension {self.contiguous} of {self.rank}",
            )
        return (0, 1) if self.contiguous == first else (1, 0)

    def tensor_map(self, cx: Context, box: tuple[int, int], swizzle: int) -> tuple[str, str]:
        """A tensor map over the array with this box: (SSA name, type) on the device."""
        cx.fail(
            "wg.tma copies tiles of whole arrays",
            expected="tiles of a parameter",
            found=self.describe(),
        )

    def check_read(self, cx: Context) -> None:
        """Outputs hold nothing yet."""
        if self.access == "out":
            cx.fail(
                f"{self.label} is an output: it holds nothing that can be read",
                expected="a parameter of gr.In or gr.InOut",
                found=self.describe(),
            )

    def check_write(self, cx: Context) -> None:
        """Inputs stay as they are."""
        if self.access == "in":
            cx.fail(
                f"{self.label} is an input",
                expected="a parameter of gr.Out or gr.InOut",
                found=self.describe(),
            )

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.dtype_

    @attribute
    def ndim(self, cx: Context) -> int:
        """The number of dimensions."""
        return self.rank

    @attribute
    def shape(self, cx: Context) -> tuple[Scalar, ...]:
        """The extents, known on the device."""
        return tuple(self.extent_of(cx, dim) for dim in range(self.rank))

    @method
    def tiles(self, cx: Context, *shape: int, fill: object = None) -> Tiles:
        """The array cut into tiles of this shape; the last ones may reach over the edge, where loads give
        ``fill`` (0 without it) and stores write nothing."""
        return Tiles(self, self.check_shape(cx, "tiles", shape), fill)

    @method
    def block(self, cx: Context, index: object, shape: object, fill: object = None) -> Block:
        """A tile that begins at element ``index``. One of the indices may be a tile of i32: the places of the
        block along that dimension."""
        indices = index if isinstance(index, tuple) else (index,)
        extents = shape if isinstance(shape, tuple) else (shape,)
        if len(indices) != self.rank:
            cx.fail(
                f"a block of {self.label} begins at one index per dimension",
                expected=count_of(self.rank, "index", "indices"),
                found=cx.describe(index),
            )
        return Block(cx, self, indices, self.check_shape(cx, "block", extents), fill)

    def check_shape(self, cx: Context, what: str, shape: tuple[object, ...]) -> tuple[int, ...]:
        """The shape of a tile: one positive constant for each dimension."""
        if len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        if len(shape) != self.rank:
            cx.fail(
                f"{self.label}.{what}() takes one extent per dimension",
                expected=f"{count_of(self.rank, 'extent', 'extents')}, as {self.describe()} has",
                found=str(len(shape)),
            )
        for extent in shape:
            if type(extent) is not int or not 1 <= extent < 1 << 31:
                cx.fail(
                    "a tile's extent must be a positive constant",
                    expected="an integer that is known when the kernel is compiled",
                    found=cx.describe(extent),
                    help="make it a parameter of gr.const; the last tiles reach over the edge by themselves",
                )
        return shape  # type: ignore[return-value]

    @attribute
    def T(self, cx: Context) -> View:
        """Rows and columns exchanged; nothing moves."""
        if self.rank != 2:
            cx.fail(
                "a.T exchanges rows and columns",
                expected="an array of two dimensions",
                found=self.describe(),
                help="a.permute(...) orders any number of dimensions",
            )
        return self._permuted(cx, (1, 0))

    @method
    def permute(self, cx: Context, *order: int) -> View:
        """Dimensions in another order; nothing moves."""
        return self._permuted(cx, permutation(cx, order, self.rank))

    @method
    def paged(self, cx: Context, table: View, length: object = None) -> Paged:
        """A sequence whose rows lie in pages: page i of it is ``self[table[i]]``; rows from ``length`` on are
        outside."""
        from girih.lang.paged import Paged

        return Paged(cx, self, table, length)

    def _permuted(self, cx: Context, order: tuple[int, ...]) -> View:
        extents = tuple(self.extent_of(cx, dim) for dim in order)
        contiguous = order.index(self.contiguous) if self.contiguous >= 0 else -1
        part = Part(self, extents, contiguous, self.align)
        part.made(cx, f"tile.permute {self.view_name(cx)} [{', '.join(map(str, order))}]", self)
        return part

    def item(self, cx: Context, index: object) -> View | Scalar:
        """``a[b]``, ``a[lo:hi]``, ``a[:, lo:hi]``; with an index for each dimension the element there."""
        parts = self._check_index(cx, index)
        if len(parts) == self.rank and not any(isinstance(part, slice) for part in parts):
            self.check_read(cx)
            cx.tile_level()
            where = ", ".join(i32_name(cx, part) for part in parts)
            op = f"tile.read {self.view_name(cx)}[{where}] : {self.view_type} -> {self.dtype_.mlir}"
            return Scalar(cx.builder.op(op), self.dtype_)
        view: View = self
        # From the last dimension on, so that those to come keep their numbers.
        for dim in reversed(range(len(parts))):
            part = parts[dim]
            if not isinstance(part, slice):
                view = view.select(cx, dim, part)
            elif part != slice(None):
                view = view.slice(cx, dim, part)
        return view

    def set_item(self, cx: Context, index: object, value: object) -> None:
        """``a[i, j] = number``."""
        parts = self._check_index(cx, index)
        if len(parts) != self.rank or any(isinstance(part, slice) for part in parts):
            cx.fail(
                f"{self.label} is assigned element by element or in tiles",
                expected="an index for each dimension",
                found=f"{len(parts)} of {self.rank}, or a slice",
                help="a.tiles(...)[i, j] = x, or a.block(index, shape).store(x)",
            )
        self.check_write(cx)
        cx.tile_level()
        if isinstance(value, Value):
            value = value.read(cx)
        if isinstance(value, Tile) or (isinstance(value, Scalar) and value.dtype_ != self.dtype_):
            cx.fail(
                f"an element of {self.label} is one number of {self.dtype_.name}",
                expected=f"a scalar of {self.dtype_.name}",
                found=cx.describe(value),
                help=f"x.to(gr.{self.dtype_.name})"
                if isinstance(value, Scalar)
                else "a.tiles(...)[i] = x, or a.block(index, shape).store(x)",
            )
        where = ", ".join(i32_name(cx, part) for part in parts)
        scalar = to_scalar(cx, value, self.dtype_)
        cx.builder.line(
            f"tile.write {scalar.name}, {self.view_name(cx)}[{where}] : {self.dtype_.mlir}, {self.view_type}"
        )

    def _check_index(self, cx: Context, index: object) -> tuple[object, ...]:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) > self.rank:
            cx.fail(
                f"{self.label} has {count_of(self.rank, 'dimension', 'dimensions')}",
                expected=f"at most {count_of(self.rank, 'index', 'indices')}",
                found=str(len(parts)),
            )
        for part in parts:
            if isinstance(part, slice):
                if part.step is not None:
                    cx.fail(
                        "slices of arrays have no step",
                        expected="a[low:high]",
                        found="a step",
                        help="gr.gather takes elements from places of their own",
                    )
                continue
            number = type(part) is int or isinstance(part, Scalar) and not part.dtype_.is_float
            if not number:
                cx.fail(
                    f"this does not index {self.label}",
                    expected="integers, or low:high",
                    found=cx.describe(part),
                    help="gr.gather takes elements from places of their own",
                )
            if type(part) is int and part < 0:
                cx.fail(
                    "indices count from 0",
                    expected="an index of at least 0",
                    found=str(part),
                    help="a.shape[0] - 1 is the last one",
                )
        return parts

    def select(self, cx: Context, dim: int, index: object) -> View:
        """One index of a dimension: a view of one rank less."""
        along = dim == self.contiguous
        extents = tuple(self.extent_of(cx, other) for other in range(self.rank) if other != dim)
        contiguous = -1 if along else self.contiguous - (self.contiguous > dim)
        part = Part(self, extents, contiguous, self.dtype_.bytes if along else self.align)
        part.made(cx, f"tile.select {self.view_name(cx)}[{i32_name(cx, index)}] dim({dim})", self)
        return part

    def slice(self, cx: Context, dim: int, bounds: slice) -> View:
        """Indices from low to high of a dimension; high is cut off at the extent."""
        extent = self.extent_of(cx, dim)
        low: object = 0 if bounds.start is None else bounds.start
        high: object = extent if bounds.stop is None else minmax(cx, "min", [bounds.stop, extent])
        low_name, high_name = i32_name(cx, low), i32_name(cx, high)
        length = extent
        if low != 0 or bounds.stop is not None:
            length = elementwise.binary(cx, ast.Sub(), high, low)
        extents = [self.extent_of(cx, other) for other in range(self.rank)]
        extents[dim] = length
        keeps = dim != self.contiguous or low == 0
        part = Part(
            self, tuple(extents), self.contiguous, self.align if keeps else self.dtype_.bytes
        )
        op = f"tile.slice {self.view_name(cx)}[{low_name} to {high_name}] dim({dim})"
        part.made(cx, op, self)
        return part


class Part(View):
    """A view made from another one."""

    def __init__(
        self, source: View, extents: tuple[Scalar, ...], contiguous: int, align: int
    ) -> None:
        self.label = source.label
        self.dtype_ = source.dtype_
        self.access = source.access
        self.rank = len(extents)
        self.extents = extents
        self.contiguous = contiguous
        self.align = align
        self.name = ""

    def made(self, cx: Context, op: str, source: View) -> None:
        """Emits the operation that makes it."""
        cx.tile_level()
        self.name = cx.builder.op(f"{op} : {source.view_type} -> {self.view_type}")

    def describe(self) -> str:
        return f"a part of {self.label} of {count_of(self.rank, 'dimension', 'dimensions')} of {self.dtype_.name}"

    def view_name(self, cx: Context) -> str:
        return self.name

    def extent_of(self, cx: Context, dim: int) -> Scalar:
        return self.extents[dim]
