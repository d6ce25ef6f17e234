"""Packages written by hand: an ELF file that holds PTX and a manifest but no machine code.

Only the emulated device can run them. They test the runtime without the compiler.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

# A TMA copy, which the C++ tests of the runtime use, too.
_INPUTS = Path(__file__).parents[1] / "unit" / "Runtime" / "Inputs"
COPY_PTX = (_INPUTS / "copy.ptx").read_text()
COPY_MANIFEST = json.loads((_INPUTS / "copy.json").read_text())

# Runs for about as long as its argument is large. It writes to memory, so that nobody takes it for a
# loop that waits.
SPIN_PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry spin(.param .u32 rounds, .param .f32 unused)
.reqntid 1, 1, 1
{
  .shared .align 4 .b8 round[4];
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, 0;
  mov.u32 %r3, round;
LOOP:
  add.u32 %r2, %r2, 1;
  st.shared.u32 [%r3], %r2;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra LOOP;
  ret;
}
"""


def array(name: str, access: str, dtype: str = "f32", contiguous: int = 1) -> dict:
    """A manifest's entry for a matrix."""
    return {
        "name": name,
        "kind": "array",
        "dtype": dtype,
        "rank": 2,
        "contiguous": contiguous,
        "access": access,
    }


def manifest(
    name: str, threads: int, parameters: list, kernel_parameters: list, plan: list
) -> dict:
    """A manifest of one kernel."""
    kernel = {
        "name": name,
        "block": [threads, 1, 1],
        "cluster": [1, 1, 1],
        "dynamic_shared_bytes": 0,
        "registers": 24,
        "spill_bytes": 0,
        "stack_bytes": 0,
        "parameters": kernel_parameters,
    }
    return {
        "schema": 1,
        "name": name,
        "arch": "sm_90a",
        "parameters": parameters,
        "kernels": [kernel],
        "plan": plan,
    }


SPIN_MANIFEST = manifest(
    "spin",
    1,
    [
        {"name": "rounds", "kind": "scalar", "dtype": "u32"},
        {"name": "unused", "kind": "scalar", "dtype": "f32"},
    ],
    [{"kind": "scalar", "dtype": "u32"}, {"kind": "scalar", "dtype": "f32"}],
    [
        {"op": "scalar", "parameter": 0},
        {"op": "constant", "value": 1},
        {"op": "scalar", "parameter": 1},
        {"op": "launch", "kernel": 0, "grid": [1, 1, 1], "args": [0, 2]},
    ],
)

# Location 1 is line 3 of copy, number 2 a call of line 2 of store in line 4 of copy.
COPY_LOCATIONS = {
    "version": 1,
    "functions": [
        {"name": "copy", "file": "", "line": 0},
        {"name": "store", "file": "", "line": 0},
    ],
    "locations": [[[0, 3, 4]], [[1, 2, 8], [0, 4, 4]]],
}


def image(ptx: str, contents: dict, locations: dict | None = None) -> bytes:
    """A 64-bit little-endian ELF file with the sections that the emulated device reads.

    Fields in the order of the System V gABI, chapters "ELF Header" and "Sections".
    """
    sections = {
        ".girih.ptx": ptx.encode(),
        ".girih.manifest": json.dumps(contents).encode(),
    }
    if locations is not None:
        sections[".girih.loc"] = json.dumps(locations).encode()
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    body = b""
    headers = [bytes(64)]
    kinds = [*((name, data, 1) for name, data in sections.items()), (".shstrtab", names, 3)]
    for name, data, kind in kinds:
        header = struct.pack(
            "<IIQQQQIIQQ",
            names.index(name.encode() + b"\0"),
            kind,  # SHT_PROGBITS or SHT_STRTAB
            0,
            0,
            64 + len(body),
            len(data),
            0,
            0,
            1,
            0,
        )
        headers.append(header)
        body += data
    elf = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        2,
        190,  # ET_EXEC, EM_CUDA
        1,
        0,
        0,
        64 + len(body),
        0,
        64,
        0,
        0,
        64,
        len(headers),
        len(headers) - 1,
    )
    return elf + body + b"".join(headers)
