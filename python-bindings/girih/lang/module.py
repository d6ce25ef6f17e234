"""Assembles the MLIR module of one kernel and signature from what the visitor emitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from girih.dtypes import DType
from girih.lang.annotations import ArrayAnnotation
from girih.lang.arrays import ArrayParameter, check_dimension_names
from girih.lang.builder import quoted, symbol
from girih.lang.context import Context
from girih.lang.function import outer_names
from girih.lang.source import Source
from girih.lang.values import Scalar
from girih.lang.visitor import Visitor

TARGET = '#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>'


@dataclass(frozen=True)
class ArraySignature:
    """What of an array argument shapes the code: never its extents."""

    dtype: DType
    contiguous: int


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: its annotation is an ArrayAnnotation, a DType (scalar) or ``const``."""

    name: str
    annotation: Any


# The outer names that a kernel reads: how to look each up, the name, and what it stood for.
Captured = dict[tuple[Callable[[str], Any], str], Any]


def emit_module(
    function: Any, parameters: list[Parameter], signature: dict[str, Any]
) -> tuple[str, dict[str, Source], Captured]:
    """The MLIR text of ``function`` for a signature (array signatures and constants by parameter name),
    the sources that its locations refer to, and the outer names that it took for constants. Raises
    CompileError."""
    source = Source(function)
    cx = Context(source)
    visitor = Visitor(cx, outer_names(function))
    plan_parameters = []
    with cx.at(source.definition):
        for index, parameter in enumerate(parameters):
            name, annotation = parameter.name, parameter.annotation
            if isinstance(annotation, ArrayAnnotation):
                known = signature[name]
                if len(annotation.dims) != 2:
                    cx.fail(
                        f"{name} has {len(annotation.dims)} dimensions",
                        expected='2, as in gr.In["M,K"]',
                    )
                array = ArrayParameter(
                    name, index, known.dtype, annotation.dims, known.contiguous, annotation.access
                )
                cx.arrays.append(array)
                visitor.names[name] = array
                plan_parameters.append(f"%{symbol(name)}: {array.plan_type}")
            elif isinstance(annotation, DType):
                host = f"%{symbol(name)}"
                ssa = cx.device_argument(name, annotation.mlir, host, annotation.mlir)
                visitor.names[name] = Scalar(ssa, annotation)
                plan_parameters.append(f"{host}: {annotation.mlir}")
            else:
                visitor.names[name] = signature[name]
        check_dimension_names(cx, cx.arrays)
    visitor.body(source.definition.body)
    with cx.at(source.definition):
        if cx.launch_grid is None:
            cx.fail(
                "the kernel does not say its launch",
                expected="work = gr.tiles(…) and a loop over it",
            )
        if not cx.roles:
            cx.fail(
                "the kernel has no role: nobody executes it",
                expected="a function under @wg.role(…)",
            )
        arguments = [
            p.name for p in parameters if isinstance(p.annotation, (ArrayAnnotation, DType))
        ]
        return _render(cx, source, plan_parameters, arguments), cx.sources, cx.captured


def _render(
    cx: Context, source: Source, plan_parameters: list[str], argument_names: list[str]
) -> str:
    name = symbol(source.name)
    location = cx.builder.location()
    arguments = list(cx.device_arguments.values())
    one = cx.plan.constant(1)
    launch_values, launch_types = [], []
    for argument in arguments:
        value = argument.host
        if argument.host_type != argument.type:
            value = cx.plan.step(f"arith.trunci {value} : {argument.host_type} to {argument.type}")
        launch_values.append(value)
        launch_types.append(argument.type)
    passed = f" args({', '.join(launch_values)}) : {', '.join(launch_types)}" if arguments else ""
    lines = [
        *(f"{alias} = {text}" for text, alias in cx.layouts.items()),
        f"module attributes {{girih.sources = [{', '.join(_source_entry(s) for s in cx.sources.values())}]}} {{",
        f"  gpu.module @{name}_device [{TARGET}] {{",
        f"    gpu.func @{name}({', '.join(f'{a.name}: {a.type} {location}' for a in arguments)}) kernel {{",
        *cx.builder.block.render(),
        "      wg.specialize {",
        *cx.specialize.render(),
        f"      }} {location}",
        f"      gpu.return {location}",
        f"    }} {location}",
        f"  }} {location}",
        f"  plan.host @{name}({', '.join(plan_parameters)}) attributes {{arg_names = [{', '.join(map(quoted, argument_names))}]}} {{",
        *(f"    {line}" for line in cx.plan.lines),
        f"    plan.launch @{name}_device::@{name} grid({cx.launch_grid}, {one}, {one}){passed} {location}",
        f"  }} {location}",
        f"}} {location}",
        *cx.builder.location_aliases(),
    ]
    return "\n".join(lines) + "\n"


def _source_entry(source: Source) -> str:
    return f"{{name = {quoted(source.name)}, file = {quoted(source.file)}, line = {source.first_line} : i64}}"
