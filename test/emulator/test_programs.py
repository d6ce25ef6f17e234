# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that girih did not write, against NumPy: CUDA C++ through NVRTC, and Triton kernels."""

import pytest

from all_programs import PROGRAMS, problems
from emulated import Module

CASES = [
    pytest.param(name, shape, id="-".join([name, *(f"{k}{v}" for k, v in shape.items())]))
    for name, program in PROGRAMS.items()
    for shape in program.shapes
]


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_results(name, shape):
    """Each shape, with data and interleavings of several seeds, checked and unchecked."""
    program = PROGRAMS[name]
    module = Module(program.ptx())
    for seed in range(3):
        launch = program.launch(shape, seed)
        for checks in (1, 0):
            found = problems(program, launch, module, seed=seed, checks=checks)
            assert not found, f"seed {seed}, checks {checks}: {found}"
