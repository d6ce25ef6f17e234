"""What changes a tile's shape, reductions, scans and conversions of layouts at wg level, against NumPy."""

import re

import numpy as np
import pytest
from tile_support import ArrayOf, module, run

import girih

# Layouts of a 32x16 tile over 128 threads.
ROWS = "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[8,0],[16,0]]}"
COLS = "{register: [[1,0],[2,0]], lane: [[4,0],[8,0],[16,0],[0,1],[0,2]], warp: [[0,4],[0,8]]}"
FEW = "{register: [[0,1],[0,2],[8,0],[16,0]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[0,0],[0,0]]}"
TWICE = (
    "{register: [[0,0],[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[0,0]], warp: [[4,0],[8,0]]}"
    " repeat {register: [16,0] x 2}"
)
HIGH_LANES = (
    "{register: [[0,4],[0,8]], lane: [[0,2],[1,0],[0,1],[16,0],[8,0]], warp: [[2,0],[4,0]]}"
)
LAYOUTS = {"rows": ROWS, "cols": COLS, "few": FEW, "twice": TWICE, "high_lanes": HIGH_LANES}
# What is left of them without columns, and without rows; what must stand before a broadcast of the same.
WITHOUT_COLS = {
    "rows": "{lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: [[0,8],[0,16]]}",
    "cols": "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,0],[0,0]], warp: [[0,0],[0,0]]}",
    "few": "{register: [[0,8],[0,16]], lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: [[0,0],[0,0]]}",
    "twice": "{lane: [[0,0],[0,0],[0,1],[0,2],[0,0]], warp: [[0,4],[0,8]]} repeat {register: [0,16] x 2}",
    "high_lanes": "{lane: [[0,0],[0,1],[0,0],[0,16],[0,8]], warp: [[0,2],[0,4]]}",
}
WITHOUT_ROWS = {
    "rows": "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,0],[0,0],[0,0]], warp: [[0,0],[0,0]]}",
    "cols": "{lane: [[0,0],[0,0],[0,0],[0,1],[0,2]], warp: [[0,4],[0,8]]}",
    "few": "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,0],[0,0],[0,0]], warp: [[0,0],[0,0]]}",
    "twice": "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,0],[0,0],[0,0]], warp: [[0,0],[0,0]]}",
    "high_lanes": "{register: [[0,4],[0,8]], lane: [[0,2],[0,0],[0,1],[0,0],[0,0]], warp: [[0,0],[0,0]]}",
}
DTYPES = {"f32": girih.f32, "f64": girih.f64, "i32": girih.i32, "bf16": girih.bf16, "i8": girih.i8}


def data(shape, dtype="f32", seed=0, high=30):
    """Integers small enough that sums in any order are exact."""
    x = np.random.default_rng(seed).integers(-3, high, shape)
    return x.astype(f"int{dtype[1:]}" if dtype[0] == "i" else np.float32)


def add(dtype):
    op = "arith.addf" if dtype[0] in "fb" else "arith.addi"
    return f"""{{
    ^bb0(%p: {dtype}, %q: {dtype}):
      %s = {op} %p, %q : {dtype}
      tile.yield %s : {dtype}
    }}"""


def load(name, shape, dtype, layout="#t", view=None):
    zeros = ", ".join("%c0" for _ in shape)
    size = "x".join(map(str, shape))
    view = view or f"!tile.view<{dtype}, rank = {len(shape)}, contiguous = {len(shape) - 1}>"
    return f"%{name}_t = tile.load %{name}[{zeros}] : {view} -> tensor<{size}x{dtype}, {layout}>"


def store(value, shape, dtype, layout, name="y"):
    zeros = ", ".join("%c0" for _ in shape)
    size = "x".join(map(str, shape))
    view = f"!tile.view<{dtype}, rank = {len(shape)}, contiguous = {len(shape) - 1}>"
    return f"tile.store %{value}, %{name}[{zeros}] : tensor<{size}x{dtype}, {layout}>, {view}"


