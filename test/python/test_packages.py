"""Packages: exported kernels compute what they compute otherwise, without a compiler, and each mistake is named."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import girih as gr
from girih import _runtime
from girih.errors import CompileError, GirihError, LaunchError
from girih.packages.conditions import implies, parse_conditions
from girih.packages.signature import Variant, parse_call, parse_signature
from girih.packages.tool import main as export_tool

BIN = Path(gr.__file__).absolute().parents[2] / "bin"


@gr.kernel
def scaled(x: gr.In["M,N%4"], f: gr.f32, y: gr.Out["M,N"], *, B: gr.const = 128):
    """y = f · x.

    A second paragraph is for readers of the source.
    """
    X, Y = x.tiles(4, B), y.tiles(4, B)
    for m, n in gr.tiles(Y):
        Y[m, n] = (f * X[m, n].to(gr.f32)).to(y.dtype)


@gr.kernel
def shifted(x: gr.In["N"], shift: gr.In["N"] | None, n: gr.i32, y: gr.Out["N"]):
    """y = x + shift + n, without shift where there is none."""
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(Y):
        t = X[i] + n.to(gr.f32)
        if shift is not None:
            t = t + shift.tiles(128)[i]
        Y[i] = t


@gr.kernel
def any_rank(x: gr.In, y: gr.Out):
    """y = x, of any rank."""
    X, Y = x.tiles(4, 128), y.tiles(4, 128)
    for m, n in gr.tiles(Y):
        Y[m, n] = X[m, n]


def export(path, kernels):
    gr.export(path, kernels)
    return gr.load(path)


@pytest.fixture(scope="module")
def package_file(tmp_path_factory):
    """A package with both kernels in several variants."""
    path = tmp_path_factory.mktemp("package") / "both.girih"
    few, many = "f32, f32, f32, B=64 when M <= 8", "f32, f32, f32"
    half = "bf16, f32, f32(aligned=False)"
    plain, with_shift = "f32, None, i32, f32", "f32, f32, i32, f32"
    gr.export(path, {scaled: [few, many, half], shifted: [plain, with_shift]})
    return path


@pytest.fixture(scope="module")
def package(package_file):
    return gr.load(package_file)


def test_a_package_computes_what_the_kernels_do(package):
    x = np.arange(12 * 200, dtype=np.float32).reshape(12, 200)
    y = np.zeros_like(x)
    package.scaled(x, 0.5, y)
    assert np.array_equal(y, 0.5 * x)
    package.scaled(x[:8], f=2.0, y=y[:8])  # the variant for few rows
    assert np.array_equal(y[:8], 2 * x[:8])
    assert np.array_equal(y[8:], 0.5 * x[8:])


def test_what_is_absent_picks_the_variant(package):
    x, shift, y = np.arange(300.0, dtype=np.float32), np.full(300, 7, np.float32), np.zeros(300, np.float32)  # fmt: skip
    package.shifted(x, None, 2, y)
    assert np.array_equal(y, x + 2)
    package.shifted(x, shift, 2, y)
    assert np.array_equal(y, x + 9)
    package.shifted(x, n=3, y=y, shift=None)
    assert np.array_equal(y, x + 3)


def test_the_first_variant_that_fits_is_taken(package):
    def program(dtype, rows):
        x, y = gr.empty((rows, 64), dtype), gr.empty((rows, 64), gr.f32)
        return package.scaled._kernel.choose([x, 1.0, y])

    few, many = program(gr.f32, 8), program(gr.f32, 9)
    assert few.image != many.image
    assert program(gr.f32, 7) is few
    assert program(gr.bf16, 8).parameters[0]["dtype"] == "bf16"


def test_what_a_package_does_not_have_is_said(package):
    x, y = gr.empty((4, 8), gr.f32), gr.empty((4, 8), gr.f32)
    assert package.scaled.compile(x, 1.0, y).kernels[0]["name"] == "scaled"
    with pytest.raises(
        GirihError, match="^scaled comes from a package, which keeps machine code and PTX only"
    ):
        package.scaled.emit(x, 1.0, y)
    with pytest.raises(LaunchError, match="^scaled: its launches cannot be prepared: which variant a call takes depends on shapes$"):  # fmt: skip
        package.scaled.prepare(x, 1.0, y)
    with pytest.raises(LaunchError, match="^shifted: x: a launcher keeps arrays on the device, found an object of type ndarray"):  # fmt: skip
        package.shifted.prepare(np.zeros(4, np.float32), None, 1, np.zeros(4, np.float32))


def test_errors_of_a_call_show_no_frame_of_girih(package):
    with pytest.raises(LaunchError) as error:
        package.scaled(1, 2, 3)
    assert [entry.path for entry in error.traceback] == [Path(__file__)]


def test_a_call_that_no_variant_takes_says_why_for_each(package):
    x, y = gr.empty((9, 64), gr.f16), gr.empty((9, 64), gr.f32)
    with pytest.raises(LaunchError) as error:
        package.scaled(x, 1.0, y)
    found = "found an array of f16 with shape (9, 64)"
    assert str(error.value) == (
        "scaled: no variant of the package takes these arguments\n"
        f"  variant 0: x: expected an array of f32 with 2 dimensions, {found}\n"
        f"  variant 1: x: expected an array of f32 with 2 dimensions, {found}\n"
        f"  variant 2: x: expected an array of bf16 with 2 dimensions, {found}"
    )


def test_a_violated_divisor_is_named_with_its_value(package):
    x, y = (gr.asarray(np.zeros((2, 8), np.float32))[:, :6] for _ in range(2))
    with pytest.raises(LaunchError, match="^x has N = 6: expected a multiple of 4, as its declaration says$"):  # fmt: skip
        package.scaled(x, 1.0, y)


def test_arguments_that_are_none_are_named(package):
    with pytest.raises(LaunchError, match=r"^scaled: missing a required argument: 'y'$"):
        package.scaled(1, 2)
    with pytest.raises(
        LaunchError, match="^scaled: x: expected an array, found an object of type str"
    ):
        package.scaled("x", 1.0, gr.empty((1, 4), gr.f32))


def test_a_package_says_what_it_holds(package):
    assert list(package) == ["scaled", "shifted"]
    assert repr(package) == f"<package of girih {gr.__version__}: scaled, shifted>"
    assert repr(package.shifted) == "<packaged kernel shifted(x, shift, n, y)>"
    assert package.scaled.__doc__ == "y = f · x."
    assert package.scaled.variants[0] == {
        "arch": "sm_90a", "constants": {"B": "64"}, "when": ("M at most 8",),
    }  # fmt: skip
    assert "scaled" in dir(package)
    with pytest.raises(AttributeError, match="no kernel other: it has scaled, shifted"):
        package.other  # noqa: B018


def test_a_call_like_an_earlier_one_runs_no_python_code(package, monkeypatch):
    x, shift = gr.asarray(np.arange(300, dtype=np.float32)), gr.asarray(np.ones(300, np.float32))
    y = gr.empty(300, gr.f32)
    kernel = package.shifted
    launcher = kernel.prepare(x, None, 5, y)
    kernel(x, shift, 0, y)
    monkeypatch.delattr(type(kernel), "_launch")
    launcher()
    assert np.array_equal(y.numpy(), x.numpy() + 5)
    kernel(x, None, 1, y)
    assert np.array_equal(y.numpy(), x.numpy() + 1)
    kernel.launch(x, shift, 2, y, stream=0)
    assert np.array_equal(y.numpy(), x.numpy() + 3)
    with pytest.raises(AttributeError):
        kernel(x[1:], None, 1, y[1:])


def test_a_package_needs_no_compiler(tmp_path):
    path = tmp_path / "one.girih"
    gr.export(path, {scaled: ["f32, f32, f32"]})
    program = f"""
