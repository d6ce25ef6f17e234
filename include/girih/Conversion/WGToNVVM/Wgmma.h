// The one emitter of wgmma and of its wait. Both are inline PTX of our own: upstream's ops take A
// from shared memory only, have no run-time predicate for the first k step, and their wait does
// not hold the accumulators, so LLVM moves arithmetic on them above it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_WGMMA_H
#define GIRIH_CONVERSION_WGTONVVM_WGMMA_H

#include "girih/Conversion/WGToNVVM/MatrixOperand.h"

#include "mlir/IR/Builders.h"

namespace girih::wg {

/// One wg.mma of one warpgroup: blocks * kSteps instructions m64nNkK in one group.
struct WgmmaRequest {
  /// Struct of the accumulator's registers, block after block.
  mlir::Value accumulator;
  /// A in shared memory: address of the warpgroup's first row, in units of 16 bytes (i32), and how
  /// to walk. Or, if `aFragment` is set, the struct of A's 32-bit registers: per block, per k step,
  /// four.
  mlir::Value aAddress;
  std::optional<MatrixOperand> aOperand;
  mlir::Value aFragment;
  /// B in shared memory.
  mlir::Value bAddress;
  MatrixOperand bOperand;
  /// Types of the elements of A and B, and whether integers are unsigned; M / 64 of the warpgroup;
  /// N; steps of 32 bytes of K.
  mlir::Type aType, bType;
  bool aUnsigned = false, bUnsigned = false;
  int64_t blocks = 1, n = 0, kSteps = 0;
  /// i1: false overwrites the accumulator in the first k step. Null: accumulate.
  mlir::Value accumulate;
  /// Whether other instructions may have written the registers since the last fence.
  bool fence = true;
};

/// Emits wgmma.fence, if asked for, the instructions and wgmma.commit_group as one block; returns
/// the struct of accumulators, which the instructions are still writing.
mlir::Value emitWgmma(mlir::OpBuilder &builder, mlir::Location loc, const WgmmaRequest &request);

/// Emits wgmma.wait_group `inFlight`, which takes and returns, tied, every register of
/// `accumulators` (structs) and of `fragments` (structs of A registers that instructions in flight
/// may still read). Returns the accumulators.
llvm::SmallVector<mlir::Value> emitWgmmaWait(mlir::OpBuilder &builder, mlir::Location loc,
                                             int64_t inFlight,
                                             llvm::ArrayRef<mlir::Value> accumulators,
                                             llvm::ArrayRef<mlir::Value> fragments);

/// Emits zeroes for every register of the struct `value` unless `written` (i1, the same in all
/// threads of a warp): a branch over the moves. LLVM makes a select for each register of what it
/// sees as a branch, and those cost a step of the main loop.
mlir::Value emitZeroUnless(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value written,
                           mlir::Value value);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_WGMMA_H
