"""Functions of tiles in roles: an accumulator goes through them and on to the outbox."""

import numpy as np

import girih as gr
from girih import wg
from girih.kernels.matmul import load_tiles, store_tile


@gr.kernel
def kernel(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
    A, B, C = a.tiles(128, 64), b.tiles(64, 128), c.tiles(128, 128)
    work = gr.tiles(C)
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))
    out = wg.outbox(2, wg.smem((64, 64), c.dtype))

    @wg.role(warps=1, registers=40)
    def load():
        load_tiles(work, ring, A, B, 1)

    @wg.role(warpgroups=2, registers=232)
    def multiply():
        for m, n in work:
            acc = wg.acc(C)
            for k, s in ring.drain(A.count[1], lag=1):
                acc = wg.mma(s.a, s.b, acc)
            t = gr.where(acc > 0, acc * 2, -acc) + gr.arange(128)
            t = t - gr.max(t, axis=1, keepdims=True)
            store_tile(t, out, C[m, n], 64, 64)


def test_an_accumulator_in_functions_of_tiles():
    random = np.random.default_rng(0)
    x, y = random.integers(-8, 9, (200, 72)), random.integers(-8, 9, (72, 128))
    a, b = (gr.asarray(v.astype(np.float32), gr.bf16) for v in (x, y))
    c = gr.empty((200, 128), gr.f32)
    kernel(a, b, c)
    p = x @ y
    t = np.where(p > 0, 2 * p, -p) + np.arange(128)
    np.testing.assert_array_equal(c.numpy(), t - t.max(1, keepdims=True))
