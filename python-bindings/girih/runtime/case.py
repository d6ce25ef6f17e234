"""A recorded call: the image and the arguments in a file, to be run again elsewhere.

The file is a ZIP archive: ``case.json``, ``image``, and one entry for each stretch of device memory that the
arrays lie in. Arrays that shared memory share it again, at the same distance from a multiple of 256 bytes, so that
the kernel sees what it saw.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from girih.errors import GirihError
from girih.runtime.array import Array

if TYPE_CHECKING:
    from girih._runtime import Program

SCHEMA = 1
_GRANULE = 256  # what device memory is aligned to


def write_case(
    path: str | os.PathLike[str], program: Program, args: list[Any], ctas: int | None
) -> None:
    """Writes a call before it is made. ``args``: girih.Arrays and numbers, one per parameter."""
    stretches = _stretches([value for value in args if isinstance(value, Array)])
    contents: dict[str, bytearray] = {}
    arguments: list[Any] = []
    for parameter, value in zip(program.parameters, args, strict=True):
        if not isinstance(value, Array):
            is_integer = hasattr(value, "__index__")
            arguments.append(value.__index__() if is_integer else float(value))
            continue
        stretch = next(s for s in stretches if s.holds(value))
        memory = contents.setdefault(stretch.name, bytearray(stretch.end - stretch.start))
        part = bytearray(value._span)
        value._read(part)
        offset = _lowest(value) - stretch.start
        memory[offset : offset + len(part)] = part
        arguments.append(
            {
                "name": parameter["name"],
                "access": parameter["access"],
                "dtype": value.dtype.name,
                "shape": value.shape,
                "strides": value.strides,
                "memory": stretch.name,
                "first": value.address - stretch.start,
                "start": stretch.start % _GRANULE,
            }
        )
    case = {"schema": SCHEMA, "kernel": program.name, "ctas": ctas, "arguments": arguments}
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("case.json", json.dumps(case))
        file.writestr("image", program.image)
        for name, memory in contents.items():
            file.writestr(name, bytes(memory))
    os.replace(temporary, path)


@dataclass
class Case:
    """A recorded call with its arrays on the device of this process."""

    kernel: str
    ctas: int | None
    image: bytes
    arguments: list[Any]
    names: list[str]  # of the arrays, in order
    outputs: dict[str, Array]  # those that the kernel writes, by name


def read_case(path: str | os.PathLike[str]) -> Case:
    """Reads a call. Raises GirihError for a file that is none."""
    try:
        with zipfile.ZipFile(path) as file:
            entries = {name: file.read(name) for name in file.namelist()}
        case = json.loads(entries["case.json"])
        if case["schema"] != SCHEMA:
            raise GirihError(
                f"{os.fspath(path)} was recorded by another version of girih (schema {case['schema']}, expected "
                f"{SCHEMA})"
            )
        return _read(case, entries)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise GirihError(f"{os.fspath(path)} is no recorded call: {error}") from None
    except OSError as error:
        raise GirihError(f"{os.fspath(path)} cannot be read: {error.strerror}") from None


def _read(case: dict[str, Any], entries: dict[str, bytes]) -> Case:
    memories: dict[str, int] = {}
    kept: dict[str, Array] = {}
    result = Case(case["kernel"], case["ctas"], entries["image"], [], [], {})
    for argument in case["arguments"]:
        if not isinstance(argument, dict):
            result.arguments.append(argument)
            continue
        name = argument["memory"]
        if name not in memories:
            data, start = entries[name], argument["start"]
            kept[name] = Array._empty("u8", [start + len(data)])
            memories[name] = kept[name].address + start
            kept[name]._write(bytes(start) + data)
        array = Array._over(
            argument["dtype"],
            argument["shape"],
            argument["strides"],
            memories[name] + argument["first"],
            kept[name],
            False,
        )
        result.arguments.append(array)
        result.names.append(argument["name"])
        if argument["access"] != "in":
            result.outputs[argument["name"]] = array
    return result


@dataclass
class _Stretch:
    """Device memory from ``start`` to ``end``."""

    name: str
    start: int
    end: int

    def holds(self, array: Array) -> bool:
        return self.start <= _lowest(array) and _lowest(array) + array._span <= self.end


def _stretches(arrays: list[Array]) -> list[_Stretch]:
    """The memory of arrays; those that meet are in one stretch."""
    stretches: list[_Stretch] = []
    for array in sorted(arrays, key=_lowest):
        start, end = _lowest(array), _lowest(array) + array._span
        if stretches and start < stretches[-1].end:
            stretches[-1].end = max(stretches[-1].end, end)
        else:
            stretches.append(_Stretch(f"memory{len(stretches)}", start, end))
    return stretches


def _lowest(array: Array) -> int:
    """The address of the element with the lowest one."""
    size = array.dtype.bytes
    return array.address + sum(
        (extent - 1) * min(stride, 0) * size
        for extent, stride in zip(array.shape, array.strides, strict=True)
        if array.size
    )
