"""Compiles emitted modules: asks the worker, turns diagnostics into the user's errors, loads the image."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from girih.compiler.program import CompiledProgram, Places, note_text, report_of
from girih.compiler.target import architecture
from girih.compiler.worker import WORKER, WorkerDied
from girih.errors import CompileError, Place
from girih.lang.source import Source

OPTIONS = {"remarks": True, "timing": True}


def compile_text(
    name: str,
    text: str,
    sources: dict[str, Source],
    without: Sequence[str] = (),
    emit: Sequence[str] = ("image",),
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Compiles MLIR text without some of the compiler's optional steps; returns the stages asked for and the
    compiler's reply. Raises CompileError at the user's line."""
    try:
        reply, blobs = WORKER.request(
            {
                "id": 1,
                "mlir": text,
                "arch": architecture(),
                "emit": list(emit),
                "options": {**OPTIONS, "without": list(without)},
            }
        )
    except WorkerDied as death:
        raise CompileError(
            f"{death} while compiling kernel '{name}'",
            help=f"the module was written to {_keep(name, text)}: please report it",
        ) from None
    if not reply["ok"]:
        raise _error(name, reply["diagnostics"], sources)
    return blobs, reply


def compile_module(
    name: str, text: str, sources: dict[str, Source], without: Sequence[str] = ()
) -> CompiledProgram:
    """Compiles MLIR text to a program, without some of the compiler's optional steps. Raises CompileError at
    the user's line."""
    blobs, reply = compile_text(name, text, sources, without)
    places = places_of(sources)
    return CompiledProgram(blobs["image"], report_of(reply, places), places, from_cache=False)


def places_of(sources: dict[str, Source]) -> Places:
    """Where the functions of a module stand."""
    return {source.name: (source.file, source.first_line) for source in sources.values()}


def phase_of(text: str, phase: str, without: Sequence[str] = ()) -> str:
    """The text of a module in a later phase ("wg", "nvvm", "llvm" or "ptx"). Raises CompileError."""
    reply, blobs = WORKER.request(
        {
            "id": 1,
            "mlir": text,
            "arch": architecture(),
            "emit": [phase],
            "options": {"without": list(without)},
        }
    )
    if not reply["ok"]:
        raise _error("", reply["diagnostics"], {})
    return blobs[phase].decode()


def _keep(name: str, text: str) -> Path:
    """Writes a module that broke the compiler where it can be found."""
    path = Path(tempfile.mkdtemp(prefix="girih-")) / f"{name}.mlir"
    path.write_text(text)
    return path


def _error(
    name: str, diagnostics: list[dict[str, Any]], sources: dict[str, Source]
) -> CompileError:
    errors = [
        diagnostic for diagnostic in diagnostics if diagnostic["severity"] == "error"
    ] or diagnostics
    if not errors:
        return CompileError(f"kernel '{name}' did not compile and the compiler gave no reason")
    first = errors[0]
    places = [_place(location, sources) for location in first.get("locations", [])]
    known = [place for place in places if place is not None]
    if not known and name in sources and f"kernel '{name}'" in first["message"]:
        # About the kernel as a whole, such as its registers.
        source = sources[name]
        known = [source.place(source.definition)]
    message = "\n  ".join(
        [first["message"], *(f"note: {note_text(note, {})}" for note in first.get("notes", []))]
    )
    return CompileError(message, known[0] if known else None, called_from=tuple(known[1:]))


def _text_of(location: dict[str, Any]) -> str | None:
    """The text of a line that is in no function: of CUDA C++."""
    import linecache

    return linecache.getline(location["file"], location["line"]).rstrip("\n") or None


def _place(location: dict[str, Any], sources: dict[str, Source]) -> Place | None:
    if not location.get("file"):
        return None
    function = location.get("function", "")
    source = sources.get(function)
    return Place(
        location["file"],
        location["line"],
        max(0, location["column"] - 1),
        None,
        source.line(location["line"]) if source else _text_of(location),
        function,
    )
