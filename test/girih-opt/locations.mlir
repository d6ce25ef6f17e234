// Locations are printed unless one asks for none, and an error names its place.
// RUN: girih-opt %s | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false | FileCheck %s --check-prefix=NONE
// RUN: sed 's/decrease 40/decrease 41/' %s | not girih-opt 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: wg.set_registers decrease 40 loc(#[[LOC:.*]])
// CHECK: #[[LOC]] = loc("gemm.py":20:8)
// NONE: wg.set_registers decrease 40{{$}}
// ERROR: gemm.py:20:8: error: 'wg.set_registers' op expects a register budget that is a multiple of 8 from 24 to 256, found 41
func.func @f() {
  wg.set_registers decrease 40 loc("gemm.py":20:8)
  return
}
