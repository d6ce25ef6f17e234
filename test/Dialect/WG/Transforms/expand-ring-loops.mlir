// RUN: girih-opt %s -wg-expand-ring-loops -mlir-print-debuginfo=false | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[LOOP:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @fill
  gpu.func @fill(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %n: i32) kernel {
    %c64 = arith.constant 64 : i32
    %ring = wg.ring : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        // CHECK: %[[P:.*]] = wg.cursor producer
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        // CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[C:.*]] = %[[P]])
        // CHECK-NEXT: %[[S:.*]] = wg.acquire %{{.*}}[%[[C]]]
        // CHECK-NEXT: arith.muli %[[K]]
        // CHECK-NEXT: wg.tma_load %{{.*}} to %[[S]]
        // CHECK-NEXT: wg.publish %{{.*}}[%[[C]]]
        // CHECK-NEXT: %[[N:.*]] = wg.advance %{{.*}}[%[[C]]]
        // CHECK-NEXT: scf.yield %[[N]]
        // CHECK-NEXT: } {loop_annotation = #[[LOOP]]}
        %p1 = wg.fill %ring[%p] count(%n) as (%k, %s) : !wg.ring<[!a]> {
          %col = arith.muli %k, %c64 : i32
          wg.tma_load %A[%col, %col] to %s : !wg.view<bf16, box = [64, 64], swizzle = 128>, !a
        }
      }
    }
    gpu.return
  }

  // With lag 1 the loop carries the cursor of the step before, whose slot goes back after the wait.
  // CHECK-LABEL: gpu.func @drain
  // CHECK-SAME: %[[COUNT:[^:]*]]: i32
  gpu.func @drain(%n: i32) kernel {
    %false = arith.constant false
    %true = arith.constant true
    %ring = wg.ring : !ring
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        // CHECK: %[[Q:.*]] = wg.cursor consumer
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        // CHECK: %[[L:.*]]:4 = scf.for %[[K:.*]] = %{{.*}} iter_args(%[[C:.*]] = %[[Q]], %[[PREV:.*]] = %[[Q]], %[[ACC:.*]] = %{{.*}}, %[[W:.*]] = %{{.*}})
        // CHECK: %[[S:.*]]:2 = wg.get %{{.*}}[%[[C]]]
        // CHECK: %[[D:.*]] = wg.mma %[[S]]#0, %[[S]]#1, %[[ACC]] accumulate(%[[W]])
        // CHECK: %[[WAIT:.*]] = wg.wait %[[D]] in_flight(1)
        // CHECK: %[[OLD:.*]] = arith.cmpi sge, %[[K]], %{{.*}}
        // CHECK: scf.if %[[OLD]] {
        // CHECK-NEXT: wg.free %{{.*}}[%[[PREV]]]
        // CHECK: %[[N:.*]] = wg.advance %{{.*}}[%[[C]]]
        // CHECK: scf.yield %[[N]], %[[C]], %[[WAIT]], %{{.*}}
        // After the loop: wait for the rest, free the last slot unless there was none.
        // CHECK: wg.wait %[[L]]#2 in_flight(0)
        // CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[COUNT]], %{{.*}}
        // CHECK: scf.if %[[SOME]] {
        // CHECK-NEXT: wg.free %{{.*}}[%[[L]]#1]
        %q1, %acc1, %w1 = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> (!pending, i1) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%w) : !a, !b, !pending
          wg.yield %d, %true : !pending, i1
        }
        %t = wg.wait %acc1 in_flight(0) written(%w1) : !pending -> tensor<64x24xf32, #acc>
      }
    }
    gpu.return
  }

  // With lag 0 every step waits for its own product and frees its own slot; nothing is left after the loop.
  // CHECK-LABEL: gpu.func @no_lag
  gpu.func @no_lag(%n: i32) kernel {
    %false = arith.constant false
    %ring = wg.ring : !ring
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        // CHECK: scf.for %{{.*}} iter_args(%[[C:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
        // CHECK: wg.wait %{{.*}} in_flight(0)
        // CHECK-NEXT: wg.free %{{.*}}[%[[C]]]
        // CHECK: loop_annotation
        // CHECK-NOT: wg.free
        // CHECK: gpu.return
        %q1, %acc1 = wg.drain %ring[%q] count(%n) lag(0) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!pending) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%false) : !a, !b, !pending
          wg.yield %d : !pending
        }
      }
    }
    gpu.return
  }

  // Two products a step: two groups of each of the `lag` steps may be in flight.
  // CHECK-LABEL: gpu.func @two_products
  // CHECK: wg.wait %{{.*}}, %{{.*}} in_flight(4)
  gpu.func @two_products(%n: i32) kernel {
    %true = arith.constant true
    %ring = wg.ring : !ring
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %q1, %x1, %y1 = wg.drain %ring[%q] count(%n) lag(2) as (%k, %sa, %sb) iter_args(%x = %acc0, %y = %acc0) -> (!pending, !pending) : !ring {
          %d = wg.mma %sa, %sb, %x accumulate(%true) : !a, !b, !pending
          %e = wg.mma %sa, %sb, %y accumulate(%true) : !a, !b, !pending
          wg.yield %d, %e : !pending, !pending
        }
      }
    }
    gpu.return
  }

  // What happens in the last step only, once everything is issued, stands behind the loop, before the last wait.
  // CHECK-LABEL: gpu.func @last_step
  // CHECK: scf.for
  // CHECK-NOT: wg.pass_turn
  // CHECK: } {loop_annotation
  // CHECK: %[[SOME:.*]] = arith.cmpi sge, %arg0, %
  // CHECK-NEXT: scf.if %[[SOME]] {
  // CHECK-NEXT: wg.pass_turn
  // CHECK: wg.wait %{{.*}} in_flight(0)
  gpu.func @last_step(%n: i32) kernel {
    %false = arith.constant false
    %c1 = arith.constant 1 : i32
    %turn = wg.turns : !wg.turns<2>
    %ring = wg.ring {one_reader} : !ring
    wg.specialize {
      wg.role @multiply warpgroups(2) each {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %q1, %acc1 = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!pending) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%false) : !a, !b, !pending
          %last = arith.subi %n, %c1 : i32
          %is_last = arith.cmpi eq, %k, %last : i32
          scf.if %is_last {
            wg.pass_turn %turn : !wg.turns<2>
          } else {
          }
          wg.yield %d : !pending
        }
      }
    }
    gpu.return
  }

  // A branch that needs the step's number stays in the loop.
  // CHECK-LABEL: gpu.func @needs_the_step
  // CHECK: scf.for %[[K:[a-z0-9]+]] = %
  // CHECK: scf.if
  // CHECK-NEXT: wg.named_barrier_sync %[[K]]
  // CHECK: } {loop_annotation
  gpu.func @needs_the_step(%n: i32) kernel {
    %false = arith.constant false
    %c1 = arith.constant 1 : i32
    %ring = wg.ring : !ring
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %q1, %acc1 = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!pending) : !ring {
          %d = wg.mma %sa, %sb, %acc accumulate(%false) : !a, !b, !pending
          %last = arith.subi %n, %c1 : i32
          %is_last = arith.cmpi eq, %k, %last : i32
          scf.if %is_last {
            wg.named_barrier_sync %k threads(128)
          }
          wg.yield %d : !pending
        }
      }
    }
    gpu.return
  }

  // A fill inside a fill: the outer loop carries the inner ring's cursor.
  // CHECK-LABEL: gpu.func @nested_fill
  // CHECK: %[[OUTER:.*]]:2 = scf.for %{{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}) -> (!wg.cursor, !wg.cursor)
  // CHECK: wg.acquire %{{.*}}[%[[P]]]
  // CHECK: %[[INNER:.*]] = scf.for %{{.*}} iter_args(%[[S:.*]] = %[[R]])
  // CHECK: wg.acquire %{{.*}}[%[[S]]]
  // CHECK: wg.publish %{{.*}}[%[[P]]]
  // CHECK: %[[NEXT:.*]] = wg.advance %{{.*}}[%[[P]]]
  // CHECK: scf.yield %[[NEXT]], %[[INNER]]
  gpu.func @nested_fill(%n: i32) kernel {
    %c1 = arith.constant 1 : i32
    %one = wg.ring : !ring
    %two = wg.ring : !ring
    wg.specialize {
      wg.role @load warps(1) {
        %p0 = wg.cursor producer %one : !ring
        %r0 = wg.cursor producer %two : !ring
        %p1, %r1 = wg.fill %one[%p0] count(%n) as (%k, %sa, %sb) iter_args(%r = %r0) -> (!wg.cursor) : !ring {
          %r2 = wg.fill %two[%r] count(%c1) as (%j, %ta, %tb) : !ring {
          }
          wg.yield %r2 : !wg.cursor
        }
      }
    }
    gpu.return
  }
}
