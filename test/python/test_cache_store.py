"""The cache's files: whole or not there, whatever happens to them."""

import fcntl
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from girih.cache.store import Damaged, Entry, Store, pack, seal, unpack, unseal

KEY = "ab" * 32
OTHER = "cd" * 32
ENTRY = Entry((("matmul", 0), ("helper.2", 1)), b'{"kernel": "matmul"}', bytes(range(256)) * 9)


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path / "cache"))
    assert store.usable()
    return store


def path(store, key):
    """The file of an entry."""
    return Path(store.path(key))


def test_an_entry_comes_back_as_it_was(store):
    assert store.read(KEY) is None
    assert store.write(KEY, ENTRY)
    assert store.read(KEY) == ENTRY
    assert store.read(OTHER) is None


def test_folders_and_files_are_the_user_s_alone(store):
    store.write(KEY, ENTRY)
    assert os.stat(store.folder).st_mode & 0o777 == 0o700
    assert path(store, KEY).stat().st_mode & 0o777 == 0o600


def test_every_flipped_bit_and_every_truncation_is_seen(store, capsys, monkeypatch):
    """All of the head, and a sample of the rest."""
    monkeypatch.setenv("GIRIH_LOG", "compile")
    store.write(KEY, ENTRY)
    good = path(store, KEY).read_bytes()
    choose = random.Random(1)
    bits = [*range(8 * 200), *(choose.randrange(8 * len(good)) for _ in range(300))]
    for bit in bits:
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        path(store, KEY).write_bytes(bad)
        assert store.read(KEY) is None, bit
        assert not path(store, KEY).exists()
    for size in [*range(150), len(good) - 1]:
        path(store, KEY).write_bytes(good[:size])
        assert store.read(KEY) is None, size
    path(store, KEY).write_bytes(good + b"x")
    assert store.read(KEY) is None
    text = capsys.readouterr().err
    assert "is damaged (its checksum is wrong): removed" in text
    assert "is damaged (it does not begin as a file of the cache does): removed" in text


def test_an_entry_under_another_key_is_not_taken(store):
    store.write(KEY, ENTRY)
    os.rename(path(store, KEY), path(store, OTHER))
    assert store.read(OTHER) is None


def test_random_bodies_raise_nothing_but_damaged():
    """Also with a right checksum: a file from a version that this one does not know."""
    choose = random.Random(2)
    for _ in range(2000):
        body = bytearray(pack(KEY, ENTRY))
        for _ in range(choose.randrange(1, 6)):
            body[choose.randrange(140)] = choose.randrange(256)
        with suppress(Damaged, ValueError, LookupError):
            unpack(KEY, unseal(seal(bytes(body))))


def test_links_and_other_things_are_not_read(store, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(seal(pack(KEY, ENTRY)))
    path(store, KEY).symlink_to(outside)
    assert store.read(KEY) is None
    path(store, KEY).unlink()
    os.mkfifo(path(store, KEY))
    assert store.read(KEY) is None
    path(store, KEY).unlink()
    path(store, KEY).mkdir()
    assert store.read(KEY) is None
    assert not store.write(KEY, ENTRY)


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, capsys):
    root = tmp_path / "cache"
    root.mkdir()
    root.chmod(0o777)
    store = Store(str(root))
    assert not store.usable() and not store.usable()
    assert capsys.readouterr().err == (
        f"girih: {root} is not used as a cache of kernels: others can write to it; chmod go-w it, or set "
        "GIRIH_CACHE_DIR\n"
    )


def test_a_folder_of_another_user_is_not_used(tmp_path, capsys, monkeypatch):
    root = tmp_path / "cache"
    root.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: root.stat().st_uid + 1)
    assert not Store(str(root)).usable()
    assert "it belongs to user" in capsys.readouterr().err


def test_a_file_of_another_user_is_not_used(store, monkeypatch):
    store.write(KEY, ENTRY)
    monkeypatch.setattr(os, "geteuid", lambda: path(store, KEY).stat().st_uid + 1)
    assert store.read(KEY) is None


