"""Kernel parameters that are arrays, and what the device function and the host plan know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.dtypes import DType, i32, i64
from girih.lang.builder import symbol
from girih.lang.hostplan import HostExpression
from girih.lang.values import Scalar, attribute
from girih.lang.views import View

if TYPE_CHECKING:
    from girih.lang.context import Context

# The tensor map's limit on each box dimension (CUDA driver API, cuTensorMapEncodeTiled).
MAX_BOX = 256


def buffer_type(shape: tuple[int, int], dtype: DType, order: tuple[int, int], swizzle: int) -> str:
    """The MLIR type of a shared-memory buffer."""
    return f"!wg.buffer<{shape[0]}x{shape[1]}x{dtype.mlir}{_order(order)}, swizzle = {swizzle}>"


def _order(order: tuple[int, int]) -> str:
    return "" if order == (1, 0) else f", order = [{order[0]}, {order[1]}]"


def swizzle_span(extent: int, dtype: DType) -> int:
    """The widest swizzle span in bytes that a contiguous extent fills without a rest, or 0."""
    return next((span for span in (128, 64, 32) if extent * dtype.bytes % span == 0), 0)


class ArrayParameter(View):
    """A parameter of the kernel.

    ``dims`` are the dimensions' names; those without one are called after the array, as in ``a.0``, which
    is no identifier. ``contiguous`` is the dimension with stride 1, or -1; ``aligned`` says that the first
    element's address and all other strides are multiples of 16 bytes.
    """

    at_entry = True

    def __init__(
        self,
        name: str,
        dtype: DType,
        dims: tuple[str, ...],
        access: str,
        *,
        contiguous: int,
        aligned: bool,
    ) -> None:
        self.name = self.label = name
        self.dtype_ = dtype
        self.dims = dims
        self.rank = len(dims)
        self.access = access
        self.contiguous = contiguous
        self.aligned = aligned
        self.align = 16 if aligned else dtype.bytes

    def describe(self) -> str:
        names = ("_" if "." in name else name for name in self.dims)
        return f"array {self.name} of {self.dtype_.name} [{', '.join(names)}]"

    @property
    def plan_type(self) -> str:
        """Its type in the host plan."""
        promises = f", contiguous = {self.contiguous}" if self.contiguous >= 0 else ""
        promises += ", aligned" if self.aligned else ""
        return f"!plan.array<{self.dtype_.plan}, rank = {len(self.dims)}{promises}, {self.access}>"

    def host_extent(self, cx: Context, dim: int) -> str:
        """The extent of a dimension in the host plan (i64)."""
        return cx.plan.step(self._host_dim(dim))

    def _host_dim(self, dim: int) -> str:
        return f"plan.dim %{symbol(self.name)}[{dim}] : {self.plan_type}"

    def extent_of(self, cx: Context, dim: int) -> Scalar:
        """The extent of a dimension; dimensions of one name share one parameter of the device function."""
        name = cx.device_argument(f"dim.{self.dims[dim]}", "i32", self.host_extent(cx, dim), "i64")
        return Scalar(name, i32, HostExpression(self._host_dim(dim)))

    def stride_name(self, cx: Context, dim: int) -> str:
        """The stride of a dimension in elements, on the device (i64)."""
        if dim == self.contiguous:
            return cx.constant(1, i64)
        host = cx.plan.step(f"plan.stride %{symbol(self.name)}[{dim}] : {self.plan_type}")
        return cx.device_argument(f"{self.name}.stride.{dim}", "i64", host, "i64")

    def view_name(self, cx: Context) -> str:
        host = f"%{symbol(self.name)}"
        pointer = cx.device_argument(f"{self.name}.address", "!llvm.ptr<1>", host, self.plan_type)
        extents = ", ".join(self.extent_of(cx, dim).name for dim in range(self.rank))
        strides = ", ".join(self.stride_name(cx, dim) for dim in range(self.rank))
        return cx.hoisted(
            f"tile.view {pointer}[{extents}] strides({strides}) : {self.view_type}", self.name
        )

    def tensor_map(self, cx: Context, box: tuple[int, int], swizzle: int) -> tuple[str, str]:
        # The box is that of the last two dimensions; of the others a copy takes one index.
        whole = [1] * (self.rank - 2) + list(box)
        order = [self.rank - 2 + dim for dim in self.tma_order(cx)]
        order += reversed(range(self.rank - 2))
        standard = order == list(reversed(range(self.rank)))
        order_text = "" if standard else f", order = {order}"
        type_ = f"!wg.view<{self.dtype_.mlir}, box = {whole}{order_text}, swizzle = {swizzle}>"
        host = cx.plan.step(f"plan.tensor_map %{symbol(self.name)} : {self.plan_type} -> {type_}")
        # A dot keeps the name apart from every name of the user's.
        name = f"{self.name}.{box[0]}x{box[1]}.{swizzle}"
        return cx.device_argument(name, type_, host, type_), type_

    @attribute
    def strides(self, cx: Context) -> tuple[Scalar, ...]:
        """The strides in elements, known on the device."""
        return tuple(Scalar(self.stride_name(cx, dim), i64) for dim in range(self.rank))
