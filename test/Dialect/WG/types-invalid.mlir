// Every message of the dialect's types and attributes.
// RUN: girih-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected 'register', 'lane', 'warp', 'warpgroup', 'offset', 'row' or 'col', found 'thread'}}
#l = #wg.layout<{thread: [[0,1]]}>

// -----

// expected-error @+1 {{is no layout: 'lane' has 64 indices, but a warp has 32}}
#l = #wg.layout<{lane: [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32]]}>

// -----

// expected-error @+1 {{expected a tile of static dimensions}}
func.func private @f(tensor<?x4xf32, #wg.layout<{lane: [[0,1],[0,2]]}>>)

// -----

// A tile of one dimension is one row.
// expected-error @+1 {{expected a layout of the whole tile: }}
func.func private @f(tensor<64xf32, #wg.layout<{lane: [[0,1],[0,2]]}>>)

// -----

// expected-error @+1 {{expected the layout of a tile to map 'register', 'lane', 'warp' and 'warpgroup', found 'offset'}}
func.func private @f(tensor<1x4xf32, #wg.layout<{offset: [[0,1],[0,2]]}>>)

// -----

// expected-error @+1 {{expected a layout of the whole tile: }}
func.func private @f(tensor<1x8xf32, #wg.layout<{lane: [[0,1],[0,2]]}>>)

// -----

// expected-error @+1 {{expected a buffer of two dimensions of 1 to 1048576 elements}}
func.func private @f(!wg.buffer<4x4x4xbf16>)

// -----

// expected-error @+1 {{expected a buffer of two dimensions of 1 to 1048576 elements}}
func.func private @f(!wg.buffer<4294967296x4294967296xbf16>)

// -----

// expected-error @+1 {{expected an element type of 8, 16, 32 or 64 bits, found 'i1'}}
func.func private @f(!wg.buffer<64x64xi1>)

// -----

// expected-error @+1 {{expected an order that names each of the 2 dimensions once, the fastest first, found [0, 0]}}
func.func private @f(!wg.buffer<64x64xbf16, order = [0, 0]>)

// -----

// expected-error @+1 {{expected a swizzle of 32, 64 or 128 bytes (or none), found 256}}
func.func private @f(!wg.buffer<64x64xbf16, swizzle = 256>)

// -----

// expected-error @+1 {{expected 'order' or 'swizzle', found 'layout'}}
func.func private @f(!wg.buffer<64x64xbf16, layout = 1>)

// -----

// expected-error @+1 {{expected the fastest dimension (1) to be a multiple of 16 bytes, found 20 elements of 'bf16', that is 40 bytes}}
func.func private @f(!wg.buffer<64x20xbf16>)

// -----

// expected-error @+1 {{expected dimension 0 to be a multiple of 8, found 60: 256 bytes along dimension 1 make several panels of 128 bytes, and each starts where the swizzle's pattern of 8 lines does}}
func.func private @f(!wg.buffer<60x128xbf16, swizzle = 128>)

// -----

// expected-error @+1 {{expected a box of one to five dimensions, found 6}}
func.func private @f(!wg.view<bf16, box = [1, 1, 1, 1, 1, 64]>)

// -----

// expected-error @+1 {{expected every extent of a box to be 1 to 256, found 512 in dimension 0: a larger buffer is filled by several copies of a smaller box}}
func.func private @f(!wg.view<bf16, box = [512, 64], swizzle = 128>)

// -----

// expected-error @+1 {{expected the box's fastest dimension (1) to be a multiple of 16 bytes, found 8 bytes}}
func.func private @f(!wg.view<bf16, box = [64, 4]>)

// -----

// expected-error @+1 {{expected the box's fastest dimension (1) to be at most the swizzle's span of 128 bytes, found 256 bytes: a wider buffer is filled by several copies of one span}}
func.func private @f(!wg.view<bf16, box = [64, 128], swizzle = 128>)

// -----

// expected-error @+1 {{expected a slot of at least one buffer, found none}}
func.func private @f(!wg.ring<[]>)

// -----

// expected-error @+1 {{expected an array of at least one barrier, found 0}}
func.func private @f(!wg.barrier<0>)

// -----

// expected-error @+1 {{expected a tile (a ranked tensor with a #wg.layout encoding), found 'tensor<64x64xf32>'}}
func.func private @f(!wg.pending<tensor<64x64xf32>>)
