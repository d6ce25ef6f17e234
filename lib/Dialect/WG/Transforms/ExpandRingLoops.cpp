// wg-expand-ring-loops: wg.fill and wg.drain become scf.for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_EXPANDRINGLOOPS
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

static Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// An scf.for over 0, 1, ..., count - 1 that LLVM must neither unroll nor peel. The attribute's
/// name is the one under which upstream's lowering hands it to the branch.
static scf::ForOp stepLoop(OpBuilder &builder, Location loc, Value count, ValueRange inits) {
  auto loop = scf::ForOp::create(builder, loc, constant(builder, loc, 0), count,
                                 constant(builder, loc, 1), inits);
  MLIRContext *context = builder.getContext();
  LLVM::LoopUnrollAttr unroll =
      LLVM::LoopUnrollAttr::get(context, builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}, {}));
  return loop;
}

void expandFill(RewriterBase &rewriter, FillOp fill) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(fill);
  Location loc = fill.getLoc();
  SmallVector<Value> inits{fill.getCursor()};
  llvm::append_range(inits, fill.getInits());
  scf::ForOp loop = stepLoop(rewriter, loc, fill.getCount(), inits);
  Block::BlockArgListType carried = loop.getRegionIterArgs();
  Value cursor = carried[0];

  Block *body = loop.getBody();
  rewriter.setInsertionPointToStart(body);
  auto acquire = AcquireOp::create(rewriter, loc, fill.getRing(), cursor);
  SmallVector<Value> arguments{loop.getInductionVar()};
  llvm::append_range(arguments, acquire.getSlot());
  llvm::append_range(arguments, carried.drop_front());
  YieldOp yield = fill.getYield();
  rewriter.inlineBlockBefore(&fill.getBody().front(), body, body->end(), arguments);
  SmallVector<Value> next(yield.getValues());
  rewriter.eraseOp(yield);
  rewriter.setInsertionPointToEnd(body);
  PublishOp::create(rewriter, loc, fill.getRing(), cursor);
  next.insert(next.begin(), AdvanceOp::create(rewriter, loc, fill.getRing(), cursor));
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.replaceOp(fill, loop.getResults());
}

/// Replaces the pending values among `values` by what one wait for `inFlight` groups returns for
/// them.
static void waitForPending(OpBuilder &builder, Location loc, MutableArrayRef<Value> values,
                           int64_t inFlight) {
  SmallVector<Value> pending;
  for (Value value : values)
    if (isa<PendingType>(value.getType()))
      pending.push_back(value);
  if (pending.empty())
    return;
  auto wait = WaitOp::create(builder, loc, ValueRange(pending).getTypes(), pending,
                             builder.getI32IntegerAttr(static_cast<int32_t>(inFlight)), Value());
  auto result = wait.getResults().begin();
  for (Value &value : values)
    if (isa<PendingType>(value.getType()))
      value = *result++;
}

/// Frees the slot at `cursor` if `left` >= `right`.
static void freeIf(OpBuilder &builder, Location loc, Value ring, Value cursor, Value left,
                   Value right) {
  Value condition = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, left, right);
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  FreeOp::create(inside, loc, ring, cursor);
}

/// The scf.if at the end of a loop's body that holds in the last step only (`step == count - 1`)
/// and needs nothing of the loop: it may as well follow the loop. Null if there is none.
static scf::IfOp lastStepOnly(scf::ForOp loop, Value count) {
  Block *body = loop.getBody();
  auto branch = body->empty() ? scf::IfOp() : dyn_cast<scf::IfOp>(body->back());
  if (!branch || branch.getNumResults() ||
      (branch.elseBlock() && !branch.elseBlock()->without_terminator().empty()))
    return {};
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      compare.getLhs() != loop.getInductionVar())
    return {};
  auto last = compare.getRhs().getDefiningOp<arith::SubIOp>();
  if (!last || last.getLhs() != count || !matchPattern(last.getRhs(), m_One()))
    return {};
  bool needsLoop = false;
  branch.getThenRegion().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      needsLoop |= !branch.getThenRegion().isAncestor(operand.getParentRegion()) &&
                   loop.getRegion().isAncestor(operand.getParentRegion());
  });
  return needsLoop ? scf::IfOp() : branch;
}

