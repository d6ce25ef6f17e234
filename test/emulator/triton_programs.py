# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton programs of triton_kernels.py and what NumPy says they compute.

Triton's launcher passes the arguments of the signature, for a descriptor its tensor map, extents and strides,
and at the end the addresses of two scratch buffers.
"""

import functools

import numpy as np

from emulated import BUILD, TensorMap
from programs import (
    PROGRAMS,
    Bf16,
    Close,
    Launch,
    Program,
    bf16_bits,
    ceil,
    dot_bound,
    e4m3_values,
    round_bf16,
    sum_bound,
)
from triton_compiler import compile_triton

i32, i64, f16, f32, f64 = np.int32, np.int64, np.float16, np.float32, np.float64

# Triton's numbers of element types in the description of a descriptor.
_ELEMENTS = {
    np.dtype(f16): "f16",
    np.dtype(np.uint16): "bf16",
    np.dtype(f32): "f32",
    np.dtype(np.uint8): "u8",
}
_SWIZZLE_BYTES = (0, 32, 64, 128)


class Described:
    """An argument that Triton takes as a tensor descriptor."""

    def __init__(self, array: np.ndarray):
        self.array = array


def triton(
    kernel: str, signature: dict, constants: dict, *shapes: dict, suffix: str = "", **options
):
    """Adds a program: the decorated function returns grid, arguments in the signature's order, and a
    dictionary from the signature's names to what is expected."""
    compiled = functools.cache(
        lambda: compile_triton(BUILD, kernel, signature, constants, **options)
    )

    def launch(make, rng, **shape):
        grid, values, expect = make(rng, **shape)
        facts = compiled()
        arguments, position, descriptors = [], {}, iter(facts.descriptors)
        for name, value in zip(signature, values, strict=True):
            position[name] = len(arguments)
            if isinstance(value, Described):
                array, facts_of = value.array, next(descriptors)
                map_ = TensorMap(
                    array,
                    _ELEMENTS[array.dtype],
                    tuple(facts_of["block_size"]),
                    _SWIZZLE_BYTES[facts_of["swizzle"]],
                )
                strides = [i64(s // array.itemsize) for s in array.strides]
                arguments += [map_, *map(i32, array.shape), *strides]
            else:
                arguments.append(value)
        programs = int(np.prod(grid))
        # A program is a cluster when it has several CTAs.
        first, *others = (grid,) if isinstance(grid, int) else grid
        scratch = np.zeros(max(1, facts.scratch_bytes * programs), np.uint8)
        return Launch(
            (first * facts.cluster, *others),
            facts.warps * 32,
            [*arguments, scratch if facts.scratch_bytes else None, None],
            {position[name]: value for name, value in expect.items()},
            cluster=facts.cluster if facts.cluster > 1 else None,
            shared=facts.shared,
        )

    def add(make):
        name = f"triton_{kernel}{suffix}"
        PROGRAMS[name] = Program(
            name,
            lambda: compiled().ptx,
            kernel,
            functools.partial(launch, make),
            list(shapes) or [{}],
        )
        return make

    return add


# ---- Rows ------------------------------------------------------------------------------------------------------------


@triton(
    "softmax",
    {"x": "*fp32!", "y": "*fp32!", "stride": "i32", "columns": "i32"},
    {"BLOCK": 1024},
    {"rows": 4, "columns": 1000},
    {"rows": 3, "columns": 77},
)
def softmax(rng, rows, columns):
    x = (rng.standard_normal((rows, columns)) * 4).astype(f32)
    e = np.exp(x.astype(f64) - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    # exp is ex2.approx of a product with log2(e): its argument, up to 40, is rounded to f32 twice.
    bound = want * 2.0**-17 + 1e-30
    return rows, [x, np.zeros_like(x), columns, columns], {"y": Close(want, bound)}


@triton(
    "layer_norm",
    {
        "x": "*fp16!", "weight": "*fp32!", "bias": "*fp32!", "y": "*fp16!", "mean": "*fp32", "scale": "*fp32",
        "columns": "i32", "epsilon": "fp32",
    },
    {"BLOCK": 256},
    {"rows": 3, "columns": 600},
    {"rows": 2, "columns": 256},
)  # fmt: skip
def layer_norm(rng, rows, columns):
    x = (rng.standard_normal((rows, columns)) + 1).astype(f16)
    weight, bias = rng.standard_normal((2, columns)).astype(f32)
    wide = x.astype(f64)
    mean = wide.mean(1)
    scale = 1 / np.sqrt(wide.var(1) + 1e-5)
    want = (wide - mean[:, None]) * scale[:, None] * weight + bias
    bound = 2.0**-11 * np.abs(want) + 2.0**-16
    outs = [np.zeros_like(x), np.zeros(rows, f32), np.zeros(rows, f32)]
    return (
        rows,
        [x, weight, bias, *outs, columns, f32(1e-5)],
        {
            "y": Close(want, bound),
            "mean": Close(mean, sum_bound(wide, columns, 1) / columns),
            "scale": Close(scale, scale * 2.0**-16),
        },
    )


# ---- Products --------------------------------------------------------------------------------------------------------


def f16_pair(rng, m, n, k):
    a = rng.standard_normal((m, k)).astype(f16)
    b = rng.standard_normal((k, n)).astype(f16)
    return a, b


def product(a, b, storage=2.0**-11):
    """The exact product and the bound of sums in f32 and one rounding to the type of C."""
    a, b = a.astype(f64), b.astype(f64)
    want = a @ b
    return Close(want, dot_bound(a, b) + storage * np.abs(want))


MATMUL = {
    "a": "*fp16!", "b": "*fp16!", "c": "*fp32!", "m": "i32", "n": "i32", "k": "i32",
    "stride_a": "i32!", "stride_b": "i32!", "stride_c": "i32!",
}  # fmt: skip
BLOCKS = {"BM": 64, "BN": 64, "BK": 32}


def padded(x, columns):
    """The array in rows of ``columns`` elements, as a base for strided arguments."""
    out = np.zeros((x.shape[0], columns), x.dtype)
    out[:, : x.shape[1]] = x
    return out


def matmul_launch(rng, m, n, k):
    a, b = f16_pair(rng, m, n, k)
    close = product(a, b, 0)
    lda, ldb = ceil(k, 16) * 16, ceil(n, 16) * 16
    c = np.full((m, ldb), 7, f32)
    want = padded(close.expected, ldb)
    want[:, n:] = 7
    bound = padded(np.broadcast_to(close.bound, close.expected.shape), ldb)
    grid = (ceil(m, 64), ceil(n, 64))
    return (
        grid,
        [padded(a, lda), padded(b, ldb), c, m, n, k, lda, ldb, ldb],
        {"c": Close(want, bound)},
    )


triton("matmul", MATMUL, BLOCKS, {"m": 64, "n": 64, "k": 32}, {"m": 70, "n": 83, "k": 101})(
    matmul_launch
)
# With extents known to be divisible by 16 the tiles come by cp.async, zero-filled at the edges.
for stages in (2, 4):
    triton(
        "matmul",
        {**MATMUL, "m": "i32!", "n": "i32!", "k": "i32!"},
        BLOCKS,
        {"m": 64, "n": 64, "k": 32 * 5},
        {"m": 80, "n": 112, "k": 144},
        suffix=f"_cp_async_{stages}",
        num_stages=stages,
    )(matmul_launch)
triton(
    "matmul",
    {**MATMUL, "m": "i32!", "n": "i32!", "k": "i32!"},
    {"BM": 64, "BN": 32, "BK": 32},
    {"m": 64, "n": 64, "k": 64},
    suffix="_8_warps",
    num_stages=3,
    num_warps=8,
)(
    lambda rng, m, n, k: (lambda g, v, e: ((ceil(m, 64), ceil(n, 32)), v, e))(
        *matmul_launch(rng, m, n, k)
    )
)


# Few rows: too small for wgmma, so mma.sync with ldmatrix.
@triton(
    "matmul",
    {**MATMUL, "m": "i32!", "n": "i32!", "k": "i32!"},
    {"BM": 16, "BN": 32, "BK": 32},
    {"m": 32, "n": 64, "k": 96},
    suffix="_mma_sync",
    num_stages=3,
)
def matmul_mma_sync(rng, m, n, k):
    _, values, expect = matmul_launch(rng, m, n, k)
    return (ceil(m, 16), ceil(n, 32)), values, expect


@triton(
    "matmul",
    {**MATMUL, "a": "*fp32!", "b": "*fp32!", "m": "i32!", "n": "i32!", "k": "i32!"},
    BLOCKS,
    {"m": 64, "n": 64, "k": 96},
    suffix="_tf32",
    num_stages=3,
)
def matmul_tf32(rng, m, n, k):
    # Ten bits of fraction: rounding to tf32 changes nothing.
    a = (rng.integers(-1023, 1024, (m, k)) / 512).astype(f32)
    b = (rng.integers(-1023, 1024, (k, n)) / 512).astype(f32)
    grid = (ceil(m, 64), ceil(n, 64))
    return grid, [a, b, np.zeros((m, n), f32), m, n, k, k, n, n], {"c": product(a, b, 0)}


@triton(
    "matmul_by_columns",
    {"a": "*i8!", "b": "*i8!", "c": "*i32!", "k": "i32!", "stride_a": "i32!", "stride_b": "i32!", "stride_c": "i32!"},
    {"BM": 64, "BN": 64, "BK": 64},
    {"k": 64},
    {"k": 256},
    suffix="_integers",
    num_stages=3,
)  # fmt: skip
def matmul_integers(rng, k, m=64, n=128):
    a = rng.integers(-128, 128, (m, k), dtype=np.int8)
    b = rng.integers(-128, 128, (n, k), dtype=np.int8)
    want = a.astype(i32) @ b.T.astype(i32)
    return (m // 64, n // 64), [a, b, np.zeros((m, n), i32), k, k, k, n], {"c": want}


@triton(
    "matmul_descriptors",
    {"a": "tensordesc<fp16[64, 64]>", "b": "tensordesc<fp16[64, 64]>", "c": "tensordesc<fp16[64, 64]>", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64},
    {"m": 64, "n": 64, "k": 64},
    {"m": 72, "n": 136, "k": 320},
    num_stages=3,
)  # fmt: skip
def matmul_descriptors(rng, m, n, k):
    a, b = f16_pair(rng, m, n, k)
    return (
        (ceil(m, 64), ceil(n, 64)),
        [Described(a), Described(b), Described(np.zeros((m, n), f16)), k],
        {"c": product(a, b)},
    )


# Two CTAs of a cluster share a tile of the grid.
@triton(
    "matmul_descriptors",
    {
        "a": "tensordesc<fp16[128, 64]>",
        "b": "tensordesc<fp16[64, 128]>",
        "c": "tensordesc<fp16[128, 128]>",
        "k": "i32",
    },
    {"BM": 128, "BN": 128, "BK": 64},
    {"m": 128, "n": 256, "k": 192},
    suffix="_cluster",
    num_stages=3,
    num_ctas=2,
)
def matmul_cluster(rng, m, n, k):
    a, b = f16_pair(rng, m, n, k)
    return (
        (ceil(m, 128), ceil(n, 128)),
        [Described(a), Described(b), Described(np.zeros((m, n), f16)), k],
        {"c": product(a, b)},
    )


@triton(
    "matmul_device_descriptors",
    {"a": "*fp16!", "b": "*fp16!", "c": "*fp16!", "m": "i32", "n": "i32!", "k": "i32!"},
    {"BM": 64, "BN": 64, "BK": 64},
    {"m": 64, "n": 64, "k": 128},
    {"m": 70, "n": 144, "k": 208},
    num_stages=3,
)
def matmul_device_descriptors(rng, m, n, k):
    a, b = f16_pair(rng, m, n, k)
    return (
        (ceil(m, 64), ceil(n, 64)),
        [a, np.ascontiguousarray(b.T), np.zeros((m, n), f16), m, n, k],
        {"c": product(a, b)},
    )


def persistent(suffix, specialize, block, **options):
    bm, bn, bk = block
    signature = {
        "a": f"tensordesc<fp16[{bm}, {bk}]>",
        "b": f"tensordesc<fp16[{bn}, {bk}]>",
        "c": f"tensordesc<fp16[{bm}, {bn}]>",
        "m": "i32",
        "n": "i32",
        "k": "i32",
    }

    @triton(
        "matmul_persistent",
        signature,
        {"BM": bm, "BN": bn, "BK": bk, "SPECIALIZE": specialize},
        {"m": 2 * bm, "n": 2 * bn, "k": 2 * bk},
        {"m": 2 * bm + 8, "n": bn + 24, "k": 5 * bk},
        suffix=suffix,
        **options,
    )
    def make(rng, m, n, k):
        a, b = f16_pair(rng, m, n, k)
        c = np.zeros((m, n), f16)
        return (
            3,
            [Described(a), Described(np.ascontiguousarray(b.T)), Described(c), m, n, k],
            {"c": product(a, b)},
        )


persistent("", False, (64, 64, 64), num_stages=3)
# Two groups of consumers share the rows of a tile. (With 64 rows both compute and store the whole tile.)
persistent("_specialized", True, (128, 64, 64), num_stages=3, num_warps=8)
persistent("_8_warps", False, (128, 128, 64), num_stages=2, num_warps=8)


@triton(
    "matmul_split_k",
    {"a": "*bf16!", "b": "*bf16!", "c": "*fp32!", "k": "i32!", "stride_a": "i32!", "stride_b": "i32!", "stride_c": "i32!"},
    {"BM": 64, "BN": 64, "BK": 32, "SPLIT": 3},
    {"k": 96},
    {"k": 192},
)  # fmt: skip
def matmul_split_k(rng, k, m=64, n=64):
    a, b = round_bf16(rng.standard_normal((m, k))), round_bf16(rng.standard_normal((k, n)))
    c = np.zeros((m, n), f32)
    return (
        (m // 64, n // 64, 3),
        [bf16_bits(a), bf16_bits(b), c, k, k, n, n],
        {"c": product(a, b, 0)},
    )


@triton(
    "matmul_by_columns",
    {
        "a": "*fp8e4nv!", "b": "*fp8e4nv!", "c": "*fp32!", "k": "i32!",
        "stride_a": "i32!", "stride_b": "i32!", "stride_c": "i32!",
    },
    {"BM": 64, "BN": 64, "BK": 64},
    {"k": 64},
    {"k": 256},
    suffix="_fp8",
    num_stages=3,
)  # fmt: skip
def matmul_fp8(rng, k, m=64, n=128):
    # Every value of e4m3 but the largest and NaN.
    a, b = rng.integers(0, 0x70, (m, k), np.uint8), rng.integers(0, 0x70, (n, k), np.uint8)
    a |= rng.integers(0, 2, (m, k), np.uint8) << 7
    b |= rng.integers(0, 2, (n, k), np.uint8) << 7
    close = product(e4m3_values(a), e4m3_values(b).T, 0)
    return (m // 64, n // 64), [a, b, np.zeros((m, n), f32), k, k, k, n], {"c": close}


@triton(
    "matmul_reduced_by_copies",
    {"a": "tensordesc<fp16[64, 64]>", "b": "tensordesc<fp16[64, 64]>", "c": "tensordesc<fp32[64, 64]>", "k": "i32"},
    {"BM": 64, "BN": 64, "BK": 64, "SPLIT": 3},
    {"m": 72, "n": 64, "k": 200},
    {"m": 64, "n": 136, "k": 448},
    num_stages=2,
)  # fmt: skip
def matmul_reduced_by_copies(rng, m, n, k):
    a, b = f16_pair(rng, m, n, k)
    return (
        (ceil(m, 64), ceil(n, 64), 3),
        [Described(a), Described(b), Described(np.zeros((m, n), f32)), k],
        {"c": product(a, b, 0)},
    )


# ---- Attention -------------------------------------------------------------------------------------------------------


def attention_of(rng, heads, length, d, causal):
    """Q, K and V as bfloat16 bits, what attention makes of them, and the scale in powers of two."""
    q, k, v = (round_bf16(rng.standard_normal((heads, length, d))) for _ in range(3))
    scores = q.astype(f64) @ k.transpose(0, 2, 1) / np.sqrt(d)
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(2, keepdims=True))
    p /= p.sum(2, keepdims=True)
    want = p @ v
    # P is rounded to bfloat16 (2^-9 of each term), and so is the result.
    bound = 2.0**-8 * (p @ np.abs(v)) + 2.0**-9 * np.abs(want)
    scale = f32(np.log2(np.e) / np.sqrt(d))
    return [bf16_bits(x) for x in (q, k, v)], Bf16(want, bound), scale


def attention(suffix, causal, block, *shapes, **options):
    bm, bn, d = block
    signature = {
        "q": "*bf16!",
        "k": "*bf16!",
        "v": "*bf16!",
        "o": "*bf16!",
        "length": "i32!",
        "scale": "fp32",
    }

    @triton(
        "attention",
        signature,
        {"CAUSAL": causal, "BM": bm, "BN": bn, "D": d},
        *shapes,
        suffix=suffix,
        **options,
    )
    def make(rng, heads, length):
        inputs, close, scale = attention_of(rng, heads, length, d, causal)
        return (
            (length // bm, heads),
            [*inputs, np.zeros_like(inputs[0]), length, scale],
            {"o": close},
        )


attention(
    "", False, (64, 64, 64), {"heads": 2, "length": 64}, {"heads": 1, "length": 192}, num_stages=2
)
attention("_causal", True, (64, 32, 64), {"heads": 1, "length": 128}, num_stages=3)
attention("_8_warps", False, (128, 64, 128), {"heads": 1, "length": 128}, num_stages=3, num_warps=8)


def attention_descriptors(suffix, block, *shapes, specialize=False, **options):
    bm, bn, d = block

    @triton(
        "attention_descriptors",
        {
            "q": f"tensordesc<bf16[{bm}, {d}]>",
            "k": f"tensordesc<bf16[{bn}, {d}]>",
            "v": f"tensordesc<bf16[{bn}, {d}]>",
            "o": f"tensordesc<bf16[{bm}, {d}]>",
            "length": "i32!",
            "scale": "fp32",
        },
        {"BM": bm, "BN": bn, "D": d, "SPECIALIZE": specialize},
        *shapes,
        suffix=suffix,
        **options,
    )
    def make(rng, length):
        inputs, close, scale = attention_of(rng, 1, length, d, False)
        arrays = [Described(x[0]) for x in (*inputs, np.zeros_like(inputs[0]))]
        return (
            length // bm,
            [*arrays, length, scale],
            {"o": Bf16(close.expected[0], close.bound[0])},
        )


attention_descriptors("", (64, 64, 64), {"length": 64}, {"length": 256}, num_stages=3)
attention_descriptors("_8_warps", (128, 64, 128), {"length": 256}, num_stages=2, num_warps=8)
attention_descriptors(
    "_specialized", (128, 64, 64), {"length": 256}, specialize=True, num_stages=2, num_warps=8
)


# ---- Within a block --------------------------------------------------------------------------------------------------


@triton("prefix_and_sort", {"x": "*i32!", "sums": "*i32!", "ordered": "*i32!"}, {"BLOCK": 256})
def prefix_and_sort(rng):
    x = rng.integers(-999, 999, (2, 256), dtype=i32)
    outs = [np.zeros_like(x), np.zeros_like(x)]
    return 2, [x, *outs], {"sums": x.cumsum(1), "ordered": np.sort(x, 1)}


@triton(
    "count_values",
    {"x": "*i32!", "counts": "*i32!", "n": "i32"},
    {"BLOCK": 512, "BINS": 64},
    {"n": 1000},
)
def count_values(rng, n):
    x = rng.integers(0, 64, n, dtype=i32)
    return ceil(n, 512), [x, np.zeros(64, i32), n], {"counts": np.bincount(x, minlength=64)}


@triton(
    "sums_in_order",
    {"x": "*i32!", "partial": "*i32!", "flags": "*i32!", "y": "*i32!"},
    {"BLOCK": 128},
)
def sums_in_order(rng, programs=9):
    x = rng.integers(-99, 99, (programs, 128), dtype=i32)
    outs = [np.zeros(programs, i32) for _ in range(3)]
    return programs, [x, *outs], {"y": x.sum(1).cumsum()}
