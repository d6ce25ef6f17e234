# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reader of nvdisasm's listings that `./dev bench kernels-static` counts with."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

# In nvdisasm's form, shortened: an outer loop over tiles (.L_x_1) with the loop over k in it (.L_x_2), whose wait
# tries again out of line (.L_x_5), and a loop without wgmma after it (.L_x_4).
LISTING = """
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_ACCELERATORS"
\t.elftype\t@"ET_EXEC"

//--------------------- .text.gemm                --------------------------
\t.section\t.text.gemm,"ax",@progbits
.text.gemm:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0020*/                   IADD3 R2, R2, 0x1, RZ ;
.L_x_2:
        /*0030*/                   ULEA UR9, UR4, UR5, 0x3 ;
.L_x_20:
        /*0040*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR9+0x30000], R4 ;
        /*0050*/              @!P1 BRA `(.L_x_5) ;
.L_x_6:
        /*0060*/                   WARPSYNC.ALL ;
        /*0070*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8].tnspB, R24, UP0 ;
        /*0080*/                   UIADD3 UR4, UR4, 0x1, URZ ;
        /*0090*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12].tnspB, R24, gsb0 ;
        /*00a0*/               @P0 BRA `(.L_x_2) ;
        /*00b0*/                   STG.E desc[UR6][R2.64], R24 ;
.L_x_4:
        /*00c0*/                   IADD3 R5, R5, 0x1, RZ ;
        /*00d0*/               @P2 BRA `(.L_x_4) ;
        /*00e0*/              @!P3 BRA `(.L_x_1) ;
        /*00f0*/                   EXIT ;
.L_x_5:
        /*0100*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR9+0x30000], R4 ;
        /*0110*/              @!P1 BRA `(.L_x_5) ;
        /*0120*/                   BRA `(.L_x_6) ;
.L_x_7:
        /*0130*/                   BRA `(.L_x_7);
        /*0140*/                   NOP ;

//--------------------- .text.copy                --------------------------
.text.copy:
        /*0000*/                   LDG.E R2, desc[UR4][R2.64] ;
        /*0010*/                   STG.E desc[UR4][R4.64], R2 ;
        /*0020*/                   EXIT ;
"""


@pytest.fixture(scope="module")
def sass() -> ModuleType:
    path = Path(__file__).absolute().parents[2] / "bench/_sass.py"
    spec = importlib.util.spec_from_file_location("_sass", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_sass"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_functions_instructions_and_labels_are_read(sass: ModuleType) -> None:
    gemm, copy = sass.parse(LISTING)
    assert gemm.name == "gemm" and len(gemm.instructions) == 21
    assert copy.name == "copy" and len(copy.instructions) == 3
    wait = gemm.instructions[4]
    assert (wait.address, wait.predicate) == (0x40, "")
    assert wait.opcode == "SYNCS.PHASECHK.TRANS64.TRYWAIT"
    branch = gemm.instructions[5]
    assert (branch.predicate, branch.opcode, branch.target) == ("!P1", "BRA", ".L_x_5")
    assert gemm.labels[".L_x_2"] == 3


def test_the_main_loop_is_the_innermost_with_a_wgmma_and_has_its_spins(sass: ModuleType) -> None:
    gemm, _ = sass.parse(LISTING)
    # 0x30 to 0xa0 are 8 instructions, the spin out of line 3; two of them are wgmmas.
    assert sass.instructions_per_wgmma(gemm) == (8 + 3) / 2
    sizes = sorted(len(body) for body in sass.natural_loops(gemm))
    # The endless branch that pads the end; the spin; the loop without wgmma; the main loop; the loop over tiles,
    # 0x20 to 0xe0 and the three instructions out of line.
    assert sizes == [1, 2, 2, 11, 13 + 3]


def test_a_kernel_without_wgmma_has_no_density(sass: ModuleType) -> None:
    _, copy = sass.parse(LISTING)
    assert sass.instructions_per_wgmma(copy) is None
