# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads nvdisasm's listing and finds the loop that a tensor-core kernel spends its time in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# "/*0980*/               @P1 BRA `(.L_x_7) ;"
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"^(\.L_[\w.]+|\.text\.\S+):")
_TARGET = re.compile(r"`\((\.L_\w+)\)")

# A branch that every thread takes, so that what follows is reached another way if at all.
_LEAVES = ("EXIT", "RET", "KILL")


@dataclass
class Instruction:
    """One SASS instruction; ``predicate`` is "" if it is always executed."""

    address: int
    predicate: str
    opcode: str
    operands: str

    @property
    def target(self) -> str | None:
        """The label that it may jump to."""
        found = _TARGET.search(self.operands)
        return found.group(1) if found and self.opcode.split(".")[0] in ("BRA", "JMP") else None


@dataclass
class Function:
    """The instructions of one kernel, and for each label the index of the instruction after it."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> list[Function]:
    """The functions of an ``nvdisasm -c`` listing, in its order."""
    functions: list[Function] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            name = label.group(1)
            if name.startswith(".text."):
                functions.append(Function(name.removeprefix(".text.")))
            elif functions:
                functions[-1].labels[name] = len(functions[-1].instructions)
        elif functions and (found := _INSTRUCTION.match(line)):
            address, predicate, opcode, operands = found.groups()
            functions[-1].instructions.append(
                Instruction(int(address, 16), predicate or "", opcode, operands)
            )
    return functions


def successors(function: Function, index: int) -> list[int]:
    """The instructions that may follow one."""
    instruction = function.instructions[index]
    head = instruction.opcode.split(".")[0]
    follows = []
    # BRA with an operand before the label, as in "BRA P1, `(...)", depends on it.
    conditional = bool(instruction.predicate) or (
        instruction.target is not None and not instruction.operands.startswith("`")
    )
    if (conditional or (head not in _LEAVES and instruction.target is None)) and (
        index + 1 < len(function.instructions)
    ):
        follows.append(index + 1)
    if instruction.target is not None and instruction.target in function.labels:
        at = function.labels[instruction.target]
        if at < len(function.instructions):
            follows.append(at)
    return follows


def natural_loops(function: Function) -> list[set[int]]:
    """The loops of a function: for each edge back to an instruction that every path to the edge passes,
    everything that reaches the edge without passing that instruction again. Code that the assembler put
    out of line (a spin that tries again) is in the loop that it returns to."""
    count = len(function.instructions)
    after = [successors(function, index) for index in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for index, follows in enumerate(after):
        for follow in follows:
            before[follow].append(index)

    loops: dict[int, set[int]] = {}
    for index, follows in enumerate(after):
        for head in follows:
            if head > index or not _dominates(head, index, after):
                continue
            body = loops.setdefault(head, {head})
            pending = [index]
            while pending:
                at = pending.pop()
                if at not in body:
                    body.add(at)
                    pending += before[at]
    return list(loops.values())


def _dominates(head: int, index: int, after: list[list[int]]) -> bool:
    """Whether every path from the first instruction to ``index`` passes ``head``."""
    if head == 0:
        return True
    seen, pending = {0}, [0]
    while pending:
        at = pending.pop()
        if at == index:
            return False
        for follow in after[at]:
            if follow != head and follow not in seen:
                seen.add(follow)
                pending.append(follow)
    return True


def instructions_per_wgmma(function: Function) -> float | None:
    """Instructions in the main loop for each wgmma in it, spins counted once; None without such a loop.

    The main loop is the innermost one with an HGMMA, QGMMA or IGMMA; of several (a kernel with more
    than one) the one with the most wgmmas.
    """

    def wgmmas(body: set[int]) -> int:
        return sum(function.instructions[at].opcode[1:5] == "GMMA" for at in body)

    candidates = [body for body in natural_loops(function) if wgmmas(body)]
    innermost = [body for body in candidates if not any(other < body for other in candidates)]
    if not innermost:
        return None
    main = max(innermost, key=wgmmas)
    return len(main) / wgmmas(main)
