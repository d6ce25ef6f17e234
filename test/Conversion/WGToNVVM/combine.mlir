// Reductions: within a thread, by shuffles, and through scratch between two barriers.
// RUN: girih-opt %s -wg-allocate-shared -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s -wg-allocate-shared -mlir-print-debuginfo=false | FileCheck %s --check-prefix=SHARED

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#rows = #wg.layout<{register: [[0,8]], lane: [[0,0],[0,0],[0,1],[0,2],[0,4]], warp: [[0,16],[0,32]]}>
#cols = #wg.layout<{register: [[0,1]], lane: [[0,2],[0,4],[0,0],[0,0],[0,0]], warp: [[0,0],[0,0]]}>

gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  // Two elements of each row in a thread, four lanes: one addition, two shuffles, for each of two rows. No barrier.
  // CHECK-LABEL: llvm.func @rows
  // CHECK-COUNT-2: arith.addf
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: nvvm.shfl.sync
  // CHECK: arith.addf
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: barrier
  gpu.func @rows(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x8xf32, #acc>
    %r = tile.reduce %t dim(1) : tensor<64x8xf32, #acc> -> tensor<64xf32, #rows> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    gpu.return
  }

  // Warps hand two values of four lanes to each other.
  // CHECK-LABEL: llvm.func @cols
  // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
  // CHECK-COUNT-2: st.shared.b32
  // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
  // CHECK-COUNT-8: ld.shared.b32
  // CHECK-NOT: ld.shared
  // SHARED-LABEL: gpu.func @cols
  // SHARED-SAME: wg.shared_bytes = 128
  // SHARED: wg.scratch = array<i32: 0, 128>
  gpu.func @cols(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x8xf32, #acc>
    %r = tile.reduce %t dim(0) : tensor<64x8xf32, #acc> -> tensor<8xf32, #cols> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    gpu.return
  }
}
