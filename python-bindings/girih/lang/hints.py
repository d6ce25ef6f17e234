"""Hints to the compiler: how a tile-level kernel should be carried out. Left out, passes choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.lang.context import Context

# Hint: what it must be, in words, and the values that are taken.
_INTEGERS = {
    "warps": ("4, 8, 12 or 16 warps: whole warpgroups", (4, 8, 12, 16)),
    "stages": ("1 to 16 slots of each ring", range(1, 17)),
}


def check_hints(cx: Context, hints: dict[str, object]) -> dict[str, int]:
    """The hints, or the user's error."""
    checked = {}
    for name, value in hints.items():
        if name not in _INTEGERS:
            cx.fail(f"there is no hint '{name}'", expected=" or ".join(_INTEGERS), found=name)
        words, allowed = _INTEGERS[name]
        if value is None:
            continue
        if type(value) is not int or value not in allowed:
            cx.fail(
                f"the hint '{name}' cannot be followed", expected=words, found=cx.describe(value)
            )
        checked[name] = value
    return checked


def hints_text(hints: dict[str, int]) -> list[str]:
    """The attribute of the kernel that holds them, if there are any."""
    if not hints:
        return []
    pairs = ", ".join(f"{name} = {value} : i32" for name, value in sorted(hints.items()))
    return [f"girih.hints = {{{pairs}}}"]
