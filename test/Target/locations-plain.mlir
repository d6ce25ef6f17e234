// RUN: girih-compile %s --emit=ptx | FileCheck %s

// A module written by hand: its file is the one "function", which begins in line 1.

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @kernel() attributes {nvvm.kernel} {
    // CHECK: .loc 1 [[@LINE+3]] {{[0-9]+$}}
    // CHECK-NEXT: begin inline asm
    // CHECK-NEXT: bar.sync 1;
    llvm.inline_asm has_side_effects asm_dialect = att "bar.sync 1;", "~{memory}" : () -> ()
    llvm.return
  }
}
// CHECK: .file 1 "locations-plain.mlir"
