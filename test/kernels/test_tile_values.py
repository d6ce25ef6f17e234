"""Tile-level arithmetic, functions, casts and random numbers compute what NumPy, and their papers, say."""

import math

import numpy as np
import pytest

import girih as gr

N = 256
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")


def dtype_of(name):
    return getattr(gr, name)


def numpy_type(name):
    if name in ("f16", "f32", "f64"):
        return np.dtype(f"float{name[1:]}")
    if name == "b1":
        return np.dtype(bool)
    return np.dtype(("u" if name[0] == "u" else "") + f"int{name[1:]}")


def integers(name, n=N, seed=0):
    """Numbers over the whole range of the type, its ends among them."""
    info = np.iinfo(numpy_type(name))
    values = np.random.default_rng(seed).integers(info.min, info.max, n, numpy_type(name), True)
    values[:4] = info.min, info.max, 1, info.max
    return values


def floats(name, n=N, seed=0):
    """Small multiples of 1/8, which every float type holds and adds up exactly."""
    values = np.random.default_rng(seed).integers(-32, 33, n) / 8
    return gr.asarray(values, dtype_of(name)), values


def output(name, n=N):
    return gr.empty((n,) if isinstance(n, int) else n, dtype_of(name))


@gr.kernel
def apply(x: gr.In["N"], y: gr.In["N"], z: gr.Out["N"], *, f: gr.const):
    X, Y, Z = x.tiles(256), y.tiles(256), z.tiles(256)
    for i in gr.tiles(X):
        Z[i] = f(X[i], Y[i]).to(z.dtype)


BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", BINARY)
def test_integers_wrap_around(name, op):
    x, y = integers(name), integers(name, seed=1)
    z = output(name)
    apply(gr.asarray(x), gr.asarray(y), z, f=BINARY[op])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(z.numpy(), BINARY[op](x, y))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["//", "%"])
