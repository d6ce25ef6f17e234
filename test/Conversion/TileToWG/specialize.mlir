// RUN: girih-opt %s --mlir-print-debuginfo=false --tile-specialize --split-input-file | FileCheck %s

// A small tile: one warpgroup. The body moves into the role, constants and all.
gpu.module @device {
  // CHECK-LABEL: gpu.func @small
  gpu.func @small(%p: !llvm.ptr<1>, %n: i32) kernel {
    // CHECK-NEXT: wg.specialize {
    // CHECK-NEXT: wg.role @main warpgroups(1) {
    // CHECK-NEXT: arith.constant 0 : i32
    // CHECK: tile.store
    // CHECK: gpu.return
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %x = tile.view %p[%n] strides(%one) : !tile.view<f32, rank = 1, contiguous = 0>
    %t = tile.load %x[%zero] : !tile.view<f32, rank = 1, contiguous = 0> -> tensor<4096xf32>
    tile.store %t, %x[%zero] : tensor<4096xf32>, !tile.view<f32, rank = 1, contiguous = 0>
    gpu.return
  }
}

// -----

// More than 32 elements for each of 128 threads: two warpgroups.
gpu.module @device {
  gpu.func @larger() kernel {
    // CHECK: wg.role @main warpgroups(2)
    %t = tile.iota dim(0) : tensor<4097xi32>
    gpu.return
  }
}

// -----

// Never more than four.
gpu.module @device {
  gpu.func @huge() kernel {
    // CHECK: wg.role @main warpgroups(4)
    %t = tile.iota dim(0) : tensor<256x256xi32>
    gpu.return
  }
}

// -----

// The author's word counts more.
gpu.module @device {
  gpu.func @hinted() kernel attributes {girih.hints = {warps = 2 : i32}} {
    // CHECK: wg.role @main warps(2)
    %t = tile.iota dim(0) : tensor<256x256xi32>
    gpu.return
  }
}

// -----

// Roles, or a number of threads, say that a kernel is in the wg phase.
gpu.module @device {
  // CHECK-LABEL: gpu.func @roles
  gpu.func @roles() kernel {
    // CHECK-COUNT-1: wg.specialize
    // CHECK-NOT: wg.specialize
    wg.specialize {
      wg.role @mine warps(1) {
      }
    }
    gpu.return
  }
  // CHECK-LABEL: gpu.func @raw
  // CHECK-NOT: wg.specialize
  gpu.func @raw() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
