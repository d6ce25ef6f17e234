// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse --split-input-file 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics -o /dev/null

// Without a host plan nothing is known of the arrays: the role loads by itself, through a buffer that it alone uses, and
// there is no other role. A barrier on either side: the buffer is free, the buffer is written.
!t = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
gpu.module @device {
  // CHECK-LABEL: gpu.func @unknown_arrays
  // CHECK-DAG: %[[A:.*]] = wg.alloc_buffer {name = "operand"} : !wg.buffer<64x64xbf16, swizzle = 128>
  // CHECK-DAG: %[[B:.*]] = wg.alloc_buffer {name = "operand"} : !wg.buffer<64x32xbf16, order = [0, 1], swizzle = 128>
  // CHECK: wg.specialize {
  // CHECK-NEXT: wg.role @compute warpgroups(1) {
  // CHECK: %[[LA:.*]] = tile.load
  // CHECK: %[[LB:.*]] = tile.load
  // CHECK: %[[TA:.*]] = wg.convert_layout %[[LA]]
  // CHECK-NEXT: wg.named_barrier_sync %{{.*}} threads(128)
  // CHECK-NEXT: wg.local_store %[[TA]] to %[[A]]
  // CHECK-NEXT: wg.fence_proxy_async
  // CHECK-NEXT: wg.named_barrier_sync
  // CHECK-NEXT: %[[TB:.*]] = wg.convert_layout %[[LB]]
  // CHECK-NEXT: wg.named_barrier_sync
  // CHECK-NEXT: wg.local_store %[[TB]] to %[[B]]
  // CHECK-NEXT: wg.fence_proxy_async
  // CHECK-NEXT: wg.named_barrier_sync
  // CHECK: %[[ACC:.*]] = wg.acc : !wg.pending
  // CHECK-NEXT: %[[D:.*]] = wg.mma %[[A]], %[[B]], %[[ACC]] accumulate(%false)
  // CHECK-NEXT: %[[R:.*]] = wg.wait %[[D]] in_flight(0)
  // CHECK-NEXT: %[[OPEN:.*]] = wg.convert_layout %[[R]]
  // CHECK-NEXT: tile.store %[[OPEN]]
  gpu.func @unknown_arrays(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !t
    %vb = tile.view %pb[%n, %n] strides(%s, %one) : !t
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !tile.view<f32, rank = 2, contiguous = 1>
    // expected-remark @+1 {{operand a not by TMA: its pointer is not passed to the kernel by one launch of a host plan; through registers into shared memory}}
    %a = tile.load %va[%c0, %c0] : !t -> tensor<64x64xbf16>
    // expected-remark @+1 {{operand b not by TMA: its pointer is not passed to the kernel by one launch of a host plan; through registers into shared memory}}
    %b = tile.load %vb[%c0, %c0] : !t -> tensor<64x32xbf16>
    %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    // expected-remark @+1 {{stores from registers: its pointer is not passed to the kernel by one launch of a host plan}}
    tile.store %d, %vc[%c0, %c0] : tensor<64x32xf32>, !tile.view<f32, rank = 2, contiguous = 1>
    gpu.return
  }
}

// -----

// A product without an accumulator is an accumulation of its own: it starts fresh at each step, is waited for, and is
// added in registers. Nothing merges the addition into the product.
gpu.module @device {
  // CHECK-LABEL: gpu.func @promotion
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<64x32xf32>)
  // CHECK: %[[ACC:.*]] = wg.acc : !wg.pending
  // CHECK-NEXT: %[[D:.*]] = wg.mma {{.*}}, %[[ACC]] accumulate(%false)
  // CHECK-NEXT: %[[R:.*]] = wg.wait %[[D]] in_flight(0)
  // CHECK-NEXT: %[[OPEN:.*]] = wg.convert_layout %[[R]]
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[OPEN]]
  // CHECK-NEXT: scf.yield %[[NEXT]]
  gpu.func @promotion(%p: !llvm.ptr<1>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
    %a = arith.constant dense<1.0> : tensor<64x64xbf16>
    %b = arith.constant dense<1.0> : tensor<64x32xbf16>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x32xf32>) : i32 {
      // expected-remark @+2 {{operand a stays in registers: it is computed by the kernel}}
      // expected-remark @+1 {{operand b not by TMA: it is computed by the kernel; through registers into shared memory}}
      %d = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
      %next = arith.addf %sum, %d : tensor<64x32xf32>
      scf.yield %next : tensor<64x32xf32>
    }
    %x = tile.view %p[%n, %n] strides(%one, %one) : !tile.view<f32, rank = 2, contiguous = 1>
    // expected-remark @+1 {{stores from registers}}
    tile.store %r, %x[%c0, %c0] : tensor<64x32xf32>, !tile.view<f32, rank = 2, contiguous = 1>
    gpu.return
  }
}

// -----

