// wg-budget-registers: what each role's threads get of the registers that the launch allots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LiveRegisters.h"
#include "ProductUnit.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_BUDGETREGISTERS
#include "girih/Conversion/TileToWG/Passes.h.inc"

namespace {

// Beside tiles a role that multiplies needs so many at least, for addresses, cursors and other
// numbers, most of which ptxas keeps in uniform registers; a role that copies has its numbers, and
// these for what ptxas makes of them.
constexpr int64_t kBesideTiles = 24, kBesideNumbers = 16;
// PTX ISA 9.0, 9.7.19.5: the least that setmaxnreg takes; above 240 a thread gets no more from
// ptxas than with it.
constexpr int64_t kLeast = 24, kMost = 240;
// What a role that loads is left if products do not need it, and what it gets if nobody does.
constexpr int64_t kModest = 32, kAmple = 40;

RankedTensorType tileOf(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    return pending.getTile();
  return dyn_cast<RankedTensorType>(type);
}

/// What a role's threads hold where they hold most.
struct Need {
  RoleOp role;
  Operation *at = nullptr;       ///< a product or a copy; null if there is none
  bool computes = false;         ///< does not load for others
  SmallVector<LiveValue> values; ///< only tiles if it computes
  int64_t budget = 0;

  int64_t registers() const { return sumOf(values) + (computes ? kBesideTiles : kBesideNumbers); }
};

Need needOf(RoleOp role) {
  Need need;
  need.role = role;
  auto look = [&](Operation *op) {
    SmallVector<LiveValue> values = liveAt(op);
    llvm::erase_if(values, [&](const LiveValue &live) {
      return need.computes && !tileOf(live.value.getType());
    });
    if (need.at && sumOf(values) <= sumOf(need.values))
      return;
    need.at = op;
    need.values = std::move(values);
  };
  need.computes = !role.walk([](TmaLoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
  role.walk([&](Operation *op) {
    if (need.computes ? isa<MmaOp, MmaSyncOp>(op) : isa<TmaLoadOp>(op))
      look(op);
  });
  return need;
}

/// "128x256 of f32".
std::string describe(RankedTensorType tile) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleave(tile.getShape(), out, "x");
  out << " of " << tile.getElementType();
  return text;
}

void remark(Need &need) {
  Location loc = need.at ? need.at->getLoc() : need.role.getLoc();
  InFlightDiagnostic diagnostic = emitRemark(loc, "role '")
                                  << need.role.getRoleName() << "' has " << need.budget
                                  << " registers a thread; most are alive here: ";
  if (!need.computes) {
    diagnostic << sumOf(need.values) << " of numbers, " << kBesideNumbers << " beside";
    return;
  }
  for (const LiveValue &live : need.values)
    diagnostic << live.registers << " of a tile of " << describe(tileOf(live.value.getType()))
               << ", ";
  diagnostic << kBesideTiles << " beside";
}

/// A role that multiplies and does not fit: line by line what it holds.
LogicalResult refuse(Need &need) {
  int64_t budget = need.budget;
  auto async = dyn_cast<MmaOp>(need.at);
  Value started =
      async ? Value(async.getAccumulator()) : Value(cast<MmaSyncOp>(need.at).getAccumulator());
  RankedTensorType sum = tileOf(started.getType());
  int64_t threads = need.role.getTileWarpgroups() * 128;
  int64_t others = need.registers() - threadRegisters(sum);
  InFlightDiagnostic error = need.at->emitError("the product of ")
                             << sum.getDimSize(0) << "x" << sum.getDimSize(1)
                             << " does not fit the registers; expected at most "
                             << std::max<int64_t>(0, budget - others) * threads
                             << " elements, found " << sum.getNumElements()
                             << ": use a smaller tile";
  error.attachNote() << budget << " registers: what each of the " << threads
                     << " threads that share it has";
  for (const LiveValue &live : need.values) {
    if (live.value == started) {
      error.attachNote() << live.registers << " registers: the product's elements, one each";
      continue;
    }
    bool isOperand = llvm::is_contained(need.at->getOperands(), live.value);
    error.attachNote(live.value.getLoc())
        << live.registers << " registers: a tile of " << describe(tileOf(live.value.getType()))
        << (isOperand ? ", an operand" : " that lives on meanwhile");
  }
  error.attachNote() << kBesideTiles << " registers: addresses and cursors, at least";
  return error;
}

} // namespace

/// Sets each need's budget: roles that load get `least` or what they need, the others share the
/// rest.
static void share(MutableArrayRef<Need> needs, int64_t all, int64_t least) {
  int64_t multiplying = 0, left = all;
  for (Need &need : needs) {
    int64_t warpgroups = need.role.getNumWarpgroups();
    need.budget = std::max<int64_t>(least, llvm::alignTo(need.registers(), 8));
    if (need.computes)
      multiplying += warpgroups;
    else
      left -= need.budget * warpgroups;
  }
  for (Need &need : needs)
    if (need.computes)
      need.budget = std::min(kMost, left / multiplying / 8 * 8);
}

/// Gives roles that load what the others cannot have.
static void shareRemainder(MutableArrayRef<Need> needs, int64_t all) {
  for (Need &need : needs)
    all -= need.budget * need.role.getNumWarpgroups();
  for (Need &need : needs) {
    int64_t warpgroups = need.role.getNumWarpgroups();
    int64_t more = std::min(all / warpgroups / 8 * 8, kAmple - need.budget);
    if (need.computes || more <= 0)
      continue;
    need.budget += more;
    all -= more * warpgroups;
  }
}

LogicalResult budgetRegisters(gpu::GPUFuncOp kernel) {
  SpecializeOp specialize;
  kernel.walk([&](SpecializeOp op) {
    if (op->removeAttr(kDeriveRegistersAttr))
      specialize = op;
  });
  if (!specialize)
    return success();

  SmallVector<Need> needs = llvm::map_to_vector(specialize.getRoles(), needOf);
  int64_t launch = getLaunchRegisters(specialize.getNumThreads());
  int64_t all = launch * (specialize.getNumThreads() / 128);
  auto lacks = [](const Need &need) { return need.computes && need.registers() > need.budget; };
  if (needs.size() == 1) {
    needs[0].budget = launch;
    return lacks(needs[0]) ? refuse(needs[0]) : success();
  }
  share(needs, all, kModest);
  if (llvm::any_of(needs, lacks))
    share(needs, all, kLeast);
  for (Need &need : needs)
    if (lacks(need))
      return refuse(need);
  shareRemainder(needs, all);
  for (Need &need : needs) {
    need.role.setRegisters(static_cast<uint32_t>(need.budget));
    remark(need);
  }
  return success();
}

namespace {
struct BudgetRegisters : impl::BudgetRegistersBase<BudgetRegisters> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(budgetRegisters(kernel)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
