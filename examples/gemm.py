"""A Hopper GEMM at wg level: C[M,N] = A[M,K] · B[K,N], compiled, run and checked against float64."""

import girih as gr
from girih import wg


@gr.kernel
def matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 256, BK: gr.const = 64, persistent: gr.const = True,
):
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    work = gr.tiles(C, ctas=gr.sms() if persistent else None, order=gr.grouped(8))
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))        # as many slots as fit, at most four
    EN = 128 // c.dtype.bytes                         # the epilogue sends chunks of 128 bytes a row
    out = wg.outbox(2, wg.smem((64, EN), c.dtype))    # two slots for each warpgroup
    consumers = BM // 64

    @wg.role(warps=1, registers=40 if consumers == 2 else 32)
    def load():
        for m, n in work:
            for k, s in ring.fill(A.count[1]):        # waits for an empty slot
                wg.tma(A[m, k], s.a)
                wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=consumers, registers=232 if consumers == 2 else 160)
    def multiply():
        for m, n in work:
            acc = wg.acc(C, split="m")                # the first mma overwrites it
            for k, s in ring.drain(A.count[1], lag=1):  # one wgmma group stays in flight
                acc = wg.mma(s.a, s.b, acc)
            for t in acc.chunks(64, EN):
                with out.slot() as o:                 # waits until its last store has been read
                    o.write(t.to(c.dtype))
                    wg.tma_store(o, C[m, n].at(t))
