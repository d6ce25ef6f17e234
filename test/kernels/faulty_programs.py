# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with every fault that girih-opt knows to plant: what the protocol checker says of each, and a way to run one on
the emulated device. Everything that a kernel needs of girih-opt is done in one process, once."""

import inspect
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import gemm
import girih as gr
from gemm_support import integers
from girih import _runtime, emulator
from girih.compiler.worker import WORKER
from girih.kernels import (
    attention_ws,
    decode_parts,
    flash_attention,
    grouped_matmul,
    matmul,
    matmul_cooperative,
    matmul_pingpong,
    scaled_matmul,
    split_k_matmul,
    stream_k_matmul,
)

GIRIH_OPT = Path(gr.__file__).parents[2] / "bin" / "girih-opt"
LOWER = (
    "wg-derive-waits,wg-choose-stages,wg-expand-ring-loops,wg-lower-turns,wg-lower-rings,"
    "wg-allocate-shared"
)
FINISH = (
    "wg-lower-roles,convert-wg-to-nvvm,wg-lower-control-flow,convert-scalars-to-nvvm,"
    "reconcile-unrealized-casts,verify-nvvm-phase"
)
NEXT_MODULE = "// -----\n"
PLANTED = re.compile(r"^(.*?):(\d+):\d+: remark: planted ([\w-]+):(\d+): (.*)$", re.MULTILINE)
OK = re.compile(r": remark: the protocol of kernel '\w+' is ok: \d+ runs", re.MULTILINE)


def opt(text: str, device: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """girih-opt over modules, without verification in between, so that faults get through: `before` on the whole module,
    `device` on the device module."""
    pipeline = f"builtin.module({before}gpu.module({device}))"
    command = [GIRIH_OPT, f"--pass-pipeline={pipeline}", "--verify-each=0", "--split-input-file"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def lower(texts: list[str], then: str = "") -> subprocess.CompletedProcess[str]:
    """What a compilation does up to the check of barriers, and `then`."""
    return opt(NEXT_MODULE.join(texts), LOWER + then, "girih-tile-to-wg,wg-collect-records,")


def with_ptx(image: bytes, ptx: bytes) -> bytes:
    """The image with other PTX. It is put behind the rest, and the section's ELF64 header points there."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [table + size * index for index in range(count)]
    (strings,) = struct.unpack_from("<Q", image, headers[names] + 0x18)
    changed = bytearray(image + ptx)
    for header in headers:
        (name,) = struct.unpack_from("<I", image, header)
        if image[strings + name :].startswith(b".girih.ptx\0"):
            struct.pack_into("<QQ", changed, header + 0x18, len(image), len(ptx))
            return bytes(changed)
    raise ValueError("the image has no PTX")


@dataclass(frozen=True)
class Fault:
    """A fault, where it is, and the checker's report on the kernel that has it."""

    kind: str
    number: int
    place: str
    what: str
    report: str

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Place and text of each error of the report."""
        return re.findall(r"^(.*?:\d+):\d+: error: (.*)$", self.report, re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A kernel, arguments for some launches of one signature, and its constants. A launch comes round to each slot more often
    than it has arrivals, so that one too many or too few adds up, and has several tiles a CTA where it is persistent."""

    kernel: Any
    launches: Callable[[], list[tuple[Any, ...]]]
    constants: dict[str, Any]

    @cached_property
    def given(self) -> list[tuple[Any, ...]]:
        return self.launches()

    @cached_property
    def text(self) -> str:
        return self.kernel.emit(*self.given[0], **self.constants)

    @cached_property
    def checked(self) -> tuple[str, list[Fault]]:
        """What the checker says of the kernel as it is, and of every fault in it."""
        done = lower([self.text], ",wg-check-barriers{verdicts},wg-check-faults")
        assert done.returncode == 0, done.stderr
        parts = PLANTED.split(done.stderr)
        rows = [parts[i : i + 6] for i in range(1, len(parts), 6)]
        faults = [Fault(r[2], int(r[3]), f"{r[0]}:{r[1]}", r[4], r[5]) for r in rows]
        return parts[0], faults

    @cached_property
    def sound(self) -> tuple[str, bytes]:
        """The lowered module, and its image."""
        lowered = lower([self.text]).stdout
        reply, blobs = WORKER.request({"id": 1, "mlir": self.text, "emit": ["image"]})
        assert reply["ok"], reply["diagnostics"]
        return lowered, blobs["image"]

    def images(self, faults: list[Fault]) -> list[bytes]:
        """An image for each fault. Only its PTX is that of the faulty kernel: what ptxas makes of it is not run."""
        lowered, sound = self.sound
        texts = [
            re.sub(
                r"^module attributes \{",
                f'module attributes {{wg.fault = "{fault.kind}:{fault.number}", ',
                lowered,
                count=1,
                flags=re.MULTILINE,
            )
            for fault in faults
        ]
        done = opt(NEXT_MODULE.join(texts), f"wg-plant-fault,{FINISH}")
        assert done.returncode == 0, done.stderr
        images = []
        for module in done.stdout.split(NEXT_MODULE):
            reply, blobs = WORKER.request({"id": 1, "mlir": module, "emit": ["ptx"]})
            assert reply["ok"], reply["diagnostics"]
            images.append(with_ptx(sound, blobs["ptx"]))
        return images

    def finds(self, image: bytes, adversary: str, seed: int = 0) -> set[str]:
        """The kinds of what the emulated device finds in the launches."""
        _, first = inspect.getsourcelines(self.kernel.function)
        source = [(self.kernel.__name__, inspect.getfile(self.kernel.function), first)]
        kinds = set()
        for arguments in self.given:
            with emulator.options(seed=seed, adversary=adversary):
                try:
                    _runtime.Program(image, source).launch(list(arguments))
                except gr.DeviceError as error:
                    kinds |= {finding["kind"] for finding in error.findings}
        return kinds


