# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which scalar instructions exist: every spelling that the pinned ptxas accepts for sm_90a must load.

`scalar_forms` spells far more than there is; ptxas decides, a few thousand statements at a time.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from emulated import BUILD
from scalar_forms import FIRST_LINE, every_form, module

FORMS = every_form()

#: Accepted spellings by family with ptxas 13.5. A newer one may know more; fewer means that a
#: generator broke, and that this test tests nothing.
LEAST = {"add": 24, "cvt": 794, "fma": 70, "fmin": 66, "set": 816, "setp.bool": 288, "video": 5000}


def _ptxas() -> str | None:
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or [] if spec else []:
        for path in Path(root).glob("cu*/bin/ptxas"):
            return str(path)
    return None


def _messages(command: list[str], pattern: str) -> dict[int, str]:
    """Statement number to message."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[int, str] = {}
    for line in (result.stderr + result.stdout).splitlines():
        if match := re.search(pattern, line):
            found.setdefault(int(match[1]) - FIRST_LINE, match[2])
    assert result.returncode == 0 or found, result.stderr
    return found


def accepted_forms(family: str, statements: list[str], directory: Path) -> list[str]:
    """Those that the pinned ptxas accepts for sm_90a."""
    assembler = _ptxas()
    if assembler is None:
        pytest.skip("the pinned ptxas is not installed")
    source = directory / f"{family}.ptx"
    # Refused statements hide later messages about others, so until nothing is refused.
    while True:
        source.write_text(module(statements))
        refused = _messages(
            [assembler, "-arch=sm_90a", "-O0", str(source), "-o", str(directory / "out")],
            r"line (\d+); error\s*: (.*)",
        )
        if not refused:
            return statements
        statements = [s for i, s in enumerate(statements) if i not in refused]


@pytest.mark.parametrize("family", sorted(FORMS))
def test_what_ptxas_accepts_loads(family: str, tmp_path: Path) -> None:
    accepted = accepted_forms(family, FORMS[family], tmp_path)
    assert len(accepted) >= LEAST.get(family, 0)
    source = tmp_path / f"{family}.ptx"
    unknown = _messages(
        [str(BUILD / "bin/girih-emu"), str(source), "--check"], r"\.ptx:(\d+): (.*)"
    )
    assert not unknown, "\n".join(unknown.values())
