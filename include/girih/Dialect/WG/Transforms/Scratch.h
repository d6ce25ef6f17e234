// Shared memory that an op needs while it runs and that holds nothing between ops: partial results
// of reductions across warps, tiles on their way from one layout into another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_TRANSFORMS_SCRATCH_H
#define GIRIH_DIALECT_WG_TRANSFORMS_SCRATCH_H

#include "girih/Dialect/WG/IR/WG.h"

namespace girih::wg {

/// Where an op's scratch is, after `wg-allocate-shared`: its offset in shared memory and, for
/// warpgroups that each act for themselves, the distance from one's to the next's (an array of two
/// i32). All ops that the same warps execute share one place: each begins with a barrier of these
/// warps.
inline constexpr llvm::StringLiteral kScratchAttr = "wg.scratch";

/// Bytes of scratch of one op where `warps` warps execute it together; 0 where it needs none. Fails
/// with an error at the op if its layouts allow no way at all.
mlir::FailureOr<int64_t> scratchBytes(mlir::Operation *op, int64_t warps);

/// Bytes of a value on its way through scratch or a shuffle: 4, or 8.
int64_t carrierBytes(mlir::Type elementType);
/// Bytes of an element that lies beside its neighbours in scratch: 1, 2, 4 or 8.
int64_t elementBytes(mlir::Type elementType);

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_TRANSFORMS_SCRATCH_H
