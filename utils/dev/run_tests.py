# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every test of a build and adds them up: `./dev test [PATTERN]`.

Four runners one after the other, each on all cores: the checks of checks.py and binaries.py, the GoogleTest programs
in bin/unit, lit over test/, and pytest over test/python, test/kernels and test/emulator. PATTERN is a regular
expression, searched
without regard to case in each test's full name (`LayoutTests:Swizzle.Inverse`, `girih :: Dialect/WG/ops.mlir`,
`test/kernels/test_gemm.py::test_tails[128x256]`, `check: clang-format`).

Reports go to <build>/reports. The last line is `N passed, N failed, N skipped`; the exit status is 1 if anything
failed or nothing ran.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import binaries
import checks

ROOT = Path(__file__).resolve().parents[2]
JOBS = len(os.sched_getaffinity(0))
# A test that hangs must not hang the run. Generous: the slowest tests take seconds on two cores.
UNIT_PROGRAM_SECONDS = 900
LIT_TEST_SECONDS = 300
# A sanitized build runs several times slower.
SANITIZED_PYTEST_SECONDS = 1800
LLVM_BIN = Path("/usr/lib/llvm-22/bin")


@dataclass
class Tally:
    """What one runner did. `failures` names each failed test."""

    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures


@dataclass(frozen=True)
class Run:
    """One run of the tests: the build under test and which tests of it."""

    build: Path
    pattern: str | None
    sanitized: bool = False

    @property
    def reports(self) -> Path:
        return self.build / "reports"

    def wants(self, name: str) -> bool:
        return self.pattern is None or re.search(self.pattern, name, re.IGNORECASE) is not None


def sanitizer_environment() -> dict[str, str]:
    """What a sanitized build needs around it.

    libMLIR and libLLVM are not instrumented. Their headers, compiled into our code, poison allocators' memory by hand;
    their own code, compiled without, never unpoisons it: hence allow_user_poisoning=0. Leaks are looked for in the unit
    tests only (run_unit_program): Python and ptxas leave memory behind at exit by design.
    """
    return {
        "ASAN_OPTIONS": "allow_user_poisoning=0:detect_leaks=0:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_SYMBOLIZER_PATH": str(LLVM_BIN / "llvm-symbolizer"),
        "GIRIH_SANITIZED": "1",  # for tests that measure time
    }


