// The text of types and of the layout attribute, and that what is the default is not written.
// RUN: girih-opt %s | FileCheck %s
// RUN: girih-opt %s --mlir-print-op-generic | girih-opt | FileCheck %s

// The layout's text is canonical: a counter of two becomes a base, and what the extents say anyway is left out.
// CHECK: #[[$ACC:.*]] = #wg.layout<{register: {{\[\[}}0,1],[8,0]], lane: {{\[\[}}0,2],[0,4],[1,0],[2,0],[4,0]], warp: {{\[\[}}16,0],[32,0]], warpgroup: {{\[\[}}64,0]]} repeat {register: [0,8] x 3}>
#acc = #wg.layout<{register: [[0, 1], [8, 0]], lane: [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp: [[16, 0], [32, 0]]}
                  repeat {register: [0, 8] x 3, warpgroup: [64, 0] x 2} over {row: 128, col: 24}>

// CHECK: @buffers(!wg.buffer<64x64xbf16>
// CHECK-SAME: !wg.buffer<64x256xbf16, swizzle = 128>
// CHECK-SAME: !wg.buffer<64x176xbf16, order = [0, 1], swizzle = 128>
// CHECK-SAME: !wg.buffer<64x32xf8E4M3FN, swizzle = 32>
func.func private @buffers(!wg.buffer<64x64xbf16, order = [1, 0], swizzle = 0>, !wg.buffer<64x256xbf16, swizzle = 128>,
                           !wg.buffer<64x176xbf16, swizzle = 128, order = [0, 1]>, !wg.buffer<64x32xf8E4M3FN, swizzle = 32>)

// CHECK: @views(!wg.view<bf16, box = [64, 64]>
// CHECK-SAME: !wg.view<tf32, box = [256, 32], swizzle = 128>
// CHECK-SAME: !wg.view<f32, box = [1, 8, 16], order = [2, 0, 1]>
func.func private @views(!wg.view<bf16, box = [64, 64], order = [1, 0]>, !wg.view<tf32, box = [256, 32], swizzle = 128>,
                         !wg.view<f32, box = [1, 8, 16], order = [2, 0, 1]>)

// CHECK: @rings(!wg.ring<[!wg.buffer<64x64xbf16>, !wg.buffer<8x16xf32>]>
// CHECK-SAME: !wg.store_ring<!wg.buffer<64x64xbf16>>
// CHECK-SAME: !wg.cursor
// CHECK-SAME: !wg.barrier<4>
func.func private @rings(!wg.ring<[!wg.buffer<64x64xbf16>, !wg.buffer<8x16xf32>]>,
                         !wg.store_ring<!wg.buffer<64x64xbf16>>, !wg.cursor, !wg.barrier<4>)

// CHECK: @tiles(tensor<128x24xf32, #[[$ACC]]>
// CHECK-SAME: !wg.pending<tensor<128x24xf32, #[[$ACC]]>>
func.func private @tiles(tensor<128x24xf32, #acc>, !wg.pending<tensor<128x24xf32, #acc>>)
