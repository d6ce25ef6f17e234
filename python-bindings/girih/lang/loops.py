"""Loops and branches on the device: which names they carry, and the text around their bodies.

A body is emitted twice. The first, discarded, emission (its rehearsal) tells which names the body assigns (cursors of
rings, which have no name, among them); only those are carried. So the same rule serves every kind of loop and no
separate analysis has to agree with the emission. What a rehearsal tells of the loops and branches inside is kept for
when they are emitted, so a nest is emitted twice, however deep it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from girih.dtypes import b1, f32, i32
from girih.lang.builder import Block
from girih.lang.scalars import to_scalar
from girih.lang.values import Elements, Scalar, Value

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


class _Fixed(Value):
    """A part of a tuple that a loop leaves as it is: an array, a text, a function."""

    def __init__(self, value: object) -> None:
        self.value = value

    def describe(self) -> str:
        return self.value.describe() if isinstance(self.value, Value) else repr(self.value)

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        return []

    def rebuild(self, names: list[str]) -> Any:
        return self.value

    def same_kind(self, other: object) -> bool:
        return isinstance(other, _Fixed) and other.value is self.value


class _Bundle(Value):
    """A tuple whose parts a loop carries."""

    def __init__(self, cx: Context, parts: list[Value]) -> None:
        self.parts = parts
        self.sizes = [len(part.flatten(cx)) for part in parts]

    def describe(self) -> str:
        return f"({', '.join(part.describe() for part in self.parts)})"

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        return [pair for part in self.parts for pair in part.flatten(cx)]

    def rebuild(self, names: list[str]) -> Any:
        left = iter(names)
        groups = [[next(left) for _ in range(size)] for size in self.sizes]
        return tuple(part.rebuild(group) for part, group in zip(self.parts, groups, strict=True))

    def same_kind(self, other: object) -> bool:
        return (
            isinstance(other, _Bundle)
            and len(self.parts) == len(other.parts)
            and all(a.same_kind(b) for a, b in zip(self.parts, other.parts, strict=True))
        )


def carried_value(cx: Context, name: str, value: object) -> Value:
    """``value`` as something that a loop can carry; constants become scalars."""
    if isinstance(value, tuple):
        return _Bundle(
            cx,
            [
                carried_value(cx, name, part)
                if isinstance(part, (tuple, Elements, bool, int, float))
                else _Fixed(part)
                for part in value
            ],
        )
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
        expected="a number, a tile, a tuple of them, or the same constant everywhere",
        found=cx.describe(value),
    )


@dataclass
class Outcome:
    """What the rehearsal of a loop or branch told: the names that stand for something else afterwards, those that
    are new and known afterwards, and the outcomes of what is inside, in order (None: nothing is known of it)."""

    where: str
    names: list[str]
    new: dict[str, Any]
    inside: list[Outcome] | None

    def with_names(self, late: list[str]) -> Outcome:
        """Where the emission changes more names than the rehearsal said: all is looked at anew."""
        return Outcome(self.where, self.names + late, self.new, None)


def foresee(visitor: Visitor, look: Callable[[], tuple[list[str], dict[str, Any]]]) -> Outcome:
    """The outcome of a loop or branch: known from the rehearsal of what it stands in, or else rehearsed by
    ``look``, which tells the names that change and those that are new."""
    where = visitor.cx.location()
    if visitor.foreseen is not None:
        outcome = next(visitor.foreseen, None)
        if outcome is not None and outcome.where == where:
            return outcome
        visitor.foreseen = None
    outer, visitor.outcomes = visitor.outcomes, []
    names, new = look()
    outcome = Outcome(where, names, new, visitor.outcomes)
    visitor.outcomes = outer
    if visitor.rehearsing:
        outer.append(outcome)
    return outcome


@contextmanager
def emission(visitor: Visitor, outcome: Outcome) -> Iterator[None]:
    """The body that was rehearsed is emitted meanwhile; names are the visitor's again afterwards."""
    names, foreseen = visitor.names, visitor.foreseen
    visitor.foreseen = None if outcome.inside is None else iter(outcome.inside)
    yield
    visitor.names, visitor.foreseen = names, foreseen


def unforeseen(visitor: Visitor, before: dict[str, Any], carried: dict[str, Value]) -> list[str]:
    """Names that stand for something else than before and are not among the carried ones."""
    after = visitor.names
    return [
        name for name, value in before.items() if after[name] is not value and name not in carried
    ] + [name for name in visitor.new_cursors(before, after) if name not in carried]


