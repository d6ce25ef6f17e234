"""Rows of a table by number."""

import girih as gr


@gr.kernel
def embedding(
    table: gr.In["V,D"], ids: gr.In["N"], y: gr.Out["N,D"], *, BN: gr.const = 16, BD: gr.const = 128
):  # fmt: skip
    """y[n] = table[ids[n]]; a number that the table does not have gives zeros."""
    Ids, Y = ids.tiles(BN), y.tiles(BN, BD)
    for n, d in gr.tiles(Y):
        Y[n, d] = table.block((Ids[n], d * BD), (BN, BD))
