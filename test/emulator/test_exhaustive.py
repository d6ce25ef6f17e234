# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All 2^16 inputs of instructions with 16-bit sources, against NumPy in binary64.

binary64 holds every value of the 16-bit and 8-bit formats, and so does its exponent range their
products with powers of two: rounding is a division by the unit in the last place, exact, and
numpy's rint, trunc, floor or ceil.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from emulated import BUILD

CODES = np.arange(1 << 16, dtype=np.uint32)
ROUND = {"n": np.rint, "z": np.trunc, "m": np.floor, "p": np.ceil}
#: Precision, least exponent, largest finite value.
FORMATS = {"f16": (11, -14, 65504.0), "bf16": (8, -126, float.fromhex("0x1.fep127"))}
INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


def decoded(format_: str, codes: np.ndarray) -> np.ndarray:
    if format_ == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def fp8_values(exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """The 128 magnitudes; NaN where there is none."""
    codes = np.arange(128)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    hidden = np.where(exponent > 0, 1 << mantissa_bits, 0)
    values = np.ldexp(
        (hidden + mantissa).astype(float), np.maximum(exponent, 1) - bias - mantissa_bits
    )
    if exponent_bits == 4:
        values[127] = np.nan
    else:
        values[124] = np.inf
        values[125:] = np.nan
    return values


FP8 = {"e4m3": fp8_values(4, 3), "e5m2": fp8_values(5, 2)}


def rounded(values: np.ndarray, format_: str, mode: str) -> np.ndarray:
    precision, least, largest = FORMATS[format_]
    with np.errstate(invalid="ignore"):
        exponent = np.maximum(np.frexp(values)[1] - 1, least)
        unit = np.ldexp(1.0, exponent - precision + 1)
        result = np.copysign(ROUND[mode](values / unit) * unit, values)
        over = np.abs(result) > largest
        away = (mode == "n") | ((mode == "p") & (values > 0)) | ((mode == "m") & (values < 0))
        result = np.where(over & ~away & np.isfinite(values), np.copysign(largest, values), result)
        result = np.where(over & away, np.copysign(np.inf, values), result)
    return np.where(np.isinf(values), values, result)


def encoded(values: np.ndarray, format_: str) -> np.ndarray:
    """The bits of values that the format holds."""
    with np.errstate(over="ignore", invalid="ignore"):
        if format_ == "f16":
            bits = values.astype(np.float16).view(np.uint16)
        else:
            bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), 0x7FFF, bits).astype(np.uint64)


def to_fp8(values: np.ndarray, format_: str) -> np.ndarray:
    """Nearest even, saturating."""
    table = FP8[format_][np.isfinite(FP8[format_])]
    magnitude = np.minimum(
        np.abs(np.nan_to_num(values, nan=0.0, posinf=1e30, neginf=-1e30)), table[-1]
    )
    below = np.searchsorted(table, magnitude, side="right") - 1
    above = np.minimum(below + 1, len(table) - 1)
    low, high = magnitude - table[below], table[above] - magnitude
    up = (high < low) | ((high == low) & (below % 2 == 1))
    code = np.where(up, above, below) | (np.signbit(values).astype(int) << 7)
    return np.where(np.isnan(values), 0x7F, code).astype(np.uint64)


def to_integer(values: np.ndarray, type_: str, mode: str) -> np.ndarray:
    """Clamped; NaN gives 0, or the top bit alone for 64-bit types (9.7.9.21)."""
    size = int(type_[1:])
    low, high = (
        (-(1 << (size - 1)), (1 << (size - 1)) - 1) if type_[0] == "s" else (0, (1 << size) - 1)
    )
    nan = 1 << 63 if size == 64 else 0
    mask = (1 << min(64, max(16, size))) - 1
    whole = ROUND[mode](np.nan_to_num(values, nan=0.0, posinf=1e30, neginf=-1e30))
    exact = [max(low, min(high, int(v))) & mask for v in whole]
    return np.where(np.isnan(values), np.uint64(nan), np.array(exact, dtype=np.uint64))


