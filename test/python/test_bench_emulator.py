# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""./dev bench emulator: the keys that docs/Design.md promises, and a mistake in the call."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = [sys.executable, ROOT / "bench/emulator.py"]


def promised_keys():
    """The keys of the row of docs/Design.md."""
    (row,) = (
        line
        for line in (ROOT / "docs/Design.md").read_text().splitlines()
        if line.startswith("| `emulator` |")
    )
    return set(re.findall(r"`(\w+)`", row)) - {"emulator"}


def test_keys():
    command = [*BENCH, "--json", "--repeat", "1", "--only", "load,elementwise"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert promised_keys() == set(result) - {"rows"}
    assert result["load_ms_per_mb"] > 0
    assert result["instr_per_s_off"] > 0
    assert result["gemm_gflops_off"] is None  # left out


def test_unknown_part():
    done = subprocess.run([*BENCH, "--only", "speed"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no part speed; there are: gemm, attention" in done.stderr
