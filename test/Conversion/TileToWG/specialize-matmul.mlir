// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse 2>/dev/null | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --split-input-file --verify-diagnostics -o /dev/null
// RUN: girih-opt %s --mlir-print-debuginfo=false --girih-tile-to-wg --girih-wg-to-nvvm=stop-at-wg 2>/dev/null | FileCheck %s --check-prefix=STORES

// The persistent matmul: what the hand-written kernel of the wg level says. One warp loads, two warpgroups multiply with one
// step in flight and send the tile out in four chunks.
// CHECK: gpu.func @matmul(%[[M:[^:]*]]: i32, %[[N:[^:]*]]: i32, %[[K:[^:]*]]: i32,
// CHECK-SAME: %[[MAPA:[^:]*]]: !wg.view<bf16, box = [128, 64], swizzle = 128>, %[[MAPB:[^:]*]]: !wg.view<bf16, box = [64, 64], swizzle = 128>, %[[MAPC:[^:]*]]: !wg.view<bf16, box = [64, 64], swizzle = 128>) kernel
// CHECK-DAG: %[[ROWS:.*]] = arith.ceildivsi %[[M]]
// CHECK-DAG: %[[STEPS:.*]] = arith.ceildivsi %[[K]]
// CHECK: %[[RING:.*]] = wg.ring {name = "a_b"} : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>]>
// CHECK: %[[OUT:.*]] = wg.store_ring {name = "out", stages = 2 : i32} : !wg.store_ring<!wg.buffer<128x64xbf16, swizzle = 128>>
// CHECK: wg.role @load warps(1) {
// CHECK-NEXT: %[[P:.*]] = wg.cursor producer %[[RING]]
// CHECK-NEXT: scf.for %[[T:.*]] = {{.*}} iter_args(%[[P0:.*]] = %[[P]]) -> (!wg.cursor)
// CHECK-NEXT: %[[I:.*]] = arith.divui %[[T]]
// CHECK-NEXT: %[[J:.*]] = arith.remui %[[T]]
// CHECK-NEXT: %[[P1:.*]] = wg.fill %[[RING]][%[[P0]]] count(%[[STEPS]]) as (%[[S:.*]], %[[SA:.*]], %[[SB:.*]]) :
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[I]],
// CHECK-NEXT: %[[KK:.*]] = arith.muli %[[S]],
// CHECK-NEXT: wg.tma_load %[[MAPA]][%[[ROW]], %[[KK]]] to %[[SA]] :
// CHECK-NEXT: %[[COL:.*]] = arith.muli %[[J]],
// CHECK-NEXT: wg.tma_load %[[MAPB]][%[[KK]], %[[COL]]] to %[[SB]] :
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[P1]]
// CHECK: wg.role @compute warpgroups(2) {
// CHECK-NEXT: %[[Q:.*]] = wg.cursor consumer %[[RING]]
// CHECK-NEXT: %[[O:.*]] = wg.cursor producer %[[OUT]]
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[Q0:.*]] = %[[Q]], %[[O0:.*]] = %[[O]]) -> (!wg.cursor, !wg.cursor)
// CHECK: %[[ACC:.*]] = wg.acc : !wg.pending<tensor<128x256xf32, #[[L:.*]]>>
// CHECK-NEXT: %[[Q1:.*]], %[[R:.*]]:2 = wg.drain %[[RING]][%[[Q0]]] count(%[[STEPS]]) lag(1) as (%{{.*}}, %[[SA:.*]], %[[SB:.*]]) iter_args(%[[X:.*]] = %[[ACC]], %[[W:.*]] = %false)
// CHECK-NEXT: %[[D:.*]] = wg.mma %[[SA]], %[[SB]], %[[X]] accumulate(%[[W]])
// CHECK-NEXT: wg.yield %[[D]], %true
// CHECK-NEXT: }
// CHECK-NEXT: %[[TILE:.*]] = wg.wait %[[R]]#0 in_flight(0) written(%[[R]]#1)
// CHECK-NEXT: %[[OPEN:.*]] = wg.convert_layout %[[TILE]] : tensor<128x256xf32, #[[L]]> -> tensor<128x256xf32>
// CHECK: %[[C:.*]] = tile.cast %[[OPEN]]
// CHECK-NEXT: %[[LC:.*]] = wg.convert_layout %[[C]] : tensor<128x256xbf16> -> tensor<128x256xbf16, #[[L]]>
// CHECK-NEXT: %[[C0:.*]] = wg.slice %[[LC]] [0, 0]
// CHECK-NEXT: %[[SLOT:.*]] = wg.store_acquire %[[OUT]][%[[O0]]]
// CHECK-NEXT: wg.local_store %[[C0]] to %[[SLOT]]
// CHECK-NEXT: wg.tma_store %[[SLOT]] to %[[MAPC]]
// CHECK-NEXT: wg.store_commit %[[OUT]][%[[O0]]]
// CHECK-NEXT: %[[O1:.*]] = wg.advance %[[OUT]][%[[O0]]]
// CHECK: wg.slice %[[LC]] [0, 64]
// CHECK: wg.slice %[[LC]] [0, 128]
// CHECK: wg.slice %[[LC]] [0, 192]
// CHECK: %[[O4:.*]] = wg.advance %[[OUT]]
// CHECK-NEXT: scf.yield %[[Q1]], %[[O4]]
// CHECK-NOT: tile.
// CHECK: plan.launch @matmul_device::@matmul {{.*}} : i32, i32, i32, !wg.view<bf16, box = [128, 64], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>

