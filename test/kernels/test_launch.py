"""Calls of a kernel: the first with a signature runs Python code and leaves a recipe, the next ones do not; both
say the same to mistakes. Launchers, streams, numbers of CTAs. Expected values come from NumPy."""

import gc
import os
import threading
import traceback

import numpy as np
import pytest

import girih as gr
from girih.lang.kernel import Kernel

WEIGHT = 3


@pytest.fixture
def python_calls(monkeypatch):
    """The names of kernels whose calls ran Python code, one entry for each."""
    names = []
    launch = Kernel._launch

    def counted(self, *args, **kwargs):
        names.append(self.__name__)
        return launch(self, *args, **kwargs)

    monkeypatch.setattr(Kernel, "_launch", counted)
    return names


@gr.kernel
def weighted(x: gr.In["N"], y: gr.Out["N"], a: gr.f32, b: gr.i32 = 0, *, B: gr.const = 128):
    X, Y = x.tiles(B), y.tiles(B)
    for i in gr.tiles(Y):
        Y[i] = X[i] * a + (WEIGHT + b)


def ramp(n):
    return gr.asarray(np.arange(n, dtype=np.float32))


def check(call, x, y, expected):
    call(x, y)
    np.testing.assert_array_equal(y.numpy(), expected)


def test_a_known_signature_runs_no_python_code(python_calls):
    x, y = ramp(512), gr.empty(512, gr.f32)
    numbers = np.arange(512)
    check(lambda x, y: weighted(x, y, 2.0, 1), x, y, numbers * 2 + 4)
    assert python_calls == ["weighted"]
    check(lambda x, y: weighted(x, y, 0.5, 7), x, y, numbers * 0.5 + 10)
    check(lambda x, y: weighted(x, y, 3), x, y, numbers * 3 + 3)  # an integer is a float, too
    check(lambda x, y: weighted(b=2, a=1.0, y=y, x=x), x, y, numbers + 5)
    check(lambda x, y: weighted(x, y, True, B=128), x, y, numbers + 3)
    # Other arrays and extents, as aligned.
    check(lambda x, y: weighted(x[:96], y, 2.0), x, gr.empty(96, gr.f32), numbers[:96] * 2 + 3)
    check(
        lambda x, y: weighted(ramp(1000), y, 2.0),
        x,
        gr.empty(1000, gr.f32),
        np.arange(1000) * 2 + 3,
    )
    assert python_calls == ["weighted"]


def test_another_signature_is_another_recipe(python_calls):
    x, y = ramp(512), gr.empty(512, gr.f32)
    numbers = np.arange(512)
    calls = [
        (lambda: weighted(x, y, 2.0), numbers * 2 + 3, y),
        (lambda: weighted(x, y, 2.0, B=256), numbers * 2 + 3, y),
        (lambda: weighted(x[1:257], y[:256], 1.0), numbers[1:257] + 3, y[:256]),  # not aligned
        (lambda: weighted(x[::-2], y[:256], 1.0), numbers[::-2] + 3, y[:256]),  # no stride of 1
    ]
    for _ in range(2):
        for call, expected, result in calls:
            call()
            np.testing.assert_array_equal(result.numpy(), expected)
    assert len(python_calls) <= len(calls)


