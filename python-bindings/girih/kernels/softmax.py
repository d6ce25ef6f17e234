"""Softmax over rows of any length."""

import girih as gr


@gr.kernel
def softmax(x: gr.In["M,N"], y: gr.Out["M,N"], *, BM: gr.const = 4, BN: gr.const = 1024):
    """y = exp(x) / sum(exp(x)) of each row. The row is read twice: once for its maximum and the sum of exponentials
    relative to the largest element so far, once for the quotients. For results of f32 the sum is of f64: next to the 1 of
    the largest element every addition of f32 may be off by half a place of the result, and there are many. A quotient is
    the product with both halves of the sum's inverse, rounded once."""
    wide = gr.f64 if y.dtype == gr.f32 else gr.f32
    X, Y = x.tiles(BM, BN, fill=float("-inf")), y.tiles(BM, BN)
    for m in gr.tiles(X.count[0]):
        top, total = gr.full((BM,), float("-inf")), gr.zeros((BM,), wide)
        for n in gr.range(X.count[1]):
            t = X[m, n].to(gr.f32)
            new = gr.maximum(top, gr.max(t, axis=1))
            # A row that has been all -inf so far has no exponential to be relative to.
            base = gr.where(new == float("-inf"), 0.0, new)
            here = gr.sum(gr.exp(t - base[:, None]).to(wide), axis=1)
            total = total * gr.exp(top - base).to(wide) + here
            top = new
        inverse = 1.0 / total
        high = inverse.to(gr.f32)
        low = (inverse - high.to(wide)).to(gr.f32)
        for n in gr.range(X.count[1]):
            weight = gr.exp(X[m, n].to(gr.f32) - top[:, None])
            Y[m, n] = gr.fma(weight, high[:, None], weight * low[:, None]).to(y.dtype)
