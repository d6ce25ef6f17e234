# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes planted in programs of others: what is reported, and in whose words."""

import re

import numpy as np
import pytest

from all_programs import PROGRAMS
from cuda_compiler import FOLDER, compile_cuda
from emulated import BUILD, Module

SEEDS = range(8)


def line_of(source: str, text: str, which: int = 0) -> str:
    """Where a line of a source file stands, as findings write it."""
    path = FOLDER / source
    lines = path.read_text().splitlines()
    numbers = [i + 1 for i, line in enumerate(lines) if text in line]
    return f"{path}:{numbers[which]}"


def findings(ptx: str, name: str, shape: dict | None = None, **options) -> list[dict]:
    """The findings of the first seed that has any."""
    program = PROGRAMS[name]
    module = Module(ptx)
    for seed in SEEDS:
        launch = program.launch(shape or program.shapes[-1], seed)
        result = module.run(
            program.entry,
            launch.grid,
            launch.block,
            launch.arguments,
            cluster=launch.cluster,
            shared=launch.shared,
            seed=seed,
            **options,
        )
        if result.findings:
            return result.findings
    return []


def planted(ptx: str, entry: str, pattern: str, replacement="", which: int = 0) -> str:
    """The PTX with one match of a pattern in a kernel replaced."""
    start = ptx.index(f".entry {entry}(")
    end = ptx.find(".entry ", start + 1) % (len(ptx) + 1)
    matches = list(re.finditer(pattern, ptx[start:end]))
    assert len(matches) > which, f"{pattern} is not in {entry}"
    match = matches[which]
    if not isinstance(replacement, str):
        replacement = replacement(match[0])
    return ptx[: start + match.start()] + replacement + ptx[start + match.end() :]


def sources(finding: dict) -> str:
    return "\n".join(site["source"] for site in finding["sites"])


def test_cuda_lines():
    """-lineinfo: a missing __syncthreads names both lines of the .cu file."""
    ptx = compile_cuda(BUILD, "reduce.cu", ("--generate-line-info",))
    found = findings(planted(ptx, "reduce_tree", r"bar\.sync \t0;"), "reduce_tree")
    assert {f["kind"] for f in found} == {"shared-race"}
    where = sources(found[0])
    assert line_of("cuda/reduce.cu", "tree[threadIdx.x] += tree[threadIdx.x + stride];") in where
    assert line_of("cuda/reduce.cu", "tree[threadIdx.x] = i < n ? x[i] : 0;") in where


def test_triton_lines():
    """A wait that Triton placed, taken away: the wgmma reads a tile whose copies are under way."""
    program = PROGRAMS["triton_matmul_cp_async_4"]
    ptx = planted(program.ptx(), "matmul", r"cp\.async\.wait_group \s*4;", "")
    found = findings(ptx, program.name)
    assert found
    assert "async-race" in {f["kind"] for f in found}
    assert f"{FOLDER}/triton_kernels.py:" in sources(found[0])


@pytest.mark.parametrize(
    ("name", "pattern", "which", "replacement", "kind"),
    [
        # A block reads another's sum without the fence on either side.
        ("chain_with_fences", r"fence\.acq_rel\.gpu;", 0, "", "global-race"),
        ("chain_with_fences", r"fence\.acq_rel\.gpu;", 1, "", "global-race"),
        # A flag stored without release, and one read without acquire.
        ("chain_of_blocks", r"st\.release\.gpu", 0, "st.relaxed.gpu", "global-race"),
        ("chain_of_blocks", r"ld\.acquire\.gpu", 0, "ld.relaxed.gpu", "global-race"),
        # A read of a stage whose copies may still be under way.
        ("pipeline_thread", r"cp\.async\.wait_group 0;", 0, "", "async-race"),
        # The tile is written by threads, then read by the copy engine without a proxy fence.
        ("bulk_increment", r"fence\.proxy\.async\.shared::cta;", 1, "", "missing-proxy-fence"),
        # The consumers do not wait for a stage to be full.
        (
            "tensor_ring",
            r"mbarrier\.try_wait\.parity\.shared::cta\.b64 P_OUT, \[%r\d+\], %r\d+;",
            1,
            "setp.eq.u32 P_OUT, 0, 0;",
            "async-race",
        ),
        # More bytes expected than come.
        (
            "tensor_ring",
            r"expect_tx\.release\.cta\.shared::cta\.b64 %rd\d+, \[%r\d+\], %r\d+",
            0,
            lambda text: text[: text.rindex("%")] + "2048",
            "deadlock",
        ),
        # Counters that nobody cleared.
        ("histogram", r"st\.shared\.u32[^;]*;", 0, "", "undefined-value"),
    ],
)
def test_faults(name, pattern, which, replacement, kind):
    """Each is found within eight seeds, by the name of its class."""
    program = PROGRAMS[name]
    found = findings(planted(program.ptx(), program.entry, pattern, replacement, which), name)
    assert kind in {f["kind"] for f in found}, found


def test_printing(capfd):
    """printf through the driver library: formats, strings and its result, the number of arguments."""
    module = Module(compile_cuda(BUILD, "calls.cu"))
    result = module.run("printing", 2, 32, [np.zeros(2, np.int32)])
    assert not result.text
    printed = sorted(capfd.readouterr().out.splitlines())
    assert printed == [f"block {i} of 2: half  0.50 1234567890123 x" for i in range(2)]
    assert result.arrays[0].tolist() == [6, 6]
