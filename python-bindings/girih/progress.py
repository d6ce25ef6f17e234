"""How far something is that takes long: a bar in the last line of a terminal, elsewhere one line."""

from __future__ import annotations

import sys
import threading
import time

# What takes longer is worth a bar, in seconds.
_PATIENCE = 1.0
_WIDTH = 30


class Progress:
    """Counts ``total`` steps of doing something ("compiling"); steps may come from several threads."""

    def __init__(self, doing: str, total: int) -> None:
        self._doing = doing
        self._total = total
        self._done = 0
        self._begin = time.monotonic()
        self._shown = False
        self._lock = threading.Lock()

    def step(self, name: str) -> None:
        """One more is done."""
        with self._lock:
            self._done += 1
            if time.monotonic() - self._begin < _PATIENCE or self._done == self._total:
                return
            if sys.stderr.isatty():
                filled = _WIDTH * self._done // self._total
                bar = "#" * filled + "." * (_WIDTH - filled)
                print(
                    f"\rgirih: {self._doing} [{bar}] {self._done} of {self._total}, {name}\033[K",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
            elif not self._shown:
                print(f"girih: {self._doing}, {self._total} in all", file=sys.stderr)
            self._shown = True

    def close(self) -> None:
        """Takes the bar away."""
        if self._shown and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
