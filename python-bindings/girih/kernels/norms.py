"""Normalised rows of any length."""

import girih as gr


@gr.kernel
def layer_norm(
    x: gr.In["M,N"], weight: gr.In["N"], bias: gr.In["N"], y: gr.Out["M,N"], eps: gr.f32, *,
    BM: gr.const = 4, BN: gr.const = 1024,
):  # fmt: skip
    """y = (x - mean) / sqrt(variance + eps) · weight + bias, mean and variance of each row, the variance from the
    differences from the mean."""
    X, Y = x.tiles(BM, BN), y.tiles(BM, BN)
    W, B = weight.tiles(BN), bias.tiles(BN)
    for m in gr.tiles(X.count[0]):
        size = x.shape[1].to(gr.f32)
        total = gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            total += gr.sum(X[m, n].to(gr.f32), axis=1)
        mean = (total / size)[:, None]
        squares = gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            row, column = gr.coords(X[m, n])
            away = gr.where(column < x.shape[1], X[m, n].to(gr.f32) - mean, 0.0)
            squares += gr.sum(away * away, axis=1)
        scale = gr.rsqrt(squares / size + eps)[:, None]
        for n in gr.range(X.count[1]):
            normal = (X[m, n].to(gr.f32) - mean) * scale
            Y[m, n] = (normal * W[n].to(gr.f32) + B[n].to(gr.f32)).to(y.dtype)


@gr.kernel
def rms_norm(
    x: gr.In["M,N"], weight: gr.In["N"], y: gr.Out["M,N"], eps: gr.f32, *,
    BM: gr.const = 4, BN: gr.const = 1024,
):  # fmt: skip
    """y = x / sqrt(mean of squares + eps) · weight, of each row."""
    X, Y, W = x.tiles(BM, BN), y.tiles(BM, BN), weight.tiles(BN)
    for m in gr.tiles(X.count[0]):
        squares = gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            t = X[m, n].to(gr.f32)
            squares += gr.sum(t * t, axis=1)
        scale = gr.rsqrt(squares / x.shape[1].to(gr.f32) + eps)[:, None]
        for n in gr.range(X.count[1]):
            Y[m, n] = (X[m, n].to(gr.f32) * scale * W[n].to(gr.f32)).to(y.dtype)
