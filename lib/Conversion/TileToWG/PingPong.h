// Whether the warpgroups of a kernel can work on alternate tiles, and what they must know to do so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_PINGPONG_H
#define GIRIH_LIB_CONVERSION_TILETOWG_PINGPONG_H

#include "ProductPlan.h"
#include "girih/Layout/Result.h"

namespace girih::wg {

/// The loop over the tiles of a CTA that stays, in the body of a kernel: its step is the number of
/// CTAs. Null if each CTA has one tile.
mlir::scf::ForOp findTileLoop(mlir::gpu::GPUFuncOp kernel);

/// How warpgroups can take every n-th tile of the loop, or why they cannot. Scalars that do not
/// change from tile to tile are moved out of the loop.
Result<PingPong> planPingPong(mlir::gpu::GPUFuncOp kernel, const ProductPlan &plan);

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_PINGPONG_H
