"""Device functions in CUDA C++ (``gr.cuda_function``) and inline PTX (``gr.ptx``), element by element."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, b1, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from girih.errors import CompileError
from girih.lang import elementwise, promotion
from girih.lang.builder import quoted
from girih.lang.builtin import Builtin, builtin
from girih.lang.casts import cast
from girih.lang.values import Chunk, Elements

if TYPE_CHECKING:
    from girih.lang.context import Context

_TYPES = {
    "float": f32,
    "double": f64,
    "__half": f16,
    "half": f16,
    "__nv_bfloat16": bf16,
    "bool": b1,
    "signed char": i8,
    "int8_t": i8,
    "unsigned char": u8,
    "uint8_t": u8,
    "short": i16,
    "int16_t": i16,
    "unsigned short": u16,
    "uint16_t": u16,
    "int": i32,
    "int32_t": i32,
    "unsigned": u32,
    "unsigned int": u32,
    "uint32_t": u32,
    "long long": i64,
    "int64_t": i64,
    "unsigned long long": u64,
    "uint64_t": u64,
}
# What precedes a function's result and says nothing about its type.
_QUALIFIERS = {
    "__device__",
    "__forceinline__",
    "__noinline__",
    "inline",
    "static",
    "constexpr",
    "const",
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"([A-Za-z_][\w\s]*?)\b([A-Za-z_]\w*)\s*\(([^(){};]*)\)\s*\{")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_HEADERS = {f16: "#include <cuda_fp16.h>\n", bf16: "#include <cuda_bf16.h>\n"}


class CudaFunction(Builtin):
    """A device function in CUDA C++; call it in a kernel on tiles or scalars."""

    def __init__(self, source: str, file: str, line: int, name: str | None) -> None:
        self.source, self.file, self.line = source, file, line
        self.function, self.result, self.parameters = self._signature(name)
        super().__init__(self.function, self._emit)

    def _signature(self, name: str | None) -> tuple[str, DType, list[DType]]:
        """The function of that name, or the last one in the text."""
        text = _COMMENT.sub(lambda comment: " " * len(comment[0]), self.source)
        found = {
            match[2]: match
            for match in _FUNCTION.finditer(text)
            if _depth(text, match.start()) == 0
        }
        if not found or (name is not None and name not in found):
            raise self._error(
                f"no function '{name}' in this CUDA C++"
                if name
                else "no function in this CUDA C++",
                "a definition such as float f(float x) { … }",
                ", ".join(found) or "none",
            )
        match = found[name] if name else list(found.values())[-1]
        result = self._type(match[1], f"the result of '{match[2]}'")
        parameters = []
        for number, parameter in enumerate(filter(None, map(str.strip, match[3].split(",")))):
            words = re.match(r"(.*?)\b\w+$", parameter) if " " in parameter else None
            kind = parameter if parameter in _TYPES or words is None else words[1]
            parameters.append(self._type(kind, f"parameter {number + 1} of '{match[2]}'"))
        return match[2], result, parameters

    def _type(self, text: str, what: str) -> DType:
        words = " ".join(word for word in text.split() if word not in _QUALIFIERS)
        if words not in _TYPES:
            raise self._error(
                f"{what} has a type that elements of tiles do not have",
                ", ".join(sorted({*_TYPES} - {"half", "unsigned"})),
                words or "none",
            )
        return _TYPES[words]

    def _error(self, message: str, expected: str, found: str) -> CompileError:
        return CompileError(f"{self.file}:{self.line}: {message}", expected=expected, found=found)

    @property
    def symbol(self) -> str:
        """What the function is called in the kernel's module."""
        return f"girih_{self.function}"

    def key(self) -> str:
        """All text that shapes its code: its own and that of the headers beside it that it includes."""
        return "\0".join(
            [self.function, self.source, *_headers(self.source, os.path.dirname(self.file))]
        )

    def _wrapper(self) -> str:
        """A function of C linkage that takes and returns what tile.device_call passes."""
        names = [f"a{number}" for number in range(len(self.parameters))]
        parameters = ", ".join(
            f"{_passed_type(dtype)} {name}"
            for dtype, name in zip(self.parameters, names, strict=True)
        )
        arguments = ", ".join(
            _unpacked(dtype, name) for dtype, name in zip(self.parameters, names, strict=True)
        )
        call = _packed(self.result, f"{self.function}({arguments})")
        return f'extern "C" {_passed_type(self.result)} {{symbol}}({parameters}) {{{{ return {call}; }}}}'

    def _declaration(self, symbol: str) -> str:
        types = ", ".join(_passed_mlir(dtype) for dtype in self.parameters)
        headers = "".join(
            header for dtype, header in _HEADERS.items() if dtype in (*self.parameters, self.result)
        )
        # Headers come before the user's text, on lines that do not count.
        source = headers + f'#line {self.line} "{self.file}"\n' * bool(headers) + self.source
        pairs = [
            f"source = {quoted(source)}",
            f"file = {quoted(self.file)}",
            f"line = {self.line} : i64",
            f"wrapper = {quoted(self._wrapper().format(symbol=symbol))}",
        ]
        return (
            f"llvm.func @{symbol}({types}) -> {_passed_mlir(self.result)} "
            f"attributes {{girih.cuda = {{{', '.join(pairs)}}}}}"
        )

    def _emit(self, cx: Context, *arguments: object) -> Any:
        """The function's value for each element."""
        what = f"{self.function} (CUDA C++)"
        if len(arguments) != len(self.parameters):
            cx.fail(
                f"{what} takes {len(self.parameters)} arguments, found {len(arguments)}",
                expected=f"{self.function}({', '.join(dtype.name for dtype in self.parameters)})",
            )
        sides = [
            _converted(cx, what, number, argument, dtype)
            for number, (argument, dtype) in enumerate(
                zip(arguments, self.parameters, strict=True), 1
            )
        ]
        symbol = cx.device_function(self.symbol, self, self._declaration)
        return _applied(cx, f"tile.device_call @{symbol}", "", what, sides, self.result)


