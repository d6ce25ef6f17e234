# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills `programs.PROGRAMS` with every program that the tests know."""

import cuda_programs  # noqa: F401
import own_programs  # noqa: F401
import triton_programs  # noqa: F401
from emulated import Module
from programs import PROGRAMS, Launch, Program

__all__ = ["PROGRAMS", "problems"]


def problems(program: Program, launch: Launch, module: Module, **options) -> str:
    """Runs a launch: what the device found, else how the results differ, else nothing."""
    result = module.run(
        program.entry,
        launch.grid,
        launch.block,
        launch.arguments,
        cluster=launch.cluster,
        shared=launch.shared,
        **options,
    )
    return result.text or "\n".join(launch.problems(result.arrays))
