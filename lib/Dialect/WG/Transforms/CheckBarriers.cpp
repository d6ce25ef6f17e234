// wg-check-barriers: the protocol of barriers, asynchronous work and shared memory, on paper.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckBarriers/Explore.h"

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_CHECKBARRIERS
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

LogicalResult checkBarriers(gpu::GPUFuncOp kernel, bool remarks) {
  std::optional<check::Undecided> undecided;
  std::unique_ptr<check::Model> model = check::extractModel(kernel, undecided);
  if (!model)
    return success();
  check::Verdict verdict;
  check::Machine machine(*model);
  if (!undecided) {
    verdict = check::explore(*model, machine);
    undecided = verdict.undecided;
  }
  if (undecided) {
    emitRemark(undecided->loc) << "the protocol of kernel '" << kernel.getName()
                               << "' is undecided: " << undecided->reason;
    return success();
  }
  if (verdict.finding) {
    check::report(*model, machine, *verdict.finding);
    return failure();
  }
  if (remarks)
    emitRemark(kernel.getLoc()) << "the protocol of kernel '" << kernel.getName()
                                << "' is ok: " << verdict.runs << " runs, " << verdict.steps
                                << " steps";
  return success();
}

namespace {
struct CheckBarriers : impl::CheckBarriersBase<CheckBarriers> {
  using CheckBarriersBase::CheckBarriersBase;
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(checkBarriers(kernel, verdicts)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace girih::wg
