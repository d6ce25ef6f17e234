"""Functions that the caller of a kernel passes as constants: plain functions and lambdas, inlined where they
are called."""

from __future__ import annotations

import ast
import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

from girih.errors import CompileError, Place
from girih.lang.function import DeviceFunction, outer_names
from girih.lang.lambdas import bind_lambda
from girih.lang.source import Definition, Source

if TYPE_CHECKING:
    from girih.lang.visitor import Visitor


class LambdaDefinition(Definition):
    """A lambda as its author wrote it: its node in the tree of the whole text."""

    @property
    def name(self) -> str:
        """What dumps and messages call it."""
        return "lambda"

    def _parse(self) -> tuple[Any, Any]:
        lines, code = self._lines(), self.function.__code__
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            raise self._changed("the source of a lambda cannot be read", "") from None
        found = [
            node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and _is(node, code)
        ]
        if len(found) != 1:
            raise CompileError(
                "the source of a lambda cannot be told from others",
                Place(self.file, self.first_line, 0, function=self.name),
                expected="one lambda at its place in the file",
                found=f"{len(found)} of them",
                help="define it with def",
            )
        # As for other functions, lines count from where it begins.
        ast.increment_lineno(found[0], 1 - self.first_line)
        return lines[self.first_line - 1 :][: found[0].end_lineno], found[0]


def _is(node: ast.Lambda, code: Any) -> bool:
    """Whether ``code`` was compiled from ``node``: its instructions lie within the body."""
    if node.lineno != code.co_firstlineno:
        return False
    parameters = [p.arg for p in (*node.args.posonlyargs, *node.args.args)]
    if list(code.co_varnames[: code.co_argcount]) != parameters:
        return False
    body = node.body
    start = (body.lineno, body.col_offset)
    end = (body.end_lineno or body.lineno, body.end_col_offset or body.col_offset)
    places = [p for p in code.co_positions() if None not in p and p[3] > 0]
    spans = [((line, column), (last, stop)) for line, last, column, stop in places]
    return any(span == (start, end) for span in spans)


class PassedFunction(DeviceFunction):
    """A plain function or lambda. Two are equal if they have the same code and closures: a lambda that is made
    anew for each call does not compile anew."""

    def __init__(self, function: FunctionType) -> None:
        # Made for each call: its text is read when a kernel is compiled with it.
        self.function = function
        self._outer = outer_names(function)
        self.__name__ = function.__name__

    @functools.cached_property
    def definition(self) -> Definition:  # type: ignore[override]
        """The text that it was defined in."""
        kind = LambdaDefinition if self.function.__name__ == "<lambda>" else Definition
        return kind(self.function)

    def _identity(self) -> tuple[Any, ...]:
        function: Any = self.function
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        closure = tuple((type(item), item if _is_hashable(item) else id(item)) for item in cells)
        return function.__code__, closure, function.__defaults__, id(function.__globals__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PassedFunction) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity()[0])

    def inline(self, visitor: Visitor, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not isinstance(self.definition, LambdaDefinition):
            return super().inline(visitor, args, kwargs)
        cx = visitor.cx
        source = Source(self.definition)
        node: Any = source.definition
        function: Any = self.function
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        defaults = function.__defaults__ or ()
        bound = bind_lambda(
            cx, node, args, kwargs, dict(zip(names[::-1], defaults[::-1], strict=False))
        )
        cx.enter_source(source, node)
        with visitor.function_scope(bound, self._outer):
            result = visitor.evaluate(node.body)
        cx.leave_source()
        return result


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def as_constant(value: object) -> object:
    """A constant as kernels see it: a plain function becomes one that they can call."""
    if isinstance(value, tuple):
        return tuple(as_constant(item) for item in value)
    return PassedFunction(value) if isinstance(value, FunctionType) else value
