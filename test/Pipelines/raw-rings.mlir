// REQUIRES: ptxas
// RUN: girih-compile --emit ptx %s > %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s -implicit-check-not="(C" -implicit-check-not=warning
// RUN: girih-opt %s -wg-check-protocol -wg-lower-rings -mlir-print-debuginfo=false | FileCheck %s -check-prefix=RINGS

// The shape of attention: rings with acquire, publish, get and free of their own, slots whose lives interleave, two products, the
// second with A from registers. ptxas takes it as it is: nothing is serialised, nothing spilled.

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK: Used 168 registers

// Three rings, each with its own barriers.
// RINGS-COUNT-3: wg.barrier_init %{{.*}} count(8)

#acco = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 8, warpgroup: [64,0] x 2}>
#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 16, warpgroup: [64,0] x 2}>
!a = !wg.buffer<128x64xbf16, swizzle = 128>
!b = !wg.buffer<64x128xbf16, order = [0, 1], swizzle = 128>
!pending = !wg.pending<tensor<128x128xf32, #acc>>
!out = !wg.buffer<128x128xf32>
#frag = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,16] x 8, warpgroup: [64,0] x 2}>
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {

  gpu.func @attn(%Q: !wg.view<bf16, box = [128, 64], swizzle = 128>, %K: !wg.view<bf16, box = [64, 128], order = [0, 1], swizzle = 128>, %V: !wg.view<bf16, box = [128, 64], swizzle = 128>, %O: !wg.view<bf16, box = [64, 64], swizzle = 128>, %n: i32) kernel {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    %false = arith.constant false
    %true = arith.constant true
    %q = wg.ring {name = "q", stages = 1 : i32} : !wg.ring<[!a]>
    %k = wg.ring {name = "k", stages = 2 : i32} : !wg.ring<[!b]>
    %v = wg.ring {name = "v", stages = 2 : i32} : !wg.ring<[!wg.buffer<128x64xbf16, swizzle = 128>]>
    %o = wg.store_ring {name = "o", stages = 1 : i32} : !wg.store_ring<!a>
    wg.specialize {
      wg.role @load warps(1) registers(40) {
        %pq = wg.cursor producer %q : !wg.ring<[!a]>
        %s = wg.acquire %q[%pq] : !wg.ring<[!a]>
        wg.tma_load %Q[%c0, %c0] to %s : !wg.view<bf16, box = [128, 64], swizzle = 128>, !a
        wg.publish %q[%pq] : !wg.ring<[!a]>
        %pk = wg.cursor producer %k : !wg.ring<[!b]>
        %pv = wg.cursor producer %v : !wg.ring<[!a]>
        %e:2 = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %pk, %cv = %pv) -> (!wg.cursor, !wg.cursor) : i32 {
          %row = arith.muli %i, %c128 : i32
          %sk = wg.acquire %k[%ck] : !wg.ring<[!b]>
          wg.tma_load %K[%c0, %row] to %sk : !wg.view<bf16, box = [64, 128], order = [0, 1], swizzle = 128>, !b
          wg.publish %k[%ck] : !wg.ring<[!b]>
          %sv = wg.acquire %v[%cv] : !wg.ring<[!a]>
          wg.tma_load %V[%row, %c0] to %sv : !wg.view<bf16, box = [128, 64], swizzle = 128>, !a
          wg.publish %v[%cv] : !wg.ring<[!a]>
          %nk = wg.advance %k[%ck] : !wg.ring<[!b]>
          %nv = wg.advance %v[%cv] : !wg.ring<[!a]>
          scf.yield %nk, %nv : !wg.cursor, !wg.cursor
        }
      }
      wg.role @work warpgroups(2) registers(232) {
        %cq = wg.cursor consumer %q : !wg.ring<[!a]>
        %sq = wg.get %q[%cq] : !wg.ring<[!a]>
        %ck0 = wg.cursor consumer %k : !wg.ring<[!b]>
        %cv0 = wg.cursor consumer %v : !wg.ring<[!a]>
        %acc0 = wg.acc : !wg.pending<tensor<128x64xf32, #acco>>
        %e:4 = scf.for %i = %c0 to %n step %c1 iter_args(%ck = %ck0, %cv = %cv0, %acc = %acc0, %w = %false) -> (!wg.cursor, !wg.cursor, !wg.pending<tensor<128x64xf32, #acco>>, i1) : i32 {
          %sk = wg.get %k[%ck] : !wg.ring<[!b]>
          %s0 = wg.acc : !pending
          %s1 = wg.mma %sq, %sk, %s0 accumulate(%false) : !a, !b, !pending
          %st = wg.wait %s1 in_flight(0) : !pending -> tensor<128x128xf32, #acc>
          wg.free %k[%ck] : !wg.ring<[!b]>
          %x = arith.mulf %st, %st : tensor<128x128xf32, #acc>
          %p = arith.truncf %x : tensor<128x128xf32, #acc> to tensor<128x128xbf16, #acc>
          %sv = wg.get %v[%cv] : !wg.ring<[!a]>
          %d = wg.mma %p, %sv, %acc accumulate(%w) : tensor<128x128xbf16, #acc>, !a, !wg.pending<tensor<128x64xf32, #acco>>
          %dw = wg.wait %d in_flight(0) : !wg.pending<tensor<128x64xf32, #acco>> -> !wg.pending<tensor<128x64xf32, #acco>>
          wg.free %v[%cv] : !wg.ring<[!a]>
          %nk = wg.advance %k[%ck] : !wg.ring<[!b]>
          %nv = wg.advance %v[%cv] : !wg.ring<[!a]>
          scf.yield %nk, %nv, %dw, %true : !wg.cursor, !wg.cursor, !wg.pending<tensor<128x64xf32, #acco>>, i1
        }
        wg.free %q[%cq] : !wg.ring<[!a]>
        %t = wg.wait %e#2 in_flight(0) written(%e#3) : !wg.pending<tensor<128x64xf32, #acco>> -> tensor<128x64xf32, #acco>
        %h = arith.truncf %t : tensor<128x64xf32, #acco> to tensor<128x64xbf16, #acco>
        %co = wg.cursor producer %o : !wg.store_ring<!a>
        %so = wg.store_acquire %o[%co] : !wg.store_ring<!a>
        wg.local_store %h to %so : tensor<128x64xbf16, #acco>, !a
        wg.tma_store %so to %O[%c0, %c0] : !a, !wg.view<bf16, box = [64, 64], swizzle = 128>
        wg.store_commit %o[%co] : !wg.store_ring<!a>
      }
    }
    gpu.return
  }
}
