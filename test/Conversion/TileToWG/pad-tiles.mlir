// Extents that have too few factors of two become larger; loads and stores keep the true ones as their part.
// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-pad-tiles --split-input-file | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --wg-pad-tiles --wg-assign-layouts --verify-wg-phase --split-input-file | FileCheck %s --check-prefix=LAYOUT

!x = !tile.view<f32, rank = 1, contiguous = 0, align = 16>

// A sum gets -0 behind the true extent, and the result of a reduction along it needs nothing.
// CHECK-LABEL: gpu.func @row
// CHECK: %[[T:.*]] = tile.load %{{.*}}[%{{.*}}] part [1000] : {{.*}} -> tensor<1024xf32>
// CHECK: %[[J:.*]] = tile.iota dim(0) : tensor<1024xi32>
// CHECK: %[[N:.*]] = arith.constant dense<1000> : tensor<1024xi32>
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[J]], %[[N]] : tensor<1024xi32>
// CHECK: %[[ZERO:.*]] = arith.constant dense<-0.000000e+00> : tensor<1024xf32>
// CHECK: %[[U:.*]] = arith.select %[[IN]], %[[T]], %[[ZERO]]
// CHECK: tile.reduce %[[U]] dim(0) : tensor<1024xf32> -> f32
// CHECK: arith.subf %[[T]], %{{.*}} : tensor<1024xf32>
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] part [1000] : tensor<1024xf32>
// LAYOUT-LABEL: gpu.func @row
// LAYOUT: tile.load {{.*}} part [1000]
gpu.module @device {
  gpu.func @row(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i] : !x -> tensor<1000xf32>
    %s = tile.reduce %t dim(0) : tensor<1000xf32> -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tile.yield %c : f32
    }
    %m = tensor.splat %s : tensor<1000xf32>
    %d = arith.subf %t, %m : tensor<1000xf32>
    tile.store %d, %y[%i] : tensor<1000xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// An extent of 3 becomes one of 4 beside it, one of 1 stays; what loops carry grows as well.
// CHECK-LABEL: gpu.func @both
// CHECK: tile.load %{{.*}} part [3, 100] : {{.*}} -> tensor<4x128xf32>
// CHECK: tile.load %{{.*}} part [1, 100] : {{.*}} -> tensor<1x128xf32>
// CHECK: scf.for {{.*}} -> (tensor<4x128xf32>)
// CHECK: tile.broadcast %{{.*}} : tensor<1x128xf32> -> tensor<4x128xf32>
// CHECK: tile.store %{{.*}} part [3, 100] : tensor<4x128xf32>
gpu.module @device {
  gpu.func @both(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %t = tile.load %x[%i, %i] : !x -> tensor<3x100xf32>
    %w = tile.load %x[%c0, %i] : !x -> tensor<1x100xf32>
    %r = scf.for %k = %c0 to %i step %c1 iter_args(%a = %t) -> tensor<3x100xf32> : i32 {
      %b = tile.broadcast %w : tensor<1x100xf32> -> tensor<3x100xf32>
      %n = arith.mulf %a, %b : tensor<3x100xf32>
      scf.yield %n : tensor<3x100xf32>
    }
    tile.store %r, %y[%i, %i] : tensor<3x100xf32>, !x
    gpu.return
  }
}

// -----

!x = !tile.view<f32, rank = 2, contiguous = 1, align = 16>

// 96 columns are 3 times 32: with 64 rows all threads have elements, and nothing changes.
// CHECK-LABEL: gpu.func @enough
// CHECK-NOT: part
// CHECK: gpu.return
gpu.module @device {
  gpu.func @enough(%x: !x, %y: !x, %i: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = tile.load %x[%i, %i] : !x -> tensor<64x96xf32>
    tile.store %t, %y[%i, %i] : tensor<64x96xf32>, !x
    gpu.return
  }
}
