// RUN: girih-opt %s -verify-nvvm-phase -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  llvm.func @k() attributes {nvvm.kernel} {
    // expected-error @below {{is left after the nvvm phase, which holds llvm and nvvm ops only}}
    %c = arith.constant 1 : i32
    llvm.return
  }
}
