"""Arrays of other libraries on the GPU: DLPack, ``__cuda_array_interface__``, and the streams that they work on.

No library is imported: objects are asked, and modules that somebody has imported.
"""

from __future__ import annotations

import sys
from typing import Any

from girih import _runtime
from girih._runtime import Array

_CUDA_DEVICES = (2, 13)  # dlpack.h, DLDeviceType
# What DLPack and the CUDA array interface call the default stream, whose handle is 0.
_LEGACY_STREAM = 1
# Types of the array interface protocol (NumPy's manual, "The array interface protocol").
_TYPES = {
    "f8": "f64",
    "f4": "f32",
    "f2": "f16",
    "i8": "i64",
    "i4": "i32",
    "i2": "i16",
    "i1": "i8",
    "u8": "u64",
    "u4": "u32",
    "u2": "u16",
    "u1": "u8",
    "b1": "b1",
}


def speaks_dlpack(x: Any) -> bool:
    """Whether ``x`` is an array that hands itself out by DLPack."""
    return hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")


def speaks_cuda_interface(x: Any) -> bool:
    """Whether ``x`` is an array on a GPU that says so by the CUDA array interface."""
    return hasattr(x, "__cuda_array_interface__")


def capsule_of(x: Any, stream: int = 0) -> Any:
    """A DLPack capsule of ``x``, whose pending work a stream waits for if it is on a GPU."""
    options = {}
    if x.__dlpack_device__()[0] in _CUDA_DEVICES:
        # A capture cannot express an order with other work.
        options["stream"] = -1 if _runtime.is_capturing() else stream or _LEGACY_STREAM
    try:
        return x.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a producer older than DLPack 1.0
        return x.__dlpack__(**options)


def wrap(x: Any, stream: int = 0) -> Array:
    """An array over the memory of an object with the CUDA array interface, whose pending work has been done.

    Raises BufferError where girih runs on the emulated device, TypeError for other element types.
    """
    if _runtime.is_emulated():
        raise BufferError(
            "the array lives on a GPU, but girih runs on the emulated device: set GIRIH_DEVICE=cuda, or copy "
            "the array to the host"
        )
    known = x.__cuda_array_interface__
    kind = known["typestr"]
    if kind[0] == ">" or kind[1:] not in _TYPES:
        raise TypeError(f"girih has no element type for {kind!r} of the CUDA array interface")
    shape, size = tuple(known["shape"]), int(kind[2:])
    strides = known.get("strides")
    if strides is None:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= max(extent, 1)
    else:
        if any(stride % size for stride in strides):
            raise TypeError(f"strides of {tuple(strides)} bytes are no multiples of {size}")
        strides = [stride // size for stride in strides]
    busy = known.get("stream")
    if busy is not None and busy != (stream or _LEGACY_STREAM):
        _runtime.synchronize(0 if busy == _LEGACY_STREAM else busy)
    address, read_only = known["data"]
    return Array._over(_TYPES[kind[1:]], shape, strides, address or 0, x, read_only)


def current_stream(x: Any) -> int:
    """The stream on which the library of an array works now: PyTorch's and CuPy's, else the default stream."""
    library = type(x).__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library == "torch" and module is not None and x.is_cuda:
        return int(module.cuda.current_stream(x.device).cuda_stream)
    if library == "cupy" and module is not None:
        return int(module.cuda.get_current_stream().ptr)
    return 0
