"""A matrix turned over."""

import girih as gr


@gr.kernel
def transpose(x: gr.In["M,N"], y: gr.Out["N,M"], *, BM: gr.const = 64, BN: gr.const = 64):
    """y = x transposed: read along its rows, written along those of y; the tile turns in shared memory."""
    X, Y = x.tiles(BM, BN), y.tiles(BN, BM)
    for m, n in gr.tiles(X):
        Y[n, m] = X[m, n].T
