# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver that does nothing (NoopDriver.c), in front of any other."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def noop_environment() -> dict[str, str]:
    """What a process needs in its environment to run on it."""
    import girih._runtime

    folder = Path(girih._runtime.__file__).absolute().parents[2] / "bench"
    if not (folder / "libcuda.so.1").exists():
        sys.exit(f"{folder}/libcuda.so.1 is missing: ./dev build")
    return {
        "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        "GIRIH_DEVICE": "cuda",
        "GIRIH_BENCH": str(folder),
    }
