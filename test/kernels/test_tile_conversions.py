"""Conversions of layouts that stay within a warp: by shuffles, where that is cheaper, without shared memory or a barrier."""

import numpy as np
import pytest
from tile_support import ArrayOf, module, run

import girih
from girih.compiler.client import phase_of

DTYPES = {
    "i1": girih.b1,
    "i8": girih.i8,
    "f8E4M3FN": girih.e4m3,
    "bf16": girih.bf16,
    "i32": girih.i32,
    "f64": girih.f64,
}
ROWS = "warp: [[16,0],[32,0]]"
ACC = f"{{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], {ROWS}}} repeat {{register: [0,8] x 4}}"
LAYOUTS = {
    "accumulator": ACC,
    # Operand A of wgmma (PTX ISA 9.0, 9.7.15.5.1.1): 8, 16 and 32 bits.
    "operand8": f"{{register: [[0,1],[0,2],[8,0],[0,16]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], {ROWS}}}",
    "operand32": f"{{register: [[8,0],[0,4],[0,8],[0,16]], lane: [[0,1],[0,2],[1,0],[2,0],[4,0]], {ROWS}}}",
    "lines": f"{{register: [[0,1],[0,2],[4,0],[8,0]], lane: [[0,4],[0,8],[0,16],[1,0],[2,0]], {ROWS}}}",
    "columns": f"{{register: [[1,0],[2,0],[0,8],[0,16]], lane: [[0,1],[0,2],[0,4],[4,0],[8,0]], {ROWS}}}",
    # A lane and its neighbour hold the same.
    "twice": f"{{register: [[0,1],[0,2],[4,0],[8,0],[2,0]], lane: [[0,0],[0,4],[0,8],[0,16],[1,0]], {ROWS}}}",
}


def conversion(source, target, dtype):
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, 2, access="out")
    tile = f"tensor<64x32x{dtype}"
    body = f"""%t = tile.load %x[%c0, %c0] : {x.view} -> {tile}, #s>
    %u = wg.convert_layout %t : {tile}, #s> -> {tile}, #t>
    tile.store %u, %y[%c0, %c0] : {tile}, #t>, {y.view}"""
    definitions = f"#s = #wg.layout<{LAYOUTS[source]}>\n#t = #wg.layout<{LAYOUTS[target]}>"
    return module(body, [x, y], definitions=definitions)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("source", LAYOUTS)
def test_conversions_within_a_warp(source, target, dtype):
    random = np.random.default_rng(0)
    values = random.integers(-8, 9, (64, 32)) if dtype != "i1" else random.random((64, 32)) < 0.5
    out = girih.zeros((64, 32), DTYPES[dtype])
    run(conversion(source, target, dtype), girih.asarray(values, DTYPES[dtype]), out)
    np.testing.assert_array_equal(np.asarray(out.numpy(), np.float64), values)


@pytest.mark.parametrize(
    ("source", "target", "dtype", "shuffles"),
    [
        ("accumulator", "operand8", "f8E4M3FN", 4),
        ("accumulator", "operand8", "i8", 4),
        ("accumulator", "operand32", "i32", 16),
        ("accumulator", "accumulator", "bf16", 0),
    ],
)
def test_shuffles_take_the_place_of_shared_memory(source, target, dtype, shuffles):
    ptx = phase_of(conversion(source, target, dtype), "ptx")
    # One more hands the number of the warp to its lanes.
    assert ptx.count("shfl.sync.idx.b32") + ptx.count("shfl.sync.bfly.b32") == shuffles + 1
    assert "shared" not in ptx and "barrier" not in ptx and "bar.sync" not in ptx
