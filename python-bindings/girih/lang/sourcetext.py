"""The text that a function was defined in, found when it is defined.

Python keeps the text of files and of notebook cells where ``linecache`` finds it. For other programs it keeps
only the code, and the text comes from where Python itself had it: the command line (``python -c``), standard
input if that is a file, and strings given to ``exec`` and ``compile``. The last are seen by an audit hook
(event ``compile``), which Python calls with every such string from the first import of girih on. What is found
in these ways counts only if it compiles to the very code of the function.
"""

from __future__ import annotations
import __future__

import importlib.util
import linecache
import os
import stat
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

# Strings that were compiled and may define kernels, oldest first, at most so many characters of them.
_REMEMBERED_CHARACTERS = 8 << 20
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag
# Python names all programs without a file so: such a name says nothing about the text.
_NAMELESS = ("<string>", "<stdin>")


@dataclass(frozen=True)
class Text:
    """A file, cell or string: what users call it, and its lines."""

    name: str
    lines: Sequence[str]


@dataclass(frozen=True)
class NoText:
    """Why there is no text, and what to do about it."""

    reason: str
    help: str


def text_of(function: FunctionType) -> Text | NoText:
    """The text in which ``function`` has just been defined. Reads it at most, never parses files."""
    code = function.__code__
    file = code.co_filename
    if file not in _NAMELESS and (file in linecache.cache or os.path.exists(file)):
        linecache.checkcache(file)
        if lines := linecache.getlines(file, function.__globals__):
            return Text(_shown(file), lines)
    for text in _candidates(file):
        if _defines(text, file, code):
            return Text(_shown(file), text.splitlines(keepends=True))
    # A module of a zip archive, say: its loader knows the text.
    if lines := linecache.getlines(file, function.__globals__):
        return Text(_shown(file), lines)
    return _why_not(file)


def _shown(file: str) -> str:
    """What users call a file: for a notebook's cell "Cell In[3]", as IPython does."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    label = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return " ".join(label) if label else file


def _why_not(file: str) -> NoText:
    if file == "<stdin>":
        what = "what is typed at its prompt" if _is_terminal() else "what it reads from a pipe"
        return NoText(
            f"Python keeps no source of {what}",
            "put the kernel into a file (python file.py, or python < file.py) or a notebook cell",
        )
    if file == "<string>":
        return NoText(
            "Python keeps no source of a string that it executes, and girih did not see this one",
            "import girih before the call of exec, pass a string to it and not a tree, or put the kernel "
            "into a file",
        )
    return NoText(
        f"Python keeps no source for {file}", "put the kernel into a file or a notebook cell"
    )


# ---- Where Python had the text --------------------------------------------------------------------


def _candidates(file: str) -> Iterator[str]:
    """Texts that may have been compiled under this name, the likeliest first."""
    for name, text in reversed(list(_remembered)):
        if name == file:
            yield text
    if file == "<string>" and (command := command_of(sys.orig_argv)) is not None:
        yield command
    if file == "<stdin>" and (program := _standard_input()) is not None:
        yield program


def command_of(arguments: Sequence[str]) -> str | None:
    """The program in ``python -c program …``: options as Python itself reads them (Python/getopt.c)."""
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        option = rest.pop(0)
        if option.startswith("--"):
            # The only long option with an argument of its own.
            if option == "--check-hash-based-pycs":
                del rest[:1]
            continue
        letters = option[1:]
        for index, letter in enumerate(letters, 1):
            if letter not in "cmWX":
                continue
            value = letters[index:] or (rest.pop(0) if rest else "")
            if letter in "cm":
                return value + "\n" if letter == "c" else None
            break
    return None


def _standard_input() -> str | None:
    """The file that standard input is, from its start; None for a pipe or a terminal."""
    try:
        status = os.fstat(0)
        if not stat.S_ISREG(status.st_mode):
            return None
        # At a place of its own, so that nobody's reading is moved on.
        return importlib.util.decode_source(os.pread(0, status.st_size, 0))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def _is_terminal() -> bool:
    try:
        return os.isatty(0)
    except OSError:
        return False


def _defines(text: str, file: str, code: CodeType) -> bool:
    """Whether the text contains the definition of exactly this code."""
    try:
        compiled = compile(text, file, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    open_ = [compiled]
    while open_:
        constants = [c for c in open_.pop().co_consts if isinstance(c, CodeType)]
        if code in constants:
            return True
        open_ += constants
    return False


_remembered: OrderedDict[tuple[str, str], None] = OrderedDict()
_characters = 0


def _remember(source: object, file: object) -> None:
    global _characters
    if isinstance(source, bytes):
        source = source.decode()
    if not isinstance(source, str) or not isinstance(file, str) or "def " not in source:
        return
    if len(source) > _REMEMBERED_CHARACTERS or (file[:1] != "<" and os.path.exists(file)):
        return
    if (file, source) in _remembered:
        _remembered.move_to_end((file, source))
        return
    _remembered[file, source] = None
    _characters += len(source)
    while _characters > _REMEMBERED_CHARACTERS:
        (_, oldest), _ = _remembered.popitem(last=False)
        _characters -= len(oldest)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "compile":
        try:
            _remember(*arguments)
        except Exception:  # An exception here would stop the user's program.
            return


sys.addaudithook(_audit)
