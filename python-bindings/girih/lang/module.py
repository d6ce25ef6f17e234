"""Assembles the MLIR module of one kernel and signature from what the visitor emitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from girih.dtypes import DType
from girih.errors import CompileError
from girih.lang.annotations import ArrayAnnotation
from girih.lang.arrays import ArrayParameter
from girih.lang.builder import quoted, symbol
from girih.lang.conditions import Arrays, require_dimensions, require_products
from girih.lang.context import Context
from girih.lang.function import outer_names
from girih.lang.hints import hints_text
from girih.lang.hostplan import HostExpression
from girih.lang.source import Definition, Source
from girih.lang.values import Scalar
from girih.lang.visitor import Visitor

TARGET = '#nvvm.target<chip = "sm_90a", features = "+ptx84", O = 3>'


@dataclass(frozen=True)
class ArraySignature:
    """What of an array argument shapes the code: never its extents.

    ``contiguous`` is the dimension with stride 1, or -1; ``aligned`` says that the first element's address
    and all other strides are multiples of 16 bytes.
    """

    dtype: DType
    rank: int
    contiguous: int
    aligned: bool


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: its annotation is an ArrayAnnotation, a DType (scalar) or ``const``. For an
    optional one None may be passed."""

    name: str
    annotation: Any
    optional: bool = False


def emit_module(
    definition: Definition, parameters: list[Parameter], signature: dict[str, Any]
) -> tuple[str, dict[str, Source]]:
    """The MLIR text of a kernel for a signature (array signatures and constants by parameter name, None for
    an absent argument) and the sources that its locations refer to. Raises CompileError."""
    source = Source(definition)
    cx = Context(source)
    cx.kernel_hints = definition.hints
    visitor = Visitor(cx, outer_names(definition.function))
    passed: dict[str, str] = {}  # the plan's parameters: name to type
    arrays: Arrays = []
    with cx.at(source.definition):
        for parameter in parameters:
            name, annotation = parameter.name, parameter.annotation
            if name in signature and not isinstance(signature[name], ArraySignature):
                visitor.names[name] = signature[name]
            elif isinstance(annotation, ArrayAnnotation):
                array = _array(name, annotation, signature[name])
                cx.arrays.append(array)
                arrays.append((array, annotation))
                visitor.names[name] = array
                passed[name] = array.plan_type
            else:
                host = f"%{symbol(name)}"
                ssa = cx.device_argument(name, annotation.mlir, host, annotation.plan)
                known = None
                if not annotation.is_float:
                    known = HostExpression(f"plan.value {host} : {annotation.plan}")
                visitor.names[name] = Scalar(ssa, annotation, known)
                passed[name] = annotation.plan
        require_dimensions(cx, arrays)
    visitor.body(source.definition.body)
    with cx.at(source.definition):
        if cx.launch_grid is None:
            cx.fail(
                "the kernel does not say its launch",
                expected="work = gr.tiles(…) and a loop over it",
            )
        if not cx.roles and cx.tile_code is None:
            cx.fail(
                "the kernel computes nothing",
                expected="a loop over gr.tiles(…), or functions under @wg.role(…)",
            )
        if cx.roles and cx.hints_place is not None:
            raise CompileError(
                "hints are for passes that choose roles, and this kernel writes its own",
                cx.hints_place,
                expected="no warps, stages or roles: the roles and rings say them",
                found=" and ".join(f"{name}={value!r}" for name, value in cx.hints.items()),
            )
        if cx.queue is not None and (cx.product is not None or cx.roles):
            raise CompileError(
                "tiles cannot be taken one by one in a kernel with products or roles: each role would take its own",
                cx.queue,
                expected="gr.tiles(..., ctas=gr.sms())",
                found="dynamic=True",
            )
        if cx.needs_products:
            require_products(cx, cx.launch_grid, arrays)
        return _render(cx, source, passed), cx.sources


def _array(name: str, annotation: ArrayAnnotation, known: ArraySignature) -> ArrayParameter:
    if annotation.dims is None:
        dims = tuple(f"{name}.{index}" for index in range(known.rank))
    else:
        dims = tuple(dim.name for dim in annotation.dims)
    return ArrayParameter(
        name,
        known.dtype,
        dims,
        annotation.access,
        contiguous=known.contiguous,
        aligned=known.aligned,
    )


def _render(cx: Context, source: Source, passed: dict[str, str]) -> str:
    name = symbol(source.name)
    location = cx.builder.location()
    arguments = list(cx.device_arguments.values())
    passed_on = [(argument.host, argument.host_type) for argument in arguments]
    for index, argument in enumerate(arguments):
        if argument.host_type == "i64" != argument.type:
            value = cx.plan.step(f"arith.trunci {argument.host} : i64 to i32")
            passed_on[index] = (value, "i32")
    cx.plan.launch(f"@{name}_device::@{name}", (cx.launch_grid,), passed_on)
    host_parameters = ", ".join(f"%{symbol(n)}: {type_}" for n, type_ in passed.items())
    names = ", ".join(map(quoted, passed))
    attributes = [] if cx.roles else hints_text(cx)
    if cx.resident:
        attributes.append("girih.co_resident")
    if cx.cluster > 1:
        attributes.append(f"known_cluster_size = array<i32: {cx.cluster}, 1, 1>")
    stated = f" attributes {{{', '.join(attributes)}}}" if attributes else ""
    lines = [
        *(f"{alias} = {text}" for text, alias in cx.layouts.items()),
        f"module attributes {{girih.sources = [{', '.join(_source_entry(s) for s in cx.sources.values())}]}} {{",
        f"  gpu.module @{name}_device [{TARGET}] {{",
        *(f"    {text} {location}" for text in cx.device_declarations()),
        f"    gpu.func @{name}({', '.join(f'{a.name}: {a.type} {location}' for a in arguments)}) kernel{stated} {{",
        *cx.builder.block.render(),
        *(
            ["      wg.specialize {", *cx.specialize.render(), f"      }} {location}"]
            if cx.roles
            else []
        ),
        f"      gpu.return {location}",
        f"    }} {location}",
        f"  }} {location}",
        f"  plan.host @{name}({host_parameters}) attributes {{arg_names = [{names}]}} {{",
        *(f"    {line}" for line in cx.plan.lines),
        f"  }} {location}",
        f"}} {location}",
    ]
    # Attributes, unlike ops, take only aliases that are known by then.
    return "\n".join([*cx.builder.location_aliases(), *lines]) + "\n"


def _source_entry(source: Source) -> str:
    return f"{{name = {quoted(source.name)}, file = {quoted(source.file)}, line = {source.first_line} : i64}}"
