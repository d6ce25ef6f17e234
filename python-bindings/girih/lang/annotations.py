"""How kernel parameters are declared: ``gr.In["M,K"]``, ``gr.Out``, ``gr.In["N"] | None``, ``gr.const``,
scalar dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from girih.lang.optional import MayBeAbsent

MAX_RANK = 5


@dataclass(frozen=True)
class Dim:
    """A dimension of an array parameter: dimensions of one name agree; the extent is a multiple of
    ``multiple``."""

    name: str
    multiple: int = 1

    def __str__(self) -> str:
        return self.name if self.multiple == 1 else f"{self.name}%{self.multiple}"


@dataclass(frozen=True)
class ArrayAnnotation(MayBeAbsent):
    """An array parameter: how it is used and its dimensions; None for any number of unnamed ones."""

    access: str
    dims: tuple[Dim, ...] | None


class _Access(ArrayAnnotation):
    """``gr.In`` itself is an annotation, for arrays of any rank; ``gr.In["M,K"]`` names the dimensions."""

    def __init__(self, access: str, label: str) -> None:
        super().__init__(access, None)
        object.__setattr__(self, "_label", label)  # frozen, as its base is

    def __getitem__(self, dims: str) -> ArrayAnnotation:
        if not isinstance(dims, str):
            raise TypeError(
                f'gr.{self._label}["M,K"] takes one text of names, found gr.{self._label}[{dims!r}]'
            )
        parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
        if len(parts) > MAX_RANK:
            raise ValueError(
                f"gr.{self._label}[{dims!r}]: expected at most {MAX_RANK} dimensions, found {len(parts)}"
            )
        return ArrayAnnotation(self.access, tuple(self._dim(dims, part) for part in parts))

    def _dim(self, dims: str, part: str) -> Dim:
        name, percent, multiple = (text.strip() for text in part.partition("%"))
        number = int(multiple) if multiple.isdecimal() else 0
        if not name.isidentifier() or (percent and not 1 <= number < 1 << 31):
            raise ValueError(
                f"gr.{self._label}[{dims!r}]: expected names separated by commas, each alone or with a "
                f"divisor as in K%8, found {part!r}"
            )
        return Dim(name, number if percent else 1)

    def __repr__(self) -> str:
        return f"gr.{self._label}"


In = _Access("in", "In")
Out = _Access("out", "Out")
InOut = _Access("inout", "InOut")


class _Const:
    """Annotation of a parameter that is a Python constant: each value compiles its own kernel."""

    def __repr__(self) -> str:
        return "gr.const"


# Any to a type checker: each use has the type of its value.
const: Any = _Const()