// f32 without tf32: no tensor cores. A column of a times a row of b for each k, picked from what the kernel computed.
gpu.module @device {
  // CHECK-LABEL: gpu.func @exact
  // CHECK: wg.role @main
  // CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<32x24xf32>)
  // CHECK: arith.select
  // CHECK: tile.reduce {{.*}} dim(1)
  // CHECK: %[[C:.*]] = tile.broadcast {{.*}} : tensor<32x1xf32> -> tensor<32x24xf32>
  // CHECK: tile.reduce {{.*}} dim(0)
  // CHECK: %[[R:.*]] = tile.broadcast {{.*}} : tensor<1x24xf32> -> tensor<32x24xf32>
  // CHECK: math.fma %[[C]], %[[R]], %[[SUM]]
  gpu.func @exact(%p: !llvm.ptr<1>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = tile.view %p[%n, %n] strides(%one, %one) : !tile.view<f32, rank = 2, contiguous = 1>
    %a = tile.load %x[%c0, %c0] : !tile.view<f32, rank = 2, contiguous = 1> -> tensor<32x16xf32>
    %b = tile.load %x[%c0, %c0] : !tile.view<f32, rank = 2, contiguous = 1> -> tensor<16x24xf32>
    // expected-remark @+1 {{multiplies in registers, without tensor cores: they have no product of f32 with f32 in f32}}
    %d = tile.dot %a, %b : tensor<32x16xf32>, tensor<16x24xf32> -> tensor<32x24xf32>
    tile.store %d, %x[%c0, %c0] : tensor<32x24xf32>, !tile.view<f32, rank = 2, contiguous = 1>
    gpu.return
  }
}

// -----

// An input is read again, a column and a row at a time.
!x = !tile.view<f32, rank = 2, contiguous = 1>
gpu.module @device {
  // CHECK-LABEL: gpu.func @exact_of_inputs
  // CHECK: scf.for %[[K:.*]] = %
  // CHECK-NOT: arith.select
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.view<f32, rank = 2, contiguous = 1> -> tensor<1x32xf32>
  // CHECK: tile.transpose %{{.*}} [1, 0] : tensor<1x32xf32> -> tensor<32x1xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : !tile.view<f32, rank = 2, contiguous = 1> -> tensor<1x24xf32>
  gpu.func @exact_of_inputs(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %s: i64) kernel {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = tile.view %p[%n, %n] strides(%s, %one) : !x
    %y = tile.view %q[%n, %n] strides(%s, %one) : !x
    %at = tile.load %x[%c0, %c0] : !x -> tensor<16x32xf32>
    %a = tile.transpose %at [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
    %b = tile.load %x[%c0, %c0] : !x -> tensor<16x24xf32>
    // expected-remark @+1 {{multiplies in registers, without tensor cores}}
    %d = tile.dot %a, %b : tensor<32x16xf32>, tensor<16x24xf32> -> tensor<32x24xf32>
    tile.store %d, %y[%c0, %c0] : tensor<32x24xf32>, !x
    gpu.return
  }
}
plan.host @k(%x: !plan.array<f32, rank = 2, contiguous = 1, in>, %y: !plan.array<f32, rank = 2, contiguous = 1, out>) attributes {arg_names = ["x", "y"]} {
  %n = plan.dim %x[0] : !plan.array<f32, rank = 2, contiguous = 1, in>
  %s = plan.stride %x[0] : !plan.array<f32, rank = 2, contiguous = 1, in>
  %n32 = arith.trunci %n : i64 to i32
  %c1 = arith.constant 1 : i64
  plan.launch @device::@exact_of_inputs grid(%c1, %c1, %c1) args(%x, %y, %n32, %s) : !plan.array<f32, rank = 2, contiguous = 1, in>, !plan.array<f32, rank = 2, contiguous = 1, out>, i32, i64
}

// -----

// Four rows: repeated four times; the loop carries all 16, and of the equal copies one is taken behind it.
gpu.module @device {
  // CHECK-LABEL: gpu.func @few_rows
  // CHECK: %[[L:.*]] = scf.for {{.*}} -> (tensor<16x32xf32>)
  // CHECK: tile.broadcast {{.*}} : tensor<1x4x64xbf16> -> tensor<4x4x64xbf16>
  // CHECK: %[[A:.*]] = tile.reshape {{.*}} : tensor<4x4x64xbf16> -> tensor<16x64xbf16>
  // CHECK: wg.mma_sync
  // CHECK: %[[C:.*]] = tile.reshape %[[L]] : tensor<16x32xf32> -> tensor<4x4x32xf32>
  // CHECK: %[[R:.*]] = tile.reduce %[[C]] dim(0) : tensor<4x4x32xf32> -> tensor<4x32xf32>
  // CHECK: arith.maximumf
  // CHECK: tile.store %[[R]]
  gpu.func @few_rows(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %s: i64) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
    %x = tile.view %p[%n, %n] strides(%s, %one) : !tile.view<bf16, rank = 2, contiguous = 1>
    %y = tile.view %q[%n, %n] strides(%s, %one) : !tile.view<f32, rank = 2, contiguous = 1>
    %zero = arith.constant dense<0.0> : tensor<4x32xf32>
    %b = arith.constant dense<1.0> : tensor<64x32xbf16>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<4x32xf32>) : i32 {
      %a = tile.load %x[%k, %c0] : !tile.view<bf16, rank = 2, contiguous = 1> -> tensor<4x64xbf16>
      // expected-remark @+4 {{multiplies by mma.sync: M = 4 is no multiple of 64}}
      // expected-remark @+3 {{multiplies 4 rows, repeated to the 16 of an instruction of mma.sync}}
      // expected-remark @+2 {{operand a stays in registers: it is computed by the kernel}}
      // expected-remark @+1 {{operand b stays in registers: it is computed by the kernel}}
      %d = tile.dot %a, %b, %sum : tensor<4x64xbf16>, tensor<64x32xbf16> -> tensor<4x32xf32>
      scf.yield %d : tensor<4x32xf32>
    }
    // expected-remark @+1 {{stores from registers}}
    tile.store %r, %y[%c0, %c0] : tensor<4x32xf32>, !tile.view<f32, rank = 2, contiguous = 1>
    gpu.return
  }
}
