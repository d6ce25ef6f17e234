// Writes decided layouts into the types of a kernel, with conversions where two meet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_APPLYLAYOUTS_H
#define GIRIH_LIB_CONVERSION_TILETOWG_APPLYLAYOUTS_H

#include "LayoutPrices.h"
#include "LayoutProblem.h"

#include "girih/Conversion/TileToWG/TileToWG.h"

namespace girih::wg {

/// Sets the types of all values. An operand that needs another layout than its value has gets a
/// conversion, or the value computed anew in the layout where that is cheaper: of constants and
/// coordinates nothing is ever moved, and a vector is converted before it becomes a matrix. Fails,
/// with an error that names both ops, if no conversion leads from one to the other.
mlir::LogicalResult applyLayouts(LayoutProblem &problem, ConversionPrices &prices,
                                 const AssignLayoutsOptions &options);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_APPLYLAYOUTS_H
