// Decides the layout of every tie of a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_SOLVELAYOUTS_H
#define GIRIH_LIB_CONVERSION_TILETOWG_SOLVELAYOUTS_H

#include "LayoutPrices.h"
#include "LayoutProblem.h"

#include "girih/Conversion/TileToWG/TileToWG.h"

namespace girih::wg {

/// Gives each tie a layout. Layouts spread from tie to tie, from those that are fixed first, then
/// from accesses to memory, the largest first; where an access would rather have its own, and a
/// conversion to it is cheaper than what it saves, it gets it. Several accesses are tried as the
/// first, and the decision with the fewest transactions of memory is taken. Then every link holds,
/// and what does not agree is between a value and an operand, where a conversion can stand. Fails,
/// with an error, if a link cannot hold.
mlir::LogicalResult solveLayouts(LayoutProblem &problem, ConversionPrices &prices,
                                 const AssignLayoutsOptions &options);

/// The warps that execute an op: its role's, or the kernel's.
int64_t warpsAround(mlir::Operation *op);

/// The view that a tie moves its tile to or from along the tile's own dimensions, if it is such an
/// access.
tile::ViewType viewOf(const Tie &tie);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_SOLVELAYOUTS_H
