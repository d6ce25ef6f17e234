// RUN: girih-compile --emit llvm %s | FileCheck %s

// After LLVM's passes: the wait takes and returns the registers of A that a wgmma in flight still reads, so that they
// live until then and nothing that is computed from them (the product by two) can take their place.

// CHECK-LABEL: define ptx_kernel void @reuse
// CHECK: %[[MMA:.*]] = call { float, float, float, float } asm sideeffect "{{.*}}wgmma.mma_async{{.*}}i32 %[[A0:[0-9]+]], i32 %[[A1:[0-9]+]], i32 %[[A2:[0-9]+]], i32 %[[A3:[0-9]+]], i32
// CHECK: %[[D0:.*]] = extractvalue {{.*}} %[[MMA]], 0
// CHECK: asm sideeffect "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=r,=r,=r,=r,0,1,2,3,4,5,6,7,~{memory}"(float %[[D0]],
// CHECK-SAME: i32 %[[A0]], i32 %[[A1]], i32 %[[A2]], i32 %[[A3]])

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!a = !wg.buffer<64x16xbf16, swizzle = 32>
!b = !wg.buffer<16x8xbf16, order = [0, 1], swizzle = 32>
!out = !wg.buffer<64x8xf32>
!pending = !wg.pending<tensor<64x8xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @reuse() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %buffer = wg.alloc_buffer {offset = 0 : i32} : !a
    %b = wg.alloc_buffer {offset = 2048 : i32} : !b
    %out = wg.alloc_buffer {offset = 4096 : i32} : !out
    %false = arith.constant false
    %two = arith.constant dense<2.0> : tensor<64x16xbf16, #a>
    %a = wg.local_load %buffer : !a -> tensor<64x16xbf16, #a>
    %c = wg.acc : !pending
    %d = wg.mma %a, %b, %c accumulate(%false) : tensor<64x16xbf16, #a>, !b, !pending
    %t = wg.wait %d in_flight(0) : !pending -> tensor<64x8xf32, #acc>
    %next = arith.mulf %a, %two : tensor<64x16xbf16, #a>
    wg.local_store %next to %buffer : tensor<64x16xbf16, #a>, !a
    wg.local_store %t to %out : tensor<64x8xf32, #acc>, !out
    gpu.return
  }
}
