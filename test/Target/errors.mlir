// RUN: split-file %s %t
// RUN: not girih-compile %t/arch.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not girih-compile %t/good.mlir --arch=sm_80 --emit=ptx 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not girih-compile %t/target.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not girih-compile %t/phase.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=PHASE
// RUN: not girih-compile %t/modules.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=MODULES
// RUN: girih-compile %t/good.mlir --emit=ptx

// ARCH: error: unknown architecture 'sm_42': girih generates code for sm_90a
// OPTION: error: unknown architecture 'sm_80': girih generates code for sm_90a
// TARGET: error: gpu.module @device has 0 #nvvm.target attributes, expected one: write gpu.module @device [#nvvm.target<chip = "sm_90a"
// PHASE: phase.mlir:3:10: error: 'arith.addi' is left after the passes; expected only llvm and nvvm operations
// MODULES: error: the module has 2 gpu.module operations, expected one

//--- arch.mlir
gpu.module @device [#nvvm.target<chip = "sm_42", features = "+ptx80">] {
  llvm.func @kernel() attributes {nvvm.kernel} { llvm.return }
}
//--- good.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @kernel() attributes {nvvm.kernel} { llvm.return }
}
//--- target.mlir
gpu.module @device {
  llvm.func @kernel() attributes {nvvm.kernel} { llvm.return }
}
//--- phase.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @kernel(%n: i32) attributes {nvvm.kernel} {
    %0 = arith.addi %n, %n : i32
    llvm.return
  }
}
//--- modules.mlir
gpu.module @a [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {}
gpu.module @b [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {}
