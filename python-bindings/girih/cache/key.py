"""What of a kernel and a call shapes the binary, as text that is the same in every process.

Computed without running the front end, so it holds everything that the front end could look at: the text of the
kernel, whatever its names stand for outside of it, and so on for helpers and modules. A name that the front end
would not have looked at costs a compilation too many, never a wrong kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType
from girih.lang.builtin import Builtin
from girih.lang.cuda import CudaFunction
from girih.lang.function import DeviceFunction, outer_names
from girih.lang.passed import LambdaDefinition, PassedFunction, as_constant
from girih.lang.source import Definition
from girih.lang.visitor import is_constant

if TYPE_CHECKING:
    from girih.lang.module import Parameter

# The outer names that a kernel may read: how to look each up, the name, and what it stood for.
Captured = dict[tuple[Callable[[str], Any], str], Any]

# Modules whose text is part of the toolchain's identity.
_OURS = "girih"
_USER_CODE = "girih.kernels"


class Inputs:
    """Collects a kernel's inputs. ``parts`` are labelled texts; ``definitions`` the functions whose texts are
    among them, in an order that the texts determine; ``captured`` the constants outside of them."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, str]] = []
        self.definitions: list[Definition] = []
        self.captured: Captured = {}
        self._numbers: dict[int, int] = {}  # of functions
        self._attributes: set[tuple[str, str]] = set()

    def add(self, label: str, text: str) -> None:
        """Adds an input; labels say in the log what changed."""
        self.parts.append((label, text))

    def kernel(
        self, definition: Definition, parameters: Iterable[Parameter], signature: dict[str, Any]
    ) -> None:
        """Adds a kernel, what it reaches, and what a call's arguments say."""
        self.function(definition)
        for parameter in parameters:
            self.add(
                f"the annotation of '{parameter.name}'",
                f"{parameter.annotation!r} {parameter.optional}",
            )
        for name, value in definition.hints.items():
            self.add(f"hint '{name}'", self.describe(f"hint '{name}'", value, ()))
        for name, value in signature.items():
            self.add(f"argument '{name}'", self.describe(f"argument '{name}'", value, ()))

    def function(self, definition: Definition) -> str:
        """Adds a function and what its names stand for; returns what identifies it among the inputs."""
        function = definition.function
        if id(function) in self._numbers:
            return f"function {self._numbers[id(function)]}"
        number = self._numbers[id(function)] = len(self.definitions)
        self.definitions.append(definition)  # which keeps the function, and so its id
        code = function.__code__
        text = definition.body_text()
        if isinstance(definition, LambdaDefinition):
            # Several may stand in one line.
            text += repr(list(code.co_positions())) + repr(code.co_varnames)
        self.add(f"the source of '{definition.name}'", text)
        names = _names(code)
        defaults = (function.__defaults__ or (), *(function.__kwdefaults__ or {}).items())
        self.add(f"defaults of '{definition.name}'", self.describe("", defaults, names))
        look_up = outer_names(function)
        for name in names:
            try:
                value = look_up(name)
            except KeyError:  # a name of Python's, an attribute or not defined
                continue
            self._outer(f"'{name}' in '{definition.name}'", look_up, name, value, names)
        return f"function {number}"

    def describe(self, label: str, value: Any, names: tuple[str, ...]) -> str:
        """A value as text; functions and modules that it leads to are added. ``names`` are those that the code
        around it uses: attributes of a module can only be among them."""
        if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
            value = PassedFunction(value)
        if isinstance(value, (bool, type(None), range)):
            return repr(value)
        if isinstance(value, float):
            return f"{_type(value)} {value.hex()}"
        if isinstance(value, int):
            return f"{_type(value)} {int(value)}"
        if isinstance(value, str):
            return f"{_type(value)} {str.__repr__(value)}"
        if isinstance(value, DType):
            return f"dtype {value.name}"
        if isinstance(value, tuple):
            # A named tuple has names for its elements.
            fields = getattr(value, "_fields", "")
            return f"{fields}({', '.join(self.describe(label, item, names) for item in value)})"
        if isinstance(value, PassedFunction | DeviceFunction):
            return f"{type(value).__name__} {self.function(value.definition)}"
        if isinstance(value, ModuleType):
            return self._module(value, names)
        if isinstance(value, CudaFunction):
            return f"CUDA C++ {value.key()}"
        if isinstance(value, Builtin):
            return f"builtin {value.name}"
        if isinstance(value, BuiltinFunctionType):
            return f"{value.__module__}.{value.__qualname__}"
        fields = getattr(value, "__dataclass_fields__", None)
        if fields is not None and not isinstance(value, type):
            items = ((name, getattr(value, name)) for name in fields)
            return f"{_type(value)} {[(n, self.describe(label, v, names)) for n, v in items]}"
        # Nothing that a kernel may use; the front end says so.
        return f"object of {_type(value)}"

    def _module(self, module: ModuleType, names: tuple[str, ...]) -> str:
        name = module.__name__
        if name.partition(".")[0] == _OURS and not name.startswith(_USER_CODE):
            return f"module {name}"
        for attribute in names:
            if (name, attribute) in self._attributes:
                continue
            self._attributes.add((name, attribute))
            try:
                # Not only what its dictionary holds: a module may make attributes when they are asked for.
                value = getattr(module, attribute)
            except AttributeError:
                continue
            look_up = functools.partial(getattr, module)
            self._outer(f"'{name}.{attribute}'", look_up, attribute, value, names)
        return f"module {name}"

    def _outer(
        self,
        label: str,
        look_up: Callable[[str], Any],
        name: str,
        value: Any,
        names: tuple[str, ...],
    ) -> None:
        self.add(label, self.describe(label, value, names))
        ours = isinstance(value, Builtin) and not isinstance(value, CudaFunction)
        if not ours and is_constant(as_constant(value)):
            self.captured[look_up, name] = value


def _names(code: CodeType) -> tuple[str, ...]:
    """All names in a function and the functions inside it that it does not bind itself, sorted."""
    found: set[str] = set()
    for inner in _codes(code):
        found.update(inner.co_names, inner.co_freevars)
    return tuple(sorted(found))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _type(value: object) -> str:
    kind = type(value)
    return (
        kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    )
