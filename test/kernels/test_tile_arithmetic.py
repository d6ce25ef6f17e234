"""Arithmetic, comparisons, constants and functions on tiles of every element type, against NumPy; functions against float64."""

import numpy as np
import pytest
from tile_support import FLAT, ArrayOf, module, run

import girih

N = 512
LAYOUT = f"#t = #wg.layout<{FLAT}>"
# One element a thread: a register of which a part is unused.
ONE = "#t = #wg.layout<{lane: [[0,1],[0,2],[0,4],[0,8],[0,16]], warp: [[0,32],[0,64]]}>"
FLOATS = {"f16": girih.f16, "bf16": girih.bf16, "f32": girih.f32, "f64": girih.f64}
INTEGERS = {"i8": girih.i8, "i16": girih.i16, "i32": girih.i32, "i64": girih.i64}


def elementwise(lines, inputs, result, layout=LAYOUT, n=N):
    """A kernel: y = what `lines` make of tiles %a, %b, ... of these types, in %r."""
    arrays = [ArrayOf(name, dtype) for name, dtype in zip("abc", inputs, strict=False)]
    y = ArrayOf("y", result, access="out")
    body = "".join(
        f"%{a.name}_t = tile.load %{a.name}[%c0] : {a.view} -> tensor<{n}x{a.dtype}, #t>\n    "
        for a in arrays
    )
    for dtype in ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"):
        lines = lines.replace(f"<{dtype}>", f"tensor<{n}x{dtype}, #t>")
    body += lines
    body += f"\n    tile.store %r, %y[%c0] : tensor<{n}x{result}, #t>, {y.view}"
    return module(body, [*arrays, y], definitions=layout)


def call(text, result, *inputs):
    out = girih.zeros(len(inputs[0]), result)
    run(text, *inputs, out)
    return np.asarray(out.numpy())


