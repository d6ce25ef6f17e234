// Values of roles; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleContext.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg {

static Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// Ops that one thread of a warp, warpgroup or role executes.
static bool needsElection(Operation *op) {
  return isa<TmaLoadOp, TmaStoreOp, BulkCommitOp, BulkWaitOp, ElectOp>(op);
}

RoleContext RoleContexts::create(OpBuilder &builder, Location loc, Value thread, Value warp,
                                 Region &region, int64_t first, int64_t warps, bool each,
                                 bool single) {
  RoleContext context;
  context.first = first;
  context.warps = warps;
  context.ctas = clusterCtas(region.getParentOp());
  context.each = each;
  context.single = single;
  context.place.lane = LLVM::AndOp::create(builder, loc, thread, constant(builder, loc, 31));
  context.place.warp = LLVM::AndOp::create(builder, loc, warp, constant(builder, loc, 3));
  Value group = LLVM::LShrOp::create(builder, loc, warp, constant(builder, loc, 2));
  context.place.warpgroup = LLVM::SubOp::create(builder, loc, group, constant(builder, loc, first));
  if (single)
    return context;

  bool elects = false;
  region.walk([&](Operation *op) { elects |= needsElection(op); });
  if (!elects)
    return context;
  context.elected = NVVM::ElectSyncOp::create(builder, loc, builder.getI1Type(), Value());
  auto andEqual = [&](Value index, int64_t value) -> Value {
    Value equal = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, index,
                                       constant(builder, loc, value));
    return LLVM::AndOp::create(builder, loc, equal, context.elected);
  };
  context.groupLeader = warps > 1 ? andEqual(context.place.warp, 0) : context.elected;
  context.leader = each        ? context.groupLeader
                   : warps > 1 ? andEqual(warp, 4 * first)
                               : context.elected;
  return context;
}

LogicalResult RoleContexts::giveBarriers(gpu::GPUFuncOp kernel, ArrayRef<scf::IfOp> branches,
                                         int64_t warpgroups) {
  // A warpgroup has a barrier of its own; a role that is the whole CTA has the CTA's; roles of
  // several warpgroups count down from the last barrier.
  constexpr int64_t lastBarrier = 15;
  int64_t next = lastBarrier;
  for (scf::IfOp branch : branches) {
    RoleContext &role = roles[branch];
    if (role.warpsTogether() == 4 * warpgroups) {
      role.barrier = 0;
    } else if (role.warpsTogether() <= 4) {
      role.barrier = kFirstWarpgroupBarrier + role.first;
    } else {
      role.barrier = next--;
      if (role.barrier < kFirstWarpgroupBarrier + warpgroups)
        return emitError(branch.getLoc(), "kernel '")
               << kernel.getName() << "' has no named barrier left for a role of " << role.warps / 4
               << " warpgroups among " << warpgroups << "; expected fewer warpgroups";
    }
  }
  return success();
}

LogicalResult RoleContexts::prepare(gpu::GPUFuncOp kernel) {
  std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  if (!size)
    return kernel.emitError("kernel '")
           << kernel.getName()
           << "' has neither wg.specialize nor known_block_size; expected one of them";
  int64_t threads = 1;
  for (int32_t extent : *size)
    threads *= extent;

  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = kernel.getLoc();
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value perLane = LLVM::LShrOp::create(builder, loc, thread, constant(builder, loc, 5));
  // Broadcast, so that ptxas knows that it is the same in every lane and keeps what follows in
  // uniform registers.
  Value warp = NVVM::ShflOp::create(builder, loc, builder.getI32Type(), constant(builder, loc, -1),
                                    perLane, constant(builder, loc, 0), constant(builder, loc, 31),
                                    NVVM::ShflKind::idx, UnitAttr());

  SmallVector<scf::IfOp> branches;
  kernel.walk([&](scf::IfOp branch) {
    if (branch->hasAttr(kRoleAttr))
      branches.push_back(branch);
  });
  for (scf::IfOp branch : branches) {
    auto role = branch->getAttrOfType<DictionaryAttr>(kRoleAttr);
    OpBuilder inside = OpBuilder::atBlockBegin(branch.thenBlock());
    roles[branch] =
        create(inside, branch.getLoc(), thread, warp, branch.getThenRegion(),
               role.getAs<IntegerAttr>("first").getInt(), role.getAs<IntegerAttr>("warps").getInt(),
               role.contains("each"), role.getAs<BoolAttr>("single").getValue());
    branch.getThenRegion().walk([&](ElectOp elect) {
      elect.replaceAllUsesWith(roles[branch].elected);
      elect.erase();
    });
  }
  if (failed(giveBarriers(kernel, branches, (threads + 127) / 128)))
    return failure();
  if (branches.empty())
    kernels[kernel.getName()] =
        create(builder, loc, thread, warp, kernel.getBody(), 0, threads / 32, false, false);

  kernel.walk([&](Operation *op) {
    OpBuilder here(op);
    if (isa<gpu::SubgroupIdOp>(op)) {
      Value index = arith::IndexCastUIOp::create(here, op->getLoc(), here.getIndexType(), warp);
      op->replaceAllUsesWith(ValueRange{index});
      op->erase();
    } else if (auto elect = dyn_cast<ElectOp>(op)) {
      Value elected = kernels[kernel.getName()].elected;
      if (!elected)
        elected = NVVM::ElectSyncOp::create(here, op->getLoc(), here.getI1Type(), Value());
      elect.replaceAllUsesWith(elected);
      elect.erase();
    }
  });
  return success();
}

const RoleContext &RoleContexts::of(Operation *op) const {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto found = roles.find(parent); found != roles.end())
      return found->second;
    if (auto symbol = dyn_cast<SymbolOpInterface>(parent))
      if (auto found = kernels.find(symbol.getName()); found != kernels.end())
        return found->second;
  }
  llvm_unreachable("prepare() has seen every kernel");
}

} // namespace girih::wg
