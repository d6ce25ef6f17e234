"""The launch: which tiles there are, in which order, and which CTA computes which."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from girih.dtypes import i32
from girih.lang.arrays import Tiles
from girih.lang.builder import quoted
from girih.lang.hostplan import HostExpression
from girih.lang.loops import LoopForm, emit_loop
from girih.lang.scalars import i32_name
from girih.lang.values import Scalar, Value

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


class Grouped:
    """Tile order that walks ``rows`` rows of tiles together, column by column, for reuse in L2."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


class Work(Value):
    """The tiles of one array, shared out over the CTAs."""

    def __init__(
        self, cx: Context, tiles: Tiles, ctas: HostExpression | int | None, order: Grouped | None
    ) -> None:
        if cx.launch_grid is not None:
            cx.fail("the launch is already said: a kernel has one gr.tiles(...)")
        self.tiles = tiles
        self.order = order
        self.persistent = ctas is not None
        plan = cx.plan
        counts = [
            plan.binary(
                "arith.ceildivsi", tiles.array.host_extent(cx, dim), plan.constant(tiles.tile[dim])
            )
            for dim in range(2)
        ]
        total = plan.binary("arith.muli", counts[0], counts[1])
        if ctas is None:
            cx.launch_grid = total
            return
        wanted = plan.expression(ctas)
        if isinstance(ctas, HostExpression):
            message = quoted("the launch has {0} CTAs: expected at least 1")
            plan.require("sge", wanted, plan.constant(1), message, (wanted,))
        cx.launch_grid = plan.binary("arith.minsi", wanted, total)

    def describe(self) -> str:
        return f"the launch over {self.tiles.describe()}"

    def share(self, cx: Context, first: object, stop: object, step: object) -> Share:
        """``work[first::step]``: every step-th of this CTA's tiles, from number ``first`` on."""
        if stop is not None or type(step) is not int or step < 2:
            cx.fail(
                "work is shared out in constant steps",
                expected="work[first::step] with a step of at least 2",
                found="another slice",
            )
        if not self.persistent:
            cx.fail(
                "a CTA has one tile: there is nothing to share out",
                expected="gr.tiles(..., ctas=...)",
                found=self.describe(),
            )
        return Share(self, 0 if first is None else first, step)

    def emit_loop(
        self, visitor: Visitor, bind: Callable[[object], None], body: Callable[[], None]
    ) -> None:
        """``for i, j in work``: every tile of this CTA."""
        self.emit_tiles(visitor, bind, body, 0, 1)

    def emit_tiles(
        self,
        visitor: Visitor,
        bind: Callable[[object], None],
        body: Callable[[], None],
        start: object,
        stride: int,
    ) -> None:
        """A loop over every ``stride``-th of this CTA's tiles, from number ``start`` on."""
        cx = visitor.cx
        first = cx.hoisted(
            f"arith.index_cast {cx.hoisted('gpu.block_id x', 'cta')} : index to i32", "cta"
        )
        if not self.persistent:
            bind(self._coordinates(cx, first))
            body()
            return
        rows, columns = (self.tiles.count_name(cx, dim) for dim in range(2))
        total = cx.hoisted(f"arith.muli {rows}, {columns} : i32", "tiles")
        ctas = cx.hoisted(
            f"arith.index_cast {cx.hoisted('gpu.grid_dim x', 'ctas')} : index to i32", "ctas"
        )
        if stride > 1:
            skipped = cx.builder.op(f"arith.muli {i32_name(cx, start)}, {ctas} : i32")
            first = cx.builder.op(f"arith.addi {first}, {skipped} : i32", "first")
            ctas = cx.hoisted(f"arith.muli {ctas}, {cx.constant(stride, i32)} : i32")
        tile = cx.builder.fresh("tile")

        def step() -> None:
            bind(self._coordinates(cx, tile))
            body()

        emit_loop(
            visitor,
            LoopForm(f"scf.for {tile} = {first} to {total} step {ctas}", " : i32", "scf.yield"),
            step,
        )

    def _coordinates(self, cx: Context, tile: str) -> tuple[Scalar, Scalar]:
        """Row and column of tile number ``tile``; all numbers are non-negative, so unsigned division serves."""
        op = cx.builder.op
        rows, columns = (self.tiles.count_name(cx, dim) for dim in range(2))
        if self.order is None:
            return (
                Scalar(op(f"arith.divui {tile}, {columns} : i32", "row"), i32),
                Scalar(op(f"arith.remui {tile}, {columns} : i32", "column"), i32),
            )
        group_rows = cx.constant(self.order.rows, i32)
        per_group = cx.hoisted(f"arith.muli {group_rows}, {columns} : i32")
        group = op(f"arith.divui {tile}, {per_group} : i32", "group")
        within = op(f"arith.remui {tile}, {per_group} : i32")
        first_row = op(f"arith.muli {group}, {group_rows} : i32")
        left = op(f"arith.subi {rows}, {first_row} : i32")
        height = op(f"arith.minui {left}, {group_rows} : i32")
        row = op(
            f"arith.addi {first_row}, {op(f'arith.remui {within}, {height} : i32')} : i32", "row"
        )
        return Scalar(row, i32), Scalar(op(f"arith.divui {within}, {height} : i32", "column"), i32)


class Share(Value):
    """Every ``step``-th of a CTA's tiles, from number ``first`` on: what one of ``step`` warpgroups computes."""

    def __init__(self, work: Work, first: object, step: int) -> None:
        self.work = work
        self.first = first
        self.step = step

    def describe(self) -> str:
        return f"every tile in {self.step} of {self.work.describe()}"

    def emit_loop(
        self, visitor: Visitor, bind: Callable[[object], None], body: Callable[[], None]
    ) -> None:
        """``for i, j in work[first::step]``."""
        self.work.emit_tiles(visitor, bind, body, self.first, self.step)
