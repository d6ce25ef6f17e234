# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in Triton's language, written for these tests; triton_compiler.py turns them into PTX."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, stride, columns, BLOCK: tl.constexpr):
    """One row a program, in one block."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * stride + offsets, mask=mask, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * stride + offsets, values / tl.sum(values, 0), mask=mask)


@triton.jit
def layer_norm(x, weight, bias, y, mean, scale, columns, epsilon, BLOCK: tl.constexpr):
    """Rows longer than a block, in two passes; mean and 1/sigma are stored as well."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + offsets, mask=offsets < columns, other=0.0).to(
            tl.float32
        )
    average = tl.sum(total, 0) / columns
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        value = tl.load(x + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
        square += tl.where(mask, (value - average) * (value - average), 0.0)
    inverse = tl.rsqrt(tl.sum(square, 0) / columns + epsilon)
    tl.store(mean + row, average)
    tl.store(scale + row, inverse)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        value = tl.load(x + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(weight + offsets, mask=mask)
        b = tl.load(bias + offsets, mask=mask)
        tl.store(y + row * columns + offsets, (value - average) * inverse * w + b, mask=mask)


@triton.jit
def matmul(
    a, b, c, m, n, k, stride_a, stride_b, stride_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Pointers and masks: tiles come by cp.async in as many stages as the compiler is asked for."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    pa = a + rows[:, None] * stride_a + inner[None, :]
    pb = b + inner[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        left = k - start
        ta = tl.load(pa, mask=(rows[:, None] < m) & (inner[None, :] < left), other=0.0)
        tb = tl.load(pb, mask=(inner[:, None] < left) & (columns[None, :] < n), other=0.0)
        total = tl.dot(ta, tb, total, input_precision="tf32")
        pa += BK
        pb += BK * stride_b
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(
        c + rows[:, None] * stride_c + columns[None, :], total.to(c.dtype.element_ty), mask=mask
    )


@triton.jit
def matmul_by_columns(
    a, b, c, k, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Products summed in the type of C; B is stored by columns, as wgmma wants 8-bit operands."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), c.dtype.element_ty)
    for start in range(0, k, BK):
        ta = tl.load(a + rows[:, None] * stride_a + start + inner[None, :])
        tb = tl.load(b + columns[None, :] * stride_b + start + inner[:, None])
        total = tl.dot(ta, tb, total)
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total)


@triton.jit
def matmul_descriptors(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tensor descriptors from the host: TMA loads into wgmma, and a TMA store."""
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        total = tl.dot(a.load([row, start]), b.load([start, column]), total)
    c.store([row, column], total.to(c.dtype))


@triton.jit
def matmul_device_descriptors(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Descriptors that the kernel makes in global memory (tensormap.replace and its proxy fence)."""
    da = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        total = tl.dot(da.load([row, start]), db.load([column, start]).T, total)
    dc.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def matmul_persistent(
    a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr
):
    """Few programs, many tiles; with SPECIALIZE the compiler gives the loads a warp of their own."""
    down = tl.cdiv(m, BM)
    tiles = down * tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=SPECIALIZE):
        row = tile % down * BM
        column = tile // down * BN
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
        c.store([row, column], total.to(c.dtype))


@triton.jit
def matmul_split_k(
    a, b, c, k, stride_a, stride_b, stride_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """Programs along K add their parts by atomics."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.program_id(2) * BK + tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK * SPLIT):
        ta = tl.load(a + rows[:, None] * stride_a + (start + inner)[None, :])
        tb = tl.load(b + (start + inner)[:, None] * stride_b + columns[None, :])
        total = tl.dot(ta, tb, total)
    tl.atomic_add(c + rows[:, None] * stride_c + columns[None, :], total)


@triton.jit
def attention(
    q, k, v, o, length, scale, CAUSAL: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Forward attention of one head, with running maxima and sums; q is scaled by scale * log2(e)."""
    head = tl.program_id(1) * length * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    inner = tl.arange(0, D)
    tq = tl.load(q + head + rows[:, None] * D + inner[None, :])
    high = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    out = tl.zeros([BM, D], tl.float32)
    end = length
    if CAUSAL:
        end = (tl.program_id(0) + 1) * BM
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        tk = tl.load(k + head + columns[None, :] * D + inner[:, None])
        scores = tl.dot(tq, tk) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        next_high = tl.maximum(high, tl.max(scores, 1))
        p = tl.exp2(scores - next_high[:, None])
        shrink = tl.exp2(high - next_high)
        total = total * shrink + tl.sum(p, 1)
        tv = tl.load(v + head + columns[:, None] * D + inner[None, :])
        out = tl.dot(p.to(tv.dtype), tv, out * shrink[:, None])
        high = next_high
    tl.store(
        o + head + rows[:, None] * D + inner[None, :], (out / total[:, None]).to(o.dtype.element_ty)
    )


@triton.jit
def prefix_and_sort(x, sums, ordered, BLOCK: tl.constexpr):
    """A scan and a sort of a block: shuffles, shared memory and barriers in many steps."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    tl.store(sums + offsets, tl.cumsum(values, 0))
    tl.store(ordered + offsets, tl.sort(values))


@triton.jit
def count_values(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """A histogram of a block added to the others' by atomics."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_add(counts + tl.arange(0, BINS), tl.histogram(values, BINS, mask=offsets < n))


@triton.jit
def matmul_reduced_by_copies(
    a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr
):
    """Parts along K, added to C by the copy engine."""
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, k, BK * SPLIT):
        total = tl.dot(a.load([row, start]), b.load([start, column]), total)
    c.atomic_add([row, column], total)


@triton.jit
def attention_descriptors(
    q, k, v, o, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Forward attention of one head by tensor copies; with SPECIALIZE they come from a warp of their own."""
    row = tl.program_id(0) * BM
    high = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    out = tl.zeros([BM, D], tl.float32)
    tq = q.load([row, 0])
    for start in tl.range(0, length, BN, warp_specialize=SPECIALIZE):
        scores = tl.dot(tq, k.load([start, 0]).T) * scale
        next_high = tl.maximum(high, tl.max(scores, 1))
        p = tl.exp2(scores - next_high[:, None])
        shrink = tl.exp2(high - next_high)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(v.dtype), v.load([start, 0]), out * shrink[:, None])
        high = next_high
    o.store([row, 0], (out / total[:, None]).to(o.dtype))


@triton.jit
def sums_in_order(x, partial, flags, y, BLOCK: tl.constexpr):
    """Each program waits for the flag of the one before it and extends its sum."""
    program = tl.program_id(0)
    total = tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)), 0)
    if program > 0:
        while tl.atomic_add(flags + program - 1, 0, sem="acquire") == 0:
            pass
        total += tl.load(partial + program - 1)
    tl.store(partial + program, total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + program, 1, sem="release")
    tl.store(y + program, total)
