"""``girih-cache``: looks after the cache of compiled kernels."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime

from girih.cache.kernels import folder, limit, parse_size, store
from girih.cache.store import Store
from girih.errors import GirihError


def list_entries(store: Store) -> int:
    """Prints a line per entry, the last used first."""
    total = 0
    entries = store.entries()
    for key, size, used in reversed(entries):
        entry = store.read(key, touch=False)
        if entry is None:
            continue
        total += size
        report = json.loads(entry.report)
        when = datetime.fromtimestamp(used).isoformat(" ", "minutes")
        print(
            f"{key[:16]}  {when}  {size / 1024:8.0f} KiB  {report['arch']}  "
            f"{report['kernel']}({report['arguments']})"
        )
    print(
        f"{len(entries)} kernels, {total / 2**20:.1f} of {store.limit / 2**20:.0f} MiB in {store.root}"
    )
    return 0


def verify(store: Store) -> int:
    """Reads every entry; damaged ones are removed. 1 if there were any."""
    entries = store.entries()
    damaged = [key for key, _, _ in entries if store.read(key, touch=False) is None]
    for key in damaged:
        print(f"{key[:16]} was damaged and is removed")
    print(f"{len(entries) - len(damaged)} of {len(entries)} entries are whole")
    return 1 if damaged else 0


def prune(store: Store, size: int) -> int:
    """Removes the entries that were not used for longest until the rest fit ``size`` bytes."""
    removed = store.trim(size)
    left = store.entries()
    print(f"{removed} removed, {len(left)} left ({sum(s for _, s, _ in left) / 2**20:.1f} MiB)")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its result is the exit status."""
    parser = argparse.ArgumentParser(
        prog="girih-cache", description="Looks after the cache of compiled kernels (docs/Cache.md)."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("path", help="print the folder")
    commands.add_parser("list", help="print the entries, the last used first")
    commands.add_parser("verify", help="read every entry and remove damaged ones (status 1 if any)")
    pruning = commands.add_parser("prune", help="remove the entries that were not used for longest")
    pruning.add_argument(
        "--size", default=None, help="what may stay, as in 512M (default: GIRIH_CACHE_SIZE or 2G)"
    )
    pruning.add_argument("--all", action="store_true", help="remove everything")
    options = parser.parse_args(arguments)
    try:
        if options.command == "path":
            print(folder())
            return 0
        if not store().usable():
            return 2
        if options.command == "list":
            return list_entries(store())
        if options.command == "verify":
            return verify(store())
        if options.all:
            return prune(store(), 0)
        return prune(store(), parse_size(options.size, "--size") if options.size else limit())
    except GirihError as error:
        print(f"girih-cache: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
