"""Entries of the cache as files.

An entry is published by a rename after fsync, so a reader finds all of it or nothing; it begins with a
checksum of the rest, so what a disk or a stranger changed is not used; and it is text and an image, never
code for Python. Whatever goes wrong here costs a compilation and a line in the log, not the user's call.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import time

# Not by hashlib, whose import loads OpenSSL and takes longer than reading an entry.
from _blake2 import blake2b  # isort: skip

from girih.log import log

# Changes when the form of an entry does; versions live side by side.
FORMAT = 1
_MAGIC = b"girih-cache %d\n" % FORMAT
_SUFFIX = ".girih"
_DIGEST = 64  # hexadecimal digits
DEFAULT_BYTES = 2 << 30
# A file that is being written when its process dies stays; after so many seconds nobody writes it any more.
_ABANDONED = 3600.0
_LOCKS = 64


@dataclass(frozen=True)
class Entry:
    """What is kept of a compilation: the image and a description as JSON text; ``sources`` has, for each
    function in the image's location table, its name and its number in the order of girih.cache.key."""

    sources: tuple[tuple[str, int], ...]
    report: bytes
    image: bytes


class Damaged(Exception):
    """An entry that is not what was written. The text says why."""


def digest(data: bytes) -> str:
    """64 hexadecimal digits for a text or file."""
    return blake2b(data, digest_size=_DIGEST // 2).hexdigest()


def seal(body: bytes) -> bytes:
    """A file's bytes: what it is and a checksum, then the body."""
    return _MAGIC + digest(body).encode() + b"\n" + body


def unseal(data: bytes) -> bytes:
    """The body of a file. Raises Damaged."""
    start = len(_MAGIC) + _DIGEST + 1
    if not data.startswith(_MAGIC):
        raise Damaged("it does not begin as a file of the cache does")
    body = data[start:]
    if data[len(_MAGIC) : start] != digest(body).encode() + b"\n":
        raise Damaged("its checksum is wrong")
    return body


def pack(key: str, entry: Entry) -> bytes:
    """An entry as the body of its file."""
    head = [f"key {key}", *(f"source {number} {name}" for name, number in entry.sources)]
    head += [f"report {len(entry.report)}", f"image {len(entry.image)}", "\n"]
    return "\n".join(head).encode() + entry.report + entry.image


def unpack(key: str, body: bytes) -> Entry:
    """The entry in a body, which some girih wrote. Raises Damaged for another kernel's."""
    head, _, payload = body.partition(b"\n\n")
    lines = [line.split(" ", 2) for line in head.decode().split("\n")]
    if lines[0] != ["key", key]:
        raise Damaged("it is the entry of another kernel")
    sizes = {line[0]: int(line[1]) for line in lines if line[0] in ("report", "image")}
    sources = tuple((line[2], int(line[1])) for line in lines if line[0] == "source")
    return Entry(sources, payload[: sizes["report"]], payload[sizes["report"] :])


class Store:
    """The entries below one folder. Any number of processes use it at once."""

    def __init__(self, root: str, limit: int = DEFAULT_BYTES) -> None:
        self.root = root
        self.limit = limit
        self.folder = os.path.join(root, f"v{FORMAT}")
        self._usable: bool | None = None
        self._untrimmed = limit  # bytes written since; a process looks after its first entry

    def usable(self) -> bool:
        """Whether there is a folder that nobody else can write to. Says once why it is not used."""
        if self._usable is None:
            self._usable = self._check()
        return self._usable

    def _check(self) -> bool:
        try:
            # The mode is that of the last folder only.
            os.makedirs(self.root, mode=0o700, exist_ok=True)
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
        except OSError as error:
            if not os.path.isdir(self.folder):
                # As where a user has no home: nothing is there to be distrusted.
                log("compile", f"no cache: {self.folder} cannot be made: {error.strerror}")
                return False
        for folder in (self.root, self.folder):
            status = os.stat(folder)
            why = None
            if status.st_uid != os.geteuid():
                why = f"it belongs to user {status.st_uid}; set GIRIH_CACHE_DIR to a folder of your own"
            elif status.st_mode & 0o022:
                why = "others can write to it; chmod go-w it, or set GIRIH_CACHE_DIR"
            if why:
                print(f"girih: {folder} is not used as a cache of kernels: {why}", file=sys.stderr)
                return False
        return True

    def path(self, key: str) -> str:
        """The file of an entry."""
        return os.path.join(self.folder, key + _SUFFIX)

    def read(self, key: str, touch: bool = True) -> Entry | None:
        """The entry, if it is there and whole; it then counts as used now, unless told otherwise."""
        body = self.read_file(key + _SUFFIX)
        if body is None:
            return None
        path = self.path(key)
        try:
            entry = unpack(key, body)
        except (Damaged, ValueError, LookupError) as error:
            log("compile", f"{path} is damaged ({error}): removed")
            _remove(path)
            return None
        try:
            if touch:
                os.utime(path)
        except OSError:  # a folder that may only be read
            pass
        return entry

    def write(self, key: str, entry: Entry) -> bool:
        """Publishes an entry; whether it is there now."""
        if not self.write_file(key + _SUFFIX, pack(key, entry)):
            return False
        # All entries are looked at, so not each time.
        self._untrimmed += len(entry.image) + len(entry.report)
        if self._untrimmed > self.limit // 64:
            self.trim()
            self._untrimmed = 0
        return True

    def read_file(self, name: str) -> bytes | None:
        """The body of a file; None if there is none, and a damaged one is removed."""
        path = os.path.join(self.folder, name)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
                log("compile", f"{path} is not a file of this user's: not used")
                return None
            return unseal(_read_all(file, status.st_size))
        except (OSError, Damaged) as error:
            log("compile", f"{path} is damaged ({error}): removed")
            _remove(path)
            return None
        finally:
            os.close(file)

    def write_file(self, name: str, body: bytes) -> bool:
        """Publishes a file: readers see the old one, or all of the new one."""
        temporary = os.path.join(self.folder, f"new-{os.getpid()}-{os.urandom(6).hex()}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(temporary, flags, 0o600)
            try:
                left = memoryview(seal(body))
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.rename(temporary, os.path.join(self.folder, name))
        except OSError as error:
            _remove(temporary)
            log("compile", f"not kept in {self.folder}: {error.strerror}")
            return False
        return True

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Keeps other processes from compiling the same kernel meanwhile; without effect where the folder may
        only be read. It ends with the process, however that ends."""
        file = -1
        try:
            name = f"lock-{int(key[:4], 16) % _LOCKS:02d}"
            file = os.open(
                os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass
        try:
            yield
        finally:
            if file >= 0:
                # A process forked meanwhile has the file open, too: closing it here would not end the lock.
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)
                os.close(file)

    def entries(self) -> list[tuple[str, int, float]]:
        """Key, bytes and time of last use of each entry, the oldest use first."""
        found = []
        for item in self._files():
            if item.name.endswith(_SUFFIX):
                try:
                    status = item.stat(follow_symlinks=False)
                except OSError:  # another process removed it
                    continue
                found.append((item.name[: -len(_SUFFIX)], status.st_size, status.st_mtime))
        return sorted(found, key=lambda entry: entry[2])

    def trim(self, limit: int | None = None) -> int:
        """Removes the entries that were not used for longest until all fit the limit, and what dead processes
        left; how many entries."""
        limit = self.limit if limit is None else limit
        entries = self.entries()
        for item in self._files():
            if item.name.startswith("new-") and _age(item) > _ABANDONED:
                _remove(item.path)
        total = sum(size for _, size, _ in entries)
        if total <= limit:
            return 0
        removed = 0
        for key, size, _ in entries:
            # Some room, or the next entry would come here again.
            if total <= limit * 9 // 10:
                break
            _remove(self.path(key))
            total -= size
            removed += 1
        return removed

    def _files(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as items:
                return list(items)
        except OSError:
            return []


def _read_all(file: int, size: int) -> bytes:
    data = os.read(file, size)
    while len(data) < size:
        more = os.read(file, size - len(data))
        if not more:
            break
        data += more
    return data


def _age(item: os.DirEntry[str]) -> float:
    try:
        return time() - item.stat().st_mtime
    except OSError:  # another process removed it
        return 0.0


def _remove(path: str) -> None:
    with suppress(OSError):  # another process was first
        os.unlink(path)
