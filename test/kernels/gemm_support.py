"""What the GEMM tests share: variants, data, references, error bounds, and faults for the PTX."""

import re
from dataclasses import dataclass

import numpy as np

import gemm
import girih as gr
from girih import emulator

SHAPES = [
    (128, 256, 64),
    (128, 256, 64 * 9),
    (256, 512, 192),
    (1, 8, 8),
    (130, 264, 72),
    (384, 136, 1000),
]
PRECISION = {gr.bf16: 8, gr.f32: 24}


@dataclass(frozen=True)
class Variant:
    """A tile shape and how B is stored: "kn" (K rows of N) or "nk" (N rows of K)."""

    BM: int
    BN: int
    BK: int
    stored: str

    def __str__(self):
        return f"{self.BM}x{self.BN}x{self.BK}-{self.stored}"

    def launch(self, a, b, c, **constants):
        """Runs the example's kernel with these tiles."""
        gemm.matmul(a, b, c, BM=self.BM, BN=self.BN, BK=self.BK, **constants)

    def compile(self, out, persistent=True):
        """The compiled program; shapes do not matter."""
        a, b = operands(
            self, np.zeros((self.BM, 64), np.float32), np.zeros((64, self.BN), np.float32)
        )
        c = gr.empty((self.BM, self.BN), out)
        return gemm.matmul.compile(
            a, b, c, BM=self.BM, BN=self.BN, BK=self.BK, persistent=persistent
        )


VARIANTS = [
    Variant(128, 256, 64, "kn"),
    Variant(128, 256, 64, "nk"),
    Variant(128, 128, 64, "kn"),
    Variant(128, 128, 64, "nk"),
    Variant(192, 176, 64, "nk"),
    Variant(128, 144, 64, "nk"),
]


def integers(shape, seed):
    """Integers of at most 8 in magnitude: exact in bf16, and so is every partial sum in f32."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def normal(shape, seed):
    """Normal data, rounded to bf16."""
    return round_to(np.random.default_rng(seed).standard_normal(shape), gr.bf16)


def round_to(x, dtype):
    """float64 rounded once to ``dtype`` (to nearest, ties to even), as float32.

    bf16 keeps 8 bits of precision: rounding the float64 significand directly avoids a double rounding
    through f32.
    """
    if dtype == gr.f32:
        return np.asarray(x, np.float64).astype(np.float32)
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, 8)), exponent - 8).astype(np.float32)


def operands(variant, a, b):
    """A and B on the device as bf16; B is stored as the variant says and seen as K x N."""
    device_a = gr.asarray(a, dtype=gr.bf16)
    if variant.stored == "nk":
        return device_a, gr.asarray(np.ascontiguousarray(b.T), dtype=gr.bf16).T
    return device_a, gr.asarray(b, dtype=gr.bf16)


def tiles_of(variant, shape):
    """How many tiles the launch has."""
    return -(-shape[0] // variant.BM) * -(-shape[1] // variant.BN)


def run(variant, out, persistent, a, b, seed):
    """The GEMM on the emulated device with a seed."""
    device_a, device_b = operands(variant, a, b)
    c = gr.asarray(np.full((a.shape[0], b.shape[1]), np.nan, np.float32), dtype=out)
    with emulator.options(seed=seed):
        variant.launch(device_a, device_b, c, persistent=persistent)
    return c.numpy()


def assert_within_bound(result, a, b, out):
    """The bound of the accumulation and of one rounding to the output type."""
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    reference = a64 @ b64
    bound = (a.shape[1] + 1) * 2.0**-24 * (np.abs(a64) @ np.abs(b64))
    bound += 2.0 ** -PRECISION[out] * np.abs(reference)
    error = np.abs(result.astype(np.float64) - reference)
    worst = np.unravel_index(np.argmax(error - bound), error.shape)
    assert (error <= bound).all(), f"at {worst}: error {error[worst]}, bound {bound[worst]}"


# A wait for a phase of an mbarrier, for `plant`.
WAIT = r"mbarrier\.try_wait[^;]*;\s*@!done bra again_\d+;"


def plant(image, pattern, replacement, which=0):
    """The image with one match of ``pattern`` in its PTX replaced, at the same length."""
    ptx = image.rindex(b"\n.version ")
    matches = list(re.compile(pattern.encode()).finditer(image, ptx))
    assert len(matches) > which, f"{pattern} is not in the PTX"
    match = matches[which]
    text = match.expand(replacement.encode()).ljust(len(match[0]))
    assert len(text) == len(match[0])
    return image[: match.start()] + text + image[match.end() :]
