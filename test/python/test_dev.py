"""The entry script: where it stops and what it then says, its locks, and the checks that it runs."""

import json
import os
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERBS = ["setup", "build", "test", "run", "opt", "bench", "fmt", "lint", "asan", "doctor", "help"]


@pytest.fixture
def dev_modules(monkeypatch):
    """Makes utils/dev importable, as it is for the scripts in it."""
    monkeypatch.syspath_prepend(str(ROOT / "utils/dev"))


class Checkout:
    """A copy of what ./dev reads before the build, with stand-ins for programs in front on PATH."""

    def __init__(self, folder: Path):
        self.root = folder / "checkout"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.root.mkdir()
        shutil.copy(ROOT / "dev", self.root)
        shutil.copytree(ROOT / "requirements", self.root / "requirements")
        shutil.copytree(
            ROOT / "utils", self.root / "utils", ignore=shutil.ignore_patterns("__pycache__")
        )

    def stand_in(self, name: str, script: str) -> None:
        file = self.bin / name
        file.write_text("#!/bin/sh\n" + textwrap.dedent(script))
        file.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.root), **more}

    def dev(self, *arguments: str, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.root / "dev", *arguments],
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=120,
        )

    def names(self, file: str) -> list[str]:
        lines = (self.root / "requirements" / file).read_text().splitlines()
        return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def bare_machine(checkout):
    """A Debian on which none of the packages is installed; apt-get writes down how it was called."""
    checkout.stand_in("dpkg-query", "exit 1")
    checkout.stand_in("apt-get", f'echo "$@" >> {checkout.root}/apt-get.log; exit 100')
    checkout.stand_in("apt-cache", 'echo "$2:"; echo "  Candidate: 1:99.0"')
    checkout.stand_in("id", "echo 0")
    return checkout


def test_help_names_every_verb(checkout):
    done = checkout.dev("help")
    assert done.returncode == 0
    described = [line.split()[1] for line in done.stdout.splitlines()]
    assert described == VERBS
    documentation = (ROOT / "docs/Development.md").read_text()
    assert [verb for verb in VERBS[:-1] if f"./dev {verb}" not in documentation] == []


def test_unknown_verb(checkout):
    done = checkout.dev("biuld")
    assert done.returncode == 2
    assert "unknown verb 'biuld'" in done.stderr
    assert "./dev build" in done.stderr


def test_run_without_a_file(checkout):
    done = checkout.dev("run")
    assert done.returncode == 1
    assert "which program? ./dev run FILE" in done.stderr


def test_without_root_it_prints_the_command(bare_machine):
    bare_machine.stand_in("id", "echo 1000")
    done = bare_machine.dev("setup")
    command = (
        "    sudo apt-get update && sudo apt-get install --yes --no-install-recommends "
        + " ".join(bare_machine.names("apt.txt"))
    )
    assert done.returncode == 1
    assert "Installing them needs root" in done.stderr
    assert command in done.stderr.splitlines()
    assert not (bare_machine.root / "apt-get.log").exists(), "apt-get was called without root"


def test_without_network_apt_stops_with_the_command(bare_machine):
    done = bare_machine.dev("setup")
    command = "    apt-get update && apt-get install --yes --no-install-recommends " + " ".join(
        bare_machine.names("apt.txt")
    )
    assert done.returncode == 1
    assert "apt-get install failed with exit status 100" in done.stderr
    assert "Without a network it cannot download" in done.stderr
    assert command in done.stderr.splitlines()


def test_a_package_that_apt_does_not_know(bare_machine):
    bare_machine.stand_in("apt-cache", 'echo "$2:"; echo "  Candidate: (none)"')
    done = bare_machine.dev("setup")
    assert done.returncode == 1
    assert "apt has no candidate for clang-22 >= 1:22.1" in done.stderr
    assert "bookworm-security" in done.stderr
    assert "    apt-get update && apt-cache policy clang-22" in done.stderr.splitlines()


def test_only_what_is_missing_or_too_old_is_installed(bare_machine):
    installed = "\\n".join(
        f"{name} installed {'1:22.0' if name == 'lld-22' else '9:99.9'}"
        for name in bare_machine.names("apt.txt")
        if name != "ccache"
    )
    bare_machine.stand_in("dpkg-query", f"printf '{installed}\\n'; exit 1")
    done = bare_machine.dev("setup")
    assert "lld-22 >= 1:22.1 (found 1:22.0), ccache" in done.stderr
    log = (bare_machine.root / "apt-get.log").read_text().splitlines()
    assert log[-1].endswith("--no-install-recommends lld-22 ccache")


