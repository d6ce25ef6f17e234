// tile.load and tile.store of tiles with a layout: one test for the whole tile, vectors inside, predicates at the edge.
// RUN: girih-opt %s -convert-wg-to-nvvm -split-input-file -mlir-print-debuginfo=false | FileCheck %s

#flat = #wg.layout<{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,32],[0,64]], warp: [[0,128],[0,256]]}>
#pairs = #wg.layout<{register: [[0,1],[0,256]], lane: [[0,2],[0,4],[0,8],[0,16],[0,32]], warp: [[0,64],[0,128]]}>
#sums = #wg.layout<{register: [[0,8]], lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: [[0,16],[0,32]]}>
!x = !tile.view<f32, rank = 1, contiguous = 0, align = 16>
!h = !tile.view<bf16, rank = 1, contiguous = 0, align = 16>

gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  // CHECK-LABEL: llvm.func @vectors
  gpu.func @vectors(%p: !llvm.ptr<1>, %n: i32, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    %c8 = arith.constant 8 : i32
    %x = tile.view %p[%n] strides(%one) : !x
    // CHECK: %[[LOW:.*]] = llvm.icmp "sge"
    // CHECK-NEXT: %[[HIGH:.*]] = llvm.icmp "sle"
    // CHECK-NEXT: %[[IN:.*]] = llvm.and %[[LOW]], %[[HIGH]]
    // CHECK-NEXT: scf.if %[[IN]]
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    // CHECK: else
    // CHECK-COUNT-4: llvm.inline_asm has_side_effects {{.*}}"@$2 ld.global.b32 $0
    // CHECK-NOT: ld.global
    %even = arith.muli %i, %c8 : i32
    %t = tile.load %x[%even] : !x -> tensor<512xf32, #flat>
    // Nothing is known of the index: element by element on both sides.
    // CHECK: scf.if
    // Each element is one thread's, which keeps its own order.
    // CHECK-NOT: barrier
    // CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 4 : i64} : f32
    // CHECK: else
    tile.store %t, %x[%i] : tensor<512xf32, #flat>, !x
    gpu.return
  }

  // Two elements of 16 bits are one register, and one access of 32 bits.
  // CHECK-LABEL: llvm.func @pairs
  gpu.func @pairs(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %x = tile.view %p[%n] strides(%one) : !h
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    // CHECK: else
    %t = tile.load %x[%c0] : !h -> tensor<512xbf16, #pairs>
    // CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 4 : i64} : i32
    tile.store %t, %x[%c0] : tensor<512xbf16, #pairs>, !h
    gpu.return
  }

  // Lanes 0 of the quads store.
  // CHECK-LABEL: llvm.func @replicas
  gpu.func @replicas(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %x = tile.view %p[%n] strides(%one) : !x
    %t = arith.constant dense<1.0> : tensor<64xf32, #sums>
    // CHECK: %[[FIRST:.*]] = llvm.icmp "eq"
    // CHECK-NEXT: scf.if %[[FIRST]]
    // CHECK-NEXT: scf.if
    tile.store %t, %x[%c0] : tensor<64xf32, #sums>, !x
    gpu.return
  }

  // What four lanes load, one stores: not before the others have loaded, and they load again not before it has.
  // CHECK-LABEL: llvm.func @in_place
  gpu.func @in_place(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %x = tile.view %p[%n] strides(%one) : !x
    %t = tile.load %x[%c0] : !x -> tensor<64xf32, #sums>
    // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
    // CHECK: llvm.store
    // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
    %y = tile.view %p[%n] strides(%one) : !x
    tile.store %t, %y[%c0] : tensor<64xf32, #sums>, !x
    gpu.return
  }
}
