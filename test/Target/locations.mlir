// RUN: girih-compile %s --emit=ptx | FileCheck %s
// RUN: girih-compile %s --emit=ptx | FileCheck %s --check-prefix=HIDDEN
// RUN: girih-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM

// The file of a .loc is the function, its line counts from the function's first line and its column is the number of
// the location, so that the PTX holds no path and no absolute line. A helper that is called from two places has two
// numbers. `matmul` begins in line 12 of its file, `scale` in line 4 of another.

// HIDDEN-NOT: gemm.py
// HIDDEN-NOT: /secret
// HIDDEN-NOT: debug
// HIDDEN-NOT: .section

// LLVM: emissionKind: DebugDirectivesOnly

// CHECK: .target sm_90a{{$}}
// CHECK: .visible .entry matmul(

module attributes {girih.sources = [
  {name = "matmul", file = "/secret/gemm.py", line = 12 : i64},
  {name = "scale", file = "/secret/helpers.py", line = 4 : i64}
]} {
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @matmul(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    // CHECK: .loc [[#MATMUL:]] 9 [[#ONE:]]{{$}}
    // CHECK: mov.b32 %{{.*}}, %clock;
    %c = llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, %clock;", "=r" : () -> i32
      loc("matmul"("/secret/gemm.py":20:8))
    // CHECK: .loc [[#SCALE:]] 2 [[#ONE+1]]{{$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 1;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 1;", "~{memory}" : () -> ()
      loc(callsite("scale"("/secret/helpers.py":5:4) at "matmul"("/secret/gemm.py":21:8)))
    // CHECK: .loc [[#SCALE]] 2 [[#ONE+2]]{{$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 2;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 2;", "~{memory}" : () -> ()
      loc(callsite("scale"("/secret/helpers.py":5:4) at "matmul"("/secret/gemm.py":22:8)))
    // The same place again has the same number.
    // CHECK: .loc [[#MATMUL]] 9 [[#ONE]]{{$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 3;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 3;", "~{memory}" : () -> ()
      loc("matmul"("/secret/gemm.py":20:8))
    // A fused location says what its first part says; an unknown one gets the function's own.
    // CHECK: .loc [[#MATMUL]] 14 [[#ONE+3]]{{$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 4;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 4;", "~{memory}" : () -> ()
      loc(fused["matmul"("/secret/gemm.py":25:2), "matmul"("/secret/gemm.py":26:3)])
    // CHECK: .loc [[#MATMUL]] 1 [[#ONE+4]]{{$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 5;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 5;", "~{memory}" : () -> () loc(unknown)
    %f = llvm.sitofp %c : i32 to f32 loc("matmul"("/secret/gemm.py":27:8))
    %s = llvm.fadd %f, %x : f32 loc("matmul"("/secret/gemm.py":27:8))
    llvm.store %s, %p : f32, !llvm.ptr<1> loc("matmul"("/secret/gemm.py":28:8))
    llvm.return loc("matmul"("/secret/gemm.py":29:8))
  } loc("matmul"("/secret/gemm.py":12:0))
}
}
// CHECK-DAG: .file [[#MATMUL]] "matmul"
// CHECK-DAG: .file [[#SCALE]] "scale"