def test_a_changed_constant_is_noticed(python_calls, monkeypatch):
    x, y = ramp(128), gr.empty(128, gr.f32)
    weighted(x, y, 1.0)
    before = len(python_calls)
    monkeypatch.setitem(globals(), "WEIGHT", 10)
    check(lambda x, y: weighted(x, y, 1.0), x, y, np.arange(128) + 10)
    check(lambda x, y: weighted(x, y, 1.0), x, y, np.arange(128) + 10)
    assert len(python_calls) == before + 1
    # 1, 1.0 and True are equal in Python but not here; an equal number of the same type is the same.
    monkeypatch.setitem(globals(), "WEIGHT", int("1000") // 100)
    check(lambda x, y: weighted(x, y, 1.0), x, y, np.arange(128) + 10)


def test_a_changed_closure_is_noticed():
    weight = 1

    @gr.kernel
    def added(x: gr.In["N"], y: gr.Out["N"]):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = X[i] + weight

    x, y = ramp(128), gr.empty(128, gr.f32)
    check(added, x, y, np.arange(128) + 1)
    check(added, x, y, np.arange(128) + 1)
    weight = 2
    check(added, x, y, np.arange(128) + 2)


def test_functions_that_are_passed(python_calls):
    @gr.kernel
    def mapped(x: gr.In["N"], y: gr.Out["N"], f: gr.const):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = f(X[i])

    x, y = ramp(128), gr.empty(128, gr.f32)

    def plus(number):
        return lambda t: t + number

    check(lambda x, y: mapped(x, y, plus(1)), x, y, np.arange(128) + 1)
    check(lambda x, y: mapped(x, y, plus(1)), x, y, np.arange(128) + 1)  # made anew, and the same
    assert python_calls == ["mapped"]
    check(lambda x, y: mapped(x, y, plus(2)), x, y, np.arange(128) + 2)
    assert python_calls == ["mapped"] * 2
    check(lambda x, y: mapped(x, y, plus(1)), x, y, np.arange(128) + 1)
    assert python_calls == ["mapped"] * 2


def test_tuples_are_compared_by_type_and_value(python_calls):
    @gr.kernel
    def scaled(x: gr.In["N"], y: gr.Out["N"], *, by: gr.const):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = X[i] * by[0] / by[1]

    x, y = ramp(128), gr.empty(128, gr.f32)
    for _ in range(2):
        check(
            lambda x, y: scaled(x, y, by=(3, int("1000"))),
            x,
            y,
            np.float32(np.arange(128) * 3) / 1000,
        )
    assert python_calls == ["scaled"]


def test_optional_arguments(python_calls):
    @gr.kernel
    def maybe(x: gr.In["N"], bias: gr.In["N"] | None, y: gr.Out["N"]):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            t = X[i]
            if bias is not None:
                t = t + bias.tiles(128)[i]
            Y[i] = t

    x, y = ramp(128), gr.empty(128, gr.f32)
    for _ in range(2):
        check(lambda x, y: maybe(x, None, y), x, y, np.arange(128))
        check(lambda x, y: maybe(x, x, y), x, y, np.arange(128) * 2)
    assert python_calls == ["maybe"] * 2


# ---- Mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [False, True], ids=["first-call", "known-signature"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda x, y: (x, y), "^weighted: missing a required argument: 'a'$"),
        (lambda x, y: (x, y, 1.0, 1, 128), "^weighted: too many positional arguments$"),
        (
            lambda x, y: (x, y[:100], 1.0),
            "^x has N = 512, y has N = 100: dimensions named N must agree$",
        ),
        (
            lambda x, y: (x, y, 1.0, 1 << 31),
            r"^b: expected a scalar of type i32 \(-2147483648 to 21474",
        ),
        (
            lambda x, y: (x, y, 1.0, 1 << 70),
            "^b: the integer 1180591620717411303424 does not fit 64 bits$",
        ),
        (
            lambda x, y: (x, y, 1e300),
            "^a: expected a scalar of type f32, in which it would be an inf",
        ),
        (lambda x, y: (x, y, 1.0, 2.5), "^b: expected a scalar of type i32, found the float 2.5$"),
        (lambda x, y: (x, 3, 1.0), "^weighted: y: expected an array, found an object of type int$"),
        (lambda x, y: (x, y[:, None], 1.0), "^weighted: y has 2 dimensions, expected 1: "),
        (
            lambda x, y: (x[:4], y[:1].broadcast_to((4,)), 1.0),
            "^y: the kernel writes it, and all elements along dimension 0 share one place",
        ),
    ],
)
def test_mistakes(known, arguments, message):
    kernel = gr.kernel(weighted.function)
    x, y = ramp(512), gr.empty(512, gr.f32)
    if known:
        kernel(x, y, 1.0)
    with pytest.raises(gr.LaunchError, match=message) as caught:
        kernel(*arguments(x, y))
    # The user's frames only.
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}
    check(lambda x, y: kernel(x, y, 1.0), x, y, np.arange(512) + 3)


