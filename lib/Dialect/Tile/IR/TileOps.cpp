// The generated definitions of the tile dialect's ops.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace girih::tile;

#define GET_OP_CLASSES
#include "girih/Dialect/Tile/IR/TileOps.cpp.inc"
