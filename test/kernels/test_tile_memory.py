"""tile.load and tile.store at wg level: every element type, layouts and ranks, edges of arrays, views of views."""

import numpy as np
import pytest
from tile_support import FLAT, ArrayOf, module, run

import girih

# A tile 32x16 over 128 threads: rows or columns contiguous in registers, an accumulator's fragment, rows replicated.
ROWS = "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[8,0],[16,0]]}"
COLS = "{register: [[1,0],[2,0]], lane: [[4,0],[8,0],[16,0],[0,1],[0,2]], warp: [[0,4],[0,8]]}"
SWIZZLED = "{register: [[0,1],[0,2]], lane: [[0,4],[1,4],[2,8],[4,0],[8,0]], warp: [[16,0],[0,8]]}"
FEW = "{register: [[0,1],[0,2],[8,0],[16,0]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[0,0],[0,0]]}"
IN_LANES = (
    "{register: [[0,0],[16,0]], lane: [[0,1],[0,2],[0,4],[0,8],[1,0]], warp: [[2,0],[4,0]]}"
    " repeat {register: [8,0] x 2}"
)
LAYOUTS = {"rows": ROWS, "cols": COLS, "swizzled": SWIZZLED, "few": FEW, "in_lanes": IN_LANES}

DTYPES = {
    "i1": girih.b1,
    "i8": girih.i8,
    "i16": girih.i16,
    "i32": girih.i32,
    "i64": girih.i64,
    "f16": girih.f16,
    "bf16": girih.bf16,
    "f32": girih.f32,
    "f64": girih.f64,
}


def numbers(shape, dtype, seed=0):
    """Values that every type holds exactly; in b1, both of them."""
    values = np.random.default_rng(seed).integers(1, 100, shape)
    if dtype == "i1":
        return values % 3 == 0
    return values.astype(f"int{dtype[1:]}" if dtype[0] == "i" else np.float32)


def raw(array):
    return np.asarray(array.numpy(), np.float64)


def copy_1d(dtype, align=16, layout=FLAT, offset="%c0"):
    x = ArrayOf("x", dtype, align=align)
    y = ArrayOf("y", dtype, align=align, access="out")
    body = f"""%t = tile.load %x[{offset}] : {x.view} -> tensor<512x{dtype}, #t>
    tile.store %t, %y[{offset}] : tensor<512x{dtype}, #t>, {y.view}"""
    return module(body, [x, y], definitions=f"#t = #wg.layout<{layout}>")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 511, 512, 513])
def test_every_type_at_the_edge(dtype, n):
    x = numbers(n, dtype)
    y = girih.zeros(n, DTYPES[dtype])
    run(copy_1d(dtype), girih.asarray(x, DTYPES[dtype]), y)
    expected = np.asarray(x, np.float64)
    expected[512:] = 0
    assert raw(y).tolist() == expected.tolist()


@pytest.mark.parametrize(("offset", "start"), [("%c3", 3), ("%c8", 8)])
@pytest.mark.parametrize("dtype", ["i8", "bf16", "f32"])
def test_an_index_decides_the_vectors(dtype, offset, start):
    x = numbers(600, dtype)
    y = girih.zeros(600, DTYPES[dtype])
    run(copy_1d(dtype, offset=offset), girih.asarray(x, DTYPES[dtype]), y)
    expected = np.zeros(600)
    expected[start : start + 512] = x[start : start + 512]
    assert raw(y).tolist() == expected.tolist()


def block(array, row, col, rows, cols, fill):
    """What a tile of rows x cols at (row, col) holds, by one test for each element."""
    return np.array(
        [
            [
                array[i, j] if 0 <= i < array.shape[0] and 0 <= j < array.shape[1] else fill
                for j in range(col, col + cols)
            ]
            for i in range(row, row + rows)
        ],
        np.float64,
    )


