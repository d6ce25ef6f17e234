// The transformations that the passes of Passes.td apply to each kernel, as functions to be called
// from C++.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_TRANSFORMS_TRANSFORMS_H
#define GIRIH_DIALECT_WG_TRANSFORMS_TRANSFORMS_H

#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Target/TargetFeatures.h"

namespace girih::wg {

/// What the module's #nvvm.target can do. Fails with an error at the module if it has no such
/// attribute or several.
mlir::FailureOr<target::TargetFeatures> targetFeatures(mlir::gpu::GPUModuleOp module);

/// Reports what would race or hang; see `wg-check-protocol`. Fails if anything was reported.
mlir::LogicalResult checkProtocol(mlir::gpu::GPUFuncOp kernel);

/// Sets the `in_flight` of waits that say `derive`; see `wg-derive-waits`. Fails, with an error,
/// where it differs by path.
mlir::LogicalResult deriveWaits(mlir::gpu::GPUFuncOp kernel);

/// Gives rings without stages the most that fits in `sharedBytes`, at most `maxStages`; see
/// `wg-choose-stages`.
void chooseStages(mlir::gpu::GPUFuncOp kernel, int64_t sharedBytes, int64_t maxStages = 4);

/// Replaces wg.fill by a loop; the results are the loop's. See `wg-expand-ring-loops`.
void expandFill(mlir::RewriterBase &rewriter, FillOp fill);
/// Replaces wg.drain by a loop and the release of the last slots. Fails, with an error, if the body
/// starts a wgmma under a condition or in a loop, for then no number says how many groups a step
/// has in flight.
mlir::LogicalResult expandDrain(mlir::RewriterBase &rewriter, DrainOp drain);

/// Replaces turns by named barriers; see `wg-lower-turns`. Fails, with an error, if there are not
/// enough of them.
mlir::LogicalResult lowerTurns(mlir::gpu::GPUFuncOp kernel);

/// Replaces rings, store rings and cursors; see `wg-lower-rings`.
mlir::LogicalResult lowerRings(mlir::gpu::GPUFuncOp kernel);

/// Sets the offsets of buffers and barriers, and `wg.shared_bytes` on the kernel; see
/// `wg-allocate-shared`. Fails, with an error that lists them, if they need more than
/// `sharedBytes`.
mlir::LogicalResult allocateShared(mlir::gpu::GPUFuncOp kernel, int64_t sharedBytes);

/// Reports faults of barriers, asynchronous work and shared memory; see `wg-check-barriers`. Fails
/// if there is one. With `remarks` it says so of a kernel that has none.
mlir::LogicalResult checkBarriers(mlir::gpu::GPUFuncOp kernel, bool remarks = false);

/// Replaces wg.specialize by branches; see `wg-lower-roles`.
mlir::LogicalResult lowerRoles(mlir::gpu::GPUFuncOp kernel);

/// Bytes of dynamic shared memory of a kernel after `wg-allocate-shared` (i32, on the gpu.func and
/// on the llvm.func).
inline constexpr llvm::StringLiteral kSharedBytesAttr = "wg.shared_bytes";
/// On a wg.wait with nothing left to wait for: no instruction comes of it.
inline constexpr llvm::StringLiteral kWaitedAttr = "waited";

/// On wg.barrier_wait: the phase stays complete until the executing warp goes on, since the next
/// one needs its arrival. So the wait may be tried again after others.
inline constexpr llvm::StringLiteral kHeldAttr = "held";
/// On the scf.if that a role has become: a dictionary of its `name`, `first` warpgroup, and
/// `warps`; whether each of its warpgroups acts for itself (`each`); and whether its body runs in
/// one elected lane (`single`).
inline constexpr llvm::StringLiteral kRoleAttr = "wg.role";

} // namespace girih::wg

#endif // GIRIH_DIALECT_WG_TRANSFORMS_TRANSFORMS_H
