// wg-lower-turns: turns among warpgroups become named barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_LOWERTURNS
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {

Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// The largest barrier that the kernel names itself, or 0; nothing if one is not a constant.
std::optional<int64_t> lastNamedBarrier(gpu::GPUFuncOp kernel) {
  int64_t last = 0;
  bool known = true;
  kernel.walk([&](Operation *op) {
    Value id;
    if (auto sync = dyn_cast<NamedBarrierSyncOp>(op))
      id = sync.getId();
    else if (auto arrive = dyn_cast<NamedBarrierArriveOp>(op))
      id = arrive.getId();
    else
      return;
    APInt number;
    if (matchPattern(id, m_ConstantInt(&number)))
      last = std::max(last, number.getSExtValue());
    else
      known = false;
  });
  return known ? std::optional(last) : std::nullopt;
}

/// The one role whose warpgroups take these turns; null, with an error, if there are several.
FailureOr<RoleOp> roleOfTurns(TurnsOp turns) {
  RoleOp role;
  for (Operation *user : turns.getTurns().getUsers()) {
    RoleOp other = roleOf(user);
    if (!other)
      return user->emitError("expected inside a wg.role: turns are those of its warpgroups");
    if (role && other != role)
      return user->emitError("takes a turn among the warpgroups of role '")
             << role.getRoleName() << "' in role '" << other.getRoleName()
             << "'; expected a wg.turns for each role";
    role = other;
  }
  return role;
}

/// Replaces one wg.turns by the barriers from `first` on.
void lowerTo(int64_t first, TurnsOp turns, RoleOp role) {
  int64_t warpgroups = turns.getTurns().getType().getWarpgroups();
  constexpr uint32_t threads = 256; // the warpgroup whose turn it is and the one before
  Location loc = turns.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&role.getBody().front());
  Value index = WarpgroupIndexOp::create(builder, loc);
  Value last = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index,
                                     constant(builder, loc, warpgroups - 1));
  Value barrier = constant(builder, loc, first);
  Value mine = arith::AddIOp::create(builder, loc, index, barrier);
  Value after = arith::AddIOp::create(builder, loc, mine, constant(builder, loc, 1));
  Value next = arith::SelectOp::create(builder, loc, last, barrier, after);
  auto branch = scf::IfOp::create(builder, loc, last, /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  NamedBarrierArriveOp::create(inside, loc, barrier, threads);

  for (Operation *user : llvm::make_early_inc_range(turns.getTurns().getUsers())) {
    OpBuilder here(user);
    if (isa<TakeTurnOp>(user))
      NamedBarrierSyncOp::create(here, user->getLoc(), mine, threads);
    else
      NamedBarrierArriveOp::create(here, user->getLoc(), next, threads);
    user->erase();
  }
}

} // namespace

LogicalResult lowerTurns(gpu::GPUFuncOp kernel) {
  SmallVector<TurnsOp> all;
  kernel.walk([&](TurnsOp turns) { all.push_back(turns); });
  std::optional<int64_t> named = all.empty() ? 0 : lastNamedBarrier(kernel);
  int64_t end = kLastTurnBarrier + 1;
  for (TurnsOp turns : all) {
    FailureOr<RoleOp> role = roleOfTurns(turns);
    if (failed(role))
      return failure();
    if (*role) {
      end -= turns.getTurns().getType().getWarpgroups();
      if (!named)
        return turns.emitOpError("takes named barriers, and the kernel uses some whose numbers are "
                                 "not constants; expected constants, so that they can be told "
                                 "apart");
      if (end <= *named)
        return turns.emitOpError("takes the named barriers from ")
               << end << " on, and "
               << (*named ? "the kernel uses those up to " + std::to_string(*named)
                          : std::string("there are none below 1"))
               << "; expected fewer turns, or fewer barriers of the kernel's own";
      lowerTo(end, turns, *role);
    }
    turns.erase();
  }
  return success();
}

namespace {
struct LowerTurns : impl::LowerTurnsBase<LowerTurns> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(lowerTurns(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
