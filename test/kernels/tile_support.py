"""Kernels on tiles in registers, written at wg level in MLIR: a body, its arrays, and what runs it.

Nothing of the language stands between the text and the launch, so a layout in a test is the layout that the conversion sees.
Compiling fails if ptxas says anything, or if there is a stack or a spill; running fails at anything the emulated device finds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import girih
from girih.compiler.client import compile_module

LANES = "[0,0],[0,0],[0,0],[0,0],[0,0]"
# Which element each thread holds: rows of 32 lanes of 4, then warps, then registers downwards.
FLAT = (
    "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,32],[0,64]], warp: [[0,128],[0,256]]}"
)


@dataclass(frozen=True)
class ArrayOf:
    """A parameter: `dtype` as MLIR spells it; `align` in bytes, of the address and of strides other than 1."""

    name: str
    dtype: str
    rank: int = 1
    contiguous: int | None = -1
    align: int = 0
    access: str = "in"

    @property
    def contiguous_dim(self) -> int | None:
        return None if self.contiguous is None else self.contiguous % self.rank

    @property
    def view(self) -> str:
        parts = [self.dtype, f"rank = {self.rank}"]
        if self.contiguous_dim is not None:
            parts.append(f"contiguous = {self.contiguous_dim}")
        if self.align:
            parts.append(f"align = {self.align}")
        return f"!tile.view<{', '.join(parts)}>"

    @property
    def array(self) -> str:
        parts = [self.dtype, f"rank = {self.rank}"]
        if self.contiguous_dim is not None:
            parts.append(f"contiguous = {self.contiguous_dim}")
        if self.align == 16:
            parts.append("aligned")
        return f"!plan.array<{', '.join([*parts, self.access])}>"


def module(
    body: str,
    arrays: list[ArrayOf],
    scalars: dict[str, str] | None = None,
    *,
    definitions: str = "",
    warps: int = 4,
    grid: str = "%one, %one, %one",
    plan: str = "",
) -> str:
    """A module of one kernel. In `body` every array is a view %NAME, every scalar %NAME; i32 constants %c0 to %c9 are there.

    With `warps` None the body has its own wg.specialize.
    """
    scalars = scalars or {}
    parameters, arguments, host, launched, views = [], [], [], [], []
    for a in arrays:
        dims = range(a.rank)
        parameters += [f"%{a.name}_p: !llvm.ptr<1>"]
        parameters += [f"%{a.name}_n{d}: i32" for d in dims]
        parameters += [f"%{a.name}_s{d}: i64" for d in dims]
        host.append(f"%{a.name}: {a.array}")
        for d in dims:
            plan += f"  %{a.name}_n{d}_l = plan.dim %{a.name}[{d}] : {a.array}\n"
            plan += f"  %{a.name}_n{d} = arith.trunci %{a.name}_n{d}_l : i64 to i32\n"
            plan += f"  %{a.name}_s{d} = plan.stride %{a.name}[{d}] : {a.array}\n"
        arguments += [f"%{a.name}", *(f"%{a.name}_n{d}" for d in dims)]
        arguments += [f"%{a.name}_s{d}" for d in dims]
        launched += [a.array, *("i32" for _ in dims), *("i64" for _ in dims)]
        extents = ", ".join(f"%{a.name}_n{d}" for d in dims)
        strides = ", ".join(f"%{a.name}_s{d}" for d in dims)
        views.append(f"%{a.name} = tile.view %{a.name}_p[{extents}] strides({strides}) : {a.view}")
    for name, kind in scalars.items():
        parameters.append(f"%{name}: {kind}")
        host.append(f"%{name}: {kind}")
        arguments.append(f"%{name}")
        launched.append(kind)
    names = ", ".join(f'"{n}"' for n in [*(a.name for a in arrays), *scalars])
    size = f"known_block_size = array<i32: {32 * warps}, 1, 1>" if warps else ""
    constants = "\n    ".join(f"%c{i} = arith.constant {i} : i32" for i in range(10))
    newline = "\n    "
    return f"""
{definitions}
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {{
  gpu.func @f({", ".join(parameters)}) kernel {f"attributes {{{size}}}" if size else ""} {{
    {constants}
    {newline.join(views)}
    {body}
    gpu.return
  }}
}}
plan.host @f({", ".join(host)}) attributes {{arg_names = [{names}]}} {{
  %one = arith.constant 1 : i64
{plan}
  plan.launch @device::@f grid({grid}) args({", ".join(arguments)}) : {", ".join(launched)}
}}
"""


@functools.cache
def compiled(text: str):
    return compile_module("f", text, {})


def run(text: str, *arguments) -> None:
    """Compiles (once) and launches."""
    compiled(text).launch(list(arguments))
    girih.device.synchronize()