def defined(**layouts):
    return "\n".join(f"#{name} = #wg.layout<{layout}>" for name, layout in layouts.items())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums(layout, dim, dtype):
    left = (WITHOUT_COLS if dim else WITHOUT_ROWS)[layout]
    n = 32 if dim else 16
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, access="out")
    body = f"""{load("x", (32, 16), dtype)}
    %r = tile.reduce %x_t dim({dim}) : tensor<32x16x{dtype}, #t> -> tensor<{n}x{dtype}, #r> {add(dtype)}
    {store("r", (n,), dtype, "#r")}"""
    text = module(body, [x, y], definitions=defined(t=LAYOUTS[layout], r=left))
    values = data((32, 16), dtype, high=4)
    out = girih.zeros(n, DTYPES[dtype])
    run(text, girih.asarray(values, DTYPES[dtype]), out)
    assert (
        np.asarray(out.numpy(), np.float64).tolist() == values.sum(dim, dtype=np.float64).tolist()
    )


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_all_of_a_row_with_its_place(warps):
    """Largest element and its first index, by a combiner of two values; every thread has the result."""
    n = 128 * warps
    bits = {1: "", 4: ", warp: [[0,128],[0,256]]", 8: ", warp: [[0,128],[0,256]]"}[warps]
    repeat = " repeat {warpgroup: [0,512] x 2}" if warps == 8 else ""
    layout = f"{{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,32],[0,64]]{bits}}}{repeat}"
    x, y = ArrayOf("x", "f32"), ArrayOf("y", "i32", access="out")
    body = f"""{load("x", (n,), "f32")}
    %i = tile.iota dim(0) : tensor<{n}xi32, #t>
    %m, %a = tile.reduce %x_t, %i dim(0) : tensor<{n}xf32, #t>, tensor<{n}xi32, #t> -> (f32, i32) {{
    ^bb0(%p: f32, %pi: i32, %q: f32, %qi: i32):
      %more = arith.cmpf ogt, %p, %q : f32
      %same = arith.cmpf oeq, %p, %q : f32
      %before = arith.cmpi slt, %pi, %qi : i32
      %tie = arith.andi %same, %before : i1
      %first = arith.ori %more, %tie : i1
      %v = arith.select %first, %p, %q : f32
      %vi = arith.select %first, %pi, %qi : i32
      tile.yield %v, %vi : f32, i32
    }}
    %s = tensor.splat %a : tensor<{n}xi32, #t>
    {store("s", (n,), "i32", "#t")}"""
    text = module(body, [x, y], definitions=defined(t=layout), warps=warps)
    values = data(n, high=10)
    out = girih.zeros(n, girih.i32)
    run(text, girih.asarray(values), out)
    assert set(out.numpy().tolist()) == {int(values.argmax())}


def test_reductions_in_loops_and_roles():
    """Two roles, one of three warpgroups, reduce at the same time, again and again, through scratch of their own."""
    layout = {
        "one": "{lane: [[0,1],[1,0],[2,0],[4,0],[8,0]]} repeat {register: [0,2] x 4}",
        "three": "{register: [[0,1],[0,2],[0,4]], lane: [[1,0],[2,0],[4,0],[8,0],[16,0]], warp: [[32,0],[64,0]]}"
        " repeat {warpgroup: [128,0] x 3}",
    }
    x, y = ArrayOf("x", "i32", 2), ArrayOf("y", "i32", access="out")

    def role(name, size, rows, first, place):
        return f"""wg.role @{name} {size} {{
        %zero{name} = arith.constant 0 : i32
        %total{name} = scf.for %i = %c0 to %c5 step %c1 iter_args(%sum = %zero{name}) -> (i32) : i32 {{
          %t = tile.load %x[%first_{name}, %c0] : {x.view} -> tensor<{rows}x8xi32, #{name}>
          %flat = tile.reshape %t : tensor<{rows}x8xi32, #{name}> -> tensor<{rows * 8}xi32, #{name}_flat>
          %r = tile.reduce %flat dim(0) : tensor<{rows * 8}xi32, #{name}_flat> -> i32 {add("i32")}
          %next = arith.addi %sum, %r : i32
          scf.yield %next : i32
        }}
        tile.write %total{name}, %y[{place}] : i32, {y.view}
      }}"""

    body = f"""%first_one = arith.constant 0 : i32
    %first_three = arith.constant 16 : i32
    wg.specialize {{
      {role("one", "warps(1)", 16, 0, "%c0")}
      {role("three", "warpgroups(3)", 384, 16, "%c1")}
    }}"""
    flat_one = "{lane: [[0,1],[0,8],[0,16],[0,32],[0,64]]} repeat {register: [0,2] x 4}"
    flat_three = (
        "{register: [[0,1],[0,2],[0,4]], lane: [[0,8],[0,16],[0,32],[0,64],[0,128]], warp: [[0,256],[0,512]]}"
        " repeat {warpgroup: [0,1024] x 3}"
    )
    definitions = defined(
        one=layout["one"], three=layout["three"], one_flat=flat_one, three_flat=flat_three
    )
    values = data((400, 8), "i32")
    text = module(body, [x, y], definitions=definitions, warps=0)
    for seed in range(3):
        out = girih.zeros(2, girih.i32)
        with girih.emulator.options(seed=seed):
            run(text, girih.asarray(values), out)
        assert out.numpy().tolist() == [5 * values[:16].sum(), 5 * values[16:].sum()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1])
