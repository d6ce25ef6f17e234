// wg-allocate-shared: offsets of buffers and barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "girih/Dialect/WG/Transforms/Passes.h.inc"

namespace {
struct Allocation {
  Operation *op;
  int64_t bytes, alignment, slots;
};
} // namespace

static void setOffset(Operation *op, int64_t offset) {
  op->setAttr("offset", IntegerAttr::get(IntegerType::get(op->getContext(), 32), offset));
}

LogicalResult allocateShared(gpu::GPUFuncOp kernel, int64_t sharedBytes) {
  SmallVector<Allocation> allocations;
  kernel.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<AllocBufferOp>(op))
      allocations.push_back({op, buffer.getTotalBytes(),
                             buffer.getBuffer().getType().getAlignment(), buffer.getSlots()});
    else if (auto barrier = dyn_cast<AllocBarrierOp>(op))
      allocations.push_back({op, barrier.getTotalBytes(), 8, 1});
  });

  // By falling alignment, so that small things fill no gap between large ones; program order
  // decides among equals.
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, allocations.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(-allocations[a].alignment, a) < std::pair(-allocations[b].alignment, b);
  });
  int64_t end = 0;
  for (size_t index : order) {
    Allocation &allocation = allocations[index];
    int64_t offset = llvm::alignTo(end, allocation.alignment);
    setOffset(allocation.op, offset);
    end = offset + allocation.bytes;
  }
  kernel->setAttr(kSharedBytesAttr,
                  IntegerAttr::get(IntegerType::get(kernel.getContext(), 32), end));
  if (end <= sharedBytes)
    return success();

  // At the largest allocation: that is where there is most to reduce.
  Allocation &largest = *llvm::max_element(
      allocations, [](const Allocation &a, const Allocation &b) { return a.bytes < b.bytes; });
  InFlightDiagnostic error = emitError(largest.op->getLoc(), "kernel '")
                             << kernel.getName() << "' needs " << end
                             << " bytes of shared memory, and a CTA has " << sharedBytes << " ("
                             << end - sharedBytes << " too many); reduce the tile";
  bool slots = llvm::any_of(allocations, [](const Allocation &a) { return a.slots > 1; });
  error << (slots ? ", the number of stages or the store ring's slots"
                  : " or the number of buffers");
  for (Allocation &allocation : allocations) {
    Diagnostic &note = error.attachNote(allocation.op->getLoc());
    note << nameOf(allocation.op) << ": " << allocation.bytes << " bytes";
    if (allocation.slots > 1)
      note << " (" << allocation.slots << " slots of " << allocation.bytes / allocation.slots
           << ")";
  }
  return failure();
}

namespace {
struct AllocateShared : impl::AllocateSharedBase<AllocateShared> {
  void runOnOperation() override {
    FailureOr<target::TargetFeatures> features = targetFeatures(getOperation());
    if (failed(features))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(allocateShared(kernel, features->sharedBytesPerBlock())))
        return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
