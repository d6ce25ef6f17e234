// RUN: girih-opt %s -convert-wg-to-nvvm -split-input-file -verify-diagnostics

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{kernel 'no_size' has neither wg.specialize nor known_block_size; expected one of them}}
  gpu.func @no_size() kernel {
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_offset() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{has no offset in shared memory; run wg-allocate-shared first}}
    %b = wg.alloc_buffer : !wg.buffer<64x64xbf16, swizzle = 128>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90">] {
  gpu.func @no_setmaxnreg() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{needs setmaxnreg, which sm_90 does not have; leave registers out}}
    wg.set_registers increase 232
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
gpu.module @m [#nvvm.target<chip = "sm_100a">] {
  gpu.func @no_wgmma(%w: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %b = wg.alloc_buffer {offset = 8192 : i32} : !wg.buffer<64x8xbf16, swizzle = 128>
    %acc = wg.acc : !wg.pending<tensor<64x8xf32, #acc>>
    // expected-error @below {{needs wgmma, which sm_100a does not have; expected sm_90a}}
    %d = wg.mma %a, %b, %acc accumulate(%w) : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.buffer<64x8xbf16, swizzle = 128>, !wg.pending<tensor<64x8xf32, #acc>>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_barrier(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    // expected-error @below {{has no barrier to complete on; expected a slot of a ring, or barrier(%bar[%i])}}
    wg.tma_load %A[%i, %i] to %b : !wg.view<bf16, box = [64, 64], swizzle = 128>, !wg.buffer<64x64xbf16, swizzle = 128>
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @rows(%A: !wg.view<bf16, box = [128, 64], swizzle = 128>, %i: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<128x64xbf16, swizzle = 128>
    // expected-error @below {{stores 128 rows by 2 warpgroups in boxes of 128 rows; expected rows to be a multiple of 256}}
    wg.tma_store %b to %A[%i, %i] : !wg.buffer<128x64xbf16, swizzle = 128>, !wg.view<bf16, box = [128, 64], swizzle = 128>
    gpu.return
  }
}

// -----

#acc = #wg.layout<{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}>
#row = #wg.layout<{register: [[0,1],[0,2]]}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_splat() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{of a tile has elements that differ; expected a splat}}
    %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32, #row>
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<1x4xf32>
    wg.local_store %c to %b : tensor<1x4xf32, #row>, !wg.buffer<1x4xf32>
    gpu.return
  }

  gpu.func @rounding() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c = arith.constant dense<1.0> : tensor<64x8xf32, #acc>
    // expected-error @below {{rounds to nearest away from zero, for which there is no instruction; expected to_nearest_even, toward_zero, upward or downward}}
    %t = arith.truncf %c to_nearest_away : tensor<64x8xf32, #acc> to tensor<64x8xbf16, #acc>
    gpu.return
  }

  gpu.func @float8_rounding(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{rounds to an 8-bit float other than to nearest even, for which there is no instruction; leave out the rounding}}
    %t = tile.cast %x rounding rz : f32 to f8E5M2
    gpu.return
  }

  gpu.func @odd_type(%x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{converts i7; expected i1, i8 to i64, e4m3, e5m2, f16, bf16, f32 or f64}}
    %t = tile.cast %x : f32 to i7
    gpu.return
  }

  // expected-error @below {{has memory attributions; expected wg.alloc_buffer for shared memory}}
  gpu.func @attribution() workgroup(%x: memref<4xf32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // expected-error @below {{is no kernel; expected device functions to be inlined, since a call between the start of a wgmma and its wait serialises both}}
  gpu.func @helper() {
    gpu.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @no_tma(%A: !wg.view<bf16, box = [64, 64], swizzle = 128>, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    // expected-error @below {{needs the tensor memory accelerator, which sm_80 does not have; expected sm_90 or higher}}
    wg.tma_store %b to %A[%i, %i] : !wg.buffer<64x64xbf16, swizzle = 128>, !wg.view<bf16, box = [64, 64], swizzle = 128>
    gpu.return
  }
}

// -----

// Two lanes' offsets neither add up nor combine by xor: rows 1 and 3 give row 2, at 96 bytes a row.
#twisted = #wg.layout<{register: [[32,0],[0,4]], lane: [[0,1],[1,0],[3,1],[0,2],[4,0]], warp: [[8,0],[16,0]]} repeat {register: [0,8] x 3}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @twisted() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x24xf32>
    %t = arith.constant dense<1.0> : tensor<64x24xf32, #twisted>
    // expected-error @below {{cannot move the tile: the address is not linear in the thread}}
    wg.local_store %t to %b : tensor<64x24xf32, #twisted>, !wg.buffer<64x24xf32>
    gpu.return
  }
}
