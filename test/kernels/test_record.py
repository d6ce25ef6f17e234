"""Recorded calls: what python -m girih.replay makes of them, on the emulated device and of a GPU's."""

import subprocess
import sys

import numpy as np
import pytest

import girih as gr
from girih import replay
from girih.runtime import device


@pytest.fixture(autouse=True)
def emulated():
    if not device.is_emulated():
        pytest.skip("replays run on the emulated device, and this process has chosen a GPU")


@gr.kernel
def mixed(x: gr.In["M,N"], y: gr.InOut["M,N"], z: gr.Out["N"], a: gr.f32, b: gr.i32):
    X, Y, Z = x.tiles(16, 64), y.tiles(16, 64), z.tiles(64)
    for m, n in gr.tiles(Y, ctas=gr.sms()):
        Y[m, n] = Y[m, n] + X[m, n] * a + b
        if m == 0:
            Z[n] = gr.sum(X[m, n], axis=0)


@gr.kernel
def reads_beyond(x: gr.In["N"], y: gr.Out["N"], first: gr.i32):
    Y = y.tiles(32)
    for i in gr.tiles(Y):
        Y[i] = gr.full((32,), 0.0, gr.f32) + x[first + 1000000]


def test_a_call_is_the_same_again(tmp_path):
    case, output = tmp_path / "a case.girih", tmp_path / "out.npz"
    random = np.random.default_rng(3)
    x, y = (random.integers(-9, 10, (16, 100)).astype(np.float32) for _ in range(2))
    big = gr.asarray(np.concatenate([x[:, ::-1], y], axis=0))
    device_x, device_y, z = (
        big[:16, ::-1],
        big[16:],
        gr.empty(100, gr.f32),
    )  # one memory, a stride of -1
    mixed.record(case)
    try:
        mixed(device_x, device_y, z, 2.0, -3)
        assert replay.main([str(case), "--output", str(output), "--seeds", "2"]) == 0
    finally:
        mixed.record(None)
    found = np.load(output)
    np.testing.assert_array_equal(found["y"], y + 2 * x - 3)
    np.testing.assert_array_equal(found["z"], x.sum(axis=0))
    np.testing.assert_array_equal(device_y.numpy(), found["y"])
    before = case.read_bytes()
    mixed(device_x, device_y, z, 2.0, -3)  # no longer recorded
    assert case.read_bytes() == before


def test_the_last_call_stays_and_numpy_is_recorded(tmp_path):
    case, output = tmp_path / "case.girih", tmp_path / "out.npz"
    x, y, z = (
        np.ones((16, 64), np.float32),
        np.zeros((16, 64), np.float32),
        np.zeros(64, np.float32),
    )
    mixed.record(case)
    try:
        for b in (1, 2, 3):
            y[:] = 0
            mixed.launch(x, y, z, 1.0, b, ctas=1)
    finally:
        mixed.record(None)
    assert replay.main([str(case), "--output", str(output)]) == 0
    assert (np.load(output)["y"] == 4).all()


def test_a_failure_prints_the_command_that_shows_it_again(tmp_path):
    case = tmp_path / "a case.girih"
    x, y = gr.zeros(64, gr.f32), gr.empty(64, gr.f32)
    reads_beyond.record(case)
    try:
        with pytest.raises(gr.DeviceError) as caught:
            reads_beyond(x, y, 5)
    finally:
        reads_beyond.record(None)
    assert caught.value.findings
    *_, last = str(caught.value).splitlines()
    words, _, command = last.partition(": ")
    assert words.strip() == "to run this call again on the emulated device"
    assert command == f"python -m girih.replay '{case}'"
    done = subprocess.run(
        [sys.executable, "-m", "girih.replay", case], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.startswith("reads_beyond: ")
    assert caught.value.findings[0]["kind"] in done.stdout

    def places(text):
        return [line for line in text.splitlines() if line.strip().startswith("at ")]

    assert places(done.stdout) == places(str(caught.value)) != []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"nothing", "is no recorded call: File is not a zip file"),
    ],
)
def test_files_that_are_no_cases(tmp_path, content, message, capsys):
    case = tmp_path / "case.girih"
    if content is not None:
        case.write_bytes(content)
    assert replay.main([str(case)]) == 2
    assert capsys.readouterr().err == f"{case} {message}\n"
