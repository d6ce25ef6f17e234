"""Softmax over rows of any length."""

import girih as gr


@gr.kernel
def softmax(x: gr.In["M,N"], y: gr.Out["M,N"], *, BM: gr.const = 4, BN: gr.const = 1024):
    """y = exp(x) / sum(exp(x)) of each row. The row is read twice: once for its maximum and the sum of exponentials
    relative to the largest element so far, once for the quotients."""
    X, Y = x.tiles(BM, BN, fill=float("-inf")), y.tiles(BM, BN)
    for m in gr.tiles(X.count[0]):
        top, total = gr.full((BM,), float("-inf")), gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            t = X[m, n].to(gr.f32)
            new = gr.maximum(top, gr.max(t, axis=1))
            # A row that has been all -inf so far has no exponential to be relative to.
            base = gr.where(new == float("-inf"), 0.0, new)
            total = total * gr.exp(top - base) + gr.sum(gr.exp(t - base[:, None]), axis=1)
            top = new
        for n in gr.range(X.count[1]):
            Y[m, n] = (gr.exp(X[m, n].to(gr.f32) - top[:, None]) / total[:, None]).to(y.dtype)
