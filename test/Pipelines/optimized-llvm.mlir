// RUN: girih-compile --emit llvm %s | FileCheck %s
// RUN: girih-compile --emit llvm %s | FileCheck %s -check-prefix=CONVERGENT

// After LLVM's passes: the multiplication of the accumulator stays below the wait, which takes and returns it; the other
// product stays in flight. Every asm call is convergent, so that none is duplicated into the arms of a branch.

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!a = !wg.buffer<64x64xbf16, swizzle = 128>
!b = !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>
!pending = !wg.pending<tensor<64x8xf32, #acc>>
!out = !wg.buffer<64x8xf32>

// CHECK-LABEL: define ptx_kernel void @scale
// CHECK: %[[FIRST:.*]] = {{.*}}asm sideeffect "{{.*}}wgmma.mma_async
// CHECK: %[[SECOND:.*]] = {{.*}}asm sideeffect "{{.*}}wgmma.mma_async
// CHECK-NOT: fmul
// CHECK: %[[X0:.*]] = extractvalue { float, float, float, float } %[[FIRST]], 0
// CHECK-NOT: fmul
// CHECK: %[[WAIT:.*]] = {{.*}}asm sideeffect "wgmma.wait_group.sync.aligned 1;"{{.*}}float %[[X0]],
// CHECK: %[[Y0:.*]] = extractvalue { float, float, float, float } %[[WAIT]], 0
// CHECK: fmul float %[[Y0]], 2.0{{.*}}
// CHECK: wgmma.wait_group.sync.aligned 0;

// CONVERGENT: asm sideeffect
// CONVERGENT-NOT: asm sideeffect {{.*}}){{(, !dbg ![0-9]+)?$}}
// CONVERGENT: attributes #[[LAST:[0-9]+]] = { convergent nounwind }
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @scale(%w: i1, %v: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !a
    %b = wg.alloc_buffer {offset = 8192 : i32} : !b
    %out = wg.alloc_buffer {offset = 16384 : i32} : !out
    %two = arith.constant dense<2.0> : tensor<64x8xf32, #acc>
    %c = wg.acc : !pending
    %e = wg.acc : !pending
    %x = wg.mma %a, %b, %c accumulate(%w) : !a, !b, !pending
    %y = wg.mma %a, %b, %e accumulate(%v) : !a, !b, !pending
    %t = wg.wait %x in_flight(1) : !pending -> tensor<64x8xf32, #acc>
    %s = arith.mulf %t, %two : tensor<64x8xf32, #acc>
    wg.local_store %s to %out : tensor<64x8xf32, #acc>, !out
    %u = wg.wait %y in_flight(0) : !pending -> tensor<64x8xf32, #acc>
    wg.local_store %u to %out : tensor<64x8xf32, #acc>, !out
    gpu.return
  }
}