def test_without_network_pip_stops_with_the_command(bare_machine):
    installed = "\\n".join(f"{name} installed 9:99.9" for name in bare_machine.names("apt.txt"))
    bare_machine.stand_in("dpkg-query", f"printf '{installed}\\n'")
    # Some other Python first on PATH must not end up in .venv.
    bare_machine.stand_in("python3", "echo 'the wrong python3' >&2; exit 1")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    done = bare_machine.dev("setup", PIP_CONFIG_FILE=os.devnull, **nowhere)
    root = bare_machine.root
    assert done.returncode == 1
    assert "pip could not install the Python packages" in done.stderr
    assert (
        f"    {root}/.venv/bin/python -m pip install -r {root}/requirements/pip.txt"
        in done.stderr.splitlines()
    )
    assert "the wrong python3" not in done.stderr
    assert "home = /usr/bin" in (root / ".venv/pyvenv.cfg").read_text().splitlines()


def test_doctor_says_what_is_missing(bare_machine):
    done = bare_machine.dev("doctor")
    assert done.returncode == 1
    row = next(line for line in done.stdout.splitlines() if "clang-22 " in line)
    assert row.split() == ["clang-22", ">=", "1:22.1", "not", "installed", "MISSING"]
    assert "apt-get install --yes --no-install-recommends clang-22" in done.stdout
    assert f"-m pip install -r {bare_machine.root}/requirements/pip.txt" in done.stdout


def with_setup(checkout: Checkout, program: str) -> None:
    """Replaces the set-up by a program that always succeeds."""
    body = textwrap.dedent(program)
    (checkout.root / "utils/dev/setup.py").write_text(
        "import os, pathlib, time\npathlib.Path('.venv').mkdir(exist_ok=True)\n" + body
    )


def test_a_toolkit_on_the_machine_is_ignored(checkout, monkeypatch):
    with_setup(
        checkout,
        "print({k: os.environ.get(k) for k in ('CUDA_HOME', 'LIBRARY_PATH', 'GIRIH_CUDA_HOME')})",
    )
    monkeypatch.chdir(checkout.root)
    done = checkout.dev("setup", CUDA_HOME="/a", LIBRARY_PATH="/b", GIRIH_CUDA_HOME="/c")
    assert done.stdout == "{'CUDA_HOME': None, 'LIBRARY_PATH': None, 'GIRIH_CUDA_HOME': '/c'}\n"


