# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulated device from Python through the driver's entry points, with NumPy arrays as memory.

Only ctypes and libgirih_cuda: these tests run PTX that girih did not write, so nothing of girih's
compiler or runtime stands between the program and the device.
"""

import ctypes as c
import functools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GIRIH_BUILD", ROOT / "build"))

ADVERSARIES = (
    "none",
    "async-late",
    "async-early",
    "starve-one",
    "producers-first",
    "consumers-first",
    "tx-pieces",
    "ctas-reversed",
    "lanes-singly",
)

_CLUSTER_DIMENSION = 4
_MAX_DYNAMIC_SHARED = 8
_NON_PORTABLE_CLUSTER = 14
_SUCCESS, _LAUNCH_FAILED = 0, 719


class DriverError(Exception):
    """A call of the driver that failed, with what the device said about it."""


class _Attribute(c.Structure):
    _fields_ = [("id", c.c_int), ("pad", c.c_char * 4), ("value", c.c_uint * 16)]


class _Config(c.Structure):
    _fields_ = [
        ("grid", c.c_uint * 3),
        ("block", c.c_uint * 3),
        ("shared", c.c_uint),
        ("stream", c.c_void_p),
        ("attributes", c.POINTER(_Attribute)),
        ("count", c.c_uint),
    ]


@functools.cache
def _driver():
    """The library with a current context."""
    library = c.CDLL(str(BUILD / "lib/libgirih_cuda.so"))
    for name in ("girihEmulatorReports", "girihEmulatorReportsJson", "girihEmulatorStatsJson"):
        getattr(library, name).argtypes = [c.c_char_p, c.c_size_t]
        getattr(library, name).restype = c.c_size_t
    context = c.c_void_p()
    for result in (
        library.cuInit(0),
        library.cuDevicePrimaryCtxRetain(c.byref(context), 0),
        library.cuCtxSetCurrent(context),
    ):
        if result != _SUCCESS:
            raise DriverError(f"the emulated device does not start: code {result}")
    return library


def _text(function) -> str:
    """What a function that fills a buffer has to say."""
    size = function(None, 0)
    buffer = c.create_string_buffer(size + 1)
    function(buffer, size + 1)
    return buffer.value.decode()


def stats() -> dict:
    """What the device counted in the last launch: girihEmulatorStatsJson of the driver's header."""
    return json.loads(_text(_driver().girihEmulatorStatsJson))


def _check(result: int, what: str) -> None:
    if result != _SUCCESS:
        said = _text(_driver().girihEmulatorReports)
        _driver().girihEmulatorResetError()
        raise DriverError(f"{what}: code {result}\n{said}")


def _dim3(extent) -> tuple[int, int, int]:
    extent = (extent,) if isinstance(extent, int) else tuple(extent)
    return (*extent, *([1] * (3 - len(extent))))


# ---- Arguments -------------------------------------------------------------------------------------------------------

SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
TENSOR_TYPES = {
    "u8": 0,
    "u16": 1,
    "u32": 2,
    "i32": 3,
    "u64": 4,
    "i64": 5,
    "f16": 6,
    "f32": 7,
    "f64": 8,
    "bf16": 9,
    "tf32": 11,
}


@dataclass
class TensorMap:
    """A tiled tensor map over an array; ``box`` is in the array's order (outermost first)."""

    array: np.ndarray
    type: str
    box: tuple[int, ...]
    swizzle: int = 0
    fill_nan: bool = False


@dataclass
class Struct:
    """A parameter passed by value: its bytes."""

    data: bytes


@dataclass
class Result:
    """What a launch did. ``arrays`` are its arguments afterwards, arrays instead of pointers and maps."""

    arrays: list
    findings: list[dict] = field(default_factory=list)
    text: str = ""


class Memory:
    """Device memory for the arrays of one launch; an array given twice gets one address."""

    def __init__(self):
        self._held = {}

    def address(self, array: np.ndarray) -> int:
        if id(array) not in self._held:
            address = c.c_uint64()
            _check(
                _driver().cuMemAlloc_v2(c.byref(address), c.c_size_t(max(1, array.nbytes))),
                "cuMemAlloc",
            )
            self._held[id(array)] = (address.value, array)
        return self._held[id(array)][0]

    def upload(self):
        for address, array in self._held.values():
            data = np.ascontiguousarray(array)
            _check(
                _driver().cuMemcpyHtoD_v2(
                    c.c_uint64(address), data.ctypes.data_as(c.c_void_p), c.c_size_t(data.nbytes)
                ),
                "cuMemcpyHtoD",
            )

    def result(self, argument):
        """The array of an argument as it is now; other arguments as they are."""
        if isinstance(argument, TensorMap):
            argument = argument.array
        return self.download(argument) if isinstance(argument, np.ndarray) else argument

    def download(self, array: np.ndarray) -> np.ndarray:
        result = np.empty(array.shape, array.dtype)
        _check(
            _driver().cuMemcpyDtoH_v2(
                result.ctypes.data_as(c.c_void_p),
                c.c_uint64(self._held[id(array)][0]),
                c.c_size_t(result.nbytes),
            ),
            "cuMemcpyDtoH",
        )
        return result

    def free(self):
        for address, _ in self._held.values():
            _driver().cuMemFree_v2(c.c_uint64(address))
        self._held.clear()


