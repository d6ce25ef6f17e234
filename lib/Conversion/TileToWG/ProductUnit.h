// What multiplies: the rule by which each tile.dot becomes a wg.mma, a wg.mma_sync or a loop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTUNIT_H
#define GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTUNIT_H

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"

#include "mlir/IR/Builders.h"

namespace girih::wg {

enum class ProductUnit {
  Wgmma,   ///< a warpgroup, operand b from shared memory
  MmaSync, ///< warps, both operands from registers
  Threads, ///< a loop over K of column times row
};

struct UnitChoice {
  ProductUnit unit;
  /// Why it is none of the units before, in the order of the enumeration; empty for the first.
  std::string why;
};

/// wgmma where types and extents are its own, M a multiple of 64 among them; else mma.sync where
/// they are that one's, M a multiple of 16 or a part of it, and sum and operands fit the registers
/// of two warpgroups; else threads.
UnitChoice chooseUnit(tile::DotOp dot);

/// The same for code whose author has given it roles: its operands are tiles in registers, and only
/// its author knows of buffers that wgmma could read.
UnitChoice chooseUnitInRole(tile::DotOp dot);

/// Rows of one instruction of mma.sync, to which fewer are repeated.
inline constexpr int64_t kMmaSyncRows = 16;

/// Registers of 32 bits that each thread has of a tile with a layout.
int64_t threadRegisters(mlir::RankedTensorType tile);

/// The types of a wg.mma_sync for a product, shared by `warps` of each of `warpgroups`.
struct MmaSyncTypes {
  mlir::RankedTensorType a, b, sum;
};
MmaSyncTypes mmaSyncTypes(tile::DotOp dot, int64_t warps, int64_t warpgroups);

/// Whether the warps can read a fragment from a buffer, with the same instructions for all.
bool isReadable(mlir::RankedTensorType fragment, BufferType buffer);

/// The wg.mma_sync of a product with its operands in fragments; from zeros on if `accumulator` is
/// null.
mlir::Value createMmaSync(mlir::OpBuilder &builder, tile::DotOp dot, mlir::Value a, mlir::Value b,
                          mlir::Value accumulator, mlir::RankedTensorType sum);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_PRODUCTUNIT_H
