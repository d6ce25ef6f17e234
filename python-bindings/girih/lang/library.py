"""The functions of ``gr`` that kernels call: the launch, ranges, static checks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from girih.dtypes import i32
from girih.lang.builtin import builtin
from girih.lang.hints import join_hints
from girih.lang.hostplan import HostExpression, host_binary
from girih.lang.loops import LoopForm, emit_loop
from girih.lang.places import Tiles
from girih.lang.scalars import ceil_div, i32_name
from girih.lang.values import Scalar, Value
from girih.lang.work import Grouped, Work

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


# Rows of tiles walked together; the tiles of one group are counted in 32 bits.
MAX_GROUP = 1024
# CTAs of a cluster on any device (CUDA C++ Programming Guide, "Thread Block Clusters").
MAX_CLUSTER = 8


@builtin("gr.sms")
def sms(cx: Context) -> HostExpression:
    """The number of streaming multiprocessors of the device, known at the launch."""
    return HostExpression("plan.query multiprocessor_count")


@builtin("gr.grouped")
def grouped(cx: Context, rows: int) -> Grouped:
    """Tile order: ``rows`` rows of tiles are walked together, so that neighbours in time share operands in L2."""
    if type(rows) is not int or not 1 <= rows <= MAX_GROUP:
        cx.fail(
            "gr.grouped takes a positive constant",
            expected=f"at most {MAX_GROUP} rows of tiles",
            found=cx.describe(rows),
        )
    return Grouped(rows)


@builtin("gr.tiles")
def tiles(
    cx: Context,
    *counts: object,
    ctas: HostExpression | int | None = None,
    order: Grouped | None = None,
    cluster: tuple[int, int] | None = None,
    dynamic: bool = False,
    resident: bool = False,
    **hints: object,
) -> Work:
    """Says the launch: the tiles to compute, one per CTA, or shared out over ``ctas`` CTAs that stay. Takes
    what ``array.tiles(...)`` returned, or a number of tiles for each dimension. CTAs of a ``cluster`` compute
    as many neighbouring tiles, rows by columns. With ``dynamic`` a CTA that is done takes the next tile that
    nobody has. ``resident`` says that CTAs wait for one another: a launch of more than the device holds at once is
    refused. Hints to the compiler: ``warps``, ``stages``, ``roles``."""
    what = f"{len(counts)} counts"
    if len(counts) == 1 and isinstance(counts[0], Tiles):
        what = counts[0].describe()
        counts = counts[0].counts(cx)
    if not counts:
        cx.fail(
            "gr.tiles takes the tiles of an array",
            expected="what array.tiles(...) returned, or a number of tiles for each dimension",
            found="nothing",
        )
    for number, count in enumerate(counts):
        _check_count(cx, number, count)
    ctas = getattr(ctas, "host", None) or ctas
    constant = type(ctas) is int and 0 < ctas < 1 << 31
    if not (ctas is None or isinstance(ctas, HostExpression) or constant):
        cx.fail(
            "the number of CTAs must be known at the launch",
            expected="a positive integer, gr.sms(), or arithmetic on them",
            found=cx.describe(ctas),
        )
    if not (order is None or isinstance(order, Grouped)):
        cx.fail("order is a tile order", expected="gr.grouped(rows)", found=cx.describe(order))
    said, cx.hints = join_hints(cx, {**hints, "cluster": cluster})
    cluster = (1, 1) if said is None else said  # type: ignore[assignment]
    if (
        not isinstance(cluster, tuple)
        or len(cluster) != 2
        or not all(type(extent) is int and 1 <= extent <= MAX_CLUSTER for extent in cluster)
        or min(cluster) != 1
    ):
        cx.fail(
            "a cluster's CTAs lie in one row or column of tiles",
            expected=f"(n, 1) or (1, n) with n up to {MAX_CLUSTER}",
            found=cx.describe(cluster),
        )
    if (order is not None or cluster != (1, 1)) and len(counts) < 2:
        cx.fail(
            "an order or a cluster needs rows and columns of tiles",
            expected="tiles of at least two dimensions",
            found=what,
        )
    if type(dynamic) is not bool or (dynamic and cluster != (1, 1)):
        cx.fail(
            "dynamic is True or False, and each CTA takes tiles for itself",
            expected="dynamic=True without a cluster",
            found=cx.describe(dynamic),
        )
    if type(resident) is not bool:
        cx.fail("resident is True or False", found=cx.describe(resident))
    cx.resident = resident
    return Work(cx, what, list(counts), ctas, order, cluster, dynamic)  # type: ignore[arg-type]


def _check_count(cx: Context, number: int, count: object) -> None:
    known = getattr(count, "host", None) is not None or isinstance(count, HostExpression)
    if known or (type(count) is int and 0 <= count < 1 << 31):
        return
    if isinstance(count, Tiles) or not isinstance(count, (int, Value)):
        cx.fail(
            "gr.tiles takes the tiles of an array",
            expected="what array.tiles(...) returned, or a number of tiles for each dimension",
            found=cx.describe(count),
        )
    cx.fail(
        "the launch is computed on the host, before the kernel runs",
        expected="constants, extents of parameters, integer parameters, gr.sms(), and + - * // % of them",
        found=f"{cx.argument_text(number)}, {cx.describe(count)}",
    )


class Range(Value):
    """A loop over integers on the device."""

    def __init__(self, start: object, stop: object, step: object) -> None:
        self.bounds = (start, stop, step)

    def describe(self) -> str:
        return "a range"

    def emit_loop(
        self, visitor: Visitor, bind: Callable[[object], None], body: Callable[[], None]
    ) -> None:
        """Emits scf.for."""
        cx = visitor.cx
        start, stop, step = (i32_name(cx, bound) for bound in self.bounds)
        index = cx.builder.fresh("i")

        def iteration() -> None:
            bind(Scalar(index, i32))
            body()

        emit_loop(
            visitor,
            LoopForm(f"scf.for {index} = {start} to {stop} step {step}", " : i32", "scf.yield"),
            iteration,
        )


@builtin("gr.range")
def range_(cx: Context, start: object, stop: object = None, step: object = 1) -> Range:
    """A loop on the device, with bounds that may be known there only; steps are positive."""
    if stop is None:
        start, stop = 0, start
    if type(step) is not int or step < 1:
        # A step of 0, found on the device only, would loop for ever.
        cx.fail(
            "a range on the device counts upwards in constant steps",
            expected="a constant step of at least 1",
            found=cx.describe(step),
        )
    return Range(start, stop, step)


@builtin("gr.static_range")
def static_range(cx: Context, start: int, stop: int | None = None, step: int = 1) -> range:
    """A loop that is unrolled: bounds are constants."""
    if stop is None:
        start, stop = 0, start
    for bound in (start, stop, step):
        if type(bound) is not int:
            cx.fail(
                "gr.static_range takes constants",
                found=cx.describe(bound),
                help="use gr.range for bounds known on the device",
            )
    if step == 0:
        cx.fail("a range needs a step", expected="a step other than 0", found="0")
    return range(start, stop, step)


@builtin("gr.static_assert")
def static_assert(cx: Context, condition: object, message: str = "gr.static_assert failed") -> None:
    """Stops the compilation with ``message`` unless the constant ``condition`` holds."""
    if isinstance(condition, Value):
        cx.fail("gr.static_assert takes a constant", found=condition.describe())
    if not condition:
        cx.fail(message)


@builtin("gr.cdiv")
def cdiv(cx: Context, a: object, b: object) -> object:
    """``a / b`` rounded up, for non-negative integers."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    if isinstance(a, HostExpression) or isinstance(b, HostExpression):
        return host_binary(
            cx, ast.FloorDiv(), host_binary(cx, ast.Add(), a, host_binary(cx, ast.Sub(), b, 1)), b
        )
    if isinstance(a, Scalar) or isinstance(b, Scalar):
        return ceil_div(cx, a, b)
    cx.fail("gr.cdiv takes integers", found=f"{cx.describe(a)} and {cx.describe(b)}")
