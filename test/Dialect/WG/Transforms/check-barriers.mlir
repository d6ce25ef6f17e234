// Kernels that use barriers by themselves: what is sound, and what the checker says that it cannot tell.
// RUN: girih-opt %s -wg-check-barriers=verdicts -split-input-file -verify-diagnostics -o %t

!a = !wg.buffer<64x64xbf16, swizzle = 128>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // One slot, filled again and again: the producer waits for the phase before, the consumer for the present one.
  // expected-remark @below {{the protocol of kernel 'one_slot' is ok}}
  gpu.func @one_slot(%v: !view, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %buf = wg.alloc_buffer {name = "buf"} : !a
    %full = wg.alloc_barrier {name = "full"} : !wg.barrier<1>
    %empty = wg.alloc_barrier {name = "empty"} : !wg.barrier<1>
    wg.barrier_init %full count(1) : !wg.barrier<1>
    wg.barrier_init %empty count(32) : !wg.barrier<1>
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
      wg.role @read warps(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %odd = arith.andi %k, %c1 : i32
          wg.barrier_wait %full[%c0] parity(%odd) : !wg.barrier<1>
          wg.barrier_arrive %empty[%c0] : !wg.barrier<1>
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Two roles that loop to the same bound, computed twice.
  // expected-remark @below {{the protocol of kernel 'same_bound' is ok}}
  gpu.func @same_bound(%n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    wg.specialize {
      wg.role @one warpgroups(1) {
        %count = arith.ceildivsi %n, %c64 : i32
        scf.for %k = %c0 to %count step %c1 : i32 {
          wg.named_barrier_sync %c1 threads(256)
        }
      }
      wg.role @other warpgroups(1) {
        %count = arith.ceildivsi %n, %c64 : i32
        scf.for %k = %c0 to %count step %c1 : i32 {
          wg.named_barrier_sync %c1 threads(256)
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Even and odd steps of one loop, by two warpgroups, and all of them by a third.
  // expected-remark @below {{the protocol of kernel 'every_second' is ok}}
  gpu.func @every_second(%n: i32, %first: i32, %by: i32) kernel {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    wg.specialize {
      wg.role @all warpgroups(1) {
        %c0 = arith.constant 0 : i32
        scf.for %k = %first to %n step %by iter_args(%which = %c1) -> (i32) : i32 {
          wg.named_barrier_sync %which threads(256)
          %c3 = arith.constant 3 : i32
          %next = arith.subi %c3, %which : i32
          scf.yield %next : i32
        }
      }
      wg.role @half warpgroups(2) each {
        %w = wg.warpgroup_index : i32
        %mine = arith.addi %w, %c1 : i32
        %offset = arith.muli %w, %by : i32
        %start = arith.addi %first, %offset : i32
        %twice = arith.muli %by, %c2 : i32
        scf.for %k = %start to %n step %twice : i32 {
          wg.named_barrier_sync %mine threads(256)
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The plan says that n is at least 1, so the barrier after the loop finds a partner.
  // expected-remark @below {{the protocol of kernel 'at_least_one' is ok}}
  gpu.func @at_least_one(%n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    wg.specialize {
      wg.role @one warpgroups(1) {
        wg.named_barrier_sync %c1 threads(256)
      }
      wg.role @other warpgroups(1) {
        scf.for %k = %c0 to %n step %c1 : i32 {
          %last = arith.cmpi eq, %k, %c0 : i32
          scf.if %last {
            wg.named_barrier_sync %c1 threads(256)
          }
        }
      }
    }
    gpu.return
  }
}
plan.host @at_least_one(%n: i64) attributes {arg_names = ["n"]} {
  %c1 = arith.constant 1 : i64
  %some = arith.cmpi sge, %n, %c1 : i64
  plan.require %some, "n = {0}: expected at least 1"(%n)
  %n32 = arith.trunci %n : i64 to i32
  plan.launch @m::@at_least_one grid(%c1, %c1, %c1) args(%n32) : i32
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @unrelated(%n: i32, %m: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    wg.specialize {
      wg.role @one warpgroups(1) {
        // expected-remark @below {{is undecided: only one role computes how often the loop here runs}}
        scf.for %k = %c0 to %n step %c1 : i32 {
          wg.named_barrier_sync %c1 threads(256)
        }
      }
      wg.role @other warpgroups(1) {
        scf.for %k = %c0 to %m step %c1 : i32 {
          wg.named_barrier_sync %c1 threads(256)
        }
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @from_data(%i: i32) kernel {
    %bar = wg.alloc_barrier {name = "bar"} : !wg.barrier<4>
    wg.barrier_init %bar count(32) : !wg.barrier<4>
    wg.specialize {
      wg.role @one warps(1) {
        // expected-remark @below {{is undecided: the barrier's index depends on more than loops and branches}}
        wg.barrier_arrive %bar[%i] : !wg.barrier<4>
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @by_thread() kernel {
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : index
    wg.specialize {
      wg.role @one warps(1) {
        %thread = gpu.thread_id x
        %few = arith.cmpi ult, %thread, %c5 : index
        // expected-remark @below {{is undecided: a branch depends on the thread's index}}
        scf.if %few {
          wg.named_barrier_sync %c1 threads(32)
        }
      }
    }
    gpu.return
  }
}