def asan_runtime() -> str:
    """The shared runtime that Python must load first, since Python itself is not sanitized."""
    return subprocess.run(
        [LLVM_BIN / "clang", "-print-file-name=libclang_rt.asan-x86_64.so"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()


# ---- Checks ----------------------------------------------------------------------------------------------------------


def run_checks(run: Run) -> Tally:
    tally = Tally()
    for check in [*checks.source_checks(), *binaries.binary_checks(run.build)]:
        name = f"check: {check.name}"
        if not run.wants(name):
            continue
        try:
            problems = check.problems()
        except (OSError, subprocess.SubprocessError) as error:  # its tool is missing or failed
            problems = [str(error)]
        if problems:
            tally.failures.append(name)
            print(f"FAILED {name}\n" + "\n".join(f"    {problem}" for problem in problems))
        else:
            tally.passed += 1
    return tally


# ---- GoogleTest ------------------------------------------------------------------------------------------------------


def listed_tests(program: Path) -> list[str]:
    """The names of a GoogleTest program's tests, as --gtest_filter takes them."""
    output = subprocess.run(
        [program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, timeout=60, check=True
    ).stdout
    names, suite = [], ""
    for line in output.splitlines():
        text = line.split("#")[0].rstrip()
        if text.endswith(".") and not text.startswith(" "):
            suite = text
        elif text.startswith("  ") and suite:
            names.append(suite + text.strip())
    return names


def unit_report(report: Path, program: str) -> Tally:
    """Adds up a GoogleTest program's JSON report."""
    tally = Tally()
    for suite in json.loads(report.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                tally.failures.append(f"{program}:{suite['name']}.{case['name']}")
            elif case["result"] == "COMPLETED":
                tally.passed += 1
            else:  # SKIPPED by the test, or SUPPRESSED: its name begins with DISABLED_
                tally.skipped += 1
    return tally


def instruction_sets(program: Path) -> tuple[str, ...]:
    """The host's instruction sets that a program is tested with; "" is the best that the machine has.

    The emulated device picks its loops at run time, so the slower ones would otherwise never be tested.
    """
    return ("", "avx2", "plain") if program.name.startswith("girih_emulator") else ("",)


def run_unit_program(run: Run, program: Path, isa: str = "") -> tuple[Tally, str]:
    """Runs one GoogleTest program; returns its tally and what to print."""
    name = f"{program.name} ({isa})" if isa else program.name
    selected = ["--gtest_filter=*"]
    if run.pattern is not None:
        try:
            names = [n for n in listed_tests(program) if run.wants(f"{program.name}:{n}")]
        except (subprocess.SubprocessError, OSError) as error:
            return Tally(failures=[program.name]), f"FAILED {program.name}: {error}"
        if not names:
            return Tally(), ""
        selected = ["--gtest_filter=" + ":".join(names)]
    report = run.reports / "unit" / f"{program.name}{isa}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    environment = dict(os.environ)
    if isa:
        environment["GIRIH_EMULATOR_ISA"] = isa
    if run.sanitized:
        environment["ASAN_OPTIONS"] += ":detect_leaks=1"
    start = time.monotonic()
    try:
        done = subprocess.run(
            [program, *selected, f"--gtest_output=json:{report}", "--gtest_brief=1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=UNIT_PROGRAM_SECONDS,
            text=True,
            errors="replace",
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        status = f"stopped after {UNIT_PROGRAM_SECONDS} s"
    seconds = time.monotonic() - start
    try:
        tally = unit_report(report, name)
    except (OSError, ValueError, KeyError):
        tally = Tally()
    if status != 0 and not tally.failures:
        # It crashed, hung, or a sanitizer spoke after the last test.
        if isinstance(status, int) and status < 0:
            status = f"killed by {signal.Signals(-status).name}"
        tally.failures.append(f"{name} ({status})")
    if tally.failures:
        return tally, f"FAILED {name} ({seconds:.1f} s)\n{output}"
    return tally, f"{name}: {tally.passed} passed ({seconds:.1f} s)"


def run_unit(run: Run) -> Tally:
    folder = run.build / "bin/unit"
    programs = sorted(f for f in folder.glob("*") if f.is_file() and os.access(f, os.X_OK))
    tally = Tally()
    with ThreadPoolExecutor(JOBS) as pool:
        jobs = [(program, isa) for program in programs for isa in instruction_sets(program)]
        for result, text in pool.map(lambda job: run_unit_program(run, *job), jobs):
            tally.add(result)
            if text:
                print(text, flush=True)
    return tally


# ---- lit -------------------------------------------------------------------------------------------------------------


def run_lit(run: Run) -> Tally:
    report = run.reports / "lit.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-c", "from lit.main import main; main()"]
    command += [f"-j{JOBS}", "--verbose", "--succinct", "--no-progress-bar", "--allow-empty-runs"]
    command += [f"--timeout={LIT_TEST_SECONDS}", f"--output={report}"]
    command += [f"--param=girih_build={run.build}"]
    if run.pattern is not None:
        command += [f"--filter={run.pattern}"]
    status = subprocess.run([*command, str(ROOT / "test")]).returncode
    tally = Tally()
    if status == 0 and not report.exists():  # no test matches the pattern
        return tally
    try:
        tests = json.loads(report.read_text())["tests"]
    except (OSError, ValueError, KeyError):
        return Tally(failures=[f"lit (no report, exit status {status})"])
    for test in tests:
        if test["code"] in ("PASS", "FLAKYPASS", "XFAIL"):
            tally.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            tally.skipped += test["code"] != "EXCLUDED"  # excluded: the pattern did not ask for it
        else:
            tally.failures.append(test["name"])
    if status != 0 and not tally.failures:
        tally.failures.append(f"lit (exit status {status})")
    return tally


# ---- pytest ----------------------------------------------------------------------------------------------------------


def run_pytest(run: Run) -> Tally:
    folders = [f for f in ("test/python", "test/kernels", "test/emulator") if (ROOT / f).is_dir()]
    if not folders:
        return Tally()
    report = run.reports / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"-n{JOBS}", "-q", f"--junitxml={report}"]
    command += ["-o", "junit_family=xunit1"]  # names the file of each test
    command += ["-p", "pytest_pattern", f"--girih-pattern={run.pattern or ''}"]
    environment = dict(os.environ)
    environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
    environment["GIRIH_BUILD"] = str(run.build)
    # Kernels that have not changed since the last run are not compiled again; the user's cache is left alone.
    environment["GIRIH_CACHE_DIR"] = str(run.build / "kernel-cache")
    if run.sanitized:
        command += [f"--timeout={SANITIZED_PYTEST_SECONDS}"]
        environment["LD_PRELOAD"] = asan_runtime()
    status = subprocess.run([*command, *folders], cwd=ROOT, env=environment).returncode
    tally = Tally()
    if status == 5:  # pytest's word for "no test was selected"
        return tally
    try:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tally.failures.append(f"{case.get('file', '')}::{case.get('name')}")
            elif case.find("skipped") is not None:
                tally.skipped += 1
            else:
                tally.passed += 1
    except (OSError, ElementTree.ParseError):
        return Tally(failures=[f"pytest (no report, exit status {status})"])
    if status != 0 and not tally.failures:
        tally.failures.append(f"pytest (exit status {status})")
    return tally


# ---- All -------------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test", description="Runs the tests of a build.")
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--sanitized", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "pattern", nargs="?", help="a regular expression that test names must match"
    )
    arguments = parser.parse_args()
    try:
        re.compile(arguments.pattern or "")
    except re.error as error:
        parser.error(f"PATTERN '{arguments.pattern}' is not a regular expression: {error}")
    run = Run(arguments.build.resolve(), arguments.pattern, arguments.sanitized)
    if run.sanitized:
        os.environ.update(sanitizer_environment())
    run.reports.mkdir(parents=True, exist_ok=True)

    total = Tally()
    runners = [
        ("checks", run_checks),
        ("unit tests", run_unit),
        ("lit", run_lit),
        ("pytest", run_pytest),
    ]
    for title, runner in runners:
        print(f"== {title}", flush=True)
        start = time.monotonic()
        tally = runner(run)
        total.add(tally)
        print(
            f"== {title}: {tally.passed} passed, {len(tally.failures)} failed, {tally.skipped} skipped"
            f" in {time.monotonic() - start:.1f} s",
            flush=True,
        )
    if total.failures:
        print("Failed:\n" + "\n".join(f"    {name}" for name in total.failures))
    ran = total.passed + len(total.failures)
    if ran == 0:
        print(f"no test matches '{run.pattern}'" if run.pattern else "no test ran", file=sys.stderr)
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped")
    return 1 if total.failures or ran == 0 else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