def test_outputs_that_share_memory():
    @gr.kernel
    def twice(x: gr.In["N"], y: gr.Out["N"], z: gr.Out["N"]):
        X, Y, Z = x.tiles(128), y.tiles(128), z.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = X[i]
            Z[i] = X[i] * 2

    x, y = ramp(128), gr.empty(256, gr.f32)
    twice(x, y[:128], y[128:])
    np.testing.assert_array_equal(y.numpy(), np.concatenate([np.arange(128), np.arange(128) * 2]))
    for z in (y[:128], y[4:132]):
        with pytest.raises(
            gr.LaunchError, match="^z: the kernel writes it, and it shares memory with y"
        ):
            twice(x, y[:128], z)
    # NumPy's arrays are copied to memory of their own; halves that interleave do not share any.
    both = np.zeros((128, 2), np.float32)
    twice(x.numpy(), both[:, 0], both[:, 1])
    np.testing.assert_array_equal(both, np.arange(128)[:, None] * [1, 2])
    with pytest.raises(
        gr.LaunchError, match="^z: the kernel writes it, and it shares memory with another"
    ):
        twice(x.numpy(), both[:, 0], both[:, 0])
    with pytest.raises(
        gr.LaunchError, match="^z: the kernel writes it, and it shares memory with another"
    ):
        twice(x.numpy(), both.reshape(-1)[:128], both.reshape(-1)[4:132])


# ---- Options ----------------------------------------------------------------------------------------


