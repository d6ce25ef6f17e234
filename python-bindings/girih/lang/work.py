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
        self,
        cx: Context,
        tiles: Tiles,
        ctas: HostExpression | int | None,
        order: Grouped | None,
        cluster: tuple[int, int],
    ) -> None:
        if cx.launch_grid is not None:
            cx.fail("the launch is already said: a kernel has one gr.tiles(...)")
        self.tiles = tiles
        self.order = order
        self.persistent = ctas is not None
        self.cluster = cluster
        cx.cluster = cluster[0] * cluster[1]
        plan = cx.plan
        # What a cluster computes together, or a CTA without clusters.
        counts = [
            plan.binary(
                "arith.ceildivsi",
                tiles.array.host_extent(cx, dim),
                plan.constant(tiles.tile[dim] * cluster[dim]),
            )
            for dim in range(2)
        ]
        total = plan.binary("arith.muli", counts[0], counts[1])
        size = plan.constant(cx.cluster)
        if ctas is None:
            cx.launch_grid = total if cx.cluster == 1 else plan.binary("arith.muli", total, size)
            return
        wanted = plan.expression(ctas)
        if isinstance(ctas, HostExpression):
            message = quoted("the launch has {0} CTAs: expected at least 1")
            plan.require("sge", wanted, plan.constant(1), message, (wanted,))
        if cx.cluster == 1:
            cx.launch_grid = plan.binary("arith.minsi", wanted, total)
            return
        clusters = plan.binary(
            "arith.maxsi", plan.binary("arith.divsi", wanted, size), plan.constant(1)
        )
        clusters = plan.binary("arith.minsi", clusters, total)
        cx.launch_grid = plan.binary("arith.muli", clusters, size)

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
        if cx.cluster > 1:
            first = cx.hoisted(f"arith.divui {first}, {cx.constant(cx.cluster, i32)} : i32")
        if not self.persistent:
            bind(self._coordinates(cx, first))
            body()
            return
        rows, columns = self._counts(cx)
        total = cx.hoisted(f"arith.muli {rows}, {columns} : i32", "tiles")
        ctas = cx.hoisted(
            f"arith.index_cast {cx.hoisted('gpu.grid_dim x', 'ctas')} : index to i32", "ctas"
        )
        if cx.cluster > 1:
            ctas = cx.hoisted(f"arith.divui {ctas}, {cx.constant(cx.cluster, i32)} : i32")
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

    def _counts(self, cx: Context) -> tuple[str, str]:
        """Rows and columns of what clusters (or CTAs without clusters) compute."""
        rows, columns = (
            self.tiles.count_name(cx, dim)
            if extent == 1
            else cx.hoisted(
                f"arith.ceildivsi {self.tiles.count_name(cx, dim)}, {cx.constant(extent, i32)} : i32"
            )
            for dim, extent in enumerate(self.cluster)
        )
        return rows, columns

    def _coordinates(self, cx: Context, tile: str) -> tuple[Scalar, Scalar]:
        """Row and column of tile number ``tile``: of the cluster's, then of this CTA's in it."""
        place = self._ordered(cx, tile)
        if cx.cluster == 1:
            return place
        size = cx.constant(cx.cluster, i32)
        cta = cx.hoisted(
            f"arith.index_cast {cx.hoisted('gpu.block_id x', 'cta')} : index to i32", "cta"
        )
        rank = cx.hoisted(f"arith.remui {cta}, {size} : i32", "rank")
        dim = 0 if self.cluster[0] > 1 else 1
        first = cx.builder.op(f"arith.muli {place[dim].name}, {size} : i32")
        mine = Scalar(cx.builder.op(f"arith.addi {first}, {rank} : i32"), i32)
        return (mine, place[1]) if dim == 0 else (place[0], mine)

    def _ordered(self, cx: Context, tile: str) -> tuple[Scalar, Scalar]:
        """Row and column of number ``tile``; all numbers are non-negative, so unsigned division serves."""
        op = cx.builder.op
        rows, columns = self._counts(cx)
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
