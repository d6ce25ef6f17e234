"""Programs from Python: launches on every kind of array, messages, findings, Ctrl-C.

The packages are written by hand (runtime_images.py), so that nothing here needs the compiler.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from runtime_images import (
    COPY_LOCATIONS,
    COPY_MANIFEST,
    COPY_PTX,
    SPIN_MANIFEST,
    SPIN_PTX,
    array,
    image,
)

import girih
from girih import _runtime
from girih.runtime import device
from girih.runtime.launch import describe_argument, launch

pytestmark = pytest.mark.skipif(
    os.environ.get("GIRIH_DEVICE") == "cuda", reason="the packages hold PTX and no machine code"
)


@pytest.fixture(scope="module", autouse=True)
def emulated():
    if not device.is_emulated():
        pytest.skip("the packages hold PTX and no machine code")


@pytest.fixture
def copy():
    return _runtime.Program(image(COPY_PTX, COPY_MANIFEST))


@pytest.fixture
def spin():
    return _runtime.Program(image(SPIN_PTX, SPIN_MANIFEST))


def numbers(rows, columns):
    return np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)


@pytest.mark.parametrize("shape", [(16, 32), (1, 4), (17, 36), (40, 100)])
def test_launch_on_device_arrays(copy, shape):
    x = numbers(*shape)
    target = girih.zeros(shape, girih.f32)
    copy.launch([girih.asarray(x), target])
    np.testing.assert_array_equal(target.numpy(), x)


def test_launch_on_numpy_arrays(copy):
    x, y = numbers(20, 36), np.zeros((20, 36), np.float32)
    launch(copy, [x, y])
    np.testing.assert_array_equal(y, x)


def test_only_outputs_are_copied_back(copy):
    x, y = numbers(20, 36), np.zeros((20, 36), np.float32)
    x.flags.writeable = False
    launch(copy, [x, y])
    np.testing.assert_array_equal(y, x)


def test_outputs_keep_what_the_kernel_does_not_write():
    contents = dict(COPY_MANIFEST)
    # One CTA only: the rest of the output is not the kernel's.
    contents["plan"] = [*COPY_MANIFEST["plan"][:-1]]
    contents["plan"].append({"op": "launch", "kernel": 0, "grid": [9, 9, 9], "args": [4, 5]})
    y = np.full((40, 64), -1, np.float32)
    x = numbers(40, 64)
    launch(_runtime.Program(image(COPY_PTX, contents)), [x, y])
    expected = np.full((40, 64), -1, np.float32)
    expected[:16, :32] = x[:16, :32]
    np.testing.assert_array_equal(y, expected)


def test_strided_output(copy):
    x, y = numbers(20, 36), np.zeros((40, 72), np.float32)
    launch(copy, [x, y[::2, ::2]])
    np.testing.assert_array_equal(y[::2, ::2], x)
    assert not y[1::2].any()


class DlpackOnly:
    """A library's array that is not NumPy's."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[::2, ::2]], ids=["dense", "strided"])
def test_launch_on_dlpack_arrays(copy, view):
    x, y = numbers(20, 36), view(np.zeros((40, 72), np.float32))[:20, :36]
    launch(copy, [DlpackOnly(x), DlpackOnly(y)])
    np.testing.assert_array_equal(y, x)


def test_transposed_views_are_arguments():
    contents = dict(COPY_MANIFEST)
    contents["parameters"] = [array("a", "in", contiguous=0), array("b", "out")]
    program = _runtime.Program(image(COPY_PTX, contents))
    with pytest.raises(girih.LaunchError, match="a: the stride of dimension 1 is 32 elements"):
        program.launch([girih.zeros((64, 32), girih.f32).T, girih.zeros((32, 64), girih.f32)])


# ---- Messages -------------------------------------------------------------------------------------


def f32(*shape):
    return girih.zeros(shape, girih.f32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: [f32(16, 32)], r"^copy takes 2 arguments \(a, b\), found 1$"),
        (
            lambda: [f32(16, 32), girih.zeros((16, 32), girih.bf16)],
            r"^b: expected an array of f32 with 2 dimensions, found an array of bf16 with shape "
            r"\(16, 32\)$",
        ),
        (lambda: [f32(16, 32), 3], "^b: expected an array of f32 with 2 dimensions, found the int"),
        (lambda: [f32(16, 32), "b"], "^b: expected a girih.Array or a number, found an object of"),
        (
            lambda: [f32(16, 32), f32(17, 32)],
            "^a has M = 16, b has M = 17: dimensions named M must agree$",
        ),
        (
            lambda: [f32(16, 13), f32(16, 13)],
            r"^a: the row pitch is 52 bytes \(13 elements of f32\); TMA needs a multiple of 16$",
        ),
        (
            lambda: [f32(32, 16).T, f32(16, 32)],
            r"^a: expected stride 1 in dimension 1, found strides \(1, 16\)",
        ),
    ],
)
def test_arguments_that_do_not_fit(copy, arguments, message):
    with pytest.raises(girih.LaunchError, match=message):
        copy.launch(arguments())


