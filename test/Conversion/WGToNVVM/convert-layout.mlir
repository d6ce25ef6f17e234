// Conversions of layouts: under other names, by shuffles, through shared memory within a warp and among warps.
// RUN: girih-opt %s -wg-allocate-shared -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s -wg-allocate-shared -mlir-print-debuginfo=false | FileCheck %s --check-prefix=SHARED

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4}>
#fragment8 = #wg.layout<{register: [[0,1],[0,2],[8,0],[0,16]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#swapped = #wg.layout<{register: [[8,0],[0,1]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 4}>
#pairs = #wg.layout<{register: [[0,1]], lane: [[0,2],[0,4],[0,8],[1,0],[2,0]], warp: [[4,0],[8,0]]}>
#halves = #wg.layout<{register: [[0,2]], lane: [[0,1],[0,4],[0,8],[1,0],[2,0]], warp: [[4,0],[8,0]]}>
#wide = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
#lines = #wg.layout<{register: [[0,1],[0,2],[0,4],[4,0],[8,0]], lane: [[0,8],[0,16],[0,32],[1,0],[2,0]], warp: [[16,0],[32,0]]}>
#apart = #wg.layout<{register: [[0,1],[0,2],[0,4],[4,0],[8,0]], lane: [[0,8],[0,16],[0,32],[1,0],[2,0]], warp: [[32,0],[16,0]]}>

gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  // Registers of each thread under other names.
  // CHECK-LABEL: llvm.func @renamed
  // CHECK-NOT: {{bfly|select|(st|ld)[.]shared}}
  // CHECK: llvm.return
  // SHARED-LABEL: gpu.func @renamed
  // SHARED-SAME: wg.shared_bytes = 0
  gpu.func @renamed(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x32xf32, #acc>
    %u = wg.convert_layout %t : tensor<64x32xf32, #acc> -> tensor<64x32xf32, #swapped>
    gpu.return
  }

  // A thread keeps one element and exchanges the other with its neighbour: which one, the lane's lowest bit says.
  // CHECK-LABEL: llvm.func @bit
  // CHECK: %[[MASK:.*]] = llvm.mlir.constant(-1431655766 : i32)
  // CHECK: llvm.lshr %[[MASK]], %{{.*}}
  // CHECK: llvm.select
  // CHECK: llvm.select
  // CHECK: nvvm.shfl.sync bfly
  // CHECK-NOT: {{shfl|(st|ld)[.]shared}}
  // CHECK: llvm.select
  // CHECK: llvm.select
  // CHECK-NOT: {{shfl|(st|ld)[.]shared|select}}
  // CHECK: llvm.return
  gpu.func @bit(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<16x16xf32, #pairs>
    %u = wg.convert_layout %t : tensor<16x16xf32, #pairs> -> tensor<16x16xf32, #halves>
    gpu.return
  }

  // Elements of 8 bits travel four at a time: 16 of a thread are four words, and no barrier is met. The first shuffle
  // hands the number of the warp to its lanes.
  // CHECK-LABEL: llvm.func @fp8
  // CHECK-NOT: {{barrier|(st|ld)[.]shared}}
  // CHECK-COUNT-5: nvvm.shfl.sync idx
  // CHECK-NOT: {{shfl|barrier|(st|ld)[.]shared}}
  // CHECK: llvm.return
  // SHARED-LABEL: gpu.func @fp8
  // SHARED-SAME: wg.shared_bytes = 0
  gpu.func @fp8(%x: f8E4M3FN) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x32xf8E4M3FN, #acc>
    %u = wg.convert_layout %t : tensor<64x32xf8E4M3FN, #acc> -> tensor<64x32xf8E4M3FN, #fragment8>
    gpu.return
  }

  // With 32 elements to choose from by three bits of the lane, shared memory is cheaper. A warp reads what it has written:
  // between the accesses its lanes meet, not its role.
  // CHECK-LABEL: llvm.func @within
  // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
  // CHECK-COUNT-16: st.shared.v2.b32
  // CHECK-NOT: barrier.cta
  // CHECK: nvvm.bar.warp.sync
  // CHECK-COUNT-8: ld.shared.v4.b32
  gpu.func @within(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x64xf32, #wide>
    %u = wg.convert_layout %t : tensor<64x64xf32, #wide> -> tensor<64x64xf32, #lines>
    gpu.return
  }

  // Elements that change their warp.
  // CHECK-LABEL: llvm.func @among
  // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
  // CHECK-COUNT-16: st.shared.v2.b32
  // CHECK: llvm.nvvm.barrier.cta.sync.aligned.count
  // CHECK-COUNT-8: ld.shared.v4.b32
  gpu.func @among(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tensor.splat %x : tensor<64x64xf32, #wide>
    %u = wg.convert_layout %t : tensor<64x64xf32, #wide> -> tensor<64x64xf32, #apart>
    gpu.return
  }
}
