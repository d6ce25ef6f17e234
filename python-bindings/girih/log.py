"""``GIRIH_LOG``: what girih says on stderr about its own work, by topic (``GIRIH_LOG=compile``)."""

from __future__ import annotations

import os
import sys


def logs(topic: str) -> bool:
    """Whether the user asked for a topic. The topics of Python are named; the driver's has the value 1."""
    return topic in os.environ.get("GIRIH_LOG", "").split(",")


def log(topic: str, text: str) -> None:
    """Says a line if the user asked for the topic."""
    if logs(topic):
        print(f"girih: {topic}: {text}", file=sys.stderr)
