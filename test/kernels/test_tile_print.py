"""gr.print and gr.assert_: the same sorted text whatever runs beside what, and nothing twice."""

import inspect

import numpy as np
import pytest

import girih as gr
from girih import wg


@gr.kernel
def show(x: gr.In["N"], n: gr.u32):
    X = x.tiles(64)
    for i in gr.tiles(X):
        t = X[i]
        gr.print(t, where=t > 61.0)
        gr.print("tile", i)
        gr.print(n)


@pytest.mark.parametrize("seed", range(3))
def test_tiles_and_scalars_are_printed_in_order(capsys, seed):
    with gr.emulator.options(seed=seed):
        show(np.arange(100, dtype=np.float32), 4_000_000_000)
    lines = ["t[62] = 62.0 (cta 0)", "t[63] = 63.0 (cta 0)", "tile = 0 (cta 0)"]
    lines += ["n = 4000000000 (cta 0)"]
    lines += [f"t[{i}] = {64.0 + i} (cta 1)" for i in range(36)]
    lines += ["tile = 1 (cta 1)", "n = 4000000000 (cta 1)"]
    assert capsys.readouterr().out.splitlines() == lines


@gr.kernel
def show_all(x: gr.In["M,N"]):
    X = x.tiles(8, 16)
    for i, j in gr.tiles(X):
        t = X[i, j]
        gr.print("t", t)


# Values that each type holds, and how Python writes them.
VALUES = {
    "f64": [0.1, -1e300],
    "f32": [0.10000000149011612, 1e30],
    "f16": [0.5, -65504.0],
    "bf16": [1.5, -2.0],
    "e4m3": [448.0, -0.0625],
    "e5m2": [57344.0, 0.25],
    "i8": [-128, 127],
    "u8": [0, 255],
    "i16": [-32768, 1],
    "u16": [65535, 1],
    "i32": [-(2**31), 5],
    "u32": [2**32 - 1, 5],
    "i64": [-(2**63), 5],
    "u64": [2**64 - 1, 5],
    "b1": [True, False],
}
WRITTEN = {"0.10000000149011612": "0.1", "1e+300": "1e+300"}


@pytest.mark.parametrize("name", VALUES)
def test_numbers_of_every_type(capsys, name):
    dtype = getattr(gr, name)
    values = np.array([VALUES[name][i % 2] for i in range(128)], object).reshape(8, 16)
    if dtype.is_float:
        values = values.astype(np.float64)
    else:
        kind = {"int": "int", "uint": "uint", "bool": "bool"}[dtype.kind]
        values = values.astype(kind if name == "b1" else f"{kind}{dtype.bits}")
    show_all(gr.asarray(values, dtype))
    texts = [WRITTEN.get(str(v), str(v)) for v in VALUES[name]]
    lines = [f"t[{m}, {n}] = {texts[n % 2]} (cta 0)" for m in range(8) for n in range(16)]
    assert capsys.readouterr().out.splitlines() == lines


def test_an_element_that_many_threads_hold_is_printed_once(capsys):
    @gr.kernel
    def sums(x: gr.In["M,N"]):
        X = x.tiles(16, 32)
        for i, j in gr.tiles(X):
            s = gr.sum(X[i, j], axis=1)
            gr.print(s)

    x = np.arange(16 * 32).reshape(16, 32)
    sums(x.astype(np.float32))
    expected = [f"s[{m}] = {float(x[m].sum())} (cta 0)" for m in range(16)]
    assert capsys.readouterr().out.splitlines() == expected


def test_visits_in_a_loop_stay_in_order(capsys):
    @gr.kernel
    def loop(x: gr.In["N"]):
        X = x.tiles(32)
        for _ in gr.tiles(1):
            for i in gr.range(X.count[0]):
                t = X[i]
                gr.print(i)
                gr.print(t, where=t == 1.0)

    x = np.zeros(96, np.float32)
    x[[3, 40, 95]] = 1
    loop(x)
    # An element that was printed once is on its first visit, whichever step of the loop that was.
    out = capsys.readouterr().out.splitlines()
    assert [line for line in out if line.startswith("i")] == [f"i = {i} (cta 0)" for i in range(3)]
    assert sorted(line for line in out if line.startswith("t")) == [
        "t[31] = 1.0 (cta 0)",
        "t[3] = 1.0 (cta 0)",
        "t[8] = 1.0 (cta 0)",
    ]


def test_what_has_no_room_is_counted(capsys):
    @gr.kernel
    def many(x: gr.In["N"]):
        X = x.tiles(1024)
        for i in gr.tiles(X):
            t = X[i]
            gr.print(t)

    many(np.zeros(6 * 1024, np.float32))
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 4096
    assert last == "... and 2048 more records, for which there was no room"


@gr.kernel
def positive(x: gr.In["N"], n: gr.i32):
    X = x.tiles(64)
    for i in gr.tiles(X):
        gr.assert_(n > 0, "n must be positive")
        gr.assert_(X[i] >= 0.0, "x must not be negative")


def test_assertions(capsys):
    x = np.ones(200, np.float32)
    positive(x, 3)
    lines, first = inspect.getsourcelines(positive.function)
    at = {
        text: first + number
        for number, line in enumerate(lines)
        for text in ("n > 0", ">= 0.0")
        if text in line
    }
    with pytest.raises(gr.DeviceError) as error:
        positive(x, 0)
    assert str(error.value) == f"{__file__}:{at['n > 0']}:9: n must be positive (cta 0)"
    x[130] = -1
    with pytest.raises(gr.DeviceError) as error:
        positive(x, 3)
    assert str(error.value) == f"{__file__}:{at['>= 0.0']}:9: x must not be negative (cta 2)"
    assert capsys.readouterr().out == ""


def test_roles_print_too(capsys):
    @gr.kernel
    def roles(c: gr.Out["M,N"]):
        work = gr.tiles(c.tiles(64, 64))

        @wg.role(warps=1)
        def one():
            for m, n in work:
                gr.print("one", m)

        @wg.role(warpgroups=2)
        def two():
            for m, n in work:
                gr.print("two", n)

    roles(gr.empty((128, 64), gr.f32))
    assert capsys.readouterr().out.splitlines() == [
        "one = 0 (cta 0)",
        "two = 0 (cta 0)",
        "one = 1 (cta 1)",
        "two = 0 (cta 1)",
    ]