import numpy as np
import girih as gr
x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
gr.load({str(path)!r}).scaled(x, 3.0, y)
assert (y == 3).all()
"""
    environment = os.environ | {"GIRIH_COMPILE": "/nowhere", "GIRIH_CACHE_DIR": "/nowhere"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_example_arguments_and_specs_give_the_same_package(tmp_path):
    x, y = gr.empty((16, 32), gr.f32), gr.empty((16, 32), gr.f32)
    scaled.export(tmp_path / "kernel.girih", x, 1.0, y, B=64)
    by_example = (tmp_path / "kernel.girih").read_bytes()
    for signature in (
        "f32, f32, f32, B=64",
        "x=f32(rank=2), y=f32(contiguous=1), f=f32, B=64",
        gr.variant(gr.f32, 1.0, gr.ArraySpec(gr.f32), B=64),
        (x, 1.0, y, {"B": 64}),
    ):
        scaled.export(tmp_path / "kernel.girih", signatures=[signature])
        assert (tmp_path / "kernel.girih").read_bytes() == by_example


def test_a_package_does_not_depend_on_where_it_is_made(tmp_path):
    """Nor does it say where: only the names of files are in it."""
    packages = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "kernels.py").write_text(
            "import girih as gr\n"
            "@gr.kernel\n"
            "def twice(x: gr.In['N'], y: gr.Out['N']):\n"
            "    for i in gr.tiles(y.tiles(128)):\n"
            "        y.tiles(128)[i] = 2 * x.tiles(128)[i]\n"
        )
        arguments = [folder / "kernels.py", "--signature", "twice(f32, f32)", "-o", folder]
        assert export_tool(list(map(str, arguments))) == 0
        packages.append((folder / "kernels.girih").read_bytes())
        assert (folder / "kernels.h").read_text().startswith("/* The kernels of a package")
    assert packages[0] == packages[1]
    assert str(tmp_path).encode() not in packages[0]
    assert b"kernels.py" in packages[0]


def test_identical_code_is_stored_once(tmp_path):
    scaled.export(tmp_path / "one.girih", signatures=["f32, f32, f32"])
    scaled.export(tmp_path / "two.girih", signatures=["f32, f32, f32 when M <= 8", "f32, f32, f32"])
    sizes = [(tmp_path / name).stat().st_size for name in ("one.girih", "two.girih")]
    assert sizes[1] - sizes[0] < 1000


def test_any_rank_needs_one(tmp_path):
    with pytest.raises(LaunchError, match=r"^any_rank: x takes any number of dimensions: say it, as in gr.ArraySpec\(girih.f32, rank=2\)$"):  # fmt: skip
        any_rank.export(tmp_path / "x.girih", signatures=["f32, f32"])
    x, y = np.ones((5, 132), np.float32), np.zeros((5, 132), np.float32)
    export(tmp_path / "x.girih", {any_rank: ["f32(rank=2), f32(rank=2)"]}).any_rank(x, y)
    assert np.array_equal(x, y)


def test_compiling_needs_no_arrays():
    assert scaled.compile(gr.bf16, 1.0, gr.f32).parameters[0]["dtype"] == "bf16"
    with pytest.raises(LaunchError, match="^scaled: x: contiguous is 2, expected a dimension from 0 to 1, or -1 for none$"):  # fmt: skip
        scaled.compile(gr.ArraySpec(gr.f32, contiguous=2), 1.0, gr.f32)
    with pytest.raises(LaunchError, match=r"^scaled: x has 3 dimensions, expected 2: \[M, N%4\]$"):
        scaled.compile(gr.ArraySpec(gr.f32, rank=3), 1.0, gr.f32)


@pytest.mark.parametrize(
    ("signatures", "message"),
    [
        ([], "scaled has no signature: pass example arguments, or signatures=[…]"),
        (
            ["f32, f32, f32, B=64", "f32, f32, f32"],
            "scaled: variant 1 is never taken, since variant 0 takes every call that it takes: put it first, say for "
            "which calls each is meant (when=…), or export it under a name of its own",
        ),
        (
            ["f32(aligned=False), f32, f32 when M <= 8", "f32, f32, f32 when M <= 4 and N % 8 == 0"],
            "scaled: variant 1 is never taken, since variant 0 takes every call that it takes: put it first, say for "
            "which calls each is meant (when=…), or export it under a name of its own",
        ),
        (
            ["f32, f32, f32 when K <= 8"],
            "scaled: when='K <= 8': there is no K: expected one of x[0], M, x[1], N, y[0], y[1]",
        ),
        (
            ["f32, f32, f32 when M == 1 or M == 2"],
            "scaled: when='M == 1 or M == 2': expected comparisons of an extent or integer with numbers, joined by "
            "and, as in 1 <= M <= 64 and K % 8 == 0, found M == 1 or M == 2",
        ),
        (
            ["f32, f32, f32 when M < 4 and M > 8"],
            "scaled: when='M < 4 and M > 8': no M is at least 9 and at most 3",
        ),
        (
            ["f17, f32, f32"],
            "signature 'f17, f32, f32': f17 is neither a dtype nor a constant: expected one of f64, f32, f16, bf16, "
            "e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8, b1, a number, a text, None or a tuple",
        ),
        (
            ["f32(2), f32, f32"],
            "signature 'f32(2), f32, f32': f32(2): expected rank, contiguous and aligned by name, as in "
            "f32(contiguous=0)",
        ),
        (["f32,, f32"], "signature 'f32,, f32': expected arguments as in a call, as in bf16, bf16, f32, BM=64"),
    ],
)  # fmt: skip
def test_mistakes_in_signatures_are_named(tmp_path, signatures, message):
    with pytest.raises(GirihError) as error:
        scaled.export(tmp_path / "x.girih", signatures=signatures)
    assert str(error.value) == message
    assert not list(tmp_path.iterdir())


def test_other_mistakes_of_an_export_are_named(tmp_path):
    with pytest.raises(
        GirihError, match="^girih has no lowering for sm_100a yet: expected sm_90a$"
    ):
        gr.export(tmp_path / "x.girih", {scaled: ["f32, f32, f32"]}, arch="sm_100a")
    with pytest.raises(GirihError, match="^a package needs at least one kernel$"):
        gr.export(tmp_path / "x.girih", {})
    with pytest.raises(GirihError, match="/nowhere/x.girih: No such file or directory$"):
        gr.export("/nowhere/x.girih", {scaled: ["f32, f32, f32"]})
    with pytest.raises(CompileError, match="f64"):
        gr.export(tmp_path / "x.girih", {shifted: ["f64, None, i32, f32"]})
    other = gr.kernel(scaled.function)
    with pytest.raises(GirihError, match="^two kernels are called scaled: "):
        gr.export(tmp_path / "x.girih", {scaled: ["f32, f32, f32"], other: ["f32, f32, f32"]})
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_packages_are_named(tmp_path):
    path = tmp_path / "x.girih"
    with pytest.raises(GirihError, match="cannot read the package .*x.girih: No such file"):
        gr.load(path)
    path.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(
        GirihError, match="x.girih: not a girih package: expected a file that begins"
    ):
        gr.load(path)
    scaled.export(path, signatures=["f32, f32, f32"])
    data = bytearray(path.read_bytes())
    with pytest.raises(
        GirihError, match="^the package is damaged: it has 500 bytes, its header says"
    ):
        gr.load(bytes(data[:500]))
    data[-1] ^= 1
    with pytest.raises(
        GirihError, match="^the package is damaged: the checksum of image 0 does not match$"
    ):
        gr.load(bytes(data))
    data[8] = 2
    with pytest.raises(
        GirihError, match="^the package has schema 2, this runtime reads schema 1; use the"
    ):
        gr.load(bytes(data))


def test_a_kernel_outlives_the_name_of_its_package(package_file):
    kernel = gr.load(package_file.read_bytes()).scaled
    x, y = np.ones((1, 4), np.float32), np.zeros((1, 4), np.float32)
    kernel(x, 2.0, y)
    assert (y == 2).all()


def test_signatures_as_text():
    assert parse_signature("bf16, B=64") == Variant((gr.bf16,), {"B": 64})
    assert parse_signature("f32(contiguous=0), mode='when' when M <= 4") == Variant(
        (gr.ArraySpec(gr.f32, contiguous=0),), {"mode": "when"}, "M <= 4"
    )
    assert parse_call("f(None, (1, -2), i8) when n > 3") == (
        "f",
        Variant((None, (1, -2), gr.i8), {}, "n > 3"),
    )
    with pytest.raises(GirihError, match="expected a call of a kernel, as in softmax"):
        parse_call("a.b(f32)")
    with pytest.raises(GirihError, match="expected arguments by name, found \\*\\*"):
        parse_call("f(**f32)")


PLACES = {"M": (0, 0), "n": (1, None)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("M <= 64", [{"name": "M", "parameter": 0, "dim": 0, "high": 64}]),
        ("64 > M", [{"name": "M", "parameter": 0, "dim": 0, "high": 63}]),
        ("1 <= M < 65", [{"name": "M", "parameter": 0, "dim": 0, "low": 1, "high": 64}]),
        ("M >= 2 and M >= 5", [{"name": "M", "parameter": 0, "dim": 0, "low": 5}]),
        ("n == -3", [{"name": "n", "parameter": 1, "low": -3, "high": -3}]),
        ("n % 4 == 0 and n % 6 == 0", [{"name": "n", "parameter": 1, "multiple": 12}]),
    ],
)
def test_conditions(text, expected):
    assert parse_conditions("k", text, PLACES) == expected


@pytest.mark.parametrize(
    "text", ["M", "M <= n", "M <= 0.5", "M % 4 == 1", "M % 0 == 0", "M != 3", "M <", "x <= 3"]
)
def test_conditions_that_are_none(text):
    with pytest.raises(
        GirihError, match=f"^k: when={re.escape(repr(text))}: (expected|there is no x)"
    ):
        parse_conditions("k", text, PLACES)


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("M <= 4", "", True),
        ("", "M <= 4", False),
        ("M <= 4", "M <= 8", True),
        ("M <= 8", "M <= 4", False),
        ("2 <= M <= 4", "M <= 4", True),
        ("M % 8 == 0", "M % 4 == 0", True),
        ("M % 4 == 0", "M % 8 == 0", False),
        ("n == 3", "M <= 4", False),
    ],
)
def test_implications_agree_with_trying_all_values(narrow, wide, expected):
    conditions = [parse_conditions("k", text, PLACES) for text in (narrow, wide)]
    assert implies(*conditions) is expected

    def holds(text, M, n):
        return not text or eval(text, {"M": M, "n": n})

    points = [(M, n) for M in range(17) for n in range(5)]
    assert all(holds(wide, *p) for p in points if holds(narrow, *p)) is expected


def run(tool, *arguments):
    done = subprocess.run([BIN / tool, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_command_and_what_it_refuses(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text("from girih.kernels import vector_add as add\n")
    output = tmp_path / "out" / "adds.girih"
    output.parent.mkdir()
    status, _, error = run("girih-export", file, "--signature", "add(f32, f32, f32)", "-o", output)
    assert (status, error) == (0, "")
    assert list(gr.load(output)) == ["vector_add"]
    status, text, _ = run("girih-package", "show", output)
    assert status == 0
    assert "kernel vector_add(x: in [N], y: in [N], z: out [N])\n  z = x + y.\n" in text
    status, text, _ = run("girih-package", "header", output)
    assert (status, text) == (0, output.with_suffix(".h").read_text())
    assert "adds_vector_add(girih_package *package, const girih_array *x, " in text

    def refused(*arguments):
        status, text, error = run("girih-export", *arguments, "-o", tmp_path / "x")
        assert (status, text) == (1, "")
        return error

    assert refused(file, "--signature", "sub(f32)") == (
        f"girih-export: error: signature 'sub(f32)': {file} has no kernel sub: it has add\n"
    )
    assert refused("/nowhere.py", "--signature", "add(f32)") == (
        "girih-export: error: there is no file /nowhere.py\n"
    )
    assert "no lowering for sm_80 yet" in refused(
        file, "--signature", "add(f32, f32, f32)", "--arch", "sm_80"
    )


def test_girih_package_refuses_what_is_none(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(b"no package at all")
    assert run("girih-package", "show", file) == (
        1,
        "",
        f'girih-package: error: {file}: not a girih package: expected a file that begins with "girihpkg", found 17 '
        "bytes that begin otherwise\n",
    )
    assert run("girih-package", "show", "/nowhere")[2] == (
        "girih-package: error: /nowhere: cannot read it: No such file or directory\n"
    )
    assert run("girih-package")[0] == 2
    assert "girih-package show FILE" in run("girih-package", "--help")[1]


def test_the_extension_writes_nothing_that_does_not_fit_together():
    with pytest.raises(GirihError, match="^the package's index is damaged: "):
        _runtime.write_package("{}", [])
