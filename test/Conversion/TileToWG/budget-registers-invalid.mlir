// RUN: not girih-opt %s --girih-tile-to-wg --split-input-file -o /dev/null 2>&1 | FileCheck %s

// 256 x 256 elements over 256 threads: more than the 255 registers that a thread can have.
// CHECK: budget-registers-invalid.mlir:{{.*}}: error: the product of 256x256 does not fit the registers; expected at most 59136 elements, found 65536: use a smaller tile
// CHECK: %y = tile.dot
// CHECK: note: 255 registers: what each of the 256 threads that share it has
// CHECK: note: 256 registers: the product's elements, one each
// CHECK: note: 24 registers: addresses and cursors, at least
!b = !tile.view<bf16, rank = 2, contiguous = 1>
!f = !tile.view<f32, rank = 2, contiguous = 1>
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @large(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %vb = tile.view %pb[%n, %n] strides(%s, %one) : !b
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !f
    %a = tile.load %va[%c0, %c0] : !b -> tensor<256x16xbf16>
    %b = tile.load %vb[%c0, %c0] : !b -> tensor<16x256xbf16>
    %y = tile.dot %a, %b : tensor<256x16xbf16>, tensor<16x256xbf16> -> tensor<256x256xf32>
    tile.store %y, %vc[%c0, %c0] : tensor<256x256xf32>, !f
    gpu.return
  }
}

// -----

// The product would fit, but not beside a tile that is used after it. Repeated columns cost nothing.
// CHECK: error: the product of 128x256 does not fit the registers; expected at most 26368 elements, found 32768: use a smaller tile
// CHECK: note: 255 registers: what each of the 256 threads that share it has
// CHECK: note: 128 registers: a tile of 128x256 of f32 that lives on meanwhile
// CHECK: %t = tile.load
// CHECK: note: 128 registers: the product's elements, one each
// CHECK-NOT: lives on
// CHECK: note: 24 registers: addresses and cursors, at least
!b = !tile.view<bf16, rank = 2, contiguous = 1>
!f = !tile.view<f32, rank = 2, contiguous = 1>
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @beside(%pa: !llvm.ptr<1>, %pb: !llvm.ptr<1>, %pc: !llvm.ptr<1>, %n: i32, %s: i64, %x: f32) kernel {
    %one = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %va = tile.view %pa[%n, %n] strides(%s, %one) : !b
    %vb = tile.view %pb[%n, %n] strides(%s, %one) : !b
    %vc = tile.view %pc[%n, %n] strides(%s, %one) : !f
    %t = tile.load %vc[%c0, %c0] : !f -> tensor<128x256xf32>
    %splat = tensor.splat %x : tensor<128x256xf32>
    %a = tile.load %va[%c0, %c0] : !b -> tensor<128x16xbf16>
    %b = tile.load %vb[%c0, %c0] : !b -> tensor<16x256xbf16>
    %y = tile.dot %a, %b : tensor<128x16xbf16>, tensor<16x256xbf16> -> tensor<128x256xf32>
    %z = arith.addf %y, %t : tensor<128x256xf32>
    %w = arith.mulf %z, %splat : tensor<128x256xf32>
    tile.store %w, %vc[%c0, %c0] : tensor<128x256xf32>, !f
    gpu.return
  }
}
