// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics -o /dev/null
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse --split-input-file 2>/dev/null | FileCheck %s

// Rows of a packed array: a may be read beyond the end of its group, since what that gives reaches rows that are not stored;
// b may not, and c is written by TMA where a tile lies inside its group. Of an array that the kernel writes nothing is loaded by another role.
!t = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
!in = !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
!out = !plan.array<bf16, rank = 2, contiguous = 1, aligned, inout>
gpu.module @device {
  // CHECK-LABEL: gpu.func @slices
  // CHECK: wg.role @load
  // CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK: wg.tma_load %{{.*}}[%[[ROW]], %
  // CHECK: wg.tma_load %{{.*}}[%c0_i32, %c0_i32]
  // CHECK-NOT: wg.tma_load
  // CHECK: wg.role @compute
  // CHECK: wg.wait
  // CHECK: %[[SPAN:.*]] = arith.subi %{{.*}}, %c64_i32 : i32
  // CHECK: %[[IN:.*]] = arith.cmpi sge, %[[SPAN]], %c64_i32 : i32
  // CHECK: %[[NEXT:.*]] = scf.if %[[IN]] -> (!wg.cursor) {
  // CHECK: wg.store_acquire
  // CHECK: wg.tma_store
  // CHECK: wg.advance
  // CHECK: } else {
  // CHECK: tile.store %{{.*}} : tensor<64x64xbf16>
  // CHECK: scf.yield
  gpu.func @slices(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %m: i32, %k: i32, %n: i32, %sa: i64, %sb: i64, %sc: i64, %low: i32, %high: i32) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %va = tile.view %pa[%m, %k] strides(%sa, %one) : !t
    %vb = tile.view %pb[%k, %n] strides(%sb, %one) : !t
    %vc = tile.view %pc[%m, %n] strides(%sc, %one) : !t
    %ga = tile.slice %va[%low to %high] dim(0) : !t -> !t
    %gb = tile.slice %vb[%low to %high] dim(0) : !t -> !t
    %gc = tile.slice %vc[%low to %high] dim(0) : !t -> !t
    // expected-remark @+1 {{loads a by TMA, box 64x64, swizzle 128}}
    %a = tile.load %ga[%c64, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b by cp.async, 16 bytes at a time, in the role that multiplies; not by TMA: it is a slice, beyond whose end TMA would read the neighbours}}
    %b = tile.load %gb[%c0, %c0] : !t -> tensor<64x64xbf16>
    %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %e = tile.cast %d : tensor<64x64xf32> to tensor<64x64xbf16>
    // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns where the tile lies inside its slice; beyond its end TMA would write to the neighbours, and a tile there is stored from registers}}
    tile.store %e, %gc[%c64, %c0] : tensor<64x64xbf16>, !t

    // Sums over the rows, too: now the rows beyond the end would reach them.
    // expected-remark @+1 {{operand a by cp.async, 16 bytes at a time, in the role that multiplies; not by TMA: it is a slice}}
    %a2 = tile.load %ga[%c0, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{loads b by TMA}}
    %b2 = tile.load %vb[%c0, %c0] : !t -> tensor<64x64xbf16>
    %d2 = tile.dot %a2, %b2 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %r = tile.reduce %d2 dim(0) : tensor<64x64xf32> -> tensor<64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    %re = tile.expand %r dim(0) : tensor<64xf32> -> tensor<1x64xf32>
    %rb = tile.broadcast %re : tensor<1x64xf32> -> tensor<64x64xf32>
    %rc = tile.cast %rb : tensor<64x64xf32> to tensor<64x64xbf16>
    // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns where the tile lies inside its slice}}
    tile.store %rc, %gc[%c64, %c0] : tensor<64x64xbf16>, !t

    // expected-remark @+1 {{operand a not by TMA: the kernel may write c, and the role that loads would not know when}}
    %a3 = tile.load %vc[%c0, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b not by TMA: it is used by other operations than products}}
    %b3 = tile.load %vb[%c64, %c0] : !t -> tensor<64x64xbf16>
    %d3 = tile.dot %a3, %b3 : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %bf = tile.cast %b3 : tensor<64x64xbf16> to tensor<64x64xf32>
    %s3 = arith.addf %d3, %bf : tensor<64x64xf32>
    %e3 = tile.cast %s3 : tensor<64x64xf32> to tensor<64x64xbf16>
    // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns}}
    tile.store %e3, %vc[%c0, %c0] : tensor<64x64xbf16>, !t
    gpu.return
  }
}
plan.host @k(%a: !in, %b: !in, %c: !out, %low: i32, %high: i32) attributes {arg_names = ["a", "b", "c", "low", "high"]} {
  %m = plan.dim %a[0] : !in
  %k = plan.dim %a[1] : !in
  %kb = plan.dim %b[0] : !in
  %n = plan.dim %b[1] : !in
  %mc = plan.dim %c[0] : !out
  %nc = plan.dim %c[1] : !out
  %e0 = arith.cmpi eq, %k, %kb : i64
  plan.require %e0, "K"
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
  plan.launch @device::@slices grid(%c1, %c1, %c1) args(%a, %b, %c, %m32, %k32, %n32, %sa, %sb, %sc, %low, %high) : !in, !in, !out, i32, i32, i32, i64, i64, i64, i32, i32
}

