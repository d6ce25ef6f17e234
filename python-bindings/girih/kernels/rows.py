"""What becomes of each row of a matrix: sums, maxima, running sums."""

import girih as gr


@gr.kernel
def row_sum(x: gr.In["M,N"], y: gr.Out["M"], *, BM: gr.const = 4, BN: gr.const = 1024):
    """y[m] = the sum of row m."""
    X, Y = x.tiles(BM, BN), y.tiles(BM)
    for m in gr.tiles(Y):
        total = gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            total += gr.sum(X[m, n].to(gr.f32), axis=1)
        Y[m] = total.to(y.dtype)


@gr.kernel
def row_argmax(
    x: gr.In["M,N"], top: gr.Out["M"], where: gr.Out["M"], *, BM: gr.const = 4, BN: gr.const = 1024
):  # fmt: skip
    """The largest element of each row and the index of the first one that is as large."""
    X, Top, Where = x.tiles(BM, BN, fill=float("-inf")), top.tiles(BM), where.tiles(BM)
    for m in gr.tiles(Top):
        best, index = gr.full((BM,), float("-inf"), x.dtype), gr.zeros((BM,), gr.i32)
        for n in gr.range(X.count[1]):
            t = X[m, n].load()
            here = gr.max(t, axis=1)
            index = gr.where(here > best, n * BN + gr.argmax(t, axis=1), index)
            best = gr.maximum(best, here)
        Top[m] = best
        Where[m] = index


@gr.kernel
def row_cumsum(x: gr.In["M,N"], y: gr.Out["M,N"], *, BM: gr.const = 4, BN: gr.const = 1024):
    """y[m, n] = the sum of x[m, 0] to x[m, n]."""
    X, Y = x.tiles(BM, BN), y.tiles(BM, BN)
    for m in gr.tiles(X.count[0]):
        before = gr.zeros((BM,))
        for n in gr.range(X.count[1]):
            t = X[m, n].to(gr.f32)
            Y[m, n] = (gr.cumsum(t, axis=1) + before[:, None]).to(y.dtype)
            before += gr.sum(t, axis=1)
