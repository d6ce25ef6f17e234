"""tile.cast between every pair of types, in tiles and in scalars. Expected values are looked up among all values of the narrow
types, which are decoded from their codes here, by the definitions of IEEE 754 and OCP OFP8."""

import functools

import numpy as np
import pytest
from tile_support import FLAT, ArrayOf, module, run

import girih

N = 512
# exponent bits, mantissa bits, whether the top exponent holds infinity and NaN only
FLOATS = {
    "f8E4M3FN": (4, 3, False),
    "f8E5M2": (5, 2, True),
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "f32": (8, 23, True),
    "f64": (11, 52, True),
}
INTEGERS = ["i8", "i16", "i32", "i64"]


def bits_of(dtype):
    return 8 if dtype.startswith("f8") else int(dtype.lstrip("bfi"))


@functools.cache
def table(dtype):
    """All values of a narrow type, by code."""
    exponent_bits, mantissa_bits, ieee = FLOATS[dtype]
    codes = np.arange(2 ** bits_of(dtype))
    mantissa = codes % 2**mantissa_bits
    exponent = codes // 2**mantissa_bits % 2**exponent_bits
    bias = 2 ** (exponent_bits - 1) - 1
    value = np.where(
        exponent == 0,
        mantissa * 2.0 ** (1 - bias - mantissa_bits),
        (1 + mantissa / 2**mantissa_bits) * np.exp2(exponent.astype(float) - bias),
    )
    top = exponent == 2**exponent_bits - 1
    if ieee:
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where(top & (mantissa == 2**mantissa_bits - 1), np.nan, value)
    return np.where(codes >= len(codes) // 2, -value, value)


def decode(codes, dtype):
    if dtype == "f32":
        return codes.view(np.float32).astype(np.float64)
    if dtype == "f64":
        return codes.view(np.float64)
    return table(dtype)[codes.view(f"uint{bits_of(dtype)}")]


def round_to(x, dtype, rounding="rn", saturate=False):
    """x rounded once to a float type."""
    if dtype == "f64":
        return x
    if dtype == "f32":
        result = x.astype(np.float32).astype(np.float64)
        up = np.nextafter(result.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        down = np.nextafter(result.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
        higher = np.where(result < x, up, result)
        lower = np.where(result > x, down, result)
        most = float(np.finfo(np.float32).max)
    else:
        values = np.unique(table(dtype)[np.isfinite(table(dtype))])  # -0 and 0 are one
        most = values[-1]
        at = np.searchsorted(values, x)
        higher = np.where(at < len(values), values[np.minimum(at, len(values) - 1)], np.inf)
        lower = np.where(higher == x, x, np.where(at > 0, values[np.maximum(at - 1, 0)], -np.inf))
        # What lies beyond the largest value rounds as if the exponent had no end.
        mantissa = FLOATS[dtype][1]
        beyond = most + most / (2 ** (mantissa + 1) - (1 if FLOATS[dtype][2] else 2))
        middle = (np.clip(lower, -beyond, beyond) + np.clip(higher, -beyond, beyond)) / 2
        even_low = np.round(lower / np.where(higher == lower, 1, higher - lower)) % 2 == 0
        even_low = np.where(np.isfinite(lower) & np.isfinite(higher), even_low, lower == -np.inf)
        result = np.where(
            x > middle, higher, np.where(x < middle, lower, np.where(even_low, lower, higher))
        )
        result = np.where(lower == higher, lower, result)
    if rounding == "rp":
        result = higher
    if rounding == "rm":
        result = lower
    if rounding == "rz":
        result = np.where(x > 0, lower, higher)
    result = np.where(np.isfinite(x), result, x)
    if saturate:
        result = np.clip(result, -most, most)
    return result


def kernel(source, to, casts, scalar=False):
    """y0, y1, … = x cast in several ways; narrow floats and booleans travel as integers of their bits."""

    def memory(dtype):
        return f"i{bits_of(dtype)}" if dtype in FLOATS else dtype

    x = ArrayOf("x", memory(source))
    outputs = [ArrayOf(f"y{i}", memory(to), access="out") for i in range(len(casts))]

    def typed(dtype):
        return dtype if scalar else f"tensor<{N}x{dtype}, #t>"

    def bitcast(name, value, a, b):
        return f"%{name} = arith.bitcast %{value} : {typed(a)} to {typed(b)}"

    if scalar:
        load = f"%m = tile.read %x[%c7] : {x.view} -> {x.dtype}"
    else:
        load = f"%m = tile.load %x[%c0] : {x.view} -> {typed(x.dtype)}"
    body = [load, bitcast("s", "m", x.dtype, source)]
    for i, (y, attributes) in enumerate(zip(outputs, casts, strict=True)):
        words, _, flags = attributes.partition("{")
        flags = "{" + flags if flags else ""
        body.append(f"%r{i} = tile.cast %s {words} {flags} : {typed(source)} to {typed(to)}")
        body.append(bitcast(f"o{i}", f"r{i}", to, y.dtype))
        if scalar:
            body.append(f"tile.write %o{i}, %{y.name}[%c7] : {y.dtype}, {y.view}")
        else:
            body.append(f"tile.store %o{i}, %{y.name}[%c0] : {typed(y.dtype)}, {y.view}")
    text = "\n    ".join(body)
    return module(text, [x, *outputs], definitions=f"#t = #wg.layout<{FLAT}>")


def convert_all(codes, source, to, casts, scalar=False):
    """The codes of the result of each cast, by one kernel."""
    memory = {"i1": girih.b1, "i8": girih.i8, "i16": girih.i16, "i32": girih.i32, "i64": girih.i64}
    target = f"i{bits_of(to)}" if to in FLOATS else to
    outs = [girih.zeros(N, memory[target]) for _ in casts]
    run(kernel(source, to, casts, scalar), girih.asarray(codes), *outs)
    return [out.numpy() for out in outs]


def convert(codes, source, to, attributes="", scalar=False):
    """The result's codes."""
    return convert_all(codes, source, to, [attributes], scalar)[0]


def codes_of(dtype, seed=0):
    """Codes of N values: all kinds of floats, the ends of integers, small numbers of both."""
    random = np.random.default_rng(seed)
    bits = bits_of(dtype)
    if dtype == "i1":
        return random.integers(0, 2, N).astype(bool)
    codes = random.integers(
        -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, N, dtype=np.int64, endpoint=True
    )
    codes = codes.astype(f"int{bits}")
    small = random.integers(-300, 300, N // 2)
    if dtype == "f32":
        codes[: N // 2] = (
            (small * np.exp2(random.integers(-20, 8, N // 2))).astype(np.float32).view(np.int32)
        )
    elif dtype == "f64":
        x = (
            small
            * np.exp2(random.integers(-20, 8, N // 2))
            * (1 + random.integers(-1, 2, N // 2) * 2.0**-40)
        )
        codes[: N // 2] = x.view(np.int64)
    elif dtype in INTEGERS and bits > 8:
        codes[: N // 2] = small
        codes[N // 2 : N // 2 + 2] = np.iinfo(codes.dtype).min, np.iinfo(codes.dtype).max
    return codes


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_floats(source, to):
    codes = codes_of(source)
    x = decode(codes, source)
    saturate = to.startswith("f8") and to != source
    result = decode(convert(codes, source, to), to)
    with np.errstate(all="ignore"):
        expected = round_to(x, to, saturate=saturate)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("source", "to"),
    [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16"), ("bf16", "f16")],
)
def test_rounding_of_floats(source, to):
    codes = codes_of(source)
    x = decode(codes, source)
    directions = ["rz", "rp", "rm"]
    results = convert_all(codes, source, to, [f"rounding {rounding}" for rounding in directions])
    for rounding, result in zip(directions, results, strict=True):
        with np.errstate(all="ignore"):
            expected = round_to(x, to, rounding)
            # Directed rounding stops at the largest finite value on the way to zero.
            most = round_to(np.array([1e30 if to != "bf16" else 1.0]), to, "rz")[0]
        finite = np.isfinite(x) & (np.abs(x) < (most if to == "f16" else 3e38))
        np.testing.assert_array_equal(decode(result, to)[finite], expected[finite], rounding)


@pytest.mark.parametrize(("source", "to"), [("f32", "f16"), ("f64", "bf16"), ("f64", "f32")])
def test_saturation_of_floats(source, to):
    codes = codes_of(source)
    x = decode(codes, source)
    with np.errstate(all="ignore"):
        expected = round_to(x, to, saturate=True)
    np.testing.assert_array_equal(decode(convert(codes, source, to, "saturate"), to), expected)


def integer_range(to, unsigned):
    bits = bits_of(to)
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


ROUND = {"": np.trunc, "rounding rn": np.round, "rounding rp": np.ceil, "rounding rm": np.floor}


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers(source, to):
    codes = codes_of(source)
    x = decode(codes, source)
    cases = [(rounding, unsigned) for rounding in ROUND for unsigned in (False, True)]
    casts = [
        f"{rounding} {'{unsigned_result}' if unsigned else ''}" for rounding, unsigned in cases
    ]
    for (rounding, unsigned), result in zip(
        cases, convert_all(codes, source, to, casts), strict=True
    ):
        low, high = integer_range(to, unsigned)
        if unsigned:
            result = result.view(f"uint{bits_of(to)}")
        expected = [
            0 if np.isnan(v) else low if v < low else high if v > high else int(v)
            for v in ROUND[rounding](x)
        ]
        assert result.tolist() == expected, (rounding, unsigned)


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_to_floats(source, to):
    codes = codes_of(source)
    results = convert_all(codes, source, to, ["", "{unsigned_source}"])
    for result, numbers in zip(results, (codes, codes.view(f"uint{bits_of(source)}")), strict=True):
        if to == "f64":
            expected = numbers.astype(np.float64)
        elif to == "f32":
            expected = numbers.astype(np.float32).astype(np.float64)
        else:
            # The last bits of 64 do not matter to types this narrow, unless they break a tie: keep that they are there.
            exact = numbers.astype(np.longdouble)
            near = exact.astype(np.float64)
            near = np.where(
                near == exact, near, np.nextafter(near, np.where(near < exact, np.inf, -np.inf))
            )
            with np.errstate(invalid="ignore"):
                expected = round_to(near, to, saturate=to.startswith("f8"))
        np.testing.assert_array_equal(decode(result, to), expected, str(numbers.dtype))


SIGNS = ["", "{unsigned_source}", "{unsigned_result}", "{unsigned_source, unsigned_result}"]


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_to_integers(source, to):
    codes = codes_of(source)
    casts = [f"{saturate} {signs}" for saturate in ("", "saturate") for signs in SIGNS]
    for cast, result in zip(casts, convert_all(codes, source, to, casts), strict=True):
        numbers = codes.view(f"uint{bits_of(source)}") if "unsigned_source" in cast else codes
        low, high = integer_range(to, "unsigned_result" in cast)
        if "unsigned_result" in cast:
            result = result.view(f"uint{bits_of(to)}")
        span = 2 ** bits_of(to)
        expected = [
            min(max(int(v), low), high) if "saturate" in cast else (int(v) - low) % span + low
            for v in numbers
        ]
        assert result.tolist() == expected, cast


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
def test_to_booleans_and_back(source):
    codes = codes_of(source)
    codes[:5] = 0
    x = decode(codes, source) if source in FLOATS else codes
    assert convert(codes, source, "i1").tolist() == (x != 0).tolist()
    bits = codes_of("i1")
    back = convert(bits, "i1", source)
    back = decode(back, source) if source in FLOATS else back
    assert back.tolist() == bits.astype(int).tolist()


@pytest.mark.parametrize(
    ("source", "to"),
    [("f8E4M3FN", "f32"), ("f32", "f8E5M2"), ("f32", "i8"), ("i64", "bf16"), ("f64", "f8E4M3FN")],
)
def test_scalars(source, to):
    codes = codes_of(source)
    tiles, scalar = convert(codes, source, to), convert(codes, source, to, scalar=True)
    assert scalar[7] == tiles[7]
    assert scalar[:7].tolist() == [0] * 7
