"""Kernels of the tile phase in MLIR: what tile-specialize and wg-assign-layouts make of them runs and is right."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tile_support import ArrayOf, module, run

import girih
from girih.compiler.worker import WORKER

GIRIH_OPT = Path(girih.__file__).parents[2] / "bin" / "girih-opt"


def copy_of(shape, align=16):
    x = ArrayOf("x", "f32", rank=len(shape), align=align)
    y = ArrayOf("y", "f32", rank=len(shape), align=align, access="out")
    at = ", ".join(["%c0"] * len(shape))
    tile = f"tensor<{'x'.join(map(str, shape))}xf32>"
    body = f"""%t = tile.load %x[{at}] : {x.view} -> {tile}
    %two = arith.constant dense<2.0> : {tile}
    %u = arith.mulf %t, %two : {tile}
    tile.store %u, %y[{at}] : {tile}, {y.view}"""
    return module(body, [x, y], warps=None)


@pytest.mark.parametrize(
    "shape", [(1,), (3,), (96,), (1000,), (80, 96), (1, 7), (5, 1), (3, 5, 7), (2, 3, 4, 5, 6)]
)
def test_every_shape_has_a_layout(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    y = girih.zeros(shape, girih.f32)
    run(copy_of(shape, align=4), girih.asarray(x), y)
    assert (y.numpy() == 2 * x).all()


# A mask that two layouts share, a transposition, a reduction, a broadcast of its result, a loop that carries a tile.
X = ArrayOf("x", "f32", rank=2, align=16)
Y = ArrayOf("y", "f32", rank=2, align=16, access="out")
Z = ArrayOf("z", "f32", rank=2, align=16, access="out")
MIXED = module(
    f"""%t = tile.load %x[%c0, %c0] : {X.view} -> tensor<64x32xf32>
    %j = tile.iota dim(1) : tensor<64x32xi32>
    %five = arith.constant dense<5> : tensor<64x32xi32>
    %m = arith.cmpi sgt, %j, %five : tensor<64x32xi32>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %u = arith.select %m, %t, %zero : tensor<64x32xi1>, tensor<64x32xf32>
    %s = tile.reduce %u dim(0) : tensor<64x32xf32> -> tensor<32xf32> {{
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tile.yield %r : f32
    }}
    %e = tile.expand %s dim(0) : tensor<32xf32> -> tensor<1x32xf32>
    %b = tile.broadcast %e : tensor<1x32xf32> -> tensor<64x32xf32>
    %w = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %u) -> tensor<64x32xf32> : i32 {{
      %n = arith.addf %a, %b : tensor<64x32xf32>
      scf.yield %n : tensor<64x32xf32>
    }}
    tile.store %w, %y[%c0, %c0] : tensor<64x32xf32>, {Y.view}
    %v = tile.transpose %w [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
    %mt = tile.transpose %m [1, 0] : tensor<64x32xi1> -> tensor<32x64xi1>
    %one = arith.constant dense<1.0> : tensor<32x64xf32>
    %o = arith.select %mt, %v, %one : tensor<32x64xi1>, tensor<32x64xf32>
    tile.store %o, %z[%c0, %c0] : tensor<32x64xf32>, {Z.view}""",
    [X, Y, Z],
    warps=None,
)
OPTIONS = [
    "",
    "simplify=false",
    "alternatives=1",
    "convert-accesses=false",
    "compute-anew=false",
    "simplify=false alternatives=1 convert-accesses=false compute-anew=false",
]


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_optional_changes_no_result(options, tmp_path):
    pipeline = f"builtin.module(girih-tile-to-wg{{{options}}})"
    (tmp_path / "f.mlir").write_text(MIXED)
    text = subprocess.run(
        [GIRIH_OPT, str(tmp_path / "f.mlir"), f"--pass-pipeline={pipeline}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    x = np.random.default_rng(0).integers(-99, 100, (64, 32)).astype(np.float32)
    y, z = girih.zeros((64, 32), girih.f32), girih.zeros((32, 64), girih.f32)
    run(text, girih.asarray(x), y, z)
    u = np.where(np.arange(32) > 5, x, 0)
    w = u + 3 * u.sum(0)
    np.testing.assert_array_equal(y.numpy(), w)
    np.testing.assert_array_equal(z.numpy(), np.where(np.arange(32)[:, None] > 5, w.T, 1))


def test_what_the_passes_wrote_compiles_to_the_same():
    """The module of the wg phase, printed with its locations and read again."""
    request = {"id": 1, "mlir": MIXED, "emit": ["wg", "ptx"], "options": {}}
    reply, blobs = WORKER.request(request)
    assert reply["ok"], reply["diagnostics"]
    again, second = WORKER.request({**request, "mlir": blobs["wg"].decode()})
    assert again["ok"], again["diagnostics"]
    assert second["ptx"] == blobs["ptx"]
