"""A product of matrices at tile level whose k steps are dealt out evenly, wherever tiles end."""

import girih as gr


@gr.kernel
def stream_k_matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], ctas: gr.i32, *,
    BM: gr.const = 128, BN: gr.const = 128, BK: gr.const = 64,
):  # fmt: skip
    """C = A · B by ``ctas`` CTAs, which wait for one another: at most as many as the device holds at once. The
    k steps of all tiles are one row; each CTA takes a run of it. Who begins a tile adds up what the others hand
    in, from the first k step to the last, so the order of a sum depends on ``ctas`` and the shapes alone. There may be
    2^31 / ctas steps."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    steps = max(A.count[1], 1)  # of nothing, too, the sum has to be written
    units = C.count[0] * C.count[1] * steps
    parts = gr.workspace((ctas, BM, BN), gr.f32)
    done = gr.workspace((ctas,), gr.i32, zero=True)
    for w in gr.tiles(ctas, resident=True):
        low, high = w * units // ctas, (w + 1) * units // ctas
        for t in gr.range(low // steps, gr.cdiv(high, steps)):
            m, n = t // C.count[1], t % C.count[1]
            begin, end = max(low - t * steps, 0), min(high - t * steps, steps)
            acc = gr.zeros((BM, BN), gr.f32)
            for k in gr.range(begin, min(end, A.count[1])):
                acc = gr.dot(A[m, k], B[k, n], acc)
            if begin > 0:  # the run's first tile, which another CTA has begun
                parts[w].tiles(BM, BN)[0, 0] = acc
                gr.signal(done, w)
            else:
                last = ((t + 1) * steps * ctas - 1) // units  # who has the tile's last step
                for other in gr.range(w + 1, last + 1):
                    gr.wait_for(done, other, 1)
                    acc = acc + parts[other].tiles(BM, BN)[0, 0]
                C[m, n] = acc.to(c.dtype)
