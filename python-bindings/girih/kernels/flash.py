"""Attention forward at tile level: softmax(Q · Kᵀ · scale) · V without the matrix of scores in memory."""

import girih as gr

LOG2E = 1.4426950408889634


@gr.function
def attend(q, K, V, j, acc, top, total, rows, cols, scale, score, masked, causal, shift):
    """One block of keys more: the sum of weighted values, the largest score and the sum of weights of each row.
    exp(scale * (s - top)) is one exp2 of one fma; ``shift`` is how many keys there are beyond the rows."""
    s = gr.dot(q, K[j, 0].T)
    row, col = rows[:, None], gr.arange(s.shape[1])[None, :] + j * s.shape[1]
    if score is not None:
        s = score(s * scale, row, col)
    unit = LOG2E if score is not None else scale * LOG2E
    if masked:
        seen = col < cols
        if causal:
            seen = seen & (col <= row + shift)
        s = gr.where(seen, s, float("-inf"))
    new = gr.maximum(top, gr.max(s, axis=1))
    base = gr.where(new == float("-inf"), 0.0, new) * unit  # 0: a row that sees no key yet
    p = gr.exp2(gr.fma(s, unit, -base[:, None]))
    shrink = gr.exp2(top * unit - base)
    acc = gr.dot(p.to(q.dtype), V[j, 0], acc * shrink[:, None])
    return acc, new, total * shrink + gr.sum(p, axis=1)


@gr.kernel
def flash_attention(
    q: gr.In["B,H,M,D"], k: gr.In["B,H,N,D"], v: gr.In["B,H,N,D"],
    o: gr.Out["B,H,M,D"], lse: gr.Out["B,H,M"], scale: gr.f32, *,
    causal: gr.const = False, score: gr.const = None,
    D: gr.const = 128, BM: gr.const = 128, BN: gr.const = 128,
):  # fmt: skip
    """O and the logarithm of the sum of exponentials of each row; ``scale`` is positive. With ``causal`` row i of M
    sees the keys up to N - M + i. ``score(s, row, column)`` changes the scaled scores: a bias, a soft cap, a window (-inf hides)."""
    for b, h, m in gr.tiles(q.shape[0], q.shape[1], gr.cdiv(q.shape[2], BM)):
        Q, K, V = q[b, h].tiles(BM, D), k[b, h].tiles(BN, D), v[b, h].tiles(BN, D)
        tile = Q[m, 0]
        rows = gr.arange(BM) + m * BM
        keys = k.shape[2]
        shift = keys - q.shape[2]
        end = max(min(keys, (m + 1) * BM + shift), 0) if causal else keys  # keys that some row sees
        whole = (
            max(min(end, m * BM + shift + 1), 0) // BN if causal else keys // BN
        )  # blocks that all rows see
        acc, top, total = gr.zeros((BM, D)), gr.full((BM,), float("-inf")), gr.zeros((BM,))
        for j in gr.range(whole):
            acc, top, total = attend(
                tile, K, V, j, acc, top, total, rows, keys, scale, score, False, causal, shift
            )
        for j in gr.range(whole, gr.cdiv(end, BN)):
            acc, top, total = attend(
                tile, K, V, j, acc, top, total, rows, keys, scale, score, True, causal, shift
            )
        full = gr.where(total == 0.0, 1.0, total)
        o[b, h].tiles(BM, D)[m, 0] = (acc / full[:, None]).to(o.dtype)
        unit = 1.0 if score is not None else scale
        lse[b, h].tiles(BM)[m] = top * unit + gr.log2(total) * (1 / LOG2E)
