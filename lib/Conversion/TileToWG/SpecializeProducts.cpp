// Kernels with products: a role that loads by TMA, if there is something for it to do, and one that
// computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Roles.h"
#include "girih/Conversion/TileToWG/TileToWG.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace girih::wg {

DenseSet<Operation *> sharedOps(Block &body) {
  DenseSet<Operation *> shared;
  for (Operation &op : body.without_terminator()) {
    bool tiles = llvm::any_of(op.getResultTypes(), tile::isTile);
    bool ready = llvm::all_of(op.getOperands(), [&](Value operand) {
      return isa<BlockArgument>(operand) || shared.contains(operand.getDefiningOp());
    });
    if (op.getNumRegions() == 0 && !tiles && ready && isMemoryEffectFree(&op))
      shared.insert(&op);
    else if (isa<AllocBufferOp, AllocBarrierOp, RingOp, StoreRingOp, TurnsOp>(op))
      shared.insert(&op);
  }
  return shared;
}

MadeRings makeRings(OpBuilder &builder, gpu::GPUFuncOp kernel, const ProductPlan &plan) {
  MadeRings made;
  Location loc = kernel.getLoc();
  std::optional<int64_t> stages = hintOf(kernel, "stages");
  for (const RingPlan &ring : plan.rings) {
    IntegerAttr count;
    if (!ring.inLoop)
      count = builder.getI32IntegerAttr(1);
    else if (stages)
      count = builder.getI32IntegerAttr(static_cast<int32_t>(*stages));
    made.rings.push_back(RingOp::create(builder, loc,
                                        RingType::get(kernel.getContext(), ring.buffers), count,
                                        UnitAttr(), builder.getStringAttr(ring.name)));
  }
  for (BufferType slot : plan.storeRings)
    made.storeRings.push_back(
        StoreRingOp::create(builder, loc, StoreRingType::get(kernel.getContext(), slot),
                            builder.getI32IntegerAttr(2), builder.getStringAttr("out")));
  return made;
}

namespace {
/// Registers of each thread, as setmaxnreg counts them.
struct Budget {
  int64_t load, compute;
};
} // namespace

/// What the launch allots goes to the role that computes, except for what addresses of copies need.
static Budget budgetOf(int64_t warpgroups) {
  Budget budget{warpgroups > 2 ? 32 : 40, 0};
  int64_t all = (warpgroups + 1) * getLaunchRegisters((warpgroups + 1) * 128);
  budget.compute = std::min<int64_t>(240, (all - budget.load) / warpgroups / 8 * 8);
  return budget;
}

/// A sum stays in registers while products add to it, beside addresses, cursors and what operands
/// are there. ptxas would
/// take a larger one as a reason to let products run one after the other.
static LogicalResult checkSums(const ProductPlan &plan, int64_t registers) {
  constexpr int64_t others = 24;
  for (const Product &product : plan.products) {
    tile::DotOp dot = product.dot;
    RankedTensorType sum = dot.getResult().getType();
    int64_t threads = 128 * plan.warpgroups, needed = product.sumRegisters(plan.warpgroups);
    int64_t operands = product.operandRegisters(plan.warpgroups);
    if (needed + operands + others <= registers)
      continue;
    InFlightDiagnostic error = dot.emitError("the product of ")
                               << sum.getDimSize(0) << "x" << sum.getDimSize(1)
                               << " does not fit the registers; expected at most ";
    if (operands)
      error << registers - others << " of each thread for its sum and operands, found "
            << needed + operands << ": use a smaller tile";
    else
      error << (registers - others) * threads << " elements, found " << sum.getNumElements()
            << ": use a smaller tile";
    error.attachNote() << registers << " registers: what each of the " << threads
                       << " threads that multiply has";
    error.attachNote() << needed << " registers: the product's elements"
                       << (operands ? "" : ", one each");
    if (operands)
      error.attachNote() << operands << " registers: the operands of mma.sync";
    error.attachNote() << others << " registers: addresses and cursors, at least";
    return error;
  }
  return success();
}

static RoleOp makeRole(OpBuilder &builder, Location loc, SpecializeOp specialize, StringRef name,
                       int64_t warps, std::optional<int64_t> registers) {
  builder.setInsertionPointToEnd(&specialize.getBody().front());
  auto role = RoleOp::create(builder, loc, builder.getStringAttr(name),
                             builder.getI32IntegerAttr(static_cast<int32_t>(warps)), UnitAttr(),
                             registers ? builder.getI32IntegerAttr(static_cast<int32_t>(*registers))
                                       : IntegerAttr());
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

LogicalResult specializeProducts(gpu::GPUFuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("has several blocks; expected structured control flow (scf)");
  HostSide host(kernel);
  FailureOr<ProductPlan> plan = planProducts(kernel, host);
  if (failed(plan))
    return failure();

  std::optional<Budget> budget;
  if (!plan->rings.empty())
    budget = budgetOf(plan->warpgroups);
  if (failed(
          checkSums(*plan, budget ? budget->compute : getLaunchRegisters(128 * plan->warpgroups))))
    return failure();

  Block &body = kernel.getBody().front();
  DenseSet<Operation *> shared = sharedOps(body);
  llvm::SetVector<Operation *> cloned;
  for (Operation &op : body.without_terminator())
    if (!shared.contains(&op))
      cloned.insert(&op);
  auto isCloned = [&](Operation *op) { return cloned.contains(op); };

  Location loc = kernel.getLoc();
  OpBuilder builder(body.getTerminator());
  MadeRings made = makeRings(builder, kernel, *plan);
  auto specialize = SpecializeOp::create(builder, loc);
  builder.createBlock(&specialize.getBody());

  if (budget) {
    makeRole(builder, loc, specialize, "load", 1, budget->load);
    buildProducer(builder, body, *plan, host, made, isCloned);
  }
  makeRole(builder, loc, specialize, "compute", 4 * plan->warpgroups,
           budget ? std::optional(budget->compute) : std::nullopt);
  buildConsumer(builder, body, *plan, host, made, isCloned);

  for (Operation *op : llvm::reverse(cloned.getArrayRef()))
    op->erase();
  dropDead(body);
  host.dropUnusedParameters();
  return success();
}

} // namespace girih::wg
