# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every spelling of a scalar instruction that PTX could have: opcode, modifiers in the order of the
PTX ISA's syntax, operands by type. Far more than exists; the pinned ptxas says which do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

#: Registers by type; untyped ones, which fit every type of their size.
_REGISTER = {
    "pred": "%p",
    "b8": "%h",
    "u8": "%h",
    "s8": "%h",
    "b16": "%h",
    "u16": "%h",
    "s16": "%h",
    "f16": "%h",
    "bf16": "%h",
    "e4m3x2": "%h",
    "e5m2x2": "%h",
    "b64": "%d",
    "u64": "%d",
    "s64": "%d",
    "f64": "%d",
    "f32x2": "%d",
    "b128": "%q",
}

INTEGERS = ["u16", "s16", "u32", "s32", "u64", "s64"]
EVERY_INTEGER = ["u8", "s8", *INTEGERS]
BITS = ["b16", "b32", "b64"]
ROUND = ["", "rn", "rz", "rm", "rp"]
FLOATS = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
UNORDERED = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def register(type_: str, index: int) -> str:
    return f"{_REGISTER.get(type_, '%r')}{index}"


@dataclass(frozen=True)
class Family:
    """Instructions of one shape: `slots` are the alternatives of each modifier ("" for none).

    `operands` names a type for each operand: a type, "=N" for the type in modifier slot N from the
    end, "wide" for twice the width of the last slot, or literal text after a quote mark.
    """

    name: str
    opcodes: list[str]
    slots: list[list[str]]
    operands: list[str]

    def __iter__(self) -> Iterator[str]:
        for opcode in self.opcodes:
            for choice in itertools.product(*self.slots):
                modifiers = "".join("." + m for m in choice if m)
                words = [self._operand(o, choice, i + 1) for i, o in enumerate(self.operands)]
                yield f"{opcode}{modifiers} {', '.join(words)};"

    def _operand(self, what: str, choice: tuple[str, ...], index: int) -> str:
        if what[0] == "'":
            return what[1:]
        if what[0] == "=":
            return register(choice[-int(what[1:])], index)
        if what == "wide":
            twice = {"16": "b32", "32": "b64", "64": "b128"}
            return register(twice[choice[-1][-2:]], index)
        return register(what, index)