@pytest.mark.parametrize("shape", [(0, 32), (16, 0), (0, 0)])
def test_an_empty_array_is_copied(copy, shape):
    copy.launch([f32(*shape), f32(*shape)])


def test_scalars_that_do_not_fit(spin):
    with pytest.raises(
        girih.LaunchError, match=r"rounds: expected a scalar of type u32 \(0 to 429"
    ):
        spin.launch([-1, 1.0])
    with pytest.raises(
        girih.LaunchError, match="rounds: the integer 18446744073709551616 does not"
    ):
        spin.launch([1 << 64, 1.0])
    with pytest.raises(
        girih.LaunchError, match="rounds: expected a scalar of type u32, found the float 2.5"
    ):
        spin.launch([2.5, 1.0])
    spin.launch([np.int64(3), np.float32(0.5)])
    spin.launch([True, 2])


def test_host_arrays_that_do_not_fit(copy):
    x = numbers(16, 32)
    with pytest.raises(
        girih.LaunchError, match="^a: girih has no element type for NumPy's complex64"
    ):
        launch(copy, [x.astype(np.complex64), x])
    y = x.copy()
    y.flags.writeable = False
    with pytest.raises(
        girih.LaunchError, match="^b: the kernel writes it, and the NumPy array is rea"
    ):
        launch(copy, [x, y])
    with pytest.raises(
        girih.LaunchError, match="^k: a: expected an array, found an object of type l"
    ):
        describe_argument("k", "a", [1, 2])
    assert describe_argument("k", "a", x.T) == (girih.f32, (32, 16), (1, 32), 0)


def test_damaged_packages():
    with pytest.raises(
        girih.GirihError, match="^not an image: expected a 64-bit little-endian ELF"
    ):
        _runtime.Program(b"nothing")
    unknown = image(COPY_PTX, {**COPY_MANIFEST, "parameters": [array("a", "in", dtype="f17")]})
    with pytest.raises(girih.GirihError, match="the manifest is damaged: unknown dtype"):
        _runtime.Program(unknown)
    refused = COPY_PTX.replace("cp.async.bulk.wait_group 0;", "tcgen05.fence::after_thread_sync;")
    program = _runtime.Program(image(refused, COPY_MANIFEST))
    with pytest.raises(girih.DeviceError, match="copy cannot be loaded on (.|\n)*tcgen05"):
        program.launch([f32(16, 32), f32(16, 32)])


def test_info(copy):
    assert copy.name == "copy"
    assert copy.info["registers"] == 24
    assert copy.info["block"] == (32, 1, 1)
    assert copy.info["shared_bytes"] == 0
    assert copy.parameters[1] == {
        "name": "b",
        "kind": "array",
        "dtype": "f32",
        "rank": 2,
        "contiguous": 1,
        "access": "out",
    }


# ---- The device -----------------------------------------------------------------------------------


def faulty():
    """The copy with a byte count that never comes: nobody can go on."""
    return image(
        COPY_PTX.replace("_, [%r2], 2048", "_, [%r2], 2064"), COPY_MANIFEST, COPY_LOCATIONS
    )


def test_findings_name_the_users_lines():
    sources = [("copy", "/home/user/kernels.py", 10), ("store", "/home/user/kernels.py", 40)]
    program = _runtime.Program(faulty(), sources)
    with pytest.raises(girih.DeviceError) as caught:
        program.launch([f32(16, 32), f32(16, 32)])
    assert "kernels.py:12" in str(caught.value)  # line 3 of a function that begins in line 10
    assert "16 more bytes" in caught.value.findings[0]["message"]


def test_the_device_works_after_a_finding(copy):
    program = _runtime.Program(faulty())
    with pytest.raises(girih.DeviceError, match="mbarrier 0x[0-9a-f]+ expects 16 more bytes"):
        program.launch([f32(16, 32), f32(16, 32)])
    x, y = numbers(20, 36), np.zeros((20, 36), np.float32)
    launch(copy, [x, y])
    np.testing.assert_array_equal(y, x)


def test_options(copy):
    for seed in range(3):
        with girih.emulator.options(seed=seed):
            target = f32(17, 36)
            copy.launch([girih.asarray(numbers(17, 36)), target])
            np.testing.assert_array_equal(target.numpy(), numbers(17, 36))
    with pytest.raises(girih.DeviceError, match='does not take weather = "fine"'):
        _runtime.set_option("weather", "fine")


