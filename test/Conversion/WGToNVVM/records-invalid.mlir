// What printing needs and does not find.
// RUN: girih-opt %s --split-input-file --verify-diagnostics --wg-collect-records
// RUN: not girih-opt %s --split-input-file --convert-wg-to-nvvm 2>&1 | FileCheck %s

// CHECK: 'tile.print' op has no memory for its records; run wg-collect-records first
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @show(%n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @+1 {{'tile.print' op needs memory of the host plan, which launches the kernel 0 times; expected one plan.launch of it}}
    tile.print "n" %n : i32
    gpu.return
  }
}
