"""Integer expressions for the host plan, and the plan's text.

What decides a launch (grid, tensor maps) is computed on the host, before the kernel runs, from
shapes, constants and device queries; nothing else is allowed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from girih.lang.values import Value

if TYPE_CHECKING:
    from girih.lang.context import Context

_OPS = {
    ast.Add: "arith.addi",
    ast.Sub: "arith.subi",
    ast.Mult: "arith.muli",
    ast.FloorDiv: "arith.divsi",
    ast.Mod: "arith.remsi",
}


WORKSPACE = "!plan.workspace"


class HostExpression(Value):
    """A number known on the host at the call: ``gr.sms()`` and arithmetic on it."""

    def __init__(self, op: str, operands: tuple[HostExpression | int, ...] = ()) -> None:
        self.op = op
        self.operands = operands

    def describe(self) -> str:
        return "a number known at the launch"


def host_binary(cx: Context, op: ast.operator, left: object, right: object) -> HostExpression:
    """Arithmetic between host expressions and Python integers."""
    sides = []
    for side in (left, right):
        side = getattr(side, "host", None) or side  # a scalar whose value the host knows as well
        if not isinstance(side, HostExpression) and type(side) is not int:
            cx.fail("the launch may use integers and gr.sms() only", found=cx.describe(side))
        if type(side) is int and abs(side) >= 1 << 31:
            cx.fail("the integer is too large for a launch", found=str(side))
        sides.append(side)
    if type(op) not in _OPS:
        cx.fail(
            f"'{type(op).__name__}' is not available for numbers of the launch",
            expected="+, -, *, // or %",
        )
    return HostExpression(_OPS[type(op)], tuple(sides))


def _host_sides(values: Iterable[object]) -> list[HostExpression | int] | None:
    """The values as the host computes them, or None where only the device can."""
    sides = [value if type(value) is int else getattr(value, "host", None) for value in values]
    return None if any(side is None for side in sides) else sides  # type: ignore[return-value]


def host_twin(op: ast.operator, left: object, right: object) -> HostExpression | None:
    """``left op right`` for the host plan, where the host knows both sides of an operation on the device."""
    return host_op(_OPS[type(op)], left, right) if type(op) in _OPS else None


def host_op(name: str, left: object, right: object) -> HostExpression | None:
    """An operation of the host plan on two values, or None where only the device knows one of them."""
    sides = _host_sides((left, right))
    return None if sides is None else HostExpression(name, tuple(sides))


def host_extremum(which: str, values: list[object]) -> HostExpression | None:
    """``min`` or ``max`` for the host plan, where the host knows all values."""
    sides = _host_sides(values)
    if sides is None:
        return None
    result = sides[0]
    for side in sides[1:]:
        result = HostExpression(f"arith.{which}si", (result, side))
    return result if isinstance(result, HostExpression) else None


@dataclass
class HostPlan:
    """Writes the plan.host op of a kernel: one line per step, each distinct value once."""

    cx: Context
    lines: list[str] = field(default_factory=list)
    _values: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def step(self, text: str) -> str:
        """Adds ``%h = text`` once and returns its name."""
        if text not in self._values:
            self._values[text] = self._add(text)
        return self._values[text]

    def _add(self, text: str) -> str:
        name = f"%h.{self._count}"  # the dot: no parameter is called so
        self._count += 1
        self.lines.append(f"{name} = {text} {self.cx.builder.location()}")
        return name

    def effect(self, text: str) -> None:
        """Adds a step without a value."""
        self.lines.append(f"{text} {self.cx.builder.location()}")

    def constant(self, value: int) -> str:
        """An i64 constant."""
        return self.step(f"arith.constant {value} : i64")

    def binary(self, op: str, left: str, right: str) -> str:
        """An i64 operation of the arith dialect."""
        return self.step(f"{op} {left}, {right} : i64")

    def expression(self, value: HostExpression | int) -> str:
        """The steps of a host expression."""
        if isinstance(value, int):
            return self.constant(value)
        if not value.operands:
            return self.step(value.op)
        left, right = (self.expression(operand) for operand in value.operands)
        return self.binary(value.op, left, right)

    def workspace(self, bytes_: HostExpression | int, *, zero: bool = False) -> str:
        """Scratch memory that lives until the launches of the call have run, cleared first if ``zero``.

        Each call is memory of its own, also for equal sizes. A kernel takes it as a pointer:
        ``cx.device_argument(name, "!llvm.ptr<1>", memory, WORKSPACE)``.
        """
        size = self.expression(bytes_)
        attributes = " {zero}" if zero else ""
        return self._add(f"plan.workspace {size}{attributes} : {WORKSPACE}")

    def launch(
        self, kernel: str, grid: Sequence[str], arguments: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Launches ``kernel`` (a symbol) on up to three extents with (value, type) arguments. Launches run one
        after the other; each sees what those before it wrote."""
        extents = [*grid, *[self.constant(1)] * (3 - len(grid))]
        names = ", ".join(value for value, _ in arguments)
        types = ", ".join(type_ for _, type_ in arguments)
        passed = f" args({names}) : {types}" if arguments else ""
        self.effect(f"plan.launch {kernel} grid({', '.join(extents)}){passed}")

    def require(
        self, predicate: str, left: str, right: str, message: str, values: tuple[str, ...]
    ) -> None:
        """The launch fails with ``message`` unless ``left predicate right``."""
        ok = self.step(f"arith.cmpi {predicate}, {left}, {right} : i64")
        self.effect(f"plan.require {ok}, {message}({', '.join(values)})")
