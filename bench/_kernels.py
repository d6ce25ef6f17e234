# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that the benchmarks compile: their MLIR text, without arrays or a device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import girih as gr
from girih.kernels import attention_ws, flash_attention, matmul_cooperative, matmul_pingpong
from girih.kernels.products import matmul as tile_level_matmul
from girih.lang.module import ArraySignature, emit_module

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
import gemm as example


@dataclass(frozen=True)
class Kernel:
    """A kernel and one signature of it. ``level`` is the phase it is written in."""

    name: str
    level: str
    mlir: str


def _matrix(dtype: gr.DType, contiguous: int) -> ArraySignature:
    return ArraySignature(dtype, rank=2, contiguous=contiguous, aligned=True)


def _product(bm: int, bn: int, storage: str, out: str) -> dict[str, Any]:
    """What the signatures of all products have in common."""
    return {
        "a": _matrix(gr.bf16, 1),
        "b": _matrix(gr.bf16, 1 if storage == "kn" else 0),
        "c": _matrix(gr.f32 if out == "f32" else gr.bf16, 1),
        "BM": bm,
        "BN": bn,
    }


def gemm(
    bm: int, bn: int, storage: str = "kn", out: str = "bf16", persistent: bool = True, bk: int = 64
) -> Kernel:
    """The example's GEMM with tiles of bm x bn x bk; B is stored K x N ("kn") or N x K ("nk")."""
    signature = {
        **_product(bm, bn, storage, out),
        "BK": bk,
        "persistent": persistent,
    }
    text = emit_module(example.matmul.definition, example.matmul.parameters, signature)[0]
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


def matmul(
    kernel: Any, bm: int, bn: int, storage: str = "kn", out: str = "bf16", cluster: int = 1
) -> Kernel:
    """A product of girih.kernels with tiles of bm x bn x 64."""
    signature = {
        **_product(bm, bn, storage, out),
        "BK": 64,
        "cluster": cluster,
    }
    text = emit_module(kernel.definition, kernel.parameters, signature)[0]
    details = f"_cluster{cluster}" if cluster > 1 else ""
    return Kernel(f"{kernel.__name__}_{bm}x{bn}x64_{storage}_{out}{details}", "wg", text)


def matmuls() -> Iterator[Kernel]:
    """The products of girih.kernels."""
    for kernel, tiles in (
        (matmul_cooperative, ((128, 256), (256, 128))),
        (matmul_pingpong, ((64, 256), (128, 128))),
    ):
        for bm, bn in tiles:
            yield matmul(kernel, bm, bn)
            yield matmul(kernel, bm, bn, cluster=2)


def tile_matmul(bm: int, bn: int, storage: str = "kn", out: str = "bf16") -> Kernel:
    """The product of girih.kernels at tile level, whose hand-written twin is the example's persistent GEMM."""
    signature = {
        **_product(bm, bn, storage, out),
        "BK": 64,
    }
    text = emit_module(tile_level_matmul.definition, tile_level_matmul.parameters, signature)[0]
    return Kernel(f"tile_matmul_{bm}x{bn}x64_{storage}_{out}", "tile", text)


def tile_attention(d: int, causal: bool = False) -> Kernel:
    """Attention forward of girih.kernels at tile level, blocks of 128 x 128."""
    rows = ArraySignature(gr.bf16, rank=4, contiguous=3, aligned=True)
    signature = {
        **dict.fromkeys("qkvo", rows),
        "lse": ArraySignature(gr.f32, rank=3, contiguous=2, aligned=True),
        "causal": causal,
        "score": None,
        "D": d,
        "BM": 128,
        "BN": 128,
    }
    text = emit_module(flash_attention.definition, flash_attention.parameters, signature)[0]
    return Kernel(f"tile_attention_{d}{'_causal' if causal else ''}", "tile", text)


def tile_level() -> Iterator[Kernel]:
    """Kernels whose roles, rings and waits come from passes."""
    for bm, bn in ((128, 256), (128, 128), (64, 256), (192, 128)):
        for storage in ("kn", "nk"):
            yield tile_matmul(bm, bn, storage)
    for d in (64, 128):
        for causal in (False, True):
            yield tile_attention(d, causal)


def attention(d: int, causal: bool) -> Kernel:
    """The attention of girih.kernels for heads of d, in blocks of 128 queries by 128 keys."""
    heads = ArraySignature(gr.bf16, rank=3, contiguous=2, aligned=True)
    signature = {"q": heads, "k": heads, "v": heads, "o": heads, "lse": _matrix(gr.f32, 1)}
    signature |= {"D": d, "BM": 128, "BN": 128, "causal": causal}
    text = emit_module(attention_ws.definition, attention_ws.parameters, signature)[0]
    return Kernel(f"attention_ws_d{d}" + ("_causal" if causal else ""), "wg", text)


def attentions() -> Iterator[Kernel]:
    """Heads of 64 and 128, causal or not."""
    for d in (64, 128):
        for causal in (False, True):
            yield attention(d, causal)


def all_kernels() -> Iterator[Kernel]:
    """Everything that is compiled for its own sake."""
    yield from gemms()
    yield from matmuls()
    yield from tile_level()
    yield from attentions()


def compiled_kernels() -> Iterator[Callable[[], Kernel]]:
    """What the benchmark of compilations compiles, as functions that emit it from its Python source: a GEMM for each
    tile, and each other kind of kernel once."""
    for bm, bn, storages in TILES:
        yield partial(gemm, bm, bn, storages[0])
    yield partial(matmul, matmul_cooperative, 128, 256, cluster=2)
    yield partial(matmul, matmul_pingpong, 64, 256)
    for bm, bn in ((128, 256), (128, 128)):
        yield partial(tile_matmul, bm, bn)
    for d in (64, 128):
        for causal in (False, True):
            yield partial(attention, d, causal)
            yield partial(tile_attention, d, causal)
