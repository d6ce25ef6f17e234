# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the sources that need no build: `./dev lint`; with --fix, `./dev fmt` formats in place.

Each check returns its problems as lines of text, an empty list where there are none. `./dev test` counts each check as
a test.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = (".cpp", ".h")
CLANG_FORMAT = "/usr/lib/llvm-22/bin/clang-format"

# Parts that are used without LLVM on the machine (docs/Design.md section 6, "Dependency direction").
WITHOUT_LLVM = ("Layout", "Image", "Emulator", "Driver", "Runtime")


@dataclass(frozen=True)
class Check:
    name: str
    problems: Callable[[], list[str]]


def sources(*suffixes: str) -> list[str]:
    """The project's files with these suffixes, relative to the root: what git tracks or would add."""
    # A checkout that belongs to another user than the one who runs this is still the same sources.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(
        [*command, "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    names = sorted({name for name in listed.split("\0") if name.endswith(suffixes)})
    return [name for name in names if (ROOT / name).is_file()]


def _run(command: list[str]) -> list[str]:
    """Runs a tool that exits non-zero when it has something to say; returns what it said."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode == 0:
        return []
    return done.stdout.splitlines() or [f"{command[0]} failed with exit status {done.returncode}"]


def clang_format() -> list[str]:
    files = sources(*CPP)
    if not files:
        return []
    found = {}
    for line in _run([CLANG_FORMAT, "--dry-run", "--Werror", *files]):
        match = re.match(r"(.+?):(\d+):\d+: error: code should be clang-formatted", line)
        if match:
            found.setdefault(match[1], match[2])
        elif "error:" in line:
            found.setdefault(line, "")
    return [f"{file}:{line}: not formatted; ./dev fmt formats it" for file, line in found.items()]


def ruff_format() -> list[str]:
    return _run([sys.executable, "-m", "ruff", "format", "--check", "--output-format=concise", "."])


def ruff_lint() -> list[str]:
    return _run([sys.executable, "-m", "ruff", "check", "--quiet", "--output-format=concise", "."])


def no_llvm_below() -> list[str]:
    """The parts that stand alone include nothing of LLVM, MLIR or the parts above them."""
    include = re.compile(
        r'#\s*include\s*[<"]((?:llvm|mlir|girih/(?:Dialect|Conversion|Target|Pipelines|Compiler))/.*?)[>"]'
    )
    parts = tuple(f"{tree}/{part}/" for tree in ("lib", "include/girih") for part in WITHOUT_LLVM)
    problems = []
    for name in sources(*CPP):
        if not name.startswith(parts):
            continue
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            match = include.match(line)
            if match:
                problems.append(f"{name}:{number}: includes {match[1]}; it must build without LLVM")
    return problems


def licence_lines() -> list[str]:
    """Each C++ file names its licence near the top."""
    line = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
    return [
        f"{name}: no '{line}' in its first 40 lines"
        for name in sources(*CPP)
        if not name.startswith(("cmake/", "test/"))
        and line not in "\n".join((ROOT / name).read_text().splitlines()[:40])
    ]


def source_checks() -> list[Check]:
    return [
        Check("clang-format", clang_format),
        Check("ruff format", ruff_format),
        Check("ruff check", ruff_lint),
        Check("no LLVM below the compiler", no_llvm_below),
        Check("licence lines", licence_lines),
    ]


def fix() -> int:
    """Formats every source in place; returns the worst exit status of the formatters."""
    files = sources(*CPP)
    commands = [[CLANG_FORMAT, "-i", *files]] if files else []
    commands += [[sys.executable, "-m", "ruff", "format", "."]]
    return max(subprocess.run(command, cwd=ROOT).returncode for command in commands)


def main() -> int:
    if sys.argv[1:] == ["--fix"]:
        return fix()
    failed = 0
    for check in source_checks():
        problems = check.problems()
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok    '} {check.name}")
        for problem in problems:
            print(f"    {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
