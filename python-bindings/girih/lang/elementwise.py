"""Operations element by element, on tiles and scalars alike: operands meet in type and shape, then one op."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, b1
from girih.lang import promotion
from girih.lang.casts import cast
from girih.lang.hostplan import HostExpression, host_twin
from girih.lang.tileshapes import broadcast, broadcast_shape
from girih.lang.values import Chunk, Elements, Scalar, Tile, Value

if TYPE_CHECKING:
    from girih.lang.context import Context

Number = int | float | bool

# What Python's operators are called, and the ops for floats, for integers with and without a sign, for booleans.
_ARITHMETIC: dict[type[ast.operator], tuple[str, dict[str, str]]] = {
    ast.Add: ("+", {"float": "arith.addf", "int": "arith.addi", "uint": "arith.addi"}),
    ast.Sub: ("-", {"float": "arith.subf", "int": "arith.subi", "uint": "arith.subi"}),
    ast.Mult: ("*", {"float": "arith.mulf", "int": "arith.muli", "uint": "arith.muli"}),
    ast.Div: ("/", {"float": "arith.divf"}),
    ast.FloorDiv: ("//", {"int": "arith.floordivsi", "uint": "arith.divui"}),
    ast.Mod: ("%", {"int": "modulo", "uint": "arith.remui"}),
    ast.LShift: ("<<", {"int": "arith.shli", "uint": "arith.shli"}),
    ast.RShift: (">>", {"int": "arith.shrsi", "uint": "arith.shrui"}),
    ast.BitAnd: ("&", {"int": "arith.andi", "uint": "arith.andi", "bool": "arith.andi"}),
    ast.BitOr: ("|", {"int": "arith.ori", "uint": "arith.ori", "bool": "arith.ori"}),
    ast.BitXor: ("^", {"int": "arith.xori", "uint": "arith.xori", "bool": "arith.xori"}),
}
# The predicates of arith.cmpf and arith.cmpi. Comparisons with NaN are false, but for !=.
_COMPARE: dict[type[ast.cmpop], tuple[str, str, str, str]] = {
    ast.Eq: ("==", "oeq", "eq", "eq"),
    ast.NotEq: ("!=", "une", "ne", "ne"),
    ast.Lt: ("<", "olt", "slt", "ult"),
    ast.LtE: ("<=", "ole", "sle", "ule"),
    ast.Gt: (">", "ogt", "sgt", "ugt"),
    ast.GtE: (">=", "oge", "sge", "uge"),
}
_KINDS = {"float": "floats", "int": "integers", "uint": "unsigned ones", "bool": "booleans"}
_BOOLEANS = "x.to(gr.i32) makes numbers of booleans"
_HELP = {
    "/": "// divides integers; x.to(gr.f32) makes floats of them",
    "//": "gr.floor(a / b) for floats",
    "%": "a - gr.floor(a / b) * b for floats",
}


def operator_symbol(op: ast.operator) -> str:
    """How the user wrote it."""
    other = {ast.Pow: "**", ast.MatMult: "@"}
    return _ARITHMETIC[type(op)][0] if type(op) in _ARITHMETIC else other.get(type(op), "?")


def operand(cx: Context, value: object) -> Elements | Number:
    """``value`` as something that arithmetic takes: places in memory are loaded, others are the user's error."""
    if isinstance(value, Value):
        if isinstance(value, HostExpression):
            cx.fail(
                "this number is known at the launch, not on the device",
                expected="a number that the kernel knows",
                found=value.describe(),
                help="gr.sms() decides the number of CTAs; pass other numbers as parameters",
            )
        return value.read(cx)
    if isinstance(value, (bool, int, float)):
        return value
    cx.fail("a tile or a number was expected", found=cx.describe(value))


def common_type(cx: Context, what: str, operands: list[Elements | Number]) -> DType:
    """The type in which operands meet."""
    return promotion.common(
        cx,
        what,
        [side.dtype_ for side in operands if isinstance(side, Elements)],
        [side for side in operands if not isinstance(side, Elements)],
    )


