// RUN: girih-opt %s -wg-check-protocol -split-input-file -verify-diagnostics

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @freed_too_early(%n: i32) kernel {
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
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %q, %acc = %acc0) -> (!wg.cursor, !pending) : i32 {
          %s:2 = wg.get %ring[%c] : !ring
          // expected-note @below {{the wgmma starts here, and nothing has waited for it}}
          %d = wg.mma %s#0, %s#1, %acc accumulate(%true) : !a, !b, !pending
          // expected-error @below {{slot of %ring freed while the wgmma at}}
          wg.free %ring[%c] : !ring
          %next = wg.advance %ring[%c] : !ring
          scf.yield %next, %d : !wg.cursor, !pending
        }
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The wait leaves one product in flight, and it is the one that reads the slot of the step before: two a step.
  gpu.func @waits_for_too_few(%n: i32) kernel {
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
        %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%c = %q, %acc = %acc0) -> (!wg.cursor, !pending) : i32 {
          %s:2 = wg.get %ring[%c] : !ring
          // expected-note @below {{the wgmma starts here}}
          %d = wg.mma %s#0, %s#1, %acc accumulate(%true) : !a, !b, !pending
          %w = wg.wait %d in_flight(1) : !pending -> !pending
          // expected-error @below {{may still read it; expected wg.wait in_flight(0) before, or lag=1}}
          wg.free %ring[%c] : !ring
          %next = wg.advance %ring[%c] : !ring
          scf.yield %next, %w : !wg.cursor, !pending
        }
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The product does not leave the body, so the drain's own wait does not cover it.
  gpu.func @dropped(%n: i32) kernel {
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
        // expected-error @below {{slot of %ring freed while the wgmma at}}
        %q1 = wg.drain %ring[%q] count(%n) lag(1) as (%k, %sa, %sb) : !ring {
          // expected-note @below {{the wgmma starts here}}
          %d = wg.mma %sa, %sb, %acc0 accumulate(%true) : !a, !b, !pending
        }
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!ring = !wg.ring<[!a, !b]>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @used_after_free(%n: i32) kernel {
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
        %s:2 = wg.get %ring[%q] : !ring
        // expected-note @below {{it was freed here}}
        wg.free %ring[%q] : !ring
        // expected-error @below {{wgmma reads a slot of %ring that has been freed; expected wg.free after the last use}}
        %d = wg.mma %s#0, %s#1, %acc0 accumulate(%true) : !a, !b, !pending
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @freed_twice(%n: i32) kernel {
    %ring = wg.ring {name = "ring"} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %p1 = wg.fill %ring[%p] count(%n) as (%k, %sa) : !wg.ring<[!a]> {
        }
      }
      wg.role @read warpgroups(1) {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        %s = wg.get %ring[%q] : !wg.ring<[!a]>
        // expected-note @below {{it was freed here}}
        wg.free %ring[%q] : !wg.ring<[!a]>
        // expected-error @below {{slot of %ring freed a second time; expected one wg.free for each wg.get}}
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @nobody_fills(%n: i32) kernel {
    // expected-note @below {{the ring is declared here}}
    %ring = wg.ring {name = "ring"} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @read warpgroups(1) {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        // expected-error @below {{ring %ring is drained here, but no role fills it: the kernel would wait for ever; expected a wg.fill in another role}}
        %s = wg.get %ring[%q] : !wg.ring<[!a]>
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @nobody_drains(%n: i32) kernel {
    // expected-note @below {{the ring is declared here}}
    %ring = wg.ring {name = "ring"} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        // expected-error @below {{ring %ring is filled here, but no role drains it: the kernel would wait for ever; expected a wg.drain, or wg.get and wg.free, in another role}}
        %p1 = wg.fill %ring[%p] count(%n) as (%k, %sa) : !wg.ring<[!a]> {
        }
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!slot = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @written_under_store(%C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel {
    %out = wg.store_ring {name = "out", stages = 2 : i32} : !wg.store_ring<!slot>
    wg.specialize {
      wg.role @write warpgroups(1) {
        %o = wg.cursor producer %out : !wg.store_ring<!slot>
        %t = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
        %s = wg.store_acquire %out[%o] : !wg.store_ring<!slot>
        wg.local_store %t to %s : tensor<64x64xbf16, #acc>, !slot
        // expected-note @below {{the store starts here}}
        wg.tma_store %s to %C[%i, %i] : !slot, !wg.view<bf16, box = [64, 64], swizzle = 128>
        wg.store_commit %out[%o] : !wg.store_ring<!slot>
        // expected-error @below {{writes a slot whose TMA store may still read it; expected wg.store_acquire of the next slot before}}
        wg.local_store %t to %s : tensor<64x64xbf16, #acc>, !slot
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!slot = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @not_advanced(%C: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %out = wg.store_ring {name = "out", stages = 2 : i32} : !wg.store_ring<!slot>
    wg.specialize {
      wg.role @write warpgroups(1) {
        %o = wg.cursor producer %out : !wg.store_ring<!slot>
        %t = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
        scf.for %k = %c0 to %n step %c1 : i32 {
          // expected-error @below {{slot of %out acquired twice without wg.advance, while its TMA store may still read it; expected wg.advance after wg.store_commit}}
          %s = wg.store_acquire %out[%o] : !wg.store_ring<!slot>
          wg.local_store %t to %s : tensor<64x64xbf16, #acc>, !slot
          wg.tma_store %s to %C[%i, %i] : !slot, !wg.view<bf16, box = [64, 64], swizzle = 128>
          wg.store_commit %out[%o] : !wg.store_ring<!slot>
        }
      }
    }
    gpu.return
  }
}
