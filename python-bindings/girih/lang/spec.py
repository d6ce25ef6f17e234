"""What an array argument would be, without an array: for compiling ahead of time."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dtypes import DType


@dataclass(frozen=True)
class ArraySpec:
    """An array of a signature: ``gr.ArraySpec(gr.bf16, contiguous=0)``. A dtype alone stands for a row-major,
    aligned array.

    ``rank`` is needed where the kernel's declaration leaves it open; ``contiguous`` is the dimension with
    stride 1, by default the last one, or -1 for none; ``aligned`` promises that the address and all other
    strides are multiples of 16 bytes.
    """

    dtype: DType
    rank: int | None = None
    contiguous: int | None = None
    aligned: bool = True

    def promises(self, rank: int) -> tuple[int, bool]:
        """The dimension with stride 1, or -1, and the alignment of an array with ``rank`` dimensions. Raises
        ValueError."""
        contiguous = rank - 1 if self.contiguous is None else self.contiguous
        if not -1 <= contiguous < rank:
            raise ValueError(
                f"contiguous is {contiguous}, expected a dimension from 0 to {rank - 1}, or -1 for none"
            )
        return contiguous, self.aligned
