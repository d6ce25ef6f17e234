// Every message of the dialect's verifiers and parsers.
// RUN: girih-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected 'contiguous' or 'align', found 'pitch'}}
func.func private @f(!tile.view<f32, rank = 1, pitch = 4>)

// -----

// expected-error @+1 {{expected an integer or float element type, found 'index'}}
func.func private @f(!tile.view<index, rank = 1, align = 8>)

// -----

// expected-error @+1 {{expected a rank from 0 to 5, found 6}}
func.func private @f(!tile.view<f32, rank = 6>)

// -----

// expected-error @+1 {{expected the contiguous dimension to be one of 0 to 1, found 2}}
func.func private @f(!tile.view<f32, rank = 2, contiguous = 2>)

// -----

// expected-error @+1 {{expected align to be a power of two of at least 4, the bytes of one element, found 12}}
func.func private @f(!tile.view<f32, rank = 1, align = 12>)

// -----

func.func @f(%p: !llvm.ptr<1>, %n: i32, %s: i64) {
  // expected-error @+1 {{'tile.view' op expected 2 extents and strides, found 1 and 2}}
  %x = tile.view %p[%n] strides(%s, %s) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.select' op expected a dimension below 2, found 2}}
  %y = tile.select %x[%i] dim(2) : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 1, contiguous = 0>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.select' op expected elements of 'f32', found 'f16'}}
  %y = tile.select %x[%i] dim(0) : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f16, rank = 1>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.select' op expected a view of rank 1, found 2}}
  %y = tile.select %x[%i] dim(0) : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.select' op promises that dimension 0 is contiguous; expected no contiguous dimension}}
  %y = tile.select %x[%i] dim(1) : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 1, contiguous = 0>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>) {
  // expected-error @+1 {{'tile.permute' op promises that dimension 1 is contiguous; expected 0}}
  %y = tile.permute %x [1, 0] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.slice' op promises an alignment of 16 bytes; expected at most 4}}
  %y = tile.slice %x[%i to %i] dim(1) : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>) {
  // expected-error @+1 {{'tile.permute' op expected a permutation of 2 dimensions}}
  %y = tile.permute %x [1, 1] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>) {
  // expected-error @+1 {{'tile.extent' op expected a dimension below 2, found 3}}
  %y = tile.extent %x dim(3) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.load' op expected 2 indices, one for each dimension of the view, found 1}}
  %t = tile.load %x[%i] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.load' op expected elements of 'f32', as the view has, found 'f16'}}
  %t = tile.load %x[%i, %i] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.load' op expected a tile of rank 2, as the view has, found 1}}
  %t = tile.load %x[%i, %i] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.load' op expected a fill value of 'f32', found 'i32'}}
  %t = tile.load %x[%i, %i] fill(%i) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>, i32 -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32) {
  // expected-error @+1 {{'tile.load' op result #0 must be a tile (a ranked tensor of static shape), but got 'tensor<?x4xf32>'}}
  %t = tile.load %x[%i, %i] : !tile.view<f32, rank = 2, contiguous = 1, align = 16> -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32, %t: tensor<4x4xf16>) {
  // expected-error @+1 {{'tile.store' op expected elements of 'f32', as the view has, found 'f16'}}
  tile.store %t, %x[%i, %i] : tensor<4x4xf16>, !tile.view<f32, rank = 2, contiguous = 1, align = 16>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32, %p: tensor<4xi32>) {
  // expected-error @+1 {{'tile.take' op expected a dimension below 2, found 2}}
  %t = tile.take %x[%i, %i] at(%p) dim(2) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>, tensor<4xi32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32, %p: tensor<4xi32>) {
  // expected-error @+1 {{'tile.take' op expected 8 places, one for each index of dimension 0, found 'tensor<4xi32>'}}
  %t = tile.take %x[%i, %i] at(%p) dim(0) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>, tensor<4xi32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %i: i32, %p: tensor<4xi32>, %t: tensor<8x4xf32>) {
  // expected-error @+1 {{'tile.put' op expected 8 places, one for each index of dimension 0, found 'tensor<4xi32>'}}
  tile.put %t, %x[%i, %i] at(%p) dim(0) : tensor<8x4xf32>, !tile.view<f32, rank = 2, contiguous = 1, align = 16>, tensor<4xi32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %p: tensor<8xi32>) {
  // expected-error @+1 {{'tile.gather' op expected indices of the tile's shape and layout, found 'tensor<8xi32>' for 'tensor<4xf32>'}}
  %t = tile.gather %x[%p] : !tile.view<f32, rank = 1, contiguous = 0> at tensor<8xi32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %p: tensor<4xi32>, %m: tensor<8xi1>, %t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.scatter' op expected a mask of the tile's shape and layout, found 'tensor<8xi1>' for 'tensor<4xf32>'}}
  tile.scatter %t, %x[%p] mask(%m) : tensor<4xf32>, !tile.view<f32, rank = 1, contiguous = 0> at tensor<4xi32> mask tensor<8xi1>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %p: tensor<4xi32>, %t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.atomic' op 'max' works on integers; expected add or exchange on 'f32'}}
  %o = tile.atomic max relaxed gpu %t, %x[%p] : tensor<4xf32>, !tile.view<f32, rank = 1, contiguous = 0> at tensor<4xi32>
  return
}

