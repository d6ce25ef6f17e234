"""What mypy needs to know about kernels' signatures: ``plugins = ["girih.mypy_plugin"]`` in its configuration.

A type checker reads the text in ``a: gr.In["M,K"]`` as the names of types, except after ``Literal``. So that
is what ``gr.In`` is to it, and this plugin says that such a parameter is not a string but an array, which
mypy does not look into: it has the type Any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.typeanal import TypeAnalyser
from mypy.types import AnyType, Type, TypeOfAny

_ACCESSES = ("In", "Out", "InOut")


class _GirihPlugin(Plugin):
    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        return _analyse if fullname == "typing.Literal" else None


def _analyse(context: AnalyzeTypeContext) -> Type:
    if context.type.name.rpartition(".")[2] in _ACCESSES:
        return AnyType(TypeOfAny.special_form)
    return cast(TypeAnalyser, context.api).analyze_literal_type(context.type)


def plugin(version: str) -> type[Plugin]:
    """Called by mypy with its version."""
    return _GirihPlugin
