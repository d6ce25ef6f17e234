"""Arrays of other libraries as arguments: on the emulated device what cannot be taken is said in a sentence that names
the argument; on a driver that does nothing, addresses and streams arrive as they should."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from foreign_arrays import HOST, READ_ONLY, Foreign, Interface, with_exchange

import girih as gr
from girih import _runtime
from girih.runtime import device, launch


@gr.kernel
def copy(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(Y):
        Y[i] = X[i]


def over(x, **options):
    """A DLPack array over NumPy's memory."""
    strides = tuple(stride // x.itemsize for stride in x.strides)
    address = x.__array_interface__["data"][0]
    return Foreign(x.shape, address, strides=strides, device=(HOST, 0), **options)


@pytest.fixture(scope="module", autouse=True)
def emulated():
    if not device.is_emulated():
        pytest.skip("what a GPU's arrays are told on the emulated device")


# NumPy's type of the same size, and the code and bits of dlpack.h: 4 is bfloat, 10 is e4m3fn, 12 is e5m2.
DTYPES = [
    (np.float64, (2, 64)),
    (np.float32, (2, 32)),
    (np.float16, (2, 16)),
    (np.uint16, (4, 16)),
    (np.uint8, (10, 8)),
    (np.uint8, (12, 8)),
    (np.int64, (0, 64)),
    (np.int8, (0, 8)),
    (np.uint16, (1, 16)),
    (np.bool_, (6, 8)),
]


@pytest.mark.parametrize(("dtype", "code"), DTYPES, ids=str)
@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)], ids=str)
def test_types_and_versions(dtype, code, version):
    x = np.arange(100).astype(dtype)
    y = np.zeros_like(x)
    source, target = over(x, dtype=code, version=version), over(y, dtype=code, version=version)
    for _ in range(2):
        y[:] = np.zeros_like(y)
        copy(source, target)
        np.testing.assert_array_equal(y.view(np.uint8), x.view(np.uint8))
    assert source.returned == len(source.streams) > 0
    assert set(source.streams) == {None}  # the host has no streams


def test_strides_offsets_and_no_elements():
    x, y = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
    copy(over(x[::-2]), over(y[::2]))
    np.testing.assert_array_equal(y[::2], x[::-2])
    assert not y[1::2].any()
    start = over(x[:100], byte_offset=40)
    copy(start, over(y[:100]))
    np.testing.assert_array_equal(y[:100], x[10:110])
    copy(Foreign((0,), 0, device=(HOST, 0)), Foreign((0,), 0, device=(HOST, 0)))
    with pytest.raises(gr.LaunchError, match="^x has N = 0, y has N = 100: "):
        copy(Foreign((0,), 0, device=(HOST, 0)), over(y[:100]))


ON_EMULATED = (
    "the array lives on a GPU, but girih runs on the emulated device: set GIRIH_DEVICE=cuda, or copy "
    "the array to the host$"
)
INTERFACE = {"shape": (128,), "typestr": "<f4", "data": (1 << 40, False)}


class Deleted(Foreign):
    def __dlpack__(self, **options):
        raise RuntimeError("Array has been deleted.")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (Foreign((128,), 1 << 40), f"^copy: x: {ON_EMULATED}"),
        (Interface(**INTERFACE), f"^copy: x: {ON_EMULATED}"),
        (with_exchange(7)((128,), 1 << 40, version=(2, 0)), "^copy: x: AssertionError: "),
        (
            Foreign((128,), 0, device=(7, 0)),
            "^copy: x: girih cannot take an array from DLPack device type 7; ",
        ),
        (
            Foreign((128,), 0, device=(HOST, 0), dtype=(5, 64)),
            "^copy: x: girih has no element type for DLPack code 5",
        ),
        (
            Foreign((128,), 0, device=(HOST, 0), version=(2, 0)),
            "^copy: x: the array comes with DLPack version 2, g",
        ),
        (Deleted((128,), 0, device=(HOST, 0)), "^copy: x: RuntimeError: Array has been deleted.$"),
    ],
    ids=["gpu", "interface", "table", "vulkan", "complex", "version-2", "deleted"],
)
def test_what_cannot_be_taken(array, message):
    y = gr.empty(128, gr.f32)
    copy(gr.zeros(128, gr.f32), y)
    for _ in range(2):
        with pytest.raises(gr.LaunchError, match=message):
            copy(array, y)


def test_outputs_that_may_not_be_written():
    x, y = np.ones(128, np.float32), np.zeros(128, np.float32)
    copy(over(x, flags=READ_ONLY), over(y))
    assert y.all()
    with pytest.raises(
        gr.LaunchError, match="^y: the kernel writes it, and the array is read-only$"
    ):
        copy(over(y), over(x, flags=READ_ONLY))
    y.flags.writeable = False
    with pytest.raises(
        gr.LaunchError, match="^y: the kernel writes it, and the NumPy array is read-only$"
    ):
        copy(x, y)
    # A copy of what is read-only is not.
    copy(gr.asarray(x), gr.from_dlpack(over(x, flags=READ_ONLY)))


def test_the_slow_way_is_said_once(monkeypatch, capsys):
    monkeypatch.setattr(launch, "_said_slow", False)
    x, y = np.ones(128, np.float32), np.zeros(128, np.float32)
    copy(gr.asarray(x), gr.asarray(y))
    assert capsys.readouterr().err == ""
    copy(x, y)
    copy(x, y)
    assert capsys.readouterr().err == (
        "girih: arrays in host memory are copied to the device and back at each call, which is slow; "
        "gr.asarray(x) copies once\n"
    )