def assigned_names(visitor: Visitor, emit: Callable[[], None]) -> list[str]:
    """Names that stand for something else after an iteration; what it emitted is thrown away.

    A name that was a constant before the loop is none in it. What a constant decided at first is then decided
    on the device, so the iteration is rehearsed again with such names as scalars, until there are no new ones.
    """
    before = dict(visitor.names)
    names: list[str] = []
    while True:
        visitor.outcomes.clear()
        found = [name for name in rehearse(visitor, emit)[0] if name not in names]
        names += found
        constants = [n for n in found if n in before and not isinstance(before[n], Value)]
        if not constants:
            visitor.names = before
            return names
        _replace(visitor, {name: _kind(visitor.cx, visitor, name) for name in constants})


def rehearse(visitor: Visitor, emit: Callable[[], None]) -> tuple[list[str], dict[str, Any]]:
    """Emits and throws away: names that stand for something else afterwards, and names that are new."""
    builder = visitor.cx.builder
    before = dict(visitor.names)
    outer, builder.block = builder.block, Block(builder.block.depth, kept=False)
    with visitor.device_control_flow(), visitor.rehearsal():
        emit()
    after, visitor.names = visitor.names, before
    builder.block = outer
    changed = [name for name, value in before.items() if after.get(name) is not value]
    new = {name: after[name] for name in after if name not in before and not name.startswith("%")}
    visitor.inner_names.update(new)
    return changed + visitor.new_cursors(before, after), new


def _kind(cx: Context, visitor: Visitor, name: str) -> Value:
    return carried_value(cx, name, visitor.lookup_carried(name))


def _replace(visitor: Visitor, kinds: dict[str, Value]) -> None:
    """In a rehearsal: names stand for something else of the same kind, and nothing is emitted a second time.
    So a nest of loops is emitted once for each of its levels, not twice for each."""
    for name, kind in kinds.items():
        made = [visitor.cx.builder.fresh() for _ in kind.flatten(visitor.cx)]
        visitor.names[name] = kind.rebuild(made)


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
    outcome = foresee(visitor, lambda: (assigned_names(visitor, body), {}))
    if visitor.rehearsing:
        _replace(visitor, {name: _kind(cx, visitor, name) for name in outcome.names})
        for hint, _, bind in form.own:
            bind(cx.builder.fresh(hint))
        return
    while late := _emit_loop(visitor, form, body, outcome):
        outcome = outcome.with_names(late)


def _emit_loop(
    visitor: Visitor, form: LoopForm, body: Callable[[], None], outcome: Outcome
) -> list[str]:
    """Emits the loop, or nothing if the body changes more names than are carried: these."""
    cx = visitor.cx
    builder = cx.builder
    initial = {
        name: carried_value(cx, name, visitor.lookup_carried(name)) for name in outcome.names
    }

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

    start = len(builder.block.lines)
    with (
        builder.region(text + form.tail),
        visitor.device_control_flow(),
        emission(visitor, outcome),
    ):
        visitor.names = dict(inside)
        body()
        late = unforeseen(visitor, inside, initial)
        if not late:
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
    if late:
        del builder.block.lines[start:]
        return late
    visitor.names.update(outside)
    for (_, _, bind), result in zip(form.own, own_results, strict=True):
        bind(result)
    return []


def emit_if(
    visitor: Visitor, condition: Scalar, then: Callable[[], None], otherwise: Callable[[], None]
) -> None:
    """Emits scf.if; names that either branch assigns are merged, and new ones that both assign."""

    def look() -> tuple[list[str], dict[str, Any]]:
        then_changes, then_new = rehearse(visitor, then)
        else_changes, else_new = rehearse(visitor, otherwise)
        # What only one branch names, or what cannot be merged, is not known afterwards.
        new = {
            name: value
            for name, value in then_new.items()
            if name in else_new and isinstance(value, (Elements, bool, int, float, tuple))
        }
        return list(dict.fromkeys(then_changes + else_changes)), new

    outcome = foresee(visitor, look)
    if visitor.rehearsing:
        _replace(visitor, _kinds(visitor, outcome))
        return
    while late := _emit_if(visitor, condition, then, otherwise, outcome):
        outcome = outcome.with_names(late)


def _kinds(visitor: Visitor, outcome: Outcome) -> dict[str, Value]:
    """What the names that a branch changes are after it."""
    kinds = {name: _kind(visitor.cx, visitor, name) for name in outcome.names}
    return kinds | {
        name: carried_value(visitor.cx, name, value) for name, value in outcome.new.items()
    }


