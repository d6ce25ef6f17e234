# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels whose launches are measured: a product of 3 arrays and 2 scalars, and one of 19 arguments."""

import girih as gr


@gr.kernel
def few(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], alpha: gr.f32, shift: gr.i32):
    """c = alpha * (a @ b) + shift: TMA reads a and b and writes c."""
    A, B, C = a.tiles(128, 64), b.tiles(64, 128), c.tiles(128, 128)
    for m, n in gr.tiles(C):
        acc = gr.zeros((128, 128), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        C[m, n] = (acc * alpha + shift).to(c.dtype)


@gr.kernel
def many(
    x0: gr.In["M,N"],
    x1: gr.In["M,N"],
    x2: gr.In["M,N"],
    x3: gr.In["M,N"],
    x4: gr.In["M,N"],
    x5: gr.In["M,N"],
    x6: gr.In["M,N"],
    x7: gr.In["M,N"],
    x8: gr.In["M,N"],
    x9: gr.In["M,N"],
    y: gr.Out["M,N"],
    i0: gr.i32,
    i1: gr.i32,
    i2: gr.i32,
    i3: gr.i32,
    f0: gr.f32,
    f1: gr.f32,
    f2: gr.f32,
    f3: gr.f32,
):
    """A sum of ten arrays with four weights of each kind."""
    Y = y.tiles(64, 64)
    for m, n in gr.tiles(Y):
        total = x0.tiles(64, 64)[m, n] * f0 + x1.tiles(64, 64)[m, n] * f1
        total = total + x2.tiles(64, 64)[m, n] * f2 + x3.tiles(64, 64)[m, n] * f3
        total = total + x4.tiles(64, 64)[m, n] + x5.tiles(64, 64)[m, n] + x6.tiles(64, 64)[m, n]
        total = total + x7.tiles(64, 64)[m, n] + x8.tiles(64, 64)[m, n] + x9.tiles(64, 64)[m, n]
        Y[m, n] = total + (i0 + i1 + i2 + i3)


SCALARS = (1, 2, 3, 4, 1.0, 2.0, 3.0, 4.0)


def image_of_few() -> bytes:
    """The package of the first kernel for row-major arrays of bf16."""
    from girih.compiler.worker import WORKER

    arrays = [gr.empty((128, 128), gr.bf16) for _ in range(3)]
    text = few.emit(*arrays, 2.5, 3)
    reply, blobs = WORKER.request({"id": 1, "mlir": text, "emit": ["image"], "options": {}})
    assert reply["ok"], reply
    image: bytes = blobs["image"]
    return image
