// wg-lower-control-flow: branches instead of scf ops, last ones first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/WGToNVVM.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_LOWERCONTROLFLOW
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

namespace {

/// The scf ops that are not the end of another one's region: of a block the last first, and before
/// what is inside them, whose regions upstream's patterns want in one block.
SmallVector<Operation *> structuredOps(gpu::GPUModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    if (isa_and_present<scf::SCFDialect>(op->getDialect()) &&
        !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  return ops;
}

struct LowerControlFlow : impl::LowerControlFlowBase<LowerControlFlow> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet owned(context);
    populateSCFToControlFlowConversionPatterns(owned);
    patterns = std::move(owned);
    return success();
  }

  void runOnOperation() override {
    PatternApplicator applicator(patterns);
    applicator.applyDefaultCostModel();
    PatternRewriter rewriter(&getContext());
    // A pattern may leave simpler scf ops behind.
    for (auto ops = structuredOps(getOperation()); !ops.empty();
         ops = structuredOps(getOperation()))
      for (Operation *op : ops) {
        rewriter.setInsertionPoint(op);
        if (failed(applicator.matchAndRewrite(op, rewriter))) {
          op->emitOpError("has no form in branches");
          return signalPassFailure();
        }
      }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace girih::wg
