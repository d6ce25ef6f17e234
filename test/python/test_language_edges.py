"""Kernels that are unusual but legal compute what Python says, and odd mistakes stay the user's errors."""

import linecache

import numpy as np
import pytest

import girih as gr
from girih import wg

SCALE = 2
ARRAY = np.arange(3)


@gr.function
def load_all(work, ring, A, B):
    for m, n in work:
        for k, s in ring.fill(A.count[1]):
            wg.tma(A[m, k], s.a)
            wg.tma(B[k, n], s.b)


@gr.function
def send(acc, out, tile):
    for t in acc.chunks(64, 32):
        with out.slot() as o:
            o.write(t)
            wg.tma_store(o, tile.at(t))


KERNEL = """
@gr.kernel
def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]{parameters}):
    A, B, C = a.tiles(128, 64), b.tiles(64, 64), c.tiles(128, 64)
    work = gr.tiles(C)
    ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
    out = wg.outbox(2, wg.smem((64, 32), c.dtype))
    {before}

    @wg.role(warps=1)
    def load():
        load_all(work, ring, A, B)

    @wg.role(warpgroups=2)
    def multiply():
        for m, n in work:
            acc = wg.acc(C)
            for k, s in ring.drain(A.count[1]):
                acc = wg.mma(s.a, s.b, acc)
{after}
"""
SEND = "send(acc, out, C[m, n])"
cells = 0


def cell(parameters="", before="pass", after=SEND):
    """The kernel with these statements, defined as a notebook defines one."""
    global cells
    cells += 1
    file = f"<cell {cells}>"
    after = "\n".join(" " * 12 + line for line in after.splitlines())
    source = KERNEL.format(parameters=parameters, before=before, after=after)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = dict(globals())
    exec(compile(source, file, "exec"), names)
    return names["kernel"]


def operands(rows=128):
    """A, B and C on the device, and A · B."""
    random = np.random.default_rng(0)
    x, y = random.integers(-8, 9, (rows, 64)), random.integers(-8, 9, (64, 64))
    a, b = (gr.asarray(v.astype(np.float64), gr.bf16) for v in (x, y))
    return a, b, gr.asarray(np.full((rows, 64), np.nan), gr.f32), x @ y


def compute(kernel, *args, rows=128, **constants):
    """The kernel's C, and A · B."""
    a, b, c, product = operands(rows)
    kernel(a, b, c, *args, **constants)
    return c.numpy(), product


def error_of(kernel):
    a, b, c, _ = operands()
    with pytest.raises(gr.CompileError) as info:
        kernel.compile(a, b, c)
    return info.value


@pytest.mark.parametrize(
    "condition",
    ["p and q", "p or q", "not p", "p < 5 < 3", "1 < q < 3", "p > 0 and q", "q or False"],
)
@pytest.mark.parametrize(("p", "q"), [(1, 2), (0, 2), (2, 0), (4, 8)])
def test_conditions_on_device_numbers_are_pythons(condition, p, q):
    kernel = cell(", p: gr.i32, q: gr.i32", after=f"if {condition}:\n    acc = -acc\n{SEND}")
    c, product = compute(kernel, p, q)
    np.testing.assert_array_equal(c, -product if eval(condition) else product)


@pytest.mark.parametrize("condition", ["p > 0", "p >= 1", "p == 1", "p < 1"])
@pytest.mark.parametrize("p", [False, True])
def test_booleans_compare_as_zero_and_one(condition, p):
    kernel = cell(", p: gr.b1", after=f"if {condition}:\n    acc = -acc\n{SEND}")
    c, product = compute(kernel, p)
    np.testing.assert_array_equal(c, -product if eval(condition) else product)


@pytest.mark.parametrize(
    ("p", "q"), [(1 << 30, (1 << 31) - 1), (-7, 3), (7, -3), (-7, -3), (6, -3)]
)
def test_modulo_has_the_sign_of_the_divisor(p, q):
    after = f"if p % q == {p % q}:\n    acc = -acc\n{SEND}"
    c, product = compute(cell(", p: gr.i32, q: gr.i32", after=after), p, q)
    np.testing.assert_array_equal(c, -product)


