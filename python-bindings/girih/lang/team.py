"""``@wg.function``: roles in the middle of a kernel at tile level."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from girih.errors import CompileError, GirihError
from girih.lang.context import Role, RoleSpec
from girih.lang.function import DeviceFunction
from girih.lang.loops import carried_value
from girih.lang.source import Source
from girih.lang.values import Elements, Tile, Value

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


class Team:
    """One call of a wg function while it is emitted: its roles, and what one of them returns."""

    def __init__(self, visitor: Visitor, name: str) -> None:
        self.name = name
        self.depth = visitor.device_depth
        self.block = visitor.cx.builder.block.inner()
        self.roles: list[str] = []
        self.giver: str | None = None
        self.value: Value | None = None

    def emit_role(self, visitor: Visitor, node: ast.FunctionDef, spec: RoleSpec) -> None:
        """Emits one of the roles, which may return something."""
        cx = visitor.cx
        for statement in node.body[:-1]:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Return):
                    with cx.at(inner):
                        cx.fail("return must be the last statement of a role")
        self.roles.append(visitor.role_head(node, spec))
        visitor.emit_role(node, spec, self.block, lambda role: self._end(visitor, node, spec, role))

    def _end(self, visitor: Visitor, node: ast.FunctionDef, spec: RoleSpec, role: Role) -> None:
        """The end of a role: where its rings go on the next time, and its results."""
        cx, builder = visitor.cx, visitor.cx.builder
        for key, owner in role.owners.items():
            cursor = visitor.names.get(key, role.cursors[key][1])
            builder.line(f"wg.keep {owner.name}[{cursor.name}] : {owner.mlir_type}")
        if visitor.result is None:
            return
        with cx.at(node.body[-1]):
            if self.giver is not None:
                cx.fail(
                    f"two roles of {self.name} return something",
                    expected="one, which executes the rest of the kernel",
                    found=f"'{self.giver}' and '{node.name}'",
                )
            if not spec.warpgroups or spec.each:
                cx.fail(
                    "the role that returns something executes the rest of the kernel, too",
                    expected="a role declared with warpgroups=…, which work together",
                    found=f"role '{node.name}' of warps={spec.warps}"
                    if spec.warps
                    else f"role '{node.name}' with each=True",
                )
            self.giver = node.name
            self.value = carried_value(cx, "the result", _opened(cx, visitor.result))
            flat = self.value.flatten(cx)
            names, types = (", ".join(pair[i] for pair in flat) for i in (0, 1))
            builder.line(f"wg.give {names} : {types}")

    def close(self, cx: Context) -> Any:
        """Emits the op around the roles and gives what the call stands for."""
        if not self.roles:
            cx.fail(
                f"{self.name} has no roles",
                expected="functions under @wg.role(…), one of which returns something",
                help="a helper without roles is a @gr.function",
            )
        if self.value is None:
            cx.fail(
                f"no role of {self.name} returns anything",
                expected="a return at the end of the role that executes the rest of the kernel",
            )
        if cx.team_roles is None:
            cx.team_roles = self.roles
        if cx.team_roles != self.roles:
            cx.fail(
                f"{self.name} has other roles than the @wg.function called before",
                expected=", ".join(cx.team_roles),
                found=", ".join(self.roles),
                help="a kernel's warps are shared out once: all calls need the same roles, in this order",
            )
        builder = cx.builder
        flat = self.value.flatten(cx)
        names = [builder.fresh(self.name) for _ in flat]
        types = ", ".join(type_ for _, type_ in flat)
        builder.block.lines += [f"{', '.join(names)} = wg.team -> {types} {{", self.block]
        builder.block.lines.append(f"}} {builder.location()}")
        return self.value.rebuild(names)


def _opened(cx: Context, value: Any) -> Any:
    """Results as the tile level has them: finished tiles without a layout, and numbers."""
    if isinstance(value, tuple):
        return tuple(_opened(cx, part) for part in value)
    if isinstance(value, Tile):
        return value.ready(cx).opened(cx)
    if isinstance(value, (Elements, bool, int, float)):
        return value
    cx.fail(
        "a role returns what the tile level can use",
        expected="a tile, a number, or a tuple of them",
        found=cx.describe(value),
    )


class TeamFunction(DeviceFunction):
    """A function whose roles do a part of a kernel at tile level."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GirihError(f"{self.function.__name__} is a @wg.function: call it from a kernel")

    def inline(self, visitor: Visitor, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Emits the roles in place of a call."""
        cx, name = visitor.cx, self.function.__name__
        if cx.role is not None or visitor.team is not None or cx.roles:
            where = f"role '{cx.role.name}'" if cx.role else "a kernel that has roles"
            cx.fail(
                f"{name} is a @wg.function, which brings roles of its own",
                expected="a call from a kernel at tile level",
                found="a call in another @wg.function" if visitor.team else f"a call in {where}",
                help="what roles call is a @gr.function",
            )
        cx.tile_level()
        cx.product = cx.product or cx.places()[0]
        arguments = self.bound(cx, args, kwargs)
        source = Source(self.definition)
        cx.enter_source(source, source.definition)
        with visitor.function_scope(arguments, self._outer):
            team = visitor.team = Team(visitor, name)
            for statement in source.definition.body:
                with cx.at(statement):
                    if team.roles and not isinstance(statement, ast.FunctionDef):
                        cx.fail(
                            "nothing stands behind the roles of a @wg.function",
                            expected="roles last, one of which returns what the call gives",
                            found=ast.unparse(statement).splitlines()[0],
                        )
                    visitor.statement(statement)
            visitor.team = None
        result = team.close(cx)
        cx.leave_source()
        return result


def function(definition: Callable[..., Any]) -> TeamFunction:
    """Declares a function that kernels at tile level call for a part of their work, with roles of its own: its
    rings and roles are those of the kernel, and what one of its roles returns is what the call gives."""
    if not inspect.isfunction(definition):
        raise CompileError(f"@wg.function takes a function, found {type(definition).__name__}")
    return TeamFunction(definition)
