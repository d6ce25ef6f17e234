"""Attention at wg level, as FlashAttention-3 does it: o = softmax(scale · q · kᵀ) · v for each of Z heads."""

import girih as gr
from girih import wg

INFINITY = float("inf")
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453


@gr.function
def count_blocks(first, rows, columns, BM, BN, causal):
    """Blocks of keys that the queries from ``first`` on see (at least one, where all may be masked), and how many of
    those before the last one need no mask. Causal: query i of M sees keys up to i + N - M."""
    end, plain = columns, columns
    if causal:
        end = min(columns, first + BM + columns - rows)
        plain = min(columns, max(first + columns - rows + 1, 0))
    blocks = gr.cdiv(max(end, 1), BN)
    return blocks, min(blocks - 1, plain // BN)


@gr.function
def masked(s, first, block, rows, columns, causal):
    """The scores of a block, minus infinity where there is no key or, causal, one that comes later."""
    column = block * s.shape[1] + gr.arange(s.shape[1])[None, :]
    end = columns
    if causal:
        end = gr.minimum(columns, gr.arange(s.shape[0])[:, None] + (first + columns - rows + 1))
    return gr.where(column < end, s, -INFINITY)


@gr.function
def softmax(s, top, scale, sees_all):
    """exp2(scale · (s - highest so far)) row by row (0 where nothing is seen yet), the new highest, what earlier sums
    shrink by, and the sums of every eighth weight: those that a thread has itself."""
    higher = gr.maximum(top, gr.max(s, axis=1))
    zero = (higher if sees_all else gr.where(higher == -INFINITY, 0.0, higher)) * scale
    weights, shrink = gr.exp2(gr.fma(s, scale, -zero[:, None])), gr.exp2(gr.fma(top, scale, -zero))
    sums = gr.sum(weights.reshape(s.shape[0], s.shape[1] // 8, 8), axis=1)
    return weights, higher, shrink[:, None], sums


@gr.function
def step(q, keys, values, turn, acc, p, top, total, scale, mask):
    """One more block: its scores are multiplied while the block before it is added up, and its softmax is computed
    under that product. ``mask`` is None, or what ``masked`` takes."""
    ks, vs = keys.get(), values.get()
    turn.take()
    s = wg.mma(q, ks.k, wg.acc(p.shape))
    acc = wg.mma(p, vs.v, acc)
    turn.pass_on()
    s = wg.wait(s)  # the product with v goes on
    keys.free(ks)
    if mask is not None:
        s = masked(s, *mask)
    weights, top, shrink, sums = softmax(s, top, scale, mask is None)
    total = gr.fma(total, shrink, sums)
    acc = wg.wait(acc)
    values.free(vs)
    return acc * shrink, weights.to(p.dtype).as_operand_a(), top, total


@gr.kernel
def attention_ws(
    q: gr.In["Z,M,D"], k: gr.In["Z,N,D"], v: gr.In["Z,N,D"], o: gr.Out["Z,M,D"], lse: gr.Out["Z,M"],
    scale: gr.f32, *, D: gr.const = 128, BM: gr.const = 128, BN: gr.const = 128, causal: gr.const = False,
):  # fmt: skip
    """Two warpgroups, each with half of a tile's queries, take turns at multiplying; ``lse`` is the log-sum-exp."""
    Q, K, V, OUT = q.tiles(1, BM, D), k.tiles(1, BN, D), v.tiles(1, BN, D), o.tiles(1, BM, D)
    work = gr.tiles(OUT)
    queries = wg.ring(1, q=wg.smem(Q))
    keys = wg.ring(2, k=wg.smem(K, transposed=True))
    values = wg.ring(2, v=wg.smem(V))
    out = wg.outbox(1, wg.smem((64, 64), o.dtype))
    turn = wg.turns(2)
    rows, columns = q.shape[1], k.shape[1]

    @wg.role(warps=1, registers=24)
    def load():
        for z, m, d in work:
            blocks, plain = count_blocks(m * BM, rows, columns, BM, BN, causal)
            for i, s in queries.fill(1):
                wg.tma(Q[z, m, 0], s.q)
            for i, s in keys.fill(blocks):  # the last first: that is where masks are
                wg.tma(K[z, blocks - 1 - i, 0], s.k)
                for j, t in values.fill(1):
                    wg.tma(V[z, blocks - 1 - i, 0], t.v)

    @wg.role(warpgroups=2, registers=240)
    def multiply():
        c = scale * LOG2_E  # exponentials are to base 2
        for z, m, d in work:
            first = m * BM
            blocks, plain = count_blocks(first, rows, columns, BM, BN, causal)
            qs, ks = queries.get(), keys.get()
            a = qs.q.as_operand_a()  # the queries stay in registers
            queries.free(qs)
            s = wg.wait(wg.mma(a, ks.k, wg.acc((BM, BN))))
            keys.free(ks)
            s = masked(s, first, blocks - 1, rows, columns, causal)
            weights, top, shrink, total = softmax(s, gr.full((BM,), -INFINITY, gr.f32), c, False)
            p, acc = weights.to(q.dtype).as_operand_a(), gr.zeros((BM, D), gr.f32)
            if causal:
                for i in gr.range(blocks - 1 - plain):
                    mask = first, blocks - 2 - i, rows, columns, causal
                    acc, p, top, total = step(a, keys, values, turn, acc, p, top, total, c, mask)
            for i in gr.range(plain if causal else blocks - 1):
                acc, p, top, total = step(a, keys, values, turn, acc, p, top, total, c, None)
            vs = values.get()
            acc = wg.wait(wg.mma(p, vs.v, acc))
            values.free(vs)
            total = gr.sum(total, axis=1)
            acc = acc * gr.where(total == 0.0, 0.0, 1.0 / total)[:, None]
            for t in acc.chunks(BM // 2, 64):
                with out.slot() as slot:
                    slot.write(t.to(o.dtype))
                    wg.tma_store(slot, OUT[z, m, 0].at(t))
            lse.tiles(1, BM)[z, m] = (gr.fma(top, c, gr.log2(total)) * LN_2)[None, :]
