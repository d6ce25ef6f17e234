# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that the benchmarks compile: their MLIR text, without arrays or a device."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import girih as gr
from girih import kernels
from girih.kernels import attention_ws, flash_attention, matmul_cooperative, matmul_pingpong
from girih.kernels.products import matmul as tile_level_matmul
from girih.lang.annotations import ArrayAnnotation
from girih.lang.module import ArraySignature, emit_module
from girih.lang.passed import as_constant

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
import gemm as example


@dataclass(frozen=True)
class Kernel:
    """A kernel and one signature of it. ``level`` is the phase it is written in."""

    name: str
    level: str
    emit: Callable[[], str]

    @cached_property
    def mlir(self) -> str:
        """The module's text."""
        return self.emit()


def _emitting(kernel: Any, signature: dict[str, Any]) -> Callable[[], str]:
    """What emits a kernel for a signature, when it is asked to."""
    return lambda: emit_module(kernel.definition, kernel.parameters, signature)[0]


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
    name = f"gemm_{bm}x{bn}x{bk}_{storage}_{out}" + ("_persistent" if persistent else "")
    return Kernel(name, "wg", _emitting(example.matmul, signature))


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
    details = f"_cluster{cluster}" if cluster > 1 else ""
    name = f"{kernel.__name__}_{bm}x{bn}x64_{storage}_{out}{details}"
    return Kernel(name, "wg", _emitting(kernel, signature))


def matmuls() -> Iterator[Kernel]:
    """The products of girih.kernels."""
    for kernel, tiles in (
        (matmul_cooperative, ((128, 256), (256, 128))),
        (matmul_pingpong, ((64, 256), (128, 128))),
    ):
        for bm, bn in tiles:
            yield matmul(kernel, bm, bn)
            yield matmul(kernel, bm, bn, cluster=2)


def tile_matmul(
    bm: int,
    bn: int,
    storage: str = "kn",
    out: str = "bf16",
    roles: str | None = None,
    cluster: int = 1,
) -> Kernel:
    """The product of girih.kernels at tile level, whose hand-written twin is the example's persistent GEMM; with
    roles="pingpong" it is ``matmul_pingpong``."""
    signature = {
        **_product(bm, bn, storage, out),
        "BK": 64,
    }
    hinted = gr.kernel(roles=roles, cluster=(cluster, 1))(tile_level_matmul.function)
    details = (f"_{roles}" if roles else "") + (f"_cluster{cluster}" if cluster > 1 else "")
    name = f"tile_matmul_{bm}x{bn}x64_{storage}_{out}{details}"
    return Kernel(name, "tile", _emitting(hinted, signature))


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
    name = f"tile_attention_{d}{'_causal' if causal else ''}"
    return Kernel(name, "tile", _emitting(flash_attention, signature))


def tile_level() -> Iterator[Kernel]:
    """Kernels whose roles, rings and waits come from passes."""
    for bm, bn in ((128, 256), (128, 128), (64, 256), (192, 128)):
        for storage in ("kn", "nk"):
            yield tile_matmul(bm, bn, storage)
    for bm, bn in ((64, 256), (128, 128)):
        for cluster in (1, 2):
            yield tile_matmul(bm, bn, roles="pingpong", cluster=cluster)
    for d in (64, 128):
        for causal in (False, True):
            yield tile_attention(d, causal)


def attention(d: int, causal: bool) -> Kernel:
    """The attention of girih.kernels for heads of d, in blocks of 128 queries by 128 keys."""
    heads = ArraySignature(gr.bf16, rank=3, contiguous=2, aligned=True)
    signature = {"q": heads, "k": heads, "v": heads, "o": heads, "lse": _matrix(gr.f32, 1)}
    signature |= {"D": d, "BM": 128, "BN": 128, "causal": causal}
    name = f"attention_ws_d{d}" + ("_causal" if causal else "")
    return Kernel(name, "wg", _emitting(attention_ws, signature))


def attentions() -> Iterator[Kernel]:
    """Heads of 64 and 128, causal or not."""
    for d in (64, 128):
        for causal in (False, True):
            yield attention(d, causal)


def as_it_is(kernel: Any, *dtypes: gr.DType, level: str = "tile", **constants: Any) -> Kernel:
    """A kernel with its own constants but for those named here; arrays by rows, of these types in the order of the
    parameters."""
    signature: dict[str, Any] = {
        name: parameter.default
        for name, parameter in inspect.signature(kernel.function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    signature |= {name: as_constant(value) for name, value in constants.items()}
    arrays = [p for p in kernel.parameters if isinstance(p.annotation, ArrayAnnotation)]
    for parameter, dtype in zip(arrays, dtypes, strict=True):
        rank = len(parameter.annotation.dims)
        signature[parameter.name] = ArraySignature(dtype, rank, contiguous=rank - 1, aligned=True)
    details = [dtypes[0].name]
    details += [
        name if value is True else f"{name}_{getattr(value, '__name__', value)}"
        for name, value in constants.items()
    ]
    return Kernel("_".join([kernel.__name__, *details]), level, _emitting(kernel, signature))


def window(score: Any, row: Any, column: Any) -> Any:
    """Keys further away than 32 are hidden."""
    return gr.where(row - column <= 32, score, float("-inf"))


def library() -> Iterator[Kernel]:
    """Every other kernel of girih.kernels, for bf16 where there is a choice."""
    b, f, i = gr.bf16, gr.f32, gr.i32
    for kernel, *dtypes in (
        (kernels.vector_add, f, f, f),
        (kernels.saxpy, f, f),
        (kernels.transpose, b, b),
        (kernels.softmax, b, b),
        (kernels.softmax, f, f),
        (kernels.layer_norm, b, b, b, b),
        (kernels.rms_norm, b, b, b),
        (kernels.row_sum, b, f),
        (kernels.row_argmax, b, b, i),
        (kernels.row_cumsum, b, b),
        (kernels.histogram, i, i),
        (kernels.embedding, b, i, b),
        (kernels.dropout, b, b),
        (kernels.linear, b, b, b, b),
        (kernels.batched_matmul, b, b, b),
        (kernels.split_k_matmul, b, b, f),
        (kernels.sum_parts, f, b),
        (kernels.stream_k_matmul, b, b, b),
        (kernels.grouped_matmul, b, b, i, b),
        (kernels.scaled_matmul, gr.e4m3, gr.e4m3, f, f, f),
        (kernels.scaled_matmul, gr.e5m2, gr.e5m2, f, f, b),
        (kernels.decode_parts, b, b, b, i, i, f, f, f),
        (kernels.merge_parts, f, f, f, b),
    ):
        yield as_it_is(kernel, *dtypes)
    yield as_it_is(kernels.flash_attention, b, b, b, b, f, causal=True, score=window)


def all_kernels() -> Iterator[Kernel]:
    """Everything that is compiled for its own sake."""
    yield from gemms()
    yield from matmuls()
    yield from tile_level()
    yield from attentions()
    yield from library()


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
