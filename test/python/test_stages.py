"""What a user sees of a compilation: inspect, GIRIH_DUMP, several at once."""

import json
import os

import numpy as np
import pytest

import girih as gr
from girih import progress

ROOM = np.zeros(100, np.float32)


@gr.function
def shifted(x):
    return x + 1


@gr.kernel
def shift(x: gr.In["N"], y: gr.Out["N"], *, BLOCK: gr.const = 64):
    X, Y = x.tiles(BLOCK), y.tiles(BLOCK)
    for i in gr.tiles(Y):
        Y[i] = shifted(X[i])


@gr.kernel
def broken(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = X[i] + nothing


SIGNS = {
    "python": ["def shifted(x):", "def shift(x:", f"# {__file__}:"],
    "tile": ["plan.host @shift", "tile.load"],
    "wg": ["wg.role", "#wg.layout"],
    "nvvm": ["llvm.func @shift"],
    "llvm": ["define ptx_kernel void @shift"],
    "ptx": [".visible .entry shift", ".target sm_90a"],
    "sass": ["FADD", "EXIT"],
}


def test_inspect_shows_every_stage():
    stages = shift.inspect(ROOM, ROOM)
    for name, signs in SIGNS.items():
        for sign in signs:
            assert sign in stages[name], name
    assert stages["cubin"].startswith(b"\x7fELF")
    assert stages["report"]["resources"]["registers"] > 0
    assert stages["report"]["timings_ms"]["ptxas"] > 0
    assert set(stages) == {*SIGNS, "cubin", "report"}


def test_the_dump_holds_every_stage(tmp_path, monkeypatch):
    """One folder for each compilation, also of a kernel that is in the cache."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GIRIH_DUMP", str(tmp_path / "dump"))
    for kernel in (gr.kernel(shift.function), gr.kernel(shift.function)):
        kernel.compile(ROOM, ROOM)
    gr.kernel(shift.function).compile(ROOM, ROOM, BLOCK=32)
    folders = sorted((tmp_path / "dump").iterdir())
    assert len(folders) == 2 and all(folder.name.startswith("shift-") for folder in folders)
    for folder in folders:
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert set(files) == {
            *("kernel.py", "tile.mlir", "wg.mlir", "nvvm.mlir", "llvm.ll"),
            *("kernel.ptx", "kernel.cubin", "kernel.sass", "report.json"),
        }
        assert b"def shift(x:" in files["kernel.py"]
        assert b"FADD" in files["kernel.sass"]
        assert json.loads(files["report.json"])["resources"]["spill_bytes"] == 0


def test_a_dump_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GIRIH_DUMP", str(tmp_path / "file" / "dump"))
    with pytest.raises(gr.GirihError) as info:
        gr.kernel(shift.function).compile(ROOM, ROOM)
    assert str(info.value).endswith(
        "cannot be written: Not a directory; GIRIH_DUMP names a folder for the stages of each compilation"
    )


def test_many_kernels_are_compiled_at_once_and_in_order():
    blocks = [32, 64, 128, 256]
    fresh = gr.kernel(shift.function)
    programs = gr.compile_all([(fresh, ROOM, ROOM, {"BLOCK": block}) for block in blocks])
    assert programs == [fresh.compile(ROOM, ROOM, BLOCK=block) for block in blocks]
    assert gr.compile_all([]) == []


def test_the_first_error_is_raised_and_the_others_are_counted():
    with pytest.raises(gr.CompileError) as info:
        gr.compile_all([(broken, ROOM, ROOM), (shift, ROOM, ROOM), (broken, ROOM, ROOM)])
    assert "'nothing' is not defined" in str(info.value)
    assert info.value.__notes__ == ["1 more of 3 kernels did not compile"]


@pytest.mark.parametrize("call", [shift, (ROOM, ROOM), (), (shift.function, ROOM)])
def test_what_is_no_call_is_refused(call):
    with pytest.raises(
        gr.GirihError, match="compile_all takes calls as tuples: a kernel, its arguments"
    ):
        gr.compile_all([call])


def test_a_long_compilation_shows_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    gr.compile_all([(shift, ROOM, ROOM, {"BLOCK": block}) for block in (32, 64)])
    assert capsys.readouterr().err == "girih: compiling, 2 in all\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    gr.compile_all([(shift, ROOM, ROOM, {"BLOCK": block}) for block in (32, 64)])
    shown = capsys.readouterr().err
    assert "girih: compiling [###############...............] 1 of 2, shift" in shown
    assert shown.endswith("\r\033[K")


def test_one_kernel_in_many_threads_is_one_program():
    assert os.cpu_count()
    fresh = gr.kernel(shift.function)
    programs = gr.compile_all([(fresh, ROOM, ROOM)] * 6, jobs=6)
    y = np.zeros_like(ROOM)
    fresh(ROOM, y)
    assert (y == 1).all() and len(programs) == 6


def test_another_architecture_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("GIRIH_ARCH", "sm_100a")
    with pytest.raises(gr.CompileError) as info:
        gr.kernel(shift.function).compile(ROOM, ROOM)
    assert "unknown architecture 'sm_100a': girih generates code for sm_90a" in str(info.value)
