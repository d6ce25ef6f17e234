"""Builds MLIR text: values are numbered, every operation carries the user's location."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from girih.errors import Place


def quoted(text: str) -> str:
    """``text`` as an MLIR string literal: printable ASCII as it is, other bytes as two hex digits."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode()) + '"'


def symbol(name: str) -> str:
    """A Python name in letters that MLIR and PTX take for names: others become their code points."""
    if name.isascii():
        return name
    return "".join(c if c.isascii() else f"_u{ord(c):X}" for c in name)


class Block:
    """A list of lines at one nesting depth; blocks nest as text does."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.lines: list[str | Block] = []

    def render(self) -> Iterator[str]:
        """The block's lines, nested blocks included."""
        for line in self.lines:
            if isinstance(line, Block):
                yield from line.render()
            else:
                yield "  " * self.depth + line


class Builder:
    """Emits operations at an insertion block and hands out SSA names and location aliases."""

    def __init__(self, depth: int, where: Callable[[], tuple[Place, ...]]) -> None:
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
        self.block.lines.append(f"{text} {self.location()}")

    def op(self, text: str, hint: str = "") -> str:
        """Adds ``%name = text`` and returns the name."""
        name = self.fresh(hint)
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def region(self, head: str, tail: str = "") -> Iterator[None]:
        """Adds ``head {``, the lines added inside, and ``} tail``."""
        outer = self.block
        outer.lines.append(head + " {")
        self.block = Block(outer.depth + 1)
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
        block = Block(self.block.depth)
        self.block.lines.append(block)
        return block

    def location(self) -> str:
        """The current place, with the calls that led there, as ``loc(#locN)``."""
        if self.known is None:
            innermost, *callers = self.where()
            text = self._named(innermost)
            for caller in callers:
                text = f"callsite({text} at {self._named(caller)})"
            alias = self._locations.setdefault(text, f"#loc{len(self._locations)}")
            self.known = f"loc({alias})"
        return self.known

    def location_aliases(self) -> Iterator[str]:
        """The definitions of every alias used."""
        for text, alias in self._locations.items():
            yield f"{alias} = loc({text})"

    @staticmethod
    def _named(place: Place) -> str:
        return f"{quoted(place.function)}({quoted(place.file)}:{place.line}:{place.column + 1})"
