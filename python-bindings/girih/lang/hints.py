"""Hints to the compiler: how a tile-level kernel should be carried out. Left out, passes choose.

They are said in ``gr.tiles(...)`` or in ``@gr.kernel(...)``; both mean the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from girih.lang.builder import quoted

if TYPE_CHECKING:
    from girih.lang.context import Context

# Hint: what it must be, in words, and the values that are taken.
_HINTS = {
    "warps": ("4, 8, 12 or 16 warps: whole warpgroups", (4, 8, 12, 16)),
    "stages": ("1 to 16 slots of each ring", range(1, 17)),
    "roles": (
        '"cooperative" (warpgroups share each tile) or "pingpong" (they take every other one)',
        ("cooperative", "pingpong"),
    ),
}


def join_hints(cx: Context, hints: dict[str, object]) -> tuple[object, dict[str, int | str]]:
    """What gr.tiles says together with what ``@gr.kernel`` says: the cluster (None without), and the hints to the
    passes. Fails if the two contradict each other."""
    checked = check_hints(cx, {name: value for name, value in hints.items() if name != "cluster"})
    cluster = hints["cluster"]
    cx.hints_location = cx.builder.location()
    if checked:
        cx.hints_place = cx.places()[0]
    for name, value in cx.kernel_hints.items():
        said = hints.get(name)
        if value is None or said == value:
            continue
        if said is not None:
            cx.fail(
                f"the hint '{name}' is said twice, and not in the same way",
                expected=f"{name}={cx.describe(value)}, as @gr.kernel says, or one of the two alone",
                found=f"{name}={cx.describe(said)}",
            )
        with _at_decorator(cx, name):
            if not checked and cluster is None:
                cx.hints_location = cx.builder.location()
            if name == "cluster":
                cluster = value
            else:
                checked |= check_hints(cx, {name: value})
                cx.hints_place = cx.hints_place or cx.places()[0]
    return cluster, checked


@contextmanager
def _at_decorator(cx: Context, name: str) -> Iterator[None]:
    """Errors belong to the decorator that says a hint meanwhile."""
    for decorator in cx.decorators if cx.depth() == 1 else []:
        if isinstance(decorator, ast.Call) and name in [k.arg for k in decorator.keywords]:
            with cx.at(decorator):
                yield
            return
    yield


def check_hints(cx: Context, hints: dict[str, object]) -> dict[str, int | str]:
    """The hints, or the user's error."""
    checked: dict[str, int | str] = {}
    for name, value in hints.items():
        if name not in _HINTS:
            names = f"{', '.join(_HINTS)} or cluster"
            cx.fail(f"there is no hint '{name}'", expected=names, found=name)
        words, allowed = _HINTS[name]
        if value is None:
            continue
        if type(value) not in (int, str) or value not in allowed:
            cx.fail(
                f"the hint '{name}' cannot be followed", expected=words, found=cx.describe(value)
            )
        checked[name] = value  # type: ignore[assignment]
    return checked


def hints_text(cx: Context) -> list[str]:
    """The attribute of a kernel at tile level that holds its hints, and where they and the cluster were said."""
    if not cx.hints and cx.cluster == 1:
        return []
    pairs = [
        f"{name} = {quoted(value) if isinstance(value, str) else f'{value} : i32'}"
        for name, value in sorted(cx.hints.items())
    ]
    return [f"girih.hints = {{{', '.join([f'at = {cx.hints_location}', *pairs])}}}"]
