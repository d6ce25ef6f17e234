"""The state of one compilation: where code goes, what the kernel's parameters became, who is at work."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from girih.dtypes import DType
from girih.errors import CompileError, Place
from girih.lang import layouts
from girih.lang.builder import Block, Builder, quoted, symbol
from girih.lang.constants import literal
from girih.lang.hostplan import HostPlan
from girih.lang.source import Source
from girih.lang.values import Value

if TYPE_CHECKING:
    from girih.lang.arrays import ArrayParameter
    from girih.lang.visitor import Visitor


@dataclass(frozen=True)
class RoleSpec:
    """What ``wg.role(...)`` says about the function below it."""

    warps: int
    warpgroups: int
    registers: int | None
    each: bool = False


@dataclass
class Role:
    """Who executes the code being emitted: ``warpgroups`` are those that share its tiles, one in a role whose
    warpgroups work each for itself; ``count`` is how many there are."""

    name: str
    warps: int
    warpgroups: int
    count: int
    entry: Block
    cursors: dict[str, Any] = field(default_factory=dict)
    owners: dict[str, Any] = field(default_factory=dict)  # the rings of the cursors


@dataclass(frozen=True)
class DeviceArgument:
    """One parameter of the device function and the host value that fills it."""

    name: str
    type: str
    host: str
    host_type: str


class Located:
    """Operations and errors belong to a node of the user's text while this is entered."""

    __slots__ = ("_cx", "_known", "_node", "_outer")

    def __init__(self, cx: Context, node: ast.AST) -> None:
        self._cx = cx
        self._node = node

    def __enter__(self) -> None:
        cx = self._cx
        frame = self._outer = cx._frames[-1]
        self._known, cx.builder.known = cx.builder.known, None
        cx._frames[-1] = (frame[0], self._node, frame[2])

    def __exit__(self, *_: object) -> None:
        self._cx._frames[-1] = self._outer
        self._cx.builder.known = self._known


