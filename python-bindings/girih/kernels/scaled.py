"""Products of 8-bit floats at tile level: sums promoted to f32 after every block of K, scales per block."""

import girih as gr


@gr.kernel
def scaled_matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], scale_a: gr.In["M,KB"], scale_b: gr.In["KB,NB"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 128,
):  # fmt: skip
    """C = sum over blocks k of (A[:, k] · B[k, :]) * scale_a[:, k] * scale_b[k, n]: a scale for each row of A and
    block of K, and for each block of B. A product of one block is an accumulation of its own, so what tensor cores
    cut off in it does not add up over K."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    for m, n in gr.tiles(C):
        acc = gr.zeros((BM, BN), gr.f32)
        for k in gr.range(A.count[1]):
            rows = scale_a.block((m * BM, k), (BM, 1)).load()
            acc = acc + gr.dot(A[m, k], B[k, n]) * (rows * scale_b[k, n])
        C[m, n] = acc.to(c.dtype)
