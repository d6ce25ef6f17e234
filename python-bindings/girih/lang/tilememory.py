"""Memory element by element: gather and scatter, atomics, and the counters by which CTAs wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.dtypes import b1, i32
from girih.lang import elementwise
from girih.lang.builtin import Builtin, builtin
from girih.lang.casts import cast
from girih.lang.scalars import i32_name, to_scalar
from girih.lang.tileshapes import count_of
from girih.lang.values import Elements, Scalar, Tile
from girih.lang.views import View

if TYPE_CHECKING:
    from girih.lang.context import Context

SCOPES = ("cta", "cluster", "gpu", "sys")
ORDERS = ("relaxed", "acquire", "release", "acq_rel")


class _Points:
    """Operands of an access at places of their own, all of one shape."""

    def __init__(
        self,
        cx: Context,
        what: str,
        view: object,
        indices: object,
        mask: object,
        value: object = None,
    ) -> None:
        if not isinstance(view, View):
            cx.fail(
                f"{what} works on an array",
                expected="a parameter or a part of one",
                found=cx.describe(view),
            )
        parts = indices if isinstance(indices, tuple) else (indices,)
        if len(parts) != view.rank:
            cx.fail(
                f"{what} takes one index per dimension of {view.label}",
                expected=count_of(view.rank, "tile of i32", "tiles of i32"),
                found=cx.describe(indices),
            )
        cx.tile_level()
        sides: list[Any] = []
        for part in parts:
            read = elementwise.operand(cx, part)
            if isinstance(read, Elements) and (
                read.dtype_.is_float or read.dtype_.bits > 32 or read.dtype_ == b1
            ):
                cx.fail(
                    "indices are i32",
                    expected="tiles of i32",
                    found=read.describe(),
                    help="x.to(gr.i32)",
                )
            sides.append(cast(cx, read, i32) if isinstance(read, Elements) else (read, i32))
        self.view = view
        if mask is not None:
            read = elementwise.operand(cx, mask)
            if isinstance(read, Elements) and read.dtype_ != b1:
                cx.fail(
                    "a mask is made of booleans",
                    expected="b1",
                    found=read.describe(),
                    help="x != 0",
                )
            sides.append(read if isinstance(read, Elements) else (bool(read), b1))
        if value is not None:
            read = elementwise.operand(cx, value)
            if isinstance(read, Elements) and read.dtype_ != view.dtype_:
                cx.fail(
                    f"{view.label} holds elements of {view.dtype_.name}",
                    expected=f"a tile of {view.dtype_.name}",
                    found=read.describe(),
                    help=f"convert first: x.to({view.label}.dtype)",
                )
            sides.append(read if isinstance(read, Elements) else (read, view.dtype_))
        if not any(isinstance(side, Tile) for side in sides):
            cx.fail(
                f"{what} works on tiles of indices",
                expected="at least one tile among indices and values",
                found="numbers only",
                help=f"{view.label}[i] reads and writes one element; gr.signal counts",
            )
        met = [side.opened(cx) for side in elementwise.meet_shapes(cx, what, sides)]
        self.indices: list[Tile] = met[: len(parts)]
        self.value: Tile = met[-1]
        self.mask: Tile | None = met[len(parts)] if mask is not None else None
        self.shape = self.indices[0].shape_

    def place(self, cx: Context) -> str:
        """``%view[%i, %j] mask(%m)``."""
        mask = f" mask({self.mask.name})" if self.mask else ""
        return f"{self.view.view_name(cx)}[{', '.join(i.name for i in self.indices)}]{mask}"

    def types(self) -> str:
        """``view at indices mask type``."""
        mask = f" mask {self.mask.tensor_type}" if self.mask else ""
        return f"{self.view.view_type} at {', '.join(i.tensor_type for i in self.indices)}{mask}"


@builtin("gr.gather")
def gather(
    cx: Context, array: View, indices: object, mask: object = None, fill: object = None
) -> Tile:
    """Elements of an array from places of their own: a tile of i32 for each dimension. What is masked out or
    outside is ``fill``, 0 without it, and is not read."""
    points = _Points(cx, "gr.gather", array, indices, mask)
    array.check_read(cx)
    result = Tile("", points.shape, array.dtype_)
    place, types = points.place(cx), points.types()
    if fill is not None:
        scalar = to_scalar(cx, fill, array.dtype_)
        place, types = f"{place} fill({scalar.name})", f"{types} fill {scalar.mlir_type}"
    result.name = cx.builder.op(f"tile.gather {place} : {types} -> {result.tensor_type}")
    return result


@builtin("gr.scatter")
def scatter(cx: Context, array: View, indices: object, values: object, mask: object = None) -> None:
    """Stores elements to places of their own. What is masked out or outside is not written; two elements must
    not go to one place."""
    points = _Points(cx, "gr.scatter", array, indices, mask, values)
    array.check_write(cx)
    cx.builder.line(
        f"tile.scatter {points.value.name}, {points.place(cx)} : {points.value.tensor_type}, {points.types()}"
    )


def _choice(cx: Context, name: str, value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        cx.fail(
            f"there is no such {name}",
            expected=" or ".join(map(repr, allowed)),
            found=cx.describe(value),
        )
    return value


_ATOMICS = {
    "add": "added to",
    "min": "kept if smaller than",
    "max": "kept if larger than",
    "and": "combined by & with",
    "or": "combined by | with",
    "xor": "combined by ^ with",
    "exchange": "put in place of",
}


def _atomic(kind: str) -> Builtin:
    def emit(
        cx: Context,
        array: View,
        indices: object,
        values: object,
        mask: object = None,
        scope: str = "gpu",
        order: str = "relaxed",
    ) -> Tile:
        what = f"gr.atomic_{kind}"
        _choice(cx, "scope", scope, SCOPES)
        _choice(cx, "order", order, ORDERS)
        points = _Points(cx, what, array, indices, mask, values)
        if array.access != "inout":
            cx.fail(
                f"{what} reads and writes",
                expected="a parameter of gr.InOut",
                found=array.describe(),
            )
        dtype = array.dtype_
        small = dtype.is_float and dtype.bits == 16 and kind == "add"
        if (
            dtype.bits not in (32, 64)
            and not small
            or dtype.is_float
            and kind not in ("add", "exchange")
        ):
            cx.fail(
                f"{what} does not work on {dtype.name}",
                expected="32 or 64 bits; on floats add (16 bits too) and exchange",
                found=dtype.name,
            )
        name = f"u{kind}" if dtype.kind == "uint" and kind in ("min", "max") else kind
        result = Tile("", points.shape, dtype)
        result.name = cx.builder.op(
            f"tile.atomic {name} {order} {scope} {points.value.name}, {points.place(cx)} : {points.value.tensor_type}, {points.types()}"
        )
        return result

    emit.__name__ = f"atomic_{kind}"
    emit.__doc__ = f"Each value is {_ATOMICS[kind]} what is at its place, at once; the result is what was there."
    return Builtin(f"gr.atomic_{kind}", emit)


atomic_add, atomic_min, atomic_max = _atomic("add"), _atomic("min"), _atomic("max")
atomic_and, atomic_or, atomic_xor = _atomic("and"), _atomic("or"), _atomic("xor")
atomic_exchange = _atomic("exchange")


def _counter(cx: Context, what: str, array: object, index: object, scope: object) -> str:
    """``gpu`` and the text of a counter's place."""
    if not isinstance(array, View) or array.dtype_ != i32 or array.access != "inout":
        cx.fail(
            f"{what} works on a counter",
            expected="an array of i32 of gr.InOut",
            found=cx.describe(array),
        )
    _choice(cx, "scope of a counter", scope, ("gpu", "sys"))
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) != array.rank or not all(type(p) is int or isinstance(p, Scalar) for p in parts):
        cx.fail(
            f"{what} takes the place of one counter",
            expected=f"{array.rank} integers" if array.rank != 1 else "an integer",
            found=cx.describe(index),
        )
    cx.tile_level()
    return f"{array.view_name(cx)}[{', '.join(i32_name(cx, part) for part in parts)}] : {array.view_type}"


@builtin("gr.signal")
def signal(
    cx: Context, array: View, index: object, value: object = 1, scope: str = "gpu"
) -> Scalar:
    """Adds ``value`` to a counter, after everything that this CTA has stored; the result is the old value."""
    place = _counter(cx, "gr.signal", array, index, scope)
    return Scalar(cx.builder.op(f"tile.signal {scope} {i32_name(cx, value)}, {place}"), i32)


@builtin("gr.wait_for")
def wait_for(cx: Context, array: View, index: object, value: object, scope: str = "gpu") -> None:
    """Waits until a counter is at least ``value``; what its signallers stored before can be read then."""
    place = _counter(cx, "gr.wait_for", array, index, scope)
    cx.builder.line(f"tile.await {scope} {i32_name(cx, value)}, {place}")