def test_division_rounds_down(name, op):
    x, y = integers(name), integers(name, seed=1)
    y[y == 0] = 3
    x[0] = 7  # the lowest number by -1 has no quotient
    function = {"//": lambda a, b: a // b, "%": lambda a, b: a % b}[op]
    z = output(name)
    apply(gr.asarray(x), gr.asarray(y), z, f=function)
    np.testing.assert_array_equal(z.numpy(), function(x, y))


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(name):
    x = integers(name)
    y = (np.arange(N) % np.iinfo(x.dtype).bits).astype(x.dtype)
    for function in (lambda a, b: a << b, lambda a, b: a >> b):
        z = output(name)
        apply(gr.asarray(x), gr.asarray(y), z, f=function)
        np.testing.assert_array_equal(z.numpy(), function(x, y))


COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("name", ["i8", "u8", "i32", "u32", "u64"])
def test_comparisons_know_signs(name, op):
    x, y = integers(name), integers(name, seed=1)
    y[::3] = x[::3]
    z = output("b1")
    apply(gr.asarray(x), gr.asarray(y), z, f=COMPARE[op])
    np.testing.assert_array_equal(z.numpy(), COMPARE[op](x, y))


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_comparisons_with_nan(name, op):
    x, y = (
        np.resize(v, N).astype(numpy_type(name)) for v in ([1, 2, math.nan], [2, 1, 1, math.nan])
    )
    z = output("b1")
    apply(gr.asarray(x), gr.asarray(y), z, f=COMPARE[op])
    np.testing.assert_array_equal(z.numpy(), COMPARE[op](x, y))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", "+-*/")
def test_arithmetic_of_floats_is_rounded_once(name, op):
    (x, xs), (y, ys) = floats(name), floats(name, seed=1)
    ys[ys == 0] = 1
    y = gr.asarray(ys, dtype_of(name))
    function = BINARY.get(op) or (lambda a, b: a / b)
    z = output(name)
    apply(x, y, z, f=function)
    # f64 holds these quotients to 53 bits, far from any tie of the narrower types.
    expected = gr.asarray(function(xs, ys), dtype_of(name)).numpy()
    np.testing.assert_array_equal(z.numpy(), expected)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_minimum_and_maximum_know_nan(name):
    x, y = (
        np.resize(v, N).astype(numpy_type(name)) for v in ([1, 2, math.nan], [2, 1, 1, math.nan])
    )
    for function, reference in (
        (lambda a, b: gr.minimum(a, b), np.minimum),
        (lambda a, b: gr.maximum(a, b), np.maximum),
        (lambda a, b: gr.fmin(a, b), np.fmin),
        (lambda a, b: gr.fmax(a, b), np.fmax),
    ):
        z = output(name)
        apply(gr.asarray(x), gr.asarray(y), z, f=function)
        np.testing.assert_array_equal(z.numpy(), reference(x, y))


@pytest.mark.parametrize("name", ["i8", "u8", "i32", "u32"])
def test_minimum_and_maximum_of_integers(name):
    x, y = integers(name), integers(name, seed=1)
    for function, reference in (
        (lambda a, b: gr.minimum(a, b), np.minimum),
        (lambda a, b: gr.fmax(a, b), np.maximum),
    ):
        z = output(name)
        apply(gr.asarray(x), gr.asarray(y), z, f=function)
        np.testing.assert_array_equal(z.numpy(), reference(x, y))


# What each function is in f64, and its error in units of 2**-23, absolute and relative, from the PTX ISA's tables of
# the approximate instructions and the documented error of libdevice.
FUNCTIONS = {
    "exp": (lambda a, b: gr.exp(a), np.exp, 4),
    "exp2": (lambda a, b: gr.exp2(a), np.exp2, 4),
    "sin": (lambda a, b: gr.sin(a), np.sin, 4),
    "cos": (lambda a, b: gr.cos(a), np.cos, 4),
    "tanh": (lambda a, b: gr.tanh(a), np.tanh, 8),
    "erf": (lambda a, b: gr.erf(a), np.vectorize(math.erf), 4),
    "sigmoid": (lambda a, b: gr.sigmoid(a), lambda x: 1 / (1 + np.exp(-x)), 8),
    "floor": (lambda a, b: gr.floor(a), np.floor, 0),
    "ceil": (lambda a, b: gr.ceil(a), np.ceil, 0),
    "abs": (lambda a, b: abs(a), np.abs, 0),
    "negate": (lambda a, b: -a, np.negative, 0),
    "cube": (lambda a, b: a**3, lambda x: x**3, 2),
}
POSITIVE = {
    "log": (lambda a, b: gr.log(a), np.log, 4),
    "log2": (lambda a, b: gr.log2(a), np.log2, 4),
    "sqrt": (lambda a, b: gr.sqrt(a), np.sqrt, 0),
    "rsqrt": (lambda a, b: gr.rsqrt(a), lambda x: 1 / np.sqrt(x), 4),
    "root": (lambda a, b: a**0.5, np.sqrt, 0),
    "inverse": (lambda a, b: a**-2, lambda x: x**-2.0, 2),
}


@pytest.mark.parametrize("name", FUNCTIONS | POSITIVE)
def test_functions(name):
    function, reference, units = (FUNCTIONS | POSITIVE)[name]
    low = 0.1 if name in POSITIVE else -4
    x = np.linspace(low, 4, N, dtype=np.float32)
    z = output("f32")
    apply(gr.asarray(x), gr.asarray(x), z, f=function)
    expected = reference(x.astype(np.float64))
    error = np.abs(z.numpy() - expected)
    bound = (units + 0.5) * 2.0**-23 * np.maximum(np.abs(expected), 1 if units else 0)
    assert (error <= bound).all(), (name, (error / 2.0**-23).max())


@pytest.mark.parametrize(
    "source", ["i8", "u8", "i16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "b1"]
)
@pytest.mark.parametrize(
    "target", ["i8", "u8", "i16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"]
)
def test_conversions_are_numpys(source, target):
    if source == "b1":
        x = np.arange(N) % 3 == 0
    elif source[0] == "f":
        x = np.random.default_rng(0).uniform(0, 100, N).astype(numpy_type(source))
    else:
        x = integers(source)
    if target == "f16" and source[0] in "iu":
        x //= np.array(
            max(1, np.iinfo(x.dtype).max // 2048), x.dtype
        )  # beyond f16's range is infinity
    z = output(target)
    apply(gr.asarray(x), gr.asarray(x), z, f=lambda a, b: a)
    np.testing.assert_array_equal(z.numpy(), x.astype(numpy_type(target)))


def test_floats_are_clamped_to_the_range_of_integers():
    x = np.resize(np.array([-1e30, 1e30, math.nan, -3.75, 3.75, 255.5], np.float32), N)
    for target, expected in (
        ("i32", [-(2**31), 2**31 - 1, 0, -3, 3, 255]),
        ("u8", [0, 255, 0, 0, 3, 255]),
    ):
        z = output(target)
        apply(gr.asarray(x), gr.asarray(x), z, f=lambda a, b: a)
        np.testing.assert_array_equal(z.numpy(), np.resize(expected, N))


@gr.kernel
def rounded(x: gr.In["N"], y: gr.Out["N"], *, how: gr.const):
    for i in gr.tiles(x.tiles(256)):
        y.tiles(256)[i] = x.tiles(256)[i].to(y.dtype, rounding=how)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("nearest", [-2, 2, 4, -4]),
        ("zero", [-1, 2, 3, -3]),
        ("up", [-1, 3, 4, -3]),
        ("down", [-2, 2, 3, -4]),
    ],
)
def test_rounding_to_integers(how, expected):
    x = np.resize(np.array([-1.75, 2.5, 3.5, -3.5], np.float32), N)
    y = output("i32")
    rounded(gr.asarray(x), y, how=how)
    np.testing.assert_array_equal(y.numpy(), np.resize(expected, N))


@gr.kernel
def random_words(y: gr.Out["W,N"], *, seed: gr.const, offset: gr.const):
    for i in gr.tiles(1):
        first = gr.full((128,), offset[0], gr.u32)
        words = gr.philox(seed, (first, offset[1], offset[2], offset[3]))
        for w in gr.static_range(4):
            y[w].block(0, 128).store(words[w])


# Known answers of the Random123 library (kat_vectors, philox4x32 10): counter, key, result.
KNOWN = [
    ([0, 0, 0, 0], 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, 2**64 - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        0x299F31D0_A4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_has_the_known_answers(counter, key, words):
    y = output("u32", (4, 128))
    random_words(y, seed=key, offset=tuple(counter))
    np.testing.assert_array_equal(y.numpy(), np.repeat(np.array(words, np.uint32)[:, None], 128, 1))
