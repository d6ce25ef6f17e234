"""Mistakes in kernels: each is one text with the user's line, a caret, what was expected and found."""

import inspect
import traceback

import pytest

import girih as gr
from girih import wg

A_LIST = [1, 2, 3]


def arrays(dtype=None):
    dtype = dtype or gr.bf16
    return gr.empty((128, 64), dtype), gr.empty((64, 256), dtype), gr.empty((128, 256), gr.bf16)


def error_of(kernel, *args, **kwargs):
    with pytest.raises(gr.CompileError) as info:
        kernel.compile(*(args or arrays()), **kwargs)
    return info.value


def line_of(kernel, text):
    """The absolute line and its text in this file where the kernel holds ``text``."""
    lines, first = inspect.getsourcelines(kernel.function)
    for offset, line in enumerate(lines):
        if text in line:
            return first + offset, line.rstrip("\n")
    raise AssertionError(text)


def check(kernel, marked, message, *args, **fields):
    """The error points at ``marked`` (underlined exactly) and reads as given."""
    error = error_of(kernel, *args)
    number, text = line_of(kernel, marked)
    assert error.message == message
    assert error.place.file == __file__
    assert error.place.line == number
    assert text[error.place.column : error.place.end_column] == marked
    for key, value in fields.items():
        assert getattr(error, key) == value
    rendered = str(error).splitlines()
    assert rendered[0] == f"{__file__}:{number}:{text.index(marked) + 1}: {message}"
    assert rendered[1].endswith(text)
    caret = rendered[2].index("^")
    assert rendered[1][caret:].startswith(marked)


def test_unknown_name():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(BM, 256))

    check(
        kernel,
        "BM",
        "'BM' is not defined",
        expected="a parameter, a name assigned before, or a Python constant outside the kernel",
    )


def test_python_name_that_is_not_a_constant():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(A_LIST[0], 256))

    check(
        kernel,
        "A_LIST",
        "'A_LIST' is not a constant: kernels capture constants only",
        found="a Python list",
    )


def test_unsupported_statement():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        del a

    error = error_of(kernel)
    assert error.message == "'del a' is not supported in a kernel"
    assert error.place.line == line_of(kernel, "del a")[0]
    assert error.found == "a Delete statement"
    assert error.expected == "assignments, for, while, if, with, role functions, calls, pass"


def test_dimensions_that_disagree_in_mma():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(32, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warpgroups=2)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    acc = wg.mma(s.a, s.b, acc)

    check(
        kernel,
        "wg.mma(s.a, s.b, acc)",
        "the operands of wg.mma disagree in K",
        expected="b of 64 rows, as a has 64 columns",
        found="a shared-memory buffer of 32x256 bf16",
    )


def test_wrong_dtype_for_wgmma():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 32), b.tiles(32, 64), c.tiles(128, 64)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warpgroups=2)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1]):
                    acc = wg.mma(s.a, s.b, acc)

    check(
        kernel,
        "wg.mma(s.a, s.b, acc)",
        "operand a of wg.mma has an element type that wgmma does not take here",
        *arrays(gr.f64),
        expected="bf16, f16, f32 (as tf32), e4m3, e5m2, i8 or u8",
        found="a shared-memory buffer of 128x32 f64",
    )


def test_reading_a_pending_tile():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warpgroups=2)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    acc = wg.mma(s.a, s.b, acc)
                    acc.to(gr.bf16)

    check(
        kernel,
        "acc.to(gr.bf16)",
        "this tile is pending: a wgmma may still be writing it",
        expected="a tile that was waited for",
        found="a pending tile of 128x256 f32",
        help="call wg.wait(tile) first, or use it after the drain loop that accumulates it",
    )


def test_a_tile_that_was_waited_for_under_another_name_is_finished():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warpgroups=2)
        def multiply():
            acc = wg.acc(C)
            s = ring.get()
            acc = wg.mma(s.a, s.b, acc)
            done = wg.wait(acc)
            ring.free(s)
            done.to(gr.bf16)
            acc.to(gr.bf16)

    error = error_of(kernel)
    assert error.place.line == line_of(kernel, "acc.to(gr.bf16)")[0]
    assert error.help == "use what wg.wait returned"


def test_a_pending_tile_thrown_away():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warpgroups=2)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    wg.mma(s.a, s.b, acc)

    error = error_of(kernel)
    assert error.message == "the pending tile is thrown away"
    assert error.place.line == line_of(kernel, "wg.mma(s.a")[0]


def kernel_that_frees_early():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))
        out = wg.outbox(2, wg.smem((64, 64), c.dtype))

        @wg.role(warps=1, registers=40)
        def load():
            for m, n in work:
                for k, s in ring.fill(A.count[1]):
                    wg.tma(A[m, k], s.a)
                    wg.tma(B[k, n], s.b)

        @wg.role(warpgroups=2, registers=232)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for _ in gr.range(A.count[1]):
                    s = ring.get()
                    acc = wg.mma(s.a, s.b, acc)
                    ring.free(s)
                acc = wg.wait(acc)
                for t in acc.chunks(64, 64):
                    with out.slot() as o:
                        o.write(t.to(c.dtype))
                        wg.tma_store(o, C[m, n].at(t))

    return kernel


