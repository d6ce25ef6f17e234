"""Loops and branches on the device: which names they carry, and the text around their bodies.

A loop's body is emitted twice. The first, discarded, emission tells which names the body assigns
(cursors of rings, which have no name, among them); only those are carried. So the same rule serves
every kind of loop and no separate analysis has to agree with the emission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from girih.dtypes import b1, f32, i32
from girih.lang.builder import Block
from girih.lang.scalars import to_scalar
from girih.lang.values import Scalar, Value

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


@dataclass
class LoopForm:
    """How one kind of loop is written.

    ``head`` is the text before the carried values and ``tail`` the one after their types; ``own`` are
    (name hint, type, what to do with the result) of results that the loop has besides the carried ones.
    """

    head: str
    tail: str
    terminator: str
    own: tuple[tuple[str, str, Callable[[str], None]], ...] = ()


def carried_value(cx: Context, name: str, value: object) -> Value:
    """``value`` as something that a loop can carry; constants become scalars."""
    if isinstance(value, Value):
        return value
    if isinstance(value, bool):
        return to_scalar(cx, value, b1)
    if isinstance(value, int):
        return to_scalar(cx, value, i32)
    if isinstance(value, float):
        return to_scalar(cx, value, f32)
    cx.fail(
        f"'{name}' changes in a loop or branch on the device but is not a number or tile",
        expected="a number, a tile, or the same constant everywhere",
        found=cx.describe(value),
    )


def assigned_names(visitor: Visitor, emit: Callable[[], None]) -> list[str]:
    """Names that stand for something else after ``emit``; what it emitted is thrown away."""
    builder = visitor.cx.builder
    before = dict(visitor.names)
    outer, builder.block = builder.block, Block(builder.block.depth)
    with visitor.device_control_flow():
        emit()
    after, visitor.names = visitor.names, before
    builder.block = outer
    return [
        name for name, value in before.items() if after.get(name) is not value
    ] + visitor.new_cursors(before, after)


def merge_check(cx: Context, name: str, expected: Value, found: object, where: str) -> Value:
    """The value that ``name`` has at the end of a body, or an error where its kind changed."""
    value = found if isinstance(found, Value) else carried_value(cx, name, found)
    if not expected.same_kind(value):
        cx.fail(
            f"'{name}' changes its type {where}",
            expected=expected.describe(),
            found=value.describe(),
        )
    return value


def emit_loop(visitor: Visitor, form: LoopForm, body: Callable[[], None]) -> None:
    """Emits a loop around ``body``, carrying what it assigns; ``body`` binds the loop's own names."""
    cx = visitor.cx
    builder = cx.builder
    names = assigned_names(visitor, body)
    initial = {name: carried_value(cx, name, visitor.lookup_carried(name)) for name in names}

    inits, types, arguments, results = [], [], [], []
    inside: dict[str, Any] = dict(visitor.names)
    outside: dict[str, Any] = {}
    for name, value in initial.items():
        hint = "".join(c if c.isalnum() else "_" for c in name).strip("_")
        own_arguments, own_results = [], []
        for ssa, type_ in value.flatten(cx):
            argument = builder.fresh(hint)
            own_arguments.append(argument)
            own_results.append(builder.fresh(hint))
            inits.append(f"{argument} = {ssa}")
            types.append(type_)
        arguments += own_arguments
        results += own_results
        inside[name] = value.rebuild(own_arguments)
        outside[name] = value.rebuild(own_results)

    own_results = [builder.fresh(hint) for hint, _, _ in form.own]
    all_results = own_results + results
    text = f"{', '.join(all_results)} = " if all_results else ""
    text += form.head
    if inits:
        text += f" iter_args({', '.join(inits)}) -> ({', '.join(types)})"

    after = dict(visitor.names)
    with builder.region(text + form.tail), visitor.device_control_flow():
        visitor.names = inside
        body()
        yields, yield_types = [], []
        for name, value in initial.items():
            final = merge_check(
                cx, name, value, visitor.names[name], "from one iteration to the next"
            )
            for ssa, type_ in final.flatten(cx):
                yields.append(ssa)
                yield_types.append(type_)
        if yields:
            builder.line(f"{form.terminator} {', '.join(yields)} : {', '.join(yield_types)}")
    visitor.names = after
    visitor.names.update(outside)
    for (_, _, bind), result in zip(form.own, own_results, strict=True):
        bind(result)


def emit_if(
    visitor: Visitor, condition: Scalar, then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """Emits scf.if; names that either branch assigns are merged."""
    cx = visitor.cx
    builder = cx.builder
    names = list(dict.fromkeys(assigned_names(visitor, then) + assigned_names(visitor, otherwise)))
    start = dict(visitor.names)
    for name in names:
        start[name] = carried_value(cx, name, visitor.lookup_carried(name))

    results: dict[str, list[str]] = {}
    types: list[str] = []
    for name in names:
        flat = start[name].flatten(cx)
        results[name] = [builder.fresh(name.strip("%")) for _ in flat]
        types += [type_ for _, type_ in flat]
    flat_results = [ssa for group in results.values() for ssa in group]
    head = f"{', '.join(flat_results)} = " if flat_results else ""
    head += f"scf.if {condition.name}" + (f" -> ({', '.join(types)})" if types else "")

    def branch(emit: Callable[[], None]) -> None:
        visitor.names = dict(start)
        with visitor.device_control_flow():
            emit()
        yields = []
        for name in names:
            final = merge_check(cx, name, start[name], visitor.names[name], "in one branch only")
            yields += [ssa for ssa, _ in final.flatten(cx)]
        if yields:
            builder.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")

    with builder.region(head):
        branch(then)
    builder.block.lines.pop()  # the closing line: "} else {" takes its place
    with builder.region("} else"):
        branch(otherwise)
    visitor.names = dict(start)
    for name in names:
        visitor.names[name] = start[name].rebuild(results[name])
