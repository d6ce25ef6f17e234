"""Why a kernel is compiled again: what differs from the entries of the same kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence

from girih.cache.store import Store

Parts = Sequence[tuple[str, str]]


def why_compiled(store: Store, kernel: str, parts: Parts) -> str:
    """The difference to the entry that is most like it, in words. Reads all entries: for the log only."""
    best: list[str] | None = None
    for key, _, _ in store.entries():
        entry = store.read(key, touch=False)
        report = json.loads(entry.report) if entry is not None else {}
        if report.get("kernel") != kernel:
            continue
        changes = difference(report["parts"], parts)
        if best is None or len(changes) <= len(best):
            best = changes
    if best is None:
        return "no kernel of this name is in the cache"
    return "; ".join(best) if best else "its entry was damaged or removed"


def difference(before: Parts, now: Parts) -> list[str]:
    """Each input that is new, gone or another."""
    old, new = dict(before), dict(now)
    changes = [f"{label} changed" for label in new if label in old and old[label] != new[label]]
    changes += [f"{label} is new" for label in new if label not in old]
    changes += [f"{label} is gone" for label in old if label not in new]
    return changes