class Context:
    """Everything that emission needs; one per compiled signature."""

    def __init__(self, source: Source) -> None:
        self.builder = Builder(depth=3, where=self.location)
        self.entry = self.builder.nested()
        self.specialize = Block(depth=4)
        self.visitor: Visitor
        self.plan = HostPlan(self)
        self.roles: list[Role] = []
        self.role: Role | None = None
        self.arrays: list[ArrayParameter] = []
        self.device_arguments: dict[str, DeviceArgument] = {}
        self.launch_grid: str | None = None
        self.cluster = 1  # CTAs of a cluster
        # Whether some accumulator holds nothing before its first product.
        self.needs_products = False
        # Where tiles are taken from a counter, and where a product is: not yet in one kernel.
        self.queue: Place | None = None
        self.product: Place | None = None
        self.hints: dict[str, int | str] = {}
        # Where hints and cluster were said, the place and its location; the latter is the launch without any.
        self.hints_place: Place | None = None
        self.hints_location = ""
        self.kernel_hints: dict[str, object] = {}  # those that @gr.kernel says
        self.decorators = source.definition.decorator_list
        # Whether all CTAs of a launch must be on the device at once.
        self.resident = False
        # Functions in CUDA C++ by symbol, and their declarations.
        self._device_functions: dict[str, tuple[object, str]] = {}
        self.tile_code: Place | None = None  # the first code at tile level
        self.team_roles: list[str] | None = (
            None  # of the wg functions that code at tile level calls
        )
        self._allocated: dict[tuple[str, str], str] = {}
        self.sources: dict[str, Source] = {}
        self.naming = ""  # what the user calls the value being computed
        self.layouts: dict[str, str] = {}
        self._hoisted: dict[str, str] = {}
        # Functions that call each other, outermost first: the source, where in it we are, and the alias of the
        # location of the call that led there.
        self._frames: list[tuple[Source, ast.AST, str]] = []
        self._located: dict[tuple[str, int, int, str], str] = {}
        self.enter_source(source, source.definition)

    def device_function(self, symbol: str, function: object, declare: Callable[[str], str]) -> str:
        """The symbol of a function in CUDA C++, which is declared once; others of its name get numbers."""
        name, count = symbol, 1
        while name in self._device_functions and self._device_functions[name][0] is not function:
            count += 1
            name = f"{symbol}_{count}"
        if name not in self._device_functions:
            self._device_functions[name] = function, declare(name)
        return name

    def device_declarations(self) -> list[str]:
        """The declarations of functions in CUDA C++."""
        return [text for _, text in self._device_functions.values()]

    # Where we are in the user's text.

    def enter_source(self, source: Source, node: ast.AST) -> None:
        """Continues in another function (a helper)."""
        # The image's location table knows functions by name: two helpers of one name are told apart.
        name, count = source.name, 1
        while not source.is_same(self.sources.setdefault(source.name, source)):
            count += 1
            source.name = f"{name}.{count}"
        caller = self.location() if self._frames else ""
        self._frames.append((source, node, caller))
        self.builder.known = None

    def leave_source(self) -> None:
        """Returns to the calling function."""
        self._frames.pop()
        self.builder.known = None

    def argument_text(self, number: int) -> str:
        """The user's text of an argument of the call being emitted."""
        node = self._frames[-1][1]
        if isinstance(node, ast.Call) and number < len(node.args):
            return ast.unparse(node.args[number])
        return "this"

    def depth(self) -> int:
        """How many functions are being emitted inside each other."""
        return len(self._frames)

    def at(self, node: ast.AST) -> Located:
        """``with cx.at(node)``: operations and errors belong to ``node`` meanwhile."""
        return Located(self, node)

    def location(self) -> str:
        """The alias of the current place's location, with the calls that led there."""
        source, node, caller = self._frames[-1]
        row, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        key = source.name, row, column, caller
        alias = self._located.get(key)
        if alias is None:
            here = source.place(node)
            text = f"{quoted(here.function)}({quoted(here.file)}:{here.line}:{here.column + 1})"
            if caller:
                text = f"callsite({text} at {caller})"
            alias = self._located[key] = self.builder.location_alias(text)
        return alias

    def places(self) -> tuple[Place, ...]:
        """The current place and the calls that led there, innermost first."""
        return tuple(source.place(node) for source, node, _ in reversed(self._frames))

    def fail(
        self,
        message: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        help: str | None = None,
    ) -> NoReturn:
        """Stops with the user's mistake at the current place."""
        here, *callers = self.places()
        raise CompileError(
            message, here, expected=expected, found=found, help=help, called_from=tuple(callers)
        )

    def describe(self, value: object) -> str:
        """A value in words, for messages."""
        if isinstance(value, Value):
            return value.describe()
        if isinstance(value, DType):
            return repr(value)
        if isinstance(value, (int, float, str, bool, type(None))):
            return repr(value)
        if isinstance(value, tuple):
            return "(" + ", ".join(self.describe(item) for item in value) + ")"
        name = getattr(value, "__name__", None)
        if isinstance(value, (FunctionType, BuiltinFunctionType)):
            return f"the Python function {name}"
        return f"{type(value).__name__} {name}" if name else f"a Python {type(value).__name__}"

    # Values that many places share.

    def constant(self, value: int | float | bool, dtype: DType) -> str:
        """A constant, emitted once at the entry of the kernel."""
        text = literal(self, value, dtype)
        typed = text if dtype.bits == 1 else f"{text} : {dtype.mlir}"
        return self.hoisted(f"arith.constant {typed}")

    def hoisted(self, text: str, hint: str = "") -> str:
        """``%name = text`` at the entry of the kernel, once per text."""
        if text not in self._hoisted:
            with self.builder.inserting_into(self.entry):
                self._hoisted[text] = self.builder.op(text, hint)
        return self._hoisted[text]

    def allocated(self, text: str, hint: str) -> str:
        """``%name = text`` for something in shared memory, which the CTA has once for each place in the program:
        in a loop, or a function that a loop calls, it is emitted at the entry of the kernel."""
        if not self.visitor.in_device_control_flow:
            return self.builder.op(text, hint)
        key = self.location(), text
        if key not in self._allocated:
            with self.builder.inserting_into(self.entry):
                self._allocated[key] = self.builder.op(text, hint)
        return self._allocated[key]

    def device_argument(self, name: str, type_: str, host: str, host_type: str) -> str:
        """A parameter of the device function, created on first use."""
        if name not in self.device_arguments:
            self.device_arguments[name] = DeviceArgument(f"%{symbol(name)}", type_, host, host_type)
        return self.device_arguments[name].name

    def tile_level(self) -> None:
        """What follows is code of the tile level: outside roles, in a kernel that has none."""
        if self.role is not None:
            return
        if self.roles:
            self.fail(
                "this stands outside the roles: nobody executes it",
                expected="a statement inside a function under @wg.role(...)",
                help="a kernel without roles is at tile level; passes give it roles",
            )
        if self.tile_code is None:
            self.tile_code = self.places()[0]

    def in_control_flow(self) -> bool:
        """Whether what is emitted may run any number of times, or by a part of the CTA."""
        return self.role is not None or self.visitor.in_device_control_flow

    def current_role(self) -> Role:
        """The role being emitted, or an error where code stands outside all roles."""
        if self.role is None:
            self.fail(
                "this needs a role: nobody executes it here",
                expected="a statement inside a function under @wg.role(...)",
            )
        return self.role

    def operand_layout(self, rows: int, depth: int, bits: int) -> str:
        """The layout of operand A of wgmma in registers of the current role."""
        warpgroups = self.current_role().warpgroups
        text = layouts.operand_a(rows, depth, bits, warpgroups)
        return self.layouts.setdefault(text, f"#a_{rows}x{depth}x{bits}_{warpgroups}")

    def accumulator_layout(self, rows: int, columns: int) -> str:
        """The layout of a wgmma accumulator of the current role, as an alias that dumps stay readable with."""
        text = layouts.accumulator(rows, columns, self.current_role().warpgroups)
        return self.layouts.setdefault(
            text, f"#acc_{rows}x{columns}_{self.current_role().warpgroups}"
        )
