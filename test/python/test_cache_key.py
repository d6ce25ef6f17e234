"""What is part of the key of a kernel in the cache, and what is not."""

import importlib.util
import itertools
import sys
import textwrap

import pytest

import girih as gr
from girih.cache import kernels, toolchain
from girih.cache.key import Inputs
from girih.cache.store import Store, digest
from girih.lang.module import ArraySignature

_names = itertools.count()

SOURCE = """
import math
import girih as gr
import {helpers}

WIDTH = 64
SCALES = (1.0, 2)
UNUSED = 1

def above():
    return 0

@gr.function
def twice(x):
    return once(x) * 2

@gr.function
def once(x):
    return x + 1

@gr.kernel
def saxpy(x: gr.In["N"], y: gr.Out["N"], a: gr.f32, *, mode: gr.const = 0):
    X, Y = x.tiles(WIDTH), y.tiles(WIDTH)
    for i in gr.tiles(Y):
        Y[i] = twice(X[i]) * a + SCALES[1] + {helpers}.OFFSET + {helpers}.shift(0) + math.floor(1.5)

def below():
    return 1
"""
HELPERS = """
import girih as gr

OFFSET = 3
OTHER = 4

@gr.function
def shift(x):
    return x + 5
"""


def load(folder, text):
    """A module made of a text."""
    name = f"cachekey{next(_names)}"
    path = folder / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def parts(kernel, signature=None):
    """The inputs of a kernel and a call."""
    inputs = Inputs()
    array = ArraySignature(gr.f32, 1, 0, True)
    inputs.kernel(
        kernel.definition, kernel.parameters, signature or {"x": array, "y": array, "mode": 0}
    )
    return inputs


def key(folder, text=SOURCE, helpers=HELPERS, signature=None):
    """The key without what does not come from the program."""
    helper = load(folder, helpers)
    sys.modules["cachehelpers"] = helper
    module = load(folder, text.replace("{helpers}", "cachehelpers"))
    # The module's name is part of what a kernel sees; here it differs only because Python wants it to.
    found = [(a.replace(helper.__name__, "h"), b) for a, b in parts(module.saxpy, signature).parts]
    return digest(repr(found).replace(helper.__name__, "h").encode())


def replaced(old, new, text=SOURCE):
    """The text with one change, which must be possible."""
    assert old in text
    return text.replace(old, new)


MISSES = {
    "the kernel's body": replaced("* a + SCALES", "* a - SCALES"),
    "a line more in the body": replaced("    for i in", "\n    for i in"),
    "a comment that moves a line": replaced("    for i in", "    # all\n    for i in"),
    "a constant": replaced("WIDTH = 64", "WIDTH = 128"),
    "the type of a constant": replaced("WIDTH = 64", "WIDTH = 64.0"),
    "an element of a tuple": replaced("(1.0, 2)", "(1.0, 3)"),
    "the type of an element": replaced("(1.0, 2)", "(1.0, 2.0)"),
    "the sign of a float": replaced("(1.0, 2)", "(-1.0, 2)"),
    "a helper": replaced("once(x) * 2", "once(x) * 3"),
    "a helper's helper": replaced("return x + 1", "return x + 2"),
    "a helper's decorated default": replaced("def once(x):", "def once(x, y=2):"),
    "a parameter's annotation": replaced('gr.In["N"]', 'gr.In["N%4"]'),
    "a scalar's type": replaced("a: gr.f32", "a: gr.f64"),
    "a parameter's name": replaced("a: gr.f32", "b: gr.f32").replace("* a +", "* b +"),
}


@pytest.mark.parametrize("text", MISSES.values(), ids=MISSES)
def test_what_shapes_the_kernel_makes_another_key(tmp_path, text):
    assert key(tmp_path, text) != key(tmp_path)


HITS = {
    "lines above": SOURCE.replace("def above", "def before(): pass\n\ndef above"),
    "other functions": SOURCE.replace("return 0", "return 2").replace("return 1\n", "return 7\n"),
    "a constant that nothing uses": SOURCE.replace("UNUSED = 1", "UNUSED = 2"),
    "blanks at the end of lines": SOURCE.replace("tiles(WIDTH)\n", "tiles(WIDTH)   \n"),
}


