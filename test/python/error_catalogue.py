# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The catalogue of mistakes, docs/errors.md: its entries, and what girih says to each.

./dev run test/python/error_catalogue.py     writes the texts of the catalogue anew
"""

from __future__ import annotations

import math
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import girih as gr
from girih import wg

PAGE = Path(__file__).absolute().parents[2] / "docs" / "errors.md"
ENTRY = re.compile(
    r"^## (?P<title>.*?)\n\n```python\n(?P<program>.*?)^```\n```text\n(?P<message>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A wrong program and the text that it gets."""

    title: str
    program: str
    message: str


def entries() -> Iterator[Entry]:
    """The entries of the page, in its order."""
    for match in ENTRY.finditer(PAGE.read_text()):
        yield Entry(match["title"], match["program"], match["message"].rstrip("\n"))


def message_of(program: str, folder: Path) -> str:
    """What girih says to a program in a file of ``folder``; raises AssertionError if it says nothing."""
    path = folder / "kernel.py"
    path.write_text(program)
    names = {
        "gr": gr,
        "wg": wg,
        "np": np,
        "math": math,
        "x": gr.empty((512,), gr.f32),
        "y": gr.empty((512,), gr.f32),
        "a": gr.empty((128, 64), gr.bf16),
        "b": gr.empty((64, 128), gr.bf16),
        "c": gr.empty((128, 128), gr.f32),
        "__name__": "kernel",
    }
    try:
        exec(compile(program, str(path), "exec"), names)
    except gr.GirihError as error:
        return str(error).replace(f"{folder}/", "")
    raise AssertionError("the program is not wrong")


def written_anew() -> str:
    """The page with the texts of today."""

    def entry(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = message_of(match["program"], Path(folder))
            except AssertionError as error:
                sys.exit(f"{PAGE.name}: {match['title']}: {error}")
        head = match[0][: match.start("message") - match.start()]
        return f"{head}{text}\n```"

    return ENTRY.sub(entry, PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(written_anew())
