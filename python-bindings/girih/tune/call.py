"""A call on disk: what a trial reads and what it leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from girih.runtime import array as arrays

# How far two right answers may be apart, in units of the last place of the largest one.
_ULPS = 64
_EPSILON = {
    "f64": 2.0**-52,
    "f32": 2.0**-23,
    "f16": 2.0**-10,
    "bf16": 2.0**-7,
    "e4m3": 2.0**-3,
    "e5m2": 2.0**-2,
}


def write_call(folder: Path, program: Any, arguments: Sequence[Any]) -> list[dict[str, Any]]:
    """Writes a program and its arguments; returns their description."""
    (folder / "image").write_bytes(program.image)
    entries: list[dict[str, Any]] = []
    for number, (parameter, value) in enumerate(zip(program.parameters, arguments, strict=True)):
        if parameter["kind"] == "scalar":
            number_value = value.item() if hasattr(value, "item") else value
            entries.append({"kind": "scalar", "value": number_value})
            continue
        array = arrays.to_device(value)
        memory = np.empty(array._span, np.uint8)
        array._read(memory)
        (folder / f"{number}.in").write_bytes(memory.tobytes())
        entries.append(
            {
                "kind": "array",
                "access": parameter["access"],
                "dtype": array.dtype.name,
                "shape": array.shape,
                "strides": array.strides,
            }
        )
    (folder / "call.json").write_text(json.dumps(entries))
    return entries


def outputs_of(folder: Path, entries: Sequence[dict[str, Any]]) -> list[Any]:
    """The outputs that a trial left, as arrays of float64 or integers."""
    from girih import _runtime

    outputs = []
    for number, entry in enumerate(entries):
        if entry["kind"] == "array" and entry["access"] != "in":
            array = _runtime.Array._empty(entry["dtype"], entry["shape"], entry["strides"])
            array._write(np.frombuffer((folder / f"{number}.out").read_bytes(), np.uint8))
            outputs.append((entry["dtype"], array.numpy()))
    return outputs


def difference(outputs: Sequence[Any], expected: Sequence[Any]) -> str:
    """How outputs differ from what is right, or "". Floats may differ as far as another order of summation
    explains: 64 units in the last place of the largest number."""
    if len(outputs) != len(expected):
        return f"{len(expected)} outputs were expected, the kernel has {len(outputs)}"
    for number, ((dtype, found), right) in enumerate(zip(outputs, expected, strict=True)):
        wanted = np.asarray(right[1] if isinstance(right, tuple) else right)
        if wanted.shape != found.shape:
            return f"output {number} is of shape {found.shape}, expected {wanted.shape}"
        if not found.size:
            continue
        a, b = found.astype(np.float64), wanted.astype(np.float64)
        finite = np.isfinite(b)
        bound = _ULPS * _EPSILON.get(dtype, 0.0) * np.abs(b[finite]).max(initial=0.0)
        same = np.where(
            finite,
            np.abs(a - np.where(finite, b, 0.0)) <= bound,
            (a == b) | (np.isnan(a) & np.isnan(b)),
        )
        if not same.all():
            place = tuple(int(index) for index in np.argwhere(~same)[0])
            return f"wrong: output {number} at {place} is {a[place]:g}, expected {b[place]:g}"
    return ""
