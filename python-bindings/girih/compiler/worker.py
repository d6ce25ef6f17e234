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
        self.started = 0
        """When the process began that answers now, in ns since the epoch."""

    def request(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Sends a request and returns the reply with its blobs. Ctrl-C ends the worker and propagates."""
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
        self.started = time.time_ns()
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


WORKER = Worker()
atexit.register(WORKER.close)
