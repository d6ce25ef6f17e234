"""Sequences whose rows lie in pages: a table says which page of the cache holds which part of a sequence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import i32
from girih.lang import elementwise
from girih.lang.builder import quoted
from girih.lang.places import TileRef, Tiles
from girih.lang.scalars import i32_name, minmax, to_scalar
from girih.lang.values import Scalar, Value, method
from girih.lang.views import View

if TYPE_CHECKING:
    from girih.lang.context import Context


class Paged(Value):
    """``cache.paged(table)``: page i of the sequence is ``cache[table[i]]``."""

    def __init__(self, cx: Context, cache: View, table: View, length: object) -> None:
        if not isinstance(table, View) or table.rank != 1 or table.dtype_ != i32:
            cx.fail(
                "a page table lists page numbers",
                expected="an array of one dimension of i32",
                found=cx.describe(table),
                help="table[b] is the row of one sequence",
            )
        if cache.rank < 2:
            cx.fail(
                "pages are the first dimension of a cache",
                expected="an array of [pages, rows of a page, ...]",
                found=cache.describe(),
            )
        self.cache = cache
        self.table = table
        self.length = None if length is None else to_scalar(cx, length, i32)

    def describe(self) -> str:
        return f"a sequence in pages of {self.cache.describe()}"

    def item(self, cx: Context, index: object) -> View:
        """``paged[i]``: page i, cut off at the sequence's length."""
        if type(index) is not int and not isinstance(index, Scalar):
            cx.fail("pages are counted", expected="an integer", found=cx.describe(index))
        page = self.cache.item(cx, self.table.item(cx, index))
        assert isinstance(page, View)
        if self.length is None:
            return page
        before = elementwise.binary(cx, ast.Mult(), index, page.extent_of(cx, 0))
        left = elementwise.binary(cx, ast.Sub(), self.length, before)
        return page.slice(cx, 0, slice(None, minmax(cx, "max", [left, 0])))

    @method
    def tiles(self, cx: Context, *shape: int, fill: object = None) -> PagedTiles:
        """The sequence cut into tiles, each within a page."""
        return PagedTiles(cx, self, shape, fill)


class PagedTiles(Value):
    """Tiles of a sequence in pages: ``K[j, 0]`` is rows j * extent on, wherever their page is."""

    def __init__(self, cx: Context, paged: Paged, shape: tuple[int, ...], fill: object) -> None:
        self.paged = paged
        self.fill = fill
        self.shape_ = paged.cache.check_shape(cx, "tiles", (1, *shape))[1:]
        page_rows = paged.cache.extent_of(cx, 1)
        if page_rows.host is None:
            cx.fail(
                "the rows of a page must be known at the launch",
                expected="pages of a parameter",
                found=paged.cache.describe(),
            )
        rows = cx.plan.expression(page_rows.host)
        rest = cx.plan.binary("arith.remsi", rows, cx.plan.constant(self.shape_[0]))
        message = f"{paged.cache.label} has pages of {{0}} rows: expected a multiple of {self.shape_[0]}, the rows of a tile"
        cx.plan.require("eq", rest, cx.plan.constant(0), quoted(message), (rows,))

    def describe(self) -> str:
        return f"tiles of {self.paged.describe()}"

    def item(self, cx: Context, index: object) -> TileRef:
        """``tiles[j, k]``."""
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != len(self.shape_):
            cx.fail(
                "tiles take one index per dimension",
                expected=f"{len(self.shape_)} indices",
                found=cx.describe(index),
            )
        # None of these is negative, so unsigned division serves.
        tile = i32_name(cx, parts[0])
        rows, size = self.paged.cache.extent_of(cx, 1).name, cx.constant(self.shape_[0], i32)
        per_page = cx.builder.op(f"arith.divui {rows}, {size} : i32")
        page = Scalar(cx.builder.op(f"arith.divui {tile}, {per_page} : i32", "page"), i32)
        within = Scalar(cx.builder.op(f"arith.remui {tile}, {per_page} : i32"), i32)
        view = self.paged.item(cx, page)
        return Tiles(view, self.shape_, self.fill).item(cx, (within, *parts[1:]))