def cases() -> dict[str, dict[str, object]]:
    """Statements and the answers for all inputs, in groups that run as one kernel.

    The input is %h2, and twice in %r2, the upper half complemented. Bounds are pairs (exact value,
    allowed error) of a format.
    """
    groups: dict[str, dict[str, object]] = {}
    other = {"f16": "bf16", "bf16": "f16"}
    for f in ("f16", "bf16"):
        v = decoded(f, CODES)
        group: dict[str, object] = {}
        with np.errstate(over="ignore", invalid="ignore"):
            single = v.astype(np.float32).view(np.uint32).astype(np.uint64)
        group[f"cvt.f32.{f} %r1, %h2;"] = np.where(np.isnan(v), np.uint64(0x7FFFFFFF), single)
        for m in "nzmp":
            with np.errstate(invalid="ignore"):
                integral = np.where(np.isfinite(v), np.copysign(ROUND[m](v), v), v)
            group[f"cvt.r{m}i.{f}.{f} %h1, %h2;"] = encoded(integral, f)
            o = other[f]
            group[f"cvt.r{m}.{o}.{f} %h1, %h2;"] = encoded(rounded(v, o, m), o)
            for type_ in INTEGERS if f == "f16" else INTEGERS[2:]:
                register = {64: "%d1", 32: "%r1"}.get(int(type_[1:]), "%h1")
                group[f"cvt.r{m}i.{type_}.{f} {register}, %h2;"] = to_integer(v, type_, m)
        group[f"neg.{f} %h1, %h2;"] = (CODES ^ 0x8000).astype(np.uint64)
        group[f"abs.{f} %h1, %h2;"] = (CODES & 0x7FFF).astype(np.uint64)
        groups[f] = group
    half, flipped = decoded("f16", CODES), decoded("f16", CODES ^ 0xFFFF)
    group = {}
    for name, table in FP8.items():
        for relu in ("", ".relu"):
            low, high = half, flipped
            if relu:
                low, high = (np.where(x < 0, 0.0, np.where(x == 0, 0.0, x)) for x in (low, high))
            packed = to_fp8(high, name) << np.uint64(8) | to_fp8(low, name)
            group[f"cvt.rn.satfinite{relu}.{name}x2.f16x2 %h1, %r2;"] = packed
            both = []
            for byte in (CODES & 0xFF, CODES >> 8):
                value = np.copysign(table[byte & 0x7F], np.where(byte & 0x80, -1.0, 1.0))
                if relu:
                    value = np.where(value <= 0, 0.0, value)
                both.append(encoded(value, "f16"))
            group[f"cvt.rn{relu}.f16x2.{name}x2 %r1, %h2;"] = both[1] << np.uint64(16) | both[0]
    groups["fp8"] = group
    group = {}
    for f, relative, absolute in (("f16", 2**-9.9, 2**-10.987), ("bf16", 2.0**-7, 2.0**-8)):
        v = decoded(f, CODES)
        ftz = ".ftz" if f == "bf16" else ""
        with np.errstate(over="ignore", invalid="ignore"):
            power = np.exp2(v)
            # What is less than the least normal number may be flushed, or lose bits.
            least = 2.0**-126 if f == "bf16" else 2.0**-24
            group[f"ex2.approx{ftz}.{f} %h1, %h2;"] = (f, power, power * relative + least)
            group[f"tanh.approx.{f} %h1, %h2;"] = (f, np.tanh(v), np.full(1 << 16, absolute))
    groups["functions"] = group
    return groups


GROUPS = cases()


def results(statements: list[str], directory: Path) -> np.ndarray:
    lines = [
        ".version 8.6\n.target sm_90a\n.address_size 64",
        ".visible .entry all(.param .u64 p_out) {",
        ".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;",
        "mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 256, %r4;",
        "ld.param.u64 %d4, [p_out]; mul.wide.u32 %d5, %r6, 8; add.u64 %d4, %d4, %d5;",
        "cvt.u16.u32 %h2, %r6; xor.b16 %h3, %h2, -1; mov.b32 %r2, {%h2, %h3};",
    ]
    widen = {
        "%h": "cvt.u64.u16 %d3, %h1;",
        "%r": "cvt.u64.u32 %d3, %r1;",
        "%d": "mov.u64 %d3, %d1;",
    }
    for n, text in enumerate(statements):
        lines += [text, widen[text.split()[1][:2]], f"st.global.u64 [%d4+{8 * n << 16}], %d3;"]
    (directory / "all.ptx").write_text("\n".join([*lines, "}"]) + "\n")
    spec = {
        "grid": [256, 1, 1],
        "block": [256, 1, 1],
        "arrays": {"out": {"dtype": "<u8", "shape": [len(statements) << 16], "out": "out.npy"}},
        "args": [{"pointer": "out"}],
    }
    (directory / "spec.json").write_text(json.dumps(spec))
    command = [str(BUILD / "bin/girih-emu"), "all.ptx", "--args", "spec.json"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return np.load(directory / "out.npy").reshape(len(statements), 1 << 16)


@pytest.mark.parametrize("name", GROUPS)
def test_every_input(name: str, tmp_path: Path) -> None:
    group = GROUPS[name]
    found = results(list(group), tmp_path)
    for (text, answer), got in zip(group.items(), found, strict=True):
        if isinstance(answer, tuple):
            format_, exact, error = answer
            value = decoded(format_, got.astype(np.uint32))
            nan = np.isnan(exact)
            assert (np.isnan(value) == nan).all(), text
            limit = FORMATS[format_][2]
            with np.errstate(invalid="ignore"):
                near = (np.abs(value - exact) <= error) | (value == exact)
                near |= np.isinf(value) & (exact >= limit)
            wrong = np.flatnonzero(~(near | nan))
        else:
            wrong = np.flatnonzero(got != answer)
        assert wrong.size == 0, (
            f"{text} of {int(wrong[0]):#06x}: {int(got[wrong[0]]):#x}"
            + ("" if isinstance(answer, tuple) else f", expected {int(answer[wrong[0]]):#x}")
            + f" ({wrong.size} wrong)"
        )
