// What is optional in wg-assign-layouts, switched off: layouts are as good as they come, and every tile has one.
// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-assign-layouts=convert-accesses=false --verify-wg-phase --split-input-file | FileCheck %s --check-prefix=ACCESSES
// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-assign-layouts=compute-anew=false --verify-wg-phase --split-input-file | FileCheck %s --check-prefix=ANEW
// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-assign-layouts=alternatives=1 --verify-wg-phase --split-input-file | FileCheck %s --check-prefix=FIRST

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// The store of the transposed tile takes it as it comes.
// ACCESSES-LABEL: gpu.func @transposed
// ACCESSES-NOT: wg.convert_layout
// ACCESSES-LABEL: gpu.func
gpu.module @device {
  gpu.func @transposed(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %u = tile.transpose %t [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    tile.store %u, %y[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!y = !tile.view<f32, rank = 2, contiguous = 0, align = 16>

// The mask goes from one layout to the other through shared memory.
// ANEW-LABEL: gpu.func @mask
// ANEW-COUNT-1: arith.cmpi slt
// ANEW: wg.convert_layout %{{.*}} : tensor<64x64xi1
// ANEW-LABEL: gpu.func
gpu.module @device {
  gpu.func @mask(%x: !x, %y: !y, %i: i32, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %j = tile.iota dim(1) : tensor<64x64xi32>
    %s = tensor.splat %n : tensor<64x64xi32>
    %m = arith.cmpi slt, %j, %s : tensor<64x64xi32>
    %a = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %b = tile.load %y[%i, %i] : !y -> tensor<64x64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %c = arith.select %m, %a, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    %d = arith.select %m, %b, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    tile.store %c, %x[%i, %i] : tensor<64x64xf32>, !x
    tile.store %d, %y[%i, %i] : tensor<64x64xf32>, !y
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>
!y = !tile.view<f32, rank = 2, contiguous = 0, align = 16>

// The first load has its way, and the other loads and the store are converted.
// FIRST-LABEL: gpu.func @majority
// FIRST-COUNT-3: wg.convert_layout
gpu.module @device {
  gpu.func @majority(%x: !x, %y: !y, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tile.load %y[%i, %i] : !y -> tensor<64x64xf32>
    %b = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %c = tile.load %x[%i, %i] : !x -> tensor<64x64xf32>
    %d = arith.addf %a, %b : tensor<64x64xf32>
    %e = arith.mulf %d, %c : tensor<64x64xf32>
    tile.store %e, %x[%i, %i] : tensor<64x64xf32>, !x
    gpu.return
  }
}