def test_expand_and_broadcast(layout, dim):
    """x minus the sums of its rows (columns): what a reduction leaves is what a broadcast takes."""
    left = (WITHOUT_COLS if dim else WITHOUT_ROWS)[layout]
    n = 32 if dim else 16
    size = "32x1" if dim else "1x16"
    column = as_column(left) if dim else left
    x, y = ArrayOf("x", "f32", 2), ArrayOf("y", "f32", 2, access="out")
    body = f"""{load("x", (32, 16), "f32")}
    %r = tile.reduce %x_t dim({dim}) : tensor<32x16xf32, #t> -> tensor<{n}xf32, #r> {add("f32")}
    %e = tile.expand %r dim({dim}) : tensor<{n}xf32, #r> -> tensor<{size}xf32, #e>
    %b = tile.broadcast %e : tensor<{size}xf32, #e> -> tensor<32x16xf32, #t>
    %d = arith.subf %x_t, %b : tensor<32x16xf32, #t>
    {store("d", (32, 16), "f32", "#t")}"""
    text = module(body, [x, y], definitions=defined(t=LAYOUTS[layout], r=left, e=column))
    values = data((32, 16))
    out = girih.zeros((32, 16), girih.f32)
    run(text, girih.asarray(values), out)
    assert (out.numpy() == values - values.sum(dim, keepdims=True)).all()


def as_column(row):
    """The layout of a row as that of a column: [0,i] becomes [i,0]."""
    return re.sub(r"\[0,(\d+)\]", r"[\1,0]", row)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8"])
def test_transpose_and_reshape(dtype):
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, 3, access="out")
    turned = (
        "{register: [[1,0],[2,0]], lane: [[4,0],[8,0],[0,1],[0,2],[0,4]], warp: [[0,8],[0,16]]}"
    )
    # 16x32 as 4x4x32: the rows are the same.
    body = f"""{load("x", (32, 16), dtype)}
    %u = tile.transpose %x_t [1, 0] : tensor<32x16x{dtype}, #t> -> tensor<16x32x{dtype}, #u>
    %v = tile.reshape %u : tensor<16x32x{dtype}, #u> -> tensor<4x4x32x{dtype}, #u>
    {store("v", (4, 4, 32), dtype, "#u")}"""
    text = module(body, [x, y], definitions=defined(t=ROWS, u=turned))
    values = data((32, 16), dtype)
    out = girih.zeros((4, 4, 32), DTYPES[dtype])
    run(text, girih.asarray(values, DTYPES[dtype]), out)
    assert np.asarray(out.numpy(), np.float64).tolist() == values.T.reshape(4, 4, 32).tolist()


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8"])
def test_join_and_split(dtype):
    """Complex products by parts: (a + ib) as pairs, parts swapped."""
    one = "{register: [[0,1]], lane: [[0,2],[0,4],[0,8],[0,16],[0,32]], warp: [[0,64],[0,128]]}"
    pairs = (
        "{register: [[0,1],[1,0]], lane: [[2,0],[4,0],[8,0],[16,0],[32,0]], warp: [[64,0],[128,0]]}"
    )
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, 2, access="out")
    body = f"""{load("x", (256, 2), dtype, "#p")}
    %a, %b = tile.split %x_t : tensor<256x2x{dtype}, #p> -> tensor<256x{dtype}, #t>
    %j = tile.join %b, %a : tensor<256x{dtype}, #t> -> tensor<256x2x{dtype}, #p>
    {store("j", (256, 2), dtype, "#p")}"""
    text = module(body, [x, y], definitions=defined(t=one, p=pairs))
    values = data((256, 2), dtype)
    out = girih.zeros((256, 2), DTYPES[dtype])
    run(text, girih.asarray(values, DTYPES[dtype]), out)
    assert np.asarray(out.numpy(), np.float64).tolist() == values[:, ::-1].tolist()


