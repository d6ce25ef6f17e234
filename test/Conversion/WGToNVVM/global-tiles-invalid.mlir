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

// -----

#rows = #wg.layout<{register: [[1,0]], lane: [[0,1],[0,2],[0,4],[0,8],[0,16]]}>
#cols = #wg.layout<{register: [[1,0]], lane: [[2,0],[4,0],[8,0],[16,0],[0,1]]}>
#mixed = #wg.layout<{lane: [[1,1],[1,0],[2,0],[4,0],[8,0]]}>
#left = #wg.layout<{lane: [[0,0],[0,0],[0,0],[0,0],[0,0]]}>
gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  gpu.func @f(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = tensor.splat %x : tensor<2x32xf32, #rows>
    // expected-error @+1 {{would move elements to other threads: element (0, 1) of the source is needed in warp 0 lane 0 register 1, where it is not; expected a wg.convert_layout before, as wg-assign-layouts puts it}}
    %u = tile.transpose %t [1, 0] : tensor<2x32xf32, #rows> -> tensor<32x2xf32, #cols>
    %m = tensor.splat %x : tensor<16x2xf32, #mixed>
    // expected-error @+1 {{cannot combine elements of this layout: every 1 of 'lane' moves along dimension 1 and along another one at once}}
    %r = tile.reduce %m dim(1) : tensor<16x2xf32, #mixed> -> tensor<16xf32, #wg.layout<{lane: [[0,1],[0,0],[0,2],[0,4],[0,8]]}>> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tile.yield %s : f32
    }
    gpu.return
  }
}

// -----

#rows = #wg.layout<{lane: [[0,1],[0,2],[0,4],[0,8],[0,16]], warp: [[1,0]]}>
#halves = #wg.layout<{lane: [[1,0],[0,1],[0,2],[0,4],[0,8]], warp: [[0,16]]}>
gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  gpu.func @f(%x: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = tensor.splat %x : tensor<2x32xf32, #rows>
    // expected-error @+1 {{needs scratch in shared memory; run wg-allocate-shared first}}
    %u = wg.convert_layout %t : tensor<2x32xf32, #rows> -> tensor<2x32xf32, #halves>
    gpu.return
  }
}
