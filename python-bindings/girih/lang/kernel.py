"""``@girih.kernel``: binds a call's arguments, compiles once per signature, launches.

The first call with a signature runs through here; it leaves a recipe with which the extension makes the next
ones without Python code (``Entry``).
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

from girih._runtime import Entry
from girih.cache import kernels
from girih.dtypes import DType
from girih.errors import CompileError, LaunchError
from girih.lang.annotations import MAX_RANK, ArrayAnnotation, const
from girih.lang.guards import guards_of
from girih.lang.module import ArraySignature, Parameter, emit_module
from girih.lang.optional import OptionalAnnotation
from girih.lang.passed import PassedFunction, as_constant
from girih.lang.source import Definition
from girih.lang.spec import ArraySpec
from girih.lang.visitor import is_constant

if TYPE_CHECKING:
    from girih.cache.key import Captured
    from girih.packages.signature import Signature


class Kernel(Entry):
    """A kernel. Call it with arrays (and constants by keyword) to run it on the device."""

    __name__: str

    def __init__(self, function: Callable[..., Any], hints: dict[str, object]) -> None:
        super().__init__()
        self.definition = Definition(function, hints)
        self.function = self.definition.function
        functools.update_wrapper(self, function)
        self._signature = inspect.signature(self.function)
        self._parameters: list[Parameter] | None = None
        self._programs: dict[Any, tuple[Any, Captured]] = {}
        self._recording: str | os.PathLike[str] | None = None
        by_place = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        order = list(self._signature.parameters.values())
        if all(parameter.kind in by_place for parameter in order):
            positional = sum(parameter.kind is by_place[0] for parameter in order)
            defaults = tuple(parameter.default for parameter in order)
            self._set_parameters(
                tuple(self._signature.parameters), positional, defaults, inspect.Parameter.empty
            )

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters with their annotations evaluated (they may be strings)."""
        if self._parameters is None:
            try:
                annotations = inspect.get_annotations(self.function, eval_str=True)
            except Exception as error:  # whatever the user's text raises
                raise CompileError(
                    f"{self.definition.file}:{self.definition.first_line}: "
                    f"the annotations of kernel '{self.function.__name__}' cannot be evaluated: "
                    f"{type(error).__name__}: {error}"
                ) from None
            self._parameters = [
                self._parameter(name, annotations.get(name)) for name in self._signature.parameters
            ]
        return self._parameters

    def _parameter(self, name: str, annotation: object) -> Parameter:
        optional = isinstance(annotation, OptionalAnnotation)
        kind = annotation.present if isinstance(annotation, OptionalAnnotation) else annotation
        if kind is const or isinstance(kind, ArrayAnnotation):
            return Parameter(name, kind, optional)
        if isinstance(kind, DType) and kind.is_scalar:
            return Parameter(name, kind, optional)
        raise CompileError(
            f"{self.definition.file}:{self.definition.first_line}: "
            f"parameter '{name}' of kernel '{self.function.__name__}' has no usable annotation",
            expected='gr.In["M,K"], gr.Out[…], gr.InOut[…], gr.const or a scalar type such as gr.f32',
            found=repr(annotation),
        )

    def _emit(self, *args: Any, **kwargs: Any) -> str:
        """The MLIR text that a call with these arguments compiles."""
        signature, _ = self._bind(args, kwargs)
        return emit_module(self.definition, self.parameters, signature)[0]

    def _compile(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles for a call with these arguments, without launching; returns the program.

        Its ``resources`` hold registers, spills, shared memory and messages of ptxas, its ``timings_ms``
        the time of each step.
        Raises CompileError.
        """
        signature, _ = self._bind(args, kwargs)
        return self._program(signature)

    def signature_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What of a call's arguments shapes the code, by parameter. Raises LaunchError."""
        return self._bind(args, kwargs)[0]

    def export(
        self,
        path: str | os.PathLike[str],
        /,
        *args: Any,
        signatures: Sequence[Signature] = (),
        arch: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Writes a package with this kernel for calls with the signature of these arguments, and those of
        ``signatures``; see ``girih.export``."""
        from girih.packages.export import export
        from girih.packages.signature import Variant

        example = [Variant(args, kwargs)] if args or kwargs else []
        export(path, {self: [*example, *signatures]}, arch=arch)

    def _inspect(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Every stage of the compilation for a call with these arguments, by name: texts "python", "tile",
        "wg", "nvvm", "llvm", "ptx" and "sass", bytes "cubin", a dict "report". Raises CompileError."""
        signature, _ = self._bind(args, kwargs)
        return kernels.stages(kernels.Request(self.definition, self.parameters, signature))

    def _launch(self, ctas: Any, stream: Any, /, *args: Any, **kwargs: Any) -> None:
        """Runs the kernel and returns when its outputs are ready; the extension calls it for arguments that
        it has no recipe for.

        Raises CompileError, LaunchError (arguments) or DeviceError (findings of the device).
        """
        from girih.runtime.launch import launch

        signature, arguments = self._bind(args, kwargs)
        program, captured = self._look_up(signature)
        launch(program, arguments, stream=stream, ctas=ctas, record=self._recording)
        self._keep_recipe(signature, program, captured)

    def record(self, path: str | os.PathLike[str] | None) -> None:
        """Keeps each call from now on in a file, the last one staying; None stops that.

        The call's image and arguments are written before it is made, and the call is waited for: if it fails
        on a GPU, ``python -m girih.replay FILE`` runs it again on the emulated device, which says what went
        wrong. Launchers are not recorded.
        """
        self._recording = path
        self._use_recipes(path is None)

    def _prepare(self, ctas: Any, stream: Any, /, *args: Any, **kwargs: Any) -> None:
        """Compiles for a launcher, which the extension makes. Raises as ``_launch`` does."""
        from girih.runtime import array as arrays

        signature, arguments = self._bind(args, kwargs)
        names = (
            p.name
            for p in self.parameters
            if p.name not in signature or _is_array(signature[p.name])
        )
        for name, value in zip(names, arguments, strict=True):
            if name in signature and not isinstance(value, arrays.Array) and arrays.on_host(value):
                self._refuse(
                    f"{name}: a launcher keeps arrays on the device, found an object of type "
                    f"{type(value).__name__}; make a girih.Array of it with girih.asarray"
                )
        program, captured = self._look_up(signature)
        if not self._keep_recipe(signature, program, captured):
            self._refuse(
                "its launches cannot be prepared: names that it uses are computed each time"
            )

    def _keep_recipe(self, signature: dict[str, Any], program: Any, captured: Captured) -> bool:
        """Tells the extension how to make the next call with this signature."""
        guards = guards_of(captured)
        if guards is None:
            return False
        kinds: list[tuple[Any, ...]] = []
        for name in self._signature.parameters:
            value = signature.get(name)
            if name not in signature:
                kinds.append(("scalar",))
            elif isinstance(value, ArraySignature):
                kinds.append(
                    ("array", value.dtype.name, value.rank, value.contiguous, value.aligned)
                )
            else:
                kinds.append(("constant", _as_passed(value)))
        self._remember(program, kinds, guards)
        return True

    def _program(self, signature: dict[str, Any]) -> Any:
        return self._look_up(signature)[0]

    def _look_up(self, signature: dict[str, Any]) -> tuple[Any, Captured]:
        """The program for a signature, compiled if need be, and the outer names that it depends on."""
        # 1, 1.0 and True are equal in Python but not in a kernel.
        key = tuple((name, type(value), value) for name, value in signature.items())
        known = self._programs.get(key)
        # An outer constant that has changed, a helper defined anew: the program is another one.
        if known is not None and _unchanged(known[1]):
            return known
        program, captured = kernels.program(
            kernels.Request(self.definition, self.parameters, signature)
        )
        program.say_remarks()
        self._programs[key] = program, captured
        return program, captured

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Any]]:
        """Splits a call into what shapes the code and what is passed to it."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LaunchError(f"{self.function.__name__}: {error}") from None
        bound.apply_defaults()
        signature: dict[str, Any] = {}
        arguments: list[Any] = []
        for parameter in self.parameters:
            name, value, kind = (
                parameter.name,
                bound.arguments[parameter.name],
                parameter.annotation,
            )
            if value is None and parameter.optional:
                signature[name] = None
            elif isinstance(kind, ArrayAnnotation):
                signature[name] = self._array_signature(name, kind, value)
                arguments.append(value)
            elif isinstance(kind, DType):
                self._check_scalar(name, kind, value)
                arguments.append(value)
            else:
                signature[name] = self._constant(name, value)
        return signature, arguments

    def _array_signature(
        self, name: str, annotation: ArrayAnnotation, value: object
    ) -> ArraySignature:
        from girih.runtime.launch import describe_argument

        if isinstance(value, (DType, ArraySpec)):
            return self._specified(name, annotation, value)
        array = describe_argument(self.function.__name__, name, value)
        self._check_rank(name, annotation, array.rank)
        return ArraySignature(array.dtype, array.rank, *array.promises())

    def _specified(
        self, name: str, annotation: ArrayAnnotation, value: DType | ArraySpec
    ) -> ArraySignature:
        """The signature of an array that is only spoken of."""
        spec = ArraySpec(value) if isinstance(value, DType) else value
        rank = spec.rank
        if rank is None:
            if annotation.dims is None:
                self._refuse(
                    f"{name} takes any number of dimensions: say it, as in "
                    f"gr.ArraySpec({spec.dtype}, rank=2)"
                )
            rank = len(annotation.dims)
        self._check_rank(name, annotation, rank)
        try:
            return ArraySignature(spec.dtype, rank, *spec.promises(rank))
        except ValueError as error:
            self._refuse(f"{name}: {error}")

    def _check_rank(self, name: str, annotation: ArrayAnnotation, rank: int) -> None:
        if annotation.dims is not None and rank != len(annotation.dims):
            self._refuse(
                f"{name} has {rank} dimensions, expected {len(annotation.dims)}: "
                f"[{', '.join(map(str, annotation.dims))}]"
            )
        if rank > MAX_RANK:
            self._refuse(f"{name} has {rank} dimensions, expected at most {MAX_RANK}: merge some")

    def _check_scalar(self, name: str, dtype: DType, value: Any) -> None:
        if getattr(value, "ndim", 0):
            self._refuse(
                f"{name} is a scalar of {dtype.name}, found an array of {value.ndim} dimensions"
            )

    def _constant(self, name: str, value: object) -> object:
        constant = as_constant(value)
        if not is_constant(constant):
            self._refuse(
                f"{name} is a constant of the kernel, expected a number, string, dtype, function or a tuple "
                f"of them, found {type(value).__name__}"
            )
        return constant

    def _refuse(self, what: str) -> NoReturn:
        raise LaunchError(f"{self.function.__name__}: {what}")


def _is_array(kind: object) -> bool:
    return isinstance(kind, ArraySignature)


def _as_passed(constant: Any) -> Any:
    """A constant as the caller passed it, from what kernels see (``as_constant``)."""
    if isinstance(constant, tuple):
        return tuple(_as_passed(item) for item in constant)
    return constant.function if isinstance(constant, PassedFunction) else constant


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


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *,
    warps: int | None = None,
    stages: int | None = None,
    roles: str | None = None,
    cluster: tuple[int, int] | None = None,
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None, /, **hints: object
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Declares a kernel; its text is what it is now, whatever the file says later. It is compiled at the
    first call with each signature: of arrays dtype, rank, the dimension with stride 1 and alignment, which
    arguments are absent, and the values of ``gr.const`` parameters. ``@gr.kernel(roles="pingpong")`` says hints
    for all of its launches, as ``gr.tiles`` does: ``warps``, ``stages``, ``roles``, ``cluster``."""
    if function is None:
        return lambda function: _declared(function, hints)
    return _declared(function, {})


def _declared(function: Callable[..., Any], hints: dict[str, object]) -> Kernel:
    if not inspect.isfunction(function):
        raise CompileError(f"@girih.kernel takes a function, found {type(function).__name__}")
    return Kernel(function, hints)
