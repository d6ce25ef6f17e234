# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel that is unrolled as far as one asks: what compiling it costs must grow as its code does."""

import girih as gr
from girih.lang.module import ArraySignature, emit_module

_MATRIX = ArraySignature(gr.f32, rank=2, contiguous=1, aligned=True)


@gr.kernel
def centred(x: gr.In["M,N"], y: gr.Out["M,N"], *, steps: gr.const):
    """Loads with edges, reductions and branches, one of each for every step."""
    X, Y = x.tiles(32, 64), y.tiles(32, 64)
    for i in gr.tiles(X.count[0]):
        for j in gr.static_range(steps):
            t = X[i, j]
            Y[i, j] = t - gr.max(t, axis=1)[:, None]


def unrolled(steps: int) -> str:
    """The MLIR text of the kernel, unrolled ``steps`` times."""
    signature = {"x": _MATRIX, "y": _MATRIX, "steps": steps}
    return emit_module(centred.definition, centred.parameters, signature)[0]
