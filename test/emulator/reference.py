# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a scalar statement must give, from the text of the PTX ISA, in Python's integers and exact
fractions.

`expected(statement, values, predicates, carry)` takes the 64 bits behind each operand (by the
number in its name) and answers with the bits of the result, or with a function that judges them
where the ISA leaves freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import exact_floats as ef
from video_reference import video

Answer = int | Callable[[int], bool]

WIDTH = {"pred": 1, "b128": 128, "tf32": 32}
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
COMPARE += ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
TYPES = [f"{kind}{size}" for kind in "bus" for size in (2, 4, 8, 16, 32, 64)]
TYPES += ["pred", "b128", "f16", "bf16", "f32", "f64", "tf32", "f16x2", "bf16x2", "u16x2", "s16x2"]
TYPES += ["e4m3x2", "e5m2x2"]


def width(type_: str) -> int:
    if type_ in WIDTH:
        return WIDTH[type_]
    if type_.endswith("x2"):
        return 2 * width(type_[:-2].replace("e4m3", "b8").replace("e5m2", "b8"))
    return int("".join(c for c in type_ if c.isdigit())[-2:])


def mask(bits: int, size: int) -> int:
    return bits & ((1 << size) - 1)


def signed(bits: int, size: int) -> int:
    bits = mask(bits, size)
    return bits - (1 << size) if bits >> (size - 1) else bits


def integer(bits: int, type_: str) -> int:
    size = width(type_)
    return signed(bits, size) if type_[0] == "s" else mask(bits, size)


def clamp(value: int, type_: str) -> int:
    size = width(type_)
    low, high = (
        (-(1 << (size - 1)), (1 << (size - 1)) - 1) if type_[0] == "s" else (0, (1 << size) - 1)
    )
    return max(low, min(high, value))


def halves(bits: int, size: int = 16) -> list[int]:
    return [mask(bits, size), mask(bits >> size, size)]


def joined(parts: list[int], size: int = 16) -> int:
    return mask(parts[0], size) | mask(parts[1], size) << size


class Statement:
    def __init__(self, text: str) -> None:
        name, operands = text.rstrip(";").split(" ", 1)
        self.text = text
        self.opcode, *self.mods = name.split(".")
        self.operands = [o.strip() for o in operands.split(",")]
        self.types = [m for m in self.mods if m in TYPES]

    def has(self, *names: str) -> bool:
        return any(n in self.mods for n in names)

    def which(self, names: list[str]) -> str | None:
        return next((n for n in names if n in self.mods), None)


# Integers


def _truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def _arithmetic(s: Statement, values: list[int], carry: int) -> int:
    type_ = s.types[-1]
    size = width(type_)
    a, b, c = ([integer(v, type_) for v in values] + [0, 0])[:3]
    if s.opcode in ("add", "addc", "sub", "subc"):
        carry_in = carry if s.opcode.endswith("c") else 0
        u, v = mask(a, size), mask(b, size)
        exact = u + v + carry_in if s.opcode[0] == "a" else u - v - carry_in
        if s.has("sat"):
            return mask(clamp(a + b if s.opcode == "add" else a - b, type_), size)
        out = mask(exact, size)
        return out | (exact != out) << 64 if s.has("cc") else out
    if s.opcode in ("mul", "mad", "madc", "mul24", "mad24"):
        if "24" in s.opcode:
            a, b = (signed(v, 24) if type_[0] == "s" else mask(v, 24) for v in (a, b))
        product = a * b
        if s.has("wide"):
            wide = 2 * size
            addend = values[2] if s.opcode == "mad" else 0
            return mask(product + addend, wide)
        if s.has("hi"):
            product >>= 16 if "24" in s.opcode else size
        if s.opcode in ("mul", "mul24"):
            return mask(product, size)
        if s.has("sat"):
            return mask(clamp(signed(product, size) + c, type_), size)
        exact = mask(product, size) + mask(c, size) + (carry if s.opcode == "madc" else 0)
        out = mask(exact, size)
        return out | (exact != out) << 64 if s.has("cc") else out
    if s.opcode == "sad":
        return mask(c + abs(a - b), size)
    if s.opcode == "div":
        return mask(_truncated(a, b) if b else -1, size)
    if s.opcode == "rem":
        return mask(a - b * _truncated(a, b) if b else a, size)
    if s.opcode in ("abs", "neg"):
        return mask(abs(a) if s.opcode == "abs" else -a, size)
    result = min(a, b) if s.opcode == "min" else max(a, b)
    return mask(max(result, 0) if s.has("relu") else result, size)


