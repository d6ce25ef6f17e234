// A tile that is loaded only to be put into a buffer: cp.async, without a trip through registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_ASYNCCOPY_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_ASYNCCOPY_H

#include "LocalAccess.h"
#include "TileMove.h"

namespace girih::wg {

/// Notes that the tile of a wg.local_store is copied by cp.async, if it comes from a tile.load or
/// tile.take for no other use, elements outside are zero, and 4 bytes or more lie side by side in
/// the view and in the buffer. What is planned for the load must be known.
void planAsyncCopy(LocalStoreOp store, ConversionState &state);

/// In place of a load: copies the tile of `move` into the buffer, each thread its part. Nothing
/// reads the load's result then.
void copyInstead(mlir::ConversionPatternRewriter &rewriter, mlir::Operation *load,
                 const TileMove &move, const AsyncCopy &copy);
/// Waits for the copies of the executing thread.
void emitAsyncWait(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_ASYNCCOPY_H
