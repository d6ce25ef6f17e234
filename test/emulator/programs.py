# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program of someone else is: PTX, launches of several shapes, and what NumPy says they compute.

`PROGRAMS` holds them all; test_programs.py runs each against NumPy and test_silence.py runs each under many
interleavings. The files that cuda_programs.py imports and triton_programs.py fill it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

PROGRAMS: dict[str, Program] = {}


@dataclass
class Close:
    """An expected array and how far the result may be from it, element by element."""

    expected: np.ndarray
    bound: np.ndarray | float = 0.0

    def problem(self, result: np.ndarray) -> str | None:
        """What is wrong with the result, if anything."""
        expected = np.asarray(self.expected)
        if result.dtype.kind in "fV" or expected.dtype.kind == "f":
            wide = result.astype(np.float64)
            with np.errstate(invalid="ignore"):
                error = np.abs(wide - expected.astype(np.float64))
            both = (np.isnan(wide) & np.isnan(expected)) | (wide == expected)
            error = np.where(both, 0.0, np.where(np.isnan(error), np.inf, error))
        else:
            error = np.where(result == expected, 0.0, np.inf)
        wrong = error > self.bound
        if not wrong.any():
            return None
        at = np.unravel_index(np.argmax(np.where(wrong, error - self.bound, -1)), error.shape)
        bound = np.broadcast_to(self.bound, error.shape)[at]
        return (
            f"{int(wrong.sum())} of {wrong.size} differ, the worst at {tuple(map(int, at))}: "
            f"{result[at]!r}, expected {expected[at]!r} within {bound:.3g}"
        )


@dataclass
class Launch:
    """One launch and what it must leave in its arrays: argument index to array or Close."""

    grid: object
    block: object
    arguments: list
    expect: dict[int, object]
    cluster: object = None
    shared: int = 0
    # "exact", "hopper": only these numerics; the bounds of most programs hold for both.
    numerics: str = "exact"

    def problems(self, arrays: list) -> list[str]:
        """What is wrong with the arrays after the launch."""
        found = []
        for index, expected in self.expect.items():
            close = expected if isinstance(expected, Close) else Close(expected)
            if problem := close.problem(arrays[index]):
                found.append(f"argument {index}: {problem}")
        return found


@dataclass
class Program:
    """PTX and its launches. ``make(rng, **shape)`` builds a Launch; the same seed gives the same data."""

    name: str
    ptx: Callable[[], str]
    entry: str
    make: Callable[..., Launch]
    shapes: list[dict] = field(default_factory=lambda: [{}])

    def launch(self, shape: dict, seed: int) -> Launch:
        return self.make(np.random.default_rng(seed), **shape)


def ceil(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def sum_bound(x: np.ndarray, terms: int, axis=None, unit: float = 2.0**-24) -> np.ndarray:
    """The bound of any order of a floating-point sum of ``terms`` terms: (n - 1) u sum |x|."""
    return terms * unit * np.abs(x.astype(np.float64)).sum(axis)


def dot_bound(a: np.ndarray, b: np.ndarray, unit: float = 2.0**-24) -> np.ndarray:
    """The same for a product of matrices, with one rounding for each product."""
    a, b = np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64))
    return (a.shape[-1] + 1) * unit * (a @ b)


def round_bf16(x: np.ndarray) -> np.ndarray:
    """float64 rounded once to bfloat16 (to nearest, ties to even), as float32."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, 8)), exponent - 8).astype(np.float32)


def bf16_bits(x: np.ndarray) -> np.ndarray:
    """float32 values that bfloat16 holds exactly, as its 16 bits."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bf16_values(bits: np.ndarray) -> np.ndarray:
    """The values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp8_values(exponent_bits: int, mantissa_bits: int, bias: int, largest: float) -> np.ndarray:
    """The non-negative values of an 8-bit format in the order of their bits, to the largest finite one."""
    bits = np.arange(1 << (exponent_bits + mantissa_bits))
    exponent, mantissa = bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
    values = (mantissa + (exponent > 0) * (1 << mantissa_bits)) * np.exp2(
        np.maximum(exponent, 1) - bias - mantissa_bits
    )
    return values[: np.flatnonzero(values == largest)[0] + 1]


# OCP 8-bit Floating Point Specification 1.0, table 1.
E4M3 = fp8_values(4, 3, 7, 448.0)
E5M2 = fp8_values(5, 2, 15, 57344.0)


def e4m3_values(bits: np.ndarray) -> np.ndarray:
    """The values of e4m3 bits that are numbers."""
    return np.where(bits & 128, -1.0, 1.0) * E4M3[bits & 127]


class Bf16(Close):
    """A result of bfloat16 bits against values."""

    def problem(self, result: np.ndarray) -> str | None:
        return Close(self.expected, self.bound).problem(bf16_values(result))
