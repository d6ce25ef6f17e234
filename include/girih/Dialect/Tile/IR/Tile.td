// Umbrella of the tile dialect: what mlir-tblgen reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILE_TD
#define GIRIH_DIALECT_TILE_IR_TILE_TD

include "girih/Dialect/Tile/IR/TileViewOps.td"
include "girih/Dialect/Tile/IR/TileMemoryOps.td"
include "girih/Dialect/Tile/IR/TileShapeOps.td"
include "girih/Dialect/Tile/IR/TileComputeOps.td"

#endif // GIRIH_DIALECT_TILE_IR_TILE_TD
