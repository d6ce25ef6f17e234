"""The examples pass a strict type checker, and what it says about mistakes in calls of girih."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import girih

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(girih.__file__).parent


def check(*files):
    """What mypy says in strict mode about these files, one line a mistake."""
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-error-summary"]
    command += ["--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(PACKAGE.parents[1] / "mypy-cache")]
    where = {"MYPYPATH": str(PACKAGE.parent), "PYTHONPATH": str(PACKAGE.parent)}
    result = subprocess.run(
        [*command, *map(str, files)],
        capture_output=True,
        text=True,
        env=os.environ | where,
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(example):
    assert check(example) == []


DECLARATIONS = """\
import girih as gr
from girih import wg


@gr.function
def helper(a: gr.In, n: gr.i32) -> gr.i32:
    return n + a.shape[0]


@gr.kernel
def kernel(
    a: gr.In["M,K%8"], b: gr.In, c: gr.InOut["M"], d: gr.Out[""], n: gr.u8, half: gr.bf16,
    bias: gr.In["M"] | None = None, scale: gr.f32 | None = None, *, BM: gr.const = 64,
) -> None:
    A = a.tiles(BM, 64)
    work = gr.tiles(A, ctas=gr.sms(), order=gr.grouped(8))

    @wg.role(warps=1)
    def role() -> None:
        for i, j in work:
            helper(a, i)


x = gr.empty((3, 4), gr.f32)
kernel(x, x, x[0], x[0, 0], 3, 0.5)
print(kernel.emit(x, x, x[0], x[0, 0], 3, 0.5), kernel.__name__)
"""


def test_declarations(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(DECLARATIONS)
    assert check(path) == []


def test_mistakes_are_seen(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import girih as gr\n"
        "gr.empti((3, 4), gr.f32)\n"
        "gr.empty((3, 4), dtyp=gr.f32)\n"
        "gr.empty('3', gr.f32)\n"
        "gr.empty(3, gr.f32).number()\n"
        "gr.kernel(3)\n"
        "from typing import Literal\n"
        "x: Literal['a', 'b'] = 'c'\n"
    )
    found = [line.split(": ", 1)[0].rsplit(":", 1)[1] for line in check(path) if "error" in line]
    assert sorted(set(found)) == ["2", "3", "4", "5", "6", "8"]
