// RUN: girih-opt %s -wg-lower-rings -split-input-file -mlir-print-debuginfo=false | FileCheck %s

!a = !wg.buffer<128x64xbf16, swizzle = 128>
!b = !wg.buffer<64x256xbf16, swizzle = 128>
!ring = !wg.ring<[!a, !b]>

// Counts, bytes, indices and parities: 128x64 in one box and 64x256 in four are 49152 bytes; two warpgroups are eight
// warps that free a slot.
// CHECK-LABEL: gpu.func @ring
// CHECK: %[[A:.*]] = wg.alloc_buffer {count = 4 : i32, {{.*}}} : !wg.buffer<128x64xbf16, swizzle = 128>
// CHECK: %[[B:.*]] = wg.alloc_buffer {count = 4 : i32, {{.*}}} : !wg.buffer<64x256xbf16, swizzle = 128>
// CHECK: %[[FULL:.*]] = wg.alloc_barrier {name = "r full barriers"} : !wg.barrier<4>
// CHECK: %[[EMPTY:.*]] = wg.alloc_barrier {name = "r empty barriers"} : !wg.barrier<4>
// CHECK: wg.barrier_init %[[FULL]] count(1)
// CHECK: wg.barrier_init %[[EMPTY]] count(8)
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @ring(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %B: !wg.view<bf16, box = [64, 64], swizzle = 128>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = wg.ring {name = "r", stages = 4 : i32} : !ring
    wg.specialize {
      // CHECK: wg.role @load
      // CHECK: %[[LEADER:.*]] = wg.elect
      wg.role @load warps(1) {
        %p0 = wg.cursor producer %ring : !ring
        // A producer's first wait is for the phase before the first: parity 1.
        // CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %c0{{[^,]*}}, %[[P:.*]] = %c1{{[^)]*}}) -> (i32, i32)
        %p1 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0) -> (!wg.cursor) : i32 {
          // CHECK-NEXT: wg.barrier_wait %[[EMPTY]][%[[I]]] parity(%[[P]])
          // CHECK-NEXT: scf.if %[[LEADER]] {
          // CHECK-NEXT: wg.barrier_expect %[[FULL]][%[[I]]] bytes(49152)
          // CHECK: %[[SA:.*]] = wg.slot %[[A]][%[[I]]]
          // CHECK: %[[SB:.*]] = wg.slot %[[B]][%[[I]]]
          %s:2 = wg.acquire %ring[%p] : !ring
          // CHECK: wg.tma_load %{{.*}} to %[[SA]] barrier(%[[FULL]][%[[I]]] : !wg.barrier<4>)
          // CHECK: wg.tma_load %{{.*}} to %[[SB]] barrier(%[[FULL]][%[[I]]] : !wg.barrier<4>)
          wg.tma_load %A[%c0, %k] to %s#0 : !wg.view<bf16, box = [128, 64], swizzle = 128>, !a
          wg.tma_load %B[%k, %c0] to %s#1 : !wg.view<bf16, box = [64, 64], swizzle = 128>, !b
          wg.publish %ring[%p] : !ring
          // CHECK: %[[MORE:.*]] = arith.addi %[[I]], %
          // CHECK: %[[WRAP:.*]] = arith.cmpi eq, %[[MORE]], %c4
          // CHECK: %[[NEXT:.*]] = arith.select %[[WRAP]], %{{.*}}, %[[MORE]]
          // CHECK: %[[FLIP:.*]] = arith.extui %[[WRAP]]
          // CHECK: %[[PN:.*]] = arith.xori %[[P]], %[[FLIP]]
          %pn = wg.advance %ring[%p] : !ring
          // CHECK: scf.yield %[[NEXT]], %[[PN]]
          scf.yield %pn : !wg.cursor
        }
      }
      // CHECK: wg.role @multiply
      // CHECK: %[[ELECTED:.*]] = wg.elect
      wg.role @multiply warpgroups(2) {
        %q0 = wg.cursor consumer %ring : !ring
        // CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %c0{{[^,]*}}, %[[P:.*]] = %c0{{[^)]*}}) -> (i32, i32)
        %q1 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> (!wg.cursor) : i32 {
          // CHECK-NEXT: wg.barrier_wait %[[FULL]][%[[I]]] parity(%[[P]])
          %s:2 = wg.get %ring[%q] : !ring
          // CHECK: scf.if %[[ELECTED]] {
          // CHECK-NEXT: wg.barrier_arrive %[[EMPTY]][%[[I]]]
          wg.free %ring[%q] : !ring
          %qn = wg.advance %ring[%q] : !ring
          scf.yield %qn : !wg.cursor
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>

// A copy that may not be issued: every copy expects its own bytes, and publish arrives.
// CHECK-LABEL: gpu.func @conditional_copy
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @conditional_copy(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32, %some: i1) kernel {
    %ring = wg.ring {stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        // CHECK: wg.barrier_wait
        // CHECK-NOT: wg.barrier_expect %
        // CHECK: scf.if %{{.*}} {
        // CHECK: wg.barrier_expect_only %[[FULL:.*]][%{{.*}}] bytes(8192)
        // CHECK: wg.tma_load
        // CHECK: wg.barrier_arrive %[[FULL]]
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
        scf.if %some {
          wg.tma_load %A[%i, %i] to %s : !wg.view<bf16, box = [64, 64], swizzle = 128>, !a
        }
        wg.publish %ring[%p] : !wg.ring<[!a]>
      }
      wg.role @read warpgroups(1) {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        %s = wg.get %ring[%q] : !wg.ring<[!a]>
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 2}>
!slot = !wg.buffer<128x64xbf16, swizzle = 128>

// A store ring: its warpgroup waits for the store before the last, and meets again between writing and storing; the
// fence comes from the table. The role ends when its stores have.
// CHECK-LABEL: gpu.func @store_ring
// CHECK: %[[OUT:.*]] = wg.alloc_buffer {count = 2 : i32
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @store_ring(%C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32, %x: f32) kernel {
    %out = wg.store_ring {stages = 2 : i32} : !wg.store_ring<!slot>
    wg.specialize {
      wg.role @write warpgroups(2) {
        // CHECK: %[[W:.*]] = wg.warpgroup_index
        // CHECK: %[[BAR:.*]] = arith.addi %[[W]], %c8
        // CHECK: wg.bulk_wait read 1
        // CHECK-NEXT: wg.named_barrier_sync %[[BAR]] threads(128)
        // CHECK-NEXT: %[[S:.*]] = wg.slot %[[OUT]]
        %o = wg.cursor producer %out : !wg.store_ring<!slot>
        %t = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        %s = wg.store_acquire %out[%o] : !wg.store_ring<!slot>
        // CHECK: wg.local_store %{{.*}} to %[[S]]
        // CHECK-NEXT: wg.fence_proxy_async
        // CHECK-NEXT: wg.named_barrier_sync %[[BAR]] threads(128)
        // CHECK-NEXT: wg.tma_store %[[S]]
        wg.local_store %t to %s : tensor<128x64xbf16, #acc>, !slot
        wg.tma_store %s to %C[%i, %i] : !slot, !wg.view<bf16, box = [64, 64], swizzle = 128>
        // CHECK-NEXT: wg.bulk_commit
        wg.store_commit %out[%o] : !wg.store_ring<!slot>
        // CHECK: wg.bulk_wait 0
      }
    }
    gpu.return
  }
}

// -----

#frag = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>

// Readers that read by themselves meet before one lane of each warp arrives. Cursors go through branches, too.
// CHECK-LABEL: gpu.func @generic_reader
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @generic_reader(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32, %some: i1) kernel {
    %ring = wg.ring {stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        // CHECK: scf.if %{{.*}} -> (i32, i32) {
        // CHECK: } else {
        // CHECK-NEXT: scf.yield %c0{{.*}}, %c1{{.*}} : i32, i32
        %q = scf.if %some -> (!wg.cursor) {
          %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
          wg.tma_load %A[%i, %i] to %s : !wg.view<bf16, box = [64, 64], swizzle = 128>, !a
          wg.publish %ring[%p] : !wg.ring<[!a]>
          %n = wg.advance %ring[%p] : !wg.ring<[!a]>
          scf.yield %n : !wg.cursor
        } else {
          scf.yield %p : !wg.cursor
        }
      }
      wg.role @read warpgroups(1) {
        // CHECK: wg.role @read
        // CHECK: wg.local_load
        // CHECK: wg.named_barrier_sync %{{.*}} threads(128)
        // CHECK: wg.barrier_arrive
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        %s = wg.get %ring[%q] : !wg.ring<[!a]>
        %t = wg.local_load %s : !a -> tensor<64x64xbf16, #frag>
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

// One reader for each slot: a warpgroup's four warps give it back, whichever it is. Advancing by a number may pass the
// ring's end several times.
// CHECK-LABEL: gpu.func @alternate
// CHECK: %[[EMPTY:.*]] = wg.alloc_barrier {name = "r empty barriers"}
// CHECK: wg.barrier_init %[[EMPTY]] count(4)
!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @alternate(%n: i32) kernel {
    %ring = wg.ring {name = "r", stages = 3 : i32, one_reader} : !wg.ring<[!a]>
    // Two slots for each of two warpgroups.
    // CHECK: %[[OUT:.*]] = wg.alloc_buffer {count = 4 : i32, name = "o slots"}
    %out = wg.store_ring {name = "o", stages = 2 : i32} : !wg.store_ring<!a>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
        wg.publish %ring[%p] : !wg.ring<[!a]>
      }
      // CHECK: wg.role @read warpgroups(2) each
      // CHECK: %[[W:.*]] = wg.warpgroup_index
      wg.role @read warpgroups(2) each {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        %o = wg.cursor producer %out : !wg.store_ring<!a>
        // CHECK: %[[SUM:.*]] = arith.addi %c0{{.*}}, %arg0
        // CHECK: %[[ROUNDS:.*]] = arith.divui %[[SUM]], %[[C3:.*]] : i32
        // CHECK: %[[INDEX:.*]] = arith.remui %[[SUM]], %[[C3]]
        // CHECK: %[[ODD:.*]] = arith.andi %[[ROUNDS]], %c1
        // CHECK: %[[PARITY:.*]] = arith.xori %c0{{.*}}, %[[ODD]]
        %q1 = wg.advance %ring[%q] by(%n) : !wg.ring<[!a]>
        // CHECK: wg.barrier_wait %{{.*}}[%[[INDEX]]] parity(%[[PARITY]])
        %s = wg.get %ring[%q1] : !wg.ring<[!a]>
        wg.free %ring[%q1] : !wg.ring<[!a]>
        // CHECK: wg.bulk_wait read 1
        // CHECK: %[[FIRST:.*]] = arith.muli %[[W]], %c2
        // CHECK: %[[SLOT:.*]] = arith.addi %{{.*}}, %[[FIRST]]
        // CHECK: wg.slot %[[OUT]][%[[SLOT]]]
        %t = wg.store_acquire %out[%o] : !wg.store_ring<!a>
        wg.store_commit %out[%o] : !wg.store_ring<!a>
      }
    }
    gpu.return
  }
}

// -----

// A ring with a copy that is multicast spans the cluster: eight warps of each of two CTAs free a slot, in both. The bytes
// are those of the whole slot, half of which the other CTA brings.
// CHECK-LABEL: gpu.func @cluster
// CHECK: %[[FULL:.*]] = wg.alloc_barrier {name = "r full barriers"}
// CHECK: %[[EMPTY:.*]] = wg.alloc_barrier {name = "r empty barriers"}
// CHECK: wg.barrier_init %[[FULL]] count(1)
// CHECK: wg.barrier_init %[[EMPTY]] count(16)
!b = !wg.buffer<64x128xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @cluster(%B: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    %ring = wg.ring {name = "r", stages = 2 : i32} : !wg.ring<[!b]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!b]>
        // CHECK: wg.barrier_expect %[[FULL]][%{{.*}}] bytes(16384)
        %s = wg.acquire %ring[%p] : !wg.ring<[!b]>
        // CHECK: wg.tma_load %{{.*}} multicast barrier(%[[FULL]]
        wg.tma_load %B[%i, %i] to %s multicast : !wg.view<bf16, box = [64, 64], swizzle = 128>, !b
        wg.publish %ring[%p] : !wg.ring<[!b]>
      }
      wg.role @read warpgroups(2) {
        %q = wg.cursor consumer %ring : !wg.ring<[!b]>
        // CHECK: wg.barrier_wait %[[FULL]]
        %s = wg.get %ring[%q] : !wg.ring<[!b]>
        // CHECK-NOT: scf.if
        // CHECK: wg.barrier_arrive_cluster %[[EMPTY]]
        wg.free %ring[%q] : !wg.ring<[!b]>
      }
    }
    gpu.return
  }
}

// -----

// Of two slots the other one is next, and the phase changes after the second.
// CHECK-LABEL: gpu.func @two_slots
!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_slots(%n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = wg.ring {name = "r", stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
        wg.publish %ring[%p] : !wg.ring<[!a]>
      }
      wg.role @read warpgroups(1) {
        %q0 = wg.cursor consumer %ring : !wg.ring<[!a]>
        // CHECK: scf.for {{.*}} iter_args(%[[I:.*]] = %c0{{[^,]*}}, %[[P:.*]] = %c0{{[^)]*}}) -> (i32, i32)
        %q1 = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) -> (!wg.cursor) : i32 {
          %s = wg.get %ring[%q] : !wg.ring<[!a]>
          wg.free %ring[%q] : !wg.ring<[!a]>
          // CHECK: %[[NEXT:.*]] = arith.xori %[[I]], %c1
          // CHECK: %[[PN:.*]] = arith.xori %[[P]], %[[I]]
          // CHECK: scf.yield %[[NEXT]], %[[PN]]
          %qn = wg.advance %ring[%q] : !wg.ring<[!a]>
          scf.yield %qn : !wg.cursor
        }
      }
    }
    gpu.return
  }
}
