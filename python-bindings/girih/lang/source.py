"""A function's source: text, syntax tree, and places in it."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from girih.errors import CompileError, Place
from girih.lang.sourcetext import NoText, text_of


class Definition:
    """A function as its author defined it: the text is that of this moment, whatever the file says later.

    Wrappers that decorators below ours put around it are taken off (``__wrapped__``). ``hints`` are those that its
    decorator says.
    """

    def __init__(
        self, function: Callable[..., Any], hints: dict[str, object] | None = None
    ) -> None:
        self.hints = hints or {}
        self.function: FunctionType = inspect.unwrap(function)  # type: ignore[assignment]
        self._text = text_of(self.function)
        self._parsed: tuple[Sequence[str], ast.FunctionDef] | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def file(self) -> str:
        """What users call the file or cell."""
        if isinstance(self._text, NoText):
            return self.function.__code__.co_filename
        return self._text.name

    @property
    def first_line(self) -> int:
        """The line of the first decorator."""
        return self.function.__code__.co_firstlineno

    def body_text(self) -> str:
        """The function's lines, found without parsing, so that it costs microseconds. Raises CompileError."""
        lines = self._lines()[self.first_line - 1 :]
        last = _last_line(self.function.__code__) - self.first_line + 1
        if self.function.__name__ != "<lambda>" and lines:
            last = _end_of_block(lines, last)
        return "\n".join(line.rstrip() for line in lines[:last])

    def parsed(self) -> tuple[Sequence[str], ast.FunctionDef]:
        """The function's lines and its tree, whose line numbers count from the function's first line.

        Raises CompileError where Python keeps no source, or where the text is not that function.
        """
        if self._parsed is None:
            self._parsed = self._parse()
        return self._parsed

    @functools.cached_property
    def early_return(self) -> ast.Return | None:
        """A return before the last statement of the body, if there is one."""
        return next(
            (
                inner
                for statement in self.parsed()[1].body[:-1]
                for inner in ast.walk(statement)
                if isinstance(inner, ast.Return)
            ),
            None,
        )

    def _parse(self) -> tuple[Sequence[str], ast.FunctionDef]:
        rest = self._lines()[self.first_line - 1 :]
        if not rest:
            raise self._changed(f"the source of '{self.name}' is gone", "")
        lines = inspect.getblock(rest)
        # An indented function stands in an `if`: its text need not be dedented, which comments and
        # strings that begin in column 0 would prevent.
        indented = lines[0][:1].isspace()
        try:
            tree = ast.parse("if 1:\n" * indented + "".join(lines))
        except SyntaxError:
            raise self._changed(
                f"the source of '{self.name}' is not a function any more", lines[0]
            ) from None
        ast.increment_lineno(tree, -int(indented))
        outer: Any = tree.body[0]
        definition = outer.body[0] if indented else outer
        if isinstance(definition, ast.FunctionDef) and definition.name != self.name:
            raise self._changed(f"another function stands where '{self.name}' was", lines[0])
        if not isinstance(definition, ast.FunctionDef):
            raise CompileError(
                f"'{self.name}' is not a plain function",
                self._start(lines[0]),
                expected="a function defined with def",
            )
        return lines, definition

    def _lines(self) -> Sequence[str]:
        if isinstance(self._text, NoText):
            raise CompileError(
                f"the source of '{self.name}' cannot be read: {self._text.reason}",
                help=self._text.help,
            )
        return self._text.lines

    def _start(self, text: str) -> Place:
        return Place(self.file, self.first_line, 0, text=text, function=self.name)

    def _changed(self, what: str, text: str) -> CompileError:
        return CompileError(
            f"{what}: {self.file} changed while it was loaded",
            self._start(text),
            help="load it again",
        )


def _last_line(code: CodeType) -> int:
    """The last line with an expression that runs."""
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    inner = [_last_line(item) for item in code.co_consts if isinstance(item, CodeType)]
    return max([*ends, *inner, code.co_firstlineno])


def _end_of_block(lines: Sequence[str], end: int) -> int:
    """Where the block of a function ends that goes on at least to ``end``: lines that do not run may follow."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    for number in range(end, len(lines)):
        line = lines[number]
        text = line.lstrip()
        if text and not text.startswith("#"):
            if len(line) - len(text) <= indent:
                break
            end = number + 1
    return end


class Source:
    """A definition in one compilation: places in its text under the name that the compilation gives it."""

    def __init__(self, definition: Definition) -> None:
        self.name = definition.name
        self.file = definition.file
        self.first_line = definition.first_line
        self._lines, self.definition = definition.parsed()

    def is_same(self, other: Source) -> bool:
        """Whether both are the source of the same function."""
        return (self.file, self.first_line, self._lines) == (
            other.file,
            other.first_line,
            other._lines,
        )

    def listing(self) -> str:
        """The function's text below a comment that says where it stands."""
        return f"# {self.file}:{self.first_line}\n{''.join(self._lines)}"

    def line(self, number: int) -> str | None:
        """The text of a line of the user's file, if it is one of the function's."""
        index = number - self.first_line
        return self._lines[index] if 0 <= index < len(self._lines) else None

    def place(self, node: ast.AST) -> Place:
        """The place of ``node`` in the user's file."""
        row = getattr(node, "lineno", 1)
        end = getattr(node, "end_col_offset", None)
        if getattr(node, "end_lineno", row) != row:
            end = None
        text = self._lines[row - 1] if row <= len(self._lines) else None
        # ast counts columns in UTF-8 bytes; carets count characters.
        return Place(
            self.file,
            self.first_line + row - 1,
            self._characters(text, getattr(node, "col_offset", 0)),
            self._characters(text, end)
            if end is not None
            else (len(text.rstrip()) if text else None),
            text,
            self.name,
        )

    @staticmethod
    def _characters(text: str | None, column: int) -> int:
        if text is None or text.isascii():
            return column
        return len(text.encode()[:column].decode(errors="ignore"))