def test_the_negative_of_zero():
    after = f"if 1.0 / -p < 0.0:\n    acc = -acc\n{SEND}"
    c, product = compute(cell(", p: gr.f32", after=after), 0.0)
    np.testing.assert_array_equal(c, -product)


@pytest.mark.parametrize(("empty", "found"), [(True, "0"), (False, "-")])
def test_a_launch_of_no_ctas_is_refused(empty, found):
    @gr.kernel
    def kernel(c: gr.Out["M,N"]):
        if empty:
            gr.tiles(c.tiles(64, 64), ctas=gr.sms() * 0)
        else:
            gr.tiles(c.tiles(64, 64), ctas=gr.sms() - 2000)

        @wg.role(warps=1)
        def idle():
            pass

    with pytest.raises(gr.LaunchError, match=f"the launch has {found}.* CTAs: expected at least 1"):
        kernel(gr.empty((64, 64), gr.f32))


def test_chunks_of_chunks_know_where_they_were():
    inner = "for t in acc.chunks(64, 32):\n    for u in t.chunks(64, 16):\n        with out.slot() as o:\n"
    inner += "            o.write(u)\n            wg.tma_store(o, C[m, n].at(u))"
    c, product = compute(cell(after=inner))
    np.testing.assert_array_equal(c, product)


def test_an_accumulator_that_waits_for_the_second_loop():
    two_loops = """
@gr.kernel
def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
    A, B, C = a.tiles(128, 64), b.tiles(64, 64), c.tiles(128, 64)
    work = gr.tiles(C)
    ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
    out = wg.outbox(2, wg.smem((64, 32), c.dtype))

    @wg.role(warps=1)
    def load():
        load_all(work, ring, A, B)

    @wg.role(warpgroups=2)
    def multiply():
        for m, n in work:
            first, second = wg.acc(C), wg.acc(C)
            for k, s in ring.drain(1):
                first = wg.mma(s.a, s.b, first)
            for k, s in ring.drain(A.count[1] - 1):
                second = wg.mma(s.a, s.b, second)
            send(first - second, out, C[m, n])
"""
    file = "<two loops>"
    linecache.cache[file] = (len(two_loops), None, two_loops.splitlines(True), file)
    names = dict(globals())
    exec(compile(two_loops, file, "exec"), names)
    random = np.random.default_rng(0)
    x, y = random.integers(-8, 9, (130, 200)), random.integers(-8, 9, (200, 72))
    c = gr.empty((130, 72), gr.f32)
    names["kernel"](gr.asarray(x * 1.0, gr.bf16), gr.asarray(y * 1.0, gr.bf16), c)
    np.testing.assert_array_equal(c.numpy(), x[:, :64] @ y[:64] - x[:, 64:] @ y[64:])


def test_a_narrow_tile_written_in_branches():
    inner = "for t in acc.chunks(64, 16):\n    with out.slot() as o:\n        if m == 0:\n"
    inner += "            o.write(t)\n        else:\n            o.write(-t)\n"
    inner += "        wg.tma_store(o, C[m, n].at(t))"
    c, product = compute(cell(after=inner))
    np.testing.assert_array_equal(c, product)


def test_one_box_with_two_swizzles():
    other = "other = wg.outbox(2, wg.smem((64, 16), c.dtype))"
    chunks = "for t in acc.chunks(64, 16):\n    with {0}.slot() as o:\n        o.write(t)\n"
    chunks += "        wg.tma_store(o, C[m, n].at(t))\n"
    # Each tile is stored once: two stores of one tile would race.
    lines = [
        "if m == 0:",
        *("    " + line for line in chunks.format("out").splitlines()),
        "else:",
        *("    " + line for line in chunks.format("other").splitlines()),
    ]
    c, product = compute(cell(before=other, after="\n".join(lines)), rows=256)
    np.testing.assert_array_equal(c, product)


@pytest.mark.parametrize("name", ["h0", "dim_M", "c_64x32", "größe", "acc_1"])
def test_any_parameter_name(name):
    after = f"if {name} == 3:\n    acc = -acc\n{SEND}"
    c, product = compute(cell(f", {name}: gr.i32", after=after), 3)
    np.testing.assert_array_equal(c, -product)


