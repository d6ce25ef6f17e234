"""Graphs: what is captured runs when the graph is called, as often as it is, with the arrays of the last capture.
Expected values come from NumPy."""

import gc

import numpy as np
import pytest

import girih as gr


@gr.kernel
def scale(x: gr.In["N"], y: gr.Out["N"], a: gr.f32):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = X[i] * a


@gr.kernel
def add(x: gr.InOut["N"], y: gr.In["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(X):
        X[i] = X[i] + Y[i]


@gr.kernel
def says(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        gr.assert_(X[i] < 1000, "large")
        Y[i] = X[i]


def ramp(n):
    return gr.asarray(np.arange(n, dtype=np.float32))


@pytest.mark.parametrize("known", [False, True], ids=["first-call", "known-signature"])
def test_a_sequence_is_replayed(known):
    x, y, total = ramp(200), gr.zeros(200, gr.f32), gr.zeros(200, gr.f32)
    if known:
        scale(x, y, 1.0)
        add(total, gr.zeros(200, gr.f32))
        y._zero()
    graph = gr.Graph()
    with graph.capture():
        scale(x, y, 2.0)
        add(total, y)
        add(total, x)
    assert not total.numpy().any() and not y.numpy().any()  # nothing has run
    for times in (1, 2, 3):
        graph()
        np.testing.assert_array_equal(total.numpy(), np.arange(200) * 3 * times)
    x._write(np.ones(200, np.float32))  # a graph reads what is there when it runs
    graph(stream=0)
    np.testing.assert_array_equal(total.numpy(), np.arange(200) * 9 + 3)


def test_new_arguments():
    graph = gr.Graph()
    results = []
    for n, factor in ((100, 2.0), (300, 5.0)):
        y = gr.zeros(n, gr.f32)
        with graph.capture():
            scale(ramp(n), y, factor)  # the graph alone keeps the first array
        gc.collect()
        graph()
        results.append((y, np.arange(n) * factor))
    for y, expected in results:
        np.testing.assert_array_equal(y.numpy(), expected)


def test_launchers_are_captured():
    x, y = ramp(100), gr.zeros(100, gr.f32)
    launcher = scale.prepare(x, y, 3.0)
    graph = gr.Graph()
    with graph.capture():
        launcher()
    del launcher
    assert not y.numpy().any()
    graph()
    np.testing.assert_array_equal(y.numpy(), np.arange(100) * 3)


def test_what_cannot_be_captured():
    x, y = ramp(100), gr.zeros(100, gr.f32)
    graph = gr.Graph()
    with pytest.raises(gr.GirihError, match="^the graph is empty: capture launches first$"):
        graph()
    with graph.capture():
        scale(x, y, 2.0)

    def refused(message, launch):
        with pytest.raises(gr.LaunchError, match=message), graph.capture():
            launch()

    refused("^says: its launches need memory of their own", lambda: says(x, y))
    refused("^x: an array in host memory cannot be captured", lambda: scale(x.numpy(), y, 1.0))
    refused("takes no stream; the graph does$", lambda: scale.launch(x, y, 1.0, stream=0))
    refused("^x has N = 100, y has N = 50", lambda: scale(x, y[:50], 1.0))
    refused("^the graph holds other launches than were captured now", lambda: add(y, x))
    refused("^the graph holds other launches", lambda: (scale(x, y, 1.0), scale(x, y, 1.0)))
    with graph.capture():
        scale(x, y, 7.0)
        with pytest.raises(gr.GirihError, match="one graph at a time$"):
            gr.Graph().capture().__enter__()
    graph()
    np.testing.assert_array_equal(y.numpy(), np.arange(100) * 7)

    def fails():
        scale(x, y, 9.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), graph.capture():
        fails()
    graph()  # what it was
    np.testing.assert_array_equal(y.numpy(), np.arange(100) * 7)
    scale(x, y, 4.0)  # runs at once again
    np.testing.assert_array_equal(y.numpy(), np.arange(100) * 4)


def test_findings_of_a_replay():
    @gr.kernel
    def beyond(x: gr.In["N"], y: gr.Out["N"], first: gr.i32):
        Y = y.tiles(32)
        for i in gr.tiles(Y):
            Y[i] = gr.full((32,), 0.0, gr.f32) + x[first + 1000000]

    x, y = ramp(64), gr.zeros(64, gr.f32)
    graph = gr.Graph()
    with graph.capture():
        beyond(x, y, 0)
    with pytest.raises(gr.DeviceError, match="global-out-of-bounds"):
        graph()
    scale(x, y, 1.0)
    np.testing.assert_array_equal(y.numpy(), np.arange(64))
