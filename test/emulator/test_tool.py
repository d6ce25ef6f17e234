# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""girih-emu on programs of others: values, the search over seeds and adversaries, and the replay of a finding."""

import json
import re
import shlex
import subprocess

import numpy as np
import pytest

from all_programs import PROGRAMS
from emulated import ADVERSARIES, BUILD

TOOL = BUILD / "bin/girih-emu"


def run(folder, *arguments):
    return subprocess.run(
        [TOOL, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def histogram(tmp_path):
    """basics.cu's histogram of 2000 bytes in a folder, and the counts that it must give."""
    x = np.random.default_rng(5).integers(0, 256, 2000, dtype=np.uint8)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "k.ptx").write_text(PROGRAMS["histogram"].ptx())
    spec = {
        "grid": [3],
        "block": [128],
        "arrays": {
            "x": {"file": "x.npy"},
            "counts": {"dtype": "<u4", "shape": [256], "out": "counts.npy"},
        },
        "args": [{"pointer": "x"}, {"pointer": "counts"}, {"i32": 2000}],
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    return tmp_path, np.bincount(x, minlength=256)


def test_runs_on_arrays(histogram):
    folder, counts = histogram
    done = run(folder, "k.ptx", "--entry", "histogram", "--args", "spec.json", "--seeds", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 run(s), nothing found" in done.stderr
    np.testing.assert_array_equal(np.load(folder / "counts.npy"), counts)


def test_all_adversaries(histogram):
    folder, _ = histogram
    done = run(
        folder, "k.ptx", "--entry", "histogram", "--args", "spec.json", "--adversary", "all", "--seeds", "2"
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(ADVERSARIES)} run(s), nothing found" in done.stderr


def test_help_names_the_adversaries(tmp_path):
    text = run(tmp_path, "--help").stdout
    listed = re.search(r"Adversaries:\n(.*?)\n\n", text, re.DOTALL)[1]
    assert tuple(line.split()[0] for line in listed.splitlines()) == ADVERSARIES


def test_search_and_replay(histogram):
    """Without its first barrier, counting may start before the counters are cleared."""
    folder, _ = histogram
    ptx = (folder / "k.ptx").read_text()
    body = ptx.index(".entry histogram(")
    (folder / "k.ptx").write_text(ptx[:body] + ptx[body:].replace("bar.sync \t0;", "", 1))
    found = run(
        folder, "k.ptx", "--entry", "histogram", "--args", "spec.json", "--adversary", "all", "--seeds", "9"
    )  # fmt: skip
    assert found.returncode == 1, found.stdout + found.stderr
    assert "shared-race" in found.stdout
    command = shlex.split(re.search(r"^replay: (.*)$", found.stdout, re.MULTILINE)[1])
    assert command[0] == "girih-emu"
    again = run(folder, *command[1:], "--json")
    assert again.returncode == 1
    findings = [json.loads(line) for line in again.stdout.splitlines()]
    assert findings
    for finding in findings:
        assert finding["kind"] == "shared-race"
        assert finding["kind"] in found.stdout
        assert all(site["ptx_line"] > 0 for site in finding["sites"])
    # The same seed is the same run: the text is equal too.
    assert run(folder, *command[1:]).stdout == found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("k.ptx", "--args", "spec.json"), "name one with --entry"),
        (("k.ptx", "--entry", "nothing", "--args", "spec.json"), "has no kernel 'nothing'"),
        (("missing.ptx", "--args", "spec.json"), "cannot read missing.ptx"),
        (("k.ptx", "--entry", "histogram", "--args", "missing.json"), "cannot read missing.json"),
        (
            ("k.ptx", "--entry", "transpose", "--args", "spec.json"),
            "3 arguments, the kernel takes 4",
        ),
    ],
)
def test_mistakes(histogram, arguments, message):
    folder, _ = histogram
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
