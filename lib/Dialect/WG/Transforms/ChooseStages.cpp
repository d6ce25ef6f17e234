// wg-choose-stages: stages for rings that leave them open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/IR/Verifier.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_CHOOSESTAGES
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

/// What a ring of `stages` takes: each buffer's slots stand together, so only the start of an array
/// is aligned; two barriers of 8 bytes a stage.
static int64_t ringBytes(RingType ring, int64_t stages) {
  int64_t bytes = stages * 16;
  for (BufferType buffer : ring.getBuffers())
    bytes += stages * llvm::alignTo(buffer.getBytes(), buffer.getAlignment());
  return bytes;
}

void chooseStages(gpu::GPUFuncOp kernel, int64_t sharedBytes, int64_t maxStages) {
  int64_t taken = 0, perStage = 0;
  SmallVector<RingOp> open;
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op)) {
      if (ring.getStages())
        taken += ringBytes(ring.getRing().getType(), *ring.getStages());
      else
        open.push_back(ring);
    } else if (auto ring = dyn_cast<StoreRingOp>(op)) {
      BufferType buffer = ring.getRing().getType().getBuffer();
      taken += storeSlots(ring) * llvm::alignTo(buffer.getBytes(), buffer.getAlignment());
    } else if (auto alloc = dyn_cast<AllocBufferOp>(op)) {
      BufferType buffer = alloc.getBuffer().getType();
      taken += alloc.getSlots() * llvm::alignTo(buffer.getBytes(), buffer.getAlignment());
    } else if (auto alloc = dyn_cast<AllocBarrierOp>(op)) {
      taken += alloc.getTotalBytes();
    }
  });
  for (RingOp ring : open)
    perStage += ringBytes(ring.getRing().getType(), 1);
  if (open.empty())
    return;

  int64_t fitting = (sharedBytes - taken) / perStage;
  int64_t stages = std::clamp<int64_t>(fitting, 1, maxStages);
  for (RingOp ring : open)
    ring.setStages(static_cast<uint32_t>(stages));
}

namespace {
struct ChooseStages : impl::ChooseStagesBase<ChooseStages> {
  void runOnOperation() override {
    FailureOr<target::TargetFeatures> features = targetFeatures(getOperation());
    if (failed(features))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      chooseStages(kernel, features->sharedBytesPerBlock());
    // Whether a drain's lag leaves a slot to fill can be told only now; the op itself knows the
    // rule.
    getOperation()->walk([&](DrainOp drain) {
      if (failed(verify(drain)))
        signalPassFailure();
    });
  }
};
} // namespace
} // namespace girih::wg
