"""Products of matrices at tile level: plain, with a bias and an activation, batched, and with K split over CTAs."""

import girih as gr


@gr.kernel
def matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 256, BK: gr.const = 64,
):  # fmt: skip
    """C = A · B, persistent, in an order that reuses operands in the L2 cache."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    for m, n in gr.tiles(C, ctas=gr.sms(), order=gr.grouped(8)):
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        C[m, n] = acc.to(c.dtype)


@gr.kernel
def linear(
    x: gr.In["M,K"], w: gr.In["K,N"], bias: gr.In["N"], y: gr.Out["M,N"], *,
    activation: gr.const = None, BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64,
):  # fmt: skip
    """Y = activation(X · W + bias); the activation is a function of a tile of f32, None for none."""
    X, W, Bias, Y = x.tiles(BM, BK), w.tiles(BK, BN), bias.tiles(BN), y.tiles(BM, BN)
    for m, n in gr.tiles(Y):
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(X.count[1]):
            acc = gr.dot(X[m, k], W[k, n], acc)
        out = acc + Bias[n].to(gr.f32)
        if activation is not None:
            out = activation(out)
        Y[m, n] = out.to(y.dtype)


@gr.kernel
def batched_matmul(
    a: gr.In["B,M,K"], b: gr.In["B,K,N"], c: gr.Out["B,M,N"], *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64,
):  # fmt: skip
    """C[i] = A[i] · B[i] for every i."""
    for i, m, n in gr.tiles(c.shape[0], gr.cdiv(c.shape[1], BM), gr.cdiv(c.shape[2], BN)):
        A, B, C = a[i].tiles(BM, BK), b[i].tiles(BK, BN), c[i].tiles(BM, BN)
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        C[m, n] = acc.to(c.dtype)


@gr.kernel
def split_k_matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], parts: gr.Out["S,M,N"], *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64,
):  # fmt: skip
    """parts[s] = the share of k steps of CTA row s of A · B; ``sum_parts`` adds them up, always in one order."""
    for s, m, n in gr.tiles(
        parts.shape[0], gr.cdiv(parts.shape[1], BM), gr.cdiv(parts.shape[2], BN)
    ):
        A, B, P = a.tiles(BM, BK), b.tiles(BK, BN), parts[s].tiles(BM, BN)
        share = gr.cdiv(A.count[1], parts.shape[0])
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(s * share, min(A.count[1], (s + 1) * share)):
            acc = gr.dot(A[m, k], B[k, n], acc)
        P[m, n] = acc


@gr.kernel
def sum_parts(parts: gr.In["S,M,N"], c: gr.Out["M,N"], *, BM: gr.const = 32, BN: gr.const = 128):
    """C = the sum of parts[s] over s, from the first to the last."""
    C = c.tiles(BM, BN)
    for m, n in gr.tiles(C):
        acc = gr.zeros((BM, BN), gr.f32)
        for s in gr.range(parts.shape[0]):
            acc = acc + parts[s].tiles(BM, BN)[m, n]
        C[m, n] = acc.to(c.dtype)
