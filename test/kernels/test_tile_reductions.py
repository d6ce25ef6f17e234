"""Shapes of tiles, reductions and scans are what NumPy makes of the same numbers."""

import math

import numpy as np
import pytest

import girih as gr


def output(name, shape):
    return gr.empty(shape if isinstance(shape, tuple) else (shape,), getattr(gr, name))


@gr.kernel
def along(x: gr.In["M,N"], y: gr.Out, *, f: gr.const):
    for i in gr.tiles(1):
        t = x.block((0, 0), (16, 32)).load()
        r = f(t)
        if len(y.shape) == 0:
            y[()] = r.to(y.dtype)
        else:
            y.block((0,) * y.ndim, r.shape).store(r.to(y.dtype))


SHAPES = {
    "sum of rows": (lambda t: gr.sum(t, axis=1), lambda x: x.sum(1)),
    "sum of columns": (lambda t: gr.sum(t, axis=0), lambda x: x.sum(0)),
    "max of rows": (lambda t: gr.max(t, axis=-1), lambda x: x.max(1)),
    "min of columns": (lambda t: gr.min(t, axis=0), lambda x: x.min(0)),
    "argmax of rows": (lambda t: gr.argmax(t, axis=1), lambda x: x.argmax(1)),
    "argmin of columns": (lambda t: gr.argmin(t, axis=0), lambda x: x.argmin(0)),
    "kept": (lambda t: t - gr.max(t, axis=1, keepdims=True), lambda x: x - x.max(1, keepdims=True)),
    "product of rows": (lambda t: gr.reduce(t, 1, lambda p, q: p * q), lambda x: x.prod(1)),
    "running sum": (lambda t: gr.cumsum(t, axis=1), lambda x: x.cumsum(1)),
    "running sum of columns": (lambda t: gr.cumsum(t, axis=0), lambda x: x.cumsum(0)),
    "running sum from the end": (
        lambda t: gr.cumsum(t, axis=1, reverse=True),
        lambda x: x[:, ::-1].cumsum(1)[:, ::-1],
    ),
    "running maximum": (
        lambda t: gr.scan(t, 1, lambda p, q: gr.maximum(p, q)),
        lambda x: np.maximum.accumulate(x, 1),
    ),
    "transposed": (lambda t: t.T, lambda x: x.T),
    "reshaped": (lambda t: t.reshape(8, -1), lambda x: x.reshape(8, 64)),
    "flat": (lambda t: t.reshape(512), lambda x: x.reshape(512)),
    "rank 3": (
        lambda t: t.reshape(4, 4, 32).permute(1, 2, 0),
        lambda x: x.reshape(4, 4, 32).transpose(1, 2, 0),
    ),
    "outer": (
        lambda t: gr.sum(t, axis=1)[:, None] + gr.sum(t, axis=0)[None, :],
        lambda x: x.sum(1)[:, None] + x.sum(0),
    ),
    "joined": (lambda t: gr.join(t, t * 2), lambda x: np.stack([x, x * 2], -1)),
    "broadcast": (
        lambda t: gr.broadcast_to(gr.max(t, axis=0), (4, 32)),
        lambda x: np.broadcast_to(x.max(0), (4, 32)),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_reductions(name):
    function, reference = SHAPES[name]
    x = np.random.default_rng(0).integers(-2, 3, (16, 32)).astype(np.float32)
    expected = reference(x)
    y = output("f32", expected.shape)
    along(gr.asarray(x), y, f=function)
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("dtype", ["f32", "i32", "u8"])
def test_whole_tiles_to_one_number(dtype):
    x = (
        np.random.default_rng(0)
        .integers(0, 9, (16, 32))
        .astype({"f32": np.float32, "i32": np.int32, "u8": np.uint8}[dtype])
    )
    for function, expected in (
        (lambda t: gr.sum(t), x.sum()),
        (lambda t: gr.max(t), x.max()),
        (lambda t: gr.reduce(t, None, lambda p, q: min(p, q)), x.min()),
    ):
        y = output("i32", ())
        along(gr.asarray(x), y, f=function)
        assert y.numpy() == expected


def test_the_first_nan_is_the_largest_and_the_smallest():
    x = np.random.default_rng(0).random((16, 32), np.float32)
    x[3, [7, 9]] = math.nan
    for function, expected in (
        (lambda t: gr.argmax(t, axis=1), x.argmax(1)),
        (lambda t: gr.argmin(t, axis=1), x.argmin(1)),
    ):
        y = output("i32", 16)
        along(gr.asarray(x), y, f=function)
        np.testing.assert_array_equal(y.numpy(), expected)


def test_a_reduction_of_two_tiles():
    x = np.random.default_rng(0).integers(-9, 9, (16, 32)).astype(np.float32)
    y = output("f32", 16)

    def spread(t):
        low, high = gr.reduce(
            (t, t), 1, lambda p, q: (gr.minimum(p[0], q[0]), gr.maximum(p[1], q[1]))
        )
        return high - low

    along(gr.asarray(x), y, f=spread)
    np.testing.assert_array_equal(y.numpy(), np.ptp(x, axis=1))


def test_parts_of_pairs():
    x = np.random.default_rng(0).integers(-9, 9, (16, 32)).astype(np.float32)
    y = output("f32", (16, 16))

    def difference(t):
        even, odd = gr.split(t.reshape(16, 16, 2))
        return even - odd

    along(gr.asarray(x), y, f=difference)
    np.testing.assert_array_equal(y.numpy(), x[:, ::2] - x[:, 1::2])
