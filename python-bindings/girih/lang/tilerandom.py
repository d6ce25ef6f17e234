"""Random numbers without state: Philox 4x32 with 10 rounds (Salmon et al., SC 2011), a function of seed and offset."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from girih.dtypes import f32, u32, u64
from girih.lang import elementwise
from girih.lang.builtin import builtin
from girih.lang.casts import cast
from girih.lang.values import Elements

if TYPE_CHECKING:
    from girih.lang.context import Context

# The multipliers and the Weyl constants of the paper.
_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85


def _product(cx: Context, factor: int, x: Any) -> tuple[Any, Any]:
    """The high and the low half of a product of 32-bit numbers."""
    wide = elementwise.binary(cx, ast.Mult(), cast(cx, x, u64), factor)
    high = cast(cx, elementwise.binary(cx, ast.RShift(), wide, 32), u32)
    return high, elementwise.binary(cx, ast.Mult(), x, factor)


def rounds(cx: Context, counter: list[Any], key: list[Any]) -> list[Any]:
    """Ten rounds on a counter of four words with a key of two."""

    def xor(*parts: Any) -> Any:
        result = parts[0]
        for part in parts[1:]:
            result = elementwise.binary(cx, ast.BitXor(), result, part)
        return result

    for _ in range(10):
        high0, low0 = _product(cx, _M0, counter[0])
        high1, low1 = _product(cx, _M1, counter[2])
        counter = [xor(high1, counter[1], key[0]), low1, xor(high0, counter[3], key[1]), low0]
        key = [
            elementwise.binary(cx, ast.Add(), word, weyl)
            for word, weyl in zip(key, (_W0, _W1), strict=True)
        ]
    return counter


def _words(cx: Context, what: str, value: object, count: int) -> list[Any]:
    """An integer, or a tuple of them, as words of 32 bits, the lowest first."""
    words: list[Any] = []
    for part in value if isinstance(value, tuple) else (value,):
        if type(part) is int and part >= 0:
            halves = [part & 0xFFFFFFFF]
            while part := part >> 32:
                halves.append(part & 0xFFFFFFFF)
            words += [elementwise.meet(cx, what, [half], u32)[0] for half in halves]
            continue
        read = elementwise.operand(cx, part)
        if not isinstance(read, Elements) or read.dtype_.is_float or read.dtype_.bits < 32:
            cx.fail(
                f"{what} is made of integers",
                expected="integers of 32 or 64 bits, or a tuple of them",
                found=cx.describe(part),
            )
        if read.dtype_.bits == 64:
            unsigned: Any = cast(cx, read, u64)
            words.append(cast(cx, unsigned, u32))
            words.append(cast(cx, elementwise.binary(cx, ast.RShift(), unsigned, 32), u32))
        else:
            words.append(cast(cx, read, u32))
    if len(words) > count:
        cx.fail(
            f"{what} is too long",
            expected=f"at most {count} words of 32 bits",
            found=f"{len(words)} words",
        )
    while len(words) < count:
        words.append(elementwise.meet(cx, what, [0], u32)[0])
    return words


@builtin("gr.philox")
def philox(cx: Context, seed: object, offset: object) -> tuple[Any, ...]:
    """Four tiles (or scalars) of random u32: Philox 4x32-10 of the key ``seed`` (up to 64 bits) at the counter
    ``offset`` (up to 128 bits: an integer tile or scalar, or a tuple of up to four words, the lowest first)."""
    cx.tile_level()
    key = _words(cx, "the seed", seed, 2)
    counter = _words(cx, "the offset", offset, 4)
    met = elementwise.meet(cx, "gr.philox", [*counter, *key])
    return tuple(rounds(cx, met[:4], met[4:]))


@builtin("gr.rand")
def rand(cx: Context, seed: object, offset: object) -> Any:
    """Random f32 from 0 (included) to 1 (not): the upper 24 bits of the first word of ``gr.philox``."""
    word = philox.emit(cx, seed, offset)[0]
    bits = cast(cx, elementwise.binary(cx, ast.RShift(), word, 8), f32)
    return elementwise.binary(cx, ast.Mult(), bits, 2.0**-24)
