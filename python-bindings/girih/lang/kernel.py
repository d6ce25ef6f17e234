"""``@girih.kernel``: binds a call's arguments, compiles once per signature, launches."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from girih._runtime import Entry
from girih.dtypes import DType
from girih.errors import CompileError, LaunchError
from girih.lang.annotations import ArrayAnnotation, const
from girih.lang.module import ArraySignature, Captured, Parameter, emit_module
from girih.lang.visitor import is_constant


class Kernel(Entry):
    """A kernel. Call it with arrays (and constants by keyword) to run it on the device."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(function)
        self._parameters: list[Parameter] | None = None
        self._programs: dict[Any, tuple[Any, Captured]] = {}

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters with their annotations evaluated (they may be strings)."""
        if self._parameters is None:
            try:
                annotations = inspect.get_annotations(self.function, eval_str=True)
            except Exception as error:  # whatever the user's text raises
                raise CompileError(
                    f"{self.function.__code__.co_filename}:{self.function.__code__.co_firstlineno}: "
                    f"the annotations of kernel '{self.function.__name__}' cannot be evaluated: "
                    f"{type(error).__name__}: {error}"
                ) from None
            parameters = []
            for name in self._signature.parameters:
                annotation = annotations.get(name)
                if not isinstance(annotation, (ArrayAnnotation, DType)) and annotation is not const:
                    raise CompileError(
                        f"{self.function.__code__.co_filename}:{self.function.__code__.co_firstlineno}: "
                        f"parameter '{name}' of kernel '{self.function.__name__}' has no usable annotation",
                        expected='gr.In["M,K"], gr.Out[…], gr.InOut[…], gr.const or a scalar type such as gr.f32',
                        found=repr(annotation),
                    )
                if isinstance(annotation, DType) and annotation.kind == "uint":
                    raise CompileError(
                        f"{self.function.__code__.co_filename}:{self.function.__code__.co_firstlineno}: "
                        f"parameter '{name}' of kernel '{self.function.__name__}' is unsigned",
                        expected="a signed scalar type: arithmetic in kernels is signed",
                        found=repr(annotation),
                    )
                parameters.append(Parameter(name, annotation))
            self._parameters = parameters
        return self._parameters

    def _emit(self, *args: Any, **kwargs: Any) -> str:
        """The MLIR text that a call with these arguments compiles."""
        signature, _ = self._bind(args, kwargs)
        return emit_module(self.function, self.parameters, signature)[0]

    def _compile(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles for a call with these arguments, without launching; returns the program.

        Its ``resources`` hold registers, spills, shared memory and messages of ptxas, its ``timings_ms``
        the time of each step.
        Raises CompileError.
        """
        signature, _ = self._bind(args, kwargs)
        return self._program(signature)

    def _call(self, *args: Any, **kwargs: Any) -> None:
        """Runs the kernel and returns when its outputs are ready.

        Raises CompileError, LaunchError (arguments) or DeviceError (findings of the device).
        """
        from girih.runtime.launch import launch

        signature, arguments = self._bind(args, kwargs)
        launch(self._program(signature), arguments)

    def _program(self, signature: dict[str, Any]) -> Any:
        # 1, 1.0 and True are equal in Python but not in a kernel.
        key = tuple((name, type(value), value) for name, value in signature.items())
        known = self._programs.get(key)
        # An outer constant that has changed, a helper defined anew: the program is another one.
        if known is not None and _unchanged(known[1]):
            return known[0]
        from girih.compiler.client import compile_module

        text, sources, captured = emit_module(self.function, self.parameters, signature)
        program = compile_module(self.function.__name__, text, sources)
        self._programs[key] = program, captured
        return program

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Any]]:
        """Splits a call into what shapes the code and what is passed to it."""
        from girih.runtime.launch import describe_argument

        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LaunchError(f"{self.function.__name__}: {error}") from None
        bound.apply_defaults()
        signature: dict[str, Any] = {}
        arguments: list[Any] = []
        for parameter in self.parameters:
            value = bound.arguments[parameter.name]
            if isinstance(parameter.annotation, ArrayAnnotation):
                dtype, shape, strides = describe_argument(
                    self.function.__name__, parameter.name, value
                )
                rank = len(parameter.annotation.dims)
                if len(shape) != rank:
                    raise LaunchError(
                        f"{self.function.__name__}: {parameter.name} has {len(shape)} dimensions, "
                        f"expected {rank}: [{', '.join(parameter.annotation.dims)}]"
                    )
                signature[parameter.name] = ArraySignature(
                    dtype, self._contiguous(parameter, shape, strides)
                )
                arguments.append(value)
            elif isinstance(parameter.annotation, DType):
                if getattr(value, "ndim", 0):
                    raise LaunchError(
                        f"{self.function.__name__}: {parameter.name} is a scalar of "
                        f"{parameter.annotation.name}, found an array of {value.ndim} dimensions"
                    )
                arguments.append(value)
            else:
                if not is_constant(value):
                    raise LaunchError(
                        f"{self.function.__name__}: {parameter.name} is a constant of the kernel, "
                        f"expected a number, string, dtype or a tuple of them, found {type(value).__name__}"
                    )
                signature[parameter.name] = value
        return signature, arguments

    def _contiguous(
        self, parameter: Parameter, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> int:
        """The dimension whose elements are neighbours in memory: the last one that qualifies."""
        for dim in reversed(range(len(shape))):
            if strides[dim] == 1:
                return dim
        for dim in reversed(range(len(shape))):
            if shape[dim] == 1:
                return dim
        if 0 in shape:
            raise LaunchError(
                f"{self.function.__name__}: {parameter.name} has the shape {shape}: "
                "every extent must be at least 1"
            )
        raise LaunchError(
            f"{self.function.__name__}: {parameter.name} has strides {strides} (in elements); "
            "TMA needs one dimension with stride 1: make a contiguous copy"
        )


def _unchanged(captured: Captured) -> bool:
    """Whether outer names still stand for what they stood for when the kernel was compiled."""
    for (look_up, name), value in captured.items():
        try:
            now = look_up(name)
        except KeyError:
            return False
        if now is not value and (type(now) is not type(value) or now != value):
            return False
    return True


def kernel(function: Callable[..., Any]) -> Kernel:
    """Declares a kernel. Its source is read and compiled at the first call with each signature:
    dtypes, the dimension with stride 1, and the values of ``gr.const`` parameters."""
    if not inspect.isfunction(function):
        raise CompileError(f"@girih.kernel takes a function, found {type(function).__name__}")
    return Kernel(function)
