"""What a variant of a packaged kernel is compiled for, and for which calls it is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from girih.dtypes import BY_NAME
from girih.errors import GirihError
from girih.lang.spec import ArraySpec


@dataclass(frozen=True)
class Variant:
    """Arguments as for a call (arrays, or dtypes and ArraySpecs in their place, constants by keyword), and
    ``when`` it is taken: ``"M <= 64 and K % 64 == 0"``."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    when: str = ""


# A variant, its text ("bf16, bf16, f32, BM=64 when M <= 64"), or example arguments; a dict at their end holds
# keyword arguments.
Signature = Variant | str | Sequence[Any]


def variant(*args: Any, when: str = "", **kwargs: Any) -> Variant:
    """A variant for ``girih.export``: what to compile for, as in a call, and for which of the calls that fit
    it is meant, by default all of them."""
    return Variant(args, kwargs, when)


def as_variant(signature: Signature) -> Variant:
    """The variant that a signature stands for. Raises GirihError."""
    if isinstance(signature, Variant):
        return signature
    if isinstance(signature, str):
        return parse_signature(signature)
    arguments = tuple(signature)
    if arguments and isinstance(arguments[-1], dict):
        return Variant(arguments[:-1], arguments[-1])
    return Variant(arguments)


def parse_signature(text: str) -> Variant:
    """The variant that "bf16, bf16(contiguous=0), f32, BM=64 when M <= 64" stands for: arguments as in a call,
    dtypes in the place of arrays. Raises GirihError."""
    return _parse(text, *_split(text, "call({})"))


def parse_call(text: str) -> tuple[str, Variant]:
    """The kernel's name and the variant of "matmul(bf16, bf16, f32, BM=64) when M <= 64". Raises GirihError."""
    call, when = _split(text, "{}")
    if not isinstance(call.func, ast.Name):
        raise _mistake(text, "expected a call of a kernel, as in softmax(f32, f32)")
    return call.func.id, _parse(text, call, when)


def _split(text: str, form: str) -> tuple[ast.Call, str]:
    """The call and the condition in a text."""
    for match in [*re.finditer(r"\bwhen\b", text), None]:
        arguments = text[: match.start()] if match else text
        try:
            node = ast.parse(form.format(arguments.strip()), mode="eval").body
        except SyntaxError:
            continue  # the word stands in a text
        if isinstance(node, ast.Call):
            return node, text[match.end() :].strip() if match else ""
    raise _mistake(text, "expected arguments as in a call, as in bf16, bf16, f32, BM=64")


def _parse(text: str, call: ast.Call, when: str) -> Variant:
    kwargs = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _mistake(text, "expected arguments by name, found **")
        kwargs[keyword.arg] = _value(text, keyword.value)
    return Variant(tuple(_value(text, argument) for argument in call.args), kwargs, when)


def _value(text: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in BY_NAME:
        return BY_NAME[node.id]
    if isinstance(node, ast.Tuple):
        return tuple(_value(text, item) for item in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BY_NAME:
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        if not node.args and options.keys() <= {"rank", "contiguous", "aligned"}:
            values: dict[Any, Any] = {name: _value(text, value) for name, value in options.items()}
            return ArraySpec(BY_NAME[node.func.id], **values)
        raise _mistake(
            text,
            f"{ast.unparse(node)}: expected rank, contiguous and aligned by name, as in "
            f"{node.func.id}(contiguous=0)",
        )
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _mistake(
            text,
            f"{ast.unparse(node)} is neither a dtype nor a constant: expected one of {', '.join(BY_NAME)}, "
            "a number, a text, None or a tuple",
        ) from None


def _mistake(text: str, what: str) -> GirihError:
    return GirihError(f"signature {text!r}: {what}")