// The stores of a tile stay in flight under the next one: in the loop over tiles one waits only until the slot that is to be
// written has been read, and for all stores behind it.
// STORES: wg.role = {first = 0
// STORES-NOT: wg.bulk_wait 0
// STORES: wg.bulk_wait read 1
// STORES-NOT: wg.bulk_wait 0
// STORES: scf.yield {{.*}} : i32, i32, i32, i32
// STORES-NEXT: }
// STORES-NEXT: wg.bulk_wait 0
!a = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
module {
  gpu.module @matmul_device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
    gpu.func @matmul(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %m: i32, %n: i32, %k: i32, %lda: i64, %ldb: i64, %ldc: i64) kernel {
      %one = arith.constant 1 : i64
      %va = tile.view %pa[%m, %k] strides(%lda, %one) : !a
      %vb = tile.view %pb[%k, %n] strides(%ldb, %one) : !a
      %vc = tile.view %pc[%m, %n] strides(%ldc, %one) : !a
      %cta = gpu.block_id x
      %first = arith.index_cast %cta : index to i32
      %c128 = arith.constant 128 : i32
      %c256 = arith.constant 256 : i32
      %c64 = arith.constant 64 : i32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %rows = arith.ceildivsi %m, %c128 : i32
      %cols = arith.ceildivsi %n, %c256 : i32
      %steps = arith.ceildivsi %k, %c64 : i32
      %tiles = arith.muli %rows, %cols : i32
      %grid = gpu.grid_dim x
      %ctas = arith.index_cast %grid : index to i32
      // expected-remark @+1 {{roles: cooperative, 2 warpgroups share the rows of each tile}}
      scf.for %t = %first to %tiles step %ctas : i32 {
        %i = arith.divui %t, %cols : i32
        %j = arith.remui %t, %cols : i32
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %acc = scf.for %s = %c0 to %steps step %c1 iter_args(%x = %zero) -> (tensor<128x256xf32>) : i32 {
          %r = arith.muli %i, %c128 : i32
          %q = arith.muli %s, %c64 : i32
          // expected-remark @+1 {{loads a by TMA, box 128x64, swizzle 128}}
          %a = tile.load %va[%r, %q] : !a -> tensor<128x64xbf16>
          %w = arith.muli %j, %c256 : i32
          // expected-remark @+1 {{loads b by TMA, box 64x64, swizzle 128}}
          %b = tile.load %vb[%q, %w] : !a -> tensor<64x256xbf16>
          %y = tile.dot %a, %b, %x : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
          scf.yield %y : tensor<128x256xf32>
        }
        %r = arith.muli %i, %c128 : i32
        %w = arith.muli %j, %c256 : i32
        %o = tile.cast %acc : tensor<128x256xf32> to tensor<128x256xbf16>
        // expected-remark @+1 {{stores c by TMA, in chunks of 64 columns}}
        tile.store %o, %vc[%r, %w] : tensor<128x256xbf16>, !a
      }
      gpu.return
    }
  }
  plan.host @matmul(%a: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %b: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %c: !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>) attributes {arg_names = ["a", "b", "c"]} {
    %m = plan.dim %c[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %ma = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %n = plan.dim %c[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %nb = plan.dim %b[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %k = plan.dim %a[1] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %kb = plan.dim %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %em = arith.cmpi eq, %m, %ma : i64
    plan.require %em, "M"
    %en = arith.cmpi eq, %n, %nb : i64
    plan.require %en, "N"
    %ek = arith.cmpi eq, %k, %kb : i64
    plan.require %ek, "K"
    %lda = plan.stride %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldb = plan.stride %b[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
    %ldc = plan.stride %c[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>
    %m32 = arith.trunci %m : i64 to i32
    %n32 = arith.trunci %n : i64 to i32
    %k32 = arith.trunci %k : i64 to i32
    %one = arith.constant 1 : i64
    %sms = plan.query multiprocessor_count
    plan.launch @matmul_device::@matmul grid(%sms, %one, %one) args(%a, %b, %c, %m32, %n32, %k32, %lda, %ldb, %ldc) : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, !plan.array<bf16, rank = 2, contiguous = 1, aligned, out>, i32, i32, i32, i64, i64, i64
  }
}
