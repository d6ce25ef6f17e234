# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that the benchmarks compile: their MLIR text, without arrays or a device."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import girih as gr
from girih.lang.module import ArraySignature, emit_module

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
from gemm import matmul


@dataclass(frozen=True)
class Kernel:
    """A kernel and one signature of it. ``level`` is the phase it is written in."""

    name: str
    level: str
    mlir: str


def gemm(
    bm: int, bn: int, storage: str = "kn", out: str = "bf16", persistent: bool = True, bk: int = 64
) -> Kernel:
    """The example's GEMM with tiles of bm x bn x bk; B is stored K x N ("kn") or N x K ("nk")."""
    signature = {
        "a": ArraySignature(gr.bf16, 1),
        "b": ArraySignature(gr.bf16, 1 if storage == "kn" else 0),
        "c": ArraySignature(gr.f32 if out == "f32" else gr.bf16, 1),
        "BM": bm,
        "BN": bn,
        "BK": bk,
        "persistent": persistent,
    }
    text = emit_module(matmul.function, matmul.parameters, signature)[0]
    name = f"gemm_{bm}x{bn}x{bk}_{storage}_{out}" + ("_persistent" if persistent else "")
    return Kernel(name, "wg", text)


# Tiles and the ways in which B may be stored for them: a box of a K x N tile is 64 columns wide, and 176
# and 144 are no multiples of it.
TILES = (
    (128, 256, ("kn", "nk")),
    (128, 128, ("kn", "nk")),
    (192, 176, ("nk",)),
    (128, 144, ("nk",)),
)


def gemms() -> Iterator[Kernel]:
    """Every variant of the GEMM that the tests run."""
    for bm, bn, storages in TILES:
        for storage in storages:
            for out in ("bf16", "f32"):
                for persistent in (False, True):
                    yield gemm(bm, bn, storage, out, persistent)
