// What the author of a kernel with products asks of tile-specialize.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_HINTS_H
#define GIRIH_LIB_CONVERSION_TILETOWG_HINTS_H

#include "girih/Conversion/TileToWG/TileToWG.h"

namespace girih::wg {

/// How several warpgroups share the tiles of a CTA.
enum class RoleForm {
  Cooperative, ///< each has a part of every tile's rows
  PingPong,    ///< each has every n-th tile, and they take turns
};

/// The hints of a kernel; what is absent is for the pass to choose.
struct Hints {
  mlir::Location loc; ///< of whoever stated them
  std::optional<int64_t> warps, stages;
  std::optional<RoleForm> roles;
};

/// Reads `girih.hints`; fails, with an error, if there is one that no kernel with products has.
mlir::FailureOr<Hints> readHints(mlir::gpu::GPUFuncOp kernel);

/// Where the hints of a kernel were stated: their `at`, or the kernel.
mlir::Location locationOfHints(mlir::gpu::GPUFuncOp kernel);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_HINTS_H
