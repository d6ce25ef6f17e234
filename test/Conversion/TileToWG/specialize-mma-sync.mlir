// Which products become wg.mma_sync, and where its operands come from.
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse --split-input-file 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --tile-specialize --split-input-file --verify-diagnostics -o /dev/null

// Sixteen rows: the slots are filled as for wgmma, and read into registers; each slot is given back behind its product.
// Four warps share the columns, so that operand a is the same in all of them.
// CHECK-DAG: #[[A:.*]] = #wg.layout<{{.*}}warp: {{\[}}[0,0],[0,0]]}
// CHECK-DAG: #[[B:.*]] = #wg.layout<{register: {{\[}}[1,0]{{.*}}warp: {{\[}}[0,8],[0,16]]}
// CHECK-LABEL: gpu.func @few_rows
// CHECK: wg.role @load warps(1)
// CHECK: scf.for
// CHECK: wg.acquire
// CHECK: wg.role @compute warpgroups(1)
// CHECK: scf.for {{.*}} iter_args(%[[Q:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (
// CHECK: %[[SLOT:.*]]:2 = wg.get %[[RING:.*]][%[[CURSOR:.*]]]
// CHECK: %[[FA:.*]] = wg.local_load %[[SLOT]]#0 : !wg.buffer<16x64xbf16, swizzle = 128> -> tensor<16x64xbf16, #[[A]]>
// CHECK-NEXT: %[[FB:.*]] = wg.local_load %[[SLOT]]#1 : !wg.buffer<64x64xbf16, swizzle = 128> -> tensor<64x64xbf16, #[[B]]>
// CHECK-NEXT: %[[START:.*]] = wg.convert_layout
// CHECK-NEXT: %[[D:.*]] = wg.mma_sync %[[FA]], %[[FB]], %[[START]] : tensor<16x64xbf16, #[[A]]>, tensor<64x64xbf16, #[[B]]>
// CHECK-NEXT: %[[OPEN:.*]] = wg.convert_layout %[[D]]
// CHECK-NEXT: wg.free %[[RING]][%[[CURSOR]]]
!v = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
module {
  gpu.module @device {
    gpu.func @few_rows(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %m: i32, %n: i32, %k: i32, %kb: i32, %lda: i64, %ldb: i64, %ldc: i64) kernel {
      %one = arith.constant 1 : i64
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c64 = arith.constant 64 : i32
      %va = tile.view %pa[%m, %k] strides(%lda, %one) : !v
      %vb = tile.view %pb[%kb, %n] strides(%ldb, %one) : !v
      %vc = tile.view %pc[%m, %n] strides(%ldc, %one) : !tile.view<f32, rank = 2, contiguous = 1>
      %zero = arith.constant dense<0.0> : tensor<16x64xf32>
      %r = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (tensor<16x64xf32>) : i32 {
        // expected-remark @+1 {{loads x by TMA, box 16x64, swizzle 128}}
        %a = tile.load %va[%c0, %i] : !v -> tensor<16x64xbf16>
        // expected-remark @+1 {{loads w by TMA, box 64x64, swizzle 128}}
        %b = tile.load %vb[%i, %c0] : !v -> tensor<64x64xbf16>
        // expected-remark @+1 {{multiplies by mma.sync: M = 16 is no multiple of 64}}
        %y = tile.dot %a, %b, %x : tensor<16x64xbf16>, tensor<64x64xbf16> -> tensor<16x64xf32>
        scf.yield %y : tensor<16x64xf32>
      }
      // expected-remark @+1 {{stores from registers: its rows do not fall into 64 for each warpgroup}}
      tile.store %r, %vc[%c0, %c0] : tensor<16x64xf32>, !tile.view<f32, rank = 2, contiguous = 1>
      gpu.return
    }
  }
  plan.host @k(%x: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %w: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>,
               %y: !plan.array<f32, rank = 2, contiguous = 1, out>) attributes {arg_names = ["x", "w", "y"]} {
    %m = plan.dim %x[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %k = plan.dim %x[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %kb = plan.dim %w[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %n = plan.dim %w[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %lda = plan.stride %x[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldb = plan.stride %w[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldc = plan.stride %y[0] : !plan.array<f32, rank = 2, contiguous = 1, out>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %kb32 = arith.trunci %kb : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    %c1 = arith.constant 1 : i64
    plan.launch @device::@few_rows grid(%c1, %c1, %c1) args(%x, %w, %y, %m32, %n32, %k32, %kb32, %lda, %ldb, %ldc)
        : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>,
          !plan.array<f32, rank = 2, contiguous = 1, out>, i32, i32, i32, i32, i64, i64, i64
  }
}

// -----

// f64, integers of 40 columns, 96 rows: not wgmma's, but mma.sync's. 264 columns, K of 8 bf16 and 12 columns: nobody's.
gpu.module @device {
  // CHECK-LABEL: gpu.func @extents
  // CHECK-COUNT-3: wg.mma_sync
  // CHECK-COUNT-3: math.fma
  gpu.func @extents(%p: !llvm.ptr<1>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %d64 = arith.constant dense<1.0> : tensor<64x64xf64>
    %s8 = arith.constant dense<1> : tensor<64x64xi8>
    %s8n = arith.constant dense<1> : tensor<64x40xi8>
    %h96 = arith.constant dense<1.0> : tensor<96x64xbf16>
    %h64 = arith.constant dense<1.0> : tensor<64x64xbf16>
    %h264 = arith.constant dense<1.0> : tensor<64x264xbf16>
    %h8 = arith.constant dense<1.0> : tensor<64x8xbf16>
    %h8n = arith.constant dense<1.0> : tensor<8x64xbf16>
    %h12 = arith.constant dense<1.0> : tensor<64x12xbf16>
    // expected-remark @+3 {{multiplies by mma.sync: wgmma has no product of f64 with f64 in f64}}
    // expected-remark @+2 {{operand a stays in registers}}
    // expected-remark @+1 {{operand b stays in registers}}
    %1 = tile.dot %d64, %d64 : tensor<64x64xf64>, tensor<64x64xf64> -> tensor<64x64xf64>
    // expected-remark @+3 {{multiplies by mma.sync: N = 40 is of integers no multiple of 16, nor 8 or 24}}
    // expected-remark @+2 {{operand a stays in registers}}
    // expected-remark @+1 {{operand b stays in registers}}
    %2 = tile.dot %s8, %s8n : tensor<64x64xi8>, tensor<64x40xi8> -> tensor<64x40xi32>
    // expected-remark @+3 {{multiplies by mma.sync: M = 96 is no multiple of 64}}
    // expected-remark @+2 {{operand a stays in registers}}
    // expected-remark @+1 {{operand b stays in registers}}
    %3 = tile.dot %h96, %h64 : tensor<96x64xbf16>, tensor<64x64xbf16> -> tensor<96x64xf32>
    // 33 blocks of columns, which no two warps share.
    // expected-remark @+1 {{multiplies in registers, without tensor cores: mma.sync would take 412 registers of each of 256 threads}}
    %4 = tile.dot %h64, %h264 : tensor<64x64xbf16>, tensor<64x264xbf16> -> tensor<64x264xf32>
    // expected-remark @+1 {{multiplies in registers, without tensor cores: K = 8 is no multiple of 16}}
    %5 = tile.dot %h8, %h8n : tensor<64x8xbf16>, tensor<8x64xbf16> -> tensor<64x64xf32>
    // expected-remark @+1 {{multiplies in registers, without tensor cores: N = 12 is no multiple of 8}}
    %6 = tile.dot %h64, %h12 : tensor<64x64xbf16>, tensor<64x12xbf16> -> tensor<64x12xf32>
    tile.print "x" %1 : tensor<64x64xf64>
    tile.print "x" %2 : tensor<64x40xi32>
    tile.print "x" %3 : tensor<96x64xf32>
    tile.print "x" %4 : tensor<64x264xf32>
    tile.print "x" %5 : tensor<64x64xf32>
    tile.print "x" %6 : tensor<64x12xf32>
    gpu.return
  }
}

// -----

// In roles of the author: mma.sync whatever the rows, by the warps of the role.
gpu.module @device {
  // CHECK-LABEL: gpu.func @in_roles
  // CHECK: wg.role @two warps(2)
  // CHECK: wg.mma_sync {{.*}} : tensor<64x32xbf16, #{{.*}}>, tensor<32x8xbf16, #{{.*}}>, tensor<64x8xf32, #{{.*}}>
  // CHECK-NEXT: wg.convert_layout
  // CHECK: wg.role @exact warpgroups(1)
  // CHECK: math.fma
  gpu.func @in_roles() kernel {
    wg.specialize {
      wg.role @two warps(2) {
        %a = arith.constant dense<1.0> : tensor<64x32xbf16>
        %b = arith.constant dense<1.0> : tensor<32x8xbf16>
        // expected-remark @+1 {{multiplies by mma.sync: its operands are tiles of a role}}
        %d = tile.dot %a, %b : tensor<64x32xbf16>, tensor<32x8xbf16> -> tensor<64x8xf32>
        tile.print "d" %d : tensor<64x8xf32>
      }
      wg.role @exact warpgroups(1) {
        %a = arith.constant dense<1.0> : tensor<16x16xf32>
        // expected-remark @+1 {{multiplies in registers, without tensor cores: they have no product of f32 with f32 in f32}}
        %d = tile.dot %a, %a : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
        tile.print "d" %d : tensor<16x16xf32>
      }
    }
    gpu.return
  }
}
