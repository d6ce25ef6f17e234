"""Arrays on the device: made from NumPy arrays and DLPack objects, read back as NumPy arrays.

NumPy is imported when the first NumPy array is made or read, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from girih import dtypes
from girih._runtime import Array, _describe_dlpack, _is_read_only
from girih.dtypes import DType
from girih.runtime import bfloat16, float8
from girih.runtime.foreign import capsule_of, speaks_cuda_interface, speaks_dlpack, wrap

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Array", "asarray", "empty", "from_dlpack", "zeros"]

# DLPack's device types of memory that the host reads (dlpack.h, DLDeviceType).
_HOST_DEVICES = (1, 3)

# What TMA and the widest accesses of a thread need, in bytes; girih/Runtime/Manifest.h says the same.
ALIGNMENT = 16

_NUMPY_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "uint16",
    "e4m3": "uint8",
    "e5m2": "uint8",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "b1": "bool",
}
# Types that NumPy does not have: how values become bits and bits become float32.
_CODECS: dict[str, Any] = {"bf16": bfloat16, "e4m3": float8.E4M3, "e5m2": float8.E5M2}
# NumPy's dtypes for them come from the package ml_dtypes, which need not be there: names are enough.
_ML_DTYPES = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
_DTYPE_NAMES = {numpy: name for name, numpy in _NUMPY_NAMES.items() if name not in _CODECS}
_DTYPE_NAMES |= _ML_DTYPES


def asarray(x: Any, dtype: DType | None = None) -> Array:
    """Copies an array to the device.

    ``x``: a NumPy array, anything that NumPy makes an array of, or an object with ``__dlpack__`` or
    ``__cuda_array_interface__``. The order of its dimensions in memory is kept, so the transpose of a row-major array stays column-major.
    ``dtype`` converts on the host, rounding to nearest even; e4m3 and e5m2 take their largest number for
    all beyond it. For ``girih.bf16``, uint16 input is taken as bits, for ``girih.e4m3`` and ``girih.e5m2``
    uint8 input. A ``girih.Array`` is returned as it is, and memory of the same GPU is shared, not copied.
    Raises TypeError for an element type that girih does not have or a conversion that would lose the
    kind of number (float to integer).
    """
    if dtype is not None:
        _checked(dtype)
    if isinstance(x, Array) or is_foreign(x):
        array = x if isinstance(x, Array) else to_device(x)
        if dtype is not None and array.dtype != dtype:
            raise TypeError(
                f"the array holds {array.dtype.name}, not {dtype.name}; convert it before it goes to "
                "the device"
            )
        return array
    import numpy as np

    storage, found = _storage(np.asarray(x), dtype)
    return _copy_to_device(storage, found)


def empty(shape: int | tuple[int, ...], dtype: DType) -> Array:
    """A row-major array on the device whose elements are not set."""
    return Array._empty(_checked(dtype).name, _shape(shape))


def zeros(shape: int | tuple[int, ...], dtype: DType) -> Array:
    """A row-major array of zeros on the device."""
    array = empty(shape, dtype)
    array._zero()
    return array


def from_dlpack(x: Any) -> Array:
    """An array over an object with ``__dlpack__``: memory of the same GPU is shared, host memory copied.

    Raises BufferError for memory that girih cannot reach.
    """
    if isinstance(x, Array):
        return x
    return Array._from_dlpack(capsule_of(x))


def to_device(x: Any, stream: int = 0) -> Array:
    """The array of an argument, copied only where it is in host memory; on a GPU it may be used on a stream."""
    if not is_foreign(x):
        return asarray(x)
    return Array._from_dlpack(capsule_of(x, stream)) if speaks_dlpack(x) else wrap(x, stream)


def is_foreign(x: Any) -> bool:
    """Whether ``x`` is an array of another library than NumPy and girih."""
    if isinstance(x, Array) or is_numpy(x):
        return False
    return speaks_dlpack(x) or speaks_cuda_interface(x)


def is_read_only(x: Any) -> bool:
    """Whether an array of another library may not be written."""
    if is_numpy(x):
        return not x.flags.writeable
    return speaks_dlpack(x) and _is_read_only(capsule_of(x))


class Description(NamedTuple):
    """What an array is on the device; strides in elements."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def promises(self) -> tuple[int, bool]:
        """The dimension whose elements are neighbours in memory, or -1; and whether the address and all
        other strides are multiples of 16 bytes. Strides along a single element mean nothing."""
        if 0 in self.shape:
            return self.rank - 1, True
        candidates = [dim for dim in range(self.rank) if self._steps(dim) in (0, 1)]
        # The last one, as in NumPy; but a column of single elements is no row-major matrix with rows of
        # two bytes.
        candidates.sort(key=lambda dim: (self._is_aligned(dim), self._steps(dim), dim))
        contiguous = candidates[-1] if candidates else -1
        return contiguous, self._is_aligned(contiguous)

    def _steps(self, dim: int) -> int:
        """The stride along a dimension, 0 where there is no step to take; -1 for a broadcast."""
        if self.shape[dim] == 1:
            return 0
        return self.strides[dim] or -1

    def _is_aligned(self, contiguous: int) -> bool:
        size = self.dtype.bytes
        return self.address % ALIGNMENT == 0 and all(
            self.shape[dim] == 1 or self.strides[dim] * size % ALIGNMENT == 0
            for dim in range(self.rank)
            if dim != contiguous
        )


