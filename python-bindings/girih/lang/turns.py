"""Turns among the warpgroups of a role: what ``wg.turns`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.lang.builder import quoted
from girih.lang.values import Value, method

if TYPE_CHECKING:
    from girih.lang.context import Context


class Turns(Value):
    """Whose turn it is; warpgroup 0 has the first."""

    def __init__(self, cx: Context, warpgroups: int) -> None:
        self.warpgroups = warpgroups
        self.mlir_type = f"!wg.turns<{warpgroups}>"
        name = cx.naming or "turns"
        self.name = cx.allocated(f"wg.turns {{name = {quoted(name)}}} : {self.mlir_type}", name)

    def describe(self) -> str:
        return f"turns among {self.warpgroups} warpgroups"

    def _emit(self, cx: Context, op: str) -> None:
        role = cx.current_role()
        if role.count != self.warpgroups:
            cx.fail(
                "the turns are those of another number of warpgroups",
                expected=f"a role of warpgroups={self.warpgroups}",
                found=f"role '{role.name}' of {role.count} warpgroups",
            )
        cx.builder.line(f"{op} {self.name} : {self.mlir_type}")

    @method
    def take(self, cx: Context) -> None:
        """Waits for the executing warpgroup's turn."""
        self._emit(cx, "wg.take_turn")

    @method
    def pass_on(self, cx: Context) -> None:
        """Ends the turn: the next warpgroup has it. What was issued meanwhile need not be done."""
        self._emit(cx, "wg.pass_turn")