def _emit_if(
    visitor: Visitor,
    condition: Scalar,
    then: Callable[[], None],
    otherwise: Callable[[], None],
    outcome: Outcome,
) -> list[str]:
    """Emits the branch, or nothing if it changes more names than are merged: these."""
    cx = visitor.cx
    builder = cx.builder
    kinds = _kinds(visitor, outcome)
    start = visitor.names | {name: kinds[name] for name in outcome.names}
    results: dict[str, list[str]] = {}
    types: list[str] = []
    for name, kind in kinds.items():
        flat = kind.flatten(cx)
        results[name] = [builder.fresh(name.strip("%")) for _ in flat]
        types += [type_ for _, type_ in flat]
    flat_results = [ssa for group in results.values() for ssa in group]
    head = f"{', '.join(flat_results)} = " if flat_results else ""
    head += f"scf.if {condition.name}" + (f" -> ({', '.join(types)})" if types else "")

    def branch(emit: Callable[[], None]) -> list[str]:
        visitor.names = dict(start)
        emit()
        late = unforeseen(visitor, start, kinds)
        if late:
            return late
        yields = []
        for name, kind in kinds.items():
            final = merge_check(cx, name, kind, visitor.names[name], "in one branch only")
            yields += [ssa for ssa, _ in final.flatten(cx)]
        if yields:
            builder.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")
        return []

    begin = len(builder.block.lines)
    with visitor.device_control_flow(), emission(visitor, outcome):
        with builder.region(head):
            late = branch(then)
        builder.block.lines.pop()  # the closing line: "} else {" takes its place
        with builder.region("} else"):
            late += branch(otherwise)
    if late:
        del builder.block.lines[begin:]
        return late
    visitor.names = start
    for name, kind in kinds.items():
        visitor.names[name] = kind.rebuild(results[name])
    return []


def emit_while(visitor: Visitor, condition: Callable[[], Any], body: Callable[[], None]) -> None:
    """Emits scf.while: the condition is evaluated before each iteration, on the names as they are then."""
    cx = visitor.cx

    def iteration() -> None:
        condition()
        body()

    outcome = foresee(visitor, lambda: (assigned_names(visitor, iteration), {}))
    if visitor.rehearsing:
        _replace(visitor, {name: _kind(cx, visitor, name) for name in outcome.names})
        return
    while late := _emit_while(visitor, condition, body, outcome):
        outcome = outcome.with_names(late)


def _emit_while(
    visitor: Visitor, condition: Callable[[], Any], body: Callable[[], None], outcome: Outcome
) -> list[str]:
    """Emits the loop, or nothing if it changes more names than are carried: these."""
    cx = visitor.cx
    builder = cx.builder
    names = outcome.names
    initial = {name: carried_value(cx, name, visitor.lookup_carried(name)) for name in names}

    def names_for(arguments: dict[str, list[str]]) -> dict[str, Any]:
        """The visitor's names where the carried ones are held by these."""
        return visitor.names | {name: initial[name].rebuild(arguments[name]) for name in names}

    def fresh() -> dict[str, list[str]]:
        return {
            name: [builder.fresh(name.strip("%")) for _ in value.flatten(cx)]
            for name, value in initial.items()
        }

    tested, inside, results = fresh(), fresh(), fresh()
    flat = [pair for value in initial.values() for pair in value.flatten(cx)]
    types = ", ".join(type_ for _, type_ in flat)

    def all_of(groups: dict[str, list[str]]) -> list[str]:
        return [ssa for group in groups.values() for ssa in group]

    text = f"{', '.join(all_of(results))} = " if flat else ""
    inits = ", ".join(f"{a} = {init}" for a, (init, _) in zip(all_of(tested), flat, strict=True))
    text += f"scf.while ({inits}) : ({types}) -> ({types})" if flat else "scf.while : () -> ()"
    start = len(builder.block.lines)
    before, held = names_for(tested), names_for(inside)
    with visitor.device_control_flow(), emission(visitor, outcome):
        with builder.region(text):
            visitor.names = dict(before)
            goes_on = condition()
            if not isinstance(goes_on, Scalar):
                cx.fail(
                    "the condition of a while loop is decided on the device",
                    expected="a scalar",
                    found=cx.describe(goes_on),
                    help="a loop of constants is unrolled by gr.static_range",
                )
            late = unforeseen(visitor, before, initial)
            carried = f" {', '.join(all_of(tested))} : {types}" if flat else ""
            builder.line(f"scf.condition({goes_on.name}){carried}")
        builder.block.lines.pop()  # the closing line: "} do {" takes its place
        with builder.region("} do"):
            visitor.names = dict(held)
            if flat:
                arguments = ", ".join(
                    f"{a}: {type_}" for a, (_, type_) in zip(all_of(inside), flat, strict=True)
                )
                builder.block.lines.append(f"^bb0({arguments}):")
            body()
            late += unforeseen(visitor, held, initial)
            if not late:
                yields = []
                for name, value in initial.items():
                    final = merge_check(
                        cx, name, value, visitor.names[name], "from one iteration to the next"
                    )
                    yields += [ssa for ssa, _ in final.flatten(cx)]
                builder.line(f"scf.yield {', '.join(yields)} : {types}" if flat else "scf.yield")
    if late:
        del builder.block.lines[start:]
        return late
    visitor.names = names_for(results)
    return []
