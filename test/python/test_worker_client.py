"""The client of the compiler worker: deaths, Ctrl-C, forks, reuse."""

import os
import re
import signal
import stat
import threading
import time

import pytest

import girih as gr
from girih.compiler.client import compile_module
from girih.compiler.path import compiler_path
from girih.compiler.worker import Worker, Workers, jobs
from girih.errors import GirihError


def fake_compiler(tmp_path, monkeypatch, script):
    """A program in place of girih-compile."""
    path = tmp_path / "girih-compile"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GIRIH_COMPILE", str(path))
    worker = Worker()
    monkeypatch.setattr("girih.compiler.client.WORKER", worker)
    return worker


def test_a_worker_that_dies_leaves_a_reproducer(tmp_path, monkeypatch):
    fake_compiler(tmp_path, monkeypatch, "head -c 4 >/dev/null; exit 3\n")
    with pytest.raises(gr.CompileError) as info:
        compile_module("broken", "module {}\n", {})
    assert info.value.message == (
        "the compiler worker ended with status 3 while compiling kernel 'broken'"
    )
    path = re.search(r"the module was written to (\S+): please report it", info.value.help)[1]
    with open(path) as reproducer:
        assert reproducer.read() == "module {}\n"


def test_ctrl_c_stops_a_compilation(tmp_path, monkeypatch, interruptible):
    real = compiler_path()
    worker = fake_compiler(tmp_path, monkeypatch, "exec sleep 60\n")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compile_module("slow", "module {}\n", {})
    assert time.monotonic() - start < 0.3 + 0.5
    assert worker._process is None
    # The next request gets a worker of its own, and the real one works.
    monkeypatch.setenv("GIRIH_COMPILE", real)
    reply, _ = worker.request({"id": 1, "mlir": "module {}", "arch": "sm_90a", "emit": []})
    assert not reply["ok"]
    worker.close()


def test_a_missing_compiler_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("GIRIH_COMPILE", str(tmp_path / "nothing"))
    with pytest.raises(GirihError) as info:
        Worker().request({"id": 1})
    assert str(info.value) == (
        f"the compiler {tmp_path / 'nothing'} (from GIRIH_COMPILE) does not exist or is not executable"
    )


def test_a_worker_is_reused(monkeypatch):
    worker = Worker()
    request = {"id": 1, "mlir": "module {}", "arch": "sm_90a", "emit": []}
    worker.request(request)
    process = worker._process
    worker.request(request)
    assert worker._process is process
    worker.close()


def test_a_forked_child_gets_its_own_worker():
    worker = Worker()
    request = {"id": 1, "mlir": "module {}", "arch": "sm_90a", "emit": []}
    worker.request(request)
    parent = worker._process.pid
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        worker.request(request)
        os.write(write, b"own" if worker._process.pid != parent else b"shared")
        worker.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) == b"own"
    worker.request(request)
    assert worker._process.pid == parent
    worker.close()


def test_as_many_workers_as_requests_at_once(monkeypatch):
    monkeypatch.setenv("GIRIH_JOBS", "2")
    workers = Workers()
    request = {"id": 1, "mlir": "module {}", "arch": "sm_90a", "emit": ["tile"]}
    replies = []
    for _ in range(3):
        workers.request(request)
    assert len(workers._workers) == 1
    threads = [
        threading.Thread(target=lambda: replies.append(workers.request(request))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == 6 and 1 <= len(workers._workers) <= 2
    workers.close()


def test_a_number_of_jobs_that_is_none(monkeypatch):
    monkeypatch.setenv("GIRIH_JOBS", "many")
    with pytest.raises(GirihError) as info:
        jobs()
    assert str(info.value) == "GIRIH_JOBS is 'many': expected how many kernels to compile at once"


def test_a_child_forked_during_a_request_compiles():
    """Another thread's request holds a worker's lock when the process forks."""
    workers = Workers()
    request = {"id": 1, "mlir": "module {}", "arch": "sm_90a", "emit": ["tile"]}
    workers.request(request)
    with workers._workers[0]._lock:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(20)  # ends a child that waits for ever
                workers._forget()  # as the hook does for the workers of the process
                reply, _ = workers.request(request)
                workers.close()
                os._exit(0 if reply["id"] == 1 else 1)
            finally:
                os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    workers.close()
