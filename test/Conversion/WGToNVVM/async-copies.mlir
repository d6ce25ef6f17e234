// A tile that is loaded only to be put into a buffer is copied by cp.async, elements outside as zeros by the size of the source.
// RUN: girih-opt %s -convert-wg-to-nvvm -mlir-print-debuginfo=false | FileCheck %s

#lines = #wg.layout<{register: [[0,1],[0,2],[0,4]], lane: [[0,8],[0,16],[0,32],[1,0],[2,0]], warp: [[4,0],[8,0]]} repeat {register: [16,0] x 4}>
#columns = #wg.layout<{register: [[1,0],[2,0],[4,0]], lane: [[8,0],[16,0],[32,0],[0,1],[0,2]], warp: [[0,4],[0,8]]} repeat {register: [0,16] x 4}>
#places = #wg.layout<{lane: [[0,0],[0,0],[0,0],[0,1],[0,2]], warp: [[0,4],[0,8]]} repeat {register: [0,16] x 4}>
!x = !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
!y = !tile.view<bf16, rank = 2, contiguous = 1, align = 4>
!buffer = !wg.buffer<64x64xbf16, swizzle = 128>

gpu.module @m [#nvvm.target<chip = "sm_90a", O = 3>] {
  // CHECK-LABEL: llvm.func @whole
  // CHECK: scf.if
  // CHECK-COUNT-4: "cp.async.cg.shared.global [$0{{.*}}], [$1], 16;"
  // CHECK: } else {
  // CHECK-COUNT-4: "cp.async.cg.shared.global [$0{{.*}}], [$1], 16, $2;"
  // CHECK-NOT: st.shared
  // CHECK: "cp.async.wait_all;"
  // CHECK-NOT: st.shared
  gpu.func @whole(%p: !llvm.ptr<1>, %m: i32, %n: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %buffer = wg.alloc_buffer {offset = 0 : i32} : !buffer
    %x = tile.view %p[%m, %n] strides(%s, %one) : !x
    %t = tile.load %x[%c0, %c0] : !x -> tensor<64x64xbf16, #lines>
    wg.local_store %t to %buffer : tensor<64x64xbf16, #lines>, !buffer
    gpu.return
  }

  // 4 bytes at a time where the pitch is a multiple of no more.
  // CHECK-LABEL: llvm.func @narrow
  // CHECK-COUNT-16: "cp.async.ca.shared.global [$0{{.*}}], [$1{{.*}}], 4;"
  gpu.func @narrow(%p: !llvm.ptr<1>, %m: i32, %n: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %buffer = wg.alloc_buffer {offset = 0 : i32} : !buffer
    %y = tile.view %p[%m, %n] strides(%s, %one) : !y
    %t = tile.load %y[%c0, %c0] : !y -> tensor<64x64xbf16, #lines>
    wg.local_store %t to %buffer : tensor<64x64xbf16, #lines>, !buffer
    gpu.return
  }

  // Rows that are listed, into the buffer of the transpose.
  // CHECK-LABEL: llvm.func @listed
  // CHECK-COUNT-4: "cp.async.cg.shared.global [$0{{.*}}], [$1], 16, $2;"
  // CHECK: "cp.async.wait_all;"
  // CHECK-NOT: {{[^c]}}.shared.b32
  gpu.func @listed(%p: !llvm.ptr<1>, %m: i32, %n: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %buffer = wg.alloc_buffer {offset = 0 : i32} : !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
    %x = tile.view %p[%m, %n] strides(%s, %one) : !x
    %ids = tile.iota dim(0) : tensor<64xi32, #places>
    %t = tile.take %x[%c0, %c0] at(%ids) dim(0) : !x, tensor<64xi32, #places> -> tensor<64x64xbf16, #lines>
    %u = tile.transpose %t [1, 0] : tensor<64x64xbf16, #lines> -> tensor<64x64xbf16, #columns>
    wg.local_store %u to %buffer : tensor<64x64xbf16, #columns>, !wg.buffer<64x64xbf16, order = [0, 1], swizzle = 128>
    gpu.return
  }

  // Another use, or another value outside than zero: through registers.
  // CHECK-LABEL: llvm.func @used
  // CHECK-NOT: cp.async
  // CHECK: st.shared
  gpu.func @used(%p: !llvm.ptr<1>, %m: i32, %n: i32, %s: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i64
    %buffer = wg.alloc_buffer {offset = 0 : i32} : !buffer
    %x = tile.view %p[%m, %n] strides(%s, %one) : !x
    %t = tile.load %x[%c0, %c0] : !x -> tensor<64x64xbf16, #lines>
    wg.local_store %t to %buffer : tensor<64x64xbf16, #lines>, !buffer
    tile.store %t, %x[%c0, %c0] : tensor<64x64xbf16, #lines>, !x
    %f = arith.constant 1.0 : bf16
    %u = tile.load %x[%c0, %c0] fill(%f) : !x, bf16 -> tensor<64x64xbf16, #lines>
    wg.local_store %u to %buffer : tensor<64x64xbf16, #lines>, !buffer
    gpu.return
  }
}
