"""From a Python call to a kernel's parameters without TMA: addresses, strides and scalars of every type.

The kernel is written in MLIR, so that nothing of the language stands between the plan and the launch.
"""

import numpy as np
import pytest

import girih
from girih.compiler.client import compile_module

ARRAY = "!plan.array<f32, rank = 1, out>"
# What the kernel stores of each scalar argument, one element after the other: (type in the plan, on the device, op).
SCALARS = [
    ("f64", "f64", "fptrunc"),
    ("f16", "f16", "fpext"),
    ("bf16", "bf16", "fpext"),
    ("i8", "i8", "sitofp"),
    ("ui8", "i8", "uitofp"),
    ("i16", "i16", "sitofp"),
    ("ui16", "i16", "uitofp"),
    ("i32", "i32", "sitofp"),
    ("ui32", "i32", "uitofp"),
    ("i64", "i64", "sitofp"),
    ("ui64", "i64", "uitofp"),
    ("i1", "i1", "uitofp"),
]


def module():
    """A kernel of one thread: y[i] = the i-th scalar."""
    body = []
    for i, (_, device, op) in enumerate(SCALARS):
        body += [
            f"%v{i} = llvm.{op} %s{i} : {device} to f32",
            f"%c{i} = llvm.mlir.constant({i} : i64) : i64",
            f"%o{i} = llvm.mul %step, %c{i} : i64",
            f"%p{i} = llvm.getelementptr %y[%o{i}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32",
            f"llvm.store %v{i}, %p{i} : f32, !llvm.ptr<1>",
        ]
    scalars = [f"%s{i}" for i in range(len(SCALARS))]
    device = ", ".join(f"{s}: {t[1]}" for s, t in zip(scalars, SCALARS, strict=True))
    host = ", ".join(f"{s}: {t[0]}" for s, t in zip(scalars, SCALARS, strict=True))
    names = ", ".join(f'"{t[0]}"' for t in SCALARS)
    lines = "\n    ".join(body)
    return f"""
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {{
  llvm.func @put(%y: !llvm.ptr<1>, %step: i64, {device})
      attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 1, 1, 1>}} {{
    {lines}
    llvm.return
  }}
}}
plan.host @put(%y: {ARRAY}, {host}) attributes {{arg_names = ["y", {names}]}} {{
  %step = plan.stride %y[0] : {ARRAY}
  %c1 = arith.constant 1 : i64
  plan.launch @device::@put grid(%c1, %c1, %c1) args(%y, %step, {", ".join(scalars)})
      : {ARRAY}, i64, {", ".join(t[0] for t in SCALARS)}
}}
"""


@pytest.fixture(scope="module")
def program():
    return compile_module("put", module(), {})


VALUES = [0.1, 0.1, -3.0, -128, 255, -32768, 65535, -(2**31), 2**32 - 1, -(2**40), 2**40, True]


# 0.1 rounded to f32, and to f16 first (0x2E66 = 1638 · 2^-14); the rest is exact or rounded to f32.
STORED = np.array([0.1, 1638 / 2**14, *VALUES[2:]], np.float32)


def test_scalars_of_every_type_arrive(program):
    y = girih.zeros(len(SCALARS), girih.f32)
    program.launch([y, *VALUES])
    assert y.numpy().tolist() == STORED.tolist()


def test_the_stride_is_the_arguments(program):
    column = girih.Array._empty("f32", [len(SCALARS)], [3])
    column._zero()
    program.launch([column, *VALUES])
    memory = np.empty(column._span, np.uint8)
    column._read(memory)
    expected = np.zeros(3 * len(SCALARS) - 2, np.float32)
    expected[::3] = STORED
    assert memory.view(np.float32).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (
            "f16",
            1e6,
            "a scalar of type f16, in which it would be an infinity, found the float 1e+06",
        ),
        ("ui8", -1, "a scalar of type u8 (0 to 255), found the integer -1"),
        ("ui32", 2**32, "a scalar of type u32 (0 to 4294967295), found the integer 4294967296"),
        ("i1", 2, "a scalar of type b1 (0 to 1), found the integer 2"),
        ("i32", 1.5, "a scalar of type i32, found the float 1.5"),
    ],
)
def test_what_does_not_fit_is_named(program, name, value, expected):
    values = list(VALUES)
    values[[t[0] for t in SCALARS].index(name)] = value
    with pytest.raises(girih.LaunchError) as error:
        program.launch([girih.zeros(len(SCALARS), girih.f32), *values])
    assert str(error.value) == f"{name}: expected {expected}"


def test_an_output_that_overlaps_itself_is_refused(program):
    y = girih.Array._empty("f32", [len(SCALARS)], [0])
    with pytest.raises(girih.LaunchError) as error:
        program.launch([y, *VALUES])
    assert str(error.value) == (
        "y: the kernel writes it, and all elements along dimension 0 share one place (shape (12,), "
        "strides (0,) in elements); pass an array of its own memory"
    )
