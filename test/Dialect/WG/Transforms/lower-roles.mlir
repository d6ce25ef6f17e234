// RUN: girih-opt %s -wg-lower-roles -split-input-file -mlir-print-debuginfo=false | FileCheck %s

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Whole warpgroups: 128 threads for one warp, then 256.
  // CHECK-LABEL: gpu.func @roles
  // CHECK-SAME: known_block_size = array<i32: 384, 1, 1>
  gpu.func @roles(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel {
    // One thread sets the barriers up, then the CTA meets.
    // CHECK: %[[BAR:.*]] = wg.alloc_barrier
    // CHECK: %[[TID:.*]] = gpu.thread_id x
    // CHECK: scf.if %{{.*}} {
    // CHECK-NEXT: wg.barrier_init %[[BAR]] count(1)
    // CHECK-NEXT: wg.barrier_init_fence
    // CHECK-NEXT: }
    // CHECK-NEXT: gpu.barrier
    %bar = wg.alloc_barrier : !wg.barrier<2>
    wg.barrier_init %bar count(1) : !wg.barrier<2>
    %buf = wg.alloc_buffer : !wg.buffer<64x64xbf16, swizzle = 128>
    // CHECK: %[[ID:.*]] = gpu.subgroup_id
    // CHECK: %[[WARP:.*]] = arith.index_cast %[[ID]]
    // CHECK: %[[GROUP:.*]] = arith.shrui %[[WARP]], %c2
    wg.specialize {
      // CHECK: arith.cmpi ult, %[[GROUP]], %c1
      // CHECK: scf.if %{{.*}} {
      // CHECK-NEXT: wg.set_registers decrease 40
      // Idle warps skip what follows; of the first warp one lane runs it.
      // CHECK: arith.cmpi ult, %[[WARP]], %c1
      // CHECK: scf.if
      // CHECK: %[[E:.*]] = wg.elect
      // CHECK: scf.if %[[E]] {
      // CHECK-NOT: wg.elect
      // CHECK: wg.tma_load
      // CHECK: } {wg.role = {first = 0 : i32, name = "load", single = true, warps = 1 : i32}}
      wg.role @load warps(1) registers(40) {
        %e = wg.elect : i1
        scf.if %e {
          wg.barrier_expect %bar[%i] bytes(8192) : !wg.barrier<2>
        }
        wg.tma_load %A[%i, %i] to %buf barrier(%bar[%i] : !wg.barrier<2>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
      }
      // CHECK: } else {
      // CHECK-NEXT: wg.set_registers increase 232
      // CHECK: arith.cmpi ult, %[[WARP]], %c12
      // CHECK: %[[MINE:.*]] = arith.subi %[[GROUP]], %c1
      // CHECK: wg.named_barrier_sync %[[MINE]]
      // CHECK: } {wg.role = {first = 1 : i32, name = "work", single = false, warps = 8 : i32}}
      wg.role @work warpgroups(2) registers(232) {
        %w = wg.warpgroup_index : i32
        wg.named_barrier_sync %w threads(128)
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Arrivals of every lane: the body is for the whole warp.
  // CHECK-LABEL: gpu.func @all_lanes
  // CHECK: single = false
  gpu.func @all_lanes(%i: i32) kernel {
    %bar = wg.alloc_barrier : !wg.barrier<2>
    wg.specialize {
      wg.role @arrive warps(1) {
        wg.barrier_arrive %bar[%i] : !wg.barrier<2>
      }
    }
    gpu.return
  }
}

// -----

// CTAs that arrive at each other's barriers meet before the first use and before any of them leaves.
// CHECK-LABEL: gpu.func @cluster
// CHECK: wg.barrier_init_fence
// CHECK-NOT: gpu.barrier
// CHECK: wg.cluster_sync
// CHECK: wg.barrier_arrive_cluster
// CHECK: wg.role
// CHECK: wg.cluster_sync
// CHECK-NEXT: gpu.return
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @cluster(%i: i32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    %bar = wg.alloc_barrier : !wg.barrier<2>
    wg.barrier_init %bar count(2) : !wg.barrier<2>
    wg.specialize {
      wg.role @work warpgroups(1) {
        wg.barrier_arrive_cluster %bar[%i] : !wg.barrier<2>
      }
    }
    gpu.return
  }
}

// -----

// A reduction needs all lanes of its warp, although it has no effect.
// CHECK-LABEL: gpu.func @lanes
// CHECK: wg.role = {first = 0 : i32, name = "sum", single = false, warps = 1 : i32}
#t = #wg.layout<{lane: [[0,1],[0,2],[0,4],[0,8],[0,16]]}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @lanes() kernel {
    wg.specialize {
      wg.role @sum warps(1) {
        %i = tile.iota dim(0) : tensor<32xi32, #t>
        %s = tile.reduce %i dim(0) : tensor<32xi32, #t> -> i32 {
        ^bb0(%a: i32, %b: i32):
          %c = arith.addi %a, %b : i32
          tile.yield %c : i32
        }
      }
    }
    gpu.return
  }
}
