"""How kernel parameters are declared: ``gr.In["M,K"]``, ``gr.Out["M,N"]``, ``gr.const``, scalar dtypes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ArrayAnnotation:
    """An array parameter: how it is used and the names of its dimensions."""

    access: str
    dims: tuple[str, ...]


class _Access:
    def __init__(self, access: str, label: str) -> None:
        self._access = access
        self._label = label

    def __getitem__(self, dims: str) -> ArrayAnnotation:
        if not isinstance(dims, str):
            raise TypeError(
                f'gr.{self._label}["M,K"] takes one text of names, found gr.{self._label}[{dims!r}]'
            )
        names = tuple(name.strip() for name in dims.split(","))
        for name in names:
            if not name.isidentifier():
                raise ValueError(
                    f"gr.{self._label}[{dims!r}]: expected names separated by commas, found {name!r}"
                )
        return ArrayAnnotation(self._access, names)


In = _Access("in", "In")
Out = _Access("out", "Out")
InOut = _Access("inout", "InOut")


class const:
    """Annotation of a parameter that is a Python constant: each value compiles its own kernel."""
