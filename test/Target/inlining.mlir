// RUN: girih-compile %s --emit=ptx | FileCheck %s

// Device functions are inlined, since a call serialises wgmma; their lines keep the chain of calls in the table, and
// no copy of them is left.

// CHECK-NOT: .func
// CHECK-NOT: call
// CHECK: .loc [[#HELPER:]] 2 {{[0-9]+$}}
// CHECK-NEXT: begin inline asm
// CHECK-NEXT: bar.sync 1;
// CHECK: .file [[#HELPER]] "helper"

module attributes {girih.sources = [
  {name = "kernel", file = "k.py", line = 10 : i64}, {name = "helper", file = "k.py", line = 1 : i64}
]} {
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @helper() {
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 1;", "~{memory}" : () -> () loc("helper"("k.py":2:4))
    llvm.return loc("helper"("k.py":3:4))
  } loc("helper"("k.py":1:0))
  llvm.func @kernel() attributes {nvvm.kernel} {
    llvm.call @helper() : () -> () loc("kernel"("k.py":11:4))
    llvm.return loc("kernel"("k.py":12:4))
  } loc("kernel"("k.py":10:0))
}
}
