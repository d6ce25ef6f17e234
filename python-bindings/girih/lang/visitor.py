"""Walks a kernel's syntax tree: constants are computed, the rest is emitted."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType
from girih.lang import elementwise, scalars
from girih.lang.builder import Block, symbol
from girih.lang.builtin import Builtin, call_checked
from girih.lang.context import Context, Role, RoleSpec
from girih.lang.function import DeviceFunction
from girih.lang.hostplan import HostExpression, host_binary
from girih.lang.lambdas import Lambda
from girih.lang.loops import Outcome, emit_if, emit_while
from girih.lang.passed import as_constant
from girih.lang.places import Place
from girih.lang.rings import OutSlot, Slot
from girih.lang.tilemath import absolute, choose
from girih.lang.values import Elements, Scalar, Tile, Value, visible_names

if TYPE_CHECKING:
    from girih.lang.team import Team

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
# Python's own functions that kernels may call on constants.
_PYTHON_FUNCTIONS = {
    "min": min,
    "max": max,
    "abs": abs,
    "len": len,
    "int": int,
    "float": float,
    "bool": bool,
    "divmod": divmod,
    "round": round,
}
_CONSTANTS = (int, float, str, bool, type(None), DType, range)
_TILE_CONDITION = (
    "& | ~ combine conditions of tiles, gr.where chooses by them, gr.max(c) tells whether any holds"
)
_STATEMENTS = "assignments, for, while, if, with, role functions, calls, pass"


def is_constant(value: object) -> bool:
    """Whether a Python object may be captured by a kernel as a constant."""
    if isinstance(value, tuple):
        return all(is_constant(item) for item in value)
    if isinstance(value, BuiltinFunctionType):
        return value.__module__ == "math"
    # By identity: an array's == is an array.
    return isinstance(value, (*_CONSTANTS, Builtin, ModuleType, DeviceFunction)) or any(
        value is function for function in _PYTHON_FUNCTIONS.values()
    )


class Visitor:
    """Emits one function. ``names`` maps what the user calls things to constants and values."""

    def __init__(self, cx: Context, outer: Callable[[str], Any]) -> None:
        self.cx = cx
        self.names: dict[str, Any] = {}
        self.outer = outer
        self.result: Any = None
        self._device_depth = 0
        self.inner_names: set[str] = set()  # names that some loop or branch gave a value first
        self.rehearsing = False  # whether what is emitted is thrown away
        # What rehearsals told of the loops and branches inside the one being rehearsed or emitted (``girih.lang.loops``).
        self.outcomes: list[Outcome] = []
        self.foreseen: Iterator[Outcome] | None = None
        self._return_depth: int | None = None
        self.team: Team | None = None  # the call of a @wg.function that is being emitted
        # Which function's names these are, and those of the functions that called it.
        self.scope = object()
        self._callers: list[tuple[object, dict[str, Any], Callable[[str], Any]]] = []
        cx.visitor = self

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """What is emitted meanwhile is thrown away."""
        outer, self.rehearsing = self.rehearsing, True
        yield
        self.rehearsing = outer

    @property
    def device_depth(self) -> int:
        """How many loops and branches on the device are around what is emitted now."""
        return self._device_depth

    @property
    def in_device_control_flow(self) -> bool:
        """Whether what is emitted now may run any number of times."""
        return self._device_depth > 0

    @contextmanager
    def device_control_flow(self) -> Iterator[None]:
        """What is emitted meanwhile may run any number of times."""
        self._device_depth += 1
        yield
        self._device_depth -= 1

    @contextmanager
    def function_scope(self, names: dict[str, Any], outer: Callable[[str], Any]) -> Iterator[None]:
        """A helper's own names meanwhile; rings that it moved stay moved."""
        saved = self.names, self.outer, self._return_depth, self.scope
        result = self.result
        hidden = {name: value for name, value in self.names.items() if name.startswith("%")}
        self.names, self.outer, self._return_depth = {**hidden, **names}, outer, self._device_depth
        self.result = None
        self._callers.append((self.scope, saved[0], saved[1]))
        self.scope = object()
        yield
        self._callers.pop()
        moved = {name: value for name, value in self.names.items() if name.startswith("%")}
        self.names, self.outer, self._return_depth, self.scope = saved
        self.result = result
        self.names.update(moved)

    @contextmanager
    def scope_of(self, scope: object, arguments: dict[str, Any]) -> Iterator[None]:
        """The names of a function that is being executed, with ``arguments`` on top: for its lambdas."""
        names, outer = self.names, self.outer
        for other, caller_names, caller_outer in reversed(self._callers):
            if self.scope is not scope and other is scope:
                self.names, self.outer = caller_names, caller_outer
        current, self.scope = self.scope, scope
        self.names = {**self.names, **arguments}
        yield
        moved = {name: value for name, value in self.names.items() if name.startswith("%")}
        self.names, self.outer, self.scope = names, outer, current
        self.names.update(moved)

    # Names.

    def lookup(self, name: str) -> Any:
        """What ``name`` stands for, or the user's error."""
        if name in self.names:
            return self.names[name]
        try:
            value = self.outer(name)
        except KeyError:
            if name in _PYTHON_FUNCTIONS:
                return _PYTHON_FUNCTIONS[name]
            if name == "range":
                self.cx.fail(
                    "'range' does not say whether the loop is unrolled",
                    expected="gr.range (a loop on the device) or gr.static_range (unrolled)",
                )
            self.cx.fail(
                f"'{name}' is not defined",
                expected="a parameter, a name assigned before, or a Python constant outside the kernel",
                help="it has a value in a loop or in one branch only: give it one before"
                if name in self.inner_names
                else None,
            )
        if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
            return as_constant(value)
        if not is_constant(value):
            self.cx.fail(
                f"'{name}' is not a constant: kernels capture constants only",
                expected="a number, string, tuple of them, dtype, module or @girih.function",
                found=self.cx.describe(value),
                help="pass it as a parameter, or compute a constant from it outside the kernel",
            )
        return value

    def lookup_carried(self, name: str) -> Any:
        """The current value of a name that a loop carries; a ring's hidden cursor starts at its role's entry."""
        if name in self.names:
            return self.names[name]
        return self.cx.current_role().cursors[name][1]

    @staticmethod
    def new_cursors(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        """Hidden cursors that a body moved for the first time."""
        return [name for name in after if name.startswith("%") and name not in before]

    def bind(self, target: ast.expr, value: Any) -> None:
        """``target = value`` for names and (nested) tuples of names."""
        with self.cx.at(target):
            if isinstance(target, ast.Name):
                self.names[target.id] = value
            elif isinstance(target, ast.Subscript):
                self.assign_item(target, value)
            elif isinstance(target, (ast.Tuple, ast.List)):
                if not isinstance(value, tuple) or len(value) != len(target.elts):
                    self.cx.fail(
                        "cannot unpack into these names",
                        expected=f"{len(target.elts)} values",
                        found=f"{len(value)} values"
                        if isinstance(value, tuple)
                        else self.cx.describe(value),
                    )
                for part, item in zip(target.elts, value, strict=True):
                    self.bind(part, item)
            else:
                self.cx.fail(
                    "only names and tiles of arrays can be assigned",
                    expected="name = value, a, b = values, or C[i, j] = tile",
                    found=ast.unparse(target),
                )

    def assign_item(self, target: ast.Subscript, value: Any) -> None:
        """``C[i, j] = value``."""
        owner, index = self.evaluate(target.value), self.index(target.slice)
        if not hasattr(owner, "set_item"):
            self.cx.fail(
                "this cannot be assigned to",
                expected="tiles of an array, or elements of one",
                found=self.cx.describe(owner),
            )
        owner.set_item(self.cx, index, value)

    def loaded(self, value: Any) -> Any:
        """What a name is to hold: at tile level a place in memory is loaded where it gets a name."""
        if isinstance(value, tuple):
            return tuple(self.loaded(item) for item in value)
        if isinstance(value, Place) and self.cx.role is None:
            return value.get(self.cx)
        return value

    # Statements.

    def body(self, statements: list[ast.stmt]) -> None:
        """Emits statements in order."""
        for statement in statements:
            with self.cx.at(statement):
                self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Emits one statement."""
        handler = _handler("visit_", type(node))
        if handler is None:
            self.cx.fail(
                f"'{ast.unparse(node).splitlines()[0]}' is not supported in a kernel",
                expected=_STATEMENTS,
                found=f"a {type(node).__name__} statement",
            )
        handler(self, node)

    def visit_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call for its effect, or a docstring."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        value = self.evaluate(node.value)
        if isinstance(value, Tile) and value.pending:
            self.cx.fail(
                "the pending tile is thrown away",
                expected="acc = wg.mma(...): the result holds the sum",
                found="a call whose result is not used",
            )

    def visit_Assign(self, node: ast.Assign) -> None:
        """``a = value``."""
        self.cx.naming = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        value = self.evaluate(node.value)
        if not all(isinstance(target, ast.Subscript) for target in node.targets):
            value = self.loaded(value)
        for target in node.targets:
            self.bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``a: T = value``; the annotation is for readers."""
        if node.value is not None:
            self.bind(node.target, self.loaded(self.evaluate(node.value)))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """``a += value``, ``C[i, j] += value``."""
        if isinstance(node.target, ast.Subscript):
            owner, index = self.evaluate(node.target.value), self.index(node.target.slice)
            if not hasattr(owner, "set_item"):
                self.cx.fail("this cannot be assigned to", found=self.cx.describe(owner))
            before = owner.item(self.cx, index)
            owner.set_item(self.cx, index, self.binary(node.op, before, self.evaluate(node.value)))
            return
        if not isinstance(node.target, ast.Name):
            self.cx.fail("only names can be assigned", found=ast.unparse(node.target))
        self.bind(
            node.target,
            self.binary(node.op, self.lookup(node.target.id), self.evaluate(node.value)),
        )

    def visit_For(self, node: ast.For) -> None:
        """A loop over a range, work, a ring (on the device) or constants (unrolled)."""
        if node.orelse:
            self.cx.fail(
                "'for … else' is not supported in a kernel", expected="a for loop without else"
            )
        with self.cx.at(node.iter):
            iterable = self.evaluate(node.iter)

        def bind(value: Any) -> None:
            self.bind(node.target, value)

        if hasattr(iterable, "emit_loop"):
            head = ast.copy_location(ast.Pass(), node)
            head.end_lineno, head.end_col_offset = node.iter.end_lineno, node.iter.end_col_offset
            with self.cx.at(head):
                iterable.emit_loop(self, bind, lambda: self.body(node.body))
        elif hasattr(iterable, "static_items"):
            for item in iterable.static_items(self.cx):
                bind(item())
                self.body(node.body)
        elif isinstance(iterable, (range, tuple)):
            for value in iterable:
                bind(value)
                self.body(node.body)
        else:
            with self.cx.at(node.iter):
                self.cx.fail(
                    "this cannot be looped over in a kernel",
                    expected="gr.range, gr.static_range, gr.tiles, ring.fill, ring.drain, tile.chunks or a tuple",
                    found=self.cx.describe(iterable),
                )

    def visit_If(self, node: ast.If) -> None:
        """A branch: decided now where the condition is constant, else on the device."""
        condition = self.condition(node.test)
        if isinstance(condition, Scalar):
            emit_if(self, condition, lambda: self.body(node.body), lambda: self.body(node.orelse))
        else:
            self.body(node.body if condition else node.orelse)

    def condition(self, node: ast.expr) -> Any:
        """What decides a branch or a loop: a constant, or a b1 scalar."""
        value = self.operand_of_bool(node)
        return scalars.truth(self.cx, value) if isinstance(value, Scalar) else value

    def visit_While(self, node: ast.While) -> None:
        """A loop on the device that goes on while a condition holds."""
        if node.orelse:
            self.cx.fail(
                "'while … else' is not supported in a kernel", expected="a while loop without else"
            )
        with self.cx.at(node.test):
            emit_while(self, lambda: self.condition(node.test), lambda: self.body(node.body))

    def visit_With(self, node: ast.With) -> None:
        """``with outbox.slot() as o:``."""
        entered = []
        for item in node.items:
            with self.cx.at(item.context_expr):
                manager = self.evaluate(item.context_expr)
                if not isinstance(manager, OutSlot):
                    self.cx.fail(
                        "this cannot be used with 'with'",
                        expected="outbox.slot()",
                        found=self.cx.describe(manager),
                    )
                value = manager.enter(self.cx)
                entered.append((item, manager))
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.body(node.body)
        for item, manager in reversed(entered):
            with self.cx.at(item.context_expr):
                manager.leave(self.cx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A role: a function under ``@wg.role(...)``."""
        specs = []
        for decorator in node.decorator_list:
            with self.cx.at(decorator):
                spec = self.evaluate(decorator)
                if not isinstance(spec, RoleSpec):
                    self.cx.fail(
                        "only wg.role decorates functions in a kernel",
                        expected="@wg.role(...)",
                        found=self.cx.describe(spec),
                    )
                specs.append(spec)
        if len(specs) != 1:
            self.cx.fail(
                "a function inside a kernel is a role",
                expected="one decorator @wg.role(...)",
                found=f"{len(specs)} of them",
            )
        if ast.unparse(node.args):
            self.cx.fail(
                "a role takes no parameters",
                expected=f"def {node.name}():",
                found=ast.unparse(node.args),
            )
        depth = self.team.depth if self.team is not None else 0
        if self.cx.role is not None or self._device_depth != depth:
            self.cx.fail("roles stand at the top level of a kernel, or of a @wg.function")
        if self.team is not None:
            self.team.emit_role(self, node, specs[0])
            return
        if self.cx.tile_code is not None:
            self.cx.fail(
                "a kernel either has roles or is at tile level",
                expected="everything that is executed inside roles",
                found=f"code at tile level in line {self.cx.tile_code.line}",
            )
        self.emit_role(node, specs[0], self.cx.specialize)

    @staticmethod
    def role_head(node: ast.FunctionDef, spec: RoleSpec) -> str:
        """A role as wg.role names it."""
        size = f"warps({spec.warps})" if spec.warps else f"warpgroups({spec.warpgroups})"
        each = " each" if spec.each else ""
        registers = f" registers({spec.registers})" if spec.registers is not None else ""
        return f"@{symbol(node.name)} {size}{each}{registers}"

    def emit_role(
        self,
        node: ast.FunctionDef,
        spec: RoleSpec,
        block: Block,
        end: Callable[[Role], None] | None = None,
    ) -> None:
        """Emits the role's region into ``block``: that of the one wg.specialize at the end of the kernel, or, with an
        ``end`` of its own, that of a team."""
        cx = self.cx
        builder = cx.builder
        outer, builder.block = builder.block, block
        saved = dict(self.names)
        with builder.region(f"wg.role {self.role_head(node, spec)}"):
            together = 1 if spec.each else spec.warpgroups
            cx.role = Role(node.name, spec.warps, together, spec.warpgroups, builder.nested())
            if end is None:
                cx.roles.append(cx.role)
            else:
                self._return_depth, self.result = self._device_depth, None
            self.body(node.body)
            pending = [
                name
                for name, value in self.names.items()
                if isinstance(value, Tile) and value.unfinished
            ]
            if pending:
                cx.fail(
                    f"'{pending[0]}' is still pending at the end of role '{node.name}'",
                    help=f"wg.wait({pending[0]}) before the end",
                )
            if end is not None:
                end(cx.role)
            cx.role = None
        builder.block = outer
        self.names = saved

    def visit_Return(self, node: ast.Return) -> None:
        """The value of a helper function."""
        if self.team is not None and self.cx.role is None:
            self.cx.fail(
                "a @wg.function gives what one of its roles returns",
                expected="a return at the end of a function under @wg.role(…)",
            )
        if self._return_depth is None:
            self.cx.fail("a kernel returns nothing", expected="results in arrays of gr.Out")
        if self._device_depth > self._return_depth:
            self.cx.fail(
                "a helper cannot return from inside a loop or branch on the device",
                expected="one return at its end",
            )
        self.result = self.evaluate(node.value) if node.value is not None else None

    # Expressions.

    def evaluate(self, node: ast.expr) -> Any:
        """The constant or value of an expression."""
        kind = type(node)
        if kind is ast.Constant:
            return node.value  # type: ignore[attr-defined]
        if kind is ast.Name and (name := node.id) in self.names:  # type: ignore[attr-defined]
            return self.names[name]
        with self.cx.at(node):
            handler = _handler("eval_", kind)
            if handler is None:
                self.cx.fail(
                    f"'{ast.unparse(node)}' is not supported in a kernel",
                    found=f"a {kind.__name__} expression",
                )
            return handler(self, node)

    def eval_Name(self, node: ast.Name) -> Any:
        """A name from outside."""
        return self.lookup(node.id)

    def eval_Tuple(self, node: ast.Tuple) -> Any:
        """A tuple."""
        return tuple(self.evaluate(item) for item in node.elts)

    def eval_JoinedStr(self, node: ast.JoinedStr) -> str:
        """An f-string of constants, for messages."""
        parts = []
        for part in node.values:
            value = self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part)
            if isinstance(value, Value):
                self.cx.fail("a text in a kernel is made of constants", found=value.describe())
            if isinstance(part, ast.FormattedValue):
                convert = {ord("r"): repr, ord("s"): str, ord("a"): ascii}.get(part.conversion)
                value = convert(value) if convert else value
                spec = self.evaluate(part.format_spec) if part.format_spec else ""
                value = self.constant_operation(format, value, spec)
            parts.append(str(value))
        return "".join(parts)

    def eval_Attribute(self, node: ast.Attribute) -> Any:
        """``value.name``: of a module, a dtype, or what a value shows to kernels."""
        owner = self.evaluate(node.value)
        if isinstance(owner, Slot):
            return owner.field(self.cx, node.attr)
        if isinstance(owner, Place) and node.attr not in visible_names(owner):
            owner = owner.read(self.cx) if node.attr in visible_names(Tile) else owner
        if isinstance(owner, Value):
            member = getattr(type(owner), node.attr, None)
            role = getattr(member, "girih_role", None)
            if role == "attribute":
                return member(owner, self.cx)
            if role == "method":
                return lambda cx, *args, **kwargs: call_checked(
                    cx, node.attr, member.__get__(owner), args, kwargs
                )
            names = visible_names(owner)
            if isinstance(owner, Place):
                names = tuple(sorted({*names, *visible_names(Tile)}))
            self.cx.fail(
                f"{owner.describe()} has no '{node.attr}'",
                expected=", ".join(names) if names else "no attribute at all",
                found=node.attr,
            )
        try:
            value = getattr(owner, node.attr)
        except AttributeError:
            self.cx.fail(f"{self.cx.describe(owner)} has no '{node.attr}'")
        if isinstance(owner, DType):
            return value
        if not is_constant(value):
            self.cx.fail(
                f"'{ast.unparse(node)}' is not a constant: kernels capture constants only",
                expected="a number, string, tuple of them, dtype, module or @girih.function",
                found=self.cx.describe(value),
            )
        return value

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        """``tiles[i, j]`` or an element of a tuple."""
        owner, index = self.evaluate(node.value), self.index(node.slice)
        if isinstance(owner, Value) and hasattr(owner, "item"):
            return owner.item(self.cx, index)
        if isinstance(owner, (tuple, str)) and isinstance(index, slice):
            return self.constant_operation(operator.getitem, owner, index)
        if isinstance(owner, (tuple, range, str)) and isinstance(index, int):
            try:
                return owner[index]
            except IndexError:
                self.cx.fail(
                    "the index is out of range",
                    expected=f"an index below {len(owner)}",
                    found=str(index),
                )
        self.cx.fail(
            "this cannot be indexed",
            expected="tiles[i, j] or a tuple with a constant",
            found=self.cx.describe(owner),
        )

    def index(self, node: ast.expr) -> Any:
        """What stands in brackets: values, slices of values, None, tuples of these."""
        if isinstance(node, ast.Tuple):
            return tuple(self.index(item) for item in node.elts)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.evaluate(part) for part in parts))
        return self.evaluate(node)

    def eval_Lambda(self, node: ast.Lambda) -> Any:
        """A function to be called in this kernel."""
        return Lambda(node, self.scope)

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``-x``, ``not x``, ``~x``, ``+x``."""
        value = self.evaluate(node.operand)
        if isinstance(value, (Elements, Place)):
            if isinstance(node.op, ast.USub):
                return elementwise.negate(self.cx, value.read(self.cx))
            if isinstance(node.op, ast.Invert):
                return elementwise.invert(self.cx, value.read(self.cx))
            if isinstance(node.op, ast.UAdd):
                return value.read(self.cx)
            if isinstance(value, Scalar):
                return elementwise.invert(self.cx, scalars.truth(self.cx, value))
            self.cx.fail("'not' decides about one number", found=value.describe(), help="~x")
        elif not isinstance(value, Value):
            simple = {
                ast.USub: operator.neg,
                ast.UAdd: operator.pos,
                ast.Not: operator.not_,
                ast.Invert: operator.invert,
            }
            return self.constant_operation(simple[type(node.op)], value)
        self.cx.fail("this operator does not apply", found=self.cx.describe(value))

    def eval_BinOp(self, node: ast.BinOp) -> Any:
        """``a + b`` and the like."""
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        """An operator on two evaluated operands."""
        on_host = isinstance(left, HostExpression) or isinstance(right, HostExpression)
        if on_host and not any(isinstance(side, (Tile, Place)) for side in (left, right)):
            return host_binary(self.cx, op, left, right)
        if isinstance(left, (Elements, Place)) or isinstance(right, (Elements, Place)):
            return elementwise.binary(self.cx, op, left, right)
        for side in (left, right):
            if isinstance(side, Value):
                self.cx.fail(
                    f"'{elementwise.operator_symbol(op)}' does not work on {side.describe()}"
                )
        if type(op) not in _BINARY:
            self.cx.fail(f"'{elementwise.operator_symbol(op)}' does not work on constants")
        return self.constant_operation(_BINARY[type(op)], left, right)

    def constant_operation(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Python's own arithmetic on constants, with Python's own complaint."""
        try:
            return function(*operands)
        except Exception as error:
            self.cx.fail(f"{type(error).__name__}: {error}")

    def eval_BoolOp(self, node: ast.BoolOp) -> Any:
        """``a and b``: Python's rule on constants; on the device both sides are evaluated, to a b1."""
        is_and = isinstance(node.op, ast.And)
        result = self.operand_of_bool(node.values[0])
        for part in node.values[1:]:
            if not isinstance(result, Scalar) and bool(result) != is_and:
                return result
            value = self.operand_of_bool(part)
            if isinstance(result, Scalar) or isinstance(value, Scalar):
                result = elementwise.binary(
                    self.cx,
                    ast.BitAnd() if is_and else ast.BitOr(),
                    scalars.truth(self.cx, result),
                    scalars.truth(self.cx, value),
                )
            else:
                result = value
        return result

    def operand_of_bool(self, node: ast.expr) -> Any:
        """One side of ``and`` or ``or``: a constant or a scalar."""
        value = self.evaluate(node)
        if isinstance(value, Value) and not isinstance(value, Scalar):
            with self.cx.at(node):
                self.cx.fail(
                    "this cannot be a condition",
                    expected="a constant or a scalar",
                    found=value.describe(),
                    help=_TILE_CONDITION if isinstance(value, (Tile, Place)) else None,
                )
        return value

    def eval_Compare(self, node: ast.Compare) -> Any:
        """``a < b < c``."""
        result: Any = True
        left = self.evaluate(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator)
            if isinstance(op, (ast.Is, ast.IsNot)) and (left is None or right is None):
                step: Any = _COMPARE[type(op)](left, right)
            elif isinstance(left, (Elements, Place)) or isinstance(right, (Elements, Place)):
                step = elementwise.compare(self.cx, op, left, right)
            elif isinstance(left, Value) or isinstance(right, Value):
                self.cx.fail(
                    "this cannot be compared",
                    found=f"{self.cx.describe(left)} and {self.cx.describe(right)}",
                )
            else:
                step = self.constant_operation(_COMPARE[type(op)], left, right)
            if isinstance(step, Elements) and isinstance(result, Elements):
                result = elementwise.binary(self.cx, ast.BitAnd(), result, step)
            elif result is True or isinstance(step, Elements):
                result = step
            if not isinstance(step, Elements) and not step:
                return False
            left = right
        return result

    def eval_IfExp(self, node: ast.IfExp) -> Any:
        """``a if c else b``."""
        condition = self.condition(node.test)
        if isinstance(condition, Scalar):
            return choose(self.cx, condition, self.evaluate(node.body), self.evaluate(node.orelse))
        return self.evaluate(node.body if condition else node.orelse)

    def eval_Call(self, node: ast.Call) -> Any:
        """A call of a builtin, a method, a helper, or Python's own function on constants."""
        function = self.evaluate(node.func)
        args: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                items = self.evaluate(argument.value)
                if not isinstance(items, (tuple, range)):
                    with self.cx.at(argument):
                        self.cx.fail(
                            "'*' spreads a tuple", expected="a tuple", found=self.cx.describe(items)
                        )
                args += items
            else:
                args.append(self.evaluate(argument))
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.cx.fail("'**' is not supported in a kernel's calls")
            kwargs[keyword.arg] = self.evaluate(keyword.value)
        if isinstance(node.func, ast.Attribute) and isinstance(function, FunctionType):
            return function(self.cx, *args, **kwargs)  # a method of a value
        return self.call(function, args, kwargs)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Emits a call of what a kernel can call."""
        if isinstance(function, Builtin):
            return function.call(self.cx, args, kwargs)
        if isinstance(function, (DeviceFunction, Lambda)):
            return function.inline(self, args, kwargs)
        if any(function is known for known in _PYTHON_FUNCTIONS.values()):
            return self.call_python(function, args, kwargs)
        if isinstance(function, BuiltinFunctionType) and function.__module__ == "math":
            for arg in args:
                if isinstance(arg, Value):
                    self.cx.fail(
                        f"math.{function.__name__}() works on constants",
                        expected="a constant",
                        found=arg.describe(),
                        help=f"gr.{function.__name__}(x)",
                    )
            return self.constant_operation(function, *args, **kwargs)
        self.cx.fail(
            "this cannot be called in a kernel",
            expected="a function of girih, a @girih.function, a lambda, or min, max, abs, len on constants",
            found=self.cx.describe(function),
        )

    def call_python(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Python's own functions: on constants, some on numbers of the device."""
        if function in (min, max) and any(isinstance(arg, Value) for arg in args):
            return scalars.minmax(self.cx, function.__name__, args)
        if function is abs and args and isinstance(args[0], Value):
            return absolute(self.cx, *args)
        for arg in args:
            if isinstance(arg, Value):
                self.cx.fail(
                    f"{function.__name__}() works on constants here",
                    found=arg.describe(),
                    help="x.to(gr.i32) or x.to(gr.f32) converts"
                    if function in (int, float)
                    else None,
                )
        return self.constant_operation(function, *args, **kwargs)


_HANDLERS: dict[type[ast.AST], Any] = {}


def _handler(prefix: str, kind: type[ast.AST]) -> Any:
    """The visitor's function for a kind of node, None if there is none."""
    if kind not in _HANDLERS:
        _HANDLERS[kind] = getattr(Visitor, prefix + kind.__name__, None)
    return _HANDLERS[kind]
