// Operands that the role which multiplies copies into buffers by itself: loads whose tiles are stored at once, between two
// meetings of the role, with a fence for wgmma behind.
// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics -o /dev/null
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse --split-input-file 2>/dev/null | FileCheck %s

!t = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
!in = !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
!out = !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
gpu.module @device {
  // Listed rows are operand a as they are, and operand b as their transpose: its buffer's lines are the array's.
  // CHECK-LABEL: gpu.func @listed
  // CHECK-DAG: %[[A:.*]] = wg.alloc_buffer {{.*}} : !wg.buffer<64x64xbf16, swizzle = 128>
  // CHECK-DAG: %[[B:.*]] = wg.alloc_buffer {{.*}} : !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
  // CHECK: wg.role @compute
  // CHECK: wg.named_barrier_sync
  // CHECK-NEXT: %[[T:.*]] = tile.take {{.*}} -> tensor<64x64xbf16, #[[LINES:.*]]>
  // CHECK-NEXT: wg.local_store %[[T]] to %[[A]] : tensor<64x64xbf16, #[[LINES]]>
  // CHECK-NEXT: wg.fence_proxy_async
  // CHECK-NEXT: wg.named_barrier_sync
  // CHECK: wg.named_barrier_sync
  // CHECK-NEXT: %[[U:.*]] = tile.take {{.*}} -> tensor<64x64xbf16, #[[LINES]]>
  // CHECK-NEXT: %[[V:.*]] = tile.transpose %[[U]]
  // CHECK-NEXT: wg.local_store %[[V]] to %[[B]]
  // CHECK: wg.mma %[[A]], %[[B]]
  gpu.func @listed(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %m: i32, %k: i32, %n: i32, %sa: i64, %sb: i64, %sc: i64) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%m, %k] strides(%sa, %one) : !t
    %vb = tile.view %pb[%n, %k] strides(%sb, %one) : !t
    %vc = tile.view %pc[%m, %n] strides(%sc, %one) : !t
    %i = tile.iota dim(0) : tensor<64xi32>
    %two = arith.constant dense<2> : tensor<64xi32>
    %rows = arith.muli %i, %two : tensor<64xi32>
    // expected-remark @+1 {{operand a by cp.async, 16 bytes at a time, in the role that multiplies; not by TMA: its rows are listed}}
    %a = tile.take %va[%c0, %c0] at(%rows) dim(0) : !t, tensor<64xi32> -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b by cp.async, 16 bytes at a time, in the role that multiplies; not by TMA: its rows are listed}}
    %b = tile.take %vb[%c0, %c0] at(%rows) dim(0) : !t, tensor<64xi32> -> tensor<64x64xbf16>
    %bt = tile.transpose %b [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %bt : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %e = tile.cast %d : tensor<64x64xf32> to tensor<64x64xbf16>
    // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns}}
    tile.store %e, %vc[%c0, %c0] : tensor<64x64xbf16>, !t
    gpu.return
  }
}
plan.host @k(%a: !in, %b: !in, %c: !out) attributes {arg_names = ["a", "b", "c"]} {
  %m = plan.dim %a[0] : !in
  %k = plan.dim %a[1] : !in
  %n = plan.dim %b[0] : !in
  %mc = plan.dim %c[0] : !out
  %nc = plan.dim %c[1] : !out
  %e1 = arith.cmpi eq, %m, %mc : i64
  plan.require %e1, "M"
  %e2 = arith.cmpi eq, %n, %nc : i64
  plan.require %e2, "N"
  %sa = plan.stride %a[0] : !in
  %sb = plan.stride %b[0] : !in
  %sc = plan.stride %c[0] : !out
  %m32 = arith.trunci %m : i64 to i32
  %k32 = arith.trunci %k : i64 to i32
  %n32 = arith.trunci %n : i64 to i32
  %c1 = arith.constant 1 : i64
  plan.launch @device::@listed grid(%c1, %c1, %c1) args(%a, %b, %c, %m32, %k32, %n32, %sa, %sb, %sc) : !in, !in, !out, i32, i32, i32, i64, i64, i64
}
