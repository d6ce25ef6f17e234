// RUN: girih-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: girih-compile %s --emit=ptx | FileCheck %s --check-prefix=PTX

// The multiplication uses what the wait returns, so it stays below it. A struct of accumulators that goes round a loop
// becomes scalars: no load, no store, no insertvalue is left of it.

// LLVM-LABEL: define ptx_kernel void @kernel
// LLVM-NOT: alloca
// LLVM-NOT: insertvalue
// LLVM-NOT: phi {
// LLVM: wgmma.wait_group.sync.aligned 1;
// LLVM: wgmma.wait_group.sync.aligned 0;
// LLVM: fmul

// PTX: wgmma.commit_group
// PTX: wgmma.wait_group.sync.aligned 1;
// PTX: wgmma.wait_group.sync.aligned 0;
// PTX: mul.rn.f32
// PTX: st.global

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @kernel(%p: !llvm.ptr<1>, %a: i64, %b: i64, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %half = llvm.mlir.constant(0.5 : f32) : f32
    %acc0 = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
    llvm.br ^head(%zero, %acc0 : i32, !llvm.struct<(f32, f32, f32, f32)>)
  ^head(%k: i32, %acc: !llvm.struct<(f32, f32, f32, f32)>):
    %more = llvm.icmp "slt" %k, %n : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %0 = llvm.extractvalue %acc[0] : !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %acc[1] : !llvm.struct<(f32, f32, f32, f32)>
    %2 = llvm.extractvalue %acc[2] : !llvm.struct<(f32, f32, f32, f32)>
    %3 = llvm.extractvalue %acc[3] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.inline_asm has_side_effects asm_dialect = att "wgmma.fence.sync.aligned;", "~{memory}" : () -> ()
    %d = llvm.inline_asm has_side_effects asm_dialect = att "{ .reg .pred p; setp.ne.b32 p, $10, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $9, p, 1, 1, 0, 0; }", "=f,=f,=f,=f,0,1,2,3,l,l,r,~{memory}" %0, %1, %2, %3, %a, %b, %k : (f32, f32, f32, f32, i64, i64, i32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.inline_asm has_side_effects asm_dialect = att "wgmma.commit_group.sync.aligned;", "~{memory}" : () -> ()
    %4 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    %5 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
    %6 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
    %7 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
    %w = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,0,1,2,3,~{memory}" %4, %5, %6, %7 : (f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %next = llvm.add %k, %one : i32
    llvm.br ^head(%next, %w : i32, !llvm.struct<(f32, f32, f32, f32)>)
  ^exit:
    %8 = llvm.extractvalue %acc[0] : !llvm.struct<(f32, f32, f32, f32)>
    %9 = llvm.extractvalue %acc[1] : !llvm.struct<(f32, f32, f32, f32)>
    %10 = llvm.extractvalue %acc[2] : !llvm.struct<(f32, f32, f32, f32)>
    %11 = llvm.extractvalue %acc[3] : !llvm.struct<(f32, f32, f32, f32)>
    %t = llvm.inline_asm has_side_effects asm_dialect = att "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}" %8, %9, %10, %11 : (f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %x = llvm.extractvalue %t[0] : !llvm.struct<(f32, f32, f32, f32)>
    %y = llvm.fmul %x, %half : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