def test_freeing_a_slot_too_early():
    kernel = kernel_that_frees_early()
    error = error_of(kernel)
    mma_line, _ = line_of(kernel, "acc = wg.mma")
    assert error.place.line == line_of(kernel, "ring.free(s)")[0]
    assert "may still read" in error.message
    assert "wg.wait" in error.message
    assert f":{mma_line}" in error.message


def test_a_buffer_that_exceeds_227_kilobytes():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(5, a=wg.smem(A), b=wg.smem(B))

        @wg.role(warps=1, registers=40)
        def load():
            for m, n in work:
                for k, s in ring.fill(A.count[1]):
                    wg.tma(A[m, k], s.a)
                    wg.tma(B[k, n], s.b)

        @wg.role(warpgroups=2, registers=232)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    acc = wg.mma(s.a, s.b, acc)

    error = error_of(kernel)
    assert error.place.line == line_of(kernel, "wg.ring(5")[0]
    assert "232448" in error.message  # 227 KiB, what a CTA may have
    assert "81920 bytes (5 slots of 16384)" in error.message
    assert "163840 bytes (5 slots of 32768)" in error.message


def test_roles_that_ask_for_too_many_registers():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warps=1, registers=48)
        def load():
            for m, n in work:
                for k, s in ring.fill(A.count[1]):
                    wg.tma(A[m, k], s.a)
                    wg.tma(B[k, n], s.b)

        @wg.role(warpgroups=2, registers=240)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=1):
                    acc = wg.mma(s.a, s.b, acc)

    error = error_of(kernel)
    # (48 + 2 * 240) * 128 threads against 168 * 384 at the launch.
    assert "67584" in error.message
    assert "64512" in error.message


def test_a_lag_that_leaves_no_slot_to_fill():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(128, 64), b.tiles(64, 256), c.tiles(128, 256)
        work = gr.tiles(C)
        ring = wg.ring(a=wg.smem(A), b=wg.smem(B))

        @wg.role(warps=1, registers=40)
        def load():
            for m, n in work:
                for k, s in ring.fill(A.count[1]):
                    wg.tma(A[m, k], s.a)
                    wg.tma(B[k, n], s.b)

        @wg.role(warpgroups=2, registers=232)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                for k, s in ring.drain(A.count[1], lag=4):
                    acc = wg.mma(s.a, s.b, acc)

    error = error_of(kernel)
    assert error.place.line == line_of(kernel, "lag=4")[0]
    assert "has lag 4 on a ring of 4 stages: expected less" in error.message


def test_a_changing_type_in_a_loop():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256))

        @wg.role(warpgroups=1)
        def multiply():
            x = 0
            for i in gr.range(10):
                x = x + 0.5

    error = error_of(kernel)
    assert error.message == "'x' changes its type from one iteration to the next"
    assert (error.expected, error.found) == ("a scalar of i32", "a scalar of f32")


def test_errors_in_helpers_show_both_lines():
    @gr.function
    def scaled(x):
        return x * missing

    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(scaled(64), 256))

    error = error_of(kernel)
    assert error.message == "'missing' is not defined"
    assert error.place.function == "scaled"
    assert error.called_from[0].function == "kernel"
    assert error.called_from[0].line == line_of(kernel, "scaled(64)")[0]
    assert (
        str(error).splitlines()[-1]
        == f"  called from {__file__}:{error.called_from[0].line} in kernel"
    )


def helper_named_twice():
    @gr.function
    def twice(x):
        return x * 2

    return twice


def test_helpers_of_one_name_are_told_apart():
    first = helper_named_twice()

    @gr.function
    def twice(x):
        return first(x) + 1

    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        work = gr.tiles(c.tiles(128, 256))

        @wg.role(warps=1)
        def count():
            for m, n in work:
                twice(m)

    text = kernel.emit(*arrays())
    assert '"twice"(' in text
    assert '"twice.2"(' in text
    assert '{name = "twice.2", file = ' in text


