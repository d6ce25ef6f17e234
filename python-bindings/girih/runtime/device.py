"""The device that runs the kernels: a Hopper GPU, or the emulated one.

``GIRIH_DEVICE=emulated`` or ``cuda`` decides; without it a Hopper GPU is used if there is one. Asking
chooses the device, once per process. Each function raises DeviceError if there is none.
"""

from __future__ import annotations

from girih import _runtime


def name() -> str:
    """What the device calls itself."""
    return _runtime.device_name()


def is_emulated() -> bool:
    """Whether kernels run on the emulated device."""
    return _runtime.is_emulated()


def multiprocessors() -> int:
    """How many multiprocessors the device has."""
    return _runtime.multiprocessor_count()


def synchronize() -> None:
    """Waits for every launch. Raises DeviceError if one of them failed, KeyboardInterrupt on Ctrl-C."""
    _runtime.synchronize()
