// RUN: env GIRIH_CUDA_HOME=/nowhere not girih-compile %s --emit=llvm 2>&1 | FileCheck %s

// CHECK: error: the kernel calls __nv_exp2f of libdevice, which cannot be read at '/nowhere/nvvm/libdevice/libdevice.10.bc': run ./dev setup
// CHECK-SAME: GIRIH_CUDA_HOME

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @__nv_exp2f(f32) -> f32
  llvm.func @kernel(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
    %y = llvm.call @__nv_exp2f(%x) : (f32) -> f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
