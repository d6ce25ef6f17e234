"""Writing packages: every variant is compiled, and one file with an index is made of the images."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from girih import _runtime
from girih.compiler.parallel import compile_all
from girih.compiler.target import architecture
from girih.dtypes import DType
from girih.errors import GirihError
from girih.lang.annotations import ArrayAnnotation, const
from girih.lang.module import ArraySignature
from girih.packages.conditions import Condition, Places, implies, parse_conditions
from girih.packages.signature import Signature, Variant, as_variant

if TYPE_CHECKING:
    from girih.compiler.program import CompiledProgram
    from girih.lang.kernel import Kernel
    from girih.lang.module import Parameter

# An image's bytes and its sources: function, file, first line.
Image = tuple[bytes, tuple[tuple[str, str, int], ...]]
# What there is a lowering for.
ARCHITECTURES = ("sm_90a",)


def export(
    path: str | os.PathLike[str],
    kernels: Mapping[Kernel, Sequence[Signature]],
    *,
    arch: str | None = None,
) -> None:
    """Writes a package with these kernels, each compiled for its signatures, and beside it a C header
    (``kernels.girih`` and ``kernels.h``).

    A signature is what ``girih.variant`` makes, its text (``"bf16, bf16, f32, BM=64 when M <= 64"``), or a
    sequence of example arguments. The first variant that fits a call is taken. Both files are the same
    wherever they are written; sources are known by their file's name. Raises GirihError, CompileError.
    """
    target = arch or architecture()
    if target not in ARCHITECTURES:
        raise GirihError(
            f"girih has no lowering for {target} yet: expected {' or '.join(ARCHITECTURES)}"
        )
    if not kernels:
        raise GirihError("a package needs at least one kernel")
    entries = [_Entry(kernel, signatures, target) for kernel, signatures in kernels.items()]
    _check_names(entries)
    programs = compile_all([call for entry in entries for call in entry.calls])
    images: dict[Image, int] = {}  # variants that compile to the same code share it
    numbers = [images.setdefault(_image(program), len(images)) for program in programs]
    index = {"writer": _writer(), "kernels": [entry.as_json(numbers) for entry in entries]}
    data = _runtime.write_package(json.dumps(index, ensure_ascii=False), list(images))
    path = Path(path)
    header = _runtime.Package(data).header(path.stem)
    _replace(path, data)
    _replace(path.with_suffix(".h"), header.encode())


def _writer() -> str:
    from girih import __version__

    return f"girih {__version__}"


def _image(program: CompiledProgram) -> Image:
    """An image with the places of its functions, without folders: a package must not depend on where it was
    made."""
    places = program.places.items()
    sources = tuple((name, os.path.basename(file), line) for name, (file, line) in places)
    return program.image, sources


def _replace(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise GirihError(f"cannot write {path}: {error.strerror}") from None


def _check_names(entries: list[_Entry]) -> None:
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise GirihError(
                f"two kernels are called {name}: a package needs a name for each, define one under another"
            )


class _Entry:
    """A kernel and its variants, as the index has them."""

    def __init__(self, kernel: Kernel, signatures: Sequence[Signature], arch: str) -> None:
        self.name = kernel.__name__
        self._kernel = kernel
        self._arch = arch
        self._passed = [p for p in kernel.parameters if p.annotation is not const]
        variants = [as_variant(signature) for signature in signatures]
        if not variants:
            raise GirihError(
                f"{self.name} has no signature: pass example arguments, or signatures=[…]"
            )
        self.calls = [(kernel, *variant.args, variant.kwargs) for variant in variants]
        self._signatures = [kernel.signature_of(v.args, v.kwargs) for v in variants]
        self._variants = [
            self._variant(variant, signature)
            for variant, signature in zip(variants, self._signatures, strict=True)
        ]
        self._check_reach()

    def as_json(self, images: list[int]) -> dict[str, Any]:
        """The kernel's entry in the index; takes the numbers of its variants' images from the list's front."""
        summary = (inspect.getdoc(self._kernel.function) or "").split("\n\n")[0]
        variants = [{**variant, "image": images.pop(0)} for variant in self._variants]
        return {
            "name": self.name,
            "summary": " ".join(summary.split()),
            "parameters": [_declaration(parameter) for parameter in self._passed],
            "variants": variants,
        }

    def _variant(self, variant: Variant, signature: dict[str, Any]) -> dict[str, Any]:
        constants = [
            [p.name, _text(signature[p.name])]
            for p in self._kernel.parameters
            if p.annotation is const
        ]
        absent = [number for number, p in enumerate(self._passed) if self._is_absent(p, signature)]
        when = parse_conditions(self.name, variant.when, self._places(signature))
        return {"arch": self._arch, "constants": constants, "absent": absent, "when": when}

    @staticmethod
    def _is_absent(parameter: Parameter, signature: dict[str, Any]) -> bool:
        return parameter.name in signature and signature[parameter.name] is None

    def _places(self, signature: dict[str, Any]) -> Places:
        """What conditions may speak of: dimensions by their names and as x[0], integers."""
        places: Places = {}
        for number, parameter in enumerate(self._passed):
            kind = parameter.annotation
            if self._is_absent(parameter, signature):
                continue
            if isinstance(kind, DType) and not kind.is_float:
                places.setdefault(parameter.name, (number, None))
            elif isinstance(kind, ArrayAnnotation):
                for dim in range(signature[parameter.name].rank):
                    places.setdefault(f"{parameter.name}[{dim}]", (number, dim))
                    if kind.dims is not None:
                        places.setdefault(kind.dims[dim].name, (number, dim))
        return places

    def _check_reach(self) -> None:
        """Raises GirihError for a variant that no call reaches."""
        for late in range(len(self._variants)):
            for early in range(late):
                if self._covers(early, late):
                    raise GirihError(
                        f"{self.name}: variant {late} is never taken, since variant {early} takes every call "
                        "that it takes: put it first, say for which calls each is meant (when=…), or export "
                        "it under a name of its own"
                    )

    def _covers(self, early: int, late: int) -> bool:
        """Whether one variant takes every call that another one takes."""
        wide, narrow = self._signatures[early], self._signatures[late]
        for parameter in self._passed:
            a, b = wide.get(parameter.name), narrow.get(parameter.name)
            if isinstance(a, ArraySignature) and isinstance(b, ArraySignature):
                if (a.dtype, a.rank) != (b.dtype, b.rank):
                    return False
                if a.contiguous not in (-1, b.contiguous) or (a.aligned and not b.aligned):
                    return False
            elif self._is_absent(parameter, wide) != self._is_absent(parameter, narrow):
                return False
        conditions: list[list[Condition]] = [
            self._variants[number]["when"] for number in (late, early)
        ]
        return implies(*conditions)


def _declaration(parameter: Parameter) -> dict[str, Any]:
    """A parameter as the index has it."""
    kind = parameter.annotation
    entry: dict[str, Any] = {"name": parameter.name, "optional": parameter.optional}
    if isinstance(kind, ArrayAnnotation):
        dims = [{"name": dim.name, "multiple": dim.multiple} for dim in kind.dims or ()]
        return {**entry, "kind": "array", "access": kind.access, "dims": dims}
    return {**entry, "kind": "scalar", "dtype": kind.name}


def _text(constant: object) -> str:
    """A constant for readers."""
    return str(getattr(constant, "__name__", constant))
