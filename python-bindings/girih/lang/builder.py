"""Builds MLIR text: values are numbered, every operation carries the user's location."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


# Each byte as it stands in an MLIR string literal: printable ASCII as it is, others as two hex digits.
_QUOTED = [chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in range(256)]


def quoted(text: str) -> str:
    """``text`` as an MLIR string literal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_QUOTED[b] for b in text.encode()) + '"'


def symbol(name: str) -> str:
    """A Python name in letters that MLIR and PTX take for names: others become their code points."""
    if name.isascii():
        return name
    return "".join(c if c.isascii() else f"_u{ord(c):X}" for c in name)


class Block:
    """A list of lines at one nesting depth; blocks nest as text does. In a block that is thrown away ``kept`` is
    false: nothing need be written into it."""

    def __init__(self, depth: int, kept: bool = True) -> None:
        self.depth = depth
        self.kept = kept
        self.lines: list[str | Block] = []

    def render(self) -> Iterator[str]:
        """The block's lines, nested blocks included."""
        indent = "  " * self.depth
        for line in self.lines:
            if isinstance(line, Block):
                yield from line.render()
            else:
                yield indent + line

    def inner(self) -> Block:
        """A block one level deeper, to be placed into this one."""
        return Block(self.depth + 1, self.kept)


class Builder:
    """Emits operations at an insertion block and hands out SSA names and location aliases."""

    def __init__(self, depth: int, where: Callable[[], str]) -> None:
        self.block = Block(depth)
        # Where we are: asked when the first operation of a place is emitted, then ``known``.
        self.where = where
        self.known: str | None = None
        self._next_value = 0
        self._locations: dict[str, str] = {}

    def fresh(self, hint: str = "") -> str:
        """A new SSA name; ``hint`` keeps the user's variable name readable in dumps."""
        self._next_value += 1
        return f"%{symbol(hint)}_{self._next_value}" if hint else f"%{self._next_value}"

    def line(self, text: str) -> None:
        """Adds one line of text as it is, with the current location."""
        if self.block.kept:
            self.block.lines.append(f"{text} {self.location()}")

    def op(self, text: str, hint: str = "") -> str:
        """Adds ``%name = text`` and returns the name."""
        name = self.fresh(hint)
        if self.block.kept:
            self.block.lines.append(f"{name} = {text} {self.location()}")
        return name

    @contextmanager
    def region(self, head: str, tail: str = "") -> Iterator[None]:
        """Adds ``head {``, the lines added inside, and ``} tail``."""
        outer = self.block
        outer.lines.append(head + " {")
        self.block = outer.inner()
        outer.lines.append(self.block)
        try:
            yield
        finally:
            self.block = outer
        outer.lines.append(f"}}{tail} {self.location()}")

    @contextmanager
    def inserting_into(self, block: Block) -> Iterator[None]:
        """Adds at the end of ``block`` meanwhile: for values hoisted to a kernel's or role's entry."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def nested(self) -> Block:
        """A block placed here and filled later."""
        block = Block(self.block.depth, self.block.kept)
        self.block.lines.append(block)
        return block

    def location(self) -> str:
        """The current place, with the calls that led there, as ``loc(#locN)``."""
        if self.known is None:
            self.known = f"loc({self.where()})"
        return self.known

    def location_alias(self, text: str) -> str:
        """The alias of a location, which may refer to aliases that were made before."""
        return self._locations.setdefault(text, f"#loc{len(self._locations)}")

    def location_aliases(self) -> Iterator[str]:
        """The definitions of every alias."""
        for text, alias in self._locations.items():
            yield f"{alias} = loc({text})"
