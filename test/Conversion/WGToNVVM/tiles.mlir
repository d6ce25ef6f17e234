// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,8] x 3}>
#acc8 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
!pending = !wg.pending<tensor<64x24xf32, #acc>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Columns 8 to 15 are registers 4 to 7; two f32 make a register of bf16, the first in the low half. No register moves.
  // CHECK-LABEL: llvm.func @chunk
  // CHECK: %[[T:.*]] = llvm.inline_asm {{.*}} "wgmma.wait_group.sync.aligned 0;"
  // CHECK: %[[R4:.*]] = llvm.extractvalue %[[T]][4]
  // CHECK: %[[R5:.*]] = llvm.extractvalue %[[T]][5]
  // CHECK: %[[R6:.*]] = llvm.extractvalue %[[T]][6]
  // CHECK: %[[R7:.*]] = llvm.extractvalue %[[T]][7]
  // CHECK: %[[LOW:.*]] = llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[R5]], %[[R4]])
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[R7]], %[[R6]])
  // CHECK: llvm.bitcast %[[LOW]] : vector<2xbf16> to i32
  gpu.func @chunk(%buf: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %slot = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x8xbf16>
    %acc = wg.acc : !pending
    %t = wg.wait %acc in_flight(0) : !pending -> tensor<64x24xf32, #acc>
    %c = wg.slice %t[0, 8] : tensor<64x24xf32, #acc> -> tensor<64x8xf32, #acc8>
    %h = arith.truncf %c : tensor<64x8xf32, #acc8> to tensor<64x8xbf16, #acc8>
    wg.local_store %h to %slot : tensor<64x8xbf16, #acc8>, !wg.buffer<64x8xbf16>
    gpu.return
  }

  // Arithmetic is done register by register, and a loop carries one struct.
  // CHECK-LABEL: llvm.func @scale
  // CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}) -> (!llvm.struct<(f32, f32, f32, f32)>)
  // CHECK: %[[X0:.*]] = llvm.extractvalue %[[X]][0]
  // CHECK: arith.mulf %[[X0]], %{{.*}} : f32
  // CHECK-COUNT-3: arith.mulf
  // CHECK-NOT: arith.mulf
  gpu.func @scale(%n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<64x8xf32, #acc8>
    %two = arith.constant dense<2.0> : tensor<64x8xf32, #acc8>
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %one) -> (tensor<64x8xf32, #acc8>) : i32 {
      %y = arith.mulf %x, %two : tensor<64x8xf32, #acc8>
      scf.yield %y : tensor<64x8xf32, #acc8>
    }
    gpu.return
  }

  // 16-bit elements are taken out of their registers and put back; LLVM makes pairs of them again.
  // CHECK-LABEL: llvm.func @packed
  // CHECK: llvm.bitcast %{{.*}} : i32 to vector<2xbf16>
  // CHECK: arith.addf %{{.*}}, %{{.*}} : bf16
  // CHECK: llvm.bitcast %{{.*}} : vector<2xbf16> to i32
  gpu.func @packed() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %slot = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x8xbf16>
    %t = wg.local_load %slot : !wg.buffer<64x8xbf16> -> tensor<64x8xbf16, #acc8>
    %u = arith.addf %t, %t : tensor<64x8xbf16, #acc8>
    wg.local_store %u to %slot : tensor<64x8xbf16, #acc8>, !wg.buffer<64x8xbf16>
    gpu.return
  }
}
