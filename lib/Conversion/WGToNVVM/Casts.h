// Conversions of numbers from one element type to another, several elements at a time: the narrow
// floats convert in pairs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_CASTS_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_CASTS_H

#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

namespace girih::wg {

/// What tile.cast says.
struct Cast {
  mlir::Type from, to;
  std::optional<tile::Rounding> rounding; ///< none: the default of the pair of types
  bool saturate = false, unsignedFrom = false, unsignedTo = false;
};

/// The conversion that an op is; nothing for a rounding that the hardware does not have.
Cast castOf(tile::CastOp op);
std::optional<Cast> castOf(mlir::arith::TruncFOp op);
std::optional<Cast> castOf(mlir::arith::ExtFOp op);

/// Why no instructions are there for a conversion, and what to write instead; nothing if they are.
std::optional<std::string> refuseCast(const Cast &cast);

/// The converted elements. Elements of 8-bit floats are i8, here and there.
llvm::SmallVector<mlir::Value> emitCast(mlir::OpBuilder &builder, mlir::Location loc,
                                        const Cast &cast, llvm::ArrayRef<mlir::Value> elements);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_CASTS_H