// -----

func.func @f(%x: !tile.view<i16, rank = 1>, %p: tensor<4xi32>, %t: tensor<4xi16>) {
  // expected-error @+1 {{'tile.atomic' op expected elements of 32 or 64 bits (or add on f16 or bf16), found 'i16'}}
  %o = tile.atomic add relaxed gpu %t, %x[%p] : tensor<4xi16>, !tile.view<i16, rank = 1> at tensor<4xi32>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %i: i32) {
  // expected-error @+1 {{'tile.read' op expected elements of 'f32', as the view has, found 'i32'}}
  %v = tile.read %x[%i] : !tile.view<f32, rank = 1, contiguous = 0> -> i32
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %i: i32, %v: f32) {
  // expected-error @+1 {{'tile.write' op expected 1 indices, one for each dimension of the view, found 2}}
  tile.write %v, %x[%i, %i] : f32, !tile.view<f32, rank = 1, contiguous = 0>
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 1, contiguous = 0>, %i: i32) {
  // expected-error @+1 {{'tile.signal' op expected a counter of i32, found 'f32'}}
  %o = tile.signal gpu %i, %x[%i] : !tile.view<f32, rank = 1, contiguous = 0>
  return
}

// -----

func.func @f(%x: !tile.view<i32, rank = 1>, %i: i32) {
  // expected-error @+1 {{'tile.await' op expected the scope gpu or sys, found cta}}
  tile.await cta %i, %x[%i] : !tile.view<i32, rank = 1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tile.iota' op expected a dimension below 1, found 1}}
  %t = tile.iota dim(1) : tensor<4xi32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.expand' op expected a result of 'tensor<4x1xf32>', found 'tensor<1x4xf32>'}}
  %u = tile.expand %t dim(1) : tensor<4xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @f(%t: tensor<3x4xf32>) {
  // expected-error @+1 {{'tile.broadcast' op expected extent 3 or a source of extent 1 in dimension 0, found 4}}
  %u = tile.broadcast %t : tensor<3x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.broadcast' op expected a result of rank 1, found 2}}
  %u = tile.broadcast %t : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.reshape' op expected 16 elements, found 8}}
  %u = tile.reshape %t : tensor<4x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%t: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.transpose' op expected a permutation of 2 dimensions}}
  %u = tile.transpose %t [0, 2] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.join' op expected a result of 'tensor<4x2xf32>', found 'tensor<2x4xf32>'}}
  %u = tile.join %t, %t : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.split' op expected a last dimension of extent 2 after another one, found 'tensor<4x4xf32>'}}
  %u, %v = tile.split %t : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.cast' op expected a tile from a tile and a scalar from a scalar}}
  %u = tile.cast %t : tensor<4xf32> to i32
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.cast' op expected a result of the source's shape and layout, found 'tensor<8xi32>' from 'tensor<4xf32>'}}
  %u = tile.cast %t : tensor<4xf32> to tensor<8xi32>
  return
}

