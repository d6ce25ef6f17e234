// RUN: girih-opt %s -wg-allocate-shared -mlir-print-debuginfo=false | FileCheck %s

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // What needs 1024 bytes comes first, barriers last, whatever the order in which they stand: 24 KiB, then 64 x 24 with
  // the 64-byte swizzle (4 KiB, aligned to 512), plain lines, barriers.
  // CHECK-LABEL: gpu.func @by_alignment
  // CHECK-SAME: wg.shared_bytes = 28952 : i32
  gpu.func @by_alignment() kernel {
    // CHECK: wg.alloc_barrier {offset = 28928 : i32}
    // CHECK: wg.alloc_buffer {offset = 28672 : i32} : !wg.buffer<8x16xbf16>
    // CHECK: wg.alloc_buffer {offset = 24576 : i32} : !wg.buffer<64x24xbf16, swizzle = 64>
    // CHECK: wg.alloc_buffer {count = 3 : i32, offset = 0 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    %bar = wg.alloc_barrier : !wg.barrier<3>
    %d = wg.alloc_buffer : !wg.buffer<8x16xbf16>
    %b = wg.alloc_buffer : !wg.buffer<64x24xbf16, swizzle = 64>
    %c = wg.alloc_buffer {count = 3 : i32} : !wg.buffer<64x64xbf16, swizzle = 128>
    gpu.return
  }
}
