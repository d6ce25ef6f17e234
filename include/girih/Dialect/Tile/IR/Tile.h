// The tile dialect in C++: include this one header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_TILE_IR_TILE_H
#define GIRIH_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace girih::tile {
/// Global memory, as a resource of memory effects.
struct GlobalResource : mlir::SideEffects::Resource::Base<GlobalResource> {
  llvm::StringRef getName() final { return "tile.global"; }
};

/// Whether a type is a tile: a ranked tensor of static shape, with a layout or without one.
bool isTile(mlir::Type type);
/// The element type of a tile; a scalar's type itself.
mlir::Type elementTypeOf(mlir::Type type);
} // namespace girih::tile

#include "girih/Dialect/Tile/IR/TileDialect.h.inc"
#include "girih/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "girih/Dialect/Tile/IR/TileOps.h.inc"

#endif // GIRIH_DIALECT_TILE_IR_TILE_H
