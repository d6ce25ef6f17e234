# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No false alarms: right programs are silent, and give the right results, under every adversary and many seeds.

GIRIH_TEST_SEEDS is the number of seeds for each program and adversary: 12 give 108 launches of each program, and
`GIRIH_TEST_SEEDS=200 ./dev test test_silence` is the long campaign.
"""

import os

import pytest

from all_programs import PROGRAMS, problems
from emulated import ADVERSARIES, Module

SEEDS = int(os.environ.get("GIRIH_TEST_SEEDS", "12"))


@pytest.mark.timeout(300 + 20 * SEEDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_silent(name):
    program = PROGRAMS[name]
    module = Module(program.ptx())
    # The last shape is the one with the most steps and ragged edges.
    launch = program.launch(program.shapes[-1], seed=1)
    for adversary in ADVERSARIES:
        for seed in range(SEEDS):
            found = problems(program, launch, module, seed=seed, adversary=adversary)
            assert not found, f"adversary {adversary}, seed {seed}: {found}"
