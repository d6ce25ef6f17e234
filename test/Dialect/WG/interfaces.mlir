// What each op says of itself through the interfaces for barrier effects, asynchronous effects and buffer accesses.
// RUN: girih-opt %s --wg-print-effects --verify-diagnostics -o %t

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,16] x 4}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x24xbf16, order = [0, 1], swizzle = 128>
!pending = !wg.pending<tensor<64x24xf32, #acc>>
!ring = !wg.ring<[!a]>
!out = !wg.store_ring<!a>
!view = !wg.view<bf16, box = [64, 64], swizzle = 128>

func.func @ring(%arg0: !ring, %arg1: !wg.cursor, %arg2: !wg.cursor, %arg3: i32) {
  // expected-remark @+2 {{waits for the empty barrier of %arg0[%arg1]}}
  // expected-remark @+1 {{expects bytes at the full barrier of %arg0[%arg1]}}
  %s = wg.acquire %arg0[%arg1] : !ring
  // expected-remark @+1 {{arrives at the full barrier of %arg0[%arg1]}}
  wg.publish %arg0[%arg1] : !ring
  // expected-remark @+1 {{waits for the full barrier of %arg0[%arg2]}}
  %g = wg.get %arg0[%arg2] : !ring
  // expected-remark @+1 {{arrives at the empty barrier of %arg0[%arg2]}}
  wg.free %arg0[%arg2] : !ring
  // expected-remark @+3 {{waits for the empty barrier of %arg0[%arg1]}}
  // expected-remark @+2 {{expects bytes at the full barrier of %arg0[%arg1]}}
  // expected-remark @+1 {{arrives at the full barrier of %arg0[%arg1]}}
  %p = wg.fill %arg0[%arg1] count(%arg3) as (%k, %sa) : !ring {
  }
  // expected-remark @+3 {{waits for the full barrier of %arg0[%arg2]}}
  // expected-remark @+2 {{arrives at the empty barrier of %arg0[%arg2]}}
  // expected-remark @+1 {{retires wgmma but for 0 groups}}
  %q = wg.drain %arg0[%arg2] count(%arg3) lag(1) as (%k, %sa) : !ring {
  }
  return
}

func.func @copies(%arg0: !view, %arg1: !a, %arg2: i32, %arg3: !wg.barrier<1>, %arg4: tensor<64x64xbf16, #a>, %arg5: !wg.cursor) {
  // expected-remark @+3 {{completes bytes at the barrier %arg3[%arg2], 8192 of them}}
  // expected-remark @+2 {{starts TMA load of %arg1}}
  // expected-remark @+1 {{writes %arg1 through the asynchronous proxy, until it is retired}}
  wg.tma_load %arg0[%arg2, %arg2] to %arg1 barrier(%arg3[%arg2] : !wg.barrier<1>) : !view, !a
  // expected-remark @+1 {{writes %arg1 through the generic proxy}}
  wg.local_store %arg4 to %arg1 : tensor<64x64xbf16, #a>, !a
  // expected-remark @+1 {{reads %arg1 through the generic proxy}}
  %t = wg.local_load %arg1 : !a -> tensor<64x64xbf16, #a>
  // expected-remark @+2 {{starts TMA store of %arg1}}
  // expected-remark @+1 {{reads %arg1 through the asynchronous proxy, until it is retired}}
  wg.tma_store %arg1 to %arg0[%arg2, %arg2] : !a, !view
  // expected-remark @+1 {{closes a group of TMA store}}
  wg.bulk_commit
  // expected-remark @+1 {{retires TMA store but for 1 groups, as far as reading goes}}
  wg.bulk_wait read 1
  // expected-remark @+1 {{retires TMA store but for 0 groups}}
  wg.bulk_wait 0
  %o = wg.store_ring {stages = 3 : i32} : !out
  // expected-remark @+1 {{retires TMA store but for 2 groups, as far as reading goes}}
  %s = wg.store_acquire %o[%arg5] : !out
  // expected-remark @+1 {{closes a group of TMA store}}
  wg.store_commit %o[%arg5] : !out
  return
}

func.func @products(%arg0: !a, %arg1: !b, %arg2: !pending, %arg3: tensor<64x64xbf16, #a>) {
  // expected-remark @+4 {{starts wgmma of %0}}
  // expected-remark @+3 {{closes a group of wgmma of %0}}
  // expected-remark @+2 {{reads %arg0 through the asynchronous proxy, until it is retired}}
  // expected-remark @+1 {{reads %arg1 through the asynchronous proxy, until it is retired}}
  %d = wg.mma %arg0, %arg1, %arg2 : !a, !b, !pending
  // expected-remark @+3 {{starts wgmma of %1}}
  // expected-remark @+2 {{closes a group of wgmma of %1}}
  // expected-remark @+1 {{reads %arg1 through the asynchronous proxy, until it is retired}}
  %e = wg.mma %arg3, %arg1, %d : tensor<64x64xbf16, #a>, !b, !pending
  // expected-remark @+1 {{retires wgmma of %1 but for 1 groups}}
  %t = wg.wait %e in_flight(1) : !pending -> tensor<64x24xf32, #acc>
  return
}

func.func @barriers(%arg0: !wg.barrier<4>, %arg1: i32, %arg2: i32) {
  // expected-remark @+1 {{initialises the barrier %arg0}}
  wg.barrier_init %arg0 count(2) : !wg.barrier<4>
  // expected-remark @+1 {{waits for the barrier %arg0[%arg1] with parity %arg2}}
  wg.barrier_wait %arg0[%arg1] parity(%arg2) : !wg.barrier<4>
  // expected-remark @+1 {{arrives at the barrier %arg0[%arg1]}}
  wg.barrier_arrive %arg0[%arg1] : !wg.barrier<4>
  // expected-remark @+2 {{expects bytes at the barrier %arg0[%arg1], 1024 of them}}
  // expected-remark @+1 {{arrives at the barrier %arg0[%arg1]}}
  wg.barrier_expect %arg0[%arg1] bytes(1024) : !wg.barrier<4>
  // expected-remark @+1 {{expects bytes at the barrier %arg0[%arg1], 1024 of them}}
  wg.barrier_expect_only %arg0[%arg1] bytes(1024) : !wg.barrier<4>
  // expected-remark @+1 {{arrives at and waits for the named barrier %arg1}}
  wg.named_barrier_sync %arg1 threads(128)
  // expected-remark @+1 {{arrives at the named barrier %arg1}}
  wg.named_barrier_arrive %arg1 threads(128)
  // expected-remark @+1 {{fences the generic proxy off from the asynchronous one}}
  wg.fence_proxy_async
  return
}
