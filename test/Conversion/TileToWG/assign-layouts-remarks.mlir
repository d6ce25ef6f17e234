// RUN: girih-opt %s --wg-assign-layouts --verify-diagnostics --split-input-file

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

gpu.module @device {
  gpu.func @transposed(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-remark @+1 {{'tile.load' moves 'tensor<64x64xf32>' in vectors of at most 4 elements (16 bytes), 512 sectors of 32 bytes where 512 hold it}}
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    // expected-note @+1 {{'tile.transpose' has it in #wg.layout<{register: [[1,0],[2,0],[0,8],[0,16],[0,32]], lane: [[4,0],[8,0],[16,0],[32,0],[0,1]], warp: [[0,2],[0,4]]}>}}
    %u = tile.transpose %t [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    // expected-remark @+2 {{'tile.store' moves 'tensor<64x64xf32>' in vectors of at most 4 elements (16 bytes), 512 sectors of 32 bytes where 512 hold it}}
    // expected-remark @+1 {{'tile.store' gets its tile of 'tensor<64x64xf32>' converted through shared memory, 288 transactions: element (0, 2) moves from warp 1 lane 0 register 0 to warp 0 lane 0 register 2}}
    tile.store %u, %y[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!v = !tile.view<f32, rank = 1, contiguous = 0>

// Alignment of one element: nothing wider than that.
gpu.module @device {
  gpu.func @unaligned(%x: !v, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-remark @+1 {{'tile.load' moves 'tensor<512xf32>' in vectors of at most 1 element (4 bytes), 64 sectors of 32 bytes where 64 hold it}}
    %t = tile.load %x[%i] : !v -> tensor<512xf32>
    // expected-remark @+1 {{'tile.store' moves 'tensor<512xf32>' in vectors of at most 1 element (4 bytes), 64 sectors}}
    tile.store %t, %x[%i] : tensor<512xf32>, !v
    gpu.return
  }
}