def meet_shapes(cx: Context, what: str, sides: list[Elements | tuple[Number, DType]]) -> list[Any]:
    """All sides as scalars, or as tiles of one shape and layout; numbers come with their type."""
    tiles = [side for side in sides if isinstance(side, Tile)]
    if not tiles:
        return [
            side if isinstance(side, Elements) else Scalar(cx.constant(*side), side[1])
            for side in sides
        ]
    if any(tile.layout != tiles[0].layout or tile.shape_ != tiles[0].shape_ for tile in tiles):
        # Sides that agree may keep a layout of their own; where they differ, passes choose.
        sides = [side.opened(cx) if isinstance(side, Tile) else side for side in sides]
        tiles = [side for side in sides if isinstance(side, Tile)]
    shape = broadcast_shape(cx, what, tiles)
    like = next((tile for tile in tiles if tile.shape_ == shape), Tile("", shape, tiles[0].dtype_))
    result = []
    for side in sides:
        if isinstance(side, Tile):
            result.append(broadcast(cx, side, shape))
        elif isinstance(side, Elements):
            spread = like.derive("", side.dtype_)
            spread.name = cx.builder.op(f"tensor.splat {side.name} : {spread.tensor_type}")
            result.append(spread)
        else:
            spread = like.derive("", side[1])
            spread.name = spread.filled(cx, side[0])
            result.append(spread)
    return result


def meet(cx: Context, what: str, operands: list[object], dtype: DType | None = None) -> list[Any]:
    """Operands in one type (``dtype``, or the one in which they meet) and one shape."""
    read = [operand(cx, side) for side in operands]
    target = dtype or common_type(cx, what, read)
    sides: list[Any] = [
        cast(cx, side, target) if isinstance(side, Elements) else (side, target) for side in read
    ]
    return meet_shapes(cx, what, sides)


def emit(cx: Context, op: str, operands: list[Any], dtype: DType | None = None) -> Any:
    """``op`` on operands that have met; the result has their type, or elements of ``dtype``."""
    first = operands[0]
    # A chunk knows where it was cut out; so does what is computed from it.
    like = next((side for side in operands if isinstance(side, Chunk)), first)
    result = like.derive("", dtype or first.dtype_)
    names = ", ".join(side.name for side in operands)
    result.name = cx.builder.op(f"{op} {names} : {first.mlir_type}")
    return result


def binary(cx: Context, op: ast.operator, left: object, right: object) -> Any:
    """``left op right`` where at least one side is on the device."""
    symbol = operator_symbol(op)
    if isinstance(op, ast.Pow):
        return power(cx, left, right)
    if type(op) not in _ARITHMETIC:
        cx.fail(f"'{symbol}' does not work on tiles", help="gr.dot(a, b) multiplies matrices")
    a, b = meet(cx, f"'{symbol}'", [left, right])
    name = _ARITHMETIC[type(op)][1].get(a.dtype_.kind, "")
    kind = "tiles" if isinstance(a, Tile) else "scalars"
    if not name:
        cx.fail(
            f"'{symbol}' does not work on {kind} of {a.dtype_.name}",
            expected=" or ".join(_KINDS[kind] for kind in _ARITHMETIC[type(op)][1]),
            found=f"{cx.describe(left)} and {cx.describe(right)}",
            help=_BOOLEANS
            if a.dtype_ == b1
            else _HELP.get(symbol, "x.view(gr.i32) has the bits of a float"),
        )
    check_arithmetic(cx, f"'{symbol}'", a.dtype_)
    result = _modulo(cx, a, b) if name == "modulo" else emit(cx, name, [a, b])
    if isinstance(result, Scalar):
        result.host = host_twin(op, left, right)
    return result


def check_arithmetic(cx: Context, what: str, dtype: DType) -> None:
    """Floats of 8 bits are for storage and products."""
    if dtype.is_float and dtype.bits < 16:
        cx.fail(
            f"{what} does not work on {dtype.name}: it is for storage and gr.dot",
            expected="f64, f32, f16 or bf16",
            found=dtype.name,
            help="x.to(gr.f32)",
        )


def _modulo(cx: Context, a: Any, b: Any) -> Any:
    """Python's modulo has the sign of the divisor; remsi has the sign of the dividend."""
    zero = a.derive(a.filled(cx, 0), a.dtype_)
    rest = emit(cx, "arith.remsi", [a, b])
    signs = emit(cx, "arith.xori", [rest, b])
    differ = emit(cx, "arith.cmpi slt,", [signs, zero], b1)
    there = emit(cx, "arith.cmpi ne,", [rest, zero], b1)
    moved = emit(cx, "arith.addi", [rest, b])
    wrong = emit(cx, "arith.andi", [differ, there])
    return select(cx, wrong, moved, rest)


