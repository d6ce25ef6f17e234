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
    blocks = rows // (64 * warpgroups)
    if blocks > 1:
        repeats.append(f"register: [64,0] x {blocks}")
    if warpgroups > 1:
        repeats.append(f"warpgroup: [{64 * blocks},0] x {warpgroups}")
    repeat = f" repeat {{{', '.join(repeats)}}}" if repeats else ""
    atom = "{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}"
    return f"#wg.layout<{atom}{repeat}>"
