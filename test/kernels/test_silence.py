"""No false alarms on girih's own kernels: every variant is silent, and right, under every adversary.

GIRIH_TEST_SEEDS is the number of seeds for each variant and adversary; test/emulator/test_silence.py does the same for
programs of other compilers.
"""

import os

import numpy as np
import pytest

import girih as gr
from emulated import ADVERSARIES
from gemm_support import VARIANTS, integers, operands, round_to
from girih import emulator

SEEDS = int(os.environ.get("GIRIH_TEST_SEEDS", "8"))


@pytest.mark.timeout(300 + 60 * SEEDS)
@pytest.mark.parametrize("persistent", [False, True], ids=["one-tile", "persistent"])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_gemm(variant, persistent):
    """Ragged edges, more k blocks than stages, more tiles than CTAs."""
    m, n, k = variant.BM + 24, 2 * variant.BN + 8, 6 * variant.BK - 8
    a, b = integers((m, k), 5), integers((k, n), 6)
    expected = round_to(a.astype(np.float64) @ b.astype(np.float64), gr.bf16)
    device_a, device_b = operands(variant, a, b)
    for adversary in ADVERSARIES:
        for seed in range(SEEDS):
            c = gr.asarray(np.full((m, n), np.nan, np.float32), dtype=gr.bf16)
            with emulator.options(seed=seed, adversary=adversary):
                variant.launch(device_a, device_b, c, persistent=persistent)
            np.testing.assert_array_equal(c.numpy(), expected, err_msg=f"{adversary}, seed {seed}")
