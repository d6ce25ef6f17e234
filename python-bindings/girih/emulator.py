"""Options of the emulated device for the launches that follow.

    with girih.emulator.options(seed=7):
        kernel(a, b, c)

The same options exist as environment variables (``GIRIH_SEED=7``); ``GIRIH_SMS``, the number of
multiprocessors, can only be set there, since a context that exists cannot change it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from girih.errors import GirihError

_DEFAULTS = {
    "seed": "0",
    "threads": "0",
    "checks": "1",
    "adversary": "none",
    "ctas": "",
    "trace": "",
    "numerics": "hopper",
    "contract": "0",
}
_current: dict[str, str] = {}


@contextmanager
def options(**values: int | str) -> Iterator[None]:
    """Sets options while the block runs.

    ``seed``: picks the interleaving, the same seed gives the same run. ``threads``: host threads (0: all
    cores), which do not change results. ``checks``: 0 runs faster and finds nothing. ``adversary``: a
    named schedule instead of a random one. ``numerics``: how tensor cores accumulate. ``contract``: 1
    fuses products and sums as ptxas may. Raises GirihError for a name or value that the device does not
    have, and where the device is a real GPU.
    """
    from girih import _runtime

    for name in values:
        if name not in _DEFAULTS:
            raise GirihError(
                f"the emulated device has no option '{name}': expected one of {', '.join(_DEFAULTS)}"
            )
    before = {name: _value(name) for name in values}
    try:
        for name, value in values.items():
            _runtime.set_option(name, str(value))
            _current[name] = str(value)
        yield
    finally:
        for name, value in before.items():
            _runtime.set_option(name, value)
            _current[name] = value


def _value(name: str) -> str:
    return _current.get(name) or os.environ.get(f"GIRIH_{name.upper()}") or _DEFAULTS[name]
