"""The architecture that kernels are compiled for."""

from __future__ import annotations

import os


def architecture() -> str:
    """GIRIH_ARCH, or the one that girih generates code for; the compiler refuses others by name."""
    return os.environ.get("GIRIH_ARCH") or "sm_90a"
