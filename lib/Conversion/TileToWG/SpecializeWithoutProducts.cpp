// Kernels without products: one role, whose warps share every tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Hints.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace girih::wg {

/// Elements of the largest tile of a kernel; 0 without tiles.
static int64_t largestTile(gpu::GPUFuncOp kernel) {
  int64_t largest = 0;
  kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (tile::isTile(type))
        largest = std::max(largest, cast<RankedTensorType>(type).getNumElements());
  });
  return largest;
}

/// The warps that the hints ask for, or what the largest tile suggests. 32 elements a thread leave
/// registers for a few tiles of that size at once; a fifth warpgroup would halve them.
static FailureOr<int64_t> chooseWarps(gpu::GPUFuncOp kernel) {
  Location loc = locationOfHints(kernel);
  if (clusterCtas(kernel) > 1)
    return emitError(loc, "a cluster of ")
           << clusterCtas(kernel) << " CTAs shares nothing here; expected a kernel with products, "
           << "whose operands its CTAs have in common: leave the cluster out";
  auto hints = kernel->getAttrOfType<DictionaryAttr>(kHintsAttr);
  for (NamedAttribute hint : hints ? hints.getValue() : ArrayRef<NamedAttribute>()) {
    if (hint.getName() == kHintsLocation)
      continue;
    if (hint.getName() != "warps")
      return emitError(loc, "the hint ")
             << hint.getName().getValue()
             << " is for kernels with products, and this one has none; expected only warps";
    auto warps = dyn_cast<IntegerAttr>(hint.getValue());
    if (warps && llvm::is_contained({1, 2, 4, 8, 12, 16, 20, 24, 28, 32}, warps.getInt()))
      return warps.getInt();
    return emitError(loc, "the hint warps is ")
           << hint.getValue() << "; expected 1, 2 or a multiple of 4 up to 32 (whole warpgroups)";
  }
  int64_t warpgroups = 1;
  while (warpgroups < 4 && largestTile(kernel) > warpgroups * 128 * 32)
    warpgroups *= 2;
  return 4 * warpgroups;
}

LogicalResult specializeWithoutProducts(gpu::GPUFuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("has several blocks; expected structured control flow (scf)");
  FailureOr<int64_t> warps = chooseWarps(kernel);
  if (failed(warps))
    return failure();

  Location loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  auto specialize = SpecializeOp::create(builder, loc);
  builder.createBlock(&specialize.getBody());
  auto role = RoleOp::create(builder, loc, builder.getStringAttr("main"),
                             builder.getI32IntegerAttr(static_cast<int32_t>(*warps)),
                             /*each=*/UnitAttr(), /*registers=*/IntegerAttr());
  Block *inside = builder.createBlock(&role.getBody());

  // What is allocated in shared memory belongs to the kernel's entry; all else is the role's.
  for (Operation &op : llvm::make_early_inc_range(body))
    if (&op != specialize && &op != end &&
        !isa<AllocBufferOp, AllocBarrierOp, RingOp, StoreRingOp, TurnsOp>(op))
      op.moveBefore(inside, inside->end());
  return success();
}

} // namespace girih::wg
