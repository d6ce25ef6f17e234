# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the front end writes does not depend on how it finds out what loops carry, and costs no more for deep nests."""

import ast
import dataclasses
import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import girih as gr
from girih.lang import loops, visitor
from girih.lang.module import ArraySignature, emit_module

sys.path.insert(0, str(Path(__file__).absolute().parents[2] / "bench"))
from _kernels import attention, gemm, tile_attention

VECTOR = ArraySignature(gr.f32, rank=1, contiguous=0, aligned=True)


@gr.kernel
def nest(x: gr.In["N"], y: gr.Out["N"], n: gr.i32):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(X):
        total = X[i]
        for a in gr.range(n):
            for b in gr.range(n):
                if a < b:
                    for c in gr.range(n):
                        total = total + c
        Y[i] = total


@gr.kernel
def search(x: gr.In["N"], y: gr.Out["N"], n: gr.i32):
    X, Y = x.tiles(128), y.tiles(128)
    for i in gr.tiles(X):
        best, at, left = X[i], 0, n
        while left > 0:
            left = left - 1
            if gr.max(best) < 1.0:
                best = best + X[i]
                at = left
            else:
                for _ in gr.range(left):
                    best = best * 0.5
        Y[i] = best + at


def normalised(text: str) -> str:
    """The text with values and locations numbered in the order in which they appear."""
    numbers: dict[str, str] = {}
    count = itertools.count()
    return re.sub(
        r"%\w+|#loc\d+", lambda name: numbers.setdefault(name[0], f"@{next(count)}"), text
    )


def emitted(kernel: Any, **signature: Any) -> str:
    return emit_module(kernel.definition, kernel.parameters, signature)[0]


TEXTS = {
    "nest": lambda: emitted(nest, x=VECTOR, y=VECTOR),
    "search": lambda: emitted(search, x=VECTOR, y=VECTOR),
    "gemm": lambda: gemm(128, 128).mlir,
    "attention at wg level": lambda: attention(64, True).mlir,
    "attention at tile level": lambda: tile_attention(128, True).mlir,
}


def body(text: str) -> str:
    """A module's text without its table of locations."""
    return normalised(text.split("\n#loc")[0])


@pytest.mark.parametrize("name", TEXTS)
def test_loops_carry_the_same_if_each_is_rehearsed_for_itself(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXTS[name]()
    foresee = loops.foresee

    def alone(visitor: visitor.Visitor, look: Any) -> Any:
        visitor.foreseen = None
        return foresee(visitor, look)

    monkeypatch.setattr(loops, "foresee", alone)
    assert body(text) == body(TEXTS[name]())


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_rehearsal_overlooks_is_found_when_it_is_emitted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXTS[name]()
    foresee, overlooked = loops.foresee, []

    def careless(visitor: visitor.Visitor, look: Any) -> Any:
        outcome = foresee(visitor, look)
        if not visitor.rehearsing and outcome.names:
            overlooked.append(outcome.names[-1])
            return dataclasses.replace(outcome, names=outcome.names[:-1])
        return outcome

    monkeypatch.setattr(loops, "foresee", careless)
    assert body(text) == body(TEXTS[name]())
    assert overlooked


def test_a_nest_is_emitted_twice_however_deep_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = []
    visit = visitor.Visitor.visit_Assign

    def counted(self: visitor.Visitor, node: ast.Assign) -> None:
        visits.append(ast.unparse(node))
        visit(self, node)

    monkeypatch.setitem(visitor._HANDLERS, ast.Assign, counted)
    emitted(nest, x=VECTOR, y=VECTOR)
    assert visits.count("total = total + c") == 2
