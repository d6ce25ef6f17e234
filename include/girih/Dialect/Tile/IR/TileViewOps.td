// Views of global memory: made from a pointer, and from other views.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILEVIEWOPS_TD
#define GIRIH_DIALECT_TILE_IR_TILEVIEWOPS_TD

include "girih/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_ViewOp : Tile_Op<"view", [AttrSizedOperandSegments, Pure]> {
  let summary = "a view of an array";
  let description = [{
    Address of the first element, one extent and one stride for each dimension. What the type promises (a contiguous
    dimension, alignment) the host has checked.

    ```mlir
    func.func @whole(%p: !llvm.ptr<1>, %m: i32, %n: i32, %pitch: i64) {
      %one = arith.constant 1 : i64
      %x = tile.view %p[%m, %n] strides(%pitch, %one) : !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
      return
    }
    ```
  }];
  let arguments = (ins LLVM_PointerInAddressSpace<1>:$pointer, Variadic<I32>:$extents, Variadic<I64>:$strides);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = "$pointer `[` $extents `]` `strides` `(` $strides `)` attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_SelectOp : Tile_Op<"select", [Pure]> {
  let summary = "one index of a dimension: a view of one rank less";
  let description = [{
    The index must lie inside the extent; it is not checked.

    ```mlir
    func.func @head(%x: !tile.view<bf16, rank = 3, contiguous = 2, align = 16>, %h: i32) {
      %y = tile.select %x[%h] dim(0)
          : !tile.view<bf16, rank = 3, contiguous = 2, align = 16> -> !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
      return
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$source, I32:$index, I64Attr:$dim);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = "$source `[` $index `]` `dim` `(` $dim `)` attr-dict `:` qualified(type($source)) `->` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "indices from low to high of a dimension";
  let description = [{
    Index 0 of the result is index `low` of the source, and accesses from `high` on are outside. The bounds may be known
    on the device only: a sequence among packed ones never touches its neighbours. 0 <= low <= high <= extent is not checked.

    ```mlir
    func.func @rows(%x: !tile.view<bf16, rank = 2, contiguous = 1, align = 16>, %from: i32, %to: i32) {
      %y = tile.slice %x[%from to %to] dim(0)
          : !tile.view<bf16, rank = 2, contiguous = 1, align = 16> -> !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
      return
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$source, I32:$low, I32:$high, I64Attr:$dim);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = [{
    $source `[` $low `to` $high `]` `dim` `(` $dim `)` attr-dict `:` qualified(type($source)) `->` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def Tile_PermuteOp : Tile_Op<"permute", [Pure]> {
  let summary = "the same memory with dimensions in another order";
  let description = [{
    Dimension i of the result is dimension `order[i]` of the source.

    ```mlir
    func.func @transposed(%x: !tile.view<bf16, rank = 2, contiguous = 1, align = 16>) {
      %y = tile.permute %x [1, 0]
          : !tile.view<bf16, rank = 2, contiguous = 1, align = 16> -> !tile.view<bf16, rank = 2, contiguous = 0, align = 16>
      return
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$source, DenseI64ArrayAttr:$order);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = "$source $order attr-dict `:` qualified(type($source)) `->` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_ExtentOp : Tile_Op<"extent", [Pure]> {
  let summary = "the extent of a dimension";
  let description = [{
    ```mlir
    func.func @rows(%x: !tile.view<bf16, rank = 2, contiguous = 1, align = 16>) -> i32 {
      %m = tile.extent %x dim(0) : !tile.view<bf16, rank = 2, contiguous = 1, align = 16>
      return %m : i32
    }
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64Attr:$dim);
  let results = (outs I32:$extent);
  let assemblyFormat = "$view `dim` `(` $dim `)` attr-dict `:` qualified(type($view))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // GIRIH_DIALECT_TILE_IR_TILEVIEWOPS_TD
