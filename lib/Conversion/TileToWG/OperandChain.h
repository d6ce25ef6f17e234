// From an operand of a product back to the load that it comes from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_OPERANDCHAIN_H
#define GIRIH_LIB_CONVERSION_TILETOWG_OPERANDCHAIN_H

#include "HostSide.h"
#include "girih/Dialect/Tile/IR/Tile.h"

namespace girih::wg {

/// The way from an operand of a product back to a load: transpositions, and reshapes that add or
/// drop dimensions of one element.
struct OperandChain {
  tile::LoadOp load;
  llvm::SmallVector<int64_t> dims; ///< the load's dimension behind each of the operand's
  llvm::SmallVector<mlir::Operation *> between;
};

/// The chain of an operand; nothing if the kernel computes it.
std::optional<OperandChain> chainOf(mlir::Value operand);

/// The tile.load or tile.take of a matrix that an operand is, or the transpose of which, for no
/// other use; with the transpositions on the way.
struct CopiedOperand {
  mlir::Operation *load = nullptr;
  bool transposed = false;
  llvm::SmallVector<mlir::Operation *> between;
};
std::optional<CopiedOperand> copiedOperand(mlir::Value operand);

/// Whether an op reads an array that the kernel does not write.
bool readsInput(mlir::Operation *op, const HostSide &host);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_OPERANDCHAIN_H