def copy_2d(dtype, layout, contiguous=1, align=0):
    x = ArrayOf("x", dtype, 2, contiguous, align)
    y = ArrayOf("y", dtype, 2, contiguous, align, access="out")
    body = f"""%t = tile.load %x[%i, %j] fill(%fill) : {x.view}, {dtype} -> tensor<32x16x{dtype}, #t>
    tile.store %t, %y[%k, %l] : tensor<32x16x{dtype}, #t>, {y.view}"""
    scalars = {"i": "i32", "j": "i32", "k": "i32", "l": "i32", "fill": dtype}
    return module(body, [x, y], scalars, definitions=f"#t = #wg.layout<{layout}>")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("contiguous", [1, 0, None])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_layouts_and_orders_in_memory(layout, contiguous, dtype):
    text = copy_2d(dtype, LAYOUTS[layout], contiguous)
    for (m, n), (i, j), (k, h) in [
        ((32, 16), (0, 0), (0, 0)),
        ((33, 17), (1, 1), (0, 0)),
        ((31, 15), (0, 0), (3, 1)),
        ((40, 24), (-5, 20), (7, -3)),
        ((64, 40), (16, 8), (-31, 39)),
        ((1, 1), (0, 0), (0, 0)),
    ]:
        x, out = numbers((m, n), dtype), np.full((m, n), 7.0)
        order = np.asfortranarray if contiguous == 0 else np.ascontiguousarray
        y = girih.asarray(order(np.full((m, n), 7, np.float32)), DTYPES[dtype])
        run(text, girih.asarray(order(x), DTYPES[dtype]), y, i, j, k, h, -2.0)
        tile = block(x, i, j, 32, 16, -2.0)
        for r in range(32):
            for c in range(16):
                if 0 <= k + r < m and 0 <= h + c < n:
                    out[k + r, h + c] = tile[r, c]
        assert raw(y).tolist() == out.tolist(), (m, n, i, j, k, h)


