"""girih.Array: copies to and from the device, element types, DLPack. Expected values come from NumPy."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from foreign_arrays import Tensor

import girih
from girih.runtime import bfloat16, device
from girih.runtime.array import describe

NUMPY_DTYPES = [
    (np.float64, girih.f64),
    (np.float32, girih.f32),
    (np.float16, girih.f16),
    (np.int64, girih.i64),
    (np.int32, girih.i32),
    (np.int16, girih.i16),
    (np.int8, girih.i8),
    (np.uint64, girih.u64),
    (np.uint32, girih.u32),
    (np.uint16, girih.u16),
    (np.uint8, girih.u8),
    (np.bool_, girih.b1),
]


@pytest.mark.parametrize(("numpy_dtype", "dtype"), NUMPY_DTYPES)
def test_every_element_type_survives_the_device(numpy_dtype, dtype):
    x = np.array([[0, 1, 100], [3, 0, 7]]).astype(numpy_dtype)
    array = girih.asarray(x)
    assert array.dtype is dtype
    assert array.shape == (2, 3)
    assert array.strides == (3, 1)
    assert array.nbytes == x.nbytes
    back = array.numpy()
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)


def test_the_copy_is_a_copy():
    x = np.zeros(4, np.float32)
    array = girih.asarray(x)
    x[:] = 1
    array.numpy()[:] = 2
    np.testing.assert_array_equal(array.numpy(), np.zeros(4))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[::2],
        lambda x: x[:, ::-1],
        lambda x: x.transpose(1, 2, 0),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: x[:, :1],
        lambda x: x[1, 2, 3],
        lambda x: x[:0],
    ],
    ids=["plain", "T", "step", "reversed", "permuted", "broadcast", "thin", "scalar", "empty"],
)
def test_views_keep_their_elements(view):
    x = view(np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6))
    array = girih.asarray(x)
    np.testing.assert_array_equal(array.numpy(), x)
    np.testing.assert_array_equal(girih.from_dlpack(np.asarray(x)).numpy(), x)
    # What a kernel is compiled for is known before the copy.
    assert describe(np.asarray(x))[:3] == (girih.i32, array.shape, array.strides)


def test_the_order_of_dimensions_is_kept():
    assert girih.asarray(np.zeros((3, 5)).T).strides == (1, 5)
    assert girih.from_dlpack(np.zeros((3, 5)).T).strides == (1, 5)
    assert girih.asarray(np.zeros((4, 6))[::2, ::3]).strides == (2, 1)


def test_transposes_share_memory():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    array = girih.asarray(x)
    assert array.T.shape == (4, 3, 2)
    assert array.T.strides == (1, 4, 12)
    assert array.T.address == array.address
    np.testing.assert_array_equal(array.T.numpy(), x.T)
    np.testing.assert_array_equal(array.transpose([1, 0, 2]).numpy(), x.transpose(1, 0, 2))
    with pytest.raises(
        ValueError, match=r"expected a permutation of 3 dimensions, found \(0, 0, 1\)"
    ):
        array.transpose([0, 0, 1])


@pytest.mark.parametrize(
    "key",
    [
        np.s_[1],
        np.s_[-1, 2],
        np.s_[1:, ::2],
        np.s_[::-1],
        np.s_[:, 4:1:-2, None, -1],
        np.s_[..., 1],
        np.s_[None, ..., ::-3],
        np.s_[1, 2, 3, ...],
        np.s_[2:2],
        np.s_[..., :1],
        np.s_[5:100, -100:1],
    ],
    ids=str,
)
def test_views_are_numpys(key):
    x = np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6)
    array, view = girih.asarray(x), x[key]
    part = array[key]
    np.testing.assert_array_equal(part.numpy(), view)
    np.testing.assert_array_equal(np.from_dlpack(part), view)
    assert part.shape == view.shape
    if view.size:
        offset = view.__array_interface__["data"][0]
        assert part.address - array.address == offset - x.__array_interface__["data"][0]
        # Strides along one element are anything.
        strides = zip(part.shape, part.strides, view.strides, strict=True)
        assert all(n == 1 or mine * 2 == theirs for n, mine, theirs in strides)


def test_indices_outside_are_refused():
    array = girih.zeros((4, 5), girih.f32)
    with pytest.raises(IndexError, match="index 5 is outside dimension 1 of extent 5"):
        array[0, 5]
    with pytest.raises(IndexError, match="at most one index for each of 2 dimensions"):
        array[0, 0, 0]
    with pytest.raises(IndexError, match="one ellipsis"):
        array[..., ...]
    with pytest.raises(TypeError):
        array["a"]


def test_broadcasts_share_memory():
    x = np.arange(3, dtype=np.float32)
    array = girih.asarray(x)
    wide = array[:, None].broadcast_to((2, 3, 4))
    assert (wide.shape, wide.strides, wide.address) == ((2, 3, 4), (0, 1, 0), array.address)
    np.testing.assert_array_equal(wide.numpy(), np.broadcast_to(x[:, None], (2, 3, 4)))
    with pytest.raises(ValueError, match=r"shape \(3,\) cannot be broadcast to \(3, 4\)"):
        array.broadcast_to((3, 4))


@pytest.mark.parametrize(
    ("view", "contiguous", "aligned"),
    [
        (lambda x: x, 1, True),
        (lambda x: x.T, 0, True),
        (lambda x: x[1:], 1, True),
        (lambda x: x[:, 8:], 1, True),
        (lambda x: x[:, 1:], 1, False),
        (lambda x: x[:, 4:], 1, False),
        (lambda x: x[::-1], 1, True),
        (lambda x: x[:, ::-1], -1, False),
        (lambda x: x[:, ::8], -1, True),
        (lambda x: x[:, ::2], -1, False),
        (lambda x: x[1], 0, True),
        (lambda x: x[1, 8:], 0, True),
        (lambda x: x[1, 1:], 0, False),
        (lambda x: x[:, 0], -1, True),
        (lambda x: x[0, 0], -1, True),
        (lambda x: x[0].broadcast_to((7, 24)), 1, True),
        (lambda x: x[:, :1], 1, True),
        (lambda x: x[:0], 1, True),
        # A column is as good as a row: no second element's stride is ever used.
        (lambda x: girih.zeros((5, 1), girih.bf16), 0, True),
        (lambda x: girih.zeros((1, 5), girih.bf16), 1, True),
        (lambda x: girih.zeros((1, 1), girih.bf16), 1, True),
        (lambda x: girih.zeros((5, 13), girih.bf16), 1, False),
        (lambda x: girih.zeros((1, 13), girih.bf16), 1, True),
    ],
)
def test_what_an_array_promises(view, contiguous, aligned):
    array = view(girih.zeros((4, 24), girih.bf16))
    assert describe(array).promises() == (contiguous, aligned)


def test_empty_and_zeros():
    array = girih.zeros((3, 5), girih.bf16)
    assert (array.shape, array.dtype, array.nbytes) == ((3, 5), girih.bf16, 30)
    np.testing.assert_array_equal(array.numpy(), np.zeros((3, 5), np.float32))
    assert girih.empty(7, girih.f16).shape == (7,)
    with pytest.raises(ValueError, match=r"no negative extents, found \(2, -1\)"):
        girih.empty((2, -1), girih.f32)
    with pytest.raises(ValueError, match="is larger than 2\\^63 bytes"):
        girih.empty((1 << 40, 1 << 40), girih.f32)


def test_too_large_for_the_device():
    with pytest.raises(girih.DeviceError, match="no room on the device for 4503599627370496 bytes"):
        girih.empty(1 << 50, girih.f32)


def test_repr():
    assert repr(girih.empty((3, 5), girih.f32)) == "girih.Array(shape=(3, 5), dtype=f32)"
    assert (
        repr(girih.empty((3, 5), girih.f32).T)
        == "girih.Array(shape=(5, 3), dtype=f32, strides=(1, 5))"
    )


def test_a_device_array_is_returned_as_it_is():
    array = girih.zeros(4, girih.f32)
    assert girih.asarray(array) is array
    assert girih.from_dlpack(array) is array
    with pytest.raises(TypeError, match="the array holds f32, not bf16"):
        girih.asarray(array, dtype=girih.bf16)


def test_conversion_on_the_host():
    x = np.array([1.0, 2049.0, -0.1], np.float32)
    half = girih.asarray(x, dtype=girih.f16)
    assert half.dtype is girih.f16
    np.testing.assert_array_equal(half.numpy(), x.astype(np.float16))
    with pytest.raises(TypeError, match="f32 does not convert to i32"):
        girih.asarray(x, dtype=girih.i32)
    with pytest.raises(TypeError, match="no element type for NumPy's complex64"):
        girih.asarray(x.astype(np.complex64))
    np.testing.assert_array_equal(girih.asarray([[1, 2]], dtype=girih.f32).numpy(), [[1.0, 2.0]])


def test_other_byte_order():
    x = np.arange(5, dtype=">i4")
    np.testing.assert_array_equal(girih.asarray(x).numpy(), np.arange(5))


# ---- bf16 -----------------------------------------------------------------------------------------


def every_bf16():
    """Bits and values (float64) of every finite bf16, in order of value."""
    bits = np.arange(0x10000, dtype=np.uint32)
    values = (bits << 16).view(np.float32)
    finite = np.isfinite(values)
    bits, values = bits[finite], values[finite].astype(np.float64)
    order = np.argsort(values, kind="stable")
    return bits[order], values[order]


def nearest_bf16(x):
    """The bits of the nearest bf16, ties to even, by looking at both neighbours."""
    bits, values = every_bf16()
    high = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    below, above = values[high - 1], values[high]
    to_below, to_above = x - below, above - x
    take_below = (to_below < to_above) | ((to_below == to_above) & (bits[high - 1] % 2 == 0))
    return np.where(take_below, bits[high - 1], bits[high]).astype(np.uint16)


def interesting_numbers():
    generator = np.random.default_rng(7)
    _, values = every_bf16()
    ties = (values[1:] + values[:-1]) / 2  # exact in float64
    random = generator.standard_normal(20000) * 10.0 ** generator.integers(-39, 38, 20000)
    # Next to a tie by less than float32 can tell: rounding twice would go wrong.
    near_ties = np.concatenate([np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
    return np.concatenate([values, ties, near_ties, random])


def same_numbers(found, expected):
    """Equal bits, apart from the sign of a zero that only the search above cannot tell."""
    zero = (found & 0x7FFF == 0) & (expected & 0x7FFF == 0)
    return bool(((found == expected) | zero).all())


def test_rounding_to_bf16_from_float64():
    x = interesting_numbers()
    assert same_numbers(bfloat16.from_floats(x), nearest_bf16(x))


def test_rounding_to_bf16_from_float32_and_integers():
    x = interesting_numbers().astype(np.float32)
    x = x[np.isfinite(x)]
    assert same_numbers(bfloat16.from_floats(x), nearest_bf16(x.astype(np.float64)))
    integers = np.array([257, 258, 259, (1 << 60) + (1 << 51), -((1 << 60) + (1 << 52) + 1)])
    # 257 is a tie between 256 and 258, 259 one between 258 and 260; the last two lie at or just
    # beyond half of the last place, which is 2^53 for 2^60.
    expected = [256.0, 258.0, 260.0, float(1 << 60), -float((1 << 60) + (1 << 53))]
    np.testing.assert_array_equal(
        bfloat16.to_floats(bfloat16.from_floats(integers)).astype(np.float64), expected
    )


def test_special_bf16_numbers():
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 3.4e38, -3.4e38, 1e300], np.float64)
    found = bfloat16.to_floats(bfloat16.from_floats(x))
    np.testing.assert_array_equal(
        found, np.array([np.inf, -np.inf, np.nan, 0.0, np.inf, -np.inf, np.inf], np.float32)
    )
    assert np.signbit(found[3])
    # A NaN whose bits are all in the half that goes away must not become infinity.
    sneaky = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(bfloat16.to_floats(bfloat16.from_floats(sneaky)))[0]


def test_bf16_arrays():
    x = np.array(
        [[1.0, 1.00390625], [1.01171875, -2.0]], np.float32
    )  # the second and third are ties
    array = girih.asarray(x, dtype=girih.bf16)
    assert array.dtype is girih.bf16
    np.testing.assert_array_equal(array.numpy(), np.array([[1.0, 1.0], [1.015625, -2.0]]))
    raw = array.numpy(raw=True)
    assert raw.dtype == np.uint16
    np.testing.assert_array_equal(raw, [[0x3F80, 0x3F80], [0x3F82, 0xC000]])
    again = girih.asarray(raw, dtype=girih.bf16)
    np.testing.assert_array_equal(again.numpy(raw=True), raw)


# ---- e4m3 and e5m2 --------------------------------------------------------------------------------

# The largest numbers and the smallest ones as the OCP specification of 8-bit floats (2023, table 2) lists them.
LIMITS = [
    # dtype, largest finite number, smallest normal one, smallest one, bits of the fraction
    (girih.e4m3, 448.0, 2.0**-6, 2.0**-9, 3),
    (girih.e5m2, 57344.0, 2.0**-14, 2.0**-16, 2),
]


def every_number(largest, normal, smallest, fraction):
    """The non-negative finite numbers in order: number i has the bits i. Subnormal numbers are multiples
    of the smallest one; from there each power of two has as many numbers as the fraction has patterns."""
    numbers = [i * smallest for i in range(int(normal / smallest))]
    power = normal
    while power <= largest:
        numbers += [power * (1 + i / (1 << fraction)) for i in range(1 << fraction)]
        power *= 2
    return np.array([number for number in numbers if number <= largest])


@pytest.mark.parametrize(("dtype", "largest", "normal", "smallest", "fraction"), LIMITS)
def test_every_8_bit_pattern(dtype, largest, normal, smallest, fraction):
    numbers = every_number(largest, normal, smallest, fraction)
    count = {girih.e4m3: 127, girih.e5m2: 124}[dtype]  # a NaN remains, or infinity and three NaNs
    assert len(numbers) == count
    found = girih.asarray(np.arange(256, dtype=np.uint8), dtype).numpy()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[:count], numbers)
    np.testing.assert_array_equal(found[128 : 128 + count], -numbers)
    assert np.signbit(found[128])
    rest = [np.nan] if dtype is girih.e4m3 else [np.inf, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(found[count:128], rest)
    np.testing.assert_array_equal(found[128 + count :], np.negative(rest))


@pytest.mark.parametrize(("dtype", "largest", "normal", "smallest", "fraction"), LIMITS)
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_rounding_to_8_bits(dtype, largest, normal, smallest, fraction, source):
    numbers = every_number(largest, normal, smallest, fraction)

    def check(values, bits):
        values = np.concatenate([values, -np.asarray(values)]).astype(source)
        expected = np.concatenate([bits, np.asarray(bits) + 128])
        np.testing.assert_array_equal(girih.asarray(values, dtype).numpy(raw=True), expected)

    bits = np.arange(len(numbers))
    check(numbers, bits)
    ties = ((numbers[1:] + numbers[:-1]) / 2).astype(source)  # exact in both
    check(ties, bits[:-1] + bits[:-1] % 2)
    check(np.nextafter(ties, source(0)), bits[:-1])
    check(np.nextafter(ties, source(np.inf)), bits[1:])
    beyond = [largest * 1.01, largest * 1.0625, largest * 1.5, 3e38, np.inf]
    check(beyond, [bits[-1]] * 5)
    check([np.nan], [127])
    if source is np.float64:
        check([1e300], [bits[-1]])


def test_8_bit_arrays():
    x = np.array([[1.0, 1.0625], [-0.3, 1000.0]])
    array = girih.asarray(x, girih.e4m3)
    assert (array.dtype, array.nbytes) == (girih.e4m3, 4)
    np.testing.assert_array_equal(array.numpy(), np.array([[1, 1], [-0.3125, 448]], np.float32))
    raw = array.numpy(raw=True)
    assert raw.dtype == np.uint8
    np.testing.assert_array_equal(girih.asarray(raw, girih.e4m3).numpy(raw=True), raw)
    np.testing.assert_array_equal(girih.asarray([1, 449, -500], girih.e4m3).numpy(), [1, 448, -448])
    np.testing.assert_array_equal(girih.zeros(3, girih.e5m2).numpy(), np.zeros(3))
    assert np.asarray(array).dtype == np.float32


# ---- Other libraries ------------------------------------------------------------------------------


def test_numpy_functions_take_device_arrays():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = girih.asarray(x)
    np.testing.assert_array_equal(np.asarray(array), x)
    assert np.asarray(array, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="device memory cannot be a NumPy array without a copy"):
        np.array(array, copy=False)


def test_numpy_reads_dlpack():
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    array = girih.asarray(x)
    if not device.is_emulated():
        pytest.skip("NumPy takes no memory of a GPU")
    assert array.__dlpack_device__() == (1, 0)
    host = np.from_dlpack(array)
    np.testing.assert_array_equal(host, x)
    np.testing.assert_array_equal(np.from_dlpack(array.T), x.T)
    del array
    np.testing.assert_array_equal(host, x)
    # The copy does not pretend to be the device's memory, unless the consumer asked for a copy.
    assert not host.flags.writeable
    with pytest.raises(BufferError, match="copy=False asks for that"):
        np.from_dlpack(girih.asarray(x), copy=False)
    assert np.from_dlpack(girih.asarray(x), copy=True).flags.writeable


def test_dlpack_capsules_of_both_kinds():
    array = girih.asarray(np.arange(3.0))
    assert '"dltensor"' in repr(array.__dlpack__())
    assert '"dltensor_versioned"' in repr(array.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError, match=r"not to DLPack device \(7, 0\)"):
        array.__dlpack__(dl_device=(7, 0))


class Producer:
    """An object that speaks DLPack and nothing else, as of before or after version 1.0."""

    def __init__(self, x, versioned):
        self.x = x
        self.versioned = versioned
        self.capsule = None

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument")
        self.capsule = self.x.__dlpack__(**options)
        return self.capsule


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_objects_are_taken(versioned):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    producer = Producer(x, versioned)
    array = girih.asarray(producer)
    np.testing.assert_array_equal(array.numpy(), x)
    assert "used_dltensor" in repr(producer.capsule)
    with pytest.raises(TypeError, match="a DLPack capsule that nobody has taken yet"):
        girih.Array._from_dlpack(producer.capsule)


# The codes of dlpack.h 1.1 (DLDataTypeCode).
@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        (girih.i8, 0, 8),
        (girih.u64, 1, 64),
        (girih.f16, 2, 16),
        (girih.bf16, 4, 16),
        (girih.b1, 6, 8),
        (girih.e4m3, 10, 8),
        (girih.e5m2, 12, 8),
    ],
)
@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_types(dtype, code, bits, versioned):
    array = girih.zeros(3, dtype)
    capsule = array.__dlpack__(**({"max_version": (1, 0)} if versioned else {}))
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, b"dltensor_versioned" if versioned else b"dltensor")
    # Before the tensor: version, context, deleter and flags.
    tensor = Tensor.from_address(address + (32 if versioned else 0))
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (1, code, bits, 1)
    again = girih.from_dlpack(Producer(array, versioned))
    assert again.dtype is dtype
    assert again.address != array.address or not device.is_emulated()


def test_the_producer_gets_its_memory_back():
    x = np.arange(12, dtype=np.float32)
    before = sys.getrefcount(x)
    for _ in range(3):
        girih.from_dlpack(x)
        describe(Producer(x, True))
    assert sys.getrefcount(x) == before


def test_dlpack_element_types_that_girih_lacks():
    with pytest.raises(
        TypeError, match="no element type for DLPack code 5 with 64 bits and 1 lanes"
    ):
        girih.from_dlpack(np.zeros(3, np.complex64))


def test_what_is_no_array():
    with pytest.raises(TypeError, match="expected an array, found an object of type dict"):
        describe({})


# ---- Imports --------------------------------------------------------------------------------------


def test_arrays_need_numpy_only_when_it_is_used():
    program = (
        "import sys, girih\n"
        "a = girih.zeros((2, 2), girih.f32)\n"
        "assert 'numpy' not in sys.modules\n"
        "a.numpy()\n"
        "assert 'numpy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_stub_names_what_the_extension_has():
    import ast
    from pathlib import Path

    from girih import _runtime

    stub = ast.parse(Path(girih.__file__).with_name("_runtime.pyi").read_text())
    module = {node.name: node for node in stub.body if hasattr(node, "name")}
    public = {name for name in dir(_runtime) if not name.startswith("__")}
    assert set(module) == public
    for name in ("Array", "Program"):
        declared = {node.name for node in module[name].body if hasattr(node, "name")}
        own = {key for key in vars(getattr(_runtime, name)) if not key.startswith("__")}
        assert {key for key in declared if not key.startswith("__")} == own
