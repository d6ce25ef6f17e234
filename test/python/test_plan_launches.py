"""Workspaces and several launches of one call: what the front end writes into a host plan, compiled and run.

Two kernels in MLIR: the first adds to counters in cleared memory and leaves squares in memory that is not
cleared, the second reads both.
"""

import numpy as np
import pytest

import girih as gr
from girih.compiler.client import compile_module
from girih.lang.context import Context
from girih.lang.hostplan import WORKSPACE, HostExpression
from girih.lang.source import Definition, Source

OUT = "!plan.array<i32, rank = 1, contiguous = 0, out>"
TARGET = '#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>'
DEVICE = f"""
gpu.module @device [{TARGET}] {{
  llvm.func @fill(%counters: !llvm.ptr<1>, %squares: !llvm.ptr<1>)
      attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %counter = llvm.getelementptr %counters[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %old = llvm.atomicrmw add %counter, %c1 syncscope("device") monotonic : !llvm.ptr<1>, i32
    %first = llvm.mul %cta, %c32 : i32
    %i = llvm.add %first, %thread : i32
    %square = llvm.mul %i, %i : i32
    %at = llvm.getelementptr %squares[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %square, %at : i32, !llvm.ptr<1>
    llvm.return
  }}
  llvm.func @collect(%y: !llvm.ptr<1>, %counters: !llvm.ptr<1>, %squares: !llvm.ptr<1>)
      attributes {{nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %first = llvm.mul %cta, %c32 : i32
    %i = llvm.add %first, %thread : i32
    %counter = llvm.getelementptr %counters[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %count = llvm.load %counter : !llvm.ptr<1> -> i32
    %from = llvm.getelementptr %squares[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %square = llvm.load %from : !llvm.ptr<1> -> i32
    %sum = llvm.add %count, %square : i32
    %at = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %sum, %at : i32, !llvm.ptr<1>
    llvm.return
  }}
}}
"""


def context():
    """A compilation of nothing, for its plan."""

    def kernel():
        pass

    return Context(Source(Definition(kernel)))


def module(twice=False):
    plan = context().plan
    extent = HostExpression(f"plan.dim %y[0] : {OUT}")
    ctas = HostExpression("arith.ceildivsi", (extent, 32))
    counters = plan.workspace(128, zero=True)
    squares = plan.workspace(HostExpression("arith.muli", (ctas, 128)))
    grid = (plan.expression(ctas),)
    for _ in range(2 if twice else 1):
        plan.launch("@device::@fill", grid, [(counters, WORKSPACE), (squares, WORKSPACE)])
    arguments = [("%y", OUT), (counters, WORKSPACE), (squares, WORKSPACE)]
    plan.launch("@device::@collect", grid, arguments)
    lines = "\n  ".join(line.partition(" loc(")[0] for line in plan.lines)
    return f'{DEVICE}plan.host @squares(%y: {OUT}) attributes {{arg_names = ["y"]}} {{\n  {lines}\n}}\n'


def run(program, n):
    y = gr.empty(n, gr.i32)
    program.launch([y])
    return y.numpy()


@pytest.mark.parametrize("n", [32, 96])
@pytest.mark.parametrize("twice", [False, True])
def test_launches_see_what_those_before_them_wrote(n, twice):
    program = compile_module("squares", module(twice=twice), {})
    counted = n // 32 * (2 if twice else 1)
    for _ in range(3):  # the workspace is cleared at each call
        np.testing.assert_array_equal(run(program, n), np.arange(n) ** 2 + counted)


def test_each_workspace_is_its_own():
    plan = context().plan
    assert plan.workspace(64, zero=True) != plan.workspace(64, zero=True)
    assert plan.constant(64) == plan.constant(64)
    text = "\n".join(plan.lines)
    assert text.count("= plan.workspace") == 2
    assert text.count("arith.constant 64") == 1


def test_a_negative_workspace_is_refused():
    plan = context().plan
    extent = HostExpression(f"plan.dim %y[0] : {OUT}")
    memory = plan.workspace(HostExpression("arith.subi", (extent, 64)))
    arguments = [("%y", OUT), (memory, WORKSPACE), (memory, WORKSPACE)]
    plan.launch("@device::@collect", (plan.constant(1),), arguments)
    lines = "\n  ".join(line.partition(" loc(")[0] for line in plan.lines)
    text = f'{DEVICE}plan.host @squares(%y: {OUT}) attributes {{arg_names = ["y"]}} {{\n  {lines}\n}}\n'
    with pytest.raises(gr.LaunchError, match="^squares: the workspace would have -32 bytes$"):
        run(compile_module("squares", text, {}), 32)