@pytest.mark.parametrize("text", HITS.values(), ids=HITS)
def test_what_does_not_shape_the_kernel_keeps_the_key(tmp_path, text):
    assert text != SOURCE
    assert key(tmp_path, text) == key(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("OFFSET = 3", "OFFSET = 2", False),
        ("x + 5", "x + 6", False),
        ("OTHER = 4", "OTHER = 5", True),
        ("OTHER = 4\n", "OTHER = 4\n\n\n", True),
    ],
)
def test_modules_count_by_what_the_kernel_uses_of_them(tmp_path, old, new, same):
    other = key(tmp_path, helpers=replaced(old, new, HELPERS))
    assert (other == key(tmp_path)) == same


def test_every_part_of_a_call_that_is_compiled_for_counts(tmp_path):
    base = {"x": ArraySignature(gr.f32, 1, 0, True), "y": ArraySignature(gr.f32, 1, 0, True)}
    x = [
        ArraySignature(gr.f16, 1, 0, True),
        ArraySignature(gr.f32, 2, 0, True),
        ArraySignature(gr.f32, 1, -1, True),
        ArraySignature(gr.f32, 1, 0, False),
        None,
    ]
    modes = [0, 1, 1.0, True, "1", (1,), gr.f32, lambda a: a, lambda a: a + 1]
    signatures = [{**base, "x": other, "mode": 0} for other in x]
    signatures += [{**base, "mode": gr.lang.passed.as_constant(mode)} for mode in modes]
    keys = [key(tmp_path, signature=signature) for signature in signatures]
    assert len(set(keys)) == len(keys)


def test_lambdas_in_one_line_are_told_apart(tmp_path):
    module = load(
        tmp_path,
        "import girih as gr\n"
        "@gr.kernel\n"
        'def f(y: gr.Out["N"], *, g: gr.const):\n'
        "    Y = y.tiles(64)\n"
        "    for i in gr.tiles(Y):\n"
        "        Y[i] = gr.full((64,), g(1), gr.f32)\n"
        "one, two = (lambda a: a + 1), (lambda a: a + 2)\n",
    )
    array = ArraySignature(gr.f32, 1, 0, True)
    both = [
        parts(module.f, {"y": array, "g": gr.lang.passed.as_constant(function)}).parts
        for function in (module.one, module.two)
    ]
    assert both[0] != both[1]


def test_a_factory_s_constants_count(tmp_path):
    module = load(
        tmp_path,
        "import girih as gr\n"
        "def make(BM):\n"
        "    @gr.kernel\n"
        '    def f(y: gr.Out["N"]):\n'
        "        Y = y.tiles(BM)\n"
        "        for i in gr.tiles(Y):\n"
        "            Y[i] = gr.zeros((BM,), gr.f32)\n"
        "    return f\n",
    )
    array = ArraySignature(gr.f32, 1, 0, True)
    keys = [str(parts(module.make(size), {"y": array}).parts) for size in (64, 64, 128)]
    assert keys[0] == keys[1] != keys[2]


def test_hints_of_a_decorator_count(tmp_path):
    module = load(
        tmp_path,
        "import girih as gr\n"
        "def make(**hints):\n"
        "    @gr.kernel(**hints)\n"
        '    def f(y: gr.Out["N"]):\n'
        "        Y = y.tiles(64)\n"
        "        for i in gr.tiles(Y):\n"
        "            Y[i] = gr.zeros((64,), gr.f32)\n"
        "    return f\n",
    )
    signature = {"y": ArraySignature(gr.f32, 1, 0, True)}
    keys = [str(parts(module.make(warps=warps), signature).parts) for warps in (4, 4, 8, None)]
    assert keys[0] == keys[1] and len(set(keys)) == 3


