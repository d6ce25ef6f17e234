"""Faults planted in the GEMM's PTX: each is reported within 20 seeds, by name and with the Python line.

The runs have more k blocks than twice the stages and more tiles than CTAs, so that every slot is
reused within a tile and across tiles.
"""

import inspect
import re

import numpy as np
import pytest

import gemm
import girih as gr
from gemm_support import VARIANTS, WAIT, integers, operands, plant
from girih import _runtime, emulator
from girih.compiler.worker import WORKER

SEEDS = range(20)


def arguments(variant):
    """Nine k blocks (of at most four stages) and four or more tiles on two CTAs."""
    m, n, k = 2 * variant.BM, 2 * variant.BN, 9 * variant.BK
    a, b = operands(variant, integers((m, k), 1), integers((k, n), 2))
    return a, b, gr.empty((m, n), gr.bf16)


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def case(request):
    """The variant, its arguments, and its image before any fault."""
    variant = request.param
    a, b, c = arguments(variant)
    text = gemm.matmul.emit(a, b, c, BM=variant.BM, BN=variant.BN, BK=variant.BK)
    reply, blobs = WORKER.request({"id": 1, "mlir": text, "arch": "sm_90a", "emit": ["image"]})
    assert reply["ok"]
    return variant, (a, b, c), blobs["image"]


def load(image):
    """A program whose locations point into examples/gemm.py."""
    _, first = inspect.getsourcelines(gemm.matmul.function)
    return _runtime.Program(image, [("matmul", gemm.__file__, first)])


def line_of(text):
    """The place of a line of the kernel, as findings write it."""
    lines, first = inspect.getsourcelines(gemm.matmul.function)
    (offset,) = [i for i, line in enumerate(lines) if text in line]
    return f"{gemm.__file__}:{first + offset}"


def finding_of(image, args, kind):
    """The first finding of a kind and the whole report, over the seeds."""
    for seed in SEEDS:
        with emulator.options(seed=seed):
            try:
                load(image).launch(list(args))
            except gr.DeviceError as error:
                for finding in error.findings:
                    if finding["kind"] == kind:
                        return finding, str(error), seed
    return None, "", len(SEEDS)


LOOP_WAIT = "wgmma.wait_group.sync.aligned 1;"


@pytest.mark.parametrize(
    ("pattern", "replacement", "which", "kind", "line"),
    [
        pytest.param(
            # The consumers' wait for a full slot, the first in the text.
            WAIT,
            "",
            0,
            "async-race",
            "wg.mma(",
            id="consumer's wait removed",
        ),
        pytest.param(
            WAIT,
            "",
            1,
            "async-overwrite",
            "wg.tma(A",
            id="producer's wait removed",
        ),
        pytest.param(
            r"(expect_tx\.shared::cta\.b64 _, \[%r\d+\], )(\d+);",
            "FEWER",
            0,
            "mbarrier-bytes",
            "ring.fill",
            id="16 bytes too few expected",
        ),
        pytest.param(
            r"(expect_tx\.shared::cta\.b64 _, \[%r\d+\], )(\d+);",
            "MORE",
            0,
            "mbarrier-bytes",
            "ring.fill",
            id="16 bytes too many expected",
        ),
        pytest.param(
            r"fence\.proxy\.async\.shared::cta;",
            "",
            0,
            "missing-proxy-fence",
            "wg.tma_store",
            id="proxy fence removed",
        ),
        pytest.param(
            re.escape(LOOP_WAIT), "", 0, "async-overwrite", "wg.mma(", id="wgmma wait removed"
        ),
        pytest.param(
            r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )8;",
            r"\g<1>7;",
            0,
            "mbarrier-arrivals",
            "ring.drain",
            id="arrival count too low",
        ),
        pytest.param(
            r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\], )8;",
            r"\g<1>9;",
            0,
            "deadlock",
            "ring.fill",
            id="arrival count too high",
        ),
    ],
)
def test_a_planted_fault_is_found(case, pattern, replacement, which, kind, line):
    variant, args, image = case
    if variant.BM == 192:  # three consumer warpgroups: 12 arrivals, one more digit
        pattern = pattern.replace("8;", "12;")
        replacement = replacement.replace("7;", "11;").replace("9;", "13;")
    if replacement in ("FEWER", "MORE"):
        expected = (variant.BM + variant.BN) * variant.BK * 2
        change = -16 if replacement == "FEWER" else 16
        replacement = rf"\g<1>{expected + change};"
    finding, report, seed = finding_of(plant(image, pattern, replacement, which), args, kind)
    assert finding is not None, f"no {kind} in 20 seeds"
    assert line_of(line) in report


def test_without_a_fault_nothing_is_reported(case):
    variant, args, image = case
    for seed in SEEDS:
        with emulator.options(seed=seed):
            load(image).launch(list(args))
    a, b, c = args
    expected = a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)
    np.testing.assert_allclose(c.numpy(), expected, rtol=2.0**-8)