def cuda_function(source: str, *, name: str | None = None) -> CudaFunction:
    """A device function in CUDA C++, callable in kernels on tiles and scalars, element by element.

    ``source``: its text, ``"float f(float x) { return x * x; }"``, or the path of a file (.cu, .cuh, .h), relative
    to the caller's file. ``name``: which function of several; default: the last. Parameters and result are
    float, double, __half, __nv_bfloat16, bool or an integer type. NVRTC compiles it with the kernel; headers in
    quotes are looked for beside the file. No wgmma may be in flight where it is called. Raises CompileError.
    """
    frame = sys._getframe(1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    if "{" not in source and source.endswith((".cu", ".cuh", ".h", ".hpp")):
        path = os.path.join(os.path.dirname(os.path.abspath(file)), source)
        try:
            with open(path, encoding="utf-8") as opened:
                return CudaFunction(opened.read(), path, 1, name)
        except OSError as error:
            raise CompileError(
                f"{file}:{line}: {path} cannot be read: {error.strerror}",
                expected="the text of a function, or the path of a file with one",
            ) from None
    return CudaFunction(source, file, _first_line(source, file, line), name)


@builtin("gr.ptx")
def ptx(cx: Context, text: object, *arguments: object, dtype: object, pure: object = True) -> Any:
    """PTX for each element: in ``text`` %0 is the result, of type ``dtype``, %1 and so on are the arguments.

    With ``pure=False`` it is neither moved nor merged with others, as what reads a clock must not be.
    """
    if not isinstance(text, str):
        cx.fail("gr.ptx takes a text", found=cx.describe(text))
    if not isinstance(dtype, DType) or dtype.bits < 16:
        cx.fail(
            "the result of gr.ptx has no register in PTX",
            expected="dtype= with 16, 32 or 64 bits",
            found=cx.describe(dtype),
        )
    if not isinstance(pure, bool):
        cx.fail("pure= is True or False", found=cx.describe(pure))
    for operand in re.findall(r"%(%|\d*)", text):
        if operand != "%" and (not operand or int(operand) > len(arguments)):
            cx.fail(
                "the text of gr.ptx names an operand that is not there",
                expected=f"%0 for the result to %{len(arguments)}, %% for a per cent sign",
                found=f"%{operand}",
            )
    sides: list[Any] = []
    for argument in arguments:
        read = elementwise.operand(cx, argument)
        kind = read.dtype_ if isinstance(read, Elements) else promotion.of_number(read)
        if kind.bits < 16:
            cx.fail(
                "an operand of gr.ptx has no register in PTX",
                expected="16, 32 or 64 bits",
                found=cx.describe(read),
                help="x.to(gr.i32)",
            )
        sides.append(read if isinstance(read, Elements) else (read, kind))
    op = f"tile.inline_ptx {quoted(text)}"
    return _applied(cx, op, " pure" if pure else "", "gr.ptx", sides, dtype)


def _applied(cx: Context, op: str, tail: str, what: str, sides: list[Any], dtype: DType) -> Any:
    """``op`` on operands of types of their own."""
    met = elementwise.meet_shapes(cx, what, sides)
    like = next((side for side in met if isinstance(side, Chunk)), met[0] if met else None)
    names = ", ".join(side.name for side in met)
    types = ", ".join(side.mlir_type for side in met)
    if like is None:
        from girih.lang.values import Scalar

        result: Any = Scalar("", dtype)
    else:
        result = like.derive("", dtype)
    result.name = cx.builder.op(f"{op}({names}){tail} : ({types}) -> {result.mlir_type}")
    return result


def _converted(cx: Context, what: str, number: int, argument: object, dtype: DType) -> Any:
    read = elementwise.operand(cx, argument)
    if not isinstance(read, Elements):
        return read, dtype
    if read.dtype_ != dtype and promotion.pair(read.dtype_, dtype) != dtype:
        cx.fail(
            f"argument {number} of {what} has another type",
            expected=dtype.name,
            found=read.describe(),
            help=f"x.to(gr.{dtype.name})",
        )
    return cast(cx, read, dtype)


# ---- How values are passed: tile.device_call says why ---------------------------------------------


def _passed_mlir(dtype: DType) -> str:
    return dtype.mlir if dtype.bits >= 32 else "i32"


def _passed_type(dtype: DType) -> str:
    if dtype.is_float and dtype.bits >= 32:
        return "float" if dtype == f32 else "double"
    return "unsigned long long" if dtype.bits == 64 else "unsigned int"


def _unpacked(dtype: DType, name: str) -> str:
    """What the user's function takes, from what is passed."""
    if dtype in _HEADERS:
        kind = "half" if dtype == f16 else "bfloat16"
        return f"__ushort_as_{kind}((unsigned short){name})"
    return name if dtype.is_float else f"({_c_name(dtype)}){name}"


def _packed(dtype: DType, value: str) -> str:
    if dtype in _HEADERS:
        kind = "half" if dtype == f16 else "bfloat16"
        return f"(unsigned int)__{kind}_as_ushort({value})"
    return value if dtype.is_float else f"({_passed_type(dtype)})({value})"


def _c_name(dtype: DType) -> str:
    return next(name for name, known in _TYPES.items() if known == dtype)


# ---- Texts ----------------------------------------------------------------------------------------


def _depth(text: str, end: int) -> int:
    return text.count("{", 0, end) - text.count("}", 0, end)


def _first_line(source: str, file: str, line: int) -> int:
    """Where the text begins in the caller's file: at the call, or some lines below."""
    wanted = next((part.strip() for part in source.splitlines() if part.strip()), "")
    skipped = next((i for i, part in enumerate(source.splitlines()) if part.strip()), 0)
    for number in range(line, line + 20):
        if wanted and wanted in linecache.getline(file, number):
            return number - skipped
    return line


def _headers(source: str, folder: str, seen: Sequence[str] = ()) -> Iterator[str]:
    """The texts of headers in quotes that are there, and of theirs."""
    for included in _INCLUDE.findall(source):
        path = os.path.normpath(os.path.join(folder, included))
        if path in seen:
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue  # NVRTC says so, or finds one of its own
        yield text
        yield from _headers(text, os.path.dirname(path), (*seen, path))
