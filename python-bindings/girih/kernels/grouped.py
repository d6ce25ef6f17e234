"""Products of groups of rows of one packed matrix with a matrix of their own each, at tile level."""

import girih as gr


@gr.kernel
def grouped_matmul(
    a: gr.In["T,K"], b: gr.In["G,K,N"], offsets: gr.In["G1"], c: gr.Out["T,N"], rows: gr.i32, *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64,
):  # fmt: skip
    """C[offsets[g] : offsets[g + 1]] = A[offsets[g] : offsets[g + 1]] · B[g]. ``rows`` is what the largest group
    has, or more; a group may have any number of rows, none included, and nothing outside of it is written."""
    for g, m, n in gr.tiles(b.shape[0], gr.cdiv(rows, BM), gr.cdiv(c.shape[1], BN)):
        low, high = offsets[g], offsets[g + 1]
        if m * BM < high - low:
            A, B, C = a[low:high].tiles(BM, BK), b[g].tiles(BK, BN), c[low:high].tiles(BM, BN)
            acc = gr.zeros((BM, BN), gr.f32)
            for k in gr.range(A.count[1]):
                acc = gr.dot(A[m, k], B[k, n], acc)
            C[m, n] = acc.to(c.dtype)
