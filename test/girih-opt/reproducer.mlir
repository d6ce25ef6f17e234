// A pass that fails leaves a reproducer, and running that fails in the same way; IR can be printed after each pass.
// RUN: not girih-opt %s --pass-pipeline="builtin.module(gpu.module(canonicalize,wg-choose-stages,wg-lower-rings))" --mlir-pass-pipeline-crash-reproducer=%t.mlir -o %t.out 2> %t.err
// RUN: FileCheck %s < %t.err
// RUN: FileCheck %s --check-prefix=SAVED < %t.mlir
// RUN: not girih-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s
// RUN: sed 's/256x256xf32/64x64xbf16/' %s | girih-opt --pass-pipeline="builtin.module(gpu.module(wg-choose-stages))" --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=AFTER

// CHECK: error: expected inside a wg.role
// SAVED: pipeline: "builtin.module(gpu.module(canonicalize{{.*}},wg-choose-stages,wg-lower-rings))"
// AFTER: IR Dump After {{.*}}wg-choose-stages
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @f() kernel {
    %ring = wg.ring : !wg.ring<[!wg.buffer<256x256xf32, swizzle = 128>]>
    %p = wg.cursor producer %ring : !wg.ring<[!wg.buffer<256x256xf32, swizzle = 128>]>
    %slot = wg.acquire %ring[%p] : !wg.ring<[!wg.buffer<256x256xf32, swizzle = 128>]>
    wg.publish %ring[%p] : !wg.ring<[!wg.buffer<256x256xf32, swizzle = 128>]>
    gpu.return
  }
}