def select(cx: Context, condition: Any, a: Any, b: Any) -> Any:
    """arith.select on operands that have met; the condition is a scalar or has their shape."""
    result = a.derive("", a.dtype_)
    kind = f"{condition.mlir_type}, " if isinstance(condition, Tile) else ""
    result.name = cx.builder.op(
        f"arith.select {condition.name}, {a.name}, {b.name} : {kind}{a.mlir_type}"
    )
    return result


def compare(cx: Context, op: ast.cmpop, left: object, right: object) -> Any:
    """``left op right`` as booleans."""
    if type(op) not in _COMPARE:
        cx.fail(
            f"'{type(op).__name__}' does not compare what is on the device",
            expected="==, !=, <, <=, > or >=",
        )
    symbol, floating, signed, unsigned = _COMPARE[type(op)]
    a, b = meet(cx, f"'{symbol}'", [left, right])
    check_arithmetic(cx, f"'{symbol}'", a.dtype_)
    if a.dtype_.is_float:
        return emit(cx, f"arith.cmpf {floating},", [a, b], b1)
    # Booleans compare as 0 and 1, as in Python: their one bit is no sign.
    predicate = signed if a.dtype_.kind == "int" else unsigned
    return emit(cx, f"arith.cmpi {predicate},", [a, b], b1)


def negate(cx: Context, value: Elements) -> Any:
    """``-value``."""
    read: Any = value.read(cx)
    check_arithmetic(cx, "'-'", read.dtype_)
    if read.dtype_.is_float:  # 0.0 - x has another sign where x is 0
        return emit(cx, "arith.negf", [read])
    return binary(cx, ast.Sub(), 0, read)


def invert(cx: Context, value: Elements) -> Any:
    """``~value``: every bit, or every boolean."""
    read: Any = value.read(cx)
    if read.dtype_.is_float:
        cx.fail("'~' works on integers and booleans", found=read.describe())
    if read.dtype_.kind == "uint":
        return binary(cx, ast.BitXor(), read, (1 << read.dtype_.bits) - 1)
    return binary(cx, ast.BitXor(), read, True if read.dtype_ == b1 else -1)


def power(cx: Context, base: object, exponent: object) -> Any:
    """``base ** exponent`` for a constant exponent: products, a quotient, or a square root."""
    value: Any = operand(cx, base)
    if not isinstance(value, Elements) or type(exponent) not in (int, float):
        cx.fail(
            "'**' takes a constant exponent",
            expected="x ** n with an integer n, or x ** 0.5",
            found=cx.describe(exponent) if isinstance(value, Elements) else cx.describe(base),
            help="gr.exp2(y * gr.log2(x)) for other powers of positive x",
        )
    if exponent in (0.5, -0.5):
        root = emit(cx, "math.sqrt" if exponent > 0 else "math.rsqrt", [value])
        return root
    if exponent != int(exponent) or (exponent < 0 and not value.dtype_.is_float):  # type: ignore[operator,call-overload]
        cx.fail(
            "'**' takes an integer or 0.5 here",
            expected="a constant integer, not negative for integers",
            found=cx.describe(exponent),
            help="gr.exp2(y * gr.log2(x)) for other powers of positive x",
        )
    check_arithmetic(cx, "'**'", value.dtype_)
    if exponent < 0:  # type: ignore[operator]
        return binary(cx, ast.Div(), 1, power(cx, value, -int(exponent)))  # type: ignore[call-overload]
    left, square, result = int(exponent), value, None  # type: ignore[call-overload]
    while left:
        if left & 1:
            result = square if result is None else binary(cx, ast.Mult(), result, square)
        left >>= 1
        if left:
            square = binary(cx, ast.Mult(), square, square)
    return value.derive(value.filled(cx, 1), value.dtype_) if result is None else result


def extremum(cx: Context, what: str, ops: dict[str, str], values: list[object]) -> Any:
    """The smallest or largest of several operands, by the op for their kind."""
    met = meet(cx, what, values)
    check_arithmetic(cx, what, met[0].dtype_)
    op = ops[met[0].dtype_.kind]
    result = met[0]
    for other in met[1:]:
        result = emit(cx, op, [result, other])
    return result


MINIMUM = {
    "float": "arith.minimumf",
    "int": "arith.minsi",
    "uint": "arith.minui",
    "bool": "arith.andi",
}
MAXIMUM = {
    "float": "arith.maximumf",
    "int": "arith.maxsi",
    "uint": "arith.maxui",
    "bool": "arith.ori",
}
FMIN = MINIMUM | {"float": "arith.minnumf"}
FMAX = MAXIMUM | {"float": "arith.maxnumf"}