def test_threads_may_launch_at_once(copy):
    results = {}

    def work(index):
        x = numbers(17, 36) + index
        target = f32(17, 36)
        for _ in range(5):
            copy.launch([girih.asarray(x), target])
        results[index] = (target.numpy() == x).all()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_ctrl_c_stops_a_launch(spin, copy, interruptible, capfd):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        spin.launch([(1 << 32) - 1, 0.0])
    assert time.monotonic() - start < 0.3 + 0.5
    timer.join()
    said = capfd.readouterr().err
    assert (
        "girih: stopped\nkernel spin: stopped (note): stopped while 0 warps waited and 1 ran"
        in said
    )
    assert "PTX line" in said
    x, y = numbers(16, 32), np.zeros((16, 32), np.float32)
    launch(copy, [x, y])
    np.testing.assert_array_equal(y, x)


# ---- Processes of their own: the choice of the device ----------------------------------------------


def run(program, **environment):
    here = Path(__file__).parent
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={
            **os.environ,
            "PYTHONPATH": f"{here}:{os.environ.get('PYTHONPATH', '')}",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


LAUNCH = """
    import girih
    from girih import _runtime
    from runtime_images import COPY_MANIFEST, COPY_PTX, image
    program = _runtime.Program(image(COPY_PTX, COPY_MANIFEST))
    arrays = [girih.zeros((16, 32), girih.f32), girih.zeros((16, 32), girih.f32)]
    program.launch(arrays)
    program.launch(arrays)
    print("ran")
"""


def test_the_first_launch_says_which_device():
    finished = run(LAUNCH, GIRIH_DEVICE="")
    assert finished.stdout == "ran\n", finished.stderr
    assert finished.stderr == (
        "girih: no Hopper GPU found, running on the emulated device (set GIRIH_DEVICE=cuda to "
        "require a GPU)\n"
    )
    finished = run(LAUNCH, GIRIH_DEVICE="emulated")
    assert finished.stderr == "girih: running on the emulated device\n"


def test_a_gpu_that_is_not_there():
    finished = run("import girih\ngirih.zeros(4, girih.f32)", GIRIH_DEVICE="cuda")
    assert finished.returncode == 1
    last = finished.stderr.strip().splitlines()[-1]
    assert last.startswith("girih.errors.DeviceError: GIRIH_DEVICE=cuda asks for a GPU, but ")
    assert last.endswith("; unset it to run on the emulated device")


def test_an_unknown_device():
    finished = run("import girih\ngirih.zeros(4, girih.f32)", GIRIH_DEVICE="gpu")
    assert 'GIRIH_DEVICE is "gpu"; expected "emulated" or "cuda"' in finished.stderr


def test_importing_chooses_no_device():
    finished = run("import girih, girih._runtime; girih.Array", GIRIH_DEVICE="nonsense")
    assert (finished.returncode, finished.stderr) == (0, "")


FORK = """
    import os, sys
    import girih
    if sys.argv[1:] == ["used"]:
        kept = girih.zeros(4, girih.f32)
    child = os.fork()
    if child == 0:
        try:
            print(girih.zeros(4, girih.f32).numpy())
        except girih.DeviceError as error:
            print(error)
        kept = None
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print(girih.zeros(2, girih.f32).numpy())
"""


def test_a_forked_process():
    finished = run(f"import sys\nsys.argv[1:] = ['used']\n{textwrap.dedent(FORK)}")
    first, second = finished.stdout.splitlines()
    assert first.startswith(
        "this process was forked from one that had used the device, and no CUDA driver works in such a child: "
    )
    assert second == "[0. 0.]"
    assert run(FORK).stdout.splitlines() == ["[0. 0. 0. 0.]", "[0. 0.]"]


SPIN = """
    import signal, sys
    from girih import _runtime
    from runtime_images import SPIN_MANIFEST, SPIN_PTX, image
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 3.2)
    try:
        _runtime.Program(image(SPIN_PTX, SPIN_MANIFEST)).launch([(1 << 32) - 1, 0.0])
    except KeyboardInterrupt:
        print("stopped")
"""


def test_a_long_run_shows_progress():
    shown = run(SPIN, GIRIH_PROGRESS="1")  # whose text has newlines for carriage returns
    assert shown.stdout == "stopped\n", shown.stderr
    lines = re.findall(
        r"\ngirih: spin: 0 of 1 CTAs done, (\d+\.\d) million warp instructions, (\d) s\x1b\[K",
        shown.stderr,
    )
    assert len(lines) >= 2
    counts = [float(count) for count, _ in lines]
    assert 0 < counts[0] < counts[-1]
    assert [seconds for _, seconds in lines][0] == "2"
    assert "\n\x1b[Kgirih: stopped\n" in shown.stderr  # the line is gone
    assert "CTAs done" not in run(SPIN).stderr  # no terminal
