"""Helper functions: ``@girih.function``, inlined at each call with both places kept."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CellType
from typing import TYPE_CHECKING, Any

from girih.errors import CompileError, GirihError
from girih.lang.source import Definition, Source

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor

MAX_DEPTH = 64


class OuterNames:
    """Looks a name up where Python would: closure, then globals. Raises KeyError."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._cells = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
        self._globals = function.__globals__

    def __call__(self, name: str) -> Any:
        if name not in self._cells:
            return self._globals[name]
        try:
            return self._cells[name].cell_contents
        except ValueError:  # assigned later: not a constant yet
            raise KeyError(name) from None

    def container(self, name: str) -> CellType | dict[str, Any]:
        """Where the name is found: a cell of the closure or the globals."""
        return self._cells.get(name, self._globals)


def outer_names(function: Callable[..., Any]) -> OuterNames:
    """Looks names up for a function."""
    return OuterNames(function)


class DeviceFunction:
    """A function that kernels call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.definition = Definition(function)
        self.function = self.definition.function
        self._outer = outer_names(self.function)
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GirihError(f"{self.function.__name__} is a @girih.function: call it from a kernel")

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def bound(self, cx: Context, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by parameter."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            cx.fail(f"{self.function.__name__}: {error}")
        bound.apply_defaults()
        if cx.depth() >= MAX_DEPTH:
            cx.fail(
                f"helper functions call each other more than {MAX_DEPTH} deep",
                help="kernels cannot recurse",
            )
        return bound.arguments

    def inline(self, visitor: Visitor, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Emits the body in place of a call."""
        cx = visitor.cx
        arguments = self.bound(cx, args, kwargs)
        source = Source(self.definition)
        statements = source.definition.body
        if (early := self.definition.early_return) is not None:
            cx.enter_source(source, early)
            with cx.at(early):
                cx.fail("return must be the last statement of a helper function")
        cx.enter_source(source, source.definition)
        with visitor.function_scope(arguments, self._outer):
            visitor.body(statements)
            result = visitor.result
        cx.leave_source()
        return result


def function(definition: Callable[..., Any]) -> DeviceFunction:
    """Declares a helper that kernels call; it is inlined, and errors show both lines."""
    if not inspect.isfunction(definition):
        raise CompileError(f"@girih.function takes a function, found {type(definition).__name__}")
    return DeviceFunction(definition)
