"""Kernels by what shapes them: from the disk, or compiled and put there."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from girih.cache.key import Captured, Inputs
from girih.cache.store import DEFAULT_BYTES, Entry, Store, digest
from girih.cache.toolchain import Toolchain, toolchain
from girih.compiler.path import compiler_path
from girih.compiler.program import CompiledProgram, report_of
from girih.compiler.target import architecture
from girih.errors import GirihError
from girih.log import log, logs

if TYPE_CHECKING:
    from girih.lang.module import Parameter
    from girih.lang.source import Definition, Source

# Changes when an image can no longer be launched by the runtime that this package has.
RUNTIME_ABI = 1
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def folder() -> str:
    """GIRIH_CACHE_DIR, or girih in the user's cache directory (XDG)."""
    named = os.environ.get("GIRIH_CACHE_DIR")
    if named:
        return os.path.abspath(named)
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    return os.path.join(home if home.startswith("/") else os.path.expanduser("~/.cache"), "girih")


def limit() -> int:
    """What the entries may take: GIRIH_CACHE_SIZE. Raises GirihError."""
    text = os.environ.get("GIRIH_CACHE_SIZE", "")
    return parse_size(text, "GIRIH_CACHE_SIZE") if text else DEFAULT_BYTES


def parse_size(text: str, name: str) -> int:
    """A number of bytes, or one with K, M or G. Raises GirihError about what ``name`` says."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise GirihError(
            f"{name} is {text!r}: expected a number of bytes, or one with K, M or G, as in 512M"
        )
    return int(match[1]) * _UNITS[match[2]]


@functools.cache
def store() -> Store:
    """The cache of this process."""
    return Store(folder(), limit())


def is_on() -> bool:
    """Whether kernels are kept on disk: not with GIRIH_CACHE=0, nor where the folder cannot be trusted."""
    return os.environ.get("GIRIH_CACHE", "1") not in ("", "0") and store().usable()


class Request(NamedTuple):
    """What is to be compiled: a kernel for a signature (as emit_module takes them)."""

    definition: Definition
    parameters: list[Parameter]
    signature: dict[str, Any]


def program(request: Request) -> tuple[CompiledProgram, Captured]:
    """The program, and the outer names that it depends on. Raises CompileError."""
    inputs = Inputs()
    inputs.kernel(*request)
    known = _toolchain() if is_on() else None
    if known is None:
        return _compile(request).program, inputs.captured
    inputs.add("the compiler", known.identity)
    inputs.add("the architecture", architecture())
    inputs.add("the runtime", str(RUNTIME_ABI))
    key = digest("\0".join(f"{label}\0{text}" for label, text in inputs.parts).encode())
    found = _load(key, inputs)
    if found is None:
        with store().lock(key):
            # Whoever held the lock may have compiled it.
            found = _load(key, inputs) or _compile_and_keep(key, known, inputs, request)
    return found, inputs.captured


def compiler_identity() -> str:
    """What identifies the code that compiles; "" if nobody knows."""
    known = _toolchain()
    return known.identity if known else ""


@functools.cache
def _toolchain() -> Toolchain | None:
    """What compiles in this process; None if its files have changed since it began, so that nobody knows."""
    try:
        found = toolchain(store(), compiler_path())
    except (OSError, GirihError) as error:
        # The compilation says what is wrong with it.
        log("compile", f"no cache: {error}")
        return None
    if found.front_end_is_loaded():
        return found
    log("compile", "no cache: files of girih have changed since this process began")
    return None


def _load(key: str, inputs: Inputs) -> CompiledProgram | None:
    # What is dumped is made anew, since an entry holds the last stage only.
    entry = None if dump_folder() else store().read(key)
    if entry is None:
        return None
    places = {
        name: (inputs.definitions[number].file, inputs.definitions[number].first_line)
        for name, number in entry.sources
    }
    return CompiledProgram(entry.image, entry.report, places, from_cache=True)


def dump_folder() -> str:
    """GIRIH_DUMP: where every stage of a compilation is written, or ""."""
    return os.environ.get("GIRIH_DUMP", "")


class _Compiled(NamedTuple):
    program: CompiledProgram
    text: str
    sources: dict[str, Source]
    blobs: dict[str, bytes]
    worker_started: int


def _compile(request: Request, all_stages: bool = False, **more: Any) -> _Compiled:
    """Compiles; ``more`` goes into the report."""
    from girih.compiler.client import compile_text, places_of
    from girih.compiler.stages import STAGES, write_stages
    from girih.lang.module import emit_module

    name, dump = request.definition.name, dump_folder()
    text, sources = emit_module(*request)
    emit = STAGES if all_stages or dump else ("image",)
    blobs, reply = compile_text(name, text, sources, emit=emit)
    places = places_of(sources)
    report = report_of(reply, places, **more)
    program = CompiledProgram(blobs["image"], report, places, from_cache=False)
    compiled = _Compiled(program, text, sources, blobs, reply["worker_started"])
    if dump:
        folder = os.path.join(dump, f"{name}-{digest(text.encode())[:12]}")
        write_stages(_stages(compiled), folder)
    return compiled


def stages(request: Request) -> dict[str, Any]:
    """Every stage of a compilation (girih.compiler.stages). Raises CompileError."""
    return _stages(_compile(request, all_stages=True))


def _stages(compiled: _Compiled) -> dict[str, Any]:
    from girih.compiler.stages import stages_of

    return stages_of(compiled.text, compiled.sources, compiled.blobs, compiled.program)


def _compile_and_keep(
    key: str, known: Toolchain, inputs: Inputs, request: Request
) -> CompiledProgram:
    from girih.cache.reason import why_compiled

    name = request.definition.name
    parts = [(label, digest(text.encode())[:16]) for label, text in inputs.parts]
    if logs("compile"):
        log("compile", f"compiling {name}: {why_compiled(store(), name, parts)}")
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in request.signature.items())
    compiled = _compile(request, kernel=name, arch=architecture(), arguments=arguments, parts=parts)
    numbers = {(d.file, d.first_line): number for number, d in enumerate(inputs.definitions)}
    places = {source.name: (source.file, source.first_line) for source in compiled.sources.values()}
    if not numbers.keys() >= set(places.values()):
        log("compile", f"{name} is not kept: it has functions that its names do not lead to")
    elif not known.unchanged() or not known.compiler_is_loaded(compiled.worker_started):
        # The entry says which files made it, so they must be the ones that did.
        log("compile", f"{name} is not kept: the compiler changed meanwhile")
    else:
        sources = tuple((source, numbers[place]) for source, place in places.items())
        store().write(key, Entry(sources, compiled.program.report_text, compiled.blobs["image"]))
    return compiled.program


def _short(value: object) -> str:
    """An argument of a signature for people."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return str(getattr(value, "__name__", value))
    return f"{dtype.name}[{value.rank}d]"  # type: ignore[attr-defined]
