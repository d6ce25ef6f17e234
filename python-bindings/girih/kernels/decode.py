"""Decoding attention at tile level: few queries against a long cache in pages, split over CTAs."""

import girih as gr

LOG2E = 1.4426950408889634


@gr.kernel
def decode_parts(
    q: gr.In["B,H,R,D"], keys: gr.In["P,H,L,D"], values: gr.In["P,H,L,D"], pages: gr.In["B,S"], lengths: gr.In["B"],
    parts: gr.Out["B,H,Z,R,D"], tops: gr.Out["B,H,Z,R"], totals: gr.Out["B,H,Z,R"], scale: gr.f32, *,
    R: gr.const = 16, L: gr.const = 64, D: gr.const = 128, precision: gr.const = None,
):  # fmt: skip
    """Share z of the pages of sequence b, for the R query rows of key head h: the sum of weighted values, the
    largest score (in powers of 2) and the sum of weights. Page s of a sequence is ``pages[b, s]`` of the cache.
    Arrays of f32 are multiplied exactly, or with ``precision="tf32"`` on tensor cores."""
    for b, h, z in gr.tiles(parts.shape[0], parts.shape[1], parts.shape[2]):
        length = lengths[b]
        count = gr.cdiv(length, L)
        share = gr.cdiv(count, parts.shape[2])
        query = q[b, h].tiles(R, D)[0, 0]
        acc, top, total = gr.zeros((R, D)), gr.full((R,), float("-inf")), gr.zeros((R,))
        for s in gr.range(z * share, min(count, (z + 1) * share)):
            page = pages[b, s]
            left = length - s * L  # what lies behind the last key may be anything, NaN too
            K, V = keys[page, h].tiles(L, D), values[page, h][:left].tiles(L, D)
            x = gr.dot(query, K[0, 0].T, precision=precision) * (scale * LOG2E)
            x = gr.where(gr.arange(L)[None, :] + s * L < length, x, float("-inf"))
            new = gr.maximum(top, gr.max(x, axis=1))
            p = gr.exp2(x - new[:, None])
            shrink = gr.exp2(top - new)
            acc = gr.dot(p.to(q.dtype), V[0, 0], acc * shrink[:, None], precision=precision)
            top, total = new, total * shrink + gr.sum(p, axis=1)
        parts[b, h, z].tiles(R, D)[0, 0] = acc
        tops[b, h, z].tiles(R)[0] = top
        totals[b, h, z].tiles(R)[0] = total


@gr.kernel
def merge_parts(
    parts: gr.In["B,H,Z,R,D"], tops: gr.In["B,H,Z,R"], totals: gr.In["B,H,Z,R"], o: gr.Out["B,H,R,D"], *,
    R: gr.const = 16, D: gr.const = 128,
):  # fmt: skip
    """O from the parts of all shares, in the order of the shares."""
    for b, h in gr.tiles(o.shape[0], o.shape[1]):
        acc, top, total = gr.zeros((R, D)), gr.full((R,), float("-inf")), gr.zeros((R,))
        for z in gr.range(parts.shape[2]):
            t = tops[b, h, z].tiles(R)[0]
            new = gr.maximum(top, t)
            base = gr.where(new == float("-inf"), 0.0, new)
            old, here = gr.exp2(top - base), gr.exp2(t - base)
            acc = acc * old[:, None] + parts[b, h, z].tiles(R, D)[0, 0] * here[:, None]
            top, total = new, total * old + totals[b, h, z].tiles(R)[0] * here
        o[b, h].tiles(R, D)[0, 0] = (acc / gr.where(total == 0.0, 1.0, total)[:, None]).to(o.dtype)
