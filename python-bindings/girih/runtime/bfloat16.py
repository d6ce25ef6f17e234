"""bf16 on the host, where NumPy has no such type: bits in uint16, values in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def from_floats(values: np.ndarray) -> np.ndarray:
    """Rounds numbers to the nearest bf16, ties to even; returns the bits as uint16.

    Every value is rounded once, also one that float32 does not hold: it goes through the float32 that
    is next to it towards zero with its last bit set (rounding to odd), which a second rounding to fewer
    than 22 bits cannot confuse with a tie (Boldo and Melquiond, "Emulation of FMA and Correctly Rounded
    Sums", 2008). A NaN stays a NaN of the same sign.
    """
    import numpy as np

    if values.dtype != np.float32:
        values = to_odd(values)
    bits = values.view(np.uint32)
    # Half of the last place, less one where the last bit is even: a tie then rounds to even. The carry
    # of the largest finite numbers runs into the exponent and gives infinity.
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    result = (rounded >> np.uint32(16)).astype(np.uint16)
    nan = np.isnan(values)
    if nan.any():
        sign = (bits >> np.uint32(16)).astype(np.uint16) & np.uint16(0x8000)
        result = np.where(nan, sign | np.uint16(0x7FC0), result)
    return result


def to_floats(bits: np.ndarray) -> np.ndarray:
    """The float32 values of bf16 bits (exact)."""
    import numpy as np

    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_odd(values: np.ndarray) -> np.ndarray:
    """The float32 numbers that numbers of another type round to, with rounding to odd."""
    import numpy as np

    wide = values.astype(np.longdouble)  # holds every float64 and every 64-bit integer
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    inexact = np.isfinite(wide) & (near.astype(np.longdouble) != wide)
    bits = near.view(np.uint32)
    away = inexact & (np.abs(near.astype(np.longdouble)) > np.abs(wide))
    # Next to zero from `near` is the number with the next lower bits, whatever the sign.
    bits = bits - away.astype(np.uint32)
    return (bits | inexact.astype(np.uint32)).view(np.float32)
