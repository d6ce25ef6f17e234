"""Gather, scatter, take, put, atomics and counters at wg level, against NumPy."""

import numpy as np
import pytest
from tile_support import FLAT, ArrayOf, module, run

import girih

N = 512
ROWS = "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[8,0],[16,0]]}"
PLACES = "{lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: [[0,8],[0,16]]}"
COLS = "{register: [[1,0],[2,0]], lane: [[4,0],[8,0],[16,0],[0,1],[0,2]], warp: [[0,4],[0,8]]}"
COL_PLACES = (
    "{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,0],[0,0]], warp: [[0,0],[0,0]]}"
)
DTYPES = {
    "i1": girih.b1, "i8": girih.i8, "i32": girih.i32, "i64": girih.i64,
    "f16": girih.f16, "bf16": girih.bf16, "f32": girih.f32, "f64": girih.f64,
}  # fmt: skip


def numbers(shape, dtype, seed=0):
    x = np.random.default_rng(seed).integers(1, 100, shape)
    if dtype == "i1":
        return x % 2 == 0
    return x.astype(f"int{dtype[1:]}" if dtype[0] == "i" else np.float32)


def array(values, dtype):
    return girih.asarray(values, DTYPES[dtype])


def plain(x):
    return np.asarray(x.numpy(), np.float64)


