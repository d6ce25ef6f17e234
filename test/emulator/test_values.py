# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every scalar form that exists, run on values that matter, against exact arithmetic.

Forms come from `scalar_forms` (those that load), answers from `reference`. One kernel runs all
forms of a type: it loads operands, executes each statement and stores each result.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import exact_floats as ef
from emulated import BUILD
from reference import Statement, expected, mask, width
from scalar_forms import every_form
from test_forms import accepted_forms

#: Families whose results are a function of their operands alone.
FAMILIES = [
    "add",
    "carry",
    "mul",
    "mul.wide",
    "mad",
    "madc",
    "mad.wide",
    "mul24",
    "mad24",
    "sad",
    "div",
    "abs",
    "min",
    "popc",
    "bfind",
    "fns",
    "brev",
    "bfe",
    "bfi",
    "szext",
    "bmsk",
    "dp4a",
    "dp2a",
    "fadd",
    "fma",
    "fmad",
    "fdiv",
    "fabs",
    "fmin",
    "rcp",
    "function",
    "copysign",
    "testp",
    "logic",
    "not",
    "lop3",
    "lop3.pred",
    "shift",
    "shf",
    "prmt",
    "selp",
    "slct",
    "setp",
    "setp.q",
    "setp.bool",
    "setp.x2",
    "setp.x2.bool",
    "set",
    "set.bool",
    "cvt",
    "cvt.to16",
    "cvt.pack2",
    "cvt.fp8",
    "cvt.fp8.x2",
    "cvt.from.fp8",
    "cvt.pack",
    "cvt.pack.c",
    "mov",
    "video",
]

OPERANDS = 5  # numbered 2 to 6, as in the statements