def _bits(s: Statement, v: list[int]) -> int:
    type_ = s.types[-1]
    size = width(type_)
    a = mask(v[0], size)
    if s.opcode == "popc":
        return a.bit_count()
    if s.opcode == "clz":
        return size - a.bit_length()
    if s.opcode == "brev":
        return int(f"{a:0{size}b}"[::-1], 2)
    if s.opcode == "bfind":
        if type_[0] == "s" and a >> (size - 1):
            a = mask(~a, size)
        if a == 0:
            return 0xFFFFFFFF
        at = a.bit_length() - 1
        return size - 1 - at if s.has("shiftamt") else at
    if s.opcode == "bfe":
        position, length = v[1] & 0xFF, v[2] & 0xFF
        sign = 0
        if type_[0] == "s" and length:
            sign = a >> min(position + length - 1, size - 1) & 1
        bits = [
            a >> (position + i) & 1 if i < length and position + i < size else sign
            for i in range(size)
        ]
        return sum(bit << i for i, bit in enumerate(bits))
    if s.opcode == "bfi":
        result, position, length = mask(v[1], size), v[2] & 0xFF, v[3] & 0xFF
        for i in range(length):
            if position + i < size:
                at = 1 << (position + i)
                result = result & ~at | (a >> i & 1) * at
        return result
    b = mask(v[1], 32)
    if s.opcode == "szext":
        count = b & 31
        if s.has("clamp") and b >= 32:
            return a
        field = mask(a, count)
        return mask(signed(field, count), 32) if type_ == "s32" and count else field
    if s.opcode == "bmsk":
        if s.has("clamp"):
            a, b = min(a, 32), min(b, 32)
        else:
            a, b = a & 31, b & 31
        return mask(((1 << b) - 1) << a, 32)
    if s.opcode == "fns":
        offset, base = signed(v[2], 32), b
        if base > 31:
            return 0xFFFFFFFF  # undefined
        if offset == 0:
            return base if a >> base & 1 else 0xFFFFFFFF
        order = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [i for i in order if a >> i & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF
    # dp4a and dp2a
    first, second = s.types
    total = mask(v[2], 32)
    if s.opcode == "dp4a":
        for i in range(4):
            total += integer(v[0] >> 8 * i, first[0] + "8") * integer(
                v[1] >> 8 * i, second[0] + "8"
            )
    else:
        start = 16 if s.has("hi") else 0
        for i in range(2):
            byte = v[1] >> (start + 8 * i)
            total += integer(v[0] >> 16 * i, first[0] + "16") * integer(byte, second[0] + "8")
    return mask(total, 32)


def _logic(s: Statement, v: list[int], p: list[int]) -> int:
    type_ = s.types[-1]
    size = width(type_)
    if type_ == "pred":
        v = p
    a, b = mask(v[0], size), mask(v[1], size) if len(v) > 1 else 0
    if s.opcode in ("and", "or", "xor"):
        return {"and": a & b, "or": a | b, "xor": a ^ b}[s.opcode]
    if s.opcode == "not":
        return mask(~a, size)
    if s.opcode == "cnot":
        return int(a == 0)
    if s.opcode in ("shl", "shr"):
        amount = min(mask(v[1], 32), size)
        value = integer(v[0], type_)
        return mask(value << amount if s.opcode == "shl" else value >> amount, size)
    if s.opcode == "shf":
        amount = mask(v[2], 32)
        amount = amount & 31 if s.has("wrap") else min(amount, 32)
        both = mask(v[1], 32) << 32 | a
        return mask(both << amount >> 32 if s.has("l") else both >> amount, 32)
    if s.opcode == "lop3":
        table = int(s.operands[4], 0)
        c = mask(v[2], 32)
        result = 0
        for i in range(32):
            row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)
            result |= (table >> row & 1) << i
        if s.has("or", "and"):
            found = result != 0
            combined = found or p[0] if s.has("or") else found and p[0]
            return result | int(bool(combined)) << 32
        return result
    # prmt
    pool = [x >> 8 * i & 0xFF for x in (a, b) for i in range(4)]
    c = mask(v[2], 32)
    mode = s.which(["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
    low = c & 3
    rows = {
        "f4e": [low + i for i in range(4)],
        "b4e": [(low - i) % 8 for i in range(4)],
        "rc8": [low] * 4,
        "ecl": [max(low, i) for i in range(4)],
        "ecr": [min(low, i) for i in range(4)],
        "rc16": [2 * (low & 1) + (i & 1) for i in range(4)],
    }
    result = 0
    for i in range(4):
        if mode:
            byte = pool[rows[mode][i]]
        else:
            nibble = c >> 4 * i & 15
            byte = pool[nibble & 7]
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


# Comparison


def _holds(name: str, a: ef.Number | int, b: ef.Number | int) -> bool:
    name = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(name, name)
    if isinstance(a, ef.Number) and isinstance(b, ef.Number):
        if a.nan or b.nan:
            return name in ("equ", "neu", "ltu", "leu", "gtu", "geu", "nan")
        if name in ("num", "nan"):
            return name == "num"
        a, b = (
            x.value if not x.infinite else (-1 if x.negative else 1) * Fraction(1 << 2000)
            for x in (a, b)
        )
        name = name.removesuffix("u")
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[name]


def flushed(f: ef.Format, code: int) -> int:
    exponent = f.infinity
    return code & (1 << (f.width - 1)) if code & exponent == 0 else code


def _comparison(s: Statement, v: list[int], p: list[int]) -> int:
    type_ = s.types[-1]
    name = s.which(COMPARE)
    assert name
    packed = type_.endswith("x2")
    element = type_.removesuffix("x2")
    pairs = zip(halves(v[0]), halves(v[1]), strict=True) if packed else [(v[0], v[1])]

    def value(bits: int) -> ef.Number | int:
        if element not in ef.FORMATS:
            return integer(bits, element)
        f = ef.FORMATS[element]
        bits = mask(bits, f.width)
        return ef.decode(f, flushed(f, bits) if s.has("ftz") and element != "f64" else bits)

    def combined(t: bool) -> bool:
        op = s.which(["and", "or", "xor"])
        if op is None:
            return t
        c = bool(p[0]) != s.operands[3].startswith("!")
        return {"and": t and c, "or": t or c, "xor": t != c}[op]

    raw = [_holds(name, value(a), value(b)) for a, b in pairs]
    results = [combined(t) for t in raw]
    if s.opcode == "setp":
        if packed:
            return results[0] | results[1] << 1
        second = combined(not raw[0]) if "|" in s.operands[0] else False
        return results[0] | second << 1
    to = s.types[0]
    true = {
        "f32": 0x3F800000,
        "f16": 0x3C00,
        "bf16": 0x3F80,
        "f16x2": 0x3C00,
        "bf16x2": 0x3F80,
    }.get(to)
    if packed:
        return joined([r * (true or 0xFFFF) for r in results])
    return results[0] * (true or (1 << width(to)) - 1)


def _selection(s: Statement, v: list[int], p: list[int]) -> int:
    size = width(s.types[0])
    if s.opcode == "selp":
        return mask(v[0] if p[0] else v[1], size)
    c: ef.Number | int
    if s.types[1] == "f32":
        code = mask(v[2], 32)
        c = ef.decode(ef.F32, flushed(ef.F32, code) if s.has("ftz") else code)
        chosen = not c.nan and (c.zero or not c.negative)
    else:
        chosen = signed(v[2], 32) >= 0
    return mask(v[0] if chosen else v[1], size)


# Floating point


def _saturated(f: ef.Format, x: ef.Number) -> ef.Number:
    one = Fraction(1)
    if x.nan or x.negative:
        return ef.Number(False, Fraction(0))
    return ef.Number(False, one) if x.infinite or x.value > one else x


def _rectified(x: ef.Number) -> ef.Number:
    return ef.Number(False, Fraction(0)) if x.negative and not x.nan else x


def _is_nan(f: ef.Format) -> Callable[[int], bool]:
    return lambda bits: ef.decode(f, bits).nan


def _finish(s: Statement, f: ef.Format, x: ef.Number, mode: str) -> int:
    """Rounds, then applies the modifiers to the result."""
    code = ef.encode(f, x, mode)
    if s.has("ftz") and f is not ef.F64:
        code = flushed(f, code)
    if s.has("sat"):
        code = ef.encode(f, _saturated(f, ef.decode(f, code)))
    if s.has("relu"):
        code = ef.encode(f, _rectified(ef.decode(f, code)))
    return code


def _payload(codes: list[int]) -> Answer | None:
    """binary64 passes its first NaN operand on, quiet."""
    for code in codes:
        if ef.decode(ef.F64, code).nan:
            return code | 1 << 51
    return None


def _ulps(f: ef.Format, exact: ef.Number, limit: int, also: tuple[int, ...] = ()) -> Answer:
    """At most so many units in the last place from the correctly rounded result."""
    right = ef.encode(f, exact)
    if exact.nan:
        return f.nan

    def near(bits: int) -> bool:
        return abs(bits - right) <= limit or bits in also

    return near


def _float_element(s: Statement, element: str, codes: list[int]) -> Answer:
    f = ef.FORMATS[element]
    mode = s.which(["rn", "rz", "rm", "rp"]) or "rn"
    codes = [mask(c, f.width) for c in codes]
    outside = any(c == 0x7FFF for c in codes)
    if s.has("ftz") and element != "f64":
        codes = [flushed(f, c) for c in codes]
    x = [ef.decode(f, c) for c in codes]
    sign_bit = 1 << (f.width - 1)
    op = s.opcode
    if op in ("neg", "abs"):
        if op == "abs" and element == "f64" and x[0].nan:
            return codes[0]
        return codes[0] ^ sign_bit if op == "neg" else codes[0] & ~sign_bit
    if op == "copysign":
        return (codes[0] & sign_bit) | (codes[1] & ~sign_bit)
    if op in ("min", "max"):
        return _extremum(s, f, codes)
    if op in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"):
        return _function(s, f, codes[0])
    if op == "div" and s.has("approx"):
        magnitude = x[1].magnitude
        if magnitude is not None and magnitude > Fraction(1 << 126):
            negative = x[0].negative != x[1].negative
            return (
                f.nan
                if x[0].infinite or x[0].nan
                else ef.encode(f, ef.Number(negative, Fraction(0)))
            )
        if magnitude is not None and 0 < magnitude < Fraction(1, 1 << 126):
            return lambda bits: True  # no bound
        return _flush_ulps(s, f, ef.div(*x), 2)
    if op == "div" and s.has("full"):
        return _flush_ulps(s, f, ef.div(*x), 2)
    exact = {
        "add": lambda: ef.add(x[0], x[1], mode),
        "sub": lambda: ef.add(x[0], ef.negate(x[1]), mode),
        "mul": lambda: ef.mul(x[0], x[1]),
        "div": lambda: ef.div(x[0], x[1]),
        "fma": lambda: ef.fma(x[0], x[1], x[2], mode),
        "mad": lambda: ef.fma(x[0], x[1], x[2], mode),
    }[op]()
    if s.has("oob") and outside:
        return 0
    if element == "f64" and exact.nan:
        return _payload(codes) or _is_nan(f)
    return _finish(s, f, exact, mode)


def _flush_ulps(s: Statement, f: ef.Format, exact: ef.Number, limit: int) -> Answer:
    zero = (0, 1 << (f.width - 1))
    small = (
        s.has("ftz")
        and not exact.nan
        and exact.magnitude is not None
        and exact.magnitude <= Fraction(1, 1 << 126)
    )
    return _ulps(f, exact, limit, zero if small else ())


def _extremum(s: Statement, f: ef.Format, codes: list[int]) -> int:
    sign_bit = 1 << (f.width - 1)
    sign = (codes[0] ^ codes[1]) & sign_bit
    if s.has("xorsign"):
        codes = [c & ~sign_bit for c in codes]
    a, b = (ef.decode(f, c) for c in codes)
    if (a.nan and b.nan) or (s.has("NaN") and (a.nan or b.nan)):
        return f.nan
    if a.nan or b.nan:
        result = codes[1] if a.nan else codes[0]
    else:
        # Zeros are ordered by their sign.
        def key(x: ef.Number) -> tuple[Fraction, bool]:
            big = Fraction(1 << 2000)
            value = x.value if not x.infinite else -big if x.negative else big
            return value, not x.negative

        first = key(a) <= key(b) if s.opcode == "min" else key(a) >= key(b)
        result = codes[0] if first else codes[1]
    return result | sign if s.has("xorsign") else result


def _function(s: Statement, f: ef.Format, code: int) -> Answer:
    """rcp, sqrt and rsqrt rounded exactly; the others, and .approx, within the ISA's bounds."""
    x = ef.decode(f, code)
    op = s.opcode
    mode = s.which(["rn", "rz", "rm", "rp"])
    one = ef.Number(False, Fraction(1))
    if s.has("approx") and s.has("ftz") and f is ef.F64:
        return _gross(op, code)
    if op in ("rcp", "sqrt", "rsqrt"):
        root = ef.sqrt(x) if op != "rcp" else x
        exact = ef.div(one, root) if op != "sqrt" else root
        if exact.nan and f is ef.F64:
            return _payload([code]) or _is_nan(f)
        if mode:
            return _finish(s, f, exact, mode)
        return _flush_ulps(s, f, exact, 1)
    if x.nan:
        return f.nan
    v = (-1 if x.negative else 1) * (math.inf if x.infinite else float(x.magnitude or 0))
    if op in ("sin", "cos") and x.infinite:
        return f.nan
    if op == "lg2":
        if v < 0:
            return f.nan
        if v == 0:
            return ef.encode(f, ef.Number(True))
    with_inf = {
        "sin": lambda: math.sin(v),
        "cos": lambda: math.cos(v),
        "lg2": lambda: math.log2(v) if v < math.inf else v,
        "ex2": lambda: math.inf if v > 1000 else math.exp2(max(v, -1000)),
        "tanh": lambda: math.tanh(v),
    }[op]()
    kind = f.name
    if op in ("sin", "cos"):
        absolute, relative = (
            (
                2**-20.5
                if abs(v) <= 2 * math.pi
                else 2**-14.7
                if abs(v) <= 100 * math.pi
                else 2**-14
            ),
            0.0,
        )
    elif op == "lg2":
        absolute, relative = (2**-22, 0.0) if 0.5 < v < 2 else (0.0, 2**-22)
    elif op == "ex2":
        relative = {"f32": 2**-22, "f16": 2**-9.9, "bf16": 2**-7}[kind]
        # Below the normal numbers: the spacing of the subnormal ones, or zero if they are flushed.
        absolute = (
            2.0**-126
            if s.has("ftz") and abs(with_inf) < 2**-126
            else 2.0 ** (f.least_exponent - f.mantissa_bits)
        )
    else:
        absolute = {"f32": 0.0, "f16": 2**-10.987, "bf16": 2**-8}[kind]
        relative = 2**-11 if kind == "f32" else 0.0
        if kind == "f32" and abs(v) < 2**-100:
            absolute = 2.0**-149

    def near(bits: int) -> bool:
        y = ef.decode(f, bits)
        if y.nan:
            return False
        got = (-1 if y.negative else 1) * (math.inf if y.infinite else float(y.magnitude or 0))
        if math.isinf(with_inf) or math.isinf(got):
            limit = 2.0 ** (f.bias + 1)
            return got == with_inf or (
                math.isinf(got)
                and got * with_inf > 0
                and abs(with_inf) >= limit * (1 - 2**-f.precision)
            )
        if v == 0 and op in ("sin", "tanh"):
            return bits == code
        return abs(got - with_inf) <= absolute + relative * abs(with_inf)

    return near


def _gross(op: str, code: int) -> Answer:
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: from and to the upper 32 bits."""
    code = flushed(ef.F64, code & ~0xFFFFFFFF)
    x = ef.decode(ef.F64, code)
    root = ef.sqrt(x) if op == "rsqrt" else x
    exact = ef.div(ef.Number(False, Fraction(1)), root)
    if exact.nan:
        return 0x7FFFFFFF00000000
    if exact.magnitude is None or exact.zero:
        return ef.encode(ef.F64, exact)
    tiny = exact.magnitude < Fraction(1, 1 << 1022)

    def near(bits: int) -> bool:
        if bits & 0xFFFFFFFF:
            return False
        if tiny:
            return bits & ~(1 << 63) == 0
        y = ef.decode(ef.F64, bits)
        return (
            y.magnitude is not None
            and y.negative == exact.negative
            and abs(y.magnitude - exact.magnitude) <= exact.magnitude * Fraction(1, 1 << 19)
        )

    return near


def _testp(s: Statement, code: int) -> int:
    f = ef.FORMATS[s.types[-1]]
    x = ef.decode(f, code)
    least = Fraction(1, 1 << -f.least_exponent)
    finite = x.magnitude is not None
    small = finite and 0 < (x.magnitude or 0) < least
    return int(
        {
            "finite": finite,
            "infinite": x.infinite,
            "number": not x.nan,
            "notanumber": x.nan,
            "normal": finite and not small,
            "subnormal": small,
        }[s.mods[0]]
    )


# Conversion


def _integral(x: ef.Number, mode: str) -> ef.Number:
    if x.magnitude is None or x.nan or x.magnitude.denominator == 1:
        return x
    floor = x.magnitude.numerator // x.magnitude.denominator
    rest = x.magnitude - floor
    half = Fraction(1, 2)
    up = {
        "rni": rest > half or (rest == half and floor & 1),
        "rzi": False,
        "rmi": x.negative,
        "rpi": not x.negative,
    }[mode]
    return ef.Number(x.negative, Fraction(floor + bool(up)))


def _convert(s: Statement, v: list[int]) -> Answer:
    to, source = s.types
    integral = s.which(["rni", "rzi", "rmi", "rpi"])
    mode = s.which(["rn", "rz", "rm", "rp", "rna"]) or "rn"
    if source not in ef.FORMATS:
        value = integer(v[0], source)
        if to not in ef.FORMATS:
            result = clamp(value, to) if s.has("sat") else integer(value, to)
            return result
        return _finish_cvt(s, to, ef.Number(value < 0, Fraction(abs(value))), mode)
    f = ef.FORMATS[source]
    code = mask(v[0], f.width)
    if s.has("ftz") and source == "f32":
        code = flushed(f, code)
    x = ef.decode(f, code)
    if to not in ef.FORMATS and to != "tf32":
        size = width(to)
        if x.nan:
            return 1 << (size - 1) if source == "f64" or size == 64 else 0
        assert integral
        if x.infinite:
            return clamp(-(1 << 100) if x.negative else 1 << 100, to)
        return clamp(int(_integral(x, integral).value), to)
    if x.nan and to == "f64" and not s.has("sat"):
        return _is_nan(ef.F64)
    return _finish_cvt(s, to, _integral(x, integral) if integral else x, mode)


def _finish_cvt(s: Statement, to: str, x: ef.Number, mode: str) -> int:
    f = ef.TF32 if to == "tf32" else ef.FORMATS[to]
    if s.has("relu"):
        x = _rectified(x)
    code = ef.encode(f, x, mode, satfinite=s.has("satfinite"))
    if to == "tf32":
        return 0x7FFFFFFF if x.nan else code << 13
    if s.has("ftz") and to == "f32":
        code = flushed(f, code)
    if s.has("sat"):
        code = ef.encode(f, _saturated(f, ef.decode(f, code)))
    return code


def _convert_packed(s: Statement, v: list[int]) -> int:
    if s.has("pack"):
        type_ = s.types[0]
        size = width(type_)
        a, b = (mask(clamp(signed(x, 32), type_), size) for x in v[:2])
        rest = mask(v[2] << 2 * size, 32) if size < 16 else 0
        return a << size | b | rest
    to, source = s.types
    element = to.removesuffix("x2")
    f = ef.FORMATS[element]
    if source == "f32":
        numbers = [ef.decode(ef.F32, v[1]), ef.decode(ef.F32, v[0])]
    else:
        g = ef.FORMATS[source.removesuffix("x2")]
        numbers = [ef.decode(g, part) for part in halves(v[0], g.width)]
    mode = "rz" if s.has("rz") else "rn"
    if s.has("relu"):
        numbers = [_rectified(x) for x in numbers]
    codes = [ef.encode(f, x, mode, satfinite=s.has("satfinite")) for x in numbers]
    return joined(codes, f.width)


# Everything


def expected(text: str, values: list[int], predicates: list[int], carry: int) -> Answer:
    """`values` and `predicates` are those of the operands after the first, by position."""
    s = Statement(text)
    op = s.opcode
    if op in ("and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "prmt"):
        return _logic(s, values, predicates)
    if op[0] == "v":
        return video(text, values)
    if op in ("set", "setp"):
        return _comparison(s, values, predicates)
    if op in ("selp", "slct"):
        return _selection(s, values, predicates)
    if op == "testp":
        return _testp(s, values[0])
    if op == "mov":
        return predicates[0] if s.types[0] == "pred" else mask(values[0], width(s.types[0]))
    if op == "cvt":
        packed = s.has("pack") or any(t.endswith("x2") for t in s.types)
        return _convert_packed(s, values) if packed else _convert(s, values)
    if op in ("popc", "clz", "bfind", "brev", "bfe", "bfi", "szext", "bmsk", "fns", "dp4a", "dp2a"):
        return _bits(s, values)
    type_ = s.types[-1]
    if type_ in ("u16x2", "s16x2"):
        inner = Statement(text.replace(type_, type_[:3]))
        parts = [_arithmetic(inner, [x >> 16 * i for x in values], 0) for i in range(2)]
        return joined(parts)
    if type_ in ("f16x2", "bf16x2"):
        element = type_[:-2]
        answers = [_float_element(s, element, [x >> 16 * i for x in values]) for i in range(2)]

        def judge(bits: int) -> bool:
            return all(
                a(part) if callable(a) else a == part
                for a, part in zip(answers, halves(bits), strict=True)
            )

        return judge
    if type_ in ef.FORMATS:
        return _float_element(s, type_, values)
    return _arithmetic(s, values, carry)
