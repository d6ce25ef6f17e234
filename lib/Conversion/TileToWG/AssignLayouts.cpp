// wg-assign-layouts: collects what constrains layouts, decides, writes, tidies up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ApplyLayouts.h"
#include "LayoutProblem.h"
#include "SolveLayouts.h"

#include "girih/Conversion/TileToWG/TileToWG.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "girih/Conversion/TileToWG/Passes.h.inc"

/// Gives each use of a constant, splat or iota one of its own, so that uses that want it in
/// different layouts have nothing to do with each other.
static void splitFreeTiles(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> makers;
  kernel.walk([&](Operation *op) {
    if (isFreeTile(op) && !isTile(op->getResult(0).getType()))
      makers.push_back(op);
  });
  for (Operation *maker : makers) {
    for (OpOperand &use : llvm::make_early_inc_range(maker->getUses())) {
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*maker)->getResult(0));
    }
    maker->erase();
  }
}

/// Says how each access to memory moves its tile.
static void remarkAccesses(const LayoutProblem &problem) {
  for (const Tie &tie : problem.ties) {
    tile::ViewType view = viewOf(tie);
    if (!view)
      continue;
    RankedTensorType type = tie.type();
    GlobalAccess access = globalAccess(tie.layout.getLayout(), type, view, tie.values.empty());
    int64_t bytes = access.vector * view.getElementBytes();
    // At the line alone: the op's text would cost more than the pass.
    emitRemark(tie.op->getLoc()) << "'" << tie.op->getName() << "' moves "
                                 << RankedTensorType::get(type.getShape(), type.getElementType())
                                 << " in vectors of at most " << access.vector
                                 << (access.vector == 1 ? " element (" : " elements (") << bytes
                                 << " bytes), " << access.sectors << " sectors of 32 bytes where "
                                 << access.ideal << " hold it";
  }
}

/// A conversion of a conversion is one, and one between equal layouts none.
static void foldConversions(gpu::GPUFuncOp kernel) {
  kernel.walk([](ConvertLayoutOp convert) {
    while (auto before = convert.getSource().getDefiningOp<ConvertLayoutOp>())
      convert.getSourceMutable().assign(before.getSource());
    if (convert.getSource().getType() != convert.getTile().getType())
      return;
    convert.getTile().replaceAllUsesWith(convert.getSource());
    convert.erase();
  });
}

/// Erases tiles that nobody uses any more, users before makers.
static void eraseDead(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (op->getNumRegions() == 0 && llvm::any_of(op->getResultTypes(), tile::isTile))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

LogicalResult assignLayouts(gpu::GPUFuncOp kernel, const AssignLayoutsOptions &options) {
  splitFreeTiles(kernel);
  FailureOr<LayoutProblem> problem = LayoutProblem::of(kernel);
  if (failed(problem))
    return failure();
  if (problem->isOpen) {
    ConversionPrices prices;
    if (failed(solveLayouts(*problem, prices, options)))
      return failure();
    remarkAccesses(*problem);
    if (failed(applyLayouts(*problem, prices, options)))
      return failure();
  }
  foldConversions(kernel);
  eraseDead(kernel);
  return success();
}

namespace {
struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    AssignLayoutsOptions options{alternatives, convertAccesses, computeAnew};
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      bool hasProducts =
          kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (!hasProducts && failed(assignLayouts(kernel, options)))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace girih::wg
