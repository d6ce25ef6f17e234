// RUN: not girih-opt %s --tile-specialize --split-input-file -o /dev/null 2>&1 | FileCheck %s

// Hints that cannot be followed, and clusters that have nothing to share.

// CHECK: error: the hint roles is "both"; expected "cooperative" or "pingpong"
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @form(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {roles = "both"}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: the hint colour is 1 : i32; expected only warps, stages and roles
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @unknown(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {colour = 1 : i32}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: the hint stages is 0 : i32; expected a positive integer
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @slots(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {stages = 0 : i32}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: the hint warps is 6; expected 4, 8 or 12, beside the warps that load
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @parts(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {warps = 6 : i32}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: the hint warps is 8; expected 64 rows of every product, or a multiple, for each warpgroup of four: the products' rows are multiples of 64
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @share(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {warps = 8 : i32}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: elsewhere.py:7:3: error: the hint roles cannot be pingpong: each CTA has one tile; expected gr.tiles(..., ctas=gr.sms()) or the like, with which CTAs stay
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @once(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {at = loc("elsewhere.py":7:3), roles = "pingpong"}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: the hint roles cannot be pingpong: no operand comes by TMA, so there is nobody who loads ahead
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @unfed(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {girih.hints = {roles = "pingpong"}} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %grid = gpu.grid_dim x
    %ctas = arith.index_cast %grid : index to i32
    scf.for %i = %c0 to %n step %ctas : i32 {
      %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
      %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
      %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
      %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
      %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
      tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    }
    gpu.return
  }
}

// -----

// CHECK: error: a cluster of 2 CTAs shares nothing here; expected a load by TMA of the same tile in all of them, found none: leave the cluster out
!b = !tile.view<bf16, rank = 2, contiguous = 1>
gpu.module @device {
  gpu.func @apart(%pa: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %a = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %b = tile.load %va[%c0, %c0] : !b -> tensor<64x64xbf16>
    %y = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %t = tile.cast %y : tensor<64x64xf32> to tensor<64x64xbf16>
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !b
    tile.store %t, %vc[%c0, %c0] : tensor<64x64xbf16>, !b
    gpu.return
  }
}

// -----

// CHECK: error: a cluster of 2 CTAs shares nothing here; expected a kernel with products, whose operands its CTAs have in common: leave the cluster out
gpu.module @device {
  gpu.func @no_products() kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    gpu.return
  }
}
