// One fault of each class, in kernels that use barriers by themselves; test/kernels/test_protocol.py has those of rings.
// RUN: girih-opt %s -wg-check-barriers -split-input-file -verify-diagnostics -o %t

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The reader gives nothing back.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @lost(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    // expected-note @below {{barrier 0 of 'empty' has completed after 128 arrivals}}
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          // expected-error @below {{role 'load' waits for ever until barrier 0 of 'empty' has completed: 128 of 128 arrivals never come; expected every reader to give back every slot that it gets [lost-release]}}
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // 129 arrivals are counted, 128 come.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @one_too_many(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    // expected-note @below {{barrier 0 of 'empty' has completed after 129 arrivals}}
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    // expected-error @below {{'empty' count 129 arrivals for each phase, and 128 come; expected count(128) [lost-release]}}
    wg.barrier_init %empty count(129) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          // expected-note @below {{role 'load' waits for ever here}}
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The reader gives the slot back twice.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @twice(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    // expected-note @below {{barrier 0 of 'empty' has completed after 128 arrivals}}
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
          // expected-note @below {{role 'read' has arrived in that phase before, here}}
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
          // expected-error @below {{role 'read' arrives too often before barrier 0 of 'empty' has completed}}
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The producer starts with the consumer's parity.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @parity(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          // expected-error @below {{role 'load' waits with the wrong parity}}
          wg.barrier_wait %empty[%c0] parity(%odd) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Half of the bytes are expected.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @bytes(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    // expected-note @below {{barrier 0 of 'full' has completed after 1 arrival}}
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            // expected-error @below {{before barrier 0 of 'full' has completed, its copies bring 4096 bytes more than are expected; expected the sum of the copies' boxes [wrong-bytes]}}
            wg.barrier_expect %full[%c0] bytes(4096) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The reader does not wait.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @read_early(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    // expected-note @below {{barrier 0 of 'full' has completed after 1 arrival}}
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          // expected-note @below {{role 'load' writes it here}}
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          // expected-error @below {{role 'read' reads 'buf' while the copy at}}
          %t = wg.local_load %buf : !a -> !tile
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The other role never comes.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @alone() kernel {
    %c1 = arith.constant 1 : i32
    wg.specialize {
      wg.role @one warpgroups(1) {
        // expected-error @below {{role 'one' waits for ever at a named barrier, and all others wait too or have ended; expected every participant to arrive [deadlock]}}
        wg.named_barrier_sync %c1 threads(256)
      }
      wg.role @other warpgroups(1) {
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Each role waits for the other one to go first.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @circle() kernel {
    %c0 = arith.constant 0 : i32
    // expected-note @below {{barrier 0 of 'a' has completed after 32 arrivals}}
    %a = wg.alloc_barrier {name = "a"} : !wg.barrier<1>
    %b = wg.alloc_barrier {name = "b"} : !wg.barrier<1>
    wg.barrier_init %a count(32) : !wg.barrier<1>
    wg.barrier_init %b count(32) : !wg.barrier<1>
    wg.specialize {
      wg.role @one warps(1) {
        // expected-error @below {{role 'one' waits for ever until barrier 0 of 'a' has completed, and all others wait too or have ended}}
        wg.barrier_wait %a[%c0] parity(%c0) : !wg.barrier<1>
        wg.barrier_arrive %b[%c0] : !wg.barrier<1>
      }
      wg.role @other warps(1) {
        wg.barrier_wait %b[%c0] parity(%c0) : !wg.barrier<1>
        wg.barrier_arrive %a[%c0] : !wg.barrier<1>
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // What the warpgroup has written is stored by one thread, and no fence lies between.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @fence(%v: !view, %t: !tile) kernel {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    wg.specialize {
      wg.role @one warpgroups(1) {
        // expected-note @below {{role 'one' writes here}}
        wg.local_store %t to %buf : !tile, !a
        wg.named_barrier_sync %c8 threads(128)
        // expected-error @below {{role 'one' reads 'buf' through the asynchronous proxy, and what was written through the generic one is not ordered before}}
        wg.tma_store %buf to %v[%c0, %c0] : !a, !view
        wg.bulk_commit
        wg.bulk_wait 0
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The source of the last store may be the next CTA's before it has been read.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @exit(%v: !view, %t: !tile) kernel {
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    wg.specialize {
      wg.role @one warpgroups(1) {
        wg.local_store %t to %buf : !tile, !a
        wg.fence_proxy_async
        wg.named_barrier_sync %c8 threads(128)
        // expected-error @below {{role 'one' starts a copy of 'buf' for which nobody waits before the CTA ends}}
        wg.tma_store %buf to %v[%c0, %c0] : !a, !view
        wg.bulk_commit
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // 256 threads have 256 registers each; the first to ask gets what there is, the second waits.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @registers() kernel {
    wg.specialize {
      wg.role @one warpgroups(3) {
        // expected-error @below {{role 'one', warpgroup 0 waits for ever for registers: all roles together ask for more than a launch of 384 threads has (64512); expected lower budgets [register-budget]}}
        wg.set_registers increase 232
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Two participants that count differently.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @threads() kernel {
    %c1 = arith.constant 1 : i32
    wg.specialize {
      wg.role @one warpgroups(1) {
        // expected-note @below {{role 'one' names another number here}}
        wg.named_barrier_sync %c1 threads(256)
      }
      wg.role @other warpgroups(1) {
        // expected-error @below {{role 'other' meets at named barrier 1 with a number of threads that its partners do not have}}
        wg.named_barrier_sync %c1 threads(384)
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Only the reader knows where its first loop ends, but the loading role needs not know it: both loops together have as
  // many steps as its own.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @lost_in_the_second_loop(%v: !view, %n: i32, %p: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    // expected-note @below {{barrier 0 of 'empty' has completed after 128 arrivals}}
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(128) : !wg.barrier<1>
    wg.specialize {
      wg.role @load warps(1) {
        %leader = wg.elect : i1
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          %before = arith.xori %odd, %c1 : i32
          // expected-error @below {{role 'load' waits for ever until barrier 0 of 'empty' has completed: 128 of 128 arrivals never come}}
          wg.barrier_wait %empty[%c0] parity(%before) : !wg.barrier<1>
          scf.if %leader {
            wg.barrier_expect %full[%c0] bytes(8192) : !wg.barrier<1>
          }
          wg.tma_load %v[%c0, %c0] to %buf barrier(%full[%c0] : !wg.barrier<1>) : !view, !a
        }
      }
      wg.role @read warpgroups(1) {
        %middle = arith.minsi %n, %p : i32
        scf.for %k = %c0 to %middle step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
        scf.for %k = %middle to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          %t = wg.local_load %buf : !a -> !tile
        }
      }
    }
    gpu.return
  }
}

// -----

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8}>
!tile = tensor<64x64xbf16, #acc>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Where the branch is taken three times the first of two slots is written again.
  // expected-note @below {{the schedule that leads there}}
  gpu.func @written_in_a_branch(%v: !view, %t: !tile, %n: i32, %p: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %out = wg.alloc_buffer {name = "out", count = 2 : i32} : !a
    wg.specialize {
      wg.role @one warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
          %product = arith.muli %k, %p : i32
          %else = arith.cmpi slt, %product, %p : i32
          %next = scf.if %else -> (i32) {
            scf.yield %slot : i32
          } else {
            %o = wg.slot %out[%slot] : !a
            // expected-error @below {{role 'one' overwrites slot 0 of 'out' while the store at}}
            wg.local_store %t to %o : !tile, !a
            wg.fence_proxy_async
            wg.named_barrier_sync %c8 threads(128)
            // expected-note @below {{role 'one' uses it here}}
            wg.tma_store %o to %v[%c0, %c0] : !a, !view
            wg.bulk_commit
            %other = arith.xori %slot, %c1 : i32
            scf.yield %other : i32
          }
          scf.yield %next : i32
        }
        wg.bulk_wait 0
      }
    }
    gpu.return
  }
}
