"""``@gr.autotune``: tries configurations of a kernel on the arguments of its first call with each key."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girih.cache import kernels
from girih.cache.key import Inputs
from girih.cache.store import digest
from girih.errors import GirihError, LaunchError
from girih.lang.annotations import ArrayAnnotation
from girih.lang.kernel import Kernel
from girih.log import log
from girih.progress import Progress
from girih.tune.space import Config, configurations, label


@dataclass(frozen=True)
class Row:
    """What came of one configuration: its cost, or why it was left out."""

    config: Config
    cost: float | None
    unit: str
    reason: str = ""


class Autotuned:
    """A kernel whose constants are chosen at the first call with each key. Called as the kernel is."""

    def __init__(
        self,
        kernel: Kernel,
        configs: list[Config],
        key: Sequence[str],
        reference: Callable[..., Any] | None,
        seconds: float,
    ) -> None:
        self.kernel = kernel
        self.configs = configs
        self.key = tuple(key)
        self.reference = reference
        self.seconds = seconds
        self.__name__ = kernel.__name__
        self.__doc__ = kernel.__doc__
        self._tables: dict[tuple[Any, ...], list[Row]] = {}
        self._dims = self._find_dims()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the kernel in the best configuration, which is looked for first if nobody knows it."""
        return self.kernel(*args, **kwargs, **self.best(*args, **kwargs))

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles the best configuration for a call."""
        return self.kernel.compile(*args, **kwargs, **self.best(*args, **kwargs))

    def best(self, *args: Any, **kwargs: Any) -> Config:
        """The configuration that a call runs in. Raises GirihError if none works."""
        rows = [row for row in self.results(*args, **kwargs) if row.cost is not None]
        return min(rows, key=lambda row: row.cost or 0.0).config

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The results for a call as text, the best first, then those left out with the reason."""
        rows = self.results(*args, **kwargs)
        tried = sorted(
            (row for row in rows if row.cost is not None), key=lambda row: row.cost or 0.0
        )
        width = max(len(label(row.config)) for row in rows)
        lines = [f"{label(row.config):{width}}  {row.cost:12.1f} {row.unit}" for row in tried]
        lines += [f"{label(row.config):{width}}  {row.reason}" for row in rows if row.cost is None]
        return "\n".join(lines)

    def results(self, *args: Any, **kwargs: Any) -> list[Row]:
        """What came of each configuration, from an earlier call of this key if there was one."""
        first = self._bind(args, kwargs, self.configs[0])
        key = self._key_of(*first)
        if key not in self._tables:
            self._tables[key] = self._stored(first, key) or self._tune(args, kwargs, first, key)
        if all(row.cost is None for row in self._tables[key]):
            reasons = "\n  ".join(f"{label(row.config)}: {row.reason}" for row in self._tables[key])
            raise GirihError(f"no configuration of '{self.__name__}' works:\n  {reasons}")
        return self._tables[key]

    # ---- Keys --------------------------------------------------------------------------------------

    def _find_dims(self) -> dict[str, tuple[str, int]]:
        """For each name of the key that is a dimension: an array parameter that has it, and where."""
        dims: dict[str, tuple[str, int]] = {}
        names = [parameter.name for parameter in self.kernel.parameters]
        for parameter in self.kernel.parameters:
            if isinstance(parameter.annotation, ArrayAnnotation):
                for index, dim in enumerate(parameter.annotation.dims or ()):
                    dims.setdefault(dim.name, (parameter.name, index))
        for name in self.key:
            if name not in dims and name not in names:
                raise GirihError(
                    f"gr.autotune: key= names '{name}', which kernel '{self.__name__}' does not have; expected "
                    f"dimensions ({', '.join(dims)}) or parameters ({', '.join(names)})"
                )
        return dims

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], config: Config
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The signature of a call in a configuration, and its arguments by name."""
        again = config.keys() & kwargs.keys()
        if again:
            raise LaunchError(
                f"{self.__name__}: '{sorted(again)[0]}' is chosen by gr.autotune; call {self.__name__}.kernel to "
                "choose it yourself"
            )
        signature, _ = self.kernel._bind(args, {**kwargs, **config})
        bound = self.kernel._signature.bind(*args, **kwargs, **config)
        bound.apply_defaults()
        return signature, bound.arguments

    def _key_of(self, signature: dict[str, Any], arguments: dict[str, Any]) -> tuple[Any, ...]:
        from girih.runtime.launch import describe_argument

        values: list[Any] = []
        for name in self.key:
            if name in self._dims:
                array, index = self._dims[name]
                value = arguments[array]
                absent = value is None
                values.append(
                    None if absent else describe_argument(self.__name__, array, value).shape[index]
                )
            else:
                values.append(arguments[name])
        fixed = [
            (name, value)
            for name, value in signature.items()
            if not any(name in config for config in self.configs)
        ]
        return (*values, *fixed)

    # ---- The cache ---------------------------------------------------------------------------------

    def _file(self, signature: dict[str, Any], key: tuple[Any, ...]) -> str:
        """What results depend on: the kernel, the configurations, the key and the device."""
        from girih.runtime import device

        inputs = Inputs()
        inputs.kernel(self.kernel.definition, self.kernel.parameters, signature)
        parts = [f"{name} {text}" for name, text in inputs.parts]
        parts += [repr(list(map(label, self.configs))), repr(key[: len(self.key)])]
        parts += [device.name(), str(device.multiprocessors()), kernels.compiler_identity()]
        return "tuned-" + digest("\0".join(parts).encode())

    def _stored(self, first: tuple[dict[str, Any], Any], key: tuple[Any, ...]) -> list[Row] | None:
        if not kernels.is_on():
            return None
        body = kernels.store().read_file(self._file(first[0], key))
        if body is None:
            return None
        rows = json.loads(body)
        log("compile", f"{self.__name__}: configuration from the cache")
        return [
            Row(config, cost, unit, reason)
            for config, (cost, unit, reason) in zip(self.configs, rows, strict=True)
        ]

    # ---- Trying ------------------------------------------------------------------------------------

    def _tune(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        first: tuple[dict[str, Any], dict[str, Any]],
        key: tuple[Any, ...],
    ) -> list[Row]:
        from girih.compiler.parallel import compile_each
        from girih.runtime import device

        programs = compile_each(
            [(self.kernel, *args, {**kwargs, **config}) for config in self.configs]
        )
        expected: list[Any] | None = None
        if self.reference is not None:
            expected = _expected(self.reference, first[1])
        rows: list[Row] = []
        progress = Progress(f"trying {self.__name__}", len(self.configs))
        for config, program in zip(self.configs, programs, strict=True):
            if isinstance(program, GirihError):
                rows.append(Row(config, None, "", str(program).splitlines()[0]))
            else:
                row, outputs = self._try(config, program, args, kwargs, expected)
                # Without a reference the first that runs says what is right.
                expected = expected if expected is not None else outputs
                rows.append(row)
            progress.step(label(config))
        progress.close()
        if device.is_emulated():
            log("tune", "the emulated device has no model of time: costs are its warp instructions")
        if kernels.is_on() and any(row.cost is not None for row in rows):
            body = json.dumps([(row.cost, row.unit, row.reason) for row in rows]).encode()
            kernels.store().write_file(self._file(first[0], key), body)
        return rows

    def _try(
        self,
        config: Config,
        program: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        expected: list[Any] | None,
    ) -> tuple[Row, list[Any] | None]:
        """One configuration in a process of its own: its cost and its outputs."""
        from girih.tune.call import difference, outputs_of, write_call

        _, arguments = self.kernel._bind(args, {**kwargs, **config})
        folder = Path(tempfile.mkdtemp(prefix="girih-tune-"))
        try:
            described = write_call(folder, program, arguments)
            command = [sys.executable, "-m", "girih.tune.trial", str(folder)]
            try:
                result = subprocess.run(
                    command, capture_output=True, text=True, timeout=self.seconds
                )
            except subprocess.TimeoutExpired:
                return Row(config, None, "", f"not ready after {self.seconds:g} s"), None
            if result.returncode != 0:
                return Row(config, None, "", _reason(result.stderr)), None
            outputs = outputs_of(folder, described)
            if expected is not None and (wrong := difference(outputs, expected)):
                return Row(config, None, "", wrong), None
            said = json.loads((folder / "result.json").read_text())
            return Row(config, said["cost"], said["unit"]), outputs
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _expected(reference: Callable[..., Any], arguments: Mapping[str, Any]) -> list[Any]:
    """What the user's function says the outputs are."""
    result = reference(**arguments)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _reason(errors: str) -> str:
    """The last line of a traceback that says something."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("girih.errors.")]
    return (told or lines or ["it ended without a word"])[-1].removeprefix("girih.errors.")


def autotune(
    configs: Iterable[Mapping[str, Any]] | None = None,
    *,
    space: Mapping[str, Sequence[Any]] | None = None,
    key: Sequence[str] = (),
    reference: Callable[..., Any] | None = None,
    seconds: float = 30.0,
) -> Callable[[Kernel], Autotuned]:
    """Chooses constants of a kernel by trying them, at the first call with each key; above ``@gr.kernel``.

    ``configs``: a list of values of ``gr.const`` parameters by name; or ``space``: the values of each, of which all
    combinations are tried. ``key``: names of dimensions and parameters whose values make a new search, beside
    dtypes and layouts of arrays, which always do. All configurations are compiled at once; those that exceed a limit of
    the device are left out with the compiler's reason. Each other one runs in a process of its own, at most ``seconds``
    long, on copies of the call's arguments, and its outputs are compared with ``reference`` (a function
    of the kernel's arguments by name that returns the outputs in order) or with those of the first. On a GPU the
    fastest wins; the emulated device has no model of time, so there the one with the fewest warp instructions does.
    Results are kept in the cache. Raises GirihError.
    """

    def decorate(kernel: Kernel) -> Autotuned:
        if not isinstance(kernel, Kernel):
            raise GirihError(
                f"gr.autotune stands above @gr.kernel, found {type(kernel).__name__} below it"
            )
        annotations = {parameter.name: parameter.annotation for parameter in kernel.parameters}
        return Autotuned(
            kernel, configurations(annotations, configs, space), key, reference, seconds
        )

    return decorate
