"""How often each number occurs."""

import girih as gr


@gr.kernel
def histogram(x: gr.In["N"], bins: gr.InOut["B"], *, BLOCK: gr.const = 1024):
    """bins[k] += how often k occurs in x; numbers without a bin are not counted."""
    X = x.tiles(BLOCK)
    for i in gr.tiles(X):
        t = X[i].load()
        counted = (gr.coords(X[i]) < x.shape[0]) & (t >= 0) & (t < bins.shape[0])
        gr.atomic_add(bins, t, 1, mask=counted)
