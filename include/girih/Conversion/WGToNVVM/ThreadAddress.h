// From a girih::Layout to the arithmetic that computes it: the offset that this thread's part of a
// tile has in a buffer.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_THREADADDRESS_H
#define GIRIH_CONVERSION_WGTONVVM_THREADADDRESS_H

#include "girih/Layout/Layout.h"

#include "mlir/IR/Builders.h"

namespace girih::wg {

/// Where a thread stands in its role, as i32 values.
struct ThreadPlace {
  mlir::Value lane, warp,
      warpgroup; ///< lane of the warp, warp of the warpgroup, warpgroup of the role
};

/// The out coordinate `out` (dim `outDim` of `layout`) at `place`, times `scale`, a power of two:
/// an XOR of masked shifts for the atom, a multiplication for each counter. `layout` has in
/// dimensions lane, warp, warpgroup only.
mlir::Value emitLayout(mlir::OpBuilder &builder, mlir::Location loc, const Layout &layout,
                       Dim outDim, const ThreadPlace &place, int64_t scale);

} // namespace girih::wg

#endif // GIRIH_CONVERSION_WGTONVVM_THREADADDRESS_H