// -----

func.func @f(%t: f32) {
  // expected-error @+1 {{'tile.cast' op unsigned_source is for integers, found 'f32'}}
  %u = tile.cast %t {unsigned_source} : f32 to i32
  return
}

// -----

func.func @f(%t: i32) {
  // expected-error @+1 {{'tile.cast' op unsigned_result is for integers, found 'f32'}}
  %u = tile.cast %t {unsigned_result} : i32 to f32
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>) {
  // expected-error @+1 {{expected 'exact' or 'tf32', found 'bf16x3'}}
  %d = tile.dot %a, %a precision bf16x3 : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf16>) {
  // expected-error @+1 {{'tile.dot' op expected operands of two dimensions, found 'tensor<4xf16>' and 'tensor<4xf16>'}}
  %d = tile.dot %a, %a : tensor<4xf16>, tensor<4xf16> -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>) {
  // expected-error @+1 {{'tile.dot' op operands disagree in K: a has 8 columns, b has 4 rows}}
  %d = tile.dot %a, %a : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>, %b: tensor<8x4xbf16>) {
  // expected-error @+1 {{'tile.dot' op expected operands of one type (f16, bf16, f32, f64 or i8) or of e4m3 and e5m2, found 'f16' and 'bf16'}}
  %d = tile.dot %a, %b : tensor<4x8xf16>, tensor<8x4xbf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>, %b: tensor<8x4xf16>) {
  // expected-error @+1 {{'tile.dot' op expected a result of 'tensor<4x4xf32>', found 'tensor<4x4xf16>'}}
  %d = tile.dot %a, %b : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%a: tensor<4x8xf16>, %b: tensor<8x4xf16>) {
  // expected-error @+1 {{'tile.dot' op precision tf32 is for operands of f32, found 'f16'}}
  %d = tile.dot %a, %b precision tf32 : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.reduce' op expected a dimension below 1, found 1}}
  %s = tile.reduce %t dim(1) : tensor<4xf32> -> f32 {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.reduce' op expected a result of 'f32', found 'tensor<4xf32>'}}
  %s = tile.reduce %t dim(0) : tensor<4xf32> -> tensor<4xf32> {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%t: tensor<4xf32>, %u: tensor<8xf32>) {
  // expected-error @+1 {{'tile.reduce' op expected tiles of one shape and layout, found 'tensor<8xf32>' and 'tensor<4xf32>'}}
  %s:2 = tile.reduce %t, %u dim(0) : tensor<4xf32>, tensor<8xf32> -> (f32, f32) {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tile.scan' op expected a combiner of 2 arguments: the elements of each tile, twice}}
  %s = tile.scan %t dim(0) : tensor<4xf32> -> tensor<4xf32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @f(%t: tensor<4xf32>, %i: i32) {
  %s = tile.reduce %t dim(0) : tensor<4xf32> -> f32 {
  ^bb0(%x: f32, %y: f32):
    // expected-error @+1 {{'tile.yield' op expected 1 values of the tiles' element types}}
    tile.yield %i : i32
  }
  return
}

// -----

func.func @f(%x: !tile.view<f32, rank = 2>, %i: i32) {
  // expected-error @+1 {{'tile.load' op expected a part of 2 extents, as the tile has, found 1}}
  %t = tile.load %x[%i, %i] part [3] : !tile.view<f32, rank = 2> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%t: tensor<4x4xf32>, %x: !tile.view<f32, rank = 2>, %i: i32) {
  // expected-error @+1 {{'tile.store' op expected a part of 1 to 4 along dimension 1, found 5}}
  tile.store %t, %x[%i, %i] part [4, 5] : tensor<4x4xf32>, !tile.view<f32, rank = 2>
  return
}
