# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The protocol checker against the emulated device: every kernel as it is, and kernels with faults of every class.

``girih-opt --wg-check-faults`` spoils a kernel in every way that it knows. The checker must name the class and the line of
each, and the emulated device must find fault too, in its own words: in a few of each class, in all of them with
GIRIH_TEST_FAULTS=all.
"""

import os
import re
import sys
from pathlib import Path

import pytest

from faulty_programs import OK, PROGRAMS, lower

sys.path.insert(0, str(Path(__file__).absolute().parents[2] / "bench"))
from _kernels import all_kernels

# What the emulated device says of programs of each class: at least one of these, in some run.
STUCK = {"deadlock", "mbarrier-parity", "barrier-count"}
RACES = {
    "async-race",
    "async-overwrite",
    "async-exit",
    "shared-race",
    "uninitialised-shared",
    "wgmma-register-in-flight",
}
KINDS = {
    "deadlock": STUCK,
    "lost-release": STUCK,
    "double-release": RACES | {"mbarrier-overrun", "mbarrier-arrivals"},
    "wrong-parity": RACES | {"mbarrier-parity", "deadlock"},
    "wrong-bytes": {"mbarrier-bytes"},
    "in-flight": RACES,
    "missing-proxy-fence": {"missing-proxy-fence"},
    "register-budget": {"setmaxnreg-pool"},
}
ADVERSARIES = ["none", "async-late", "starve-one", "producers-first", "consumers-first"]


def for_the_device(name):
    """Faults that are tried on the device: one of every other class, of each program another one."""
    program, index = PROGRAMS[name], list(PROGRAMS).index(name)
    faults = program.checked[1]
    if os.environ.get("GIRIH_TEST_FAULTS") == "all":
        return faults
    chosen = []
    for kind in list(KINDS)[index % 2 :: 2]:
        mine = [fault for fault in faults if fault.kind == kind]
        chosen += [mine[index * 7 % len(mine)]] if mine else []
    return chosen


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_fault_has_its_class_and_line(name):
    asis, faults = PROGRAMS[name].checked
    assert OK.search(asis), asis
    assert {fault.kind for fault in faults} <= set(KINDS)
    for fault in faults:
        assert len(fault.errors) == 1, (fault.what, fault.place, fault.report)
        ((place, text),) = fault.errors
        assert text.endswith(f"[{fault.kind}]"), (fault.what, fault.place, fault.errors)
        # The place is the error's, a note's, or one of the schedule.
        assert f"{fault.place}:" in f"{place}:\n{fault.report}", (fault.what, fault.place)
        assert "the schedule that leads there" in fault.report


def test_at_least_five_programs_of_each_class_are_compared():
    tried = [fault.kind for name in PROGRAMS for fault in for_the_device(name)]
    assert min(tried.count(kind) for kind in KINDS) >= 5


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_emulated_device_agrees(name):
    program, faults = PROGRAMS[name], for_the_device(name)
    for fault, image in zip(faults, program.images(faults), strict=True):
        found = set()
        for adversary in ADVERSARIES:
            if not found & KINDS[fault.kind]:
                found |= program.finds(image, adversary)
        assert found & KINDS[fault.kind], (fault.kind, fault.what, fault.place, found)


def test_every_kernel_is_ok():
    """All that are compiled for their own sake, in one process."""
    kernels = list(all_kernels())
    done = lower([kernel.mlir for kernel in kernels], ",wg-check-barriers{verdicts}")
    assert done.returncode == 0, done.stderr
    remarks = re.findall(r"remark: the protocol of kernel '\w+' is (.*)", done.stderr)
    for kernel, verdict in zip(kernels, remarks, strict=True):
        assert re.fullmatch(r"ok: \d+ runs, \d+ steps", verdict), (kernel.name, verdict)