# ---- On a driver that does nothing, in a process of its own --------------------------------------------

BUILD = Path(_runtime.__file__).absolute().parents[2]
HEAD = """
    import ctypes, json, sys
    import girih as gr
    from foreign_arrays import *
    @gr.kernel
    def copy(x: gr.In["N"], y: gr.Out["N"]):
        X, Y = x.tiles(128), y.tiles(128)
        for i in gr.tiles(Y):
            Y[i] = X[i]
    driver = ctypes.CDLL("libcuda.so.1")
    driver.noopStream.restype = driver.noopParameter.restype = ctypes.c_uint64
    X, Y = 1 << 44, 1 << 45
    def seen():
        "The stream of the last launch, and which of the two addresses were passed."
        parameters = {driver.noopParameter(i) for i in range(3)}
        return driver.noopStream(), sorted(parameters & {X, Y, X + 4096, Y + 4096})
    def message(*arguments, **options):
        try:
            copy.launch(*arguments, **options)
        except gr.LaunchError as error:
            return str(error)
    said = []
"""


def on_noop_driver(tmp_path, program):
    """What a program puts into ``said``."""
    if not (BUILD / "bench" / "libcuda.so.1").exists():
        pytest.skip("the driver that does nothing is not built")
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent(HEAD) + textwrap.dedent(program) + "\nprint(json.dumps(said))\n"
    )
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(BUILD / "bench"),
        "GIRIH_DEVICE": "cuda",
        "PYTHONPATH": f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}",
    }
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


A, B = 1 << 44, 1 << 45


def test_dlpack_on_a_gpu(tmp_path):
    said = on_noop_driver(
        tmp_path,
        """
        x, y = Foreign((256,), X), Foreign((256,), Y - 4096, byte_offset=4096)
        for stream in (None, None, 96, 1):
            copy.launch(x, y, stream=stream)
            said.append(seen())
        copy(Foreign((256,), X + 4096), y)
        said.append(seen())
        said.append([x.streams[-1], x.streams[-2], x.returned == len(x.streams)])
        said.append(message(Foreign((256,), X, device=(2, 1)), y))
        said.append(message(x, Foreign((256,), Y, flags=READ_ONLY)))
        said.append(message(Foreign((256,), X, flags=READ_ONLY), y))
        launcher = copy.prepare(x, y, stream=32)
        launcher()
        said.append(seen())
        launcher(x, Foreign((256,), Y + 4096))
        said.append(seen())
        """,
    )
    assert said == [
        [0, [A, B]],
        [0, [A, B]],
        [96, [A, B]],
        [1, [A, B]],
        [0, [A + 4096, B]],
        [1, 96, True],  # 1 is DLPack's name of the default stream
        "copy: x: the array lives on GPU 1, but girih runs on GPU 0",
        "y: the kernel writes it, and the array is read-only",
        None,
        [32, [A, B]],
        [32, [A, B + 4096]],
    ]


def test_the_c_table_and_its_stream(tmp_path):
    said = on_noop_driver(
        tmp_path,
        """
        kind = with_exchange(stream=7168)
        copy(gr.zeros(256, gr.f32), gr.zeros(256, gr.f32))  # leaves a recipe
        x, y = kind((256,), X), kind((256,), Y)
        copy(x, y)
        said.append(seen())
        copy.launch(x, y, stream=96)
        said.append(seen())
        """,
    )
    assert said == [[7168, [A, B]], [96, [A, B]]]


def test_the_cuda_array_interface(tmp_path):
    said = on_noop_driver(
        tmp_path,
        """
        def array(address, **fields):
            return Interface(**{"shape": (256,), "typestr": "<f4", "data": (address, False), **fields})
        for _ in range(2):
            copy(array(X), array(Y, strides=(4,), stream=1))
            said.append(seen())
        said.append(message(array(X), array(Y, data=(Y, True))))
        said.append(message(array(X, typestr="<c8"), array(Y)))
        said.append(message(array(X, strides=(6,)), array(Y)))
        """,
    )
    assert said == [
        [0, [A, B]],
        [0, [A, B]],
        "y: the kernel writes it, and the array is read-only",
        "copy: x: girih has no element type for '<c8' of the CUDA array interface",
        "copy: x: strides of (6,) bytes are no multiples of 4",
    ]


def test_pytorchs_current_stream(tmp_path):
    """A module that is called torch stands for PyTorch."""
    said = on_noop_driver(
        tmp_path,
        """
        import types
        torch = sys.modules["torch"] = types.ModuleType("torch")
        current = types.SimpleNamespace(cuda_stream=4096)
        torch.cuda = types.SimpleNamespace(current_stream=lambda device: current)
        class Tensor(Foreign):
            is_cuda = True
        Tensor.__module__ = "torch"
        x, y = Tensor((256,), X), Tensor((256,), Y)
        for stream in (4096, 8192, 0):
            current.cuda_stream = stream
            copy(x, y)
            said.append([seen(), x.streams[-1]])
        copy.launch(x, y, stream=96)
        said.append([seen(), x.streams[-1]])
        """,
    )
    both = [A, B]
    assert said == [[[4096, both], 4096], [[8192, both], 8192], [[0, both], 1], [[96, both], 96]]
