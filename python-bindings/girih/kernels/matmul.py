"""C[M,N] = A[M,K] · B[K,N] at wg level, in the two ways in which two warpgroups share the work.

Both are persistent: as many CTAs as the device has multiprocessors, one loading warp and two multiplying
warpgroups in each, tiles in an order that reuses operands in the L2 cache. With ``cluster=2`` two CTAs
compute tiles that lie below each other, and each fetches half of the operand that both need.
"""

import girih as gr
from girih import wg


@gr.function
def load_tiles(work, ring, A, B, cluster):
    """The loading role: the operands of every k step of every tile. The CTAs of a cluster lie below each other, so
    they share B."""
    for m, n in work:
        for k, s in ring.fill(A.count[1]):
            wg.tma(A[m, k], s.a)
            wg.tma(B[k, n], s.b, multicast=cluster > 1)


@gr.function
def store_tile(acc, out, tile, rows, columns):
    """The epilogue: an accumulator, in chunks of columns, converted and sent to its place."""
    for t in acc.chunks(rows, columns):
        with out.slot() as o:
            o.write(t.to(o.dtype))
            wg.tma_store(o, tile.at(t))


@gr.kernel
def matmul_cooperative(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 256, BK: gr.const = 64, cluster: gr.const = 1,
):  # fmt: skip
    """Both warpgroups work on one tile, each on half of its rows."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    work = gr.tiles(C, ctas=gr.sms(), order=gr.grouped(8), cluster=(cluster, 1))
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))
    columns = 128 // c.dtype.bytes  # the epilogue sends 128 bytes of a row at a time
    out = wg.outbox(2, wg.smem((BM // 2, columns), c.dtype))

    @wg.role(warps=1, registers=40)
    def load():
        load_tiles(work, ring, A, B, cluster)

    @wg.role(warpgroups=2, registers=232)
    def multiply():
        for m, n in work:
            acc = wg.acc(C)
            for k, s in ring.drain(A.count[1], lag=1):
                acc = wg.mma(s.a, s.b, acc)
            store_tile(acc, out, C[m, n], BM // 2, columns)


@gr.kernel
def matmul_pingpong(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 64, BN: gr.const = 256, BK: gr.const = 64, cluster: gr.const = 1,
):  # fmt: skip
    """Each warpgroup works on every other tile: one multiplies while the other stores."""
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    work = gr.tiles(C, ctas=gr.sms(), order=gr.grouped(8), cluster=(cluster, 1))
    ring = wg.ring(readers="one", a=wg.smem(A), b=wg.smem(B))
    columns = 128 // c.dtype.bytes
    out = wg.outbox(2, wg.smem((BM, columns), c.dtype))
    multiplying = wg.turns(2)
    storing = wg.turns(2)

    @wg.role(warps=1, registers=40)
    def load():
        load_tiles(work, ring, A, B, cluster)

    @wg.role(warpgroups=2, each=True, registers=232)
    def multiply():
        steps = A.count[1]
        ring.skip(wg.warpgroup() * steps)  # the slots of the first tile are warpgroup 0's
        for m, n in work[wg.warpgroup() :: 2]:
            acc = wg.acc(C)
            multiplying.take()
            for k, s in ring.drain(steps, lag=1):
                acc = wg.mma(s.a, s.b, acc)
                if k == steps - 1:
                    multiplying.pass_on()  # all is issued; it need not be done
            ring.skip(steps)
            storing.take()
            store_tile(acc, out, C[m, n], BM, columns)
            storing.pass_on()