def test_names_outside_ascii():
    @gr.kernel
    def größe(c: gr.Out["M,N"]):
        gr.tiles(c.tiles(64, 64))

        @wg.role(warps=1)
        def rôle():
            ü = 0
            for i in gr.range(3):
                ü = ü + i

    größe(gr.empty((64, 64), gr.f32))
    größe.compile(gr.empty((64, 64), gr.f32))


def test_outer_constants_are_read_again():
    kernel = cell(after=f"acc = acc * SCALE\n{SEND}")
    names = kernel.function.__globals__
    for scale in (2, 3, 3.0, 2):
        names["SCALE"] = scale
        c, product = compute(kernel)
        np.testing.assert_array_equal(c, scale * product)


def test_a_changed_closure_and_a_redefined_helper():
    def make():
        scale = 2

        @gr.function
        def factor():
            return scale

        @gr.kernel
        def kernel(c: gr.Out["M,N"]):
            gr.tiles(c.tiles(64, 64))
            gr.static_assert(factor() < 4, "too large")

            @wg.role(warps=1)
            def idle():
                pass

        def change(value):
            nonlocal scale
            scale = value

        return kernel, change

    kernel, change = make()
    c = gr.empty((64, 64), gr.f32)
    first = kernel.compile(c)
    assert kernel.compile(c) is first
    change(4)
    with pytest.raises(gr.CompileError, match="too large"):
        kernel.compile(c)
    change(2)
    assert kernel.compile(c) is first


INDENTED = '''
def make():
    @gr.kernel
    def kernel(c: gr.Out["M,N"]):
        """A text
that ends in column 0."""
# A comment in column 0.
        gr.tiles(c.tiles(64, unknown))
    return kernel
'''


def test_text_in_column_zero_of_an_indented_kernel():
    file = "<indented>"
    lines = INDENTED.splitlines(True)
    linecache.cache[file] = (len(INDENTED), None, lines, file)
    names = dict(globals())
    exec(compile(INDENTED, file, "exec"), names)
    with pytest.raises(gr.CompileError) as info:
        names["make"]().compile(gr.empty((64, 64), gr.f32))
    place = info.value.place
    assert info.value.message == "'unknown' is not defined"
    assert lines[place.line - 1][place.column : place.end_column] == "unknown"


def test_tiles_taller_than_a_box():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(320, 64), b.tiles(64, 64), c.tiles(320, 64)
        work = gr.tiles(C)
        ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))
        out = wg.outbox(1, wg.smem((64, 32), c.dtype))

        @wg.role(warps=1)
        def load():
            load_all(work, ring, A, B)

        @wg.role(warpgroups=5)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1]):
                    acc = wg.mma(s.a, s.b, acc)
                send(acc, out, C[m, n])

    random = np.random.default_rng(0)
    x, y = random.integers(-8, 9, (330, 72)), random.integers(-8, 9, (72, 64))
    c = gr.empty((330, 64), gr.f32)
    kernel(gr.asarray(x * 1.0, gr.bf16), gr.asarray(y * 1.0, gr.bf16), c)
    np.testing.assert_array_equal(c.numpy(), x @ y)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x = ARRAY", "'ARRAY' is not a constant: kernels capture constants only"),
        ("x = 1 @ 2", "'@' does not work on constants"),
        ("x = min(*5)", "'*' spreads a tuple"),
        ("x = min(*A)", "'*' spreads a tuple"),
        ("x = gr.static_range(1, 2, 0)", "a range needs a step"),
        ("x = a.tiles(2**40, 64)", "a tile's extent must be a positive constant"),
        ("x = wg.ring(2**31, a=wg.smem(A))", "stages must be a positive constant"),
        ("x = wg.outbox(2**31, wg.smem(A))", "an outbox has at least one slot"),
        ("x = gr.grouped(2**30)", "gr.grouped takes a positive constant"),
        ("x = gr.sms() * 2**70", "the integer is too large for a launch"),
        ("x = wg.role(warpgroups=2**40)", "a CTA has at most 1024 threads"),
        ("x = wg.smem((-64, 64), c.dtype)", "wg.smem takes tiles, or a shape of two positive constants"),
        ("for i in range(3): pass", "'range' does not say whether the loop is unrolled"),
    ],
)  # fmt: skip
def test_mistakes_before_the_roles(statement, message):
    error = error_of(cell(before=statement))
    assert error.message == message
    assert error.place.text.strip() == statement


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("acc = acc * 1e300", "the constant does not fit f32"),
        ("acc = acc * 10**400", "the constant does not fit f32"),
        ("x = acc.to(64)", "x.to() takes an element type"),
        ("x = gr.range(0, 3, m)", "a range on the device counts upwards in constant steps"),
        ("x = ring.drain(1, lag=2**40)", "lag counts iterations"),
        ("if acc and m: pass", "this cannot be a condition"),
    ],
)
def test_mistakes_in_a_role(statement, message):
    error = error_of(cell(after=f"{statement}\n{SEND}"))
    assert error.message == message
    assert error.place.text.strip() == statement


