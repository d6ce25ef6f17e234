"""Scratch memory of a launch: an array that belongs to no caller, for what CTAs hand to each other."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from girih.dtypes import DType, b1, i32, i64
from girih.lang import elementwise
from girih.lang.builtin import builtin
from girih.lang.casts import cast
from girih.lang.hostplan import WORKSPACE, HostExpression
from girih.lang.scalars import to_scalar
from girih.lang.values import Scalar
from girih.lang.views import View

if TYPE_CHECKING:
    from girih.lang.context import Context

# The most dimensions that an array has.
_MAX_RANK = 5


class Workspace(View):
    """An array in the host plan's workspace, row-major."""

    def __init__(self, cx: Context, extents: list[Scalar | int], dtype: DType, zero: bool) -> None:
        self.label = cx.naming or "the workspace"
        self.dtype_ = dtype
        self.rank = len(extents)
        self.contiguous = self.rank - 1
        self.access = "inout"
        self.extents = tuple(to_scalar(cx, extent, i32) for extent in extents)
        size: HostExpression | int = dtype.bytes
        for extent in extents:
            host = extent.host if isinstance(extent, Scalar) else extent
            assert host is not None
            size = HostExpression("arith.muli", (size, host))
        memory = cx.plan.workspace(size, zero=zero)
        pointer = cx.device_argument(f"workspace.{memory[1:]}", "!llvm.ptr<1>", memory, WORKSPACE)
        strides = [Scalar(cx.constant(1, i64), i64)]
        for scalar in reversed(self.extents[1:]):
            wide = cast(cx, scalar, i64)
            strides.insert(0, elementwise.binary(cx, ast.Mult(), wide, strides[0]))
        # The host aligns the start; rows may begin anywhere.
        self.align = 16 if self.rank == 1 else dtype.bytes
        names = ", ".join(scalar.name for scalar in self.extents)
        steps = ", ".join(stride.name for stride in strides)
        self.name = cx.builder.op(
            f"tile.view {pointer}[{names}] strides({steps}) : {self.view_type}", "workspace"
        )

    def describe(self) -> str:
        return f"a workspace of {self.dtype_.name}"

    def view_name(self, cx: Context) -> str:
        return self.name

    def extent_of(self, cx: Context, dim: int) -> Scalar:
        return self.extents[dim]


@builtin("gr.workspace")
def workspace(cx: Context, shape: object, dtype: object, zero: bool = False) -> Workspace:
    """An array for this launch alone, that no caller sees: unset, or with ``zero`` cleared before the launch. Its
    extents are what the host knows, as the counts of ``gr.tiles``."""
    extents = list(shape) if isinstance(shape, tuple) else [shape]
    if cx.in_control_flow():
        cx.fail(
            "gr.workspace allocates once for the launch",
            expected="a statement outside loops, branches and roles",
            found="one inside",
        )
    if not 1 <= len(extents) <= _MAX_RANK:
        cx.fail(
            "a workspace is an array",
            expected=f"a shape of 1 to {_MAX_RANK} extents",
            found=cx.describe(shape),
        )
    for extent in extents:
        constant = type(extent) is int and 0 <= extent < 1 << 31
        if not constant and not (isinstance(extent, Scalar) and extent.host is not None):
            cx.fail(
                "the extents of a workspace are computed on the host, before the kernel runs",
                expected="constants, extents of parameters, integer parameters, and + - * // % of them",
                found=cx.describe(extent),
            )
    if not isinstance(dtype, DType) or dtype == b1:
        cx.fail("a workspace holds numbers", expected="gr.f32, …", found=cx.describe(dtype))
    if type(zero) is not bool:
        cx.fail("zero is True or False", found=cx.describe(zero))
    return Workspace(cx, extents, dtype, zero)
