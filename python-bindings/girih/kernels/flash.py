"""Attention forward at tile level: softmax(Q · Kᵀ · scale) · V without the matrix of scores in memory."""

import girih as gr

LOG2E = 1.4426950408889634


@gr.function
def attend(given, j, acc, top, total, masked):
    """One block of keys more: the sum of weighted values, the largest score and sums of every eighth weight of each
    row. exp(scale * (s - top)) is one exp2 of one fma; ``shift`` is how many keys there are beyond the rows."""
    q, K, V, rows, cols, scale, score, causal, shift = given
    s = gr.dot(q, K[j, 0].T)
    BM, BN = s.shape
    row, col = rows[:, None], gr.arange(BN)[None, :] + j * BN
    if score is not None:
        s = score(s * scale, row, col)
    unit = LOG2E if score is not None else scale * LOG2E
    if masked:
        end = gr.minimum(cols, row + shift + 1) if causal else cols
        s = gr.where(col < end, s, float("-inf"))
    new = gr.maximum(top, gr.max(s, axis=1))
    hides = masked or score is not None  # then a row may see no key yet
    base = (gr.where(new == float("-inf"), 0.0, new) if hides else new) * unit
    p = gr.exp2(gr.fma(s, unit, -base[:, None]))
    shrink = gr.exp2(gr.fma(top, unit, -base))[:, None]
    total = gr.fma(total, shrink, gr.sum(p.reshape(BM, BN // 8, 8), axis=1))
    return gr.dot(p.to(q.dtype), V[j, 0], acc * shrink), new, total


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
        keys = k.shape[2]
        shift = keys - q.shape[2]
        end = max(min(keys, (m + 1) * BM + shift), 0) if causal else keys  # keys that some row sees
        whole = max(min(end, m * BM + shift + 1), 0) if causal else keys  # keys that all rows see
        given = Q[m, 0].load(), K, V, gr.arange(BM) + m * BM, keys, scale, score, causal, shift
        acc, top, total = gr.zeros((BM, D)), gr.full((BM,), float("-inf")), gr.zeros((BM, 8))
        for j in gr.range(whole // BN):
            acc, top, total = attend(given, j, acc, top, total, False)
        for j in gr.range(whole // BN, gr.cdiv(end, BN)):
            acc, top, total = attend(given, j, acc, top, total, True)
        total = gr.sum(total, axis=1)
        full = gr.where(total == 0.0, 1.0, total)
        o[b, h].tiles(BM, D)[m, 0] = (acc / full[:, None]).to(o.dtype)
        unit = 1.0 if score is not None else scale
        lse[b, h].tiles(BM)[m] = top * unit + gr.log2(total) * (1 / LOG2E)
