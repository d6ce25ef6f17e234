// The tile dialect itself: what it is for and what every op of it shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILEDIALECT_TD
#define GIRIH_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::girih::tile";
  let summary = "What to compute, on tiles: views of global memory, loads, stores, products, reductions";
  let description = [{
    A tile is a ranked tensor of static shape, so `arith`, `math` and `scf` apply as they are; the dialect adds views of
    global memory, what moves tiles between a view and registers, and what changes a tile's shape or combines its elements.

    Its ops on tensors stand in two phases, as those of `arith` do. In the tile phase a tensor has no encoding: the code says
    what to compute. In the wg phase each has a `#wg.layout`, which says where every element sits. Only `tile.dot` stands in
    the tile phase alone, since who multiplies, from which buffer and when is what the wg phase spells out.

    Indices, extents and offsets are `i32` and count elements; strides are `i64` and count elements. Scalars are uniform
    over the CTA.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif // GIRIH_DIALECT_TILE_IR_TILEDIALECT_TD
