"""A function's source: text, syntax tree, and places in it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from girih.errors import CompileError, Place


class Source:
    """Source of one Python function: its tree, and true places in the user's file.

    Raises CompileError where Python keeps no source (a pipe, a frozen module).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self.file = function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise CompileError(
                f"the source of kernel '{self.name}' cannot be read: Python keeps no source for {self.file}",
                help="put the kernel into a file or a notebook cell",
            ) from None
        self.first_line = first
        self._lines = lines
        # An indented function stands in an `if`: its text need not be dedented, which comments and
        # strings that begin in column 0 would prevent.
        indented = lines[0][:1].isspace()
        try:
            tree = ast.parse("if 1:\n" * indented + "".join(lines))
        except SyntaxError:
            raise CompileError(
                f"the source of kernel '{self.name}' is not a function any more: {self.file} has changed "
                "since it was loaded",
                Place(self.file, first, 0, text=lines[0], function=self.name),
            ) from None
        ast.increment_lineno(tree, -int(indented))
        outer: Any = tree.body[0]
        definition = outer.body[0] if indented else outer
        if isinstance(definition, ast.FunctionDef) and definition.name != self.name:
            raise CompileError(
                f"another function stands where '{self.name}' was: {self.file} has changed since it was "
                "loaded",
                Place(self.file, first, 0, text=lines[0], function=self.name),
                help="load it again",
            )
        if not isinstance(definition, ast.FunctionDef):
            raise CompileError(
                f"'{self.name}' is not a plain function",
                Place(self.file, first, 0, text=lines[0], function=self.name),
                expected="a function defined with def",
            )
        self.definition = definition

    def is_same(self, other: Source) -> bool:
        """Whether both are the source of the same function."""
        return (self.file, self.first_line) == (other.file, other.first_line)

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