// -----

// An array without alignment, one without a contiguous dimension, a place that an atomic gives, and lines that no swizzle
// fits.
!t = !tile.view<bf16, rank = 2, contiguous = 1>
!loose = !plan.array<bf16, rank = 2, contiguous = 1, in>
!any = !plan.array<bf16, rank = 2, in>
!good = !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
!count = !plan.array<i32, rank = 1, contiguous = 0, inout>
gpu.module @device {
  gpu.func @reasons(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pg: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %am: i32, %an: i32, %bm: i32, %bn: i32, %gm: i32, %gn: i32, %sa: i64, %sb: i64, %tb: i64, %sg: i64) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %va = tile.view %pa[%am, %an] strides(%sa, %one) : !t
    %vb = tile.view %pb[%bm, %bn] strides(%sb, %tb) : !tile.view<bf16, rank = 2>
    %vg = tile.view %pg[%gm, %gn] strides(%sg, %one) : !t
    %vx = tile.view %pg[%gn, %gm] strides(%sg, %one) : !t
    %vc = tile.view %pc[%c1] strides(%one) : !tile.view<i32, rank = 1, contiguous = 0>
    // expected-remark @+1 {{operand a not by TMA: base and pitches of a are not known to be multiples of 16 bytes}}
    %a = tile.load %va[%c0, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b not by TMA: no dimension of b is known to be contiguous}}
    %b = tile.load %vb[%c0, %c0] : !tile.view<bf16, rank = 2> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %places = tile.iota dim(0) : tensor<1xi32>
    %ones = arith.constant dense<1> : tensor<1xi32>
    %old = tile.read %vc[%c0] : !tile.view<i32, rank = 1, contiguous = 0> -> i32
    // expected-remark @+1 {{operand a not by TMA: its place depends on what tile.read gives, which one role alone can execute}}
    %g = tile.load %vg[%old, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b not by TMA: a line of the tile has 16 bytes, which no swizzle fits (expected a multiple of 32)}}
    %h = tile.load %vg[%c0, %c0] : !t -> tensor<64x8xbf16>
    %e = tile.dot %g, %h : tensor<64x64xbf16>, tensor<64x8xbf16> -> tensor<64x8xf32>
    // expected-remark @+1 {{operand a not by TMA: dimension 0 of its view is not that of g}}
    %i = tile.load %vx[%c0, %c0] : !t -> tensor<64x64xbf16>
    %low = arith.constant 1.0 : bf16
    // expected-remark @+1 {{operand b not by TMA: elements outside are not zero}}
    %j = tile.load %vg[%c0, %c0] fill(%low) : !t, bf16 -> tensor<64x64xbf16>
    %f = tile.dot %i, %j : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    gpu.return
  }
}
plan.host @k(%a: !loose, %b: !any, %g: !good, %c: !count) attributes {arg_names = ["a", "b", "g", "c"]} {
  %am = plan.dim %a[0] : !loose
  %an = plan.dim %a[1] : !loose
  %bm = plan.dim %b[0] : !any
  %bn = plan.dim %b[1] : !any
  %gm = plan.dim %g[0] : !good
  %gn = plan.dim %g[1] : !good
  %sa = plan.stride %a[0] : !loose
  %sb = plan.stride %b[0] : !any
  %tb = plan.stride %b[1] : !any
  %sg = plan.stride %g[0] : !good
  %am32 = arith.trunci %am : i64 to i32
  %an32 = arith.trunci %an : i64 to i32
  %bm32 = arith.trunci %bm : i64 to i32
  %bn32 = arith.trunci %bn : i64 to i32
  %gm32 = arith.trunci %gm : i64 to i32
  %gn32 = arith.trunci %gn : i64 to i32
  %c1 = arith.constant 1 : i64
  plan.launch @device::@reasons grid(%c1, %c1, %c1) args(%a, %b, %g, %c, %am32, %an32, %bm32, %bn32, %gm32, %gn32, %sa, %sb, %tb, %sg) : !loose, !any, !good, !count, i32, i32, i32, i32, i32, i32, i64, i64, i64, i64
}
