// wg-lower-roles: wg.specialize becomes branches on the warpgroup's index.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_LOWERROLES
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value compare(OpBuilder &builder, Location loc, arith::CmpIPredicate predicate, Value left,
              int64_t right) {
  return arith::CmpIOp::create(builder, loc, predicate, left, constant(builder, loc, right));
}

/// Whether one lane may run the role's body alone: every op with an effect is one that a single
/// thread issues for the role, or stands under the elected lane's condition; waits may be done by
/// anyone. A tile is held by all lanes.
bool runsInOneLane(RoleOp role) {
  if (role.getWarps() != 1)
    return false;
  WalkResult walk = role.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<TmaLoadOp, TmaStoreOp, BulkCommitOp, BulkWaitOp, BarrierWaitOp, FenceProxyAsyncOp>(op))
      return WalkResult::advance();
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool elected =
          branch.getCondition().getDefiningOp<ElectOp>() && branch.getElseRegion().empty();
      return elected ? WalkResult::skip() : WalkResult::advance();
    }
    if (llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile))
      return WalkResult::interrupt();
    if (isa<scf::ForOp, scf::WhileOp, scf::IndexSwitchOp>(op) || isMemoryEffectFree(op))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

/// What the warps of `role` do, at the builder's place; `allotted` registers are what each thread
/// has by then.
void lowerRole(OpBuilder &builder, RoleOp role, Value warp, int64_t allotted) {
  Location loc = role.getLoc();
  int64_t first = firstWarpgroup(role), warps = role.getWarps();
  // Every warp of the warpgroups changes its registers, idle ones included (PTX ISA 9.0, 9.7.19.5).
  if (std::optional<uint32_t> registers = role.getRegisters()) {
    bool more = static_cast<int64_t>(*registers) > allotted;
    SetRegistersOp::create(builder, loc, more ? RegisterChange::Increase : RegisterChange::Decrease,
                           *registers);
  }

  bool oneLane = runsInOneLane(role);
  Value works = compare(builder, loc, arith::CmpIPredicate::ult, warp, 4 * first + warps);
  auto branch = scf::IfOp::create(builder, loc, works, /*withElseRegion=*/false);
  Block *body = &role.getBody().front();
  if (oneLane) {
    OpBuilder inside = branch.getThenBodyBuilder();
    Value elected = ElectOp::create(inside, loc);
    branch = scf::IfOp::create(inside, loc, elected, /*withElseRegion=*/false);
    // In the elected lane the question is answered.
    role.walk([&](ElectOp elect) {
      OpBuilder here(elect);
      Value yes = arith::ConstantOp::create(here, elect.getLoc(), here.getBoolAttr(true));
      elect.replaceAllUsesWith(yes);
      elect.erase();
    });
  }
  Builder attributes(role.getContext());
  NamedAttrList description;
  description.append("name", role.getRoleNameAttr());
  description.append("first", attributes.getI32IntegerAttr(first));
  description.append("warps", attributes.getI32IntegerAttr(warps));
  description.append("single", attributes.getBoolAttr(oneLane));
  if (role.getEach())
    description.append("each", attributes.getUnitAttr());
  branch->setAttr(kRoleAttr, description.getDictionary(role.getContext()));
  Block *then = branch.thenBlock();
  then->getOperations().splice(then->begin(), body->getOperations());
}

/// One thread initialises the barriers and makes them visible to the asynchronous proxy, then the
/// CTA meets; or the cluster, if CTAs reach into each other, which then meets once more at the end.
void guardBarrierInit(gpu::GPUFuncOp kernel) {
  SmallVector<BarrierInitOp> inits(kernel.getBody().front().getOps<BarrierInitOp>());
  if (inits.empty())
    return;
  OpBuilder builder(inits.back());
  builder.setInsertionPointAfter(inits.back());
  Location loc = inits.front().getLoc();
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value index = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), thread);
  Value first = compare(builder, loc, arith::CmpIPredicate::eq, index, 0);
  auto branch = scf::IfOp::create(builder, loc, first, /*withElseRegion=*/false);
  Operation *end = branch.thenBlock()->getTerminator();
  for (BarrierInitOp init : inits)
    init->moveBefore(end);
  OpBuilder inside(end);
  BarrierInitFenceOp::create(inside, loc);
  if (!reachesOtherCtas(kernel)) {
    gpu::BarrierOp::create(builder, loc);
    return;
  }
  ClusterSyncOp::create(builder, loc);
  builder.setInsertionPoint(kernel.getBody().back().getTerminator());
  ClusterSyncOp::create(builder, loc);
}

} // namespace

LogicalResult lowerRoles(gpu::GPUFuncOp kernel) {
  SmallVector<SpecializeOp> specializes;
  kernel.walk([&](SpecializeOp op) { specializes.push_back(op); });
  if (specializes.size() > 1)
    return specializes[1].emitOpError(
        "is the second of the kernel; expected one, since it decides the CTA's size");
  guardBarrierInit(kernel);
  if (specializes.empty())
    return success();

  SpecializeOp specialize = specializes.front();
  MLIRContext *context = kernel.getContext();
  Location loc = specialize.getLoc();
  int64_t threads = specialize.getNumThreads();
  kernel.setKnownBlockSizeAttr(
      DenseI32ArrayAttr::get(context, {static_cast<int32_t>(threads), 1, 1}));

  OpBuilder builder(specialize);
  Value subgroup = gpu::SubgroupIdOp::create(builder, loc, builder.getIndexType(), IntegerAttr());
  Value warp = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), subgroup);
  Value group = arith::ShRUIOp::create(builder, loc, warp, constant(builder, loc, 2));

  SmallVector<RoleOp> roles(specialize.getRoles());
  for (RoleOp role : roles) {
    Location roleLoc = role.getLoc();
    int64_t first = firstWarpgroup(role);
    role.walk([&](WarpgroupIndexOp index) {
      OpBuilder inside(index);
      Value value = arith::SubIOp::create(inside, index.getLoc(), group,
                                          constant(inside, index.getLoc(), first));
      index.replaceAllUsesWith(value);
      index.erase();
    });

    // The last role needs no question: whoever has come this far is of it.
    OpBuilder rest = builder;
    if (role != roles.back()) {
      Value mine = compare(builder, roleLoc, arith::CmpIPredicate::ult, group,
                           first + role.getNumWarpgroups());
      auto branch = scf::IfOp::create(builder, roleLoc, mine, /*withElseRegion=*/true);
      builder = branch.getThenBodyBuilder();
      rest = branch.getElseBodyBuilder();
    }
    lowerRole(builder, role, warp, getLaunchRegisters(threads));
    builder = rest;
  }
  specialize.erase();
  return success();
}

namespace {
struct LowerRoles : impl::LowerRolesBase<LowerRoles> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(lowerRoles(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
