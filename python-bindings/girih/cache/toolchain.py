"""Which code makes the binary: the front end's files, the compiler with LLVM and MLIR, ptxas, libdevice.

Their contents identify them, so two installations of one version share entries. Reading 200 MB takes a while:
digests are kept with each file's size, times and inode, and are good as long as those do not change.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import NamedTuple

from girih.cache.store import Store, digest
from girih.errors import GirihError

# What decides which tools a worker takes and which libraries it loads.
_CHOOSING = ("GIRIH_PTXAS", "GIRIH_CUDA_HOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD")
# Folders of the package whose text does not shape other people's kernels.
_NOT_FRONT_END = ("kernels", "__pycache__")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Stamp(NamedTuple):
    """What changes when a file does; -1 for a file that is not there."""

    size: int
    mtime: int
    ctime: int
    inode: int


class Toolchain(NamedTuple):
    """``identity`` is the digest of all contents; the stamps tell whether it still holds."""

    identity: str
    front_end: dict[str, Stamp]
    tools: dict[str, Stamp]

    def unchanged(self) -> bool:
        """Whether the files are those that were looked at."""
        files = (*self.front_end.items(), *self.tools.items())
        return all(_stamp(path) == stamp for path, stamp in files)

    def front_end_is_loaded(self) -> bool:
        """Whether this process runs the front end in the files: none changed after it began."""
        return _newest(self.front_end) < process_start()

    def compiler_is_loaded(self, started: int) -> bool:
        """Whether a worker that was started at a time (ns since the epoch) runs what is in the files."""
        return _newest(self.tools) < started


def toolchain(store: Store, compiler: str) -> Toolchain:
    """The toolchain of this process. Runs the compiler only if its files are not known yet."""
    choice = "\n".join([_PACKAGE, compiler, *(os.environ.get(name, "") for name in _CHOOSING)])
    note = f"tools-{digest(choice.encode())[:32]}"
    known = _parse(store.read_file(note) or b"")
    front_end = {path: _stamp(path) for path in _front_end()}
    tools = {path: stamp for path, (stamp, _) in known.items() if path not in front_end}
    if not tools or any(_stamp(path) != stamp for path, stamp in tools.items()):
        tools = {path: _stamp(path) for path in _ask(compiler)}
    now: dict[str, tuple[Stamp, str]] = {}
    for path, stamp in (*front_end.items(), *tools.items()):
        before = known.get(path)
        good = before is not None and before[0] == stamp
        now[path] = before if good and before is not None else (stamp, _digest_file(path))
    if now != known:
        store.write_file(note, _text(now))
    # Names without folders: where girih and its tools are installed does not matter.
    parts = [f"{os.path.basename(path)} {content}" for path, (_, content) in now.items()]
    parts.append(f"python {sys.version_info[0]}.{sys.version_info[1]}")
    return Toolchain(digest("\n".join(parts).encode()), front_end, tools)


@functools.cache
def process_start() -> int:
    """When this process began, in ns since the epoch, to a hundredth of a second."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    boot = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return boot + ticks * (1_000_000_000 // os.sysconf("SC_CLK_TCK"))


def _front_end() -> list[str]:
    """The package's Python files, in order."""
    files, folders = [], [_PACKAGE]
    while folders:
        with os.scandir(folders.pop()) as items:
            for item in sorted(items, key=lambda item: item.name):
                if item.name.endswith(".py"):
                    files.append(item.path)
                elif "." not in item.name and item.name not in _NOT_FRONT_END:
                    folders.append(item.path)
    return files


def _ask(compiler: str) -> list[str]:
    """The files that the compiler consists of and uses, and those that it would prefer if they were there.
    Raises GirihError."""
    import subprocess

    command = [compiler, "--files"]
    try:
        result = subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.SubprocessError as error:
        raise GirihError(f"the compiler does not say which files it uses: {error}") from None
    return result.stdout.splitlines()


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except OSError:
        return Stamp(-1, -1, -1, -1)
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _newest(files: dict[str, Stamp]) -> int:
    # The time of the last change of content, name or mode: nobody can set it, as installers do with mtime.
    return max(stamp.ctime for stamp in files.values())


def _digest_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file.read())
    except OSError:
        return "none"


def _text(files: dict[str, tuple[Stamp, str]]) -> bytes:
    lines = [f"{' '.join(map(str, stamp))} {text} {path}" for path, (stamp, text) in files.items()]
    return os.fsencode("\n".join(lines))


def _parse(body: bytes) -> dict[str, tuple[Stamp, str]]:
    lines = [line.split(" ", 5) for line in os.fsdecode(body).split("\n") if line]
    return {line[5]: (Stamp(*map(int, line[:4])), line[4]) for line in lines}