class Stream:
    """A stream of another library."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class CudaStream:
    def __cuda_stream__(self):
        return 0, 0


@pytest.mark.parametrize(
    "stream",
    [None, 0, Stream(cuda_stream=0), Stream(ptr=0), CudaStream()],
    ids=["none", "number", "cuda_stream", "ptr", "cuda_stream_protocol"],
)
def test_streams(stream, python_calls):
    x, y = ramp(128), gr.empty(128, gr.f32)
    for number in range(2):
        weighted.launch(x, y, float(number), stream=stream)
        np.testing.assert_array_equal(y.numpy(), np.arange(128) * number + 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": "default"}, "stream is a CUDA stream: a number, or an object with .*'default'"),
        ({"stream": -1}, "stream is a CUDA stream: .*, found -1"),
        ({"ctas": 0}, "ctas is a number of CTAs, at least 1, found 0"),
        ({"ctas": 1.5}, "ctas is a number of CTAs, at least 1, found 1.5"),
    ],
)
def test_options_that_make_no_sense(options, message):
    x, y = ramp(128), gr.empty(128, gr.f32)
    for _ in range(2):
        with pytest.raises(gr.LaunchError, match=message):
            weighted.launch(x, y, 1.0, **options)
        weighted(x, y, 1.0)


def test_ctas_of_a_persistent_kernel():
    @gr.kernel
    def copy(x: gr.In["N"], y: gr.Out["N"]):
        X, Y = x.tiles(64), y.tiles(64)
        for i in gr.tiles(Y, ctas=gr.sms()):
            Y[i] = X[i]

    most = gr.device.multiprocessors()
    for ctas in (None, 1, most):
        x, y = ramp(450), gr.zeros(450, gr.f32)
        copy.launch(x, y, ctas=ctas)
        np.testing.assert_array_equal(y.numpy(), np.arange(450))
    with pytest.raises(gr.LaunchError, match=f"^copy: ctas is {most + 1}, expected 1 to {most}, "):
        copy.launch(x, y, ctas=most + 1)


def test_ctas_of_a_kernel_that_is_not_persistent():
    x, y = ramp(128), gr.empty(128, gr.f32)
    for _ in range(2):
        with pytest.raises(gr.LaunchError, match="^weighted: ctas is for persistent kernels"):
            weighted.launch(x, y, 1.0, ctas=2)
        weighted(x, y, 1.0)


def test_parameters_may_be_called_as_options_are():
    @gr.kernel
    def named(x: gr.In["N"], y: gr.Out["N"], ctas: gr.i32, *, stream: gr.const = 1):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = X[i] * stream + ctas

    x, y = ramp(128), gr.empty(128, gr.f32)
    for _ in range(2):
        check(lambda x, y: named(x, y, ctas=5, stream=2), x, y, np.arange(128) * 2 + 5)


# ---- Launchers --------------------------------------------------------------------------------------


def test_a_launcher_keeps_its_arguments(python_calls):
    y = gr.zeros(512, gr.f32)
    launcher = weighted.prepare(ramp(512), y, 2.0, b=1)  # nobody else holds the first array
    gc.collect()
    assert not y.numpy().any()  # preparing launches nothing
    launcher()
    np.testing.assert_array_equal(y.numpy(), np.arange(512) * 2 + 4)
    z = gr.empty(100, gr.f32)
    launcher(ramp(100), z, 3.0)
    np.testing.assert_array_equal(z.numpy(), np.arange(100) * 3 + 3)
    z._zero()
    launcher()
    np.testing.assert_array_equal(z.numpy(), np.arange(100) * 3 + 3)
    assert python_calls == []
    with pytest.raises(gr.LaunchError, match="^weighted: these arguments have another signature"):
        launcher(ramp(512), y, 2.0, B=64)
    with pytest.raises(gr.LaunchError, match="^x has N = 512, y has N = 100"):
        launcher(ramp(512), z, 2.0)
    launcher(ramp(100), z, 2.0)
    np.testing.assert_array_equal(z.numpy(), np.arange(100) * 2 + 3)


def test_what_cannot_be_prepared():
    x, y = ramp(128), gr.empty(128, gr.f32)
    with pytest.raises(
        gr.LaunchError, match="^weighted: x: a launcher keeps arrays on the device, found"
    ):
        weighted.prepare(x.numpy(), y, 1.0)
    with pytest.raises(gr.LaunchError, match="^weighted: missing a required argument: 'a'$"):
        weighted.prepare(x, y)
    with pytest.raises(gr.LaunchError, match="^weighted: ctas is for persistent kernels"):
        weighted.prepare(x, y, 1.0, ctas=2)()


# ---- Threads, memory --------------------------------------------------------------------------------


def test_threads_launch_the_same_kernel_and_launcher():
    shared = gr.empty(512, gr.f32)
    launcher = weighted.prepare(ramp(512), shared, 2.0)
    failures = []

    def work(number):
        try:
            x, y = ramp(512), gr.empty(512, gr.f32)
            for turn in range(10):
                check(
                    lambda x, y, turn=turn: weighted(x, y, float(number), turn),
                    x,
                    y,
                    np.arange(512) * number + 3 + turn,
                )
                launcher()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    np.testing.assert_array_equal(shared.numpy(), np.arange(512) * 2 + 3)


def test_a_kernel_and_what_it_compiled_are_collected():
    class Marker:
        pass

    def cycle():
        marker = Marker()

        @gr.kernel
        def own(x: gr.In["N"], y: gr.Out["N"], f: gr.const):
            X, Y = x.tiles(128), y.tiles(128)
            for i in gr.tiles(Y):
                Y[i] = f(X[i])

        x, y = ramp(128), gr.empty(128, gr.f32)
        own(x, y, lambda t: t + 1)
        own.marker = marker
        own.itself = own
        import weakref

        return weakref.ref(marker)

    alive = cycle()
    gc.collect()
    assert alive() is None


def test_ten_thousand_launches_leak_nothing():
    x, y = ramp(16), gr.empty(16, gr.f32)
    weighted(x, y, 1.0)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def files():
        return len(os.listdir("/proc/self/fd"))

    for number in range(1000):
        weighted(x, y, float(number))
    before, open_before = resident(), files()
    for number in range(10_000):
        weighted(x, y, float(number))
    assert files() == open_before
    # A leak of 100 bytes a launch would be a megabyte.
    assert resident() - before < 1 << 20
