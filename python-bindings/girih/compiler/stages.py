"""Every stage of a compilation, for people: ``kernel.inspect(…)`` and ``GIRIH_DUMP=folder``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from girih.compiler.program import CompiledProgram
from girih.errors import GirihError
from girih.lang.source import Source

# What the compiler is asked for, in its words.
STAGES = ("tile", "wg", "nvvm", "llvm", "ptx", "image", "sass")
_FILES = {
    "python": "kernel.py",
    "tile": "tile.mlir",
    "wg": "wg.mlir",
    "nvvm": "nvvm.mlir",
    "llvm": "llvm.ll",
    "ptx": "kernel.ptx",
    "cubin": "kernel.cubin",
    "sass": "kernel.sass",
    "report": "report.json",
}


def stages_of(
    text: str, sources: Mapping[str, Source], blobs: Mapping[str, bytes], program: CompiledProgram
) -> dict[str, Any]:
    """The stages by name: texts from "python" over "tile", "wg", "nvvm", "llvm" and "ptx" to "sass", the bytes
    of "cubin" (with girih's sections) and "report", a dict. A kernel written at wg level has no other text
    in "tile" than its own."""
    return {
        "python": "\n".join(source.listing() for source in sources.values()),
        "tile": text,
        **{name: blobs[name].decode() for name in ("wg", "nvvm", "llvm", "ptx")},
        "cubin": blobs["image"],
        "sass": blobs["sass"].decode(),
        "report": {
            "resources": program.resources,
            "timings_ms": program.timings_ms,
            "passes_ms": program.passes_ms,
            "remarks": program.remarks,
        },
    }


def write_stages(stages: Mapping[str, Any], folder: str) -> None:
    """Writes one file per stage into a folder, which is made. Raises GirihError."""
    try:
        os.makedirs(folder, exist_ok=True)
        for name, content in stages.items():
            if isinstance(content, dict):
                content = json.dumps(content, indent=1) + "\n"
            with open(os.path.join(folder, _FILES[name]), "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise GirihError(
            f"{error.filename} cannot be written: {error.strerror}; GIRIH_DUMP names a folder for the stages "
            "of each compilation"
        ) from None
