// RUN: girih-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: girih-compile %s --emit=ptx | FileCheck %s --check-prefix=PTX

// Inline asm is convergent before any LLVM pass runs, although MLIR does not mark it. Without that LLVM threads the
// branch on %c through the block in the middle and puts a copy of the barrier into each arm, where the warps of one
// CTA no longer meet.

// LLVM: call void asm sideeffect "bar.sync 0;", "~{memory}"() #[[ASM:[0-9]+]]
// LLVM-NOT: bar.sync
// LLVM: attributes #[[ASM]] = { convergent

// PTX: bar.sync 0;
// PTX-NOT: bar.sync

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @kernel(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %c = llvm.icmp "slt" %tid, %n : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %two = llvm.mlir.constant(2 : i32) : i32
    llvm.cond_br %c, ^a, ^b
  ^a:
    llvm.inline_asm has_side_effects asm_dialect = att "st.global.u32 [$0], 1;", "l,~{memory}" %p : (!llvm.ptr<1>) -> ()
    llvm.br ^middle
  ^b:
    llvm.inline_asm has_side_effects asm_dialect = att "st.global.u32 [$0], 2;", "l,~{memory}" %p : (!llvm.ptr<1>) -> ()
    llvm.br ^middle
  ^middle:
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 0;", "~{memory}" : () -> ()
    llvm.cond_br %c, ^x, ^y
  ^x:
    llvm.inline_asm has_side_effects asm_dialect = att "st.global.u32 [$0], 3;", "l,~{memory}" %p : (!llvm.ptr<1>) -> ()
    llvm.br ^end
  ^y:
    llvm.inline_asm has_side_effects asm_dialect = att "st.global.u32 [$0], 4;", "l,~{memory}" %p : (!llvm.ptr<1>) -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
}
