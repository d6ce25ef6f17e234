"""A compiler worker: ``girih-compile --server``, started on first need and kept warm.

Frames in both directions are a little-endian u32 length and that many bytes of JSON; a reply's blobs
follow it. See docs/Compile.md.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from girih.compiler.path import compiler_path
from girih.errors import GirihError


class WorkerDied(GirihError):
    """The worker ended in the middle of a request."""


class Worker:
    """One worker process; requests are served one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._owner = 0
        self._started = 0

    def request(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Sends a request and returns the reply with its blobs. Ctrl-C ends the worker and propagates.

        The reply's ``worker_started`` is when the process began that answered, in ns since the epoch.
        """
        with self._lock:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            try:
                body = json.dumps(message).encode()
                process.stdin.write(struct.pack("<I", len(body)) + body)
                process.stdin.flush()
                reply = json.loads(
                    self._read(process, struct.unpack("<I", self._read(process, 4))[0])
                )
                blobs = {name: self._read(process, size) for name, size in reply.get("blobs", [])}
                reply["worker_started"] = self._started
                return reply, blobs
            except (BrokenPipeError, WorkerDied):
                status = process.wait()
                self._process = None
                raise WorkerDied(f"the compiler worker ended with status {status}") from None
            except BaseException:
                # Half a reply may be in the pipe: the next request gets a fresh worker.
                self._stop()
                raise

    def start(self) -> None:
        """Starts the worker without a request, so that it is warm when the first one comes."""
        with self._lock:
            self._running()

    def close(self) -> None:
        """Ends the worker."""
        with self._lock:
            self._stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if (
            self._process is not None
            and self._owner == os.getpid()
            and self._process.poll() is None
        ):
            return self._process
        # After a fork the pipes belong to the parent: the child starts a worker of its own.
        self._owner = os.getpid()
        self._started = time.time_ns()
        self._process = subprocess.Popen(
            [compiler_path(), "--server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()

    @staticmethod
    def _read(process: subprocess.Popen[bytes], size: int) -> bytes:
        assert process.stdout is not None
        data = process.stdout.read(size)
        if len(data) != size:
            raise WorkerDied("the compiler worker closed its output")
        return data


class Workers:
    """Workers for as many requests as there are at once, each started on first need and kept; at most one for
    each core (GIRIH_JOBS says otherwise)."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        # In a forked child too: the parent's threads may hold its workers' locks, and never let go here.
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._places = threading.BoundedSemaphore(jobs())

    def request(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """As Worker.request, by a worker that is idle. Waits while there is none."""
        with self._worker() as worker:
            return worker.request(message)

    def start(self) -> None:
        """Starts a worker without a request, so that it is warm when the first one comes."""
        with self._worker() as worker:
            worker.start()

    def close(self) -> None:
        """Ends all workers."""
        for worker in self._workers:
            worker.close()

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        with self._places:
            # The last one used is the warmest.
            worker = self._idle.pop() if self._idle else self._new()
            try:
                yield worker
            finally:
                self._idle.append(worker)

    def _new(self) -> Worker:
        worker = Worker()
        self._workers.append(worker)
        return worker


def jobs() -> int:
    """How many kernels are compiled at once. Raises GirihError for a GIRIH_JOBS that is no number."""
    text = os.environ.get("GIRIH_JOBS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise GirihError(f"GIRIH_JOBS is {text!r}: expected how many kernels to compile at once")
    return int(text)


WORKER = Workers()
atexit.register(WORKER.close)
os.register_at_fork(after_in_child=WORKER._forget)
