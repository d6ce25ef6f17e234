// Tiles to and from global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILEMEMORYOPS_TD
#define GIRIH_DIALECT_TILE_IR_TILEMEMORYOPS_TD

include "girih/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// Upstream's CSE and LICM know one global memory; loads of one view move past stores of another only if a pass proves it.
def Tile_Global : Resource<"::girih::tile::GlobalResource">;

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead<Tile_Global>]>]> {
  let summary = "loads a tile";
  let description = [{
    The tile of the result's shape whose first element is at the indices, one for each dimension of the view. Elements outside
    the view's extents (below 0 included) are `fill`, zero without it, and are not read. With `part` only the first elements
    along each dimension, as many as it says, are of the view; those behind are `fill` wherever they would lie.

    In the wg phase: each thread loads the elements that the layout gives it, in the widest vectors that layout and alignment
    allow; or the load has become a TMA copy into a ring.

    ```mlir
    func.func @block(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %row: i32, %col: i32) -> tensor<64x32xf32> {
      %low = arith.constant 0xFF800000 : f32
      %t = tile.load %x[%row, %col] fill(%low) : !tile.view<f32, rank = 2, contiguous = 1, align = 16>, f32 -> tensor<64x32xf32>
      return %t : tensor<64x32xf32>
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<I32>:$indices, Optional<Tile_Scalar>:$fill,
                       OptionalAttr<DenseI32ArrayAttr>:$part);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{
    $view `[` $indices `]` (`fill` `(` $fill^ `)`)? (`part` $part^)? attr-dict `:` qualified(type($view)) (`,` type($fill)^)? `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite<Tile_Global>]>]> {
  let summary = "stores a tile";
  let description = [{
    Elements outside the view's extents are dropped. With `part` so are those behind the first ones along each dimension, as many
    as it says.

    ```mlir
    func.func @block(%t: tensor<64x32xf32>, %x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %row: i32, %col: i32) {
      tile.store %t, %x[%row, %col] : tensor<64x32xf32>, !tile.view<f32, rank = 2, contiguous = 1, align = 16>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_ViewType:$view, Variadic<I32>:$indices, OptionalAttr<DenseI32ArrayAttr>:$part);
  let assemblyFormat = "$tile `,` $view `[` $indices `]` (`part` $part^)? attr-dict `:` type($tile) `,` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_TakeOp : Tile_Op<"take", [AttrSizedOperandSegments, MemoryEffects<[MemRead<Tile_Global>]>]> {
  let summary = "loads a tile whose places along one dimension are listed";
  let description = [{
    As `tile.load`, but along `dim` element i of the result comes from index `places[i]` of the view: rows of an embedding, pages
    of a cache. What lies outside the extents is `fill`, zero without it. The index given for `dim` among `indices` is added to
    every place.

    ```mlir
    func.func @rows(%x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %ids: tensor<16xi32>, %col: i32) -> tensor<16x64xf32> {
      %zero = arith.constant 0 : i32
      %t = tile.take %x[%zero, %col] at(%ids) dim(0)
          : !tile.view<f32, rank = 2, contiguous = 1, align = 16>, tensor<16xi32> -> tensor<16x64xf32>
      return %t : tensor<16x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<I32>:$indices, Tile_Indices:$places, I64Attr:$dim,
                       Optional<Tile_Scalar>:$fill);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{
    $view `[` $indices `]` `at` `(` $places `)` `dim` `(` $dim `)` (`fill` `(` $fill^ `)`)? attr-dict
    `:` qualified(type($view)) `,` type($places) (`,` type($fill)^)? `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Tile_PutOp : Tile_Op<"put", [MemoryEffects<[MemWrite<Tile_Global>]>]> {
  let summary = "stores a tile whose places along one dimension are listed";
  let description = [{
    The mirror image of `tile.take`. Places must differ from each other; what lies outside the extents is dropped.

    ```mlir
    func.func @rows(%t: tensor<16x64xf32>, %x: !tile.view<f32, rank = 2, contiguous = 1, align = 16>, %ids: tensor<16xi32>, %col: i32) {
      %zero = arith.constant 0 : i32
      tile.put %t, %x[%zero, %col] at(%ids) dim(0)
          : tensor<16x64xf32>, !tile.view<f32, rank = 2, contiguous = 1, align = 16>, tensor<16xi32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_ViewType:$view, Variadic<I32>:$indices, Tile_Indices:$places, I64Attr:$dim);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` `at` `(` $places `)` `dim` `(` $dim `)` attr-dict
    `:` type($tile) `,` qualified(type($view)) `,` type($places)
  }];
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [AttrSizedOperandSegments, MemoryEffects<[MemRead<Tile_Global>]>]> {
  let summary = "loads elements from places of their own";
  let description = [{
    One tile of indices for each dimension of the view, all of the result's shape. Elements whose `mask` is false, and those
    outside the extents, are `fill` (zero without it) and are not read.

    ```mlir
    func.func @elements(%x: !tile.view<f32, rank = 1, contiguous = 0>, %i: tensor<128xi32>, %m: tensor<128xi1>) -> tensor<128xf32> {
      %t = tile.gather %x[%i] mask(%m) : !tile.view<f32, rank = 1, contiguous = 0> at tensor<128xi32> mask tensor<128xi1> -> tensor<128xf32>
      return %t : tensor<128xf32>
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Tile_Indices>:$indices, Optional<Tile_Mask>:$mask,
                       Optional<Tile_Scalar>:$fill);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = [{
    $view `[` $indices `]` (`mask` `(` $mask^ `)`)? (`fill` `(` $fill^ `)`)? attr-dict
    `:` qualified(type($view)) `at` type($indices) (`mask` type($mask)^)? (`fill` type($fill)^)? `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, MemoryEffects<[MemWrite<Tile_Global>]>]> {
  let summary = "stores elements to places of their own";
  let description = [{
    The mirror image of `tile.gather`. Two elements of one tile must not go to one place; `tile.atomic` is for that.

    ```mlir
    func.func @elements(%t: tensor<128xf32>, %x: !tile.view<f32, rank = 1, contiguous = 0>, %i: tensor<128xi32>) {
      tile.scatter %t, %x[%i] : tensor<128xf32>, !tile.view<f32, rank = 1, contiguous = 0> at tensor<128xi32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$tile, Tile_ViewType:$view, Variadic<Tile_Indices>:$indices, Optional<Tile_Mask>:$mask);
  let assemblyFormat = [{
    $tile `,` $view `[` $indices `]` (`mask` `(` $mask^ `)`)? attr-dict
    `:` type($tile) `,` qualified(type($view)) `at` type($indices) (`mask` type($mask)^)?
  }];
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [AttrSizedOperandSegments, AllTypesMatch<["tile", "old"]>, MemoryEffects<[MemRead<Tile_Global>, MemWrite<Tile_Global>]>]> {
  let summary = "updates elements at places of their own, each at once";
  let description = [{
    As `tile.scatter`, with what was there combined with the tile's element. The result, if it is used, is what was there. The
    order is that of each element's access, at the scope.

    Lowers to: `atom` or, without uses of the result, `red`.

    ```mlir
    func.func @histogram(%bins: !tile.view<i32, rank = 1, contiguous = 0>, %i: tensor<128xi32>, %one: tensor<128xi32>) {
      %old = tile.atomic add relaxed gpu %one, %bins[%i]
          : tensor<128xi32>, !tile.view<i32, rank = 1, contiguous = 0> at tensor<128xi32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_AtomicKind:$kind, Tile_Order:$order, Tile_Scope:$scope, Tile_Tile:$tile, Tile_ViewType:$view,
                       Variadic<Tile_Indices>:$indices, Optional<Tile_Mask>:$mask);
  let results = (outs Tile_Tile:$old);
  let assemblyFormat = [{
    $kind $order $scope $tile `,` $view `[` $indices `]` (`mask` `(` $mask^ `)`)? attr-dict
    `:` type($tile) `,` qualified(type($view)) `at` type($indices) (`mask` type($mask)^)?
  }];
  let hasVerifier = 1;
}

def Tile_ReadOp : Tile_Op<"read", [MemoryEffects<[MemRead<Tile_Global>]>]> {
  let summary = "loads one element as a scalar";
  let description = [{
    Every thread gets it. The indices must lie inside the extents; they are not checked. With an order, the load is one of a
    synchronisation at that scope.

    ```mlir
    func.func @length(%lengths: !tile.view<i32, rank = 1, contiguous = 0>, %b: i32) -> i32 {
      %n = tile.read %lengths[%b] : !tile.view<i32, rank = 1, contiguous = 0> -> i32
      return %n : i32
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<I32>:$indices);
  let results = (outs Tile_Scalar:$value);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` qualified(type($view)) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write", [MemoryEffects<[MemWrite<Tile_Global>]>]> {
  let summary = "stores a scalar";
  let description = [{
    By one thread. The indices must lie inside the extents; they are not checked.

    ```mlir
    func.func @total(%x: f32, %out: !tile.view<f32, rank = 1, contiguous = 0>, %i: i32) {
      tile.write %x, %out[%i] : f32, !tile.view<f32, rank = 1, contiguous = 0>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Scalar:$value, Tile_ViewType:$view, Variadic<I32>:$indices);
  let assemblyFormat = "$value `,` $view `[` $indices `]` attr-dict `:` type($value) `,` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_SignalOp : Tile_Op<"signal", [MemoryEffects<[MemRead<Tile_Global>, MemWrite<Tile_Global>]>]> {
  let summary = "adds to a counter that others wait for";
  let description = [{
    Everything that the CTA's threads have stored before is visible to whoever sees the new value through `tile.await`: the CTA
    meets, then one thread adds with release order at the scope (gpu or sys). The result is the old value.

    Lowers to: a barrier of the role and `atom.add.release`.

    ```mlir
    func.func @done(%flags: !tile.view<i32, rank = 1, contiguous = 0>, %i: i32, %one: i32) {
      %old = tile.signal gpu %one, %flags[%i] : !tile.view<i32, rank = 1, contiguous = 0>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Scope:$scope, I32:$value, Tile_ViewType:$view, Variadic<I32>:$indices);
  let results = (outs I32:$old);
  let assemblyFormat = "$scope $value `,` $view `[` $indices `]` attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await", [MemoryEffects<[MemRead<Tile_Global>, MemWrite<Tile_Global>]>]> {
  let summary = "waits until a counter has reached a value";
  let description = [{
    Polls with acquire order at the scope until the counter is at least `value`; then everything that its signallers stored
    before is visible to all threads of the CTA. Whoever signals must be running or able to start: a persistent or co-resident
    grid, or CTAs that wait only for those launched before them.

    Lowers to: `ld.acquire` in a loop by one thread and a barrier of the role.

    ```mlir
    func.func @wait(%flags: !tile.view<i32, rank = 1, contiguous = 0>, %i: i32, %n: i32) {
      tile.await gpu %n, %flags[%i] : !tile.view<i32, rank = 1, contiguous = 0>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Scope:$scope, I32:$value, Tile_ViewType:$view, Variadic<I32>:$indices);
  let assemblyFormat = "$scope $value `,` $view `[` $indices `]` attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_TILE_IR_TILEMEMORYOPS_TD
