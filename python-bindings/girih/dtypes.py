"""Element types: one object per type, shared by kernels, arrays and packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from girih.lang.optional import MayBeAbsent


@dataclass(frozen=True)
class DType(MayBeAbsent):
    """An element type.

    ``name`` is the name in manifests (``bf16``), ``bits`` the storage width, ``mlir`` the type's
    spelling in MLIR, ``kind`` one of ``float``, ``int``, ``uint``, ``bool``.
    """

    name: str
    bits: int
    mlir: str
    kind: str

    @property
    def bytes(self) -> int:
        """Storage size in bytes (1 for bool)."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def is_scalar(self) -> bool:
        """Whether a kernel can take a single number of this type."""
        return not self.is_float or self.bits >= 16

    @property
    def plan(self) -> str:
        """The type's spelling in a host plan, where integers have a sign."""
        return f"u{self.mlir}" if self.kind == "uint" else self.mlir

    def __repr__(self) -> str:
        return f"girih.{self.name}"


# Any to a type checker: in a kernel's signature they stand for types, elsewhere they are values.
f64: Any = DType("f64", 64, "f64", "float")
f32: Any = DType("f32", 32, "f32", "float")
f16: Any = DType("f16", 16, "f16", "float")
bf16: Any = DType("bf16", 16, "bf16", "float")
e4m3: Any = DType("e4m3", 8, "f8E4M3FN", "float")
e5m2: Any = DType("e5m2", 8, "f8E5M2", "float")
i64: Any = DType("i64", 64, "i64", "int")
i32: Any = DType("i32", 32, "i32", "int")
i16: Any = DType("i16", 16, "i16", "int")
i8: Any = DType("i8", 8, "i8", "int")
u64: Any = DType("u64", 64, "i64", "uint")
u32: Any = DType("u32", 32, "i32", "uint")
u16: Any = DType("u16", 16, "i16", "uint")
u8: Any = DType("u8", 8, "i8", "uint")
b1: Any = DType("b1", 1, "i1", "bool")

ALL: tuple[DType, ...] = (f64, f32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8, b1)
BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in ALL}
