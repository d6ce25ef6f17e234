# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the last `./dev test` has spent its time: files and tests, the slowest first.

    ./dev bench slowest-tests [--json] [--top N] [PATTERN]

Seconds of one process each, so those of all tests together are about the run's times the number of cores. What is slow is most often
compiled more than once, or larger than it needs to be.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).absolute().parents[1]


def seconds_of_tests(reports: Path) -> Iterator[tuple[str, str, float]]:
    """File (or program), test and seconds of every test of a run's reports."""
    for case in ElementTree.parse(reports / "pytest.xml").iter("testcase"):
        yield case.get("file", "pytest"), case.get("name", ""), float(case.get("time", 0))
    for test in json.loads((reports / "lit.json").read_text())["tests"]:
        yield "lit", test["name"], test["elapsed"] or 0.0
    for report in (reports / "unit").glob("*.json"):
        for suite in json.loads(report.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                name = f"{suite['name']}.{case['name']}"
                yield report.stem, name, float(case["time"].rstrip("s"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench slowest-tests", description=__doc__)
    parser.add_argument(
        "pattern", nargs="?", default="", help="regular expression on tests' names, files included"
    )
    parser.add_argument("--top", type=int, default=20, help="files and tests that are printed")
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    options = parser.parse_args()
    reports = Path(os.environ.get("GIRIH_BUILD", ROOT / "build")) / "reports"
    if not (reports / "pytest.xml").exists():
        sys.exit(f"{reports} has no reports: run ./dev test")
    tests = [
        (seconds, file, name)
        for file, name, seconds in seconds_of_tests(reports)
        if re.search(options.pattern, f"{file}::{name}")
    ]
    files: dict[str, list[float]] = collections.defaultdict(list)
    for seconds, file, _ in tests:
        files[file].append(seconds)
    slowest_files = sorted(files.items(), key=lambda row: -sum(row[1]))[: options.top]
    slowest_tests = sorted(tests, reverse=True)[: options.top]
    print(f"{sum(seconds for seconds, _, _ in tests):8.1f} s in {len(tests)} tests")
    for file, times in slowest_files:
        print(f"{sum(times):8.1f} s in {len(times):4} of {file}")
    for seconds, file, name in slowest_tests:
        print(f"{seconds:8.2f} s  {file}::{name}")
    if options.json:
        rows = [{"file": f, "seconds": round(sum(t), 2), "tests": len(t)} for f, t in slowest_files]
        slow = [{"file": f, "name": n, "seconds": round(s, 2)} for s, f, n in slowest_tests]
        print(json.dumps({"files": rows, "tests": slow}))


if __name__ == "__main__":
    main()
