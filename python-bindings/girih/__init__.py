"""girih: tile-level kernels for NVIDIA tensor cores, checked on an emulated device before a GPU sees them.

    import girih as gr
    from girih import wg

Importing it loads neither NumPy nor a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.compiler.parallel import compile_all
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
from girih.lang.cuda import cuda_function, ptx
from girih.lang.debug import assert_
from girih.lang.debug import print_ as print
from girih.lang.function import function
from girih.lang.kernel import kernel
from girih.lang.library import cdiv, grouped, sms, static_assert, static_range, tiles
from girih.lang.library import range_ as range
from girih.lang.tilecreate import arange, broadcast_to, coords, full, join, split, zeros
from girih.lang.tiledot import dot, scaled_dot
from girih.lang.tilemath import abs_ as abs
from girih.lang.tilemath import (
    ceil,
    cos,
    erf,
    exp,
    exp2,
    floor,
    fma,
    fmax,
    fmin,
    log,
    log2,
    maximum,
    minimum,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tanh,
    where,
)
from girih.lang.tilememory import (
    atomic_add,
    atomic_and,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
    gather,
    scatter,
    signal,
    wait_for,
)
from girih.lang.tilerandom import philox, rand
from girih.lang.tilereduce import argmax, argmin, cumsum, reduce, scan
from girih.lang.tilereduce import max_ as max
from girih.lang.tilereduce import min_ as min
from girih.lang.tilereduce import sum_ as sum
from girih.lang.workspace import workspace

__version__ = "0.1.0"

# Looked up on first use, so that `import girih` stays cheap.
_LAZY = {
    "Array": "girih.runtime.array",
    "Graph": "girih.runtime.graph",
    "asarray": "girih.runtime.array",
    "autotune": "girih.tune.tuner",
    "empty": "girih.runtime.array",
    "from_dlpack": "girih.runtime.array",
    "ArraySpec": "girih.lang.spec",
    "export": "girih.packages.export",
    "load": "girih.packages.load",
    "variant": "girih.packages.signature",
}
_LAZY_MODULES = {"device": "girih.runtime.device", "emulator": "girih.emulator"}


if TYPE_CHECKING:
    # The one form whose texts a type checker does not read as types; girih.mypy_plugin says what it means.
    from typing import Literal as In
    from typing import Literal as InOut
    from typing import Literal as Out

    from girih import emulator as emulator
    from girih.lang.spec import ArraySpec as ArraySpec
    from girih.packages.export import export as export
    from girih.packages.load import load as load
    from girih.packages.signature import variant as variant
    from girih.runtime import device as device
    from girih.runtime.array import Array as Array
    from girih.runtime.array import asarray as asarray
    from girih.runtime.array import empty as empty
    from girih.runtime.array import from_dlpack as from_dlpack
    from girih.runtime.graph import Graph as Graph
    from girih.tune.tuner import autotune as autotune
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
    "abs",
    "arange",
    "argmax",
    "argmin",
    "assert_",
    "atomic_add",
    "atomic_and",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "b1",
    "bf16",
    "broadcast_to",
    "cdiv",
    "ceil",
    "compile_all",
    "const",
    "cuda_function",
    "coords",
    "cos",
    "cumsum",
    "dot",
    "e4m3",
    "e5m2",
    "erf",
    "exp",
    "exp2",
    "f16",
    "f32",
    "f64",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "full",
    "function",
    "gather",
    "grouped",
    "i16",
    "i32",
    "i64",
    "i8",
    "join",
    "kernel",
    "log",
    "log2",
    "max",
    "maximum",
    "min",
    "minimum",
    "philox",
    "ptx",
    "print",
    "rand",
    "range",
    "reduce",
    "rsqrt",
    "scaled_dot",
    "scan",
    "scatter",
    "sigmoid",
    "signal",
    "sin",
    "sms",
    "split",
    "sqrt",
    "static_assert",
    "static_range",
    "sum",
    "tanh",
    "tiles",
    "u16",
    "u32",
    "u64",
    "u8",
    "wait_for",
    "where",
    "workspace",
    "zeros",
    *_LAZY,
    *_LAZY_MODULES,
]