def loaded(view, name, dtype, layout="#t", n=N):
    return f"%{name}_t = tile.load %{name}[%c0] : {view} -> tensor<{n}x{dtype}, {layout}>"


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_scatter(dtype):
    """y[j, i] = x[i, j] at random points, some outside, some masked."""
    x, y = ArrayOf("x", dtype, 2), ArrayOf("y", dtype, 2, access="inout")
    i, j, m = ArrayOf("i", "i32"), ArrayOf("j", "i32"), ArrayOf("m", "i1")
    tile = f"tensor<{N}x{dtype}, #t>"
    indices = f"tensor<{N}xi32, #t>, tensor<{N}xi32, #t>"
    body = f"""{loaded(i.view, "i", "i32")}
    {loaded(j.view, "j", "i32")}
    {loaded(m.view, "m", "i1")}
    %g = tile.gather %x[%i_t, %j_t] mask(%m_t) fill(%f) : {x.view} at {indices} mask tensor<{N}xi1, #t> fill {dtype} -> {tile}
    tile.scatter %g, %y[%j_t, %i_t] mask(%m_t) : {tile}, {y.view} at {indices} mask tensor<{N}xi1, #t>
    tile.store %g, %z[%c0] : {tile}, !tile.view<{dtype}, rank = 1, contiguous = 0>"""
    z = ArrayOf("z", dtype, access="out")
    text = module(body, [x, y, i, j, m, z], {"f": dtype}, definitions=f"#t = #wg.layout<{FLAT}>")
    values = numbers((40, 30), dtype)
    random = np.random.default_rng(3)
    places = random.permutation(44 * 34)[:N]
    rows, cols = (places // 34 - 2).astype(np.int32), (places % 34 - 2).astype(np.int32)
    mask = random.integers(0, 2, N).astype(bool)
    y_out, z_out = girih.zeros((30, 40), DTYPES[dtype]), girih.zeros(N, DTYPES[dtype])
    fill = True if dtype == "i1" else 7
    run(
        text,
        array(values, dtype),
        y_out,
        girih.asarray(rows),
        girih.asarray(cols),
        girih.asarray(mask),
        z_out,
        fill,
    )
    expected_y, expected_z = np.zeros((30, 40)), np.full(N, float(fill))
    for n in range(N):
        if mask[n] and 0 <= rows[n] < 40 and 0 <= cols[n] < 30:
            expected_z[n] = values[rows[n], cols[n]]
            expected_y[cols[n], rows[n]] = expected_z[n]
    assert plain(z_out).tolist() == expected_z.tolist()
    assert plain(y_out).tolist() == expected_y.tolist()


@pytest.mark.parametrize(
    ("layout", "places", "contiguous"),
    [(ROWS, PLACES, 1), (COLS, COL_PLACES, 1), (COLS, COL_PLACES, 0)],
)
@pytest.mark.parametrize("dtype", ["i1", "i8", "bf16", "f32", "f64"])
def test_take_and_put_rows(dtype, layout, places, contiguous):
    x, y = (
        ArrayOf("x", dtype, 2, contiguous, 4),
        ArrayOf("y", dtype, 2, contiguous, 4, access="inout"),
    )
    x = x if dtype != "f64" else ArrayOf("x", dtype, 2, contiguous)
    y = y if dtype != "f64" else ArrayOf("y", dtype, 2, contiguous, access="inout")
    p = ArrayOf("p", "i32")
    tile = f"tensor<32x16x{dtype}, #t>"
    body = f"""{loaded(p.view, "p", "i32", "#p", 32)}
    %t = tile.take %x[%c1, %col] at(%p_t) dim(0) fill(%f) : {x.view}, tensor<32xi32, #p>, {dtype} -> {tile}
    tile.put %t, %y[%c0, %to] at(%p_t) dim(0) : {tile}, {y.view}, tensor<32xi32, #p>"""
    text = module(
        body, [x, y, p], {"col": "i32", "to": "i32", "f": dtype},
        definitions=f"#t = #wg.layout<{layout}>\n#p = #wg.layout<{places}>",
    )  # fmt: skip
    random = np.random.default_rng(4)
    for cols, col, to in ((16, 0, 0), (20, 4, 0), (20, 3, 8), (12, -4, 5)):
        values = numbers((50, cols), dtype)
        rows = (random.permutation(56)[:32] - 3).astype(np.int32)
        order = np.asfortranarray if contiguous == 0 else np.ascontiguousarray
        out = array(order(numbers((50, cols), dtype, 9)), dtype)
        expected = plain(out).copy()
        fill = True if dtype == "i1" else 5
        run(text, array(order(values), dtype), out, girih.asarray(rows), col, to, fill)
        for r in rows:
            for c in range(16):
                inside = 0 <= r + 1 < 50 and 0 <= col + c < cols
                value = values[r + 1, col + c] if inside else fill
                if 0 <= r < 50 and 0 <= to + c < cols:
                    expected[r, to + c] = value
        assert plain(out).tolist() == expected.tolist()


ATOMICS = {
    "add": lambda old, new: old + new,
    "min": min,
    "max": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


def atomic(kind, dtype, used, order="relaxed", scope="gpu", layout=FLAT, n=N, masked=False):
    y, i, v = ArrayOf("y", dtype, access="inout"), ArrayOf("i", "i32"), ArrayOf("v", dtype)
    z = ArrayOf("z", dtype, access="out")
    mask = "%less = arith.cmpi slt, %i_t, %c9_t : tensor<512xi32, #t>" if masked else ""
    body = f"""{loaded(i.view, "i", "i32", n=n)}
    {loaded(v.view, "v", dtype, n=n)}
    {"%c9_t = tensor.splat %c9 : tensor<512xi32, #t>" if masked else ""}
    {mask}
    %old = tile.atomic {kind} {order} {scope} %v_t, %y[%i_t] {"mask(%less)" if masked else ""} : tensor<{n}x{dtype}, #t>, {y.view} at tensor<{n}xi32, #t> {"mask tensor<512xi1, #t>" if masked else ""}
    {f"tile.store %old, %z[%c0] : tensor<{n}x{dtype}, #t>, {z.view}" if used else ""}"""
    return module(body, [y, i, v, z], definitions=f"#t = #wg.layout<{layout}>")


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize("kind", ATOMICS)
def test_integer_atomics(kind, dtype, used):
    values = np.random.default_rng(1).integers(-(2**20), 2**20, N).astype(f"int{dtype[1:]}")
    places = np.random.default_rng(2).integers(-2, 18, N).astype(np.int32)
    start = np.random.default_rng(3).integers(-(2**20), 2**20, 16).astype(f"int{dtype[1:]}")
    y, z = girih.asarray(start), girih.zeros(N, DTYPES[dtype])
    run(atomic(kind, dtype, used), y, girih.asarray(places), girih.asarray(values), z)
    expected = start.copy()
    for place, value in zip(places, values, strict=True):
        if 0 <= place < 16:
            expected[place] = ATOMICS[kind](expected[place], value)
    assert y.numpy().tolist() == expected.tolist()
    if used:
        old = z.numpy()
        inside = (places >= 0) & (places < 16)
        assert (old[~inside] == 0).all()
        # Whoever came first found the start.
        for place in set(places[inside]):
            assert start[place] in old[places == place]


@pytest.mark.parametrize("kind", ["umin", "umax"])
def test_unsigned_atomics(kind):
    values = np.random.default_rng(1).integers(-(2**20), 2**20, N).astype(np.int32)
    places = np.random.default_rng(2).integers(0, 16, N).astype(np.int32)
    start = np.full(16, 2**31 - 1, np.int32)
    y = girih.asarray(start)
    run(
        atomic(kind, "i32", False),
        y,
        girih.asarray(places),
        girih.asarray(values),
        girih.zeros(N, girih.i32),
    )
    function = np.minimum if kind == "umin" else np.maximum
    expected = start.view(np.uint32).copy()
    function.at(expected, places, values.view(np.uint32))
    assert y.numpy().view(np.uint32).tolist() == expected.tolist()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("order", ["relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("scope", ["cta", "cluster", "gpu", "sys"])
def test_orders_and_scopes_of_a_histogram(order, scope, used):
    places = np.random.default_rng(2).integers(0, 30, N).astype(np.int32)
    y = girih.zeros(30, girih.i32)
    text = atomic("add", "i32", used, order, scope, masked=True)
    run(
        text,
        y,
        girih.asarray(places),
        girih.asarray(np.ones(N, np.int32)),
        girih.zeros(N, girih.i32),
    )
    expected = np.bincount(places, minlength=30)
    expected[9:] = 0
    assert y.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_float_atomics(dtype):
    """Sums of few small integers are exact in every type; exchange keeps one of the values."""
    places = (np.arange(N) % 128).astype(np.int32)
    values = np.random.default_rng(1).integers(-4, 5, N).astype(np.float32)
    y = array(np.zeros(128, np.float32), dtype)
    z = girih.zeros(N, DTYPES[dtype])
    run(atomic("add", dtype, False), y, girih.asarray(places), array(values, dtype), z)
    assert plain(y).tolist() == np.bincount(places, values, 128).tolist()
    if dtype in ("f32", "f64"):
        run(atomic("exchange", dtype, True), y, girih.asarray(places), array(values, dtype), z)
        for place in range(128):
            assert plain(y)[place] in values[places == place]


def test_old_values_reach_every_thread_that_holds_the_element():
    """A tile of 16 elements on 128 threads: one thread adds for each, and tells the others."""
    layout = "{lane: [[0,1],[0,2],[0,0],[0,4],[0,0]], warp: [[0,0],[0,8]]}"
    y, z = ArrayOf("y", "i32", access="inout"), ArrayOf("z", "i32", access="out")
    body = f"""%i_t = tile.iota dim(0) : tensor<16xi32, #t>
    %old = tile.atomic add relaxed gpu %i_t, %y[%i_t] : tensor<16xi32, #t>, {y.view} at tensor<16xi32, #t>
    %sum = tile.reduce %old dim(0) : tensor<16xi32, #t> -> i32 {{
    ^bb0(%p: i32, %q: i32):
      %s = arith.addi %p, %q : i32
      tile.yield %s : i32
    }}
    %all = tensor.splat %sum : tensor<512xi32, #u>
    tile.store %all, %z[%c0] : tensor<512xi32, #u>, {z.view}"""
    text = module(body, [y, z], definitions=f"#t = #wg.layout<{layout}>\n#u = #wg.layout<{FLAT}>")
    start = np.arange(100, 116, dtype=np.int32)
    counters, out = girih.asarray(start), girih.zeros(N, girih.i32)
    run(text, counters, out)
    assert counters.numpy().tolist() == (start + np.arange(16)).tolist()
    assert set(out.numpy().tolist()) == {start.sum()}


@pytest.mark.parametrize("warps", [1, 8])
def test_ctas_wait_for_each_other(warps):
    """Each CTA adds to what the one before it has left: a chain through memory that signals keep in order."""
    n = 32 * warps
    bits = "" if warps == 1 else ", warp: [[0,32],[0,64]]"
    repeat = "" if warps == 1 else " repeat {warpgroup: [0,128] x 2}"
    layout = f"{{lane: [[0,1],[0,2],[0,4],[0,8],[0,16]]{bits}}}{repeat}"
    flags, y = ArrayOf("flags", "i32", access="inout"), ArrayOf("y", "i32", access="inout")
    z = ArrayOf("z", "i32", access="out")
    body = f"""%id = gpu.block_id x
    %b = arith.index_cast %id : index to i32
    tile.await gpu %b, %flags[%c0] : {flags.view}
    %t = tile.load %y[%c0] : {y.view} -> tensor<{n}xi32, #t>
    %one_t = arith.constant dense<1> : tensor<{n}xi32, #t>
    %next = arith.addi %t, %one_t : tensor<{n}xi32, #t>
    tile.store %next, %y[%c0] : tensor<{n}xi32, #t>, {y.view}
    %old = tile.signal gpu %c1, %flags[%c0] : {flags.view}
    %old_t = tensor.splat %old : tensor<{n}xi32, #t>
    %n = arith.constant {n} : i32
    %at = arith.muli %b, %n : i32
    tile.store %old_t, %z[%at] : tensor<{n}xi32, #t>, {z.view}"""
    text = module(
        body, [flags, y, z], definitions=f"#t = #wg.layout<{layout}>", warps=warps, grid="%four, %one, %one",
        plan="  %four = arith.constant 4 : i64\n",
    )  # fmt: skip
    for seed in range(3):
        counter, out = girih.zeros(1, girih.i32), girih.zeros(n, girih.i32)
        olds = girih.zeros(4 * n, girih.i32)
        with girih.emulator.options(seed=seed):
            run(text, counter, out, olds)
        assert counter.numpy().tolist() == [4]
        assert out.numpy().tolist() == [4] * n
        assert olds.numpy().tolist() == np.repeat(np.arange(4), n).tolist()
