"""Parameters that may be absent: ``gr.In["N"] | None``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptionalAnnotation:
    """A parameter for which ``None`` may be passed: inside the kernel it then is the constant None."""

    present: object


class MayBeAbsent:
    """An annotation that ``| None`` may follow."""

    def __or__(self, other: None) -> OptionalAnnotation:
        return OptionalAnnotation(self) if other is None else NotImplemented

    __ror__ = __or__
