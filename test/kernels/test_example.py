"""examples/gemm.py as a program: what it prints with --json, and its exit status."""

import json
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).absolute().parents[2] / "examples" / "gemm.py"
KEYS = {
    "kernel", "m", "n", "k", "backend", "max_rel_err", "tolerance", "ok", "registers", "spill_bytes",
    "shared_bytes", "ptxas_messages", "compile_ms", "run_ms",
}  # fmt: skip


def run_example(monkeypatch, capsys, *arguments):
    """Runs the file as a program; returns its exit status and the lines it printed."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return int(end.value.code), capsys.readouterr().out.splitlines()


def test_the_last_line_is_one_json_object(monkeypatch, capsys):
    status, lines = run_example(monkeypatch, capsys, "--json", "--shape", "130", "264", "72")
    result = json.loads(lines[-1])
    assert status == 0
    assert result.keys() >= KEYS
    assert (result["kernel"], result["ok"]) == ("matmul", True)
    assert [result[name] for name in "mnk"] == [130, 264, 72]
    assert result["backend"] in ("emulated", "cuda")
    # Rounding to bf16 alone errs, and |ref| is at most |A||B|.
    assert 0 < result["max_rel_err"] <= result["tolerance"] == 73 * 2.0**-24 + 2.0**-8
    assert (result["spill_bytes"], result["ptxas_messages"]) == (0, [])
    assert 0 < result["shared_bytes"] <= 227 * 1024
    assert 0 < result["registers"] <= 168
    assert result["compile_ms"] > 0 and result["run_ms"] > 0


def test_a_wrong_result_ends_with_status_1(monkeypatch, capsys):
    """The kernel is not launched, so that the output keeps what was in its memory."""
    monkeypatch.setattr("girih.runtime.launch.launch", lambda *arguments, **options: None)
    status, lines = run_example(monkeypatch, capsys, "--json", "--shape", "128", "256", "64")
    assert status == 1
    assert json.loads(lines[-1])["ok"] is False
    assert any("WRONG" in line for line in lines)
