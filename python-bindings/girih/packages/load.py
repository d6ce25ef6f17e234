"""Calling the kernels of a package: no compiler is needed, nor started."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from typing import Any

from girih import _runtime
from girih._runtime import Entry
from girih.errors import GirihError, LaunchError
from girih.runtime import array as arrays


def load(source: str | os.PathLike[str] | bytes) -> Package:
    """The kernels of a package, from a file or from its bytes.

    Each is an attribute and is called as the kernel it was made of, without constants:
    ``girih.load("kernels.girih").matmul(a, b, c)``. Raises GirihError for a file that is damaged, was written
    by a newer girih, or cannot be read.
    """
    if isinstance(source, bytes):
        return Package(_runtime.Package(source))
    return Package(_runtime.Package.load(os.fspath(source)))


class Package(Mapping[str, "PackagedKernel"]):
    """The kernels of a package by name: as attributes, and as a mapping."""

    def __init__(self, package: _runtime.Package) -> None:
        self._package = package
        self._kernels = {kernel.name: PackagedKernel(kernel) for kernel in package.kernels}

    def __getattr__(self, name: str) -> PackagedKernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise AttributeError(
                f"the package has no kernel {name}: it has {', '.join(self._kernels) or 'none'}"
            ) from None

    def __getitem__(self, name: str) -> PackagedKernel:
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __repr__(self) -> str:
        return f"<package of {self._package.writer}: {', '.join(self._kernels)}>"


class PackagedKernel(Entry):
    """A kernel of a package, called as the one that it was made of. ``variants`` says what it was compiled for,
    ``compile(...)`` returns the program of the variant that a call takes."""

    def __init__(self, kernel: _runtime.PackagedKernel) -> None:
        super().__init__()
        self._kernel = kernel
        self.__name__ = kernel.name
        self.__doc__ = kernel.summary
        self.parameters = kernel.parameters
        self.variants = kernel.variants
        self.__signature__ = _signature(self.parameters)
        # Where shapes choose as well, a call says nothing about the next one.
        self._has_recipes = not any(variant["when"] for variant in self.variants)
        names = tuple(self.__signature__.parameters)
        defaults = tuple(p.default for p in self.__signature__.parameters.values())
        self._set_parameters(names, len(names), defaults, inspect.Parameter.empty)

    def _launch(self, ctas: Any, stream: Any, /, *args: Any, **kwargs: Any) -> None:
        """Runs the first variant that takes the arguments; the extension calls it for arguments that it has
        no recipe for.

        Raises LaunchError (arguments, with what each variant expects) or DeviceError (findings of the
        device).
        """
        from girih.runtime.launch import launch

        program, arguments, described = self._choose(args, kwargs)
        launch(program, [v for v in arguments if v is not None], stream=stream, ctas=ctas)
        if self._has_recipes:
            self._remember(program, [_kind(value) for value in described], ())

    def _prepare(self, ctas: Any, stream: Any, /, *args: Any, **kwargs: Any) -> None:
        """Leaves the recipe for a launcher, which the extension makes. Raises LaunchError."""
        if not self._has_recipes:
            raise LaunchError(
                f"{self.__name__}: its launches cannot be prepared: which variant a call takes depends on shapes"
            )
        program, arguments, described = self._choose(args, kwargs)
        for parameter, value in zip(self.parameters, arguments, strict=True):
            if not isinstance(value, arrays.Array) and arrays.on_host(value):
                raise LaunchError(
                    f"{self.__name__}: {parameter['name']}: a launcher keeps arrays on the device, found an "
                    f"object of type {type(value).__name__}; make a girih.Array of it with girih.asarray"
                )
        self._remember(program, [_kind(value) for value in described], ())

    def _compile(self, *args: Any, **kwargs: Any) -> Any:
        """The program of the variant that a call takes. Raises LaunchError."""
        return self._choose(args, kwargs)[0]

    def _emit(self, *args: Any, **kwargs: Any) -> Any:
        """Raises GirihError."""
        raise GirihError(
            f"{self.__name__} comes from a package, which keeps machine code and PTX only: emit and inspect "
            "are for kernels with their source"
        )

    _inspect = _emit

    def _choose(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_runtime.Program, list[Any], list[Any]]:
        """The program, the arguments in order, and what they are."""
        bound = self._bind(args, kwargs)
        described = [self._described(*pair) for pair in bound.items()]
        return self._kernel.choose(described), list(bound.values()), described

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise LaunchError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _described(self, name: str, value: Any) -> Any:
        """An argument as the choice of a variant needs it: without a copy to the device."""
        from girih.runtime.launch import describe_argument

        if value is None or isinstance(value, arrays.Array):
            return value
        is_number = hasattr(value, "__index__") or hasattr(value, "__float__")
        if is_number and not getattr(value, "ndim", 0):
            return value
        return describe_argument(self.__name__, name, value)

    def __repr__(self) -> str:
        return f"<packaged kernel {self.__name__}{self.__signature__}>"


def _kind(value: Any) -> tuple[Any, ...]:
    """What an argument must be for the same variant to take it, as a recipe has it."""
    if isinstance(value, arrays.Array):
        value = arrays.describe(value)
    if isinstance(value, arrays.Description):
        return "array", value.dtype.name, value.rank, *value.promises()
    return ("constant", None) if value is None else ("scalar",)


def _signature(parameters: list[dict[str, Any]]) -> inspect.Signature:
    """How the kernel is called: what may be absent may be left out at the end, as in any function."""
    result: list[inspect.Parameter] = []
    default: Any = None
    for parameter in reversed(parameters):
        if not parameter["optional"]:
            default = inspect.Parameter.empty
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        result.append(inspect.Parameter(parameter["name"], kind, default=default))
    return inspect.Signature(result[::-1])
