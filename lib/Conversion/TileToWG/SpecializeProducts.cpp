// Kernels with products: a role that loads by TMA, if there is something for it to do, and one that
// computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Roles.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace girih::wg {

llvm::SetVector<Operation *> clonedOps(Block &body) {
  DenseSet<Operation *> shared;
  llvm::SetVector<Operation *> cloned;
  for (Operation &op : body.without_terminator()) {
    bool tiles = llvm::any_of(op.getResultTypes(), tile::isTile);
    bool ready = llvm::all_of(op.getOperands(), [&](Value operand) {
      return isa<BlockArgument>(operand) || shared.contains(operand.getDefiningOp());
    });
    if (op.getNumRegions() == 0 && !tiles && ready && isMemoryEffectFree(&op))
      shared.insert(&op);
    else if (isa<AllocBufferOp, AllocBarrierOp, RingOp, StoreRingOp, TurnsOp>(op))
      shared.insert(&op);
    else
      cloned.insert(&op);
  }
  return cloned;
}

MadeRings makeRings(OpBuilder &builder, gpu::GPUFuncOp kernel, const ProductPlan &plan) {
  MadeRings made;
  Location loc = kernel.getLoc();
  for (const RingPlan &ring : plan.rings) {
    IntegerAttr count;
    bool hinted = ring.inLoop && plan.stages;
    if (!ring.inLoop)
      count = builder.getI32IntegerAttr(1);
    else if (hinted)
      count = builder.getI32IntegerAttr(static_cast<int32_t>(*plan.stages));
    made.rings.push_back(RingOp::create(builder, hinted ? locationOfHints(kernel) : loc,
                                        RingType::get(kernel.getContext(), ring.buffers), count,
                                        plan.pingPong ? builder.getUnitAttr() : UnitAttr(),
                                        builder.getStringAttr(ring.name)));
  }
  for (BufferType slot : plan.storeRings)
    made.storeRings.push_back(
        StoreRingOp::create(builder, loc, StoreRingType::get(kernel.getContext(), slot),
                            builder.getI32IntegerAttr(2), builder.getStringAttr("out")));
  if (plan.pingPong) {
    auto turns = TurnsType::get(kernel.getContext(), plan.alternates);
    made.multiplying = TurnsOp::create(builder, loc, turns, builder.getStringAttr("multiplying"));
    if (!plan.stores.empty())
      made.storing = TurnsOp::create(builder, loc, turns, builder.getStringAttr("storing"));
  }
  return made;
}

static RoleOp makeRole(OpBuilder &builder, Location loc, SpecializeOp specialize, StringRef name,
                       int64_t warps, bool each) {
  builder.setInsertionPointToEnd(&specialize.getBody().front());
  auto role = RoleOp::create(builder, loc, builder.getStringAttr(name),
                             builder.getI32IntegerAttr(static_cast<int32_t>(warps)),
                             each ? builder.getUnitAttr() : UnitAttr(),
                             /*registers=*/IntegerAttr());
  builder.createBlock(&role.getBody());
  return role;
}

void dropDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        dropDead(inner);
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

LogicalResult specializeProducts(gpu::GPUFuncOp kernel, bool keepsOperands) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("has several blocks; expected structured control flow (scf)");
  HostSide host(kernel);
  FailureOr<ProductPlan> plan = planProducts(kernel, host);
  if (failed(plan))
    return failure();

  if (keepsOperands && !plan->rings.empty())
    keepOperands(*plan);

  Block &body = kernel.getBody().front();
  llvm::SetVector<Operation *> cloned = clonedOps(body);
  auto isCloned = [&](Operation *op) { return cloned.contains(op); };

  Location loc = kernel.getLoc();
  OpBuilder builder(body.getTerminator());
  MadeRings made = makeRings(builder, kernel, *plan);
  auto specialize = SpecializeOp::create(builder, loc);
  builder.createBlock(&specialize.getBody());

  specialize->setAttr(kDeriveRegistersAttr, builder.getUnitAttr());
  if (!plan->rings.empty()) {
    makeRole(builder, loc, specialize, "load", 1, /*each=*/false);
    buildProducer(builder, body, *plan, host, made, isCloned);
  }
  makeRole(builder, loc, specialize, "compute", 4 * plan->warpgroups * plan->alternates,
           plan->pingPong.has_value());
  buildConsumer(builder, body, *plan, host, made, isCloned);

  for (Operation *op : llvm::reverse(cloned.getArrayRef()))
    op->erase();
  dropDead(body);
  host.dropUnusedParameters();
  return success();
}

} // namespace girih::wg
