// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
#acc32 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4}>
#acc48 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 6, warpgroup: [64,0] x 2}>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Four boxes for 64x256, a panel of 8192 bytes apart; coordinates count the fastest dimension first. One thread of the
  // CTA: warp 0, the elected lane.
  // CHECK-LABEL: llvm.func @load
  // CHECK-SAME: %[[VIEW:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[ROW:[^:]*]]: i32, %[[COL:[^:]*]]: i32
  // CHECK-SAME: nvvm.minctasm = 1 : i32
  // CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
  // CHECK: %[[E:.*]] = nvvm.elect.sync -> i1
  // CHECK-NOT: nvvm.elect.sync
  // CHECK: llvm.and %{{.*}}, %[[E]] : i1
  // CHECK: %[[LEADER:.*]] = llvm.and %{{.*}}, %[[E]] : i1
  // CHECK: llvm.inline_asm {{.*}} "@$0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$1], [$2, {$3, $4}], [$5];", "b,r,l,r,r,r,~{memory}" %[[LEADER]], %[[BUF:.*]], %[[VIEW]], %[[COL]], %[[ROW]], %[[BAR:.*]] :
  // CHECK: %[[C8192:.*]] = llvm.mlir.constant(8192 : i32)
  // CHECK: %[[SECOND:.*]] = llvm.add %[[BUF]], %[[C8192]]
  // CHECK: %[[C64:.*]] = llvm.mlir.constant(64 : i32)
  // CHECK: %[[COL64:.*]] = llvm.add %[[COL]], %[[C64]]
  // CHECK: llvm.inline_asm {{.*}} %[[LEADER]], %[[SECOND]], %[[VIEW]], %[[COL64]], %[[ROW]], %[[BAR]] :
  // CHECK-COUNT-2: cp.async.bulk.tensor.2d
  // CHECK-NOT: cp.async.bulk.tensor.2d
  gpu.func @load(%B: !wg.view<bf16, box = [64, 64], swizzle = 128>, %row: i32, %col: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bar = wg.alloc_barrier {offset = 32768 : i32} : !wg.barrier<2>
    %buf = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x256xbf16, swizzle = 128>
    wg.tma_load %B[%row, %col] to %buf barrier(%bar[%row] : !wg.barrier<2>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>
    gpu.return
  }

  // One head of an array of three dimensions, 64x64 of it in a buffer that is read as columns; the index of the head is a
  // coordinate.
  // CHECK-LABEL: llvm.func @load_transposed
  // CHECK-SAME: %[[VIEW:[^:]*]]: !llvm.ptr {{[^%]*}}%[[ROW:[^:]*]]: i32, %[[HEAD:[^:]*]]: i32, %[[COL:[^:]*]]: i32
  // CHECK: "@$0 cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$1], [$2, {$3, $4, $5}], [$6];", {{.*}} %{{.*}}, %{{.*}}, %[[VIEW]], %[[COL]], %[[HEAD]], %[[ROW]], %
  // CHECK-NOT: cp.async.bulk.tensor
  gpu.func @load_transposed(%K: !wg.view<bf16, box = [64, 1, 64], swizzle = 128>, %row: i32, %head: i32, %col: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bar = wg.alloc_barrier {offset = 32768 : i32} : !wg.barrier<2>
    %buf = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
    wg.tma_load %K[%row, %head, %col] to %buf transposed barrier(%bar[%row] : !wg.barrier<2>) : !wg.view<bf16, box = [64, 1, 64], swizzle = 128>, !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
    gpu.return
  }

  // The narrow last chunk of two warpgroups: each stores its own 64 rows of 48 columns, lines stay 128 bytes apart.
  // CHECK-LABEL: llvm.func @store_narrow
  // CHECK: %[[W:.*]] = llvm.sub
  // CHECK-COUNT-3: stmatrix.sync.aligned.m8n8.x4.shared.b16
  // CHECK: %[[C8192:.*]] = llvm.mlir.constant(8192 : i32)
  // CHECK: %[[OFF:.*]] = llvm.mul %[[W]], %[[C8192]]
  // CHECK: %[[ADDR:.*]] = llvm.add %{{.*}}, %[[OFF]]
  // CHECK: %[[C64:.*]] = llvm.mlir.constant(64 : i32)
  // CHECK: %[[DOWN:.*]] = llvm.mul %[[W]], %[[C64]]
  // CHECK: %[[R:.*]] = llvm.add %{{.*}}, %[[DOWN]]
  // CHECK: llvm.inline_asm {{.*}} "@$0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [$1, {$2, $3}], [$4];", "b,l,r,r,r,~{memory}" %{{.*}}, %{{.*}}, %{{.*}}, %[[R]], %[[ADDR]]
  // CHECK: "@$0 cp.async.bulk.commit_group;"
  // CHECK: "@$0 cp.async.bulk.wait_group 0;"
  gpu.func @store_narrow(%C: !wg.view<bf16, box = [64, 48], swizzle = 128>, %row: i32, %col: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %slot = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    %part = wg.subbuffer %slot[0, 0] : !wg.buffer<128x64xbf16, swizzle = 128> -> !wg.buffer<128x48xbf16, swizzle = 128>
    %t = arith.constant dense<1.0> : tensor<128x48xbf16, #acc48>
    wg.local_store %t to %part : tensor<128x48xbf16, #acc48>, !wg.buffer<128x48xbf16, swizzle = 128>
    wg.tma_store %part to %C[%row, %col] : !wg.buffer<128x48xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 48], swizzle = 128>
    wg.bulk_commit
    wg.bulk_wait 0
    gpu.return
  }

  // 32-bit elements have no stmatrix: two neighbours of a row at a time.
  // CHECK-LABEL: llvm.func @store_f32
  // CHECK-COUNT-8: st.shared.v2.b32 [
  // CHECK-NOT: st.shared
  gpu.func @store_f32() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %slot = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x32xf32, swizzle = 128>
    %t = arith.constant dense<1.0> : tensor<64x32xf32, #acc32>
    wg.local_store %t to %slot : tensor<64x32xf32, #acc32>, !wg.buffer<64x32xf32, swizzle = 128>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @load_fragment
  // CHECK-COUNT-4: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}"
  // CHECK-NOT: ldmatrix
  gpu.func @load_fragment() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %slot = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %t = wg.local_load %slot : !wg.buffer<64x64xbf16, swizzle = 128> -> tensor<64x64xbf16, #acc>
    gpu.return
  }
}

