# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler worker, `girih-compile --server`, driven with raw frames."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from girih.compiler.path import compiler_path

KERNEL = """
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill(%n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    BODY
    llvm.return
  }
}
plan.host @fill(%n: i32) attributes {arg_names = ["n"]} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@fill grid(%c1, %c1, %c1) args(%n) : i32
}
"""
GOOD = KERNEL.replace("BODY", "")
BARRIER = KERNEL.replace(
    "BODY",
    'llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 7;", "~{memory}" : () -> ()',
)
# A mistake of the user's, with the place that the front end would give it.
BAD = KERNEL.replace(
    "BODY",
    'llvm.inline_asm has_side_effects asm_dialect = att "bogus;", "~{memory}" : () -> () '
    'loc(callsite("helper"("lib.py":3:4) at "fill"("fill.py":20:8)))',
)
# LLVM's backend ends the process for an instruction that the target does not have.
FATAL = KERNEL.replace(
    "BODY",
    "%p = llvm.inttoptr %n : i32 to !llvm.ptr<3>\n"
    'llvm.call_intrinsic "llvm.nvvm.tcgen05.alloc.shared.cg1"(%p, %n) '
    ": (!llvm.ptr<3>, i32) -> ()",
)


class Server:
    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [compiler_path(), "--server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        assert self.process.stdout is not None
        (length,) = struct.unpack("<I", self.process.stdout.read(4))
        reply = json.loads(self.process.stdout.read(length))
        blobs = {name: self.process.stdout.read(size) for name, size in reply["blobs"]}
        return reply, blobs

    def request(self, message: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send_raw(struct.pack("<I", len(body)) + body)
        return self.receive()

    def compile(
        self, mlir: str, *emit: str, **more: Any
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        return self.request({"id": 1, "mlir": mlir, "arch": "sm_90a", "emit": list(emit), **more})

    def finish(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout=20)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    if server.process.poll() is None:
        server.process.kill()
    server.process.wait()
    for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
        assert stream is not None
        stream.close()


def test_two_requests_then_a_clean_end(server: Server) -> None:
    reply, blobs = server.request(
        {"id": 41, "mlir": GOOD, "arch": "sm_90a", "emit": ["image", "ptx"], "options": {}}
    )
    assert reply["id"] == 41 and reply["ok"] and reply["diagnostics"] == []
    assert list(blobs) == ["image", "ptx"]
    assert blobs["image"].startswith(b"\x7fELF") and blobs["ptx"] in blobs["image"]
    assert ".visible .entry fill(" in blobs["ptx"].decode()
    assert reply["manifest"]["name"] == "fill"
    assert reply["manifest"]["kernels"][0]["block"] == [64, 1, 1]
    assert reply["resources"]["registers"] > 0 and reply["resources"]["ptxas_messages"] == []
    assert reply["resources"]["spill_bytes"] == 0 and reply["resources"]["stack_bytes"] == 0
    times = reply["timings_ms"]
    assert set(times) == {"parse", "passes", "llvm", "ptxas", "total"}
    assert times["total"] >= times["ptxas"] > 0

    reply, blobs = server.request(
        {"id": "a name", "mlir": BARRIER, "emit": ["nvvm", "llvm", "ptx"]}
    )
    assert reply["id"] == "a name" and reply["ok"]
    assert list(blobs) == ["nvvm", "llvm", "ptx"]
    assert all(b"bar.sync 7;" in blob for blob in blobs.values())
    assert reply["timings_ms"]["ptxas"] == 0  # nothing asked for it
    assert server.finish() == 0


def test_times_of_passes_come_when_asked_for(server: Server) -> None:
    kernel = """
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  gpu.func @idle() kernel {
    wg.specialize { wg.role @all warpgroups(1) { } }
    gpu.return
  }
}
"""
    reply, _ = server.compile(kernel, "ptx")
    assert reply["ok"] and reply["passes_ms"] == []
    reply, _ = server.compile(kernel, "ptx", options={"timing": True})
    names = [name for name, _ in reply["passes_ms"]]
    assert names.index("wg-lower-rings") < names.index("convert-wg-to-nvvm")
    assert len(names) == len(set(names)) and "" not in names
    # Each pass's time is its own, so together they are no more than the step.
    times = [milliseconds for _, milliseconds in reply["passes_ms"]]
    assert all(time >= 0 for time in times)
    assert sum(times) <= reply["timings_ms"]["passes"]


def test_the_same_module_gives_the_same_bytes(server: Server) -> None:
    _, first = server.compile(BARRIER, "image")
    server.compile(GOOD, "image")
    _, second = server.compile(BARRIER, "image")
    assert first["image"] == second["image"]


def test_a_mistake_has_its_places_and_the_server_lives_on(server: Server) -> None:
    reply, blobs = server.compile(BAD, "image")
    assert not reply["ok"] and blobs == {}
    (first,) = reply["diagnostics"]
    assert first["severity"] == "error"
    assert "Not a name of any known instruction: 'bogus'" in first["message"]
    assert [
        (at["function"], at["file"], at["line"], at["column"]) for at in first["locations"]
    ] == [
        ("helper", "lib.py", 3, 4),
        ("fill", "fill.py", 20, 8),
    ]
    reply, _ = server.compile("this is no module", "ptx")
    assert not reply["ok"] and reply["diagnostics"][0]["severity"] == "error"
    assert server.compile(GOOD, "ptx")[0]["ok"]
    assert server.finish() == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"no json", "the request is not JSON"),
        (b"[1, 2]", "the request is no JSON object"),
        (b'{"id": 3}', 'no string "mlir"'),
        (b'{"id": 3, "mlir": ""}', 'no list "emit"'),
        (b'{"id": 3, "mlir": "", "emit": ["elf"]}', "\"emit\" asks for 'elf'"),
        (b'{"id": 3, "mlir": "", "arch": 90, "emit": ["ptx"]}', '"arch" is no string'),
        (b'{"id": 3, "mlir": "", "emit": ["ptx"], "options": {"o": 1}}', "unknown option 'o'"),
        (
            b'{"id": 3, "mlir": "", "emit": ["ptx"], "options": {"timing": 1}}',
            "the option 'timing' is no boolean",
        ),
        (
            b'{"id": 3, "mlir": "", "emit": ["ptx"], "options": {"without": "simplify"}}',
            "the option 'without' is no list",
        ),
        (
            b'{"id": 3, "mlir": "", "emit": ["ptx"], "options": {"without": ["girih"]}}',
            "'girih' is no optional step: expected simplify, ",
        ),
    ],
)
def test_a_bad_request_is_answered(server: Server, body: bytes, text: str) -> None:
    reply, _ = server.request(body)
    assert not reply["ok"]
    assert text in reply["diagnostics"][0]["message"]
    assert reply["id"] == (3 if b"id" in body else None)
    assert server.compile(GOOD, "ptx")[0]["ok"]


