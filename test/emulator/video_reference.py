# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a video statement must give (PTX ISA 9.0, 9.7.18), in Python's integers."""

from __future__ import annotations

import re

COMPARE = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}


def _extend(bits: int, size: int, is_signed: bool) -> int:
    bits &= (1 << size) - 1
    return bits - (1 << size) if is_signed and bits >> (size - 1) else bits


def _part(bits: int, name: str, is_signed: bool) -> int:
    if not name:
        return _extend(bits, 32, is_signed)
    size = {"b": 8, "h": 16}[name[0]]
    return _extend(bits >> size * int(name[1]), size, is_signed)


def _clamp(value: int, size: int, is_signed: bool) -> int:
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if is_signed else (0, (1 << size) - 1)
    return max(low, min(high, value))


def _operation(opcode: str, mods: list[str], a: int, b: int) -> int:
    if opcode == "vset":
        compare = next(m for m in mods if m in COMPARE)
        return int(COMPARE[compare](a, b))
    if opcode in ("vshl", "vshr"):
        amount = b % 32 if "wrap" in mods else min(b, 32)
        return a << amount if opcode == "vshl" else a >> amount
    total = a + b
    return {
        "vadd": total,
        "vsub": a - b,
        "vabsdiff": abs(a - b),
        "vmin": min(a, b),
        "vmax": max(a, b),
        "vavrg": (total + 1) // 2 if total >= 0 else total // 2,
    }[opcode]


def video(text: str, values: list[int]) -> int:
    name, operands = text.rstrip(";").split(" ", 1)
    opcode, *mods = name.split(".")
    words = [re.fullmatch(r"\s*(-?)%r\d(?:\.(\w+))?", w) for w in operands.split(",")]
    parts = [(w[2] or "", bool(w[1])) for w in words if w]
    types = [m for m in mods if m in ("u32", "s32")]
    signs = [t == "s32" for t in types]
    signed_d, signed_a, signed_b = signs if len(signs) == 3 else (False, *signs)
    a, b, c = [v & 0xFFFFFFFF for v in [*values, 0]][:3]
    second = next((m for m in mods if m in ("add", "min", "max")), None)
    if opcode == "vmad":
        return _mad(mods, parts, signed_a, signed_b, a, b, c)
    if opcode[-1] in "24":
        return _packed(opcode, mods, parts, (signed_d, signed_a, signed_b), a, b, c)
    t = _operation(opcode, mods, _part(a, parts[1][0], signed_a), _part(b, parts[2][0], signed_b))
    merge = parts[0][0]
    size = {"b": 8, "h": 16}[merge[0]] if merge else 32
    if "sat" in mods:
        t = _clamp(t, size, signed_d)
    if second:
        t, c = _extend(t, 32, signed_d), _extend(c, 32, signed_d)
        return {"add": t + c, "min": min(t, c), "max": max(t, c)}[second] & 0xFFFFFFFF
    if merge:
        shift = size * int(merge[1])
        field = ((1 << size) - 1) << shift
        return (t << shift & field) | (c & ~field)
    return t & 0xFFFFFFFF


def _mad(mods, parts, signed_a: bool, signed_b: bool, a: int, b: int, c: int) -> int:
    negate_a, negate_b, negate_c = (p[1] for p in parts[1:4])
    negated = negate_a != negate_b
    is_signed = signed_a or signed_b or negated or negate_c
    t = _part(a, parts[1][0], signed_a) * _part(b, parts[2][0], signed_b)
    if "po" in mods:
        t += _extend(c, 32, is_signed) + 1
    elif negated:
        t = -t + _extend(c, 32, is_signed)
    elif negate_c:
        t += _extend(~c, 32, is_signed) + 1
    else:
        t += _extend(c, 32, is_signed)
    t >>= 7 if "shr7" in mods else 15 if "shr15" in mods else 0
    if "sat" in mods:
        t = _clamp(t, 32, is_signed)
    return t & 0xFFFFFFFF


def _packed(opcode, mods, parts, signs, a: int, b: int, c: int) -> int:
    count = int(opcode[-1])
    size = 32 // count
    signed_d, signed_a, signed_b = signs
    pool = [x >> size * i & ((1 << size) - 1) for x in (a, b) for i in range(count)]
    default = ("h10", "h32") if count == 2 else ("b3210", "b7654")
    first, second = (parts[i + 1][0] or default[i] for i in range(2))
    mask = parts[0][0] or default[0]
    result = c if "add" in mods else 0
    for i in range(count):
        t = _operation(
            opcode[:-1],
            mods,
            _extend(pool[int(first[count - i])], size, signed_a),
            _extend(pool[int(second[count - i])], size, signed_b),
        )
        if "sat" in mods:
            t = _clamp(t, size, signed_d)
        chosen = str(i) in mask[1:]
        if "add" in mods:
            result += t if chosen else 0
        else:
            field = ((1 << size) - 1) << size * i
            result |= t << size * i & field if chosen else c & field
    return result & 0xFFFFFFFF