def test_no_traceback_through_internals():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        return 1

    for call in (kernel, kernel.compile, kernel.emit):
        with pytest.raises(gr.CompileError) as info:
            call(*arrays())
        frames = traceback.extract_tb(info.value.__traceback__)
        assert [frame.filename for frame in frames] == [__file__]
        assert info.value.__cause__ is None
        assert info.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("wg.smem(A, 1, 2, 3)", "wg.smem: too many positional arguments"),
        ("gr.tiles(C, ctas=0)", "the number of CTAs must be known at the launch"),
        ("gr.tiles(C, order=3)", "order is a tile order"),
        ("wg.ring()", "a ring needs at least one buffer"),
        ("a.tiles(128)", "a.tiles() takes one extent per dimension"),
        ("a.tiles(0, 1)", "a tile's extent must be a positive constant"),
        ("A.missing", "tiles of 128x64 of array a of bf16 [M, K] has no 'missing'"),
        ("A[1]", "tiles of a take one index per dimension"),
        ("wg.tma(A[0, 0], A)", "this needs a role: nobody executes it here"),
        ("1 // 0", "ZeroDivisionError: integer division or modulo by zero"),
        ("print(A)", "'print' is not defined"),
        ("wg.role(warps=5)", "a role of warps fits one warpgroup"),
        ("wg.role(registers=30, warps=1)", "setmaxnreg takes a multiple of 8"),
    ],
)
def test_single_calls(call, text, tmp_path, monkeypatch):
    path = tmp_path / "mistake.py"
    path.write_text(
        "import girih as gr\n"
        "from girih import wg\n"
        "@gr.kernel\n"
        "def kernel(a: gr.In['M,K'], b: gr.In['K,N'], c: gr.Out['M,N']):\n"
        "    A, C = a.tiles(128, 64), c.tiles(128, 256)\n"
        f"    x = {call}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    module = importlib.import_module("mistake")
    importlib.reload(module)
    error = error_of(module.kernel)
    assert error.message == text
    assert error.place.line == 6


# Turns, roles whose warpgroups work for themselves, shares of the work.


def test_each_needs_warpgroups():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256))

        @wg.role(warps=2, each=True)
        def work():
            pass

    check(
        kernel,
        "wg.role(warps=2, each=True)",
        "each lets whole warpgroups work for themselves",
        expected="wg.role(warpgroups=…, each=True)",
        found="a role of warps",
    )


def test_turns_of_another_number_of_warpgroups():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256))
        turn = wg.turns(3)

        @wg.role(warpgroups=2)
        def work():
            turn.take()

    check(
        kernel,
        "turn.take()",
        "the turns are those of another number of warpgroups",
        expected="a role of warpgroups=3",
        found="role 'work' of 2 warpgroups",
    )


def test_turns_of_one():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256))
        wg.turns(1)

    check(
        kernel,
        "wg.turns(1)",
        "turns are taken by the warpgroups of a role",
        expected="a constant of 2 to 8 warpgroups",
        found="1",
    )


def test_readers_of_a_ring():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256))
        wg.ring(2, readers="two", a=wg.smem(a.tiles(64, 64)))

    check(
        kernel,
        'wg.ring(2, readers="two", a=wg.smem(a.tiles(64, 64)))',
        "who reads a slot?",
        expected='"all" or "one"',
        found="'two'",
    )


def test_one_tile_is_not_shared_out():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        work = gr.tiles(c.tiles(128, 256))

        @wg.role(warpgroups=2, each=True)
        def multiply():
            for m, n in work[wg.warpgroup() :: 2]:
                pass

    check(
        kernel,
        "work[wg.warpgroup() :: 2]",
        "a CTA has one tile: there is nothing to share out",
        expected="gr.tiles(..., ctas=...)",
        found="the launch over tiles of 128x256 of array c of bf16 [M, N]",
    )


def test_shares_are_in_constant_steps():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        work = gr.tiles(c.tiles(128, 256), ctas=2)

        @wg.role(warpgroups=2, each=True)
        def multiply():
            for m, n in work[0:4]:
                pass

    check(
        kernel,
        "work[0:4]",
        "work is shared out in constant steps",
        expected="work[first::step] with a step of at least 2",
        found="another slice",
    )


# Clusters and multicast.


def test_a_cluster_of_rows_and_columns():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        gr.tiles(c.tiles(128, 256), cluster=(2, 2))

    check(
        kernel,
        "gr.tiles(c.tiles(128, 256), cluster=(2, 2))",
        "a cluster's CTAs lie in one row or column of tiles",
        expected="(n, 1) or (1, n) with n up to 8",
        found="(2, 2)",
    )


def test_multicast_without_a_cluster():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A = a.tiles(64, 64)
        work = gr.tiles(c.tiles(64, 256))
        ring = wg.ring(2, a=wg.smem(A))

        @wg.role(warps=1)
        def load():
            for m, n in work:
                for k, s in ring.fill(4):
                    wg.tma(A[m, k], s.a, multicast=True)

    check(
        kernel,
        "wg.tma(A[m, k], s.a, multicast=True)",
        "multicast brings a tile to the CTAs of a cluster",
        expected="a launch with clusters, as in gr.tiles(..., cluster=(2, 1))",
        found="a launch without",
    )


def test_a_buffer_that_does_not_split_over_the_cluster():
    @gr.kernel
    def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A = a.tiles(72, 64)
        work = gr.tiles(c.tiles(64, 256), cluster=(2, 1))
        ring = wg.ring(2, a=wg.smem(A))

        @wg.role(warps=1)
        def load():
            for m, n in work:
                for k, s in ring.fill(4):
                    wg.tma(A[m, k], s.a, multicast=True)

    check(
        kernel,
        "wg.tma(A[m, k], s.a, multicast=True)",
        "the buffer does not split over the cluster",
        expected="a multiple of 16 elements along dimension 0 for 2 CTAs",
        found="a buffer of 72x64 bf16",
    )