def _interesting(type_: str, rng: random.Random) -> int:
    """Bits of a value of a type, at the edges more often than not."""
    size = width(type_)
    if type_.endswith("x2"):
        half = size // 2
        inner = {"u16x2": "u16", "s16x2": "s16"}.get(type_, type_[:-2])
        inner = inner if inner in ef.FORMATS or inner[0] in "us" else "b8"
        return mask(_interesting(inner, rng), half) | mask(_interesting(inner, rng), half) << half
    if type_ in ef.FORMATS:
        f = ef.FORMATS[type_]
        one = f.bias << f.mantissa_bits
        kind = rng.randrange(10)
        if kind == 0:
            code = rng.choice([0, 1, 2, (1 << f.mantissa_bits) - 1, 1 << f.mantissa_bits])
        elif kind == 1:
            code = rng.choice([f.infinity, f.infinity - 1, f.infinity | 1, f.nan, f.infinity + 3])
        elif kind == 2:
            # Halves and integers: ties of rounding to integral values.
            small = ef.Fraction(rng.randrange(0, 1200), 2)
            code = ef.encode(f, ef.Number(False, small))
        elif kind == 3:
            code = rng.getrandbits(f.width - 1)
        elif kind == 4:
            code = ef.encode(
                f, ef.Number(False, ef.Fraction(2) ** rng.choice([7, 8, 15, 16, 31, 32, 63, 64]))
            ) + rng.choice([-1, 0, 1])
        elif kind == 5:
            code = rng.getrandbits(f.mantissa_bits)  # subnormal
        else:
            # Around one, with few bits now and then, so that sums cancel and products are exact.
            spread = rng.randrange(-12, 13) << f.mantissa_bits
            fraction = rng.getrandbits(f.mantissa_bits)
            if rng.random() < 0.3:
                fraction &= -1 << (f.mantissa_bits * 2 // 3)
            code = one + spread + fraction
        return mask(code, f.width - 1) | rng.getrandbits(1) << (f.width - 1)
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice([0, 1, 2, 3, mask(-1, size), mask(-2, size)])
    if kind == 1:
        return mask((1 << (size - 1)) + rng.choice([-1, 0, 1]), size)
    if kind == 2:
        return mask(rng.randrange(-70, 70), size)
    if kind == 3:
        return mask((1 << rng.randrange(size)) + rng.choice([-1, 0, 1]), size)
    return rng.getrandbits(size)


def _operand_type(statement: Statement, position: int) -> str:
    """Whose values an operand takes (position 2 and up)."""
    types = statement.types
    if statement.opcode in ("bfe", "bfi") and position >= (3 if statement.opcode == "bfe" else 4):
        return "b8"
    if statement.opcode in ("shl", "shr", "szext") and position == 3:
        return "b8" if position % 2 else "b32"
    if statement.opcode == "slct":
        return types[1] if position == 4 else types[0]
    return types[-1] if types else "b32"


def _kernel(statements: list[str], threads: int) -> str:
    lines = [
        ".version 8.6",
        ".target sm_90a",
        ".address_size 64",
        ".visible .entry values(.param .u64 p_in, .param .u64 p_out)",
        "{",
        ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<12>; .reg .b64 %d<24>; .reg .b128 %q<8>;",
        "ld.param.u64 %d16, [p_in]; ld.param.u64 %d17, [p_out]; mov.u32 %r9, %tid.x;",
        f"mul.wide.u32 %d18, %r9, {8 * OPERANDS}; add.u64 %d16, %d16, %d18;",
        "mul.wide.u32 %d18, %r9, 16; add.u64 %d17, %d17, %d18;",
        "mov.u64 %d15, 0x5a5a5a5a5a5a5a5a;",
    ]
    for number, text in enumerate(statements):
        # Each statement has operands of its own.
        for k in range(2, 2 + OPERANDS):
            lines.append(
                f"ld.global.b64 %d{k}, [%d16+{8 * (k - 2) + 8 * OPERANDS * threads * number}];"
            )
            lines.append(f"cvt.u32.u64 %r{k}, %d{k}; cvt.u16.u32 %h{k}, %r{k};")
            lines.append(
                f"shr.u64 %d14, %d{k}, 17; and.b64 %d14, %d14, 1; setp.ne.u64 %p{k}, %d14, 0;"
            )
            lines.append(f"mov.b128 %q{k}, {{%d{k}, %d{k}}};" if "%q" in text else "")
        lines.append(
            "cvt.u32.u64 %r1, %d15; mov.u64 %d1, %d15; cvt.u16.u64 %h1, %d15; mov.pred %p1, 0;"
        )
        if "%q" in text:
            lines.append("mov.b128 %q1, {%d15, %d15};")
        if text.startswith("setp"):
            # %p2 may be a second result.
            lines.append("mov.pred %p2, 0;")
        # The carry flag comes from the third operand's predicate.
        lines.append("selp.b32 %r8, 1, 0, %p4; add.cc.u32 %r8, %r8, -1;")
        lines.append(text)
        lines.append("addc.u32 %r8, 0, 0; cvt.u64.u32 %d12, %r8;")
        target = text.split(" ", 1)[1].split(",")[0].split(".")[0]
        if ".cc." not in text:
            lines.append("mov.u64 %d12, 0;")
        store = {
            "%h1": "cvt.u64.u16 %d13, %h1;",
            "%r1": "cvt.u64.u32 %d13, %r1;",
            "%d1": "mov.u64 %d13, %d1;",
            "%q1": "mov.b128 {%d13, %d12}, %q1;",
            "%p1": "selp.u64 %d13, 1, 0, %p1;",
            "%p1|%p2": "selp.u64 %d13, 1, 0, %p1; selp.u64 %d14, 2, 0, %p2; or.b64 %d13, %d13, %d14;",
            "%r1|%p1": "selp.u32 %r8, 1, 0, %p1; mov.b64 %d13, {%r1, %r8};",
        }[target]
        lines.append(store)
        lines.append(f"st.global.v2.b64 [%d17+{16 * threads * number}], {{%d13, %d12}};")
    return "\n".join([*lines, "}"]) + "\n"


def run_statements(statements: list[str], inputs: np.ndarray, directory: Path) -> np.ndarray:
    """Results of every statement and thread: low and high 64 bits."""
    threads = inputs.shape[1]
    (directory / "values.ptx").write_text(_kernel(statements, threads))
    np.save(directory / "in.npy", inputs.reshape(-1))
    spec = {
        "grid": [1, 1, 1],
        "block": [threads, 1, 1],
        "cluster": [1, 1, 1],
        "arrays": {
            "in": {"file": "in.npy"},
            "out": {"dtype": "<u8", "shape": [len(statements) * threads * 2], "out": "out.npy"},
        },
        "args": [{"pointer": "in"}, {"pointer": "out"}],
    }
    (directory / "spec.json").write_text(json.dumps(spec))
    command = [
        str(BUILD / "bin/girih-emu"),
        "values.ptx",
        "--args",
        "spec.json",
        "--entry",
        "values",
    ]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return np.load(directory / "out.npy").reshape(len(statements), threads, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_gives_the_exact_result(family: str, tmp_path: Path) -> None:
    statements = accepted_forms(family, every_form()[family], tmp_path)
    if len(statements) > 2000:
        statements = statements[::7]
    rng = random.Random(family)
    threads = 128 if len(statements) < 200 else 32
    inputs = np.zeros((len(statements), threads, OPERANDS), dtype=np.uint64)
    for n, text in enumerate(statements):
        statement = Statement(text)
        for t in range(threads):
            for k in range(OPERANDS):
                value = _interesting(_operand_type(statement, k + 2), rng)
                # What lies above the type must not matter.
                size = width(_operand_type(statement, k + 2))
                inputs[n, t, k] = mask(value | rng.getrandbits(64) << min(size, 64), 64)
    results = run_statements(statements, inputs, tmp_path)
    wrong = []
    for n, text in enumerate(statements):
        statement = Statement(text)
        # The number in an operand's name says which value it has.
        numbers = [re.findall(r"%([hrdqp])(\d)", o) for o in statement.operands[1:]]
        registers = [(c, int(i)) for found in numbers for c, i in found]
        for t in range(threads):
            raw = [int(v) for v in inputs[n, t]]
            values = [
                raw[i - 2] | (raw[i - 2] << 64 if c == "q" else 0) for c, i in registers if c != "p"
            ]
            predicates = [raw[i - 2] >> 17 & 1 for c, i in registers if c == "p"]
            carry = raw[2] >> 17 & 1
            answer = expected(text, values, predicates, carry)
            got = int(results[n, t, 0]) | int(results[n, t, 1]) << 64
            if not (answer(got) if callable(answer) else _same(answer, got, statement)):
                shown = "no such result" if callable(answer) else hex(answer)
                wrong.append(
                    f"{text} of {[hex(v) for v in values]} p={predicates} carry={carry}: {hex(got)}, expected {shown}"
                )
                break
    assert not wrong, f"{len(wrong)} of {len(statements)} forms:\n" + "\n".join(wrong[:20])


def _same(answer: int, got: int, statement: Statement) -> bool:
    """Bits beyond the destination's type are its extension; the store zero-extends registers."""
    target = statement.operands[0].split(".")[0]
    size = {"%h1": 16, "%r1": 32, "%d1": 64}.get(target, 128)
    if ".cc" in statement.text:
        return got == answer
    return got == mask(answer, size)
