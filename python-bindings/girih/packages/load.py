"""Calling the kernels of a package: no compiler is needed, nor started."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from typing import Any

from girih import _runtime
from girih.errors import LaunchError
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


class PackagedKernel:
    """A kernel of a package. ``variants`` says what it was compiled for."""

    def __init__(self, kernel: _runtime.PackagedKernel) -> None:
        self._kernel = kernel
        self.__name__ = kernel.name
        self.__doc__ = kernel.summary
        self.parameters = kernel.parameters
        self.variants = kernel.variants
        self.__signature__ = _signature(self.parameters)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Runs the first variant that takes the arguments; returns as a call of a kernel does.

        Raises LaunchError (arguments, with what each variant expects) or DeviceError (findings of the
        device).
        """
        self.launch(*args, **kwargs)

    def launch(self, *args: Any, ctas: Any = None, stream: Any = None, **kwargs: Any) -> None:
        """The same on a stream, and for a persistent kernel with a number of CTAs."""
        from girih.runtime.launch import launch

        arguments = self._bind(args, kwargs)
        program = self._kernel.choose([self._described(*pair) for pair in arguments.items()])
        present = [value for value in arguments.values() if value is not None]
        launch(program, present, stream=stream, ctas=ctas)

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