def describe(x: Any) -> Description:
    """What ``asarray(x)`` would be, without a copy.

    Raises TypeError if ``x`` is no array or has an element type that girih does not have.
    """
    if isinstance(x, Array):
        return Description(x.dtype, x.shape, x.strides, x.address)
    # The device's memory for a copy is aligned.
    if is_numpy(x):
        return Description(_numpy_dtype(x.dtype), x.shape, _packed_strides(x), 0)
    if speaks_dlpack(x):
        name, shape, strides, address = _describe_dlpack(capsule_of(x))
        return Description(dtype_named(name), shape, strides, address)
    if speaks_cuda_interface(x):
        return describe(wrap(x))
    raise TypeError(f"expected an array, found an object of type {type(x).__name__}")


def copy_back(array: Array, x: Any) -> None:
    """Copies a device array over the host array that it was made from."""
    if not is_numpy(x):
        array._write_back(capsule_of(x))
        return
    raw = _read(array)
    x[...] = raw.view(x.dtype) if x.dtype.name in _ML_DTYPES else raw


def is_numpy(x: Any) -> bool:
    """Whether ``x`` is a NumPy array (which it cannot be if nobody has imported NumPy)."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.ndarray)


def on_host(x: Any) -> bool:
    """Whether an array-like object's memory is the host's."""
    if not speaks_dlpack(x):
        return False
    return is_numpy(x) or x.__dlpack_device__()[0] in _HOST_DEVICES


# ---- Called by the extension ----------------------------------------------------------------------


def dtype_named(name: str) -> DType:
    """The dtype object of a manifest's or an array's dtype name."""
    return dtypes.BY_NAME[name]


def to_numpy(array: Array, raw: bool) -> np.ndarray:
    """``Array.numpy``."""
    host = _read(array)
    codec = _CODECS.get(array.dtype.name)
    return codec.to_floats(host) if codec and not raw else host


def as_numpy_protocol(array: Array, dtype: Any, copy: bool | None) -> np.ndarray:
    """``Array.__array__``: what numpy.asarray(array) calls."""
    if copy is False:
        raise ValueError("device memory cannot be a NumPy array without a copy")
    host = to_numpy(array, raw=False)
    return host if dtype is None else host.astype(dtype)


# ---- Helpers --------------------------------------------------------------------------------------


def _shape(shape: int | tuple[int, ...]) -> list[int]:
    extents = shape if isinstance(shape, Iterable) else (shape,)
    try:
        return [index(extent) for extent in extents]
    except TypeError:
        raise TypeError(f"a shape is an integer or a tuple of integers, found {shape!r}") from None


def _checked(dtype: object) -> DType:
    if not isinstance(dtype, DType):
        raise TypeError(f"dtype is an element type such as girih.bf16, found {dtype!r}")
    return dtype


def _numpy_dtype(dtype: np.dtype) -> DType:
    if dtype.name not in _DTYPE_NAMES:
        names = ", ".join(sorted(_DTYPE_NAMES))
        raise TypeError(
            f"girih has no element type for NumPy's {dtype.name}; expected one of {names}"
        )
    return dtypes.BY_NAME[_DTYPE_NAMES[dtype.name]]


def _storage(x: np.ndarray, dtype: DType | None) -> tuple[np.ndarray, DType]:
    """A NumPy array with the bits that go to the device, and their dtype."""
    import numpy as np

    found = _numpy_dtype(x.dtype)
    x = x.astype(x.dtype.newbyteorder("="), copy=False)
    if x.dtype.name in _ML_DTYPES:
        x = x.view(_NUMPY_NAMES[found.name])
    if dtype is None or dtype == found:
        return x, found
    if found.name in _CODECS:
        x = _CODECS[found.name].to_floats(x)
    target = np.dtype(_NUMPY_NAMES[dtype.name])
    if dtype.name in _CODECS:
        return (x if x.dtype == target else _CODECS[dtype.name].from_floats(x)), dtype
    if not np.can_cast(x.dtype, target, casting="same_kind"):
        raise TypeError(
            f"{found.name} does not convert to {dtype.name}; convert with NumPy's astype if that is meant"
        )
    return x.astype(target), dtype


def _packed_strides(x: np.ndarray) -> tuple[int, ...]:
    """Strides in elements of a dense copy that keeps the order of dimensions."""
    import numpy as np

    return tuple(
        stride // x.itemsize for stride in np.empty_like(x, order="K", subok=False).strides
    )


def _copy_to_device(x: np.ndarray, dtype: DType) -> Array:
    import numpy as np

    strides = _packed_strides(x)
    array = Array._empty(dtype.name, list(x.shape), list(strides))
    # From the slowest dimension to the fastest the copy is plain memory.
    slowest_first = sorted(range(x.ndim), key=lambda dim: -strides[dim])
    array._write(np.ascontiguousarray(x.transpose(slowest_first)).reshape(-1).view(np.uint8))
    return array


def _read(array: Array) -> np.ndarray:
    """A copy of the array's bits on the host, with the array's strides."""
    import numpy as np

    target = np.dtype(_NUMPY_NAMES[array.dtype.name])
    memory = np.empty(array._span, np.uint8)
    array._read(memory)
    strides = tuple(stride * target.itemsize for stride in array.strides)
    # With negative strides the first element is not the lowest one.
    first = -sum(
        (n - 1) * min(stride, 0)
        for n, stride in zip(array.shape, strides, strict=True)
        if array.size
    )
    return np.ndarray(array.shape, target, memory, first, strides)