def test_strides_without_a_contiguous_dimension():
    text = copy_2d("f32", ROWS, None)
    x = girih.Array._empty("f32", [32, 16], [100, 3])
    values = numbers((32, 16), "f32")
    memory = np.zeros(x._span // 4, np.float32)
    np.lib.stride_tricks.as_strided(memory, (32, 16), (400, 12))[:] = values
    x._write(memory.view(np.uint8))
    y = girih.zeros((32, 16), girih.f32)
    run(text, x, y, 0, 0, 0, 0, 0.0)
    assert raw(y).tolist() == values.tolist()


CUBE = "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[8,0],[16,0]]}"


@pytest.mark.parametrize("shape", [(4, 8, 16), (3, 7, 15), (5, 9, 17), (1, 1, 1)])
def test_three_dimensions(shape):
    x = ArrayOf("x", "bf16", 3)
    y = ArrayOf("y", "bf16", 3, access="out")
    body = f"""%t = tile.load %x[%c0, %c0, %c0] : {x.view} -> tensor<4x8x16xbf16, #t>
    tile.store %t, %y[%c0, %c0, %c0] : tensor<4x8x16xbf16, #t>, {y.view}"""
    text = module(body, [x, y], definitions=f"#t = #wg.layout<{CUBE}>")
    values = numbers(shape, "bf16")
    out = girih.zeros(shape, girih.bf16)
    run(text, girih.asarray(values, girih.bf16), out)
    expected = np.zeros(shape)
    a, b, c = (min(n, t) for n, t in zip(shape, (4, 8, 16), strict=True))
    expected[:a, :b, :c] = values[:a, :b, :c]
    assert raw(out).tolist() == expected.tolist()


def test_views_of_views():
    """Element [2, 1] of a permuted array, rows 5 to 20 of it; what is outside stays."""
    x = ArrayOf("x", "f32", 4)
    y = ArrayOf("y", "f32", 2, access="inout")
    body = f"""
    %p = tile.permute %x [3, 0, 2, 1] : {x.view} -> !tile.view<f32, rank = 4, contiguous = 0>
    %q = tile.select %p[%c2] dim(1) : !tile.view<f32, rank = 4, contiguous = 0> -> !tile.view<f32, rank = 3, contiguous = 0>
    %r = tile.select %q[%c1] dim(2) : !tile.view<f32, rank = 3, contiguous = 0> -> !tile.view<f32, rank = 2, contiguous = 0>
    %t = tile.permute %r [1, 0] : !tile.view<f32, rank = 2, contiguous = 0> -> !tile.view<f32, rank = 2, contiguous = 1>
    %s = tile.slice %t[%low to %high] dim(0) : !tile.view<f32, rank = 2, contiguous = 1> -> !tile.view<f32, rank = 2, contiguous = 1>
    %u = tile.slice %y[%low to %high] dim(0) : {y.view} -> {y.view}
    %n = tile.extent %s dim(0) : !tile.view<f32, rank = 2, contiguous = 1>
    %tile = tile.load %s[%c0, %c0] : !tile.view<f32, rank = 2, contiguous = 1> -> tensor<32x16xf32, #t>
    %f = arith.sitofp %n : i32 to f32
    %n_tile = tensor.splat %f : tensor<32x16xf32, #t>
    %sum = arith.addf %tile, %n_tile : tensor<32x16xf32, #t>
    tile.store %sum, %u[%c0, %c0] : tensor<32x16xf32, #t>, {y.view}"""
    text = module(
        body, [x, y], {"low": "i32", "high": "i32"}, definitions=f"#t = #wg.layout<{ROWS}>"
    )
    values = numbers((3, 2, 40, 16), "f32")
    out = girih.asarray(np.full((40, 16), 7, np.float32))
    run(text, girih.asarray(values), out, 5, 20)
    expected = np.full((40, 16), 7.0)
    expected[5:20] = values[2, 1, 5:20] + 15
    assert raw(out).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars(dtype):
    x = ArrayOf("x", dtype, 2)
    y = ArrayOf("y", dtype, 1, access="out")
    body = f"""%v = tile.read %x[%c2, %i] : {x.view} -> {dtype}
    tile.write %v, %y[%c1] : {dtype}, {y.view}"""
    text = module(body, [x, y], {"i": "i32"}, warps=8)
    values = numbers((3, 5), dtype)
    out = girih.zeros(3, DTYPES[dtype])
    run(text, girih.asarray(values, DTYPES[dtype]), out, 4)
    assert raw(out).tolist() == [0, values[2, 4], 0]


def test_roles_of_one_warp_and_of_three_warpgroups():
    x = ArrayOf("x", "f32", 2)
    y = ArrayOf("y", "f32", 2, access="out")
    body = f"""wg.specialize {{
      wg.role @one warps(1) {{
        %t = tile.load %x[%c0, %c0] : {x.view} -> tensor<4x32xf32, #one>
        tile.store %t, %y[%c0, %c0] : tensor<4x32xf32, #one>, {y.view}
      }}
      wg.role @three warpgroups(3) {{
        %t = tile.load %x[%c4, %c0] : {x.view} -> tensor<24x32xf32, #three>
        tile.store %t, %y[%c4, %c0] : tensor<24x32xf32, #three>, {y.view}
      }}
    }}"""
    definitions = """#one = #wg.layout<{register: [[1,0],[2,0]], lane: [[0,1],[0,2],[0,4],[0,8],[0,16]]}>
#three = #wg.layout<{register: [[1,0]], lane: [[0,1],[0,2],[0,4],[0,8],[0,16]], warp: [[2,0],[4,0]]} repeat {warpgroup: [8,0] x 3}>"""
    text = module(body, [x, y], definitions=definitions, warps=0)
    for rows in (28, 27, 3):
        values = numbers((rows, 32), "f32")
        out = girih.zeros((rows, 32), girih.f32)
        run(text, girih.asarray(values), out)
        assert raw(out).tolist() == values.tolist()
