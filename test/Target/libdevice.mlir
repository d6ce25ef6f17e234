// RUN: girih-compile %s --emit=llvm | FileCheck %s
// REQUIRES: ptxas

// Only what is used of libdevice comes in, and it is inlined: nothing named __nv_ is left.

// CHECK-NOT: __nv_
// CHECK: llvm.nvvm.ex2.approx
// CHECK-NOT: __nv_

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @__nv_exp2f(f32) -> f32
  llvm.func @kernel(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @__nv_exp2f(%x) : (f32) -> f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
