"""What attention is, in NumPy, and how close a kernel must come."""

import numpy as np

import girih as gr
from gemm_support import round_to


def reference(q, k, v, scale, causal=False, score=None, dtype=np.float64):
    """Attention in one precision, and the logarithm of the sum of exponentials; in float32 with P in bf16, as the
    kernel has it."""
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    s = (q @ np.swapaxes(k, -1, -2)) * dtype(scale)
    rows, keys = s.shape[-2:]
    row, col = np.arange(rows)[:, None], np.arange(keys)[None, :]
    if score is not None:
        s = score(s, row, col).astype(dtype)
    if causal:
        s = np.where(col <= row + keys - rows, s, -np.inf)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    base = np.where(np.isinf(top), 0, top).astype(dtype)
    p = np.exp(s - base)
    total = p.sum(-1, keepdims=True)
    weights = round_to(p, gr.bf16).astype(dtype) if dtype == np.float32 else p
    o = weights @ v / np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        return o, (np.log(total) + base)[..., 0]


def normal(shape, seed):
    return round_to(np.random.default_rng(seed).standard_normal(shape), gr.bf16)


def check(o, lse, q, k, v, scale, **options):
    """max|out - ref| <= 2 max|lowp - ref| + an ulp of the output at max|ref|; the log-sum-exp within 1e-5."""
    ref, ref_lse = reference(q, k, v, scale, **options)
    low, _ = reference(q, k, v, scale, dtype=np.float32, **options)
    low = round_to(low, gr.bf16).astype(np.float64)
    top = np.abs(ref).max()
    ulp = 2.0 ** (np.floor(np.log2(top)) - 7) if top else 0
    assert np.abs(o - ref).max() <= 2 * np.abs(low - ref).max() + ulp
    finite = np.isfinite(ref_lse)
    np.testing.assert_array_equal(np.isneginf(lse), ~finite)
    error = np.abs(lse[finite] - ref_lse[finite])
    assert (error <= 1e-5 * np.maximum(1, np.abs(ref_lse[finite]))).all()


def tensors(shape, keys, seed):
    b, h, m, d = shape
    return normal(shape, seed), normal((b, h, keys, d), seed + 1), normal((b, h, keys, d), seed + 2)