def test_a_slot_is_used_inside_its_with():
    error = error_of(cell(after="with out.slot() as o:\n    pass\no.write(acc)"))
    assert error.message == "the slot is not acquired"
    sent = "for t in acc.chunks(64, 32):\n    with out.slot() as o:\n        o.write(t)\n"
    error = error_of(cell(after=sent + "    wg.tma_store(o, C[m, n].at(t))"))
    assert error.message == "wg.tma_store sends a written outbox slot"


def test_spills_are_an_error_at_the_kernels_line():
    many = "\n".join(f"x{i} = acc * {i + 1}" for i in range(12))
    total = " + ".join(f"x{i} * x{(i + 1) % 12}" for i in range(12))
    kernel = cell(after=f"{many}\nfor i in gr.range(3):\n    acc = acc + {total}\n{SEND}")
    error = error_of(kernel)
    assert "kernel 'kernel' spills registers to memory" in error.message
    assert error.place.text.startswith("def kernel(")


def test_a_role_has_no_positional_parameters():
    @gr.kernel
    def kernel(c: gr.Out["M,N"]):
        gr.tiles(c.tiles(64, 64))

        @wg.role(warps=1)
        def role(x, /):
            pass

    with pytest.raises(gr.CompileError, match="a role takes no parameters"):
        kernel.compile(gr.empty((64, 64), gr.f32))


def test_annotations_that_cannot_be_evaluated():
    with pytest.raises(gr.CompileError, match=r"<cell \d+>:2: the annotations of kernel 'kernel'"):
        cell(", p: 'nonsense'").parameters  # noqa: B018
    with pytest.raises(TypeError, match="takes one text of names"):
        gr.In["M", "K"]


def test_arguments_of_other_kinds():
    a, b, c, _ = operands()
    with pytest.raises(
        gr.LaunchError, match="p is a scalar of i32, found an array of 1 dimensions"
    ):
        cell(", p: gr.i32")(a, b, c, ARRAY)
    with pytest.raises(gr.LaunchError, match="q is a constant of the kernel.*found ndarray"):
        cell(", q: gr.const")(a, b, c, ARRAY)
    with pytest.raises(gr.CompileError, match="@girih.function takes a function, found int"):
        gr.function(3)
    with pytest.raises(
        TypeError, match="dtype is an element type such as girih.bf16, found 'bf16'"
    ):
        gr.asarray(ARRAY, "bf16")
    with pytest.raises(TypeError, match="dtype is an element type such as girih.bf16, found"):
        gr.zeros((2, 2), np.float32)
    for shape in ("ab", (1.5, 2)):
        with pytest.raises(TypeError, match="a shape is an integer or a tuple of integers, found"):
            gr.empty(shape, gr.f32)
    assert gr.empty(np.int64(3), gr.f32).shape == (3,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import girih as gr\n@gr.kernel\ndef another(c: gr.Out):\n    pass\n",
            "another function stands",
        ),
        ("1\n2 +\n3\n", "the source of 'one' is not a function any more"),
        ("\n", "the source of 'one' is gone"),
    ],
)
def test_a_file_that_changes_while_it_is_loaded(tmp_path, text, message):
    file = tmp_path / "changed.py"
    source = "import girih as gr\n@gr.kernel\ndef one(c: gr.Out):\n    pass\n"
    file.write_text(source)
    compiled = compile(source, str(file), "exec")
    file.write_text(text)
    names = {}
    exec(compiled, names)
    with pytest.raises(gr.CompileError, match=f"{message}.*{file} changed while it was loaded"):
        names["one"].emit(gr.empty(3, gr.f32))
