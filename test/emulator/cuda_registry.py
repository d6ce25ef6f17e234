# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the files of CUDA C++ programs add theirs to `programs.PROGRAMS`."""

import functools

import numpy as np

from cuda_compiler import compile_cuda
from emulated import BUILD
from programs import PROGRAMS, Program

i32, u32, f32, f64 = np.int32, np.uint32, np.float32, np.float64


def cuda(source: str, *shapes: dict, entry: str | None = None, options: tuple[str, ...] = ()):
    """Adds a program: the decorated function builds its launches; the kernel has its name unless ``entry`` says another."""

    def add(make):
        kernel = entry or make.__name__
        name = " ".join([entry or make.__name__, *options])
        PROGRAMS[name] = Program(
            name,
            functools.partial(compile_cuda, BUILD, source, options),
            kernel,
            make,
            list(shapes) or [{}],
        )
        return make

    return add


def recompiled(option: str, *names: str) -> None:
    """Adds programs again, compiled with one more option and run on their last shape."""
    for name in names:
        program = PROGRAMS[name]
        source = program.ptx.args[1]
        cuda(source, program.shapes[-1], entry=program.entry, options=(option,))(program.make)
