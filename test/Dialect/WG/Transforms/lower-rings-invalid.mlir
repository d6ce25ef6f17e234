// RUN: girih-opt %s -wg-lower-rings -split-input-file -verify-diagnostics

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_stages() kernel {
    // expected-error @below {{r has no number of stages; run wg-choose-stages first}}
    %ring = wg.ring {name = "r"} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
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

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @outside_roles() kernel {
    %ring = wg.ring {stages = 2 : i32} : !wg.ring<[!a]>
    // expected-error @below {{expected inside a wg.role: who arrives at a ring's barriers depends on the role}}
    %p = wg.cursor producer %ring : !wg.ring<[!a]>
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @two_fill() kernel {
    // expected-error @below {{r is filled by 2 roles; expected one, which owns the order of the slots}}
    %ring = wg.ring {name = "r", stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @one warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
      }
      wg.role @two warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @nobody_drains() kernel {
    // expected-error @below {{r is filled but no role drains it; expected a wg.drain or wg.free}}
    %ring = wg.ring {name = "r", stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @one warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

#frag = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 2}>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3, warpgroup: [64,0] x 2}>
!a = !wg.buffer<128x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @written_by_others() kernel {
    %false = arith.constant false
    %x = wg.alloc_buffer : !a
    %y = wg.alloc_buffer : !b
    wg.specialize {
      wg.role @all warpgroups(2) {
        %t = arith.constant dense<1.0> : tensor<128x64xbf16, #frag>
        wg.local_store %t to %x : tensor<128x64xbf16, #frag>, !a
        %acc = wg.acc : !wg.pending<tensor<128x24xf32, #acc>>
        // expected-error @below {{reads shared memory that wg.local_store has written in a role of several warpgroups; expected wg.fence_proxy_async and a wg.named_barrier_sync of the whole role before it}}
        %d = wg.mma %x, %y, %acc accumulate(%false) : !a, !b, !wg.pending<tensor<128x24xf32, #acc>>
      }
    }
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 2}>
!slot = !wg.buffer<128x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @uneven() kernel {
    %b = wg.alloc_buffer : !slot
    wg.specialize {
      wg.role @write warps(6) {
        %t = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        // expected-error @below {{writes shared memory in role 'write' of 6 warps, whose last warpgroup has fewer than the others; expected warpgroups(n), or at most 4 warps}}
        wg.local_store %t to %b : tensor<128x64xbf16, #acc>, !slot
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @each_fills() kernel {
    // expected-error @below {{r is filled by role 'load', of which each warpgroup would fill every slot; expected a role without each}}
    %ring = wg.ring {name = "r", stages = 2 : i32} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warpgroups(2) each {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @unequal() kernel {
    // expected-error @below {{r has one reader for each slot, and role 'two' gives it back with 8 warps, role 'one' with 4; expected equal numbers}}
    %ring = wg.ring {name = "r", stages = 2 : i32, one_reader} : !wg.ring<[!a]>
    wg.specialize {
      wg.role @load warps(1) {
        %p = wg.cursor producer %ring : !wg.ring<[!a]>
        %s = wg.acquire %ring[%p] : !wg.ring<[!a]>
      }
      wg.role @one warpgroups(1) {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
      wg.role @two warpgroups(2) {
        %q = wg.cursor consumer %ring : !wg.ring<[!a]>
        wg.free %ring[%q] : !wg.ring<[!a]>
      }
    }
    gpu.return
  }
}
