// Where an op has no form for larger tiles, none grows, and a remark says which one.
// RUN: girih-opt %s --wg-pad-tiles --split-input-file --verify-diagnostics | FileCheck %s

!x = !tile.view<i32, rank = 1, contiguous = 0, align = 16>

// CHECK-LABEL: gpu.func @reshape
// CHECK: tensor<1000xi32>
gpu.module @device {
  gpu.func @reshape(%x: !x, %y: !tile.view<i32, rank = 2, contiguous = 1, align = 16>, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i] : !x -> tensor<1000xi32>
    // expected-remark @+1 {{'tile.reshape' keeps tiles with an extent of 1000 in few threads: it has no form for one of 1024}}
    %u = tile.reshape %t : tensor<1000xi32> -> tensor<25x40xi32>
    tile.store %u, %y[%i, %i] : tensor<25x40xi32>, !tile.view<i32, rank = 2, contiguous = 1, align = 16>
    gpu.return
  }
}

// -----

!x = !tile.view<i32, rank = 1, contiguous = 0, align = 16>

// What stands behind the true extent may be zero.
gpu.module @device {
  gpu.func @quotient(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i] : !x -> tensor<1000xi32>
    // expected-remark @+1 {{'arith.divsi' keeps tiles with an extent of 1000 in few threads}}
    %u = arith.divsi %t, %t : tensor<1000xi32>
    tile.store %u, %y[%i] : tensor<1000xi32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 1, contiguous = 0, align = 16>

// A function of the user's has no neutral element that is known.
gpu.module @device {
  gpu.func @last(%x: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i] : !x -> tensor<1000xf32>
    // expected-remark @+1 {{'tile.reduce' keeps tiles with an extent of 1000 in few threads}}
    %s = tile.reduce %t dim(0) : tensor<1000xf32> -> f32 {
    ^bb0(%a: f32, %b: f32):
      tile.yield %b : f32
    }
    tile.write %s, %x[%i] : f32, !x
    gpu.return
  }
}
