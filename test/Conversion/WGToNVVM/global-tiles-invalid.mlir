// RUN: girih-opt %s -convert-wg-to-nvvm -split-input-file -verify-diagnostics

#flat = #wg.layout<{register: [[0,1],[0,2]], lane: [[0,4],[0,8],[0,16],[0,32],[0,64]], warp: [[0,128],[0,256]]}>
!x = !tile.view<f32, rank = 1, contiguous = 0>
gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  gpu.func @f(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %x = tile.view %p[%n] strides(%one) : !x
    // expected-error @+1 {{has a tile over 32 lanes of 4 warps of 1 warpgroups, and stands where 8 warps execute it; expected a layout over all their threads (of warpgroups of 4 warps)}}
    %t = tile.load %x[%c0] : !x -> tensor<512xf32, #flat>
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 1, contiguous = 0>
gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  gpu.func @f(%p: !llvm.ptr<1>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %x = tile.view %p[%n] strides(%one) : !x
    // expected-error @+1 {{has a tile without a layout; run wg-assign-layouts first}}
    %t = tile.load %x[%c0] : !x -> tensor<512xf32>
    gpu.return
  }
}
