"""Arrays of made-up libraries: DLPack capsules with every field chosen, C tables of DLPack 1.3, the CUDA array
interface. The layouts are those of dlpack.h, versions 0.8 to 1.3."""

from __future__ import annotations

import ctypes
from typing import Any

HOST, GPU = 1, 2
READ_ONLY = 1


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [
        ("tensor", Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Foreign:
    """An array at an address, by DLPack. ``returned`` counts the capsules that came back, ``streams`` holds the
    streams that capsules were asked for."""

    def __init__(
        self,
        shape: tuple[int, ...],
        address: int,
        *,
        strides: tuple[int, ...] | None = None,
        dtype: tuple[int, int] = (2, 32),
        device: tuple[int, int] = (GPU, 0),
        flags: int = 0,
        version: tuple[int, int] | None = (1, 0),
        byte_offset: int = 0,
    ) -> None:
        self.shape, self.address, self.strides, self.dtype = shape, address, strides, dtype
        self.device, self.flags, self.version, self.byte_offset = (
            device,
            flags,
            version,
            byte_offset,
        )
        self.returned = 0
        self.streams: list[int | None] = []
        self._alive: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def fill(self, tensor: Tensor) -> None:
        """Writes a DLTensor whose arrays this object keeps."""
        rank = len(self.shape)
        extents = (ctypes.c_int64 * max(rank, 1))(*self.shape)
        tensor.data, tensor.byte_offset = self.address, self.byte_offset
        tensor.device_type, tensor.device_id = self.device
        tensor.ndim, tensor.lanes = rank, 1
        tensor.code, tensor.bits = self.dtype
        tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
        self._alive.append(extents)
        if self.strides is not None:
            steps = (ctypes.c_int64 * max(rank, 1))(*self.strides)
            tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
            self._alive.append(steps)

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        versioned = self.version is not None and max_version is not None
        managed: Any = ManagedVersioned() if versioned else Managed()
        self.fill(managed.tensor)
        managed.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._take_back)
        if versioned:
            managed.major, managed.minor = self.version
            managed.flags = self.flags
        self._alive.append(managed)
        name = b"dltensor_versioned" if versioned else b"dltensor"
        self._alive.append(name)
        return _new_capsule(ctypes.addressof(managed), name, None)

    def _take_back(self, _: int) -> None:
        self.returned += 1


class Exchange(ctypes.Structure):
    """DLPackExchangeAPI with its header."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("view", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


def with_exchange(stream: int) -> type[Foreign]:
    """A type of arrays with the C table, whose library works on a stream."""

    class Exchanged(Foreign):
        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError("the C table makes capsules unnecessary")

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
    def view(array: Foreign, tensor: Any) -> int:
        array.fill(tensor.contents)
        return 0

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    def current_stream(device_type: int, device_id: int, result: Any) -> int:
        result[0] = stream
        return 0

    def address(function: Any) -> int | None:
        return ctypes.cast(function, ctypes.c_void_p).value

    table = Exchange(1, 3, None, None, None, None, address(view), address(current_stream))
    name = b"dlpack_exchange_api"
    Exchanged.__dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(table), name, None)  # type: ignore[attr-defined]
    Exchanged.kept = (view, current_stream, table, name)  # type: ignore[attr-defined]
    return Exchanged


class Interface:
    """An array by the CUDA array interface."""

    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {"version": 3, **fields}
