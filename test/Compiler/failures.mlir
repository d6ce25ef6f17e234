// RUN: split-file %s %t
// RUN: not girih-compile %t/nowhere.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not girih-compile 2>&1 | FileCheck %s --check-prefix=NOINPUT
// RUN: not girih-compile %t/good.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not girih-compile %t/good.mlir --emit=elf 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not girih-compile %t/good.mlir -o %t/out --ptxas=/nowhere/ptxas 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: env GIRIH_PTXAS=/from/environment not girih-compile %t/good.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ENVIRONMENT
// RUN: env GIRIH_CUDA_HOME=/some/toolkit not girih-compile %t/good.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: not girih-compile %t/noplan.mlir -o %t/out --ptxas=/bin/true 2>&1 | FileCheck %s --check-prefix=NOPLAN
// RUN: not girih-compile %t/nolaunch.mlir -o %t/out --ptxas=/bin/true 2>&1 | FileCheck %s --check-prefix=NOLAUNCH
// RUN: not girih-compile %t/unsigned.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=UNSIGNED
// RUN: not girih-compile %t/syntax.mlir --emit=ptx 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not girih-compile %t/good.mlir -o %t/good.mlir/out 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not girih-compile %t/good.mlir -o %t/out --ptxas=/bin/false 2>&1 | FileCheck %s --check-prefix=STATUS
// RUN: not girih-compile %t/advisory.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ADVISORY
// RUN: not girih-compile %t/asm.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not ls %t/out
// REQUIRES: ptxas

// MISSING: error: cannot read '{{.*}}nowhere.mlir': No such file or directory
// NOINPUT: error: no input file: girih-compile KERNEL.mlir -o FOLDER, or --help
// NOTHING: error: nothing to do: say -o FOLDER for a package or --emit=STAGE to print one
// STAGE: error: unknown stage 'elf': --emit takes tile, wg, nvvm, llvm, ptx, cubin, sass or report
// PTXAS: error: ptxas not found at '/nowhere/ptxas': run ./dev setup{{.*}}GIRIH_PTXAS
// ENVIRONMENT: error: ptxas not found at '/from/environment'
// HOME: error: ptxas not found at '/some/toolkit/bin/ptxas'
// NOPLAN: error: the module has 0 plan.host operations, expected one: a package needs a host plan that launches its kernel
// NOLAUNCH: nolaunch.mlir:4:1: error: plan.host @fill launches no kernel: expected a plan.launch in it
// UNSIGNED: unsigned.mlir:6:9: error: 'arith.cmpi' cannot stand in a plan
// SYNTAX: syntax.mlir:2:3: error: {{.*}}
// FOLDER: error: cannot create the folder
// STATUS: error: ptxas failed with status 1

// An advisory and an error of ptxas lead to the line of the module.
// ADVISORY: error: ptxas: kernel 'fill': (C7508) Potential Performance Loss: 'setmaxnreg' ignored
// ASM: asm.mlir:3:5: error: ptxas: {{.*}}Not a name of any known instruction: 'bogus'

//--- good.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel} { llvm.return }
}
plan.host @fill() attributes {arg_names = []} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@fill grid(%c1, %c1, %c1)
}
//--- noplan.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel} { llvm.return }
}
//--- nolaunch.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel} { llvm.return }
}
plan.host @fill() attributes {arg_names = []} {
}
//--- unsigned.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel} { llvm.return }
}
plan.host @fill(%n: i64) attributes {arg_names = ["n"]} {
  %c1 = arith.constant 1 : i64
  %ok = arith.cmpi ult, %n, %c1 : i64
  plan.launch @device::@fill grid(%c1, %c1, %c1)
}
//--- syntax.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.what
}
//--- advisory.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>} {
    llvm.inline_asm has_side_effects asm_dialect = att "setmaxnreg.dec.sync.aligned.u32 40;", "~{memory}" : () -> ()
    llvm.return
  }
}
plan.host @fill() attributes {arg_names = []} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@fill grid(%c1, %c1, %c1)
}
//--- asm.mlir
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @fill() attributes {nvvm.kernel} {
    llvm.inline_asm has_side_effects asm_dialect = att "bogus;", "~{memory}" : () -> ()
    llvm.return
  }
}
plan.host @fill() attributes {arg_names = []} {
  %c1 = arith.constant 1 : i64
  plan.launch @device::@fill grid(%c1, %c1, %c1)
}