def test_two_setups_wait_for_each_other(checkout, monkeypatch):
    with_setup(
        checkout,
        """
        log = open("log", "a", buffering=1)
        log.write("begin\\n")
        time.sleep(0.5)
        log.write("end\\n")
        """,
    )
    monkeypatch.chdir(checkout.root)
    both = [
        subprocess.Popen(["./dev", "setup"], env=checkout.environment(), stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    messages = b"".join(process.communicate(timeout=60)[1] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert Path("log").read_text().split() == ["begin", "end", "begin", "end"]
    assert b"another ./dev holds build/.dev/setup.lock, waiting for it" in messages


def test_setup_runs_again_only_when_a_list_changes(checkout, monkeypatch):
    with_setup(checkout, "open('log', 'a').write('ran\\n')")
    monkeypatch.chdir(checkout.root)
    count = lambda: len(Path("log").read_text().split())  # noqa: E731
    assert checkout.dev("setup").returncode == 0
    assert checkout.dev("setup").returncode == 0
    assert count() == 1
    with open("requirements/pip.txt", "a") as pins:
        pins.write("# changed\n")
    assert checkout.dev("setup").returncode == 0
    assert count() == 2


@pytest.mark.skipif("GIRIH_SANITIZED" in os.environ, reason="times a run; sanitizers slow it")
def test_setup_in_place_costs_little(checkout, monkeypatch):
    with_setup(checkout, "")
    monkeypatch.chdir(checkout.root)
    checkout.dev("setup")
    seconds = []
    for _ in range(5):
        start = time.monotonic()
        checkout.dev("setup")
        seconds.append(time.monotonic() - start)
    assert min(seconds) < 0.15, seconds  # the build's own check takes the rest of the 0.3 s


# ---- Requirements files ----


def test_every_python_package_is_pinned(dev_modules):
    import dependencies

    assert {r.operator for r in dependencies.pip_requirements()} == {"=="}


def test_a_line_that_is_no_requirement(dev_modules, tmp_path):
    import dependencies

    file = tmp_path / "list.txt"
    file.write_text("# a comment\nclang-22 > 5\n")
    expected = rf"{file}:2: expected NAME, .* found 'clang-22 > 5'"
    with pytest.raises(SystemExit, match=expected):
        dependencies._lines(file)


# ---- Checks of binaries ----


def shared_library(folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.cpp").write_text(source)
    library = folder / f"{name}.so"
    command = ["clang++-22", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=lld", *options]
    subprocess.run([*command, "-o", library, folder / f"{name}.cpp"], check=True)
    return library


DEFINES = "namespace llvm::cl { void ParseCommandLineOptions() {} }"
CALLS = "namespace llvm { void f(); } void g() { llvm::f(); }"


def test_a_static_copy_of_llvm_is_found(dev_modules, tmp_path):
    import binaries

    copy = shared_library(tmp_path, "copy", DEFINES)
    hidden = shared_library(tmp_path, "hidden", DEFINES, "-fvisibility=hidden")
    clean = shared_library(tmp_path, "clean", "int f() { return 1; }")
    for library in (copy, hidden):
        (problem,) = binaries.static_copy_problems(library)
        assert f"{library}: carries a static copy of LLVM or MLIR" in problem
        assert "ParseCommandLineOptions" in problem
    assert binaries.static_copy_problems(clean) == []


def test_llvm_must_be_a_needed_library(dev_modules, tmp_path):
    import binaries

    calls = shared_library(tmp_path, "calls", CALLS)
    linked = shared_library(
        tmp_path, "linked", CALLS, "-Wl,--no-as-needed", "-L/usr/lib/llvm-22/lib", "-lLLVM"
    )
    (problem,) = binaries.static_copy_problems(calls)
    assert "has neither libLLVM nor libMLIR in its dynamic section" in problem
    assert binaries.static_copy_problems(linked) == []
    (problem,) = binaries.stands_alone_problems(linked)
    assert "needs libLLVM" in problem
    (problem,) = binaries.stands_alone_problems(calls)
    assert "must not know LLVM" in problem


def test_the_definitions_looked_for_are_those_of_debians_libraries(dev_modules):
    import binaries

    folder = Path("/usr/lib/llvm-22/lib")
    defined = [
        symbol
        for name in ("libLLVM.so", "libMLIR.so")
        for symbol in binaries.symbols(folder / name, "--defined-only", "--dynamic")
    ]
    for prefix in binaries.LLVM_DEFINITIONS:
        assert any(symbol.startswith(prefix) for symbol in defined), prefix


def test_a_file_without_assertions_is_found(dev_modules, tmp_path):
    import binaries

    file = ROOT / "lib/Layout/Layout.cpp"
    entries = [
        {"file": str(file), "command": f"clang++-22 -O2 -DNDEBUG -c {file}"},
        {"file": str(file), "command": f"clang++-22 -O2 -DNDEBUGGER -c {file}"},
        {"file": "/usr/src/other.cpp", "command": "clang++-22 -DNDEBUG -c /usr/src/other.cpp"},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    (problem,) = binaries.disabled_assertions(tmp_path)
    assert problem == f"{file}: compiled with -DNDEBUG, but tests need assertions"


# ---- The test runner ----


def gtest_program(folder: Path, name: str, script: str) -> Path:
    """A stand-in for a GoogleTest program: a shell script that gets the same options."""
    program = folder / "bin/unit" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    return program


# The JSON report of GoogleTest's manual, "Generating a JSON Report", reduced to what the runner reads.
REPORT = {
    "testsuites": [
        {
            "name": "Suite",
            "testsuite": [
                {"name": "Good", "result": "COMPLETED"},
                {"name": "Bad", "result": "COMPLETED", "failures": [{"failure": "no"}]},
                {"name": "Skipped", "result": "SKIPPED"},
                {"name": "DISABLED_Later", "result": "SUPPRESSED"},
            ],
        }
    ]
}


def write_report(report: dict) -> str:
    return f"""
    for option; do case $option in --gtest_output=json:*) file=${{option#*json:}};; esac; done
    echo '{json.dumps(report)}' > "$file"
    """


def test_a_unit_program_is_added_up(dev_modules, tmp_path):
    import run_tests

    program = gtest_program(tmp_path, "LayoutTests", write_report(REPORT) + "exit 1")
    tally, text = run_tests.run_unit_program(run_tests.Run(tmp_path, None), program)
    assert (tally.passed, tally.skipped) == (1, 2)
    assert tally.failures == ["LayoutTests:Suite.Bad"]
    assert text.startswith("FAILED LayoutTests")


def test_a_crash_is_a_failure_even_after_good_tests(dev_modules, tmp_path):
    import run_tests

    good = {"testsuites": [{"name": "S", "testsuite": [{"name": "T", "result": "COMPLETED"}]}]}
    run = run_tests.Run(tmp_path, None)
    early = gtest_program(tmp_path, "Early", "kill -KILL $$")
    late = gtest_program(tmp_path, "Late", write_report(good) + "kill -KILL $$")
    assert run_tests.run_unit_program(run, early)[0].failures == ["Early (killed by SIGKILL)"]
    tally, _ = run_tests.run_unit_program(run, late)
    assert (tally.passed, tally.failures) == (1, ["Late (killed by SIGKILL)"])


def test_a_pattern_selects_unit_tests(dev_modules, tmp_path):
    import run_tests

    script = """
    case $1 in
      --gtest_list_tests) printf 'Swizzle.\\n  Inverse\\n  Compose\\nTyped/0.  # TypeParam = int\\n  Inverse\\n'; exit;;
    esac
    echo "$1" > "$(dirname "$0")/filter"
    """
    program = gtest_program(tmp_path, "LayoutTests", script)
    run_tests.run_unit_program(run_tests.Run(tmp_path, "layout.*INVERSE"), program)
    assert (program.parent / "filter").read_text() == (
        "--gtest_filter=Swizzle.Inverse:Typed/0.Inverse\n"
    )
    tally, text = run_tests.run_unit_program(run_tests.Run(tmp_path, "ring"), program)
    assert (tally.passed, tally.failures, text) == (0, [], "")


@pytest.fixture
def run_with(dev_modules, monkeypatch, tmp_path, capsys):
    """Runs the test runner with four runners that report what the caller says; returns status and last line."""
    import run_tests

    def run(*tallies, pattern=()):
        runners = ("run_checks", "run_unit", "run_lit", "run_pytest")
        for name, tally in zip(runners, tallies, strict=True):
            monkeypatch.setattr(run_tests, name, lambda run, tally=tally: run_tests.Tally(*tally))
        monkeypatch.setattr("sys.argv", ["run_tests.py", "--build", str(tmp_path), *pattern])
        status = run_tests.main()
        return status, capsys.readouterr().out.splitlines()[-1]

    return run


def test_the_last_line_adds_up_all_runners(run_with):
    good = (5, 1, []), (20, 0, []), (3, 2, []), (100, 0, [])
    assert run_with(*good) == (0, "128 passed, 0 failed, 3 skipped")
    bad = (5, 1, []), (19, 0, ["a"]), (3, 2, []), (98, 0, ["b", "c"])
    assert run_with(*bad) == (1, "125 passed, 3 failed, 3 skipped")


def test_a_run_in_which_nothing_ran_fails(run_with):
    nothing = ((0, 0, []),) * 4
    assert run_with(*nothing) == (1, "0 passed, 0 failed, 0 skipped")
    skipped = (0, 7, []), *nothing[1:]
    assert run_with(*skipped, pattern=["cuda"]) == (1, "0 passed, 0 failed, 7 skipped")


def test_a_pattern_that_is_no_regular_expression(tmp_path):
    command = [ROOT / ".venv/bin/python", ROOT / "utils/dev/run_tests.py", "--build", tmp_path]
    done = subprocess.run([*command, "gemm["], capture_output=True, text=True)
    assert done.returncode == 2
    assert "PATTERN 'gemm[' is not a regular expression" in done.stderr
