"""Layout texts that the front end writes: the fragments of wgmma.

The compiler checks them against its layout library; see docs/Layout.md for the notation.
"""

from __future__ import annotations


def accumulator(rows: int, columns: int, warpgroups: int) -> str:
    """The layout of a wgmma accumulator of ``rows`` x ``columns`` over ``warpgroups`` warpgroups.

    PTX ISA 9.0, 9.7.15.5.1.1: two neighbouring columns and rows eight apart are a thread's first four
    registers; every further eight columns are four more.
    """
    repeats = []
    if columns > 8:
        repeats.append(f"register: [0,8] x {columns // 8}")
    atom = "{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}"
    return _over_rows(atom, repeats, rows, warpgroups)


def operand_a(rows: int, depth: int, bits: int, warpgroups: int) -> str:
    """The layout of operand A of wgmma in registers: ``rows`` x ``depth`` elements of ``bits`` bits over
    ``warpgroups`` warpgroups.

    PTX ISA 9.0, 9.7.15.5.1.1: a thread has 32 bits of a row, the same of the row eight below, and both again half
    an instruction's depth (of 256 bits) further on.
    """
    word, step = 32 // bits, 256 // bits
    bases = [f"[0,{1 << bit}]" for bit in range(word.bit_length() - 1)]
    bases += ["[8,0]", f"[0,{step // 2}]"]
    lanes = f"[[0,{word}],[0,{2 * word}],[1,0],[2,0],[4,0]]"
    repeats = []
    if depth > step:
        repeats.append(f"register: [0,{step}] x {depth // step}")
    atom = f"{{register: [{','.join(bases)}], lane: {lanes}, warp: [[16,0],[32,0]]}}"
    return _over_rows(atom, repeats, rows, warpgroups)


def _over_rows(atom: str, repeats: list[str], rows: int, warpgroups: int) -> str:
    """An instruction's layout, which has 64 rows, repeated over ``rows``: in a thread, then over warpgroups."""
    blocks = rows // (64 * warpgroups)
    if blocks > 1:
        repeats = [*repeats, f"register: [64,0] x {blocks}"]
    if warpgroups > 1:
        repeats = [*repeats, f"warpgroup: [{64 * blocks},0] x {warpgroups}"]
    repeat = f" repeat {{{', '.join(repeats)}}}" if repeats else ""
    return f"#wg.layout<{atom}{repeat}>"
