"""The documentation holds: its examples run and print what it says, its links and paths exist.

In docs/Language.md every ``python`` block is run, in order, in one namespace. A ``text`` block that
follows it directly is what it prints, or the text of the error that it raises.
"""

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import girih as gr
import girih.kernels.products
from girih import wg
from girih.lang.builtin import Builtin

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE = ROOT / "docs" / "Language.md"
# Written by tablegen; another test compares them with their sources.
GENERATED = {ROOT / "docs" / "Dialects" / name for name in ("WG.md", "Plan.md")}
PAGES = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")} - GENERATED
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    """A block of Python and, where the page shows it, what comes of it."""

    line: int
    code: str
    expected: str | None


def examples(page):
    """The Python blocks of a page, each with the text block that follows it directly."""
    text = page.read_text()
    found = []
    matches = list(FENCE.finditer(text))
    for index, match in enumerate(matches):
        if match[1] != "python":
            continue
        after = matches[index + 1] if index + 1 < len(matches) else None
        shown = after and after[1] == "text" and not text[match.end() : after.start()].strip()
        found.append(
            Example(text[: match.start()].count("\n") + 2, match[2], after[2] if shown else None)
        )
    return found


def run_block(code, path, namespace):
    """What the block prints, and then the text of girih's error if it raises one."""
    path.write_text(code)
    output = io.StringIO()
    namespace["__name__"] = path.stem
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(code, str(path), "exec"), namespace)
        except gr.GirihError as error:
            print(error)
    return output.getvalue().replace(f"{path.parent}/", "")


def test_examples_of_the_language_run(tmp_path, monkeypatch):
    """One test, since the examples build on each other."""
    monkeypatch.chdir(tmp_path)  # where they write files
    if not gr.device.is_emulated():
        pytest.skip("the page sets options of the emulated device")
    namespace = {}
    blocks = examples(LANGUAGE)
    assert len(blocks) > 10
    for block in blocks:
        place = f"{LANGUAGE}:{block.line}"
        # One name for all, so that messages on the page are short; each has a folder of its own.
        folder = tmp_path / str(block.line)
        folder.mkdir()
        result = run_block(block.code, folder / "kernel.py", namespace)
        assert result == (block.expected or ""), place


def test_the_language_page_names_everything_public():
    text = LANGUAGE.read_text()
    names = [f"gr.{name}" for name in gr.__all__]
    names += [f"wg.{name}" for name, value in vars(wg).items() if isinstance(value, Builtin)]
    missing = [name for name in names if not re.search(rf"{re.escape(name)}\b", text)]
    assert missing == []


def test_readme_shows_the_kernels_of_the_package_and_of_the_example():
    tile_level, by_hand = (block.code for block in examples(ROOT / "README.md")[:2])
    assert tile_level.endswith(inspect.getsource(gr.kernels.products.matmul.function))
    assert by_hand.endswith(inspect.getsource(__import__("gemm").matmul.function))


def test_readme_shows_what_the_example_prints():
    """All but the times, which differ from run to run."""
    program = [sys.executable, str(ROOT / "examples" / "gemm.py")]
    environment = os.environ | {"GIRIH_DEVICE": "emulated"}
    printed = subprocess.run(
        program, env=environment, capture_output=True, text=True, check=True
    ).stdout
    shown = next(
        match[2] for match in FENCE.finditer((ROOT / "README.md").read_text()) if match[1] == "text"
    )

    def without_times(text):
        return re.sub(r"\b[\d.]+ ms", "… ms", text)

    assert without_times(shown) == without_times(printed)


def test_readme_shows_a_finding_at_the_lines_of_the_example():
    """The fault is a slot that is refilled too early: a copy and a product meet."""
    text = (ROOT / "README.md").read_text()
    (shown,) = [match[2] for match in FENCE.finditer(text) if "async-overwrite" in match[2]]
    lines = (ROOT / "examples" / "gemm.py").read_text().splitlines()
    copy, product = (
        lines[int(number) - 1].strip() for number in re.findall(r"gemm\.py:(\d+)", shown)
    )
    assert copy.startswith("wg.tma(") and f"`{copy}`" in text
    assert "wg.mma(" in product and f"`{product}`" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", page.read_text()))
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (page.parent / link).exists()] == []


def test_paths_in_the_how_to_exist():
    text = (ROOT / "docs" / "HowTo.md").read_text()
    folders = "include|lib|test|tools|docs|python-bindings|examples|utils|bench|requirements"
    paths = set(re.findall(rf"`((?:{folders})/[\w./*-]+)`", text))
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not list(ROOT.glob(path))] == []