// Each of two CTAs brings two of four panels (two boxes of 64 columns, 128 columns and 16384 bytes from the other's) to
// both; of one panel, half of the rows.
gpu.module @clusters [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @multicast
  // CHECK: %[[RANK:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"()
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(16384 : i32)
  // CHECK: llvm.mul %[[RANK]], %[[BYTES]]
  // CHECK: %[[COLUMNS:.*]] = llvm.mlir.constant(128 : i32)
  // CHECK: llvm.mul %[[RANK]], %[[COLUMNS]]
  // CHECK-COUNT-2: "{{.*}}complete_tx::bytes.multicast::cluster [$1], [$2, {$3, $4}], [$5], 3;"
  // CHECK-NOT: multicast
  // CHECK: %[[RANK:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.cluster.ctarank"()
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4096 : i32)
  // CHECK: llvm.mul %[[RANK]], %[[BYTES]]
  // CHECK: %[[ROWS:.*]] = llvm.mlir.constant(32 : i32)
  // CHECK: llvm.mul %[[RANK]], %[[ROWS]]
  // CHECK-COUNT-1: "{{.*}}complete_tx::bytes.multicast::cluster [$1], [$2, {$3, $4}], [$5], 3;"
  // CHECK-NOT: multicast
  gpu.func @multicast(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %B: !wg.view<bf16, box = [32, 64], swizzle = 128>, %i: i32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
    %wide = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x256xbf16, swizzle = 128>
    %narrow = wg.alloc_buffer {offset = 32768 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %bar = wg.alloc_barrier {offset = 40960 : i32} : !wg.barrier<1>
    wg.tma_load %A[%i, %i] to %wide multicast barrier(%bar[%i] : !wg.barrier<1>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x256xbf16, swizzle = 128>
    wg.tma_load %B[%i, %i] to %narrow multicast barrier(%bar[%i] : !wg.barrier<1>) : !wg.view<bf16, box = [32, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
    gpu.return
  }
}
