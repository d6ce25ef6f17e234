"""The errors that users see, each with one clear text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class GirihError(Exception):
    """Base of every error that girih raises on purpose."""


@dataclass(frozen=True)
class Place:
    """A range of one source line: where a message points.

    Lines count from 1 and columns from 0, as in ``ast``.
    """

    file: str
    line: int
    column: int
    end_column: int | None = None
    text: str | None = None
    function: str = ""

    def render(self) -> str:
        """The source line with a caret under the range, or "" where the line is not known."""
        if self.text is None:
            return ""
        line = self.text.rstrip("\n")
        number = f"{self.line:5d}"
        end = self.end_column if self.end_column is not None else self.column + 1
        width = max(1, min(end, len(line)) - self.column)
        marks = " " * self.column + "^" + "~" * (width - 1)
        return f"{number} | {line}\n{' ' * len(number)} | {marks}"


class CompileError(GirihError):
    """A mistake in a kernel, shown at the user's line.

    Attributes: ``message``; ``place`` (where), ``expected``, ``found`` and ``help`` (texts or None);
    ``called_from`` (places of the calls that led there, innermost first).
    """

    def __init__(
        self,
        message: str,
        place: Place | None = None,
        *,
        expected: str | None = None,
        found: str | None = None,
        help: str | None = None,
        called_from: tuple[Place, ...] = (),
    ) -> None:
        self.message = message
        self.place = place
        self.expected = expected
        self.found = found
        self.help = help
        self.called_from = called_from
        super().__init__(self._render())

    def _render(self) -> str:
        lines = []
        if self.place is not None:
            lines.append(
                f"{self.place.file}:{self.place.line}:{self.place.column + 1}: {self.message}"
            )
            rendered = self.place.render()
            if rendered:
                lines.append(rendered)
        else:
            lines.append(self.message)
        for key in ("expected", "found", "help"):
            value = getattr(self, key)
            if value is not None:
                lines.append(f"  {key}: {value}")
        for place in self.called_from:
            lines.append(f"  called from {place.file}:{place.line} in {place.function}")
        return "\n".join(lines)


class LaunchError(GirihError):
    """A call whose arguments the kernel cannot take (dtype, rank, stride, shape, alignment)."""


class DeviceError(GirihError):
    """The device found faults in a launch, or stopped it: the text holds each with its source lines.

    ``findings`` holds them as dicts, for programs: ``kind`` (a stable name), ``message``, ``hint``,
    ``count`` and ``sites`` (what happened where: PTX line and text, ``source``, CTA, warp, lane, address).
    """

    findings: Sequence[dict[str, Any]] = ()
