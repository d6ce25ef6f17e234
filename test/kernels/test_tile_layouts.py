"""Kernels of the tile phase in MLIR: what tile-specialize and wg-assign-layouts make of them runs and is right."""

import numpy as np
import pytest
from tile_support import ArrayOf, module, run

import girih


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
