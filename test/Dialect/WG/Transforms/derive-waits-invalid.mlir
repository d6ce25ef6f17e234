// RUN: girih-opt %s -wg-derive-waits -split-input-file -verify-diagnostics

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!a = !wg.buffer<64x16xbf16, swizzle = 32>
!b = !wg.buffer<16x8xbf16, order = [0, 1], swizzle = 32>
!tile = tensor<64x8xf32, #acc>
!pending = !wg.pending<tensor<64x8xf32, #acc>>

// Another group has been started since on one side of the branch only.
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @branch(%a: !a, %b: !b, %if: i1) kernel {
    %false = arith.constant false
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %c = wg.acc : !pending
        %s = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
        %o = scf.if %if -> (!pending) {
          %p = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
          scf.yield %p : !pending
        } else {
          scf.yield %c : !pending
        }
        // expected-error @below {{'wg.wait' op finds 1 groups started since those that it waits for on one path and 0 on one path: expected one number on every path, or in_flight(n) without derive}}
        %s1 = wg.wait %s in_flight(0) derive : !pending -> !tile
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!a = !wg.buffer<64x16xbf16, swizzle = 32>
!b = !wg.buffer<16x8xbf16, order = [0, 1], swizzle = 32>
!tile = tensor<64x8xf32, #acc>
!pending = !wg.pending<tensor<64x8xf32, #acc>>

// The second iteration finds what the first has left in flight.
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @iterations(%a: !a, %b: !b, %n: i32) kernel {
    %false = arith.constant false
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %c = wg.acc : !pending
        %s = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %s) -> (!pending) : i32 {
          // expected-error @below {{'wg.wait' op finds 0 groups started since those that it waits for in the first iteration of the loop at}}
          %s1, %o1 = wg.wait %acc, %acc in_flight(0) derive : !pending, !pending -> !tile, !pending
          %d = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
          %e = wg.mma %a, %b, %c accumulate(%false) : !a, !b, !pending
          scf.yield %d : !pending
        }
      }
    }
    gpu.return
  }
}
