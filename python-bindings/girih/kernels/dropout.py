"""Dropout by random numbers without state."""

import girih as gr


@gr.kernel
def dropout(x: gr.In["N"], y: gr.Out["N"], p: gr.f32, seed: gr.i64, *, B: gr.const = 1024):
    """y[i] = x[i] / (1 - p) where gr.rand(seed, i) >= p, else 0. Whether an element is kept depends on the seed and
    its index alone, so the backward pass can ask again."""
    X, Y = x.tiles(B), y.tiles(B)
    for i in gr.tiles(Y):
        kept = gr.rand(seed, i * B + gr.arange(B)) >= p
        Y[i] = gr.where(kept, X[i].to(gr.f32) / (1.0 - p), 0.0).to(y.dtype)
