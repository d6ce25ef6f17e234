"""8-bit floats on the host, where NumPy has no such types: bits in uint8, values in float32.

The formats are those of the OCP specification (OFP8, 2023): e4m3 has no infinities, one NaN of each sign,
and 448 as its largest number; e5m2 is as IEEE 754 would have it, with 57344 as its largest finite number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from girih.runtime.bfloat16 import to_odd

if TYPE_CHECKING:
    import numpy as np

NAN = 0x7F
BEYOND = 2.0**20  # larger than every finite number of either format


@dataclass(frozen=True)
class Format:
    """Bits of the exponent, bits of the fraction, and the bits of the largest finite number."""

    exponent: int
    fraction: int
    largest: int

    @property
    def smallest_exponent(self) -> int:
        """The exponent of the smallest normal number and of all below it."""
        return 2 - (1 << (self.exponent - 1))

    def from_floats(self, values: np.ndarray) -> np.ndarray:
        """Rounds numbers to the nearest one of the format, ties to even; returns the bits.

        What lies beyond the largest finite number becomes that number, infinities too, as the device's
        conversions do (``cvt.satfinite``). Every value is rounded once; a NaN stays a NaN of its sign.
        """
        import numpy as np

        single = values if values.dtype == np.float32 else to_odd(values)
        sign = np.signbit(single).astype(np.uint8) << np.uint8(7)
        nan = np.isnan(single)
        magnitude = np.where(nan, 0, np.minimum(np.abs(single), BEYOND)).astype(np.float64)
        exponent = np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, self.smallest_exponent)
        exponent = np.maximum(exponent, self.smallest_exponent)
        units = np.rint(np.ldexp(magnitude, self.fraction - exponent)).astype(np.int64)
        # The leading one of a normal number adds one to the exponent, as does a carry.
        bits = ((exponent.astype(np.int64) - self.smallest_exponent) << self.fraction) + units
        bits = np.where(nan, NAN, np.minimum(bits, self.largest)).astype(np.uint8)
        return sign | bits

    def to_floats(self, bits: np.ndarray) -> np.ndarray:
        """The float32 values of bits (exact)."""
        return _values(self)[bits]


@cache
def _values(of: Format) -> np.ndarray:
    """The value of each of the 256 patterns."""
    import numpy as np

    bits = np.arange(256)
    magnitude, negative = bits & 0x7F, bits >> 7 == 1
    fraction, exponent = magnitude & ((1 << of.fraction) - 1), magnitude >> of.fraction
    normal = exponent > 0
    significand = (fraction + np.where(normal, 1 << of.fraction, 0)).astype(np.float64)
    scale = np.where(normal, exponent - 1, 0) + of.smallest_exponent - of.fraction
    values = np.ldexp(significand, scale)
    values[magnitude > of.largest] = np.nan
    if of.exponent == 5:
        values[magnitude == of.largest + 1] = np.inf
    values = np.where(negative, -values, values).astype(np.float32)
    values.flags.writeable = False
    return values


E4M3 = Format(4, 3, 0x7E)
E5M2 = Format(5, 2, 0x7B)
