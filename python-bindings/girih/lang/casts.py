"""Conversions between element types, of tiles and scalars alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, b1, f32

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.values import Elements

ROUNDINGS = {"nearest": "rn", "zero": "rz", "up": "rp", "down": "rm"}


def cast(cx: Context, value: Elements, dtype: DType) -> Any:
    """``value`` in another type, as promotion and ``x.to(dtype)`` convert it."""
    source = value.dtype_
    if source == dtype:
        return value
    if source.mlir == dtype.mlir:  # a sign more or less: the same bits
        return value.derive(value.name, dtype)
    if dtype == b1:
        return _is_not_zero(cx, value)
    if source.is_float and dtype.is_float and source.bits == dtype.bits:
        # No instruction converts between f16 and bf16, or e4m3 and e5m2; by way of f32 one rounding remains.
        return cast(cx, cast(cx, value, f32), dtype)
    if value.shape_ and not value.layout:
        return _tile_cast(cx, value, dtype)
    op = _arith_op(source, dtype)
    if not op:
        return _tile_cast(cx, value, dtype)
    result = value.derive("", dtype)
    result.name = cx.builder.op(f"{op} {value.name} : {value.mlir_type} to {result.mlir_type}")
    return result


def convert(cx: Context, value: Elements, dtype: object, rounding: object, saturate: object) -> Any:
    """``value.to(dtype, rounding=…, saturate=…)``."""
    if not isinstance(dtype, DType):
        cx.fail(
            "x.to() takes an element type", expected="gr.bf16, gr.i32, …", found=cx.describe(dtype)
        )
    if rounding is not None and (not isinstance(rounding, str) or rounding not in ROUNDINGS):
        cx.fail(
            "there is no such rounding",
            expected=" or ".join(map(repr, ROUNDINGS)),
            found=cx.describe(rounding),
        )
    if type(saturate) is not bool:
        cx.fail("saturate is True or False", found=cx.describe(saturate))
    source = value.dtype_
    if rounding is not None:
        exact = not source.is_float or (dtype.is_float and dtype.bits > source.bits)
        if exact and not (dtype.is_float and not source.is_float):
            cx.fail(
                "this conversion does not round",
                expected="x.to(dtype) without rounding",
                found=f"{source.name} to {dtype.name}",
            )
    if rounding is None and not saturate:
        return cast(cx, value, dtype)
    if source == dtype:
        return value
    return _tile_cast(cx, value, dtype, ROUNDINGS[rounding] if rounding else "", saturate)


def bitcast(cx: Context, value: Elements, dtype: object) -> Any:
    """``value.view(dtype)``: the same bits as another type of that width."""
    source = value.dtype_
    if not isinstance(dtype, DType) or dtype.bits != source.bits or (dtype == b1) != (source == b1):
        cx.fail(
            "x.view() keeps the bits",
            expected=f"an element type of {source.bits} bits",
            found=cx.describe(dtype),
            help="x.to(dtype) converts numbers",
        )
    if source.mlir == dtype.mlir:
        return value.derive(value.name, dtype)
    result = value.derive("", dtype)
    result.name = cx.builder.op(
        f"arith.bitcast {value.name} : {value.mlir_type} to {result.mlir_type}"
    )
    return result


def _arith_op(source: DType, dtype: DType) -> str:
    """The op of upstream's that converts so, or "" where its semantics differ."""
    signed = source.kind == "int"
    if dtype.is_float and not source.is_float:
        return "arith.sitofp" if signed else "arith.uitofp"
    if source.is_float:
        if not dtype.is_float or min(source.bits, dtype.bits) < 16:
            return ""  # out of range these clamp, where upstream's are undefined
        return "arith.extf" if dtype.bits > source.bits else "arith.truncf"
    if dtype.bits < source.bits:
        return "arith.trunci"
    return "arith.extsi" if signed else "arith.extui"


def _tile_cast(
    cx: Context, value: Elements, dtype: DType, rounding: str = "", saturate: bool = False
) -> Any:
    flags = []
    if value.dtype_.kind in ("uint", "bool"):
        flags.append("unsigned_source")
    if dtype.kind == "uint":
        flags.append("unsigned_result")
    how = f" rounding {rounding}" if rounding else ""
    how += " saturate" if saturate else ""
    how += f" {{{', '.join(flags)}}}" if flags else ""
    result = value.derive("", dtype)
    result.name = cx.builder.op(
        f"tile.cast {value.name}{how} : {value.mlir_type} to {result.mlir_type}"
    )
    return result


def _is_not_zero(cx: Context, value: Elements) -> Any:
    zero = value.filled(cx, 0)
    result = value.derive("", b1)
    compare = "arith.cmpf une" if value.dtype_.is_float else "arith.cmpi ne"
    result.name = cx.builder.op(f"{compare}, {value.name}, {zero} : {value.mlir_type}")
    return result
