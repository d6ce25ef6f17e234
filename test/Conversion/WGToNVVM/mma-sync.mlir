// wg.mma_sync: one block of instructions in ascending K for each 16x8 elements; operands from swizzled buffers by ldmatrix.
// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false --split-input-file | FileCheck %s

#a = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[0,0],[0,0]]} repeat {register: [0,16] x 2}>
#b = #wg.layout<{register: [[1,0],[8,0]], lane: [[2,0],[4,0],[0,1],[0,2],[0,4]], warp: [[0,8],[0,16]]} repeat {register: [16,0] x 2, register: [0,32] x 2}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[0,8],[0,16]]} repeat {register: [0,32] x 2}>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Four warps share the 64 columns: two blocks of 8 each, two steps of K.
  // CHECK-LABEL: llvm.func @bf16
  gpu.func @bf16(%c: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %sa = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<16x32xbf16, swizzle = 64>
    %kn = wg.alloc_buffer {offset = 2048 : i32} : !wg.buffer<32x64xbf16, swizzle = 128>
    %nk = wg.alloc_buffer {offset = 8192 : i32} : !wg.buffer<32x64xbf16, order = [0, 1], swizzle = 64>
    // CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}
    %a = wg.local_load %sa : !wg.buffer<16x32xbf16, swizzle = 64> -> tensor<16x32xbf16, #a>
    // Lines along N: transposed on the way. Lines along K: as they are.
    // CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
    %b1 = wg.local_load %kn : !wg.buffer<32x64xbf16, swizzle = 128> -> tensor<32x64xbf16, #b>
    // CHECK-COUNT-2: ldmatrix.sync.aligned.m8n8.x4.shared.b16
    %b2 = wg.local_load %nk : !wg.buffer<32x64xbf16, order = [0, 1], swizzle = 64> -> tensor<32x64xbf16, #b>
    %zero = arith.constant dense<0.0> : tensor<16x64xf32, #c>
    // CHECK: llvm.inline_asm has_side_effects
    // CHECK-SAME: "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$8, $9, $10, $11}, {$12, $13}, {$0, $1, $2, $3};
    // CHECK-SAME: \0Amma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$14, $15, $16, $17}, {$18, $19}, {$0, $1, $2, $3};"
    // CHECK-SAME: "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,r,r,r,r,r,r,~{memory}"
    // CHECK: llvm.inline_asm {{.*}}mma.sync.aligned.m16n8k16
    // CHECK-NOT: inline_asm
    // CHECK: llvm.return
    %d = wg.mma_sync %a, %b1, %zero : tensor<16x32xbf16, #a>, tensor<32x64xbf16, #b>, tensor<16x64xf32, #c>
    gpu.return
  }
}

// -----

#a8 = #wg.layout<{register: [[0,1],[0,2],[8,0],[0,16]], lane: [[0,4],[0,8],[1,0],[2,0],[4,0]]}>
#b8 = #wg.layout<{register: [[1,0],[2,0],[16,0]], lane: [[4,0],[8,0],[0,1],[0,2],[0,4]]}>
#a32 = #wg.layout<{register: [[8,0],[0,4]], lane: [[0,1],[0,2],[1,0],[2,0],[4,0]]}>
#b32 = #wg.layout<{register: [[4,0]], lane: [[1,0],[2,0],[0,1],[0,2],[0,4]]}>
#c = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]]}>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @types
  gpu.func @types() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant dense<0.0> : tensor<16x8xf32, #c>
    %izero = arith.constant dense<0> : tensor<16x8xi32, #c>
    %dzero = arith.constant dense<0.0> : tensor<16x8xf64, #c>
    %s8a = arith.constant dense<1> : tensor<16x32xi8, #a8>
    %s8b = arith.constant dense<1> : tensor<32x8xi8, #b8>
    // CHECK: mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {{.*}} "=r,=r,=r,=r,0,1,2,3,r,r,r,r,r,r,~{memory}"
    %i = wg.mma_sync %s8a, %s8b, %izero {unsigned_a} : tensor<16x32xi8, #a8>, tensor<32x8xi8, #b8>, tensor<16x8xi32, #c>
    %f32a = arith.constant dense<1.0> : tensor<16x8xf32, #a32>
    %f32b = arith.constant dense<1.0> : tensor<8x8xf32, #b32>
    // CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{.*}} "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,~{memory}"
    %t = wg.mma_sync %f32a, %f32b, %zero : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32>, tensor<16x8xf32, #c>
    %f64a = arith.constant dense<1.0> : tensor<16x8xf64, #a32>
    %f64b = arith.constant dense<1.0> : tensor<8x8xf64, #b32>
    // CHECK: mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{.*}} "=d,=d,=d,=d,0,1,2,3,d,d,d,d,d,d,~{memory}"
    %d = wg.mma_sync %f64a, %f64b, %dzero : tensor<16x8xf64, #a32>, tensor<8x8xf64, #b32>, tensor<16x8xf64, #c>
    // An f64 tile is read in words of 64 bits.
    %buf = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<16x8xf64, swizzle = 64>
    // CHECK: ld.shared.b64 $0, [$1]{{.*}}"=l,r,~{memory}"
    %l = wg.local_load %buf : !wg.buffer<16x8xf64, swizzle = 64> -> tensor<16x8xf64, #a32>
    gpu.return
  }
}
