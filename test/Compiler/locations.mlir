// RUN: rm -rf %t && girih-compile %s -o %t
// RUN: /usr/lib/llvm-22/bin/llvm-objcopy --dump-section .girih.loc=%t/table.json %t/matmul.cubin
// RUN: FileCheck %s --input-file=%t/table.json
// RUN: FileCheck %s --input-file=%t/matmul.ptx --check-prefix=PTX
// REQUIRES: ptxas

// A helper that is called from two places, and one that it calls: each number leads to its own whole chain, innermost
// first, with lines that count from the first line of each function.

// CHECK: "functions":[{"file":"gemm.py","line":12,"name":"matmul"},{"file":"lib.py","line":4,"name":"scale"},{"file":"lib.py","line":30,"name":"round"}]
// CHECK-SAME: "locations":[
// CHECK-SAME: [1,2,4],[0,10,8]]
// CHECK-SAME: [1,2,4],[0,11,8]]
// CHECK-SAME: [2,1,6],[1,3,5],[0,11,8]]

// PTX: .loc [[#SCALE:]] 2 [[#FIRST:]]
// PTX: bar.sync 1;
// PTX: .loc [[#SCALE]] 2 [[#FIRST+1]]
// PTX: bar.sync 2;
// PTX: .loc [[#]] 1 [[#FIRST+2]]
// PTX: bar.sync 3;

module attributes {girih.sources = [
  {name = "matmul", file = "gemm.py", line = 12 : i64},
  {name = "scale", file = "lib.py", line = 4 : i64},
  {name = "round", file = "lib.py", line = 30 : i64}
]} {
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @matmul() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 1;", "~{memory}" : () -> ()
      loc(callsite("scale"("lib.py":5:4) at "matmul"("gemm.py":21:8)))
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 2;", "~{memory}" : () -> ()
      loc(callsite("scale"("lib.py":5:4) at "matmul"("gemm.py":22:8)))
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 3;", "~{memory}" : () -> ()
      loc(callsite("round"("lib.py":30:6) at callsite("scale"("lib.py":6:5) at "matmul"("gemm.py":22:8))))
    llvm.return loc("matmul"("gemm.py":23:4))
  } loc("matmul"("gemm.py":12:0))
}
plan.host @matmul() attributes {arg_names = []} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@matmul grid(%c1, %c1, %c1)
}
}
