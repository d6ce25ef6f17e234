// Tiles in another shape, and tiles of coordinates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILESHAPEOPS_TD
#define GIRIH_DIALECT_TILE_IR_TILESHAPEOPS_TD

include "girih/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "each element's index along a dimension";
  let description = [{
    ```mlir
    func.func @columns() -> tensor<64x32xi32> {
      %j = tile.iota dim(1) : tensor<64x32xi32>
      return %j : tensor<64x32xi32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Tile_Indices:$tile);
  let assemblyFormat = "`dim` `(` $dim `)` attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Tile_ExpandOp : Tile_Op<"expand", [Pure]> {
  let summary = "a new dimension of extent 1";
  let description = [{
    ```mlir
    func.func @column(%v: tensor<64xf32>) -> tensor<64x1xf32> {
      %c = tile.expand %v dim(1) : tensor<64xf32> -> tensor<64x1xf32>
      return %c : tensor<64x1xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$source, I64Attr:$dim);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$source `dim` `(` $dim `)` attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats dimensions of extent 1";
  let description = [{
    Ranks agree; `tensor.splat` makes a tile of a scalar.

    ```mlir
    func.func @rows(%c: tensor<64x1xf32>) -> tensor<64x32xf32> {
      %t = tile.broadcast %c : tensor<64x1xf32> -> tensor<64x32xf32>
      return %t : tensor<64x32xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements, in row-major order, in another shape";
  let description = [{
    ```mlir
    func.func @flat(%t: tensor<64x32xf32>) -> tensor<2048xf32> {
      %v = tile.reshape %t : tensor<64x32xf32> -> tensor<2048xf32>
      return %v : tensor<2048xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "a tile with dimensions in another order";
  let description = [{
    Dimension i of the result is dimension `order[i]` of the source.

    ```mlir
    func.func @transposed(%t: tensor<64x32xf32>) -> tensor<32x64xf32> {
      %u = tile.transpose %t [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
      return %u : tensor<32x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$source, DenseI64ArrayAttr:$order);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["first", "second"]>]> {
  let summary = "two tiles as the two places of a new last dimension";
  let description = [{
    ```mlir
    func.func @pairs(%re: tensor<64xf32>, %im: tensor<64xf32>) -> tensor<64x2xf32> {
      %z = tile.join %re, %im : tensor<64xf32> -> tensor<64x2xf32>
      return %z : tensor<64x2xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$first, Tile_Tile:$second);
  let results = (outs Tile_Tile:$tile);
  let assemblyFormat = "$first `,` $second attr-dict `:` type($first) `->` type($tile)";
  let hasVerifier = 1;
}

def Tile_SplitOp : Tile_Op<"split", [Pure, AllTypesMatch<["first", "second"]>]> {
  let summary = "the two places of a last dimension of extent 2 as tiles of their own";
  let description = [{
    ```mlir
    func.func @parts(%z: tensor<64x2xf32>) -> tensor<64xf32> {
      %re, %im = tile.split %z : tensor<64x2xf32> -> tensor<64xf32>
      return %re : tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$first, Tile_Tile:$second);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($first)";
  let hasVerifier = 1;
}

#endif // GIRIH_DIALECT_TILE_IR_TILESHAPEOPS_TD
