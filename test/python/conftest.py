"""What the Python tests share."""

import signal

import pytest


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where the shell that started us had it ignored (a job in
    the background of a script)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