def test_a_block_s_text_ends_with_the_function(tmp_path):
    module = load(
        tmp_path,
        "import girih as gr\n"
        "if True:\n"
        "    @gr.function\n"
        "    def f(\n"
        "        x,\n"
        "    ):\n"
        "        y = g(\n"
        "    x\n"
        ")\n"
        "        # a comment\n"
        "\n"
        "        return y\n"
        '        "no code comes of this"\n'
        "    # not part of it\n"
        "    z = 1\n"
        "def g(x): return x\n",
    )
    text = module.f.definition.body_text()
    assert text.startswith("    @gr.function") and text.endswith('"no code comes of this"')


# ---- The toolchain ---------------------------------------------------------------------------------


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A store, a stand-in for the compiler, and the files that it names."""
    files = [tmp_path / name for name in ("compiler", "libLLVM", "ptxas", "libdevice")]
    for file in files:
        file.write_text(file.name)
    monkeypatch.setattr(toolchain, "_ask", lambda compiler: [str(file) for file in files])
    return Store(str(tmp_path / "cache")), files


@pytest.mark.parametrize("which", range(4))
def test_each_tool_counts_by_its_content(tools, which):
    store, files = tools
    assert store.usable()
    before = toolchain.toolchain(store, "c")
    assert toolchain.toolchain(store, "c").identity == before.identity
    files[which].write_text("another version")
    after = toolchain.toolchain(store, "c")
    assert after.identity != before.identity
    assert not before.unchanged() and after.unchanged()
    files[which].write_text(files[which].name)
    assert toolchain.toolchain(store, "c").identity == before.identity


def test_a_tool_that_was_missing_and_is_there_counts(tools):
    store, files = tools
    assert store.usable()
    files[2].unlink()
    before = toolchain.toolchain(store, "c")
    files[2].write_text("ptxas")
    assert toolchain.toolchain(store, "c").identity != before.identity


@pytest.mark.parametrize("name", ["GIRIH_PTXAS", "GIRIH_CUDA_HOME", "VIRTUAL_ENV"])
def test_variables_that_choose_tools_have_the_compiler_asked_again(tools, monkeypatch, name):
    store, files = tools
    assert store.usable()
    before = toolchain.toolchain(store, "c")
    monkeypatch.setenv(name, "/elsewhere")
    other = files[0].with_name("other")
    other.write_text("another ptxas")
    monkeypatch.setattr(toolchain, "_ask", lambda compiler: [str(other)])
    assert toolchain.toolchain(store, "c").identity != before.identity


def test_a_worker_older_than_its_files_is_not_believed(tools):
    store, files = tools
    assert store.usable()
    found = toolchain.toolchain(store, "c")
    newest = max(file.stat().st_ctime_ns for file in files)
    assert found.compiler_is_loaded(newest + 1)
    assert not found.compiler_is_loaded(newest)


def test_the_front_end_and_python_count(tools, monkeypatch):
    store, files = tools
    assert store.usable()
    before = toolchain.toolchain(store, "c")
    assert any(path.endswith("lang/visitor.py") for path in before.front_end)
    assert not any("girih/kernels/" in path for path in before.front_end)
    changed = files[0].with_name("visitor.py")
    changed.write_text("changed")
    monkeypatch.setattr(toolchain, "_front_end", lambda: [*before.front_end, str(changed)])
    assert toolchain.toolchain(store, "c").identity != before.identity


# ---- The folder ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"GIRIH_CACHE_DIR": "/a/b"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/girih"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/girih"),
        ({"HOME": "/h"}, "/h/.cache/girih"),
    ],
)
def test_the_folder_follows_xdg(monkeypatch, environment, expected):
    for name in ("GIRIH_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert kernels.folder() == expected


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("3K", 3072), ("2M", 2 << 20), ("1G", 1 << 30)]
)
def test_sizes(text, size):
    assert kernels.parse_size(text, "--size") == size


def test_a_wrong_size_says_what_is_expected():
    with pytest.raises(gr.GirihError) as error:
        kernels.parse_size("2 GB", "GIRIH_CACHE_SIZE")
    assert str(error.value) == (
        "GIRIH_CACHE_SIZE is '2 GB': expected a number of bytes, or one with K, M or G, as in 512M"
    )
