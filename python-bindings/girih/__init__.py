"""girih: tile-level kernels for NVIDIA tensor cores, checked on an emulated device before a GPU sees them.

    import girih as gr
    from girih import wg

Importing it loads neither NumPy nor a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.dtypes import (
    DType,
    b1,
    bf16,
    e4m3,
    e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from girih.errors import CompileError, DeviceError, GirihError, LaunchError
from girih.lang.annotations import const
from girih.lang.function import function
from girih.lang.kernel import kernel
from girih.lang.library import cdiv, grouped, sms, static_assert, static_range, tiles
from girih.lang.library import range_ as range

__version__ = "0.1.0"

# Looked up on first use, so that `import girih` stays cheap.
_LAZY = {
    "Array": "girih.runtime.array",
    "asarray": "girih.runtime.array",
    "empty": "girih.runtime.array",
    "zeros": "girih.runtime.array",
    "from_dlpack": "girih.runtime.array",
}
_LAZY_MODULES = {"device": "girih.runtime.device", "emulator": "girih.emulator"}


if TYPE_CHECKING:
    # The one form whose texts a type checker does not read as types; girih.mypy_plugin says what it means.
    from typing import Literal as In
    from typing import Literal as InOut
    from typing import Literal as Out

    from girih import emulator as emulator
    from girih.runtime import device as device
    from girih.runtime.array import Array as Array
    from girih.runtime.array import asarray as asarray
    from girih.runtime.array import empty as empty
    from girih.runtime.array import from_dlpack as from_dlpack
    from girih.runtime.array import zeros as zeros
else:
    from girih.lang.annotations import In, InOut, Out

    def __getattr__(name: str) -> Any:
        import importlib

        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in _LAZY_MODULES:
            return importlib.import_module(_LAZY_MODULES[name])
        raise AttributeError(f"module 'girih' has no attribute '{name}'")


__all__ = [
    "CompileError",
    "DType",
    "DeviceError",
    "GirihError",
    "In",
    "InOut",
    "LaunchError",
    "Out",
    "b1",
    "bf16",
    "cdiv",
    "const",
    "e4m3",
    "e5m2",
    "f16",
    "f32",
    "f64",
    "function",
    "grouped",
    "i16",
    "i32",
    "i64",
    "i8",
    "kernel",
    "range",
    "sms",
    "static_assert",
    "static_range",
    "tiles",
    "u16",
    "u32",
    "u64",
    "u8",
    *_LAZY,
    *_LAZY_MODULES,
]
