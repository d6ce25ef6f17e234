// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#acc2 = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {warpgroup: [64,0] x 2}>
#tall = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [64,0] x 2}>
#frag = #wg.layout<{register: [[0,1],[8,0],[0,8]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]} repeat {register: [0,16] x 2}>
!pending = !wg.pending<tensor<64x8xf32, #acc>>
!b = !wg.buffer<64x8xbf16, order = [0, 1], swizzle = 128>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // Four steps of K in one asm block: the first one has the run-time predicate. Descriptors: A is K-major, 1024 bytes
  // between groups of 8 rows (64 units), 128-byte swizzle: high half 0x40000040; a step of K is 32 bytes, 2 units.
  // CHECK-LABEL: llvm.func @k_major
  gpu.func @k_major(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !b
    %acc = wg.acc : !pending
    // CHECK: %[[ACC:.*]] = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
    // CHECK: %[[D:.*]] = llvm.inline_asm has_side_effects
    // CHECK-SAME: wgmma.fence.sync.aligned;
    // CHECK-SAME: add.s32 low, $9, 0;\0Amov.b64 b, {low, 1073741888};\0Aadd.s32 low, $8, 0;\0Amov.b64 a, {low, 1073741888};
    // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, a, b, $10, 1, 1, 0, 0;
    // CHECK-SAME: add.s32 low, $9, 2;{{.*}}add.s32 low, $8, 2;
    // CHECK-SAME: {$0, $1, $2, $3}, a, b, always, 1, 1, 0, 0;
    // CHECK-SAME: add.s32 low, $8, 4;
    // CHECK-SAME: add.s32 low, $8, 6;
    // CHECK-SAME: wgmma.commit_group.sync.aligned;
    // CHECK-SAME: "=f,=f,=f,=f,0,1,2,3,r,r,b,~{memory}"
    %d = wg.mma %a, %b, %acc accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !b, !pending
    // The wait takes and returns every accumulator.
    // CHECK: llvm.inline_asm has_side_effects {{.*}} "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}"
    // CHECK-SAME: -> !llvm.struct<(f32, f32, f32, f32)>
    %t = wg.wait %d in_flight(0) : !pending -> tensor<64x8xf32, #acc>
    gpu.return
  }

  // An accumulator that starts as a tile is that tile's registers.
  // CHECK-LABEL: llvm.func @from_tile
  // CHECK-NOT: llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>{{$}}
  // CHECK: llvm.inline_asm {{.*}} "{{.*}}wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, a, b, always
  gpu.func @from_tile() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !b
    %t = arith.constant dense<2.0> : tensor<64x8xf32, #acc>
    %acc = wg.acc from(%t) : !pending
    %d = wg.mma %a, %b, %acc : !wg.buffer<64x64xbf16, swizzle = 128>, !b, !pending
    %u = wg.wait %d in_flight(0) : !pending -> tensor<64x8xf32, #acc>
    gpu.return
  }

  // B stored K x N: transposed, 16 lines of 128 bytes a step (128 units), 64 lines from panel to panel (512 units).
  // CHECK-LABEL: llvm.func @n_major
  // CHECK: llvm.mlir.constant(33554432 : i32)
  // CHECK: llvm.inline_asm
  // CHECK-SAME: a, b, $10, 1, 1, 0, 1;
  // CHECK-SAME: add.s32 low, $9, 128;
  // CHECK-SAME: a, b, always, 1, 1, 0, 1;
  // CHECK-SAME: add.s32 low, $9, 384;
  gpu.func @n_major() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !wg.buffer<64x8xbf16, swizzle = 128>
    %acc = wg.acc : !pending
    %true = arith.constant true
    %d = wg.mma %a, %b, %acc accumulate(%true) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x8xbf16, swizzle = 128>, !pending
    gpu.return
  }

  // The 64-byte swizzle: two steps in a panel, the third is in the next one (64 lines of 64 bytes, 256 units).
  // CHECK-LABEL: llvm.func @narrow_swizzle
  // CHECK: llvm.inline_asm
  // CHECK-SAME: add.s32 low, $8, 2;\0Amov.b64 a, {low, 2147483680};
  // CHECK-SAME: add.s32 low, $8, 256;
  // CHECK-SAME: add.s32 low, $8, 258;
  gpu.func @narrow_swizzle(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 64>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !b
    %acc = wg.acc : !pending
    %d = wg.mma %a, %b, %acc accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 64>, !b, !pending
    gpu.return
  }

  // 128 rows of one warpgroup: two blocks of 64, the second 64 lines of 128 bytes down (512 units); both
  // read the same B one after the other.
  // CHECK-LABEL: llvm.func @two_blocks
  // CHECK: llvm.inline_asm
  // CHECK-SAME: {$0, $1, $2, $3}, a, b, $18, 1, 1, 0, 0;\0Aadd.s32 low, $16, 512;\0Amov.b64 a, {low, 1073741888};
  // CHECK-SAME: {$4, $5, $6, $7}, a, b, $18, 1, 1, 0, 0;
  gpu.func @two_blocks(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 16384 : i32} : !b
    %acc = wg.acc : !wg.pending<tensor<128x8xf32, #tall>>
    %d = wg.mma %a, %b, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !b, !wg.pending<tensor<128x8xf32, #tall>>
    gpu.return
  }

  // A in registers: four 32-bit registers a step. The wait holds them too, for the instruction may still read them.
  // CHECK-LABEL: llvm.func @a_in_registers
  // CHECK: llvm.inline_asm
  // CHECK-SAME: {$0, $1, $2, $3}, {$8, $9, $10, $11}, b, $17, 1, 1, 0;
  // CHECK-SAME: {$0, $1, $2, $3}, {$12, $13, $14, $15}, b, always, 1, 1, 0;
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=r,=r,=r,=r,=r,=r,=r,=r,0,1,2,3,4,5,6,7,8,9,10,11,~{memory}"
  gpu.func @a_in_registers(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #frag>
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<32x8xbf16, order = [0, 1], swizzle = 64>
    %acc = wg.acc : !pending
    %d = wg.mma %a, %b, %acc accumulate(%w) : tensor<64x32xbf16, #frag>, !wg.buffer<32x8xbf16, order = [0, 1], swizzle = 64>, !pending
    %t = wg.wait %d in_flight(0) : !pending -> tensor<64x8xf32, #acc>
    gpu.return
  }

  // A second wait for all finds nothing to do. A tile that nothing was written to is zero, by a branch over the moves.
  // CHECK-LABEL: llvm.func @wait_once
  // CHECK: wgmma.wait_group.sync.aligned 0;
  // CHECK-NOT: wgmma.wait_group
  // CHECK: llvm.inline_asm {{.*}} "{\0A@$8 bra keep_${:uid};\0Amov.b32 $0, 0;\0Amov.b32 $1, 0;\0Amov.b32 $2, 0;\0Amov.b32 $3, 0;\0Akeep_${:uid}:\0A}"
  gpu.func @wait_once(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %acc = wg.acc : !pending
    %p = wg.wait %acc in_flight(0) : !pending -> !pending
    %t = wg.wait %p in_flight(0) written(%w) : !pending -> tensor<64x8xf32, #acc>
    gpu.return
  }

  // Each warpgroup of the role reads its own 64 rows of A: 8192 bytes on, 512 units.
  // CHECK-LABEL: llvm.func @two_warpgroups
  // CHECK: %[[W:.*]] = llvm.sub %{{.*}}, %{{.*}} : i32
  // CHECK: %[[C512:.*]] = llvm.mlir.constant(512 : i32)
  // CHECK: llvm.mul %[[W]], %[[C512]]
  gpu.func @two_warpgroups(%w: i1) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 16384 : i32} : !b
    %acc = wg.acc : !wg.pending<tensor<128x8xf32, #acc2>>
    %d = wg.mma %a, %b, %acc accumulate(%w) : !wg.buffer<128x64xbf16, swizzle = 128>, !b, !wg.pending<tensor<128x8xf32, #acc2>>
    gpu.return
  }

  // The other types: a step of K is 32 bytes whatever the element; only 16-bit operands can be transposed, and integers
  // cannot be negated.
  // CHECK-LABEL: llvm.func @types
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, a, b, $10, 1, 1;
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {{.*}}, $10, 1, 1;
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {{.*}}, $10, 1, 1;
  // CHECK-NOT: wgmma.mma_async
  // CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {$0, $1, $2, $3}, a, b, $10;
  gpu.func @types(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a0 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x8xtf32, swizzle = 32>
    %b0 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<8x8xtf32, order = [0, 1], swizzle = 32>
    %a1 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x8xf32, swizzle = 32>
    %b1 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<8x8xf32, order = [0, 1], swizzle = 32>
    %a2 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x32xf8E4M3FN, swizzle = 32>
    %b2 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<32x8xf8E5M2, order = [0, 1], swizzle = 32>
    %a3 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x32xi8, swizzle = 32>
    %b3 = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<32x8xi8, order = [0, 1], swizzle = 32>
    %acc = wg.acc : !pending
    %sums = wg.acc : !wg.pending<tensor<64x8xi32, #acc>>
    %d0 = wg.mma %a0, %b0, %acc accumulate(%w) : !wg.buffer<64x8xtf32, swizzle = 32>, !wg.buffer<8x8xtf32, order = [0, 1], swizzle = 32>, !pending
    %d1 = wg.mma %a1, %b1, %acc accumulate(%w) : !wg.buffer<64x8xf32, swizzle = 32>, !wg.buffer<8x8xf32, order = [0, 1], swizzle = 32>, !pending
    %d2 = wg.mma %a2, %b2, %acc accumulate(%w) : !wg.buffer<64x32xf8E4M3FN, swizzle = 32>, !wg.buffer<32x8xf8E5M2, order = [0, 1], swizzle = 32>, !pending
    %d3 = wg.mma %a3, %b3, %sums accumulate(%w) {unsigned_b} : !wg.buffer<64x32xi8, swizzle = 32>, !wg.buffer<32x8xi8, order = [0, 1], swizzle = 32>, !wg.pending<tensor<64x8xi32, #acc>>
    gpu.return
  }

  // A product behind another needs no fence where the loop carries its registers; one whose sum the step computes does.
  // CHECK-LABEL: llvm.func @fences
  // CHECK: setp.eq.u32 always, 0, 0;\0Awgmma.fence.sync.aligned;
  // CHECK: setp.eq.u32 always, 0, 0;\0Aadd.s32 low
  // CHECK: arith.addf
  // CHECK: setp.eq.u32 always, 0, 0;\0Awgmma.fence.sync.aligned;
  gpu.func @fences(%n: i32, %t: tensor<64x8xf32, #acc>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !b
    %acc = wg.acc : !pending
    %r:3 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %acc, %y = %acc, %z = %t) -> (!pending, !pending, tensor<64x8xf32, #acc>) : i32 {
      %d = wg.mma %a, %b, %x : !wg.buffer<64x64xbf16, swizzle = 128>, !b, !pending
      %e = wg.mma %a, %b, %y : !wg.buffer<64x64xbf16, swizzle = 128>, !b, !pending
      %twice = arith.addf %z, %z : tensor<64x8xf32, #acc>
      %from = wg.acc from(%twice) : !pending
      %f = wg.mma %a, %b, %from : !wg.buffer<64x64xbf16, swizzle = 128>, !b, !pending
      %w = wg.wait %f in_flight(0) : !pending -> tensor<64x8xf32, #acc>
      scf.yield %d, %e, %w : !pending, !pending, tensor<64x8xf32, #acc>
    }
    gpu.return
  }
}
