"""Outer names that a program depends on, as places that the extension compares before each launch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import BuiltinMethodType, CellType, ModuleType
from typing import Any

from girih.lang.function import OuterNames

# A dict or a cell of a closure, the name in the dict, and the object that is found there.
Guard = tuple[CellType | dict[str, Any], str, Any]


def guards_of(captured: dict[tuple[Callable[[str], Any], str], Any]) -> list[Guard] | None:
    """The places of captured names with what is there now, which is equal to what was captured; None if one
    of them is computed each time somebody asks."""
    guards = []
    for look_up, name in captured:
        container = _container(look_up, name)
        if container is None:
            return None
        guards.append((container, name, look_up(name)))
    return guards


def _container(look_up: Callable[[str], Any], name: str) -> CellType | dict[str, Any] | None:
    if isinstance(look_up, OuterNames):
        return look_up.container(name)
    # A module's attribute.
    if isinstance(look_up, partial) and look_up.func is getattr:
        owner = look_up.args[0]
        if isinstance(owner, ModuleType) and name in vars(owner):
            return vars(owner)
    if isinstance(look_up, BuiltinMethodType) and isinstance(look_up.__self__, dict):
        return look_up.__self__
    return None
