// Generic passes must not merge, move or drop what acts on memory or on time, and may do so with the rest.
// RUN: girih-opt %s --mlir-print-debuginfo=false --pass-pipeline="builtin.module(func.func(canonicalize,cse,loop-invariant-code-motion,canonicalize))" | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!pending = !wg.pending<tensor<64x24xf32, #acc>>
!ring = !wg.ring<[!a]>

// Two products of the same operands are two products, also where nothing reads the second.
// CHECK-LABEL: @products
func.func @products(%a: !a, %b: !b, %c: !pending) -> !pending {
  // CHECK-COUNT-2: wg.mma
  // CHECK: return
  %d = wg.mma %a, %b, %c : !a, !b, !pending
  %e = wg.mma %a, %b, %c : !a, !b, !pending
  return %d : !pending
}

// A load that nothing reads, two equal waits, two equal waits for groups.
// CHECK-LABEL: @waits
func.func @waits(%v: !wg.view<bf16, box = [64, 64], swizzle = 128>, %a: !a, %bar: !wg.barrier<1>, %i: i32, %p: !pending)
    -> (tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>) {
  // CHECK-COUNT-2: wg.tma_load
  // CHECK-COUNT-2: wg.barrier_wait
  // CHECK-COUNT-2: wg.wait
  wg.tma_load %v[%i, %i] to %a barrier(%bar[%i] : !wg.barrier<1>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !a
  wg.tma_load %v[%i, %i] to %a barrier(%bar[%i] : !wg.barrier<1>) : !wg.view<bf16, box = [64, 64], swizzle = 128>, !a
  wg.barrier_wait %bar[%i] parity(%i) : !wg.barrier<1>
  wg.barrier_wait %bar[%i] parity(%i) : !wg.barrier<1>
  %t = wg.wait %p in_flight(0) : !pending -> tensor<64x24xf32, #acc>
  %u = wg.wait %p in_flight(0) : !pending -> tensor<64x24xf32, #acc>
  return %t, %u : tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>
}

// A tile read before a wait and one read after it differ; two reads with nothing between them are one.
// CHECK-LABEL: @reads
func.func @reads(%s: !wg.buffer<64x24xf32, swizzle = 128>, %bar: !wg.barrier<1>, %i: i32)
    -> (tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>) {
  // CHECK: %[[T:.*]] = wg.local_load
  // CHECK-NEXT: wg.barrier_wait
  // CHECK-NEXT: %[[U:.*]] = wg.local_load
  // CHECK-NEXT: return %[[T]], %[[U]], %[[U]]
  %t = wg.local_load %s : !wg.buffer<64x24xf32, swizzle = 128> -> tensor<64x24xf32, #acc>
  wg.barrier_wait %bar[%i] parity(%i) : !wg.barrier<1>
  %u = wg.local_load %s : !wg.buffer<64x24xf32, swizzle = 128> -> tensor<64x24xf32, #acc>
  %v = wg.local_load %s : !wg.buffer<64x24xf32, swizzle = 128> -> tensor<64x24xf32, #acc>
  return %t, %u, %v : tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>, tensor<64x24xf32, #acc>
}

// In a loop: wg.elect and addresses leave it, waits and arrivals stay, in their order.
// CHECK-LABEL: @loop
func.func @loop(%bar: !wg.barrier<1>, %n: i32, %c0: i32) {
  // CHECK: %[[E:.*]] = wg.elect
  // CHECK: scf.for
  // CHECK-NEXT: wg.barrier_wait
  // CHECK-NEXT: wg.fence_proxy_async
  // CHECK-NEXT: wg.named_barrier_sync
  // CHECK-NEXT: scf.if %[[E]]
  // CHECK-NEXT: wg.barrier_arrive
  scf.for %k = %c0 to %n step %n : i32 {
    wg.barrier_wait %bar[%c0] parity(%c0) : !wg.barrier<1>
    wg.fence_proxy_async
    wg.named_barrier_sync %c0 threads(128)
    %e = wg.elect : i1
    scf.if %e {
      wg.barrier_arrive %bar[%c0] : !wg.barrier<1>
    }
  }
  return
}

// Slots are waited for and freed although nothing reads them, and an empty role keeps its warps.
// CHECK-LABEL: @ring
func.func @ring(%n: i32) {
  // CHECK: wg.specialize
  // CHECK: wg.role @load
  // CHECK: wg.fill
  // CHECK: wg.role @multiply
  // CHECK: wg.get
  // CHECK: wg.free
  // CHECK: wg.drain
  // CHECK: wg.role @idle
  %r = wg.ring {stages = 2 : i32} : !ring
  wg.specialize {
    wg.role @load warps(1) {
      %p = wg.cursor producer %r : !ring
      %p1 = wg.fill %r[%p] count(%n) as (%k, %a) : !ring {
      }
    }
    wg.role @multiply warpgroups(1) {
      %q = wg.cursor consumer %r : !ring
      %a = wg.get %r[%q] : !ring
      wg.free %r[%q] : !ring
      %q1 = wg.advance %r[%q] : !ring
      %q2 = wg.drain %r[%q1] count(%n) lag(0) as (%k, %b) : !ring {
      }
    }
    wg.role @idle warps(1) {
    }
  }
  return
}

// What is only computed goes if nothing reads it.
// CHECK-LABEL: @unused
func.func @unused(%s: !wg.buffer<64x24xf32, swizzle = 128>, %r: !ring) {
  // CHECK-NEXT: return
  %c = wg.cursor producer %r : !ring
  %n = wg.advance %r[%c] : !ring
  %w = wg.warpgroup_index : i32
  %acc = wg.acc : !pending
  %t = wg.local_load %s : !wg.buffer<64x24xf32, swizzle = 128> -> tensor<64x24xf32, #acc>
  %own = wg.alloc_buffer : !a
  return
}