def product(bm: int, bn: int, steps: int = 9) -> Callable[[], list[tuple[Any, ...]]]:
    """A, B and C of five tiles below each other."""
    m, n, k = 5 * bm, bn, steps * 64
    return lambda: [
        (
            gr.asarray(integers((m, k), 1), gr.bf16),
            gr.asarray(integers((k, n), 2), gr.bf16),
            gr.empty((m, n), gr.bf16),
        )
    ]


def heads(d: int, *before: int) -> list[tuple[Any, ...]]:
    """Q, K, V, O and the log-sum-exp: a tile of queries; keys of which the last blocks are seen in part, in numbers after
    which cursors stand differently."""
    launches = []
    for keys in (21 * 64 - 16, 24 * 64 - 16):
        q, k = (*before, 128, d), (*before, keys, d)
        arrays = [gr.asarray(integers(shape, 3) / 8, gr.bf16) for shape in (q, k, k)]
        launches.append((*arrays, gr.empty(q, gr.bf16), gr.empty(q[:-1], gr.f32), d**-0.5))
    return launches


def groups() -> list[tuple[Any, ...]]:
    """Two groups of one tile and a bit."""
    offsets = gr.asarray(np.array([0, 65, 130], np.int32))
    a, b = integers((130, 9 * 64), 1), integers((2, 9 * 64, 64), 2)
    return [(*(gr.asarray(x, gr.bf16) for x in (a, b)), offsets, gr.empty((130, 64), gr.bf16), 65)]


def shares() -> list[tuple[Any, ...]]:
    """Half of the steps for each CTA."""
    ((a, b, c),) = product(64, 64, steps=44)()
    return [(a, b, gr.empty((2, *c.shape), gr.f32))]


def runs_of_steps() -> list[tuple[Any, ...]]:
    """Five tiles for two CTAs."""
    return [(*product(64, 64)()[0], 2)]


def scaled() -> list[tuple[Any, ...]]:
    a, b = (gr.asarray(integers(s, 4), gr.e4m3) for s in ((64, 9 * 64), (9 * 64, 64)))
    scales = (gr.asarray(np.ones(shape, np.float32)) for shape in ((64, 9), (9, 1)))
    return [(a, b, *scales, gr.empty((64, 64), gr.f32))]


def cache() -> list[tuple[Any, ...]]:
    """A sequence in nine pages, in one share; the table has room for one more, which a faulty loop may look at."""
    q = gr.asarray(integers((1, 1, 16, 128), 5) / 8, gr.bf16)
    keys = gr.asarray(integers((9, 1, 64, 128), 6) / 8, gr.bf16)
    pages, lengths = np.arange(10, dtype=np.int32)[None] % 9, np.array([9 * 64 - 5], np.int32)
    parts = gr.empty((1, 1, 1, 16, 128), gr.f32)
    sums = [gr.empty((1, 1, 1, 16), gr.f32) for _ in range(2)]
    return [(q, keys, keys, gr.asarray(pages), gr.asarray(lengths), parts, *sums, 0.1)]


PROGRAMS = {
    "gemm": Program(gemm.matmul, product(128, 128), {"BM": 128, "BN": 128, "BK": 64}),
    "cooperative-cluster": Program(
        matmul_cooperative, product(128, 128), {"BM": 128, "BN": 128, "cluster": 2}
    ),
    "pingpong": Program(matmul_pingpong, product(64, 128), {"BM": 64, "BN": 128}),
    "pingpong-cluster": Program(
        matmul_pingpong, product(64, 128), {"BM": 64, "BN": 128, "cluster": 2}
    ),
    "attention-64": Program(attention_ws, lambda: heads(64, 1), {"D": 64, "BN": 64}),
    "attention-64-causal": Program(
        attention_ws, lambda: heads(64, 1), {"D": 64, "BN": 32, "causal": True}
    ),
    "attention-128": Program(attention_ws, lambda: heads(128, 1), {"D": 128, "BN": 64}),
    "attention-128-causal": Program(
        attention_ws, lambda: heads(128, 1), {"D": 128, "BN": 32, "causal": True}
    ),
    "flash-64-causal": Program(
        flash_attention, lambda: heads(64, 1, 1), {"D": 64, "BN": 32, "causal": True}
    ),
    "flash-128-causal": Program(
        flash_attention, lambda: heads(128, 1, 1), {"D": 128, "BN": 32, "causal": True}
    ),
    "tile-matmul": Program(matmul, product(128, 128), {"BM": 128, "BN": 128}),
    "grouped": Program(grouped_matmul, groups, {"BM": 64, "BN": 64}),
    "split-k": Program(split_k_matmul, shares, {"BM": 64, "BN": 64}),
    "stream-k": Program(stream_k_matmul, runs_of_steps, {"BM": 64, "BN": 64, "BK": 32}),
    "scaled": Program(scaled_matmul, scaled, {"BM": 64, "BN": 64, "BK": 64}),
    "decode": Program(decode_parts, cache, {}),
}
