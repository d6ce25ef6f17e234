// Forms that the examples of the ODS descriptions (../ods-examples.test) leave out.
// RUN: girih-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --mlir-print-op-generic | girih-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --canonicalize --cse | FileCheck %s --check-prefix=PASSES

// The alignment of one element is not written.
// CHECK-LABEL: func.func @views(%arg0: !tile.view<i8, rank = 0>, %arg1: !tile.view<f64, rank = 5, contiguous = 4, align = 16>)
func.func @views(%s: !tile.view<i8, rank = 0, align = 1>, %x: !tile.view<f64, rank = 5, align = 16, contiguous = 4>) {
  return
}

// CHECK-LABEL: func.func @argmax
func.func @argmax(%t: tensor<4x8xf32>, %i: tensor<4x8xi32>) -> tensor<4xi32> {
  // CHECK: %[[R:.*]]:2 = tile.reduce %{{.*}}, %{{.*}} dim(1) : tensor<4x8xf32>, tensor<4x8xi32> -> (tensor<4xf32>, tensor<4xi32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: i32):
  %r:2 = tile.reduce %t, %i dim(1) : tensor<4x8xf32>, tensor<4x8xi32> -> (tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%x: f32, %xi: i32, %y: f32, %yi: i32):
    %more = arith.cmpf ogt, %y, %x : f32
    %value = arith.select %more, %y, %x : f32
    %index = arith.select %more, %yi, %xi : i32
    // CHECK: tile.yield %{{.*}}, %{{.*}} : f32, i32
    tile.yield %value, %index : f32, i32
  }
  return %r#1 : tensor<4xi32>
}

// CHECK-LABEL: func.func @suffixes
func.func @suffixes(%t: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: tile.scan %{{.*}} dim(0) reverse : tensor<8xf32> -> tensor<8xf32> {
  %s = tile.scan %t dim(0) reverse : tensor<8xf32> -> tensor<8xf32> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    tile.yield %z : f32
  }
  return %s : tensor<8xf32>
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %i: tensor<16x32xi8>, %j: tensor<32x16xi8>) -> (tensor<16x16xf32>, tensor<16x16xi32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}} precision tf32 : tensor<16x8xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
  %d = tile.dot %a, %b precision tf32 : tensor<16x8xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}} {unsigned_a} : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  %e = tile.dot %i, %j {unsigned_a} : tensor<16x32xi8>, tensor<32x16xi8> -> tensor<16x16xi32>
  return %d, %e : tensor<16x16xf32>, tensor<16x16xi32>
}

// CHECK-LABEL: func.func @casts
func.func @casts(%t: tensor<8xf32>, %n: i8) -> (tensor<8xi8>, f32) {
  // CHECK: tile.cast %{{.*}} rounding rm saturate {unsigned_result} : tensor<8xf32> to tensor<8xi8>
  %u = tile.cast %t rounding rm saturate {unsigned_result} : tensor<8xf32> to tensor<8xi8>
  // CHECK: tile.cast %{{.*}} {unsigned_source} : i8 to f32
  %f = tile.cast %n {unsigned_source} : i8 to f32
  return %u, %f : tensor<8xi8>, f32
}

// An extent is found through whatever made the view; one that a slice makes is not folded.
// PASSES-LABEL: func.func @extents(%arg0: !llvm.ptr<1>, %arg1: i32, %arg2: i32, %arg3: i32
func.func @extents(%p: !llvm.ptr<1>, %b: i32, %m: i32, %n: i32, %sb: i64, %sm: i64, %i: i32) -> (i32, i32, i32) {
  %one = arith.constant 1 : i64
  %x = tile.view %p[%b, %m, %n] strides(%sb, %sm, %one) : !tile.view<f16, rank = 3, contiguous = 2>
  %y = tile.select %x[%i] dim(0) : !tile.view<f16, rank = 3, contiguous = 2> -> !tile.view<f16, rank = 2, contiguous = 1>
  %z = tile.slice %y[%i to %m] dim(0) : !tile.view<f16, rank = 2, contiguous = 1> -> !tile.view<f16, rank = 2, contiguous = 1>
  %t = tile.permute %z [1, 0] : !tile.view<f16, rank = 2, contiguous = 1> -> !tile.view<f16, rank = 2, contiguous = 0>
  %d0 = tile.extent %y dim(0) : !tile.view<f16, rank = 2, contiguous = 1>
  %d1 = tile.extent %t dim(0) : !tile.view<f16, rank = 2, contiguous = 0>
  %d2 = tile.extent %t dim(1) : !tile.view<f16, rank = 2, contiguous = 0>
  // PASSES: %[[E:.*]] = tile.extent
  // PASSES: return %arg2, %arg3, %[[E]]
  return %d0, %d1, %d2 : i32, i32, i32
}

// CHECK-LABEL: func.func @parts
func.func @parts(%x: !tile.view<f32, rank = 2>, %i: i32) {
  %f = arith.constant 1.0 : f32
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] fill(%{{.*}}) part [3, 4] : !tile.view<f32, rank = 2>, f32 -> tensor<4x4xf32>
  %t = tile.load %x[%i, %i] fill(%f) part [3, 4] : !tile.view<f32, rank = 2>, f32 -> tensor<4x4xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] part [3, 4] : tensor<4x4xf32>, !tile.view<f32, rank = 2>
  tile.store %t, %x[%i, %i] part [3, 4] : tensor<4x4xf32>, !tile.view<f32, rank = 2>
  return
}