def test_garbage_is_answered_once_and_ends_the_server(server: Server) -> None:
    server.send_raw(b"GET / HTTP/1.1\r\n\r\n")
    reply, _ = server.receive()
    assert (
        not reply["ok"]
        and "expected a little-endian u32 length" in (reply["diagnostics"][0]["message"])
    )
    assert server.process.wait(timeout=20) == 1


def test_the_end_in_the_middle_of_a_frame_is_an_error(server: Server) -> None:
    server.send_raw(struct.pack("<I", 100) + b"{")
    assert server.process.stdin is not None
    server.process.stdin.close()
    reply, _ = server.receive()
    assert "ended in the middle of a frame" in reply["diagnostics"][0]["message"]
    assert server.process.wait(timeout=20) == 1


def test_ctrl_c_is_left_to_the_client(server: Server) -> None:
    assert server.compile(GOOD, "ptx")[0]["ok"]  # it is up
    assert os.getpgid(server.process.pid) == server.process.pid
    server.process.send_signal(signal.SIGINT)
    assert server.compile(GOOD, "ptx")[0]["ok"]


def test_the_backend_dies_with_a_reply_and_a_reproducer(tmp_path: Path) -> None:
    server = Server({"GIRIH_REPRODUCER_DIR": str(tmp_path)})
    reply, _ = server.compile(FATAL, "ptx")
    assert not reply["ok"] and reply["id"] == 1 and reply["crashed"]
    (first,) = reply["diagnostics"]
    assert "Cannot select: intrinsic %llvm.nvvm.tcgen05.alloc" in first["message"]
    (reproducer,) = tmp_path.iterdir()
    assert str(reproducer) in first["notes"][0]["message"]
    assert reproducer.read_text() == FATAL
    assert server.process.wait(timeout=20) == 1
    assert server.process.stderr is not None
    assert b"Cannot select" in server.process.stderr.read()


def test_a_crash_by_a_signal_is_answered_too(tmp_path: Path) -> None:
    # A ptxas that never ends holds the worker in the middle of a request.
    sleeper = tmp_path / "ptxas"
    sleeper.write_text("#!/bin/sh\necho $$ >$0.pid\nexec sleep 60\n")
    sleeper.chmod(0o755)
    folder = tmp_path / "crashes"
    folder.mkdir()
    server = Server({"GIRIH_REPRODUCER_DIR": str(folder), "GIRIH_PTXAS": str(sleeper)})
    body = json.dumps({"id": 9, "mlir": GOOD, "emit": ["image"]}).encode()
    server.send_raw(struct.pack("<I", len(body)) + body)
    deadline = time.monotonic() + 20
    pid = Path(f"{sleeper}.pid")
    while not (pid.exists() and pid.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.process.send_signal(signal.SIGSEGV)
    reply, _ = server.receive()
    assert not reply["ok"] and reply["id"] == 9
    assert "SIGSEGV" in reply["diagnostics"][0]["message"]
    assert next(folder.iterdir()).read_text() == GOOD
    assert server.process.wait(timeout=20) == -signal.SIGSEGV
    os.kill(int(pid.read_text()), signal.SIGKILL)