@pytest.mark.parametrize("reverse", ["", " reverse"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scans(layout, dim, reverse):
    """Of pairs (a, b) as maps v -> a v + b, whose composition is associative and not commutative, modulo 2^32."""
    x, z = ArrayOf("x", "i32", 2), ArrayOf("z", "i32", 2)
    y, w = ArrayOf("y", "i32", 2, access="out"), ArrayOf("w", "i32", 2, access="out")
    tile = "tensor<32x16xi32, #t>"
    body = f"""{load("x", (32, 16), "i32")}
    {load("z", (32, 16), "i32")}
    %a, %b = tile.scan %x_t, %z_t dim({dim}){reverse} : {tile}, {tile} -> ({tile}, {tile}) {{
    ^bb0(%pa: i32, %pb: i32, %qa: i32, %qb: i32):
      %ra = arith.muli %pa, %qa : i32
      %m = arith.muli %pb, %qa : i32
      %rb = arith.addi %m, %qb : i32
      tile.yield %ra, %rb : i32, i32
    }}
    {store("a", (32, 16), "i32", "#t")}
    {store("b", (32, 16), "i32", "#t", "w")}"""
    text = module(body, [x, z, y, w], definitions=defined(t=LAYOUTS[layout]))
    a, b = data((32, 16), "i32", 1), data((32, 16), "i32", 2)
    out_a, out_b = girih.zeros((32, 16), girih.i32), girih.zeros((32, 16), girih.i32)
    run(text, girih.asarray(a), girih.asarray(b), out_a, out_b)
    order = slice(None, None, -1) if reverse else slice(None)
    lines_a, lines_b = np.moveaxis(a, dim, 0)[order], np.moveaxis(b, dim, 0)[order]
    expected_a, expected_b = [lines_a[0]], [lines_b[0]]
    with np.errstate(over="ignore"):
        for qa, qb in zip(lines_a[1:], lines_b[1:], strict=True):
            expected_a.append(expected_a[-1] * qa)
            expected_b.append(expected_b[-1] * qa + qb)
    assert (out_a.numpy() == np.moveaxis(np.array(expected_a)[order], 0, dim)).all()
    assert (out_b.numpy() == np.moveaxis(np.array(expected_b)[order], 0, dim)).all()


@pytest.mark.parametrize("dtype", ["i1", "i8", "bf16", "f32", "f64"])
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_conversions(source, target, dtype):
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, 2, access="out")
    tile = f"tensor<32x16x{dtype}"
    body = f"""scf.for %i = %c0 to %c2 step %c1 : i32 {{
      %t = tile.load %x[%c0, %c0] : {x.view} -> {tile}, #s>
      %c = wg.convert_layout %t : {tile}, #s> -> {tile}, #t>
      %d = wg.convert_layout %c : {tile}, #t> -> {tile}, #s>
      %e = wg.convert_layout %d : {tile}, #s> -> {tile}, #t>
      tile.store %e, %y[%c0, %c0] : {tile}, #t>, {y.view}
    }}"""
    text = module(body, [x, y], definitions=defined(s=LAYOUTS[source], t=LAYOUTS[target]))
    values = data((32, 16)) > 10 if dtype == "i1" else data((32, 16), dtype)
    kind = {**DTYPES, "i1": girih.b1}[dtype]
    out = girih.zeros((32, 16), kind)
    run(text, girih.asarray(values, kind), out)
    assert (np.asarray(out.numpy(), np.float64) == values).all()


def test_roles_whose_warpgroups_act_for_themselves():
    """Each warpgroup reduces a tile of its own, at its own pace, in its own part of scratch."""
    x, y = ArrayOf("x", "i32", 2), ArrayOf("y", "i32", access="out")
    body = f"""wg.specialize {{
      wg.role @both warpgroups(2) each {{
        %g = wg.warpgroup_index : i32
        %rows = arith.constant 32 : i32
        %row = arith.muli %g, %rows : i32
        %t = tile.load %x[%row, %c0] : {x.view} -> tensor<32x16xi32, #t>
        %u = wg.convert_layout %t : tensor<32x16xi32, #t> -> tensor<32x16xi32, #u>
        %r = tile.reduce %u dim(0) : tensor<32x16xi32, #u> -> tensor<16xi32, #r> {add("i32")}
        %s = tile.reduce %r dim(0) : tensor<16xi32, #r> -> i32 {add("i32")}
        tile.write %s, %y[%g] : i32, {y.view}
      }}
    }}"""
    definitions = defined(t=COLS, u=ROWS, r=WITHOUT_ROWS["rows"])
    text = module(body, [x, y], definitions=definitions, warps=0)
    values = data((64, 16), "i32")
    for seed in range(5):
        out = girih.zeros(2, girih.i32)
        with girih.emulator.options(seed=seed):
            run(text, girih.asarray(values), out)
        assert out.numpy().tolist() == [values[:32].sum(), values[32:].sum()]
