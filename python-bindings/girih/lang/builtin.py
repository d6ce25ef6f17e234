"""Functions that mean something inside kernels only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from girih.errors import GirihError

if TYPE_CHECKING:
    from girih.lang.context import Context

F = TypeVar("F", bound=Callable[..., Any])


class Builtin:
    """A function of the kernel language. ``emit`` takes the context first, then the user's arguments."""

    def __init__(self, name: str, emit: Callable[..., Any]) -> None:
        self.name = name
        self.emit = emit
        functools.update_wrapper(self, emit)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GirihError(f"{self.name} works inside a @girih.kernel function only")

    def call(self, cx: Context, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Emits a call."""
        return call_checked(cx, self.name, self.emit, args, kwargs)


class DecoratorBuiltin(Builtin):
    """A builtin that stands above a function inside a kernel, as ``wg.role`` does."""

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Callable[[F], F]: ...


def call_checked(
    cx: Context, name: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Calls ``function(cx, ...)``; a wrong number or name of arguments is the user's error."""
    # A method's signature is that of its function, which is the same for all objects.
    plain: Callable[..., Any] = getattr(function, "__func__", function)
    own = () if plain is function else (function.__self__,)  # type: ignore[attr-defined]
    shape = _shape(plain)
    if not shape.surely_takes(len(own) + 1 + len(args), kwargs):
        try:
            shape.signature.bind(*own, cx, *args, **kwargs)
        except TypeError as error:
            parameters = [
                str(p).split(":")[0].split(" =")[0]
                for p in list(shape.signature.parameters.values())[len(own) + 1 :]
            ]
            cx.fail(f"{name}: {error}", expected=f"{name}({', '.join(parameters)})")
    return plain(*own, cx, *args, **kwargs)


class _Shape:
    """What arguments a function takes. ``inspect`` binds them slowly; most calls are of a simple form."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.signature = inspect.signature(function)
        parameters = self.signature.parameters.values()
        self._places = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        self._names = {*self._places, *by_name}
        self._required = {p.name for p in parameters if p.default is p.empty}
        self._simple = len(self._places) + len(by_name) == len(parameters)

    def surely_takes(self, count: int, kwargs: dict[str, Any]) -> bool:
        """Whether ``count`` arguments by place and ``kwargs`` by name fit; false if that takes a closer look."""
        if not self._simple or count > len(self._places):
            return False
        given = {*self._places[:count], *kwargs}
        return (
            len(given) == count + len(kwargs) and given <= self._names and self._required <= given
        )


_shape = functools.cache(_Shape)


def decorator_builtin(name: str) -> Callable[[Callable[..., Any]], DecoratorBuiltin]:
    """Declares a function of the kernel language that is used as a decorator."""
    return lambda emit: DecoratorBuiltin(name, emit)


def builtin(name: str) -> Callable[[Callable[..., Any]], Builtin]:
    """Declares a function of the kernel language under its public name."""
    return lambda emit: Builtin(name, emit)
