"""Kernels from the cache: what a second process does not do, and that it computes the same."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from girih.cache import tool
from girih.cache.store import Store
from girih.compiler.path import compiler_path

PROGRAM = """
import numpy as np
import girih as gr

SCALE = 3

@gr.function
def scaled(x):
    return x * SCALE

@gr.kernel
def scale(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = scaled(X[i])

x = np.arange(100, dtype=np.float32)
y = np.zeros_like(x)
program = scale.compile(x, y)
scale(x, y)
import sys
print(int(y[99]), program.from_cache, "girih.compiler.client" in sys.modules, program.resources["registers"] > 0)
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program with a cache of its own; returns its output and what it said."""

    def run(text=PROGRAM, name="program.py", status=0, **environment):
        path = tmp_path / name
        if not path.exists() or path.read_text() != text:  # another process may be reading it
            path.write_text(text)
        result = subprocess.run(
            [sys.executable, path],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "GIRIH_CACHE_DIR": str(tmp_path / "cache"),
                "GIRIH_LOG": "compile",
                **environment,
            },
        )
        assert result.returncode == status, result.stderr
        return result.stdout.strip(), result.stderr

    return run


def test_a_second_process_starts_no_compiler(run):
    assert run()[0] == "297 False True True"
    out, said = run()
    assert out == "297 True False True"
    assert "compiling" not in said


def test_the_log_says_why_a_kernel_is_compiled(run):
    assert "compile: compiling scale: no kernel of this name is in the cache" in run()[1]
    out, said = run(PROGRAM.replace("SCALE = 3", "SCALE = 4"))
    assert out == "396 False True True"
    assert "compile: compiling scale: 'SCALE' in 'scaled' changed\n" in said
    _, said = run(PROGRAM.replace("x * SCALE", "SCALE * x"))
    assert "compile: compiling scale: the source of 'scaled' changed\n" in said
    _, said = run(PROGRAM.replace("float32", "float64"))
    assert "argument 'x' changed; argument 'y' changed\n" in said


def test_a_hit_has_the_lines_of_the_file_as_it_is_now(run):
    """An edit above the kernel and another name of the file: the finding is at the line of today."""
    text = PROGRAM.replace("Y[i] = scaled(X[i])", "Y[0] = scaled(X[i])").replace(
        "scale(x, y)\n",
        "try:\n    scale(x, y)\nexcept gr.DeviceError as error:\n    print(str(error))\n",
    )
    line = text.splitlines().index("        Y[0] = scaled(X[i])") + 1
    out, _ = run(text)
    assert f"program.py:{line}" in out and "False True" in out
    out, _ = run("# a line\n\n" + text, name="moved.py")
    assert f"moved.py:{line + 2}" in out and "True False" in out
    assert "program.py" not in out


def test_remarks_have_the_lines_of_today(run):
    def remarks(said):
        return [line for line in said.splitlines() if line.startswith("girih: /")]

    before = remarks(run(GIRIH_REMARKS="1")[1])
    assert before
    after = remarks(run("\n" + PROGRAM, name="moved.py", GIRIH_REMARKS="1")[1])

    def moved(remark):
        file, line, text = remark.split(":", 3)[1:][0], *remark.split(":", 3)[2:]
        return f"girih:{file.replace('program', 'moved')}:{int(line) + 1}:{text}"

    assert after == [moved(remark) for remark in before]


def test_a_damaged_entry_is_compiled_again(run, tmp_path):
    run()
    store = Store(str(tmp_path / "cache"))
    ((key, _, _),) = store.entries()
    file = Path(store.path(key))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    out, said = run()
    assert out == "297 False True True"
    assert "is damaged (its checksum is wrong): removed" in said
    assert run()[0] == "297 True False True"


@pytest.mark.parametrize("off", ["0", ""])
def test_the_cache_can_be_switched_off(run, tmp_path, off):
    assert run(GIRIH_CACHE=off)[0] == "297 False True True"
    assert not (tmp_path / "cache").exists()


def test_another_compiler_is_another_kernel(run, tmp_path):
    """The same program at another place is the same compiler; with another byte it is not."""
    run()
    # The program finds its libraries by its own place.
    other = tmp_path / "girih-compile"
    shutil.copy(compiler_path(), other)
    assert run(GIRIH_COMPILE=str(other))[0] == "297 True False True"
    with other.open("ab") as file:
        file.write(b"\0")
    out, said = run(GIRIH_COMPILE=str(other))
    assert out == "297 False True True"
    assert "compiling scale: the compiler changed\n" in said


def test_without_a_home_nothing_is_kept_and_all_works(run, tmp_path):
    (tmp_path / "file").write_text("")
    blocked = str(tmp_path / "file" / "cache")
    out, said = run(GIRIH_CACHE_DIR=blocked)
    assert out == "297 False True True"
    assert f"no cache: {blocked}/v1 cannot be made: Not a directory" in said


def test_names_beyond_ascii(run, tmp_path):
    folder = str(tmp_path / "Zwischenspeicher-Größe-缓存")
    assert run(name="größe.py", GIRIH_CACHE_DIR=folder)[0] == "297 False True True"
    assert run(name="größe.py", GIRIH_CACHE_DIR=folder)[0] == "297 True False True"


def test_many_processes_at_once(run, tmp_path):
    """Six of the same two kernels (GIRIH_TEST_PROCESSES for more): each kernel is compiled once."""
    count = int(os.environ.get("GIRIH_TEST_PROCESSES", "6"))
    programs = [(PROGRAM, "a.py"), (PROGRAM.replace("SCALE = 3", "SCALE = 5"), "b.py")]
    for text, name in programs:
        (tmp_path / name).write_text(text)
    with ThreadPoolExecutor(min(count, 32)) as pool:
        results = list(pool.map(lambda number: run(*programs[number % 2]), range(count)))
    values = [out.split() for out, _ in results]
    assert [value[0] for value in values] == [("297", "495")[n % 2] for n in range(count)]
    assert [value[1] for value in values].count("False") == 2


# ---- girih-cache ----------------------------------------------------------------------------------


@pytest.fixture
def command(run, tmp_path, monkeypatch, capsys):
    """girih-cache on a cache with one kernel."""
    run()
    monkeypatch.setattr(tool, "store", lambda: Store(str(tmp_path / "cache")))
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))

    def command(*arguments, status=0):
        assert tool.main(arguments) == status
        return capsys.readouterr().out

    return command


def test_path_and_list(command, tmp_path):
    assert command("path") == f"{tmp_path / 'cache'}\n"
    text = command("list")
    assert "sm_90a  scale(x=f32[1d], y=f32[1d])\n" in text
    assert text.endswith(f" of 2048 MiB in {tmp_path / 'cache'}\n")


def test_verify(command, tmp_path):
    assert command("verify") == "1 of 1 entries are whole\n"
    store = Store(str(tmp_path / "cache"))
    ((key, _, _),) = store.entries()
    Path(store.path(key)).write_bytes(b"nothing")
    assert command("verify", status=1) == (
        f"{key[:16]} was damaged and is removed\n0 of 1 entries are whole\n"
    )


def test_prune(command):
    assert command("prune", "--size", "1G").startswith("0 removed, 1 left")
    assert command("prune", "--all") == "1 removed, 0 left (0.0 MiB)\n"


def test_a_report_holds_no_path(command, tmp_path):
    """What it says is said again at the lines of another file."""
    store = Store(str(tmp_path / "cache"))
    ((key, _, _),) = store.entries()
    entry = store.read(key)
    assert str(tmp_path).encode() not in entry.report
    assert json.loads(entry.report)["kernel"] == "scale"
    assert entry.image.startswith(b"\x7fELF")
