// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --canonicalize --cse | FileCheck %s

// Two teams in a loop and under a branch: each role is a clone of both with its own part, and carries its cursor. The role
// that loads has nothing of the rest but what its place depends on; the one that gives executes the rest.
!slot = !wg.ring<[!wg.buffer<64x64xbf16, swizzle = 128>]>
!map = !wg.view<bf16, box = [64, 64], swizzle = 128>
#rows = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
gpu.module @device {
  // CHECK-LABEL: gpu.func @teams
  // CHECK: %[[RING:.*]] = wg.ring {name = "x"}
  // CHECK: wg.specialize {
  // CHECK-NEXT: wg.role @load warps(1) registers(40) {
  // CHECK-NEXT: %[[P:.*]] = wg.cursor producer %[[RING]]
  // CHECK-NEXT: scf.for %[[T:.*]] = {{.*}} iter_args(%[[P0:.*]] = %[[P]]) -> (!wg.cursor)
  // CHECK-NEXT: %[[EVEN:.*]] = arith.cmpi
  // CHECK-NEXT: %[[S:.*]] = wg.acquire %[[RING]][%[[P0]]]
  // CHECK-NEXT: wg.tma_load %{{.*}}[%[[T]], %{{.*}}] to %[[S]]
  // CHECK-NEXT: wg.publish %[[RING]][%[[P0]]]
  // CHECK-NEXT: %[[P1:.*]] = wg.advance %[[RING]][%[[P0]]]
  // CHECK-NEXT: %[[P2:.*]] = scf.if %[[EVEN]] -> (!wg.cursor) {
  // CHECK: wg.acquire %[[RING]][%[[P1]]]
  // CHECK: %[[P3:.*]] = wg.advance %[[RING]][%[[P1]]]
  // CHECK-NEXT: scf.yield %[[P3]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[P1]]
  // CHECK: scf.yield %[[P2]] : !wg.cursor
  // CHECK: wg.role @read warpgroups(1) registers(240) {
  // CHECK-NEXT: %[[Q:.*]] = wg.cursor consumer %[[RING]]
  // CHECK: scf.for {{.*}} iter_args(%[[TOTAL:.*]] = %{{.*}}, %[[Q0:.*]] = %[[Q]]) -> (tensor<64x64xbf16>, !wg.cursor)
  // CHECK: %[[B:.*]] = wg.get %[[RING]][%[[Q0]]]
  // CHECK: wg.local_load %[[B]]
  // CHECK: arith.addf %[[TOTAL]]
  // CHECK: scf.if {{.*}} -> (tensor<64x64xbf16>, !wg.cursor) {
  // CHECK: wg.get
  // CHECK: tile.print
  // CHECK-NOT: wg.team
  // CHECK-NOT: wg.keep
  // CHECK-NOT: wg.give
  gpu.func @teams(%x: !map, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
    %ring = wg.ring {name = "x"} : !slot
    %r = scf.for %t = %c0 to %n step %c1 iter_args(%total = %zero) -> (tensor<64x64xbf16>) : i32 {
      %even = arith.cmpi slt, %t, %n : i32
      %u = wg.team -> tensor<64x64xbf16> {
        wg.role @load warps(1) registers(40) {
          %p = wg.cursor producer %ring : !slot
          %s = wg.acquire %ring[%p] : !slot
          wg.tma_load %x[%t, %c0] to %s : !map, !wg.buffer<64x64xbf16, swizzle = 128>
          wg.publish %ring[%p] : !slot
          %p1 = wg.advance %ring[%p] : !slot
          wg.keep %ring[%p1] : !slot
        }
        wg.role @read warpgroups(1) registers(240) {
          %q = wg.cursor consumer %ring : !slot
          %s = wg.get %ring[%q] : !slot
          %v = wg.local_load %s : !wg.buffer<64x64xbf16, swizzle = 128> -> tensor<64x64xbf16, #rows>
          wg.free %ring[%q] : !slot
          %q1 = wg.advance %ring[%q] : !slot
          wg.keep %ring[%q1] : !slot
          %w = wg.convert_layout %v : tensor<64x64xbf16, #rows> -> tensor<64x64xbf16>
          wg.give %w : tensor<64x64xbf16>
        }
      }
      %sum = arith.addf %total, %u : tensor<64x64xbf16>
      %next = scf.if %even -> (tensor<64x64xbf16>) {
        %u2 = wg.team -> tensor<64x64xbf16> {
          wg.role @load warps(1) registers(40) {
            %p = wg.cursor producer %ring : !slot
            %s = wg.acquire %ring[%p] : !slot
            wg.tma_load %x[%c0, %t] to %s : !map, !wg.buffer<64x64xbf16, swizzle = 128>
            wg.publish %ring[%p] : !slot
            %p1 = wg.advance %ring[%p] : !slot
            wg.keep %ring[%p1] : !slot
          }
          wg.role @read warpgroups(1) registers(240) {
            %q = wg.cursor consumer %ring : !slot
            %s = wg.get %ring[%q] : !slot
            %v = wg.local_load %s : !wg.buffer<64x64xbf16, swizzle = 128> -> tensor<64x64xbf16, #rows>
            wg.free %ring[%q] : !slot
            %q1 = wg.advance %ring[%q] : !slot
            wg.keep %ring[%q1] : !slot
            %w = wg.convert_layout %v : tensor<64x64xbf16, #rows> -> tensor<64x64xbf16>
            wg.give %w : tensor<64x64xbf16>
          }
        }
        %more = arith.addf %sum, %u2 : tensor<64x64xbf16>
        scf.yield %more : tensor<64x64xbf16>
      } else {
        scf.yield %sum : tensor<64x64xbf16>
      }
      scf.yield %next : tensor<64x64xbf16>
    }
    tile.print "r" %r : tensor<64x64xbf16>
    gpu.return
  }
}
