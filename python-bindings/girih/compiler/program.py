"""A compiled kernel with what the compiler said about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from girih import _runtime

# Where each function of a program stands: its name there, the file, its first line.
Places = Mapping[str, tuple[str, int]]
# What a compilation spends its time on, in the order in which it happens.
STEPS = ("parse", "passes", "llvm", "ptxas", "total")


class CompiledProgram(_runtime.Program):
    """A kernel that can be launched. ``report`` is JSON text, read when somebody asks for something in it.

    ``from_cache`` says whether it was compiled by another call or process.
    """

    def __init__(self, image: bytes, report: bytes, places: Places, from_cache: bool) -> None:
        super().__init__(image, [(name, *place) for name, place in places.items()])
        self.report_text = report
        self._places = places
        self.from_cache = from_cache

    @property
    def places(self) -> Places:
        """Where its functions stand."""
        return self._places

    def say_remarks(self) -> None:
        """Prints the remarks if the user asked for them (GIRIH_REMARKS=1)."""
        if os.environ.get("GIRIH_REMARKS", "0") not in ("", "0"):
            for remark in self.remarks:
                print(f"girih: {remark}", file=sys.stderr)

    @cached_property
    def _report(self) -> dict[str, Any]:
        import json

        report: dict[str, Any] = json.loads(self.report_text)
        return report

    @property
    def resources(self) -> dict[str, Any]:
        """Registers, spills, shared memory and messages of ptxas."""
        resources: dict[str, Any] = self._report["resources"]
        return resources

    @property
    def timings_ms(self) -> dict[str, float]:
        """The time of each step when it was compiled."""
        return {step: self._report["timings_ms"][step] for step in STEPS}

    @property
    def passes_ms(self) -> list[tuple[str, float]]:
        """The time of each pass when it was compiled."""
        return [(name, milliseconds) for name, milliseconds in self._report["passes_ms"]]

    @property
    def remarks(self) -> list[str]:
        """What the compiler decided, and what it could not do and why, at the lines where the functions stand
        now."""
        return [note_text(remark, self._places) for remark in self._report["remarks"]]


def report_of(reply: dict[str, Any], places: Places, **more: Any) -> bytes:
    """What is kept of a compiler's reply: JSON without files and absolute lines."""
    import json

    return json.dumps(
        {
            "resources": reply["resources"],
            "timings_ms": reply["timings_ms"],
            "passes_ms": reply["passes_ms"],
            "remarks": [
                _movable(diagnostic, places)
                for diagnostic in reply["diagnostics"]
                if diagnostic["severity"] == "remark"
            ],
            **more,
        }
    ).encode()


def _movable(note: Any, places: Places) -> Any:
    """A diagnostic whose lines count from its functions' first ones."""
    if isinstance(note, str):
        return note
    locations = []
    for location in note.get("locations", []):
        if location.get("function", "") in places:
            _, first = places[location["function"]]
            location = {**location, "file": "", "line": location["line"] - first}
        locations.append(location)
    return {"message": note["message"], "locations": locations}


def note_text(note: Any, places: Places) -> str:
    """A remark or note in words, with its file and line."""
    if isinstance(note, str):
        return note
    for location in note.get("locations", [])[:1]:
        file, line = location.get("file", ""), location.get("line", 0)
        if not file and location.get("function", "") in places:
            file, first = places[location["function"]]
            line += first
        if file:
            return f"{file}:{line}: {note['message']}"
    message: str = note["message"]
    return message
