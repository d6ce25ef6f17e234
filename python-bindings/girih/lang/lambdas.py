"""Lambdas written in kernels: inlined where they are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from girih.lang.tileshapes import count_of

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


def bind_lambda(
    cx: Context, node: ast.Lambda, args: list[Any], kwargs: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by the names of the lambda's parameters."""
    names = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    given = dict(zip(names, args, strict=False)) | kwargs
    bound = {name: given.get(name, defaults.get(name)) for name in names}
    missing = [name for name in names if name not in given and name not in defaults]
    if (
        len(args) > len(names)
        or missing
        or set(given) - set(names)
        or set(names[: len(args)]) & set(kwargs)
    ):
        cx.fail(
            "the arguments do not fit the lambda",
            expected=f"{count_of(len(names), 'argument', 'arguments')}: {', '.join(names)}"
            if names
            else "no arguments",
            found=f"{len(args) + len(kwargs)}",
        )
    return bound


class Lambda:
    """A lambda of a kernel. Its names are those of the function that it stands in, as they are at the call."""

    def __init__(self, node: ast.Lambda, scope: object) -> None:
        self.node = node
        self.scope = scope
        self.__name__ = "<lambda>"

    def inline(self, visitor: Visitor, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Emits its expression in place of a call."""
        arguments = bind_lambda(visitor.cx, self.node, args, kwargs, {})
        with visitor.scope_of(self.scope, arguments):
            return visitor.evaluate(self.node.body)
