"""The emulated device runs the example's kernel in the same way with any number of host threads."""

import json
import re
import subprocess

import numpy as np
import pytest

import gemm
import girih as gr
from gemm_support import integers
from girih.compiler.path import compiler_path
from girih.compiler.worker import WORKER

M, N, K = 256, 512, 320
CTAS = 3


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """The files of one launch for girih-emu: PTX, arrays, and what the manifest says of the launch."""
    folder = tmp_path_factory.mktemp("trace")
    shapes = [(M, K), (K, N), (M, N)]
    arrays = [gr.zeros(shape, gr.bf16) for shape in shapes]
    request = {"id": 1, "mlir": gemm.matmul.emit(*arrays), "arch": "sm_90a"}
    reply, blobs = WORKER.request({**request, "emit": ["image", "ptx"]})
    (folder / "kernel.ptx").write_bytes(blobs["ptx"])
    a, b = integers(shapes[0], 1), integers(shapes[1], 2)
    for name, array in {"a": a, "b": b}.items():
        # The upper halves of small integers' f32 are their bf16.
        np.save(folder / f"{name}.npy", (array.view(np.uint32) >> 16).astype(np.uint16))
    (kernel,), plan = reply["manifest"]["kernels"], reply["manifest"]["plan"]
    arguments = []
    for step in (plan[index] for index in plan[-1]["args"]):
        if step["op"] == "dim":
            arguments.append({"i32": shapes[step["array"]][step["dim"]]})
        else:
            assert step["op"] == "tensor_map" and step["order"] == [1, 0]
            arguments.append(
                {
                    "map": {
                        "array": "abc"[step["array"]],
                        "type": step["dtype"],
                        "box": step["box"],
                        "swizzle": step["swizzle"],
                    }
                }
            )
    spec = {
        "grid": [CTAS, 1, 1],
        "block": kernel["block"],
        "shared": kernel["dynamic_shared_bytes"],
        "arrays": {
            "a": {"file": "a.npy"},
            "b": {"file": "b.npy"},
            "c": {"dtype": "<u2", "shape": [M, N], "out": "c.npy"},
        },
        "args": arguments,
    }
    (folder / "launch.json").write_text(json.dumps(spec))
    return folder, a.astype(np.float64) @ b.astype(np.float64)


def trace_of(folder, seed, threads):
    """The hash of everything that the device did, in order."""
    command = [compiler_path().replace("girih-compile", "girih-emu"), str(folder / "kernel.ptx")]
    command += ["--args", str(folder / "launch.json"), "--seed", str(seed)]
    done = subprocess.run([*command, "--threads", str(threads)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.search(r"nothing found; .* trace ([0-9a-f]{16})$", done.stderr.strip())[1]


def test_a_seed_has_one_trace_whatever_the_threads(launch):
    folder, reference = launch
    traces = {seed: [trace_of(folder, seed, threads) for threads in (1, 2, 3)] for seed in (3, 4)}
    for seed, found in traces.items():
        assert len(set(found)) == 1, seed
    assert traces[3][0] != traces[4][0]
    bits = np.load(folder / "c.npy").astype(np.uint32) << 16
    np.testing.assert_allclose(bits.view(np.float32), reference, rtol=2.0**-8)