def test_where_no_folder_can_be_made_there_is_no_cache(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert not Store(str(tmp_path / "file" / "cache")).usable()
    assert capsys.readouterr().err == ""


def test_a_full_disk_costs_the_entry_only(store, monkeypatch, capsys):
    def full(file, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("GIRIH_LOG", "compile")
    monkeypatch.setattr(os, "write", full)
    assert not store.write(KEY, ENTRY)
    assert "No space left on device" in capsys.readouterr().err
    monkeypatch.undo()
    assert os.listdir(store.folder) == []
    assert store.write(KEY, ENTRY)


def test_a_write_that_takes_part_goes_on(store, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:100]))
    assert store.write(KEY, ENTRY)
    assert store.read(KEY) == ENTRY


def test_a_read_only_folder_serves_and_does_not_keep(store, monkeypatch):
    """Simulated: the tests may run as root, for whom every folder can be written."""
    store.write(KEY, ENTRY)
    monkeypatch.setattr(os, "utime", _refuse)
    real = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, flags, *mode: _refuse() if flags & os.O_CREAT else real(path, flags),
    )
    assert store.read(KEY) == ENTRY
    assert not store.write(OTHER, ENTRY)
    with store.lock(KEY):
        pass


def _refuse(*arguments):
    raise PermissionError(30, "Read-only file system")


def test_a_lock_ends_though_a_process_forked_meanwhile_lives_on(store):
    with store.lock(KEY):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        (name,) = (name for name in os.listdir(store.folder) if name.startswith("lock-"))
        with open(os.path.join(store.folder, name)) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    size = len(seal(pack("00" * 32, ENTRY)))
    store = Store(str(tmp_path / "cache"), limit=10 * size)
    assert store.usable()
    keys = [f"{number:02x}" * 32 for number in range(12)]
    for age, key in enumerate(keys[:10]):
        store.write(key, ENTRY)
        os.utime(store.path(key), (1000 + age, 1000 + age))
    assert store.read(keys[0]) == ENTRY  # counts as used now
    store.write(keys[10], ENTRY)
    left = {key for key, _, _ in store.entries()}
    assert left == {keys[0], *keys[3:11]}


def test_what_dead_processes_left_is_removed(store):
    old, fresh = Path(store.folder) / "new-1-aa", Path(store.folder) / "new-2-bb"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    store.write(KEY, ENTRY)
    assert not old.exists() and fresh.exists()


def write_forever(root, seed):
    """A process among others: reads, writes and removes a few entries until it is killed."""
    store = Store(str(root), limit=200_000)
    choose = random.Random(seed)
    while store.usable():
        key = f"{choose.randrange(8):02x}" * 32
        image = key.encode() * 500
        with store.lock(key):
            entry = store.read(key)
            if entry is None:
                store.write(key, Entry(((key, 0),), key.encode(), image))
            elif (entry.image, entry.report) != (image, key.encode()):
                return
        if choose.random() < 0.3:
            with suppress(OSError):
                os.unlink(store.path(key))


def fork(root, seed):
    """A child that writes until it is killed; it ends by itself only if it finds something wrong."""
    child = os.fork()
    if child == 0:
        try:
            write_forever(root, seed)
        finally:
            os._exit(3)
    return child


def test_processes_killed_at_any_moment_leave_nothing_wrong(tmp_path):
    """Fifty kill -9 (GIRIH_TEST_KILLS for more) among writers of the same few entries."""
    kills = int(os.environ.get("GIRIH_TEST_KILLS", "50"))
    choose = random.Random(3)
    root = tmp_path / "cache"
    running = [fork(root, seed) for seed in range(4)]
    try:
        for seed in range(4, 4 + kills):
            which = choose.randrange(len(running))
            time.sleep(choose.random() * 0.02)
            os.kill(running[which], signal.SIGKILL)
            _, status = os.waitpid(running[which], 0)
            assert os.WIFSIGNALED(status), "a process found another kernel's entry"
            running[which] = fork(root, seed)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    store = Store(str(root))
    assert store.usable() and store.entries()
    for key, _, _ in store.entries():
        entry = store.read(key)
        assert entry is not None and entry.image == key.encode() * 500
