"""What the arguments of a call must meet, as steps of the host plan: equal names, divisors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.lang.builder import quoted

if TYPE_CHECKING:
    from girih.lang.annotations import ArrayAnnotation
    from girih.lang.arrays import ArrayParameter
    from girih.lang.context import Context

Arrays = list[tuple["ArrayParameter", "ArrayAnnotation"]]


def require_dimensions(cx: Context, arrays: Arrays) -> None:
    """Dimensions of one name agree, and extents are multiples of what their declaration says."""
    first: dict[str, tuple[ArrayParameter, int]] = {}
    for array, annotation in arrays:
        for index, dim in enumerate(annotation.dims or ()):
            extent = array.host_extent(cx, index)
            if dim.multiple > 1:
                rest = cx.plan.binary("arith.remsi", extent, cx.plan.constant(dim.multiple))
                message = (
                    f"{array.name} has {dim.name} = {{0}}: expected a multiple of {dim.multiple}, "
                    f"as its declaration says"
                )
                cx.plan.require("eq", rest, cx.plan.constant(0), quoted(message), (extent,))
            if dim.name not in first:
                first[dim.name] = (array, index)
                continue
            other, other_index = first[dim.name]
            expected = other.host_extent(cx, other_index)
            message = (
                f"{other.name} has {dim.name} = {{0}}, {array.name} has {dim.name} = {{1}}: "
                f"dimensions named {dim.name} must agree"
            )
            cx.plan.require("eq", expected, extent, quoted(message), (expected, extent))


def require_products(cx: Context, grid: str, arrays: Arrays) -> None:
    """No array is empty, unless nothing is launched: an accumulator that no product was added to would be
    stored with whatever its registers hold."""
    zero = cx.plan.constant(0)
    idle = cx.plan.step(f"arith.cmpi eq, {grid}, {zero} : i64")
    for array, _ in arrays:
        for index, name in enumerate(array.dims):
            extent = array.host_extent(cx, index)
            some = cx.plan.step(f"arith.cmpi sgt, {extent}, {zero} : i64")
            message = (
                f"{array.name} has {name} = {{0}}: expected at least 1, since the kernel's accumulators "
                f"hold nothing before their first product"
            )
            ok = cx.plan.step(f"arith.ori {some}, {idle} : i1")
            cx.plan.effect(f"plan.require {ok}, {quoted(message)}({extent})")