def float_data(dtype, seed, n=N):
    """Numbers of several magnitudes, rounded to the type, and zeros, infinities and NaN."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(n) * 2.0 ** random.integers(-4, 5, n)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    array = girih.asarray(x.astype(np.float32), FLOATS[dtype])
    return array, np.asarray(array.numpy(), np.float64)


def rounded(values, dtype):
    """float64 values as the type holds them, rounded once (a float32 on the way would round twice)."""
    if dtype == "f64":
        return values
    if dtype == "f32":
        return values.astype(np.float32).astype(np.float64)
    if dtype == "f16":
        return values.astype(np.float16).astype(np.float64)
    digits = 8
    mantissa, exponent = np.frexp(values)
    exponent = np.maximum(exponent, -125)
    scaled = np.round(np.ldexp(values, digits - exponent))
    return np.where(
        np.isfinite(values) & (values != 0), np.ldexp(scaled, exponent - digits), values
    )


FLOAT_OPS = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("layout", [LAYOUT, ONE], ids=["four", "one"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float_arithmetic_rounds_once(op, dtype, layout):
    n = N if layout is LAYOUT else 128
    a, x = float_data(dtype, 1, n)
    b, y = float_data(dtype, 2, n)
    text = elementwise(f"%r = arith.{op} %a_t, %b_t : <{dtype}>", [dtype, dtype], dtype, layout, n)
    with np.errstate(all="ignore"):
        expected = rounded(FLOAT_OPS[op](x, y), dtype)
    np.testing.assert_array_equal(call(text, FLOATS[dtype], a, b).astype(np.float64), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_and_sums_are_not_fused(dtype):
    a, x = float_data(dtype, 1)
    b, y = float_data(dtype, 2)
    lines = f"%m = arith.mulf %a_t, %b_t : <{dtype}>\n %r = arith.addf %m, %a_t : <{dtype}>"
    with np.errstate(all="ignore"):
        expected = rounded(rounded(x * y, dtype) + x, dtype)
    # The device would fuse what ptxas may fuse.
    with girih.emulator.options(contract=1):
        result = call(elementwise(lines, [dtype, dtype], dtype), FLOATS[dtype], a, b)
    np.testing.assert_array_equal(result.astype(np.float64), expected)


def test_fma_rounds_once():
    a, x = float_data("f32", 1)
    b, y = float_data("f32", 2)
    text = elementwise("%r = math.fma %a_t, %b_t, %a_t : <f32>", ["f32", "f32"], "f32")
    with np.errstate(all="ignore"):
        # A product of two f32 is exact in longdouble, whose 64 bits round the sum seldom differently than once.
        expected = (x.astype(np.longdouble) * y + x).astype(np.float32)
    np.testing.assert_array_equal(call(text, girih.f32, a, b), expected)


def integer_data(dtype, seed, low=None, high=None):
    info = np.iinfo(f"int{dtype[1:]}")
    low = info.min if low is None else low
    high = info.max if high is None else high
    x = np.random.default_rng(seed).integers(low, high, N, dtype=np.int64, endpoint=True)
    x[:3] = [low, high, max(low, 1)]
    return x.astype(info.dtype)


INTEGER_OPS = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "divsi": lambda x, y: (
        np.sign(x) * np.sign(y) * (abs(x.astype(object)) // abs(y.astype(object)))
    ).astype(x.dtype),
    "remsi": np.fmod,
    "maxui": lambda x, y: np.maximum(x.view(f"u{x.dtype}"), y.view(f"u{x.dtype}")).view(x.dtype),
    "divui": lambda x, y: (x.view(f"u{x.dtype}") // y.view(f"u{x.dtype}")).view(x.dtype),
    "remui": lambda x, y: (x.view(f"u{x.dtype}") % y.view(f"u{x.dtype}")).view(x.dtype),
    "floordivsi": np.floor_divide,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", INTEGER_OPS)
def test_integer_arithmetic_wraps(op, dtype):
    x, y = integer_data(dtype, 1, low=-100), integer_data(dtype, 2, low=3)
    text = elementwise(f"%r = arith.{op} %a_t, %b_t : <{dtype}>", [dtype, dtype], dtype)
    with np.errstate(all="ignore"):
        expected = INTEGER_OPS[op](x, y)
    result = call(text, INTEGERS[dtype], girih.asarray(x), girih.asarray(y))
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype):
    x, y = integer_data(dtype, 1), integer_data(dtype, 2, 0, int(dtype[1:]) - 1)
    for op, expected in (
        ("shli", np.left_shift(x, y)),
        ("shrsi", np.right_shift(x, y)),
        ("shrui", np.right_shift(x.view(f"u{x.dtype}"), y.view(f"u{x.dtype}")).view(x.dtype)),
    ):
        text = elementwise(f"%r = arith.{op} %a_t, %b_t : <{dtype}>", [dtype, dtype], dtype)
        result = call(text, INTEGERS[dtype], girih.asarray(x), girih.asarray(y))
        assert result.tolist() == expected.tolist(), op


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_compare_select_splat_and_constant(dtype):
    """y = a < b ? a : (a == b ? 3 : s), with s read from memory."""
    float_type = dtype in FLOATS
    compare, less, equal = ("cmpf", "olt", "oeq") if float_type else ("cmpi", "slt", "eq")
    constant = "dense<3.0>" if float_type else "dense<3>"
    lines = f"""%s = tile.read %b[%c6] : !tile.view<{dtype}, rank = 1, contiguous = 0> -> {dtype}
    %s_t = tensor.splat %s : <{dtype}>
    %three = arith.constant {constant} : <{dtype}>
    %less = arith.{compare} {less}, %a_t, %b_t : <{dtype}>
    %equal = arith.{compare} {equal}, %a_t, %b_t : <{dtype}>
    %e = arith.select %equal, %three, %s_t : <i1>, <{dtype}>
    %r = arith.select %less, %a_t, %e : <i1>, <{dtype}>"""
    if float_type:
        (a, x), (b, y) = float_data(dtype, 1), float_data(dtype, 2)
    else:
        x, y = integer_data(dtype, 1, -3, 3), integer_data(dtype, 2, -3, 3)
        a, b = girih.asarray(x), girih.asarray(y)
    result = call(elementwise(lines, [dtype, dtype], dtype), {**FLOATS, **INTEGERS}[dtype], a, b)
    expected = np.where(x < y, x, np.where(x == y, 3, y[6]))
    np.testing.assert_array_equal(result.astype(x.dtype), expected)


def test_booleans():
    x = np.random.default_rng(1).integers(0, 2, N).astype(bool)
    y = np.random.default_rng(2).integers(0, 2, N).astype(bool)
    lines = """%n = arith.xori %a_t, %b_t : <i1>
    %o = arith.constant dense<true> : <i1>
    %m = arith.xori %n, %o : <i1>
    %r = arith.andi %m, %a_t : <i1>"""
    result = call(
        elementwise(lines, ["i1", "i1"], "i1"), girih.b1, girih.asarray(x), girih.asarray(y)
    )
    assert result.tolist() == (~(x ^ y) & x).tolist()


def test_bits_of_floats():
    a, _ = float_data("f32", 1)
    lines = "%i = arith.bitcast %a_t : <f32> to <i32>\n %r = arith.bitcast %i : <i32> to <f32>"
    np.testing.assert_array_equal(call(elementwise(lines, ["f32"], "f32"), girih.f32, a), a.numpy())
    a, _ = float_data("bf16", 1)
    text = elementwise("%r = arith.bitcast %a_t : <bf16> to <i16>", ["bf16"], "i16")
    assert call(text, girih.i16, a).view(np.uint16).tolist() == a.numpy(raw=True).tolist()


def ulps(result, exact, dtype):
    """The largest distance in units of the last place of the type at the exact value."""
    digits, low = {"f32": (24, -126), "f64": (53, -1022), "f16": (11, -14), "bf16": (8, -126)}[
        dtype
    ]
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(exact)[1] - 1, low)
        error = np.abs(result - exact) / np.ldexp(1.0, exponent - digits + 1)
    same = (result == exact) | (np.isnan(result) & np.isnan(exact))
    return float(np.max(np.where(same, 0.0, error)))


def erf(x):
    import math

    return np.array([math.erf(v) for v in x])


# name: (function, arguments from, to, greatest error in ulps of f32, of f64). docs/Numerics.md has the same table.
FUNCTIONS = {
    "exp2": (np.exp2, -120, 120, 2, 2),
    "exp": (np.exp, -80, 80, 2, 2),
    "log": (np.log, 1e-30, 1e30, 2, 2),
    "log2": (np.log2, 1e-30, 1e30, 2, 2),
    "sin": (np.sin, -1e4, 1e4, 2, 2),
    "cos": (np.cos, -1e4, 1e4, 2, 2),
    "tanh": (np.tanh, -10, 10, 2, 2),
    "erf": (erf, -5, 5, 2, 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 2, 2),
    "sqrt": (np.sqrt, 1e-30, 1e30, 0.5, 0.5),
    "floor": (np.floor, -1e4, 1e4, 0, 0),
    "ceil": (np.ceil, -1e4, 1e4, 0, 0),
    "absf": (np.abs, -1e4, 1e4, 0, 0),
}


def arguments(low, high, seed):
    """Evenly over the range, or over its exponents where it is positive and wide."""
    random = np.random.default_rng(seed)
    if low > 0:
        return np.exp2(random.uniform(np.log2(low), np.log2(high), N))
    return random.uniform(low, high, N)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_within_their_error(name, dtype):
    function, low, high, f32_ulps, f64_ulps = FUNCTIONS[name]
    if dtype == "f16":
        low, high = max(low, -10), min(high, 10)
        low = 1e-3 if FUNCTIONS[name][1] > 0 else low
    a = girih.asarray(arguments(low, high, 3), girih.f64)
    if dtype != "f64":
        a = girih.asarray(a.numpy().astype(np.float32), FLOATS[dtype])
    x = np.asarray(a.numpy(), np.float64)
    text = elementwise(f"%r = math.{name} %a_t : <{dtype}>", [dtype], dtype)
    result = call(text, FLOATS[dtype], a).astype(np.float64)
    allowed = {"f32": f32_ulps, "f64": f64_ulps}.get(dtype, 0.5 + 1e-3)
    error = ulps(result, function(x), dtype)
    # float64 itself is off by half a unit there.
    assert error <= allowed + (0.5 if dtype == "f64" else 0), error


def test_functions_at_their_ends():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 200, -200, -1], np.float32)
    expected = {
        "exp2": [1, 1, np.inf, 0, np.nan, np.inf, 0, 0.5],
        "exp": [1, 1, np.inf, 0, np.nan, np.inf, 0, np.exp(np.float32(-1))],
        "log": [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.log(np.float32(200)), np.nan, np.nan],
        "tanh": [0, 0, 1, -1, np.nan, 1, -1, np.tanh(np.float32(-1))],
        "sin": [0, 0, np.nan, np.nan, np.nan, np.sin(200), np.sin(-200), np.sin(-1)],
    }
    for name, values in expected.items():
        text = elementwise(f"%r = math.{name} %a_t : <f32>", ["f32"], "f32")
        out = girih.zeros(8, girih.f32)
        run(text, girih.asarray(x), out)
        np.testing.assert_allclose(out.numpy(), values, rtol=3e-7, err_msg=name)


def test_large_angles():
    x = np.exp2(np.random.default_rng(5).uniform(10, 50, N)).astype(np.float32)
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        text = elementwise(f"%r = math.{name} %a_t : <f32>", ["f32"], "f32")
        result = call(text, girih.f32, girih.asarray(x)).astype(np.float64)
        assert ulps(result, function(x.astype(np.float64)), "f32") <= 2
