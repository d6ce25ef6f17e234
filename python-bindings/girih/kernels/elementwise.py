"""Vectors, element by element."""

import girih as gr


@gr.kernel
def vector_add(x: gr.In["N"], y: gr.In["N"], z: gr.Out["N"], *, B: gr.const = 1024):
    """z = x + y."""
    X, Y, Z = x.tiles(B), y.tiles(B), z.tiles(B)
    for i in gr.tiles(Z):
        Z[i] = X[i] + Y[i]


@gr.kernel
def saxpy(a: gr.f32, x: gr.In["N"], y: gr.InOut["N"], *, B: gr.const = 1024):
    """y += a · x, each sum and product rounded once."""
    X, Y = x.tiles(B), y.tiles(B)
    for i in gr.tiles(Y):
        Y[i] += a * X[i]
