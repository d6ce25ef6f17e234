"""Kernels work wherever Python runs: where their text comes from, and what is said where there is none."""

import code
import importlib
import os
import pty
import subprocess
import sys
import zipfile

import pytest

import girih as gr
from girih.lang import sourcetext
from girih.lang.sourcetext import command_of

# Prints the MLIR's number of roles, and then where an error in the same kernel is reported.
PROGRAM = """\
import girih as gr
from girih import wg


@gr.kernel
def kernel(c: gr.Out["M,N"], *, wrong: gr.const = False):
    work = gr.tiles(c.tiles(64, 64))
    gr.static_assert(not wrong, "asked for")

    @wg.role(warps=1)
    def role():
        for m, n in work:
            pass


c = gr.empty((64, 64), gr.f32)
try:
    print(kernel.emit(c).count("wg.role"))
    kernel.emit(c, wrong=True)
except gr.CompileError as error:
    print(error)
"""
ERROR = """\
    8 |     gr.static_assert(not wrong, "asked for")
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
"""


def output(*command, **options):
    """What a command prints, standard error included."""
    options = {"stdin": subprocess.DEVNULL, "timeout": 120} | options
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    ).stdout


def expected(name):
    return f"1\n{name}:8:5: asked for\n{ERROR}"


def test_a_file(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert output(sys.executable, path) == expected(path)


@pytest.mark.parametrize(
    "options",
    [
        "-c",
        "-Bc",
        "-B -X utf8 -W ignore -c",
        "-Xutf8 -Wignore -uc",
        "--check-hash-based-pycs always -c",
    ],
)
def test_a_command(options):
    command = [sys.executable, *options.split(), PROGRAM, "-c", "an argument"]
    assert output(*command) == expected("<string>")
    attached = [sys.executable, *options.split()[:-1], options.split()[-1] + PROGRAM]
    assert output(*attached) == expected("<string>")


@pytest.mark.parametrize(
    "arguments",
    [
        "python file.py -c x",
        "python -m module -c x",
        "python - -c x",
        "python -- -c x",
        "python",
        "python -c",
    ],
)
def test_what_is_no_command(arguments):
    command = command_of(arguments.split())
    assert command is None or command == "\n"


def test_standard_input_from_a_file(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    for arguments in ([], ["-"], ["-", "argument"]):
        with path.open() as file:
            assert output(sys.executable, *arguments, stdin=file) == expected("<stdin>")


def test_a_pipe_has_no_source():
    text = output(sys.executable, stdin=None, input=PROGRAM)
    assert text == (
        "the source of 'kernel' cannot be read: Python keeps no source of what it reads from a pipe\n"
        "  help: put the kernel into a file (python file.py, or python < file.py) or a notebook cell\n"
    )


def test_a_prompt_has_no_source():
    main, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-q"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines = ["import girih as gr", "@gr.kernel", "def kernel(c: gr.Out):", "  pass", ""]
        lines += ["kernel.emit(gr.empty(3, gr.f32))", "exit()", ""]
        os.write(main, "\n".join(lines).encode())
        text = process.communicate(timeout=120)[0]
    os.close(main)
    os.close(terminal)
    assert (
        "the source of 'kernel' cannot be read: Python keeps no source of what is typed at its"
        in text
    )


@pytest.mark.parametrize(
    "run",
    [
        "exec(PROGRAM, {})",
        "exec(PROGRAM.encode(), {})",
        "exec(compile(PROGRAM, '<string>', 'exec'), {})",
        "exec(compile(PROGRAM, '<string>', 'exec', dont_inherit=True), {})",
        "exec('import dataclasses\\n' * 0 + PROGRAM)",
    ],
)
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_a_string(tmp_path, run, future):
    path = tmp_path / "program.py"
    path.write_text(f"{future}import girih\nPROGRAM = {PROGRAM!r}\n{run}\n")
    assert output(sys.executable, path) == expected("<string>")


def test_a_string_of_another_name(tmp_path):
    # Python's linecache would look for a file of that name along sys.path.
    (tmp_path / "cell.py").write_text("something else\n" * 50)
    path = tmp_path / "program.py"
    path.write_text(f"import girih\nexec(compile({PROGRAM!r}, 'cell.py', 'exec'))\n")
    assert output(sys.executable, path) == expected("cell.py")


def test_strings_of_one_name_are_told_apart():
    kernels = []
    for number in range(3):
        names = {}
        text = f"import girih as gr\n@gr.kernel\ndef kernel(c: gr.Out):\n    gr.static_assert(False, 'n{number}')\n"
        exec(text, names)
        kernels.append(names["kernel"])
    for number, kernel in enumerate(kernels):
        with pytest.raises(gr.CompileError, match=f"n{number}"):
            kernel.emit(gr.empty(3, gr.f32))


def test_a_string_from_before_girih(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(f"exec({PROGRAM!r})\n")
    text = output(sys.executable, path)
    assert text.startswith(
        "the source of 'kernel' cannot be read: Python keeps no source of a string that it executes, and "
        "girih did not see this one\n  help: import girih before the call of exec"
    )


def test_remembered_strings_are_bounded(monkeypatch):
    monkeypatch.setattr(sourcetext, "_REMEMBERED_CHARACTERS", sourcetext._characters + 100_000)
    for number in range(20):
        compile(f"def f():\n    '{'x' * 10_000}{number}'\n", "<many>", "exec")
    assert sourcetext._characters <= sourcetext._REMEMBERED_CHARACTERS
    total = sum(len(text) for _, text in sourcetext._remembered)
    assert total == sourcetext._characters
    assert any(name == "<many>" for name, _ in sourcetext._remembered)


def test_a_console(capsys):
    console = code.InteractiveConsole()
    for line in (PROGRAM.partition("c = gr.empty")[0] + "\n").splitlines():
        console.push(line)
    console.push("kernel.emit(gr.empty((64, 64), gr.f32), wrong=True)")
    # Each statement is a text of its own: the kernel's begins with its decorator.
    assert "<console>:4:5: asked for" in capsys.readouterr().err


def test_a_notebook_cell():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=120)
    try:

        def run(cell):
            printed = []
            client.execute_interactive(
                cell,
                timeout=120,
                output_hook=lambda message: printed.append(message["content"].get("text", "")),
            )
            return "".join(printed)

        run("pass")
        assert run(PROGRAM) == expected("Cell In[2]")
        assert run("# moved down\n" + PROGRAM).startswith("1\nCell In[3]:9:5: asked for\n")
        # A helper defined anew is the one that counts, also for a kernel of an older cell.
        helper = "@gr.function\ndef check():\n    gr.static_assert(False, '{}')"
        run(helper.format("first"))
        run("@gr.kernel\ndef caller(c: gr.Out):\n    check()")
        call = "try: caller.emit(c)\nexcept gr.CompileError as error: print(error)"
        assert run(call) == (
            "Cell In[4]:3:5: first\n    3 |     gr.static_assert(False, 'first')\n"
            "      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
            "  called from Cell In[5]:3 in caller\n"
        )
        run(helper.format("second"))
        assert run(call).startswith("Cell In[7]:3:5: second\n")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# ---- Modules --------------------------------------------------------------------------------------


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder for modules, forgotten after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


KERNEL = """\
import girih as gr

@gr.function
def helper():
    gr.static_assert(False, "helper {n}")

@gr.kernel
def kernel(c: gr.Out):
    gr.static_assert(c.dtype != gr.f64, "kernel {n}")
    helper()
"""


def message(kernel, dtype=gr.f32):
    with pytest.raises(gr.CompileError) as info:
        kernel.emit(gr.empty(3, dtype))
    return info.value.message


def test_the_text_is_that_of_the_definition(modules):
    path = modules / "old.py"
    path.write_text(KERNEL.format(n=1))
    old = importlib.import_module("old")
    kernel = old.kernel
    # A longer text, so that it is another one whatever the clock says.
    path.write_text("# a new line\n" + KERNEL.format(n="twenty"))
    assert message(kernel, gr.f64) == "kernel 1"
    assert message(kernel) == "helper 1"
    importlib.reload(old)
    # The old kernel looks its helper up as Python does: where the new one stands now.
    assert message(kernel, gr.f64) == "kernel 1"
    assert message(kernel) == "helper twenty"
    assert message(old.kernel, gr.f64) == "kernel twenty"


def test_a_module_of_helpers_is_exchanged(modules):
    for text in ("one", "another one"):
        (modules / "helpers.py").write_text(KERNEL.format(n=text))
        sys.modules.pop("helpers", None)
        importlib.invalidate_caches()
        globals()["helpers"] = importlib.import_module("helpers")

        if text == "one":

            @gr.kernel
            def kernel(c: gr.Out["M,N"]):
                helpers.helper()

        assert message_of_matrix(kernel) == f"helper {text}"
    del globals()["helpers"]


def message_of_matrix(kernel):
    with pytest.raises(gr.CompileError) as info:
        kernel.emit(gr.empty((3, 3), gr.f32))
    return info.value.message


def test_a_module_in_an_archive(modules, monkeypatch):
    with zipfile.ZipFile(modules / "archive.zip", "w") as archive:
        archive.writestr("packed.py", KERNEL.format(n="zipped"))
    monkeypatch.syspath_prepend(modules / "archive.zip")
    assert message(importlib.import_module("packed").kernel) == "helper zipped"


def test_a_module_without_source(modules):
    source, target = modules / "source.py", modules / "bare.pyc"
    source.write_text(KERNEL.format(n=0))
    # In another process: girih sees what this one compiles.
    output(
        sys.executable,
        "-c",
        f"import py_compile; py_compile.compile({str(source)!r}, {str(target)!r}, dfile='gone.py')",
    )
    bare = importlib.import_module("bare")
    assert message(bare.kernel) == (
        "the source of 'kernel' cannot be read: Python keeps no source for gone.py"
    )


# ---- Decorators and factories ---------------------------------------------------------------------


def logged(function):
    """A decorator of somebody else's."""
    import functools

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def test_under_another_decorator():
    @logged
    @gr.kernel
    def above(c: gr.Out):
        gr.static_assert(False, "above")

    @gr.kernel
    @logged
    def below(c: gr.Out):
        gr.static_assert(False, "below")

    with pytest.raises(gr.CompileError, match="above"):
        above(gr.empty(3, gr.f32))
    assert message(below) == "below"

    @gr.function
    @logged
    def helper():
        gr.static_assert(False, "helper")

    @gr.kernel
    def caller(c: gr.Out):
        helper()

    assert message(caller) == "helper"


def test_a_factory_captures_constants():
    def make(number, name):
        @gr.kernel
        def kernel(c: gr.Out):
            gr.static_assert(number < 3, name)
            gr.static_assert(False, "small")

        return kernel

    kernels = [make(1, "one"), make(5, "five"), make(7, "seven")]
    assert [message(kernel) for kernel in kernels] == ["small", "five", "seven"]


def test_a_constant_that_changes_is_picked_up():
    global LIMIT
    LIMIT = "first"

    @gr.kernel
    def kernel(c: gr.Out):
        gr.static_assert(False, LIMIT)

    assert message(kernel) == "first"
    LIMIT = "second"
    assert message(kernel) == "second"
    del LIMIT


def test_defining_a_kernel_parses_nothing(monkeypatch):
    monkeypatch.setattr("ast.parse", lambda *args, **kwargs: pytest.fail("parsed"))

    @gr.kernel
    def kernel(c: gr.Out):
        pass
