"""What the tests of girih.kernels share: data as a type holds it, and the bound for what is rounded on the way."""

import numpy as np

import girih as gr

SEEDS = range(10)
# Significant bits of each float type.
PRECISION = {gr.bf16: 8, gr.f16: 11, gr.f32: 24}


def held(values, dtype):
    """An array of the device and, in f64, what it holds."""
    array = gr.asarray(np.asarray(values, np.float32), dtype)
    return array, np.asarray(array.numpy(), np.float64)


def result(array):
    return np.asarray(array.numpy(), np.float64)


def assert_close(out, exact, low, dtype):
    """Within twice the error of the same algorithm in f32, plus one unit in the last place of the result's type."""
    assert out.shape == exact.shape
    if not out.size:
        return
    top = np.abs(exact).max()
    ulp = 2.0 ** (np.floor(np.log2(top)) + 1 - PRECISION[dtype]) if top else 0.0
    error, allowed = np.abs(out - exact).max(), 2 * np.abs(low - exact).max() + ulp
    assert error <= allowed, f"off by {error:.3g}, allowed {allowed:.3g}"
