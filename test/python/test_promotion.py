"""Which type two operands meet in: every pair, compared with the table in docs/Language.md."""

import re
from pathlib import Path

import pytest

import girih as gr

LANGUAGE = Path(__file__).resolve().parents[2] / "docs" / "Language.md"


def table():
    """Pairs of what the table's rows and columns name, and the cell where they meet."""
    text = LANGUAGE.read_text()
    start = text.index("| meets |")
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in text[start : text.index("\n\n", start)].splitlines()
    ]
    columns = rows[0][1:]
    return [
        (row[0], column, cell)
        for row in rows[2:]
        for column, cell in zip(columns, row[1:], strict=True)
    ]


@gr.kernel
def meet(y: gr.Out["N"], *, left: gr.const, right: gr.const, expected: gr.const, scalars: gr.const):
    for i in gr.tiles(1):
        condition = gr.zeros((8,), gr.b1)
        p = gr.zeros((8,), left)
        q = gr.zeros((8,), right) if right not in (2, 0.5, True) else right
        gr.static_assert(gr.where(condition, p, q).dtype == expected, "tiles meet in another type")
        gr.static_assert(gr.where(condition, q, p).dtype == expected, "the order matters")
        if scalars:
            s = gr.max(p)
            t = gr.max(q) if right not in (2, 0.5, True) else right
            gr.static_assert((s if i < 1 else t).dtype == expected, "scalars meet in another type")


NUMBERS = {"int": 2, "float": 0.5, "bool": True}


def types():
    return list(NUMBERS) + [dtype.name for dtype in gr.dtypes.ALL]


def test_the_table_has_every_pair():
    pairs = {(row, column) for row, column, _ in table()}
    names = [name for name in types() if name not in NUMBERS]
    assert pairs == {(row, column) for row in names for column in types()}


@pytest.mark.parametrize(("left", "right", "cell"), table())
def test_pair(left, right, cell):
    dtypes = {dtype.name: dtype for dtype in gr.dtypes.ALL}
    p, q = dtypes[left], NUMBERS[right] if right in NUMBERS else dtypes[right]
    y = gr.empty((8,), gr.f32)
    scalars = not {left, right} & {"e4m3", "e5m2"}  # gr.max works on no floats of 8 bits
    if cell == "cast":
        with pytest.raises(gr.CompileError, match=re.escape(f"of {left} and {right} needs a cast")):
            meet.emit(y, left=p, right=q, expected=p, scalars=False)
    else:
        meet.emit(y, left=p, right=q, expected=dtypes[cell], scalars=scalars)