def _families() -> list[Family]:
    f = Family
    same = ["=1"]
    packed = ["u16x2", "s16x2", "u8x4", "s8x4"]
    rows = [
        f("add", ["add", "sub"], [["", "sat"], ["", "cc"], INTEGERS + packed], same * 3),
        f("carry", ["addc", "subc"], [["", "cc"], INTEGERS], same * 3),
        f("mul", ["mul"], [["", "lo", "hi"], INTEGERS], same * 3),
        f("mul.wide", ["mul"], [["wide"], INTEGERS], ["wide", "=1", "=1"]),
        f("mad", ["mad"], [["", "lo", "hi"], ["", "sat"], ["", "cc"], INTEGERS], same * 4),
        f("madc", ["madc"], [["", "lo", "hi"], ["", "cc"], INTEGERS], same * 4),
        f("mad.wide", ["mad"], [["wide"], INTEGERS], ["wide", "=1", "=1", "wide"]),
        f("mul24", ["mul24"], [["", "lo", "hi"], INTEGERS], same * 3),
        f("mad24", ["mad24"], [["", "lo", "hi"], ["", "sat"], INTEGERS], same * 4),
        f("sad", ["sad"], [INTEGERS], same * 4),
        f("div", ["div", "rem"], [INTEGERS], same * 3),
        f("abs", ["abs", "neg"], [INTEGERS], same * 2),
        f("min", ["min", "max"], [["", "relu"], INTEGERS + packed], same * 3),
        f("popc", ["popc", "clz"], [BITS], ["b32", "=1"]),
        f("bfind", ["bfind"], [["", "shiftamt"], INTEGERS + BITS], ["b32", "=1"]),
        f("fns", ["fns"], [["b32", "b64"]], same * 4),
        f("brev", ["brev"], [BITS], same * 2),
        f("bfe", ["bfe"], [INTEGERS + BITS], ["=1", "=1", "b32", "b32"]),
        f("bfi", ["bfi"], [BITS + INTEGERS], ["=1", "=1", "=1", "b32", "b32"]),
        f("szext", ["szext"], [["", "clamp", "wrap"], ["u32", "s32", "b32"]], same * 3),
        f("bmsk", ["bmsk"], [["", "clamp", "wrap"], ["b32", "u32"]], same * 3),
        f("dp4a", ["dp4a"], [["u32", "s32"], ["u32", "s32"]], ["b32"] * 4),
        f("dp2a", ["dp2a"], [["", "lo", "hi"], ["u32", "s32"], ["u32", "s32"]], ["b32"] * 4),
        # Floating point.
        f("fadd", ["add", "sub", "mul"], [ROUND, ["", "ftz"], ["", "sat"], FLOATS], same * 3),
        f(
            "fma",
            ["fma"],
            [ROUND, ["", "ftz"], ["", "sat"], ["", "oob"], ["", "relu"], FLOATS],
            same * 4,
        ),
        f("fmad", ["mad"], [ROUND, ["", "ftz"], ["", "sat"], FLOATS], same * 4),
        f("fdiv", ["div"], [[*ROUND, "approx", "full"], ["", "ftz"], FLOATS], same * 3),
        f("fabs", ["abs", "neg"], [["", "ftz"], FLOATS], same * 2),
        f(
            "fmin",
            ["min", "max"],
            [["", "ftz"], ["", "NaN"], ["", "xorsign.abs", "abs"], FLOATS],
            same * 3,
        ),
        f("fmin3", ["min", "max"], [["", "ftz"], ["", "NaN"], ["", "abs"], FLOATS], same * 4),
        f("rcp", ["rcp", "sqrt", "rsqrt"], [[*ROUND, "approx"], ["", "ftz"], FLOATS], same * 2),
        f(
            "function",
            ["sin", "cos", "lg2", "ex2", "tanh"],
            [["", "approx"], ["", "ftz"], FLOATS],
            same * 2,
        ),
        f("copysign", ["copysign"], [FLOATS], same * 3),
        f(
            "testp",
            ["testp"],
            [["finite", "infinite", "number", "notanumber", "normal", "subnormal"], FLOATS],
            ["pred", "=1"],
        ),
        f(
            "mixed",
            ["add", "sub"],
            [ROUND, ["", "sat"], ["f32"], ["f16", "bf16"]],
            ["f32", "=1", "f32"],
        ),
        f(
            "mixed.fma",
            ["fma"],
            [ROUND, ["", "sat"], ["f32"], ["f16", "bf16"]],
            ["f32", "=1", "=1", "f32"],
        ),
        # Logic.
        f("logic", ["and", "or", "xor"], [["pred", *BITS, "b128", "u32"]], same * 3),
        f("not", ["not", "cnot"], [["pred", *BITS, "u32"]], same * 2),
        f("lop3", ["lop3"], [BITS], ["=1", "=1", "=1", "=1", "'0x1b"]),
        f(
            "lop3.pred",
            ["lop3"],
            [["or", "and"], ["b32"]],
            ["'%r1|%p1", *["b32"] * 3, "'7", "pred"],
        ),
        f("lop3.sink", ["lop3"], [["or", "and"], ["b32"]], ["'_|%p1", *["b32"] * 3, "'7", "pred"]),
        f("shift", ["shl", "shr"], [BITS + EVERY_INTEGER], ["=1", "=1", "b32"]),
        f(
            "shf",
            ["shf"],
            [["l", "r"], ["", "clamp", "wrap"], ["b32", "b64"]],
            ["=1"] * 3 + ["b32"],
        ),
        f(
            "prmt",
            ["prmt"],
            [["b32"], ["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]],
            ["b32"] * 4,
        ),
        # Comparison and selection.
        f(
            "selp",
            ["selp"],
            [[*BITS, *INTEGERS, "f16", "bf16", "f32", "f64", "b128"]],
            same * 3 + ["pred"],
        ),
        f(
            "slct",
            ["slct"],
            [["", "ftz"], [*BITS, *INTEGERS, "f16", "f32", "f64"], ["s32", "f32", "u32", "f64"]],
            ["=2", "=2", "=2", "=1"],
        ),
    ]
    sources = [*BITS, *INTEGERS, "f16", "bf16", "f32", "f64"]
    compare = COMPARE + UNORDERED
    rows += [
        f("setp", ["setp"], [compare, ["", "ftz"], sources], ["pred", "=1", "=1"]),
        f("setp.q", ["setp"], [compare, ["", "ftz"], sources], ["'%p1|%p2", "=1", "=1"]),
        f(
            "setp.bool",
            ["setp"],
            [compare, ["and", "or", "xor"], ["", "ftz"], sources],
            ["'%p1|%p2", "=1", "=1", "'!%p3"],
        ),
        f(
            "setp.x2",
            ["setp"],
            [compare, ["", "ftz"], ["f16x2", "bf16x2"]],
            ["'%p1|%p2", "=1", "=1"],
        ),
        f(
            "setp.x2.bool",
            ["setp"],
            [compare, ["and"], ["", "ftz"], ["f16x2", "bf16x2"]],
            ["'%p1|%p2", "=1", "=1", "pred"],
        ),
        f(
            "set",
            ["set"],
            [
                compare,
                ["", "ftz"],
                ["u32", "s32", "f32", "u16", "s16", "f16", "bf16", "f16x2", "bf16x2"],
                [*sources, "f16x2", "bf16x2"],
            ],
            ["=2", "=1", "=1"],
        ),
        f(
            "set.bool",
            ["set"],
            [
                ["eq", "ltu", "hi"],
                ["and", "or", "xor"],
                ["", "ftz"],
                ["u32", "s32", "f32", "u16", "s16", "f16", "bf16", "f16x2", "bf16x2"],
                [*sources, "f16x2", "bf16x2"],
            ],
            ["=2", "=1", "=1", "'!%p3"],
        ),
    ]
    # Conversion.
    scalar = [*EVERY_INTEGER, "f16", "bf16", "f32", "f64"]
    rounding = ["", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"]
    rows += [
        f("cvt", ["cvt"], [rounding, ["", "ftz"], ["", "sat"], scalar, scalar], ["=2", "=1"]),
        f(
            "cvt.to16",
            ["cvt"],
            [
                ["rn", "rz", "rna", "rm"],
                ["", "relu"],
                ["", "satfinite"],
                ["f16", "bf16", "tf32"],
                ["f32", "f16", "bf16"],
            ],
            ["=2", "=1"],
        ),
        f(
            "cvt.pack2",
            ["cvt"],
            [["rn", "rz", "rna"], ["", "relu"], ["", "satfinite"], ["f16x2", "bf16x2"], ["f32"]],
            ["=2", "b32", "b32"],
        ),
        f(
            "cvt.fp8",
            ["cvt"],
            [["rn", "rz"], ["", "satfinite"], ["", "relu"], ["e4m3x2", "e5m2x2"], ["f32"]],
            ["=2", "b32", "b32"],
        ),
        f(
            "cvt.fp8.x2",
            ["cvt"],
            [
                ["rn", "rz"],
                ["", "satfinite"],
                ["", "relu"],
                ["e4m3x2", "e5m2x2"],
                ["f16x2", "bf16x2"],
            ],
            ["=2", "=1"],
        ),
        f(
            "cvt.from.fp8",
            ["cvt"],
            [
                ["rn", "rz", ""],
                ["", "relu"],
                ["", "satfinite"],
                ["f16x2", "bf16x2", "f32"],
                ["e4m3x2", "e5m2x2"],
            ],
            ["=2", "=1"],
        ),
        f("cvt.pack", ["cvt.pack"], [["sat"], ["u16", "s16"], ["s32", "u32"]], ["b32"] * 3),
        f(
            "cvt.pack.c",
            ["cvt.pack"],
            [["sat"], ["u2", "s2", "u4", "s4", "u8", "s8", "u16"], ["s32"], ["b32"]],
            ["b32"] * 4,
        ),
    ]
    spaces = [
        "",
        "const",
        "global",
        "local",
        "shared",
        "shared::cta",
        "shared::cluster",
        "param",
        "param::entry",
    ]
    rows += [
        f("cvta", ["cvta"], [["", "to"], spaces, ["u64"]], same * 2),
        f("isspacep", ["isspacep"], [spaces], ["pred", "b64"]),
    ]
    # Moves.
    rows += [
        f(
            "mov",
            ["mov"],
            [["pred", *BITS, "b128", *EVERY_INTEGER, "f16", "f16x2", "bf16", "f32", "f64"]],
            same * 2,
        ),
        f("mov.pack", ["mov"], [["b32", "b64"]], ["=1", "'{%h1, %h2}"]),
        f("mov.pack8", ["mov"], [["b16", "b32"]], ["=1", "'{%c1, %c2}"]),
        f("mov.pack8x4", ["mov"], [["b32"]], ["=1", "'{%c1, %c2, %c3, %c4}"]),
        f("mov.pack4", ["mov"], [["b64"]], ["=1", "'{%h1, %h2, %h3, %h4}"]),
        f("mov.pack32", ["mov"], [["b64"]], ["=1", "'{%r1, %r2}"]),
        f("mov.pack32x4", ["mov"], [["b128"]], ["=1", "'{%r1, %r2, %r3, %r4}"]),
        f("mov.pack64", ["mov"], [["b128"]], ["=1", "'{%d1, %d2}"]),
        f("mov.unpack8", ["mov"], [["b16", "b32"]], ["'{%c1, %c2}", "=1"]),
        f("mov.unpack8x4", ["mov"], [["b32"]], ["'{%c1, %c2, %c3, %c4}", "=1"]),
        f("mov.unpack16", ["mov"], [["b32"]], ["'{%h1, _}", "=1"]),
        f("mov.unpack4", ["mov"], [["b64"]], ["'{%h1, %h2, %h3, %h4}", "=1"]),
        f("mov.unpack32", ["mov"], [["b64"]], ["'{_, %r2}", "=1"]),
        f("mov.unpack32x4", ["mov"], [["b128"]], ["'{%r1, %r2, %r3, %r4}", "=1"]),
        f("mov.unpack64", ["mov"], [["b128"]], ["'{%d1, %d2}", "=1"]),
        f("mapa", ["mapa"], [["", "shared::cluster"], ["u32", "u64"]], ["=1", "=1", "b32"]),
        f("getctarank", ["getctarank"], [["", "shared::cluster"], ["u32", "u64"]], ["b32", "=1"]),
    ]
    # Lanes of a warp.
    shuffle = ["up", "down", "bfly", "idx"]
    rows += [
        f(
            "shfl",
            ["shfl"],
            [["", "sync"], shuffle, ["b32", "b64"]],
            ["=1", "=1", "b32", "b32", "b32"],
        ),
        f("shfl.old", ["shfl"], [shuffle, ["b32"]], ["=1", "=1", "b32", "b32"]),
        f("shfl.p", ["shfl"], [["sync"], shuffle, ["b32"]], ["'%r1|%p1", "=1", "'1", "'31", "'-1"]),
        f(
            "vote",
            ["vote"],
            [["", "sync"], ["all", "any", "uni"], ["pred"]],
            ["pred", "'!%p2", "b32"],
        ),
        f("ballot", ["vote"], [["", "sync"], ["ballot"], ["b32"]], ["b32", "'!%p2", "b32"]),
        f("vote.old", ["vote"], [["all", "any", "uni"], ["pred"]], ["pred", "pred"]),
        f("match.any", ["match"], [["any"], ["sync"], ["b32", "b64"]], ["b32", "=1", "b32"]),
        f("match.all", ["match"], [["all"], ["sync"], ["b32", "b64"]], ["b32", "=1", "b32"]),
        f("match.all.p", ["match"], [["all"], ["sync"], ["b32", "b64"]], ["'%r1|%p1", "=1", "b32"]),
        f(
            "redux",
            ["redux"],
            [
                ["sync"],
                ["add", "min", "max", "and", "or", "xor"],
                ["", "abs"],
                ["", "NaN"],
                ["u32", "s32", "b32", "f32"],
            ],
            ["b32"] * 3,
        ),
        f("elect", ["elect"], [["sync"]], ["'%r1|%p1", "b32"]),
        f("elect.sink", ["elect"], [["sync"]], ["'_|%p1", "'-1"]),
        f("activemask", ["activemask"], [["b32", "u32"]], ["b32"]),
        f("warp.sync", ["bar.warp"], [["sync"]], ["b32"]),
    ]
    # Video (scalar, two and four at a time).
    half = ["", "b0", "h1"]
    pair = ["u32", "s32"]
    ops = ["", "add", "min"]
    for opcode in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"]:
        for a, b, d in itertools.product(half, half, half):
            text = [
                f"%r1{'.' + d if d else ''}",
                f"%r2{'.' + a if a else ''}",
                f"%r3{'.' + b if b else ''}",
            ]
            slots = [pair, pair, pair, ["", "sat"], ops]
            rows.append(f("video", [opcode], slots[:4], ["'" + t for t in text]))
            rows.append(
                f(
                    "video",
                    [opcode],
                    [*slots[:4], ["add", "min", "max"]],
                    ["'" + t for t in text] + ["b32"],
                )
            )
            if d:
                rows.append(f("video", [opcode], slots[:4], ["'" + t for t in text] + ["b32"]))
    for opcode in ["vshl", "vshr"]:
        rows.append(
            f(
                "video",
                [opcode],
                [pair, ["u32"], pair, ["", "sat"], ["", "clamp", "wrap"], ["", "add"]],
                ["b32"] * 3,
            )
        )
        rows.append(
            f(
                "video",
                [opcode],
                [pair, pair, ["u32"], ["", "sat"], ["", "clamp", "wrap"]],
                ["b32"] * 3,
            )
        )
        rows.append(
            f(
                "video",
                [opcode],
                [pair, pair, ["u32"], ["", "sat"], ["", "clamp", "wrap"], ["add", "min", "max"]],
                ["b32"] * 4,
            )
        )
    rows += [
        f(
            "video",
            ["vmad"],
            [pair, pair, pair, ["", "sat"], ["", "shr7", "shr15"]],
            ["'%r1", f"'{a}", f"'{b}", f"'{c}"],
        )
        for a, b, c in [("%r2", "%r3", "%r4"), ("-%r2.b0", "%r3.h1", "%r4"), ("%r2", "%r3", "-%r4")]
    ]
    rows += [
        f(
            "video",
            ["vmad"],
            [pair, pair, pair, ["po"], ["", "sat"], ["", "shr7", "shr15"]],
            ["b32"] * 4,
        ),
        f(
            "video",
            ["vset"],
            [pair, pair, ["eq", "ne", "lt", "le", "gt", "ge"]],
            ["b32", "'%r2.b3", "'%r3.h0"],
        ),
        f("video", ["vset"], [pair, pair, ["eq", "lt"], ["add", "min", "max"]], ["b32"] * 4),
    ]
    for n, selectors in (
        (2, ["", ".h10", ".h33", ".h02"]),
        (4, ["", ".b3210", ".b7070", ".b4567"]),
    ):
        simd = ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"]
        compare = ["eq", "ne", "lt", "le", "gt", "ge"]
        masks = ["", ".h1", ".h10"] if n == 2 else ["", ".b2", ".b310"]
        for d, a, b in itertools.product(masks, selectors, selectors):
            text = [f"'%r1{d}", f"'%r2{a}", f"'%r3{b}", "b32"]
            plain = not (d or a or b)
            types = pair if plain else ["s32"]
            rows.append(
                f(
                    "video",
                    [f"{o}{n}" for o in simd],
                    [types, types, types, ["", "sat"], ["", "add"]],
                    text,
                )
            )
            rows.append(
                f(
                    "video",
                    [f"vset{n}"],
                    [types, types, compare if plain else ["lt"], ["", "add"]],
                    text,
                )
            )
    return rows


FAMILIES = _families()

HEADER = """.version 9.3
.target sm_90a
.address_size 64
.visible .entry forms()
{
.reg .pred %p<8>; .reg .b8 %c<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b128 %q<8>;
"""


def module(lines: list[str]) -> str:
    """One statement a line, so that a message's line number names it."""
    return HEADER + "\n".join(lines) + "\n}\n"


FIRST_LINE = HEADER.count("\n") + 1


def every_form() -> dict[str, list[str]]:
    """Statements by the name of their family."""
    result: dict[str, list[str]] = {}
    for family in FAMILIES:
        result.setdefault(family.name, []).extend(family)
    return {name: list(dict.fromkeys(lines)) for name, lines in result.items()}
