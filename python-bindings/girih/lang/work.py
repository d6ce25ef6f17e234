"""The launch: which tiles there are, in which order, and which CTA computes which."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from girih.dtypes import i32, i64
from girih.lang.builder import quoted
from girih.lang.elementwise import compare
from girih.lang.hostplan import WORKSPACE, HostExpression
from girih.lang.loops import LoopForm, emit_loop, emit_while
from girih.lang.scalars import ceil_div, i32_name
from girih.lang.values import Scalar, Value

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


# The name, which no user's can be, under which a loop carries the number of its tile.
_NUMBER = "tile.number"


class Grouped:
    """Tile order that walks ``rows`` rows of tiles together, column by column, for reuse in L2."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


class Work(Value):
    """A grid of tiles, shared out over the CTAs: ``counts`` says how many there are along each dimension."""

    def __init__(
        self,
        cx: Context,
        what: str,
        counts: list[Scalar | HostExpression | int],
        ctas: HostExpression | int | None,
        order: Grouped | None,
        cluster: tuple[int, int],
        dynamic: bool,
    ) -> None:
        if cx.launch_grid is not None:
            cx.fail(
                "the launch is already said: a kernel has one gr.tiles(...)",
                expected="one gr.tiles(...), over which several loops may go",
                found="a second one",
                help="work = gr.tiles(...) before the loops",
            )
        self.what = what
        self.order = order
        self.dynamic = dynamic
        self.persistent = ctas is not None or dynamic
        self.cluster = cluster
        cx.cluster = cluster[0] * cluster[1]
        plan = cx.plan
        if cx.cluster > 1:
            # From here on what is counted are clusters, each with tiles of its own.
            counts[-2:] = [
                _divided(cx, count, extent) if extent > 1 else count
                for count, extent in zip(counts[-2:], cluster, strict=True)
            ]
        total = plan.expression(_host(counts[0]))
        for count in counts[1:]:
            total = plan.binary("arith.muli", total, plan.expression(_host(count)))
        # Computed here, outside roles and loops: products[d] is how many tiles dimensions d to the last have.
        self.names = [self._count_name(cx, count) for count in counts]
        self.products = [self.names[-1]]
        for name in reversed(self.names[:-1]):
            product = cx.builder.op(f"arith.muli {name}, {self.products[0]} : i32", "tiles")
            self.products.insert(0, product)
        if order is not None:
            rows = cx.constant(order.rows, i32)
            self.per_group = cx.builder.op(f"arith.muli {rows}, {self.names[-1]} : i32")
        size = plan.constant(cx.cluster)
        if ctas is None and dynamic:
            ctas = HostExpression("plan.query multiprocessor_count")
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
        return f"the launch over {self.what}"

    @staticmethod
    def _count_name(cx: Context, count: Scalar | HostExpression | int) -> str:
        """A number of tiles on the device (i32)."""
        if isinstance(count, HostExpression):
            host = cx.plan.expression(count)
            return cx.device_argument(f"tiles.{host[1:]}", "i32", host, "i64")
        return i32_name(cx, count)

    def item(self, cx: Context, index: object) -> Share:
        """``work[first::step]``: every step-th of this CTA's tiles, from number ``first`` on."""
        if not isinstance(index, slice):
            cx.fail(
                "an index is not available here",
                expected="a slice, as in [first::step]",
                found=cx.describe(index),
            )
        first, stop, step = index.start, index.stop, index.step
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
        if cx.role is None:
            cx.tile_level()
        elif visitor.team is not None:
            cx.fail(
                "the kernel that calls a @wg.function goes over the launch's tiles",
                expected="what a role does for one tile",
                found=self.describe(),
            )
        first = cx.hoisted(
            f"arith.index_cast {cx.hoisted('gpu.block_id x', 'cta')} : index to i32", "cta"
        )
        if cx.cluster > 1:
            first = cx.hoisted(f"arith.divui {first}, {cx.constant(cx.cluster, i32)} : i32")
        if self.dynamic:
            self._emit_queue(visitor, bind, body)
            return
        if not self.persistent:
            bind(self._coordinates(cx, first))
            body()
            return
        total = self.products[0]
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

    def _emit_queue(
        self, visitor: Visitor, bind: Callable[[object], None], body: Callable[[], None]
    ) -> None:
        """A loop that takes the next number from a counter in memory until there is none left."""
        cx = visitor.cx
        cx.queue = cx.places()[0]
        one, stride = cx.constant(1, i32), cx.constant(1, i64)
        memory = cx.plan.workspace(i32.bytes, zero=True)  # each loop counts for itself
        pointer = cx.device_argument(f"taken.{memory[1:]}", "!llvm.ptr<1>", memory, WORKSPACE)
        type_ = "!tile.view<i32, rank = 1, contiguous = 0>"
        counter = cx.hoisted(f"tile.view {pointer}[{one}] strides({stride}) : {type_}", "taken")
        total = Scalar(self.products[0], i32)

        def take() -> None:
            place = f"{counter}[{cx.constant(0, i32)}] : {type_}"
            visitor.names[_NUMBER] = Scalar(cx.builder.op(f"tile.signal gpu {one}, {place}"), i32)

        def step() -> None:
            bind(self._coordinates(cx, visitor.names[_NUMBER].name))
            body()
            take()

        take()
        emit_while(visitor, lambda: compare(cx, ast.Lt(), visitor.names[_NUMBER], total), step)

    def _coordinates(self, cx: Context, tile: str) -> Scalar | tuple[Scalar, ...]:
        """The coordinates of tile number ``tile``: of the cluster's, then of this CTA's in it. All numbers are
        non-negative, so unsigned division serves."""
        op = cx.builder.op
        rank = len(self.names)
        if rank == 1:
            return Scalar(tile, i32)
        coordinates = []
        for dim in range(rank - 2):
            inner = self.products[dim + 1]
            coordinates.append(Scalar(op(f"arith.divui {tile}, {inner} : i32"), i32))
            tile = op(f"arith.remui {tile}, {inner} : i32")
        place = list(self._ordered(cx, tile))
        if cx.cluster > 1:
            size = cx.constant(cx.cluster, i32)
            cta = cx.hoisted(
                f"arith.index_cast {cx.hoisted('gpu.block_id x', 'cta')} : index to i32", "cta"
            )
            member = cx.hoisted(f"arith.remui {cta}, {size} : i32", "rank")
            dim = 0 if self.cluster[0] > 1 else 1
            first = op(f"arith.muli {place[dim].name}, {size} : i32")
            place[dim] = Scalar(op(f"arith.addi {first}, {member} : i32"), i32)
        return (*coordinates, *place)

    def _ordered(self, cx: Context, tile: str) -> tuple[Scalar, Scalar]:
        """Row and column of number ``tile``."""
        op = cx.builder.op
        rows, columns = self.names[-2:]
        if self.order is None:
            return (
                Scalar(op(f"arith.divui {tile}, {columns} : i32", "row"), i32),
                Scalar(op(f"arith.remui {tile}, {columns} : i32", "column"), i32),
            )
        group_rows = cx.constant(self.order.rows, i32)
        group = op(f"arith.divui {tile}, {self.per_group} : i32", "group")
        within = op(f"arith.remui {tile}, {self.per_group} : i32")
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


def _divided(
    cx: Context, count: Scalar | HostExpression | int, by: int
) -> Scalar | HostExpression | int:
    """``count / by`` rounded up."""
    if isinstance(count, HostExpression):
        return HostExpression("arith.ceildivsi", (count, by))
    return ceil_div(cx, count, by) if isinstance(count, Scalar) else -(-count // by)


def _host(count: Scalar | HostExpression | int) -> HostExpression | int:
    if isinstance(count, Scalar):
        assert count.host is not None
        return count.host
    return count
