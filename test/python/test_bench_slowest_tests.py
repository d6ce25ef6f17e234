# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""./dev bench slowest-tests on reports made here."""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCH = [sys.executable, Path(__file__).parents[2] / "bench/slowest_tests.py"]


def bench(build, *arguments):
    environment = {**os.environ, "GIRIH_BUILD": str(build)}
    return subprocess.run(
        [*BENCH, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_all_reports_are_added_up(tmp_path):
    reports = tmp_path / "reports"
    (reports / "unit").mkdir(parents=True)
    (reports / "pytest.xml").write_text(
        '<testsuites><testsuite><testcase file="test/a.py" name="one[1]" time="0.5"/>'
        '<testcase file="test/a.py" name="two" time="1.25"/></testsuite></testsuites>'
    )
    lit = {"tests": [{"name": "girih :: x.mlir", "elapsed": 2.0}, {"name": "y", "elapsed": None}]}
    (reports / "lit.json").write_text(json.dumps(lit))
    suite = {"name": "Suite", "testsuite": [{"name": "Case", "time": "0.75s"}]}
    (reports / "unit/Program.json").write_text(json.dumps({"testsuites": [suite]}))

    result = json.loads(bench(tmp_path, "--json", "--top", "2").stdout.splitlines()[-1])
    assert result["files"] == [
        {"file": "lit", "seconds": 2.0, "tests": 2},
        {"file": "test/a.py", "seconds": 1.75, "tests": 2},
    ]
    assert [row["name"] for row in result["tests"]] == ["girih :: x.mlir", "two"]
    selected = json.loads(bench(tmp_path, "--json", "Program::").stdout.splitlines()[-1])
    assert selected["tests"] == [{"file": "Program", "name": "Suite.Case", "seconds": 0.75}]


def test_without_a_run_it_says_what_to_do(tmp_path):
    done = bench(tmp_path)
    assert done.returncode == 1
    assert "has no reports: run ./dev test" in done.stderr
