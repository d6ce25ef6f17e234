"""Every mistake in the catalogues of test/python/errors is found, and reads as the catalogue shows."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import girih as gr
from girih import wg

ENTRY = re.compile(
    r"^## (.*?)\n\n```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
CATALOGUES = sorted(Path(__file__).with_name("errors").glob("*.md"))
ENTRIES = [
    pytest.param(match[2], match[3], id=f"{page.stem}: {match[1]}")
    for page in CATALOGUES
    for match in ENTRY.finditer(page.read_text())
]


def test_every_heading_is_an_entry():
    headings = sum(page.read_text().count("\n## ") for page in CATALOGUES)
    assert len(ENTRIES) == headings > 40


@pytest.mark.parametrize(("program", "message"), ENTRIES)
def test_the_message_is_the_catalogues(program, message, tmp_path):
    path = tmp_path / "kernel.py"
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
    with pytest.raises(gr.GirihError) as info:
        exec(compile(program, str(path), "exec"), names)
    assert str(info.value).replace(f"{tmp_path}/", "") == message.rstrip("\n")