LogicalResult expandDrain(RewriterBase &rewriter, DrainOp drain) {
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = drain.getLoc();
  Block *source = &drain.getBody().front();
  int64_t lag = drain.getLag();

  int64_t groups = 0;
  WalkResult walk = drain.getBody().walk([&](MmaOp mma) {
    ++groups;
    if (mma->getBlock() == source || lag == 0)
      return WalkResult::advance();
    mma.emitOpError("stands under a condition or in a loop inside wg.drain with lag(")
        << lag
        << "), so how many groups a step leaves in flight is not known; expected every wg.mma "
           "directly in the "
        << "body, or lag(0)";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();

  // Carried: the cursor, the cursors of the `lag` steps before (nearest first), what the drain
  // carries.
  rewriter.setInsertionPoint(drain);
  SmallVector<Value> inits(1 + lag, drain.getCursor());
  llvm::append_range(inits, drain.getInits());
  scf::ForOp loop = stepLoop(rewriter, loc, drain.getCount(), inits);
  Block::BlockArgListType carried = loop.getRegionIterArgs();
  Value cursor = carried[0];

  Block *body = loop.getBody();
  rewriter.setInsertionPointToStart(body);
  auto get = GetOp::create(rewriter, loc, drain.getRing(), cursor);
  SmallVector<Value> arguments{loop.getInductionVar()};
  llvm::append_range(arguments, get.getSlot());
  llvm::append_range(arguments, carried.drop_front(1 + lag));
  YieldOp yield = drain.getYield();
  SmallVector<Value> yielded(yield.getValues());
  Operation *end = loop;
  // The step's slot is freed where the user's body ends, so that is where a report about it points.
  rewriter.inlineBlockBefore(source, body, body->end(), arguments);
  yielded.assign(yield.getValues().begin(), yield.getValues().end());
  rewriter.eraseOp(yield);

  // What is to happen once everything has been issued costs the other steps nothing behind the
  // loop.
  if (scf::IfOp branch = lastStepOnly(loop, drain.getCount())) {
    rewriter.moveOpAfter(branch, loop);
    rewriter.setInsertionPoint(branch);
    Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge, drain.getCount(),
                                       constant(rewriter, loc, 1));
    auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    rewriter.modifyOpInPlace(branch, [&] { branch.getConditionMutable().assign(some); });
    if (compare->use_empty())
      rewriter.eraseOp(compare);
    end = branch;
  }

  rewriter.setInsertionPointToEnd(body);
  waitForPending(rewriter, loc, yielded, lag * groups);
  if (lag == 0)
    FreeOp::create(rewriter, loc, drain.getRing(), cursor);
  else
    freeIf(rewriter, loc, drain.getRing(), carried[lag], loop.getInductionVar(),
           constant(rewriter, loc, lag));
  SmallVector<Value> next{AdvanceOp::create(rewriter, loc, drain.getRing(), cursor)};
  for (int64_t i = 0; i < lag; ++i)
    next.push_back(carried[i]);
  llvm::append_range(next, yielded);
  scf::YieldOp::create(rewriter, loc, next);

  // The last slots, the oldest first.
  rewriter.setInsertionPointAfter(end);
  SmallVector<Value> results(loop.getResults().drop_front(1 + lag));
  if (lag > 0)
    waitForPending(rewriter, loc, results, 0);
  for (int64_t i = lag; i > 0; --i)
    freeIf(rewriter, loc, drain.getRing(), loop.getResult(i), drain.getCount(),
           constant(rewriter, loc, i));
  results.insert(results.begin(), loop.getResult(0));
  rewriter.replaceOp(drain, results);
  return success();
}

namespace {
struct ExpandRingLoops : impl::ExpandRingLoopsBase<ExpandRingLoops> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // Innermost first, so that a body is moved once it holds no loop of ours any more.
    SmallVector<Operation *> loops;
    getOperation().walk([&](Operation *op) {
      if (isa<FillOp, DrainOp>(op))
        loops.push_back(op);
    });
    for (Operation *op : loops) {
      if (auto fill = dyn_cast<FillOp>(op))
        expandFill(rewriter, fill);
      else if (failed(expandDrain(rewriter, cast<DrainOp>(op))))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace girih::wg
