"""What kernels tell the host: records in memory of the plan, printed or raised when the launches have run.

The kernel is written in MLIR: two CTAs of 32 threads, each of which records its number for site 0 if it is
even, twice; where an argument says so, thread 3 records a failed assertion for site 1.
"""

import pytest

import girih as gr
from girih.compiler.client import compile_module

TEXT = """
module attributes {girih.sources = [{name = "noisy", file = "/home/user/noisy.py", line = 10 : i64}]} {
  gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    llvm.func @record(%notes: !llvm.ptr<1>, %limit: i32, %site: i32, %cta: i32, %element: i32, %value: i64) {
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %z = llvm.mlir.constant(0 : i64) : i64
      %place = llvm.atomicrmw add %notes, %c1 syncscope("device") monotonic : !llvm.ptr<1>, i32
      %room = llvm.icmp "ult" %place, %limit : i32
      llvm.cond_br %room, ^write, ^done
    ^write:
      %all = llvm.getelementptr %notes[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %at = llvm.getelementptr %all[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<32 x i8>
      %p1 = llvm.getelementptr %at[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %p2 = llvm.getelementptr %at[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %p4 = llvm.getelementptr %at[16] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      llvm.store %site, %at : i32, !llvm.ptr<1>
      llvm.store %cta, %p1 : i32, !llvm.ptr<1>
      llvm.store %element, %p2 : i32, !llvm.ptr<1>
      llvm.store %value, %p4 : i64, !llvm.ptr<1>
      llvm.br ^done
    ^done:
      llvm.return
    }
    llvm.func @noisy(%notes: !llvm.ptr<1>, %fail: i1) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c3 = llvm.mlir.constant(3 : i32) : i32
      %limit = llvm.mlir.constant(LIMIT : i32) : i32
      %z = llvm.mlir.constant(0 : i64) : i64
      %low = llvm.and %thread, %c1 : i32
      %even = llvm.icmp "eq" %low, %c0 : i32
      llvm.cond_br %even, ^print, ^check
    ^print:
      %value = llvm.uitofp %thread : i32 to f32
      %bits = llvm.bitcast %value : f32 to i32
      %wide = llvm.zext %bits : i32 to i64
      llvm.call @record(%notes, %limit, %c0, %cta, %thread, %wide) : (!llvm.ptr<1>, i32, i32, i32, i32, i64) -> ()
      %twice = llvm.fadd %value, %value : f32
      %bits2 = llvm.bitcast %twice : f32 to i32
      %wide2 = llvm.zext %bits2 : i32 to i64
      llvm.call @record(%notes, %limit, %c0, %cta, %thread, %wide2) : (!llvm.ptr<1>, i32, i32, i32, i32, i64) -> ()
      llvm.br ^done
    ^check:
      %third = llvm.icmp "eq" %thread, %c3 : i32
      %failed = llvm.and %third, %fail : i1
      llvm.cond_br %failed, ^report, ^done
    ^report:
      llvm.call @record(%notes, %limit, %c1, %cta, %c0, %z) : (!llvm.ptr<1>, i32, i32, i32, i32, i64) -> ()
      llvm.br ^done
    ^done:
      llvm.return
    }
  }
  plan.host @noisy(%fail: i1) attributes {arg_names = ["fail"]} {
    %notes = plan.records LIMIT : !plan.workspace
    %c1 = arith.constant 1 : i64
    %c2 = arith.constant 2 : i64
    plan.launch @device::@noisy grid(%c2, %c1, %c1) args(%notes, %fail) : !plan.workspace, i1
    plan.print %notes[0], "x", [4, 8] : f32
    plan.assert %notes[1], "thread 3 was asked for" loc("noisy"("/home/user/noisy.py":13:5))
  }
}
"""


@pytest.fixture(scope="module")
def programs():
    return {
        limit: compile_module("noisy", TEXT.replace("LIMIT", str(limit)), {}) for limit in (100, 5)
    }


def expected():
    """Sorted by CTA, by how often the thread came by, by element."""
    return "".join(
        f"x[{thread // 8}, {thread % 8}] = {float(factor * thread)} (cta {cta})\n"
        for cta in range(2)
        for factor in (1, 2)
        for thread in range(0, 32, 2)
    )


@pytest.mark.parametrize("seed", range(3))
def test_records_are_printed_in_order(programs, capsys, seed):
    with gr.emulator.options(seed=seed):
        programs[100].launch([False])
    assert capsys.readouterr().out == expected()
    programs[100].launch([False])  # the next call begins anew
    assert capsys.readouterr().out == expected()


def test_a_failed_assertion_is_the_calls_error(programs, capsys):
    with pytest.raises(gr.DeviceError) as error:
        programs[100].launch([True])
    assert str(error.value) == "/home/user/noisy.py:13:5: thread 3 was asked for (cta 0)"
    assert capsys.readouterr().out == expected()
    programs[100].launch([False])


def test_the_place_is_where_the_kernel_stands_now():
    from girih import _runtime
    from girih.compiler.worker import WORKER

    text = TEXT.replace("LIMIT", "100")
    request = {"id": 1, "mlir": text, "arch": "sm_90a", "emit": ["image"], "options": {}}
    image = WORKER.request(request)[1]["image"]
    program = _runtime.Program(image, [("noisy", "moved.py", 110)])
    with pytest.raises(gr.DeviceError, match=r"^moved.py:113:5: thread 3"):
        program.launch([True])


def test_what_does_not_fit_is_counted(programs, capsys):
    programs[5].launch([False])
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert set(lines) <= set(expected().splitlines())
    assert last == "... and 59 more records, for which there was no room"
