// RUN: girih-opt %s -wg-derive-waits -mlir-print-debuginfo=false | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!a = !wg.buffer<64x16xbf16, swizzle = 32>
!b = !wg.buffer<16x8xbf16, order = [0, 1], swizzle = 32>
!tile = tensor<64x8xf32, #acc>
!pending = !wg.pending<tensor<64x8xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // A wait leaves in flight what was started since; the next one takes the rest.
  // CHECK-LABEL: gpu.func @two
  gpu.func @two(%a: !a, %b: !b) kernel {
    %false = arith.constant false
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %c = wg.acc : !pending
        %s = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
        %o = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
        %p = wg.mma %a, %b, %o : !a, !b, !pending
        // CHECK: wg.wait %{{.*}} in_flight(2) :
        %s1 = wg.wait %s in_flight(0) derive : !pending -> !tile
        // CHECK: wg.wait %{{.*}} in_flight(0) :
        %p1 = wg.wait %p in_flight(0) derive : !pending -> !tile
        // Nothing writes it any more: nothing to wait for.
        // CHECK: wg.wait %{{.*}} in_flight(8) {waited} :
        %o1 = wg.wait %o in_flight(0) derive : !pending -> !tile
      }
    }
    gpu.return
  }

  // The scores of one block under the product of the one before: the same number in every iteration.
  // CHECK-LABEL: gpu.func @loop
  gpu.func @loop(%a: !a, %b: !b, %n: i32) kernel {
    %false = arith.constant false
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : !tile
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tile) : i32 {
          %c = wg.acc : !pending
          %s = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
          %start = wg.acc from(%acc) : !pending
          %o = wg.mma %a, %b, %start : !a, !b, !pending
          // CHECK: wg.wait %{{.*}} in_flight(1) :
          %s1 = wg.wait %s in_flight(0) derive : !pending -> !tile
          // CHECK: wg.wait %{{.*}} in_flight(0) :
          %o1 = wg.wait %o in_flight(0) derive : !pending -> !tile
          %next = arith.addf %s1, %o1 : !tile
          scf.yield %next : !tile
        }
      }
    }
    gpu.return
  }

  // What a loop carries, a branch hands on and a drain has waited for.
  // CHECK-LABEL: gpu.func @carried
  gpu.func @carried(%a: !a, %b: !b, %n: i32, %if: i1) kernel {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %ring = wg.ring {stages = 2 : i32} : !wg.ring<[!a, !b]>
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %c = wg.acc : !pending
        %first = wg.mma %a, %b, %c accumulate(%true) : !a, !b, !pending
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %first) -> (!pending) : i32 {
          %o = wg.mma %a, %b, %acc : !a, !b, !pending
          scf.yield %o : !pending
        }
        %chosen = scf.if %if -> (!pending) {
          scf.yield %r : !pending
        } else {
          scf.yield %r : !pending
        }
        %other = wg.mma %a, %b, %c accumulate(%true) : !a, !b, !pending
        // CHECK: wg.wait %{{.*}} in_flight(1) :
        %r1 = wg.wait %chosen in_flight(0) derive : !pending -> !tile
        %q = wg.cursor consumer %ring : !wg.ring<[!a, !b]>
        %q1, %d = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %c) -> (!pending) : !wg.ring<[!a, !b]> {
          %o = wg.mma %sa, %sb, %acc accumulate(%true) : !a, !b, !pending
          wg.yield %o : !pending
        }
        // CHECK: wg.wait %{{.*}} in_flight(8) {waited} :
        %d1 = wg.wait %d in_flight(0) derive : !pending -> !tile
      }
    }
    gpu.return
  }
}
