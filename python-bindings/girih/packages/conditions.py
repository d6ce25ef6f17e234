"""For which calls a variant is meant: ``M <= 64 and K % 64 == 0`` as ranges that the runtime compares."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from girih.errors import GirihError

# Where a name of a condition is found: a parameter's number and, for an array, the dimension.
Places = dict[str, tuple[int, int | None]]
Condition = dict[str, Any]

_FORMS = "comparisons of an extent or integer with numbers, joined by and, as in 1 <= M <= 64 and K % 8 == 0"


def parse_conditions(kernel: str, text: str, places: Places) -> list[Condition]:
    """The conditions of an index (docs/Packages.md), one per name. Raises GirihError."""
    if not text:
        return []
    return _Reader(kernel, text, places).conditions


class _Reader:
    def __init__(self, kernel: str, text: str, places: Places) -> None:
        self._where = f"{kernel}: when={text!r}"
        self._places = places
        self._found: dict[str, Condition] = {}
        try:
            self._read(ast.parse(text, mode="eval").body)
        except SyntaxError:
            self._fail(f"expected {_FORMS}")
        for name, condition in self._found.items():
            if condition.get("low", 0) > condition.get("high", condition.get("low", 0)):
                self._fail(
                    f"no {name} is at least {condition['low']} and at most {condition['high']}"
                )

    @property
    def conditions(self) -> list[Condition]:
        return list(self._found.values())

    def _fail(self, what: str) -> NoReturn:
        raise GirihError(f"{self._where}: {what}")

    def _read(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for value in node.values:
                self._read(value)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                self._compare(node, left, op, right)
        else:
            self._fail(f"expected {_FORMS}, found {ast.unparse(node)}")

    def _compare(self, whole: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        number = _number(right)
        if number is None:
            left, right, number = right, left, _number(left)
            flipped: dict[type, ast.cmpop] = {
                ast.Lt: ast.Gt(), ast.LtE: ast.GtE(), ast.Gt: ast.Lt(), ast.GtE: ast.LtE(),
            }  # fmt: skip
            op = flipped.get(type(op), op)
        if number is None:
            self._fail(f"expected {_FORMS}, found {ast.unparse(whole)}")
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            multiple = _number(left.right)
            if not isinstance(op, ast.Eq) or number != 0 or multiple is None or multiple < 1:
                self._fail(
                    f"expected a positive divisor, as in K % 8 == 0, found {ast.unparse(whole)}"
                )
            condition = self._condition(left.left)
            condition["multiple"] = _common_multiple(condition.get("multiple", 1), multiple)
            return
        condition = self._condition(left)
        if isinstance(op, (ast.Lt, ast.LtE, ast.Eq)):
            high = number - isinstance(op, ast.Lt)
            condition["high"] = min(high, condition.get("high", high))
        if isinstance(op, (ast.Gt, ast.GtE, ast.Eq)):
            low = number + isinstance(op, ast.Gt)
            condition["low"] = max(low, condition.get("low", low))
        if not isinstance(op, (ast.Lt, ast.LtE, ast.Eq, ast.Gt, ast.GtE)):
            self._fail(f"expected <, <=, ==, > or >=, found {ast.unparse(whole)}")

    def _condition(self, node: ast.expr) -> Condition:
        """The condition on a name, made if there is none yet."""
        name = ast.unparse(node)
        if name not in self._places:
            self._fail(f"there is no {name}: expected one of {', '.join(self._places) or 'none'}")
        if name not in self._found:
            parameter, dim = self._places[name]
            self._found[name] = {"name": name, "parameter": parameter}
            if dim is not None:
                self._found[name]["dim"] = dim
        return self._found[name]


def _number(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def _common_multiple(a: int, b: int) -> int:
    from math import lcm

    return lcm(a, b)


def implies(narrow: list[Condition], wide: list[Condition]) -> bool:
    """Whether every call that meets ``narrow`` meets ``wide``."""
    by_place = {(c["parameter"], c.get("dim")): c for c in narrow}
    return all(_within(by_place.get((c["parameter"], c.get("dim")), {}), c) for c in wide)


def _within(narrow: Condition, wide: Condition) -> bool:
    low, high = wide.get("low"), wide.get("high")
    above = low is None or narrow.get("low", low - 1) >= low
    below = high is None or narrow.get("high", high + 1) <= high
    return bool(above and below and narrow.get("multiple", 1) % wide.get("multiple", 1) == 0)