def _encode(memory: Memory, map_: TensorMap) -> c.Array:
    array = map_.array
    rank = array.ndim
    dims = (c.c_uint64 * rank)(*reversed(array.shape))
    strides = (c.c_uint64 * rank)(*list(reversed(array.strides))[1:])
    box = (c.c_uint32 * rank)(*reversed(map_.box))
    ones = (c.c_uint32 * rank)(*([1] * rank))
    # cuTensorMapEncodeTiled wants its result aligned to 64 bytes.
    storage = (c.c_uint8 * 256)()
    start = -c.addressof(storage) % 128
    bytes_ = (c.c_uint8 * 128).from_buffer(storage, start)
    _check(
        _driver().cuTensorMapEncodeTiled(
            bytes_,
            TENSOR_TYPES[map_.type],
            rank,
            c.c_uint64(memory.address(array)),
            dims,
            strides,
            box,
            ones,
            0,
            SWIZZLES[map_.swizzle],
            0,
            int(map_.fill_nan),
        ),
        "cuTensorMapEncodeTiled",
    )
    return bytes_


def _pack(memory: Memory, argument):
    """A ctypes object that holds the argument as the kernel takes it."""
    if argument is None:
        return c.c_uint64(0)
    if isinstance(argument, np.ndarray):
        return c.c_uint64(memory.address(argument))
    if isinstance(argument, TensorMap):
        return _encode(memory, argument)
    if isinstance(argument, Struct):
        return (c.c_uint8 * len(argument.data)).from_buffer_copy(argument.data)
    if isinstance(argument, np.generic):
        data = argument.tobytes()
        return (c.c_uint8 * len(data)).from_buffer_copy(data)
    if isinstance(argument, int):
        return c.c_int32(argument)
    raise TypeError(f"no argument of a kernel: {argument!r}")


# ---- Modules ---------------------------------------------------------------------------------------------------------


class Module:
    """A module loaded from PTX text. Raises DriverError with every problem that the device finds."""

    def __init__(self, ptx: str):
        driver = _driver()
        driver.girihEmulatorResetError()
        self._handle = c.c_void_p()
        _check(
            driver.cuModuleLoadData(c.byref(self._handle), ptx.encode() + b"\0"), "cuModuleLoadData"
        )
        self._functions = {}

    def variable(self, name: str) -> tuple[int, int]:
        """Address and bytes of a variable of the module."""
        address, size = c.c_uint64(), c.c_size_t()
        _check(
            _driver().cuModuleGetGlobal_v2(
                c.byref(address), c.byref(size), self._handle, name.encode()
            ),
            f"cuModuleGetGlobal({name})",
        )
        return address.value, size.value

    def _function(self, name: str) -> c.c_void_p:
        if name not in self._functions:
            function = c.c_void_p()
            _check(
                _driver().cuModuleGetFunction(c.byref(function), self._handle, name.encode()),
                f"cuModuleGetFunction({name})",
            )
            self._functions[name] = function
        return self._functions[name]

    def run(self, entry, grid, block, arguments, *, cluster=None, shared=0, **options) -> Result:
        """Copies the arrays among the arguments to the device, launches, and copies them back.

        Arguments are arrays (passed as pointers; NumPy arrays that are the same object share one
        address), NumPy scalars (passed with their size), Python ints (32 bits), None (a null pointer),
        TensorMap and Struct. Options are those of the device: seed, adversary, threads, checks,
        numerics.
        """
        driver = _driver()
        driver.girihEmulatorResetError()
        function = self._function(entry)
        for name, value in {
            "seed": 0,
            "adversary": "none",
            "threads": 1,
            "checks": 1,
            "numerics": "exact",
            **options,
        }.items():
            _check(
                driver.girihEmulatorSetOption(name.encode(), str(value).encode()),
                f"option {name}={value}",
            )
        memory = Memory()
        try:
            packed = [_pack(memory, argument) for argument in arguments]
            memory.upload()
            pointers = (c.c_void_p * max(1, len(packed)))(*[c.addressof(p) for p in packed])
            if shared > 48 * 1024:
                _check(driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared), "shared")
            attributes = (_Attribute * 1)()
            count = 0
            if cluster is not None:
                extent = _dim3(cluster)
                attributes[0].id = _CLUSTER_DIMENSION
                attributes[0].value[:3] = extent
                count = 1
                if np.prod(extent) > 8:
                    driver.cuFuncSetAttribute(function, _NON_PORTABLE_CLUSTER, 1)
            config = _Config(
                (c.c_uint * 3)(*_dim3(grid)),
                (c.c_uint * 3)(*_dim3(block)),
                shared,
                None,
                attributes,
                count,
            )
            _check(
                driver.cuLaunchKernelEx(c.byref(config), function, pointers, None), "cuLaunchKernel"
            )
            status = driver.cuCtxSynchronize()
            if status == _SUCCESS:
                return Result([memory.result(argument) for argument in arguments])
            if status != _LAUNCH_FAILED:
                _check(status, entry)
            findings = json.loads(_text(driver.girihEmulatorReportsJson))
            text = _text(driver.girihEmulatorReports)
            driver.girihEmulatorResetError()
            return Result(list(arguments), findings, text or f"{entry}: failed without a report")
        finally:
            memory.free()
