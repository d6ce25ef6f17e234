// RUN: girih-opt %s -wg-check-protocol -mlir-print-debuginfo=false | FileCheck %s

// Kernels that look wrong and are right: nothing is reported, nothing changed.

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The slot of the step before goes back when at most this step's product is in flight.
  // CHECK-LABEL: gpu.func @one_step_late
  // CHECK: wg.free
  gpu.func @one_step_late(%n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %true = arith.constant true
    %ring = wg.ring {name = "ring"} : !ring
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !ring
        %p1 = wg.fill %ring[%p] count(%n) as (%k, %sa, %sb) : !ring {
        }
      }
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %q, %before = %q, %acc = %acc0) -> (!wg.cursor, !wg.cursor, !pending) : i32 {
          %s:2 = wg.get %ring[%c] : !ring
          %d = wg.mma %s#0, %s#1, %acc accumulate(%true) : !a, !b, !pending
          %w = wg.wait %d in_flight(1) : !pending -> !pending
          %old = arith.cmpi sge, %k, %c1 : i32
          scf.if %old {
            wg.free %ring[%before] : !ring
          }
          %next = wg.advance %ring[%c] : !ring
          scf.yield %next, %c, %w : !wg.cursor, !wg.cursor, !pending
        }
        %t = wg.wait %r#2 in_flight(0) : !pending -> tensor<64x24xf32, #acc>
        wg.free %ring[%r#1] : !ring
      }
    }
    gpu.return
  }

  // Two loops over one ring, the second with two steps in flight.
  // CHECK-LABEL: gpu.func @two_loops
  gpu.func @two_loops(%n: i32) kernel {
    %true = arith.constant true
    %ring = wg.ring {name = "ring"} : !ring
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !ring
        %p1 = wg.fill %ring[%p] count(%n) as (%k, %sa, %sb) : !ring {
        }
      }
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %q1, %acc1 = wg.drain %ring[%q] count(%n) lag(0) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!pending) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%true) : !a, !b, !pending
          wg.yield %d : !pending
        }
        %q2, %acc2 = wg.drain %ring[%q1] count(%n) lag(2) as (%k, %sa, %sb) iter_args(%acc = %acc1) -> (!pending) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%true) : !a, !b, !pending
          wg.yield %d : !pending
        }
      }
    }
    gpu.return
  }
}
