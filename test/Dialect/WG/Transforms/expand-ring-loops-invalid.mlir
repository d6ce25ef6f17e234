// RUN: girih-opt %s -wg-expand-ring-loops -verify-diagnostics

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @conditional(%n: i32, %odd: i1) kernel {
    %true = arith.constant true
    %ring = wg.ring : !ring
    wg.specialize {
      wg.role @multiply warpgroups(1) {
        %q = wg.cursor consumer %ring : !ring
        %acc0 = wg.acc : !pending
        %q1, %acc1 = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0) -> (!pending) : !ring {
          %r = scf.if %odd -> !pending {
            // expected-error @below {{stands under a condition or in a loop inside wg.drain with lag(1), so how many groups a step leaves in flight is not known; expected every wg.mma directly in the body, or lag(0)}}
            %d = wg.mma %sa, %sb, %acc accumulate(%true) : !a, !b, !pending
            scf.yield %d : !pending
          } else {
            scf.yield %acc : !pending
          }
          wg.yield %r : !pending
        }
      }
    }
    gpu.return
  }
}
