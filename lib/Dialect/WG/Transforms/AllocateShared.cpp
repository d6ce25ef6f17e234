// wg-allocate-shared: offsets of buffers and barriers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Dialect/WG/Transforms/Passes.h"
#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"
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
  /// The ops that share it, if it is scratch; `op` is the one that needs most.
  SmallVector<Operation *> users;
};

/// Scratch through which a tile changes its layout may be swizzled as a buffer is.
constexpr int64_t kScratchAlignment = 1024;
} // namespace

static void setOffset(Operation *op, int64_t offset) {
  op->setAttr("offset", IntegerAttr::get(IntegerType::get(op->getContext(), 32), offset));
}

/// Warps that execute an op together, and how many times over they do: by each warpgroup of a role
/// on its own.
static std::pair<int64_t, int64_t> warpsAround(Operation *op, gpu::GPUFuncOp kernel) {
  if (RoleOp role = roleOf(op))
    return {role.getWarpsTogether(), role.getEach() ? role.getNumWarpgroups() : 1};
  int64_t threads = 1;
  for (int32_t extent : kernel.getKnownBlockSize().value_or(ArrayRef<int32_t>()))
    threads *= extent;
  return {std::max<int64_t>(1, threads / 32), 1};
}

/// One allocation for the scratch of each role: its ops follow each other, and each begins with a
/// barrier.
static LogicalResult addScratch(gpu::GPUFuncOp kernel, SmallVector<Allocation> &allocations) {
  llvm::MapVector<Operation *, Allocation> byRole;
  WalkResult walk = kernel.walk([&](Operation *op) {
    auto [warps, times] = warpsAround(op, kernel);
    FailureOr<int64_t> bytes = scratchBytes(op, warps);
    if (failed(bytes))
      return WalkResult::interrupt();
    if (!*bytes)
      return WalkResult::advance();
    RoleOp role = roleOf(op);
    Allocation &scratch = byRole[role ? role.getOperation() : kernel.getOperation()];
    scratch.users.push_back(op);
    scratch.slots = times;
    if (*bytes > scratch.bytes) {
      scratch.op = op;
      scratch.bytes = *bytes;
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (auto &[role, scratch] : byRole) {
    int64_t one = llvm::alignTo(scratch.bytes, kScratchAlignment);
    scratch.bytes = scratch.slots == 1 ? scratch.bytes : one * scratch.slots;
    scratch.alignment = kScratchAlignment;
    allocations.push_back(scratch);
  }
  return success();
}

/// What a message calls an allocation.
static std::string describe(const Allocation &allocation) {
  if (allocation.users.empty())
    return nameOf(allocation.op);
  std::string text = "scratch of " + allocation.op->getName().getStringRef().str();
  if (allocation.users.size() > 1)
    text += " and " + std::to_string(allocation.users.size() - 1) + " more";
  return text;
}

LogicalResult allocateShared(gpu::GPUFuncOp kernel, int64_t sharedBytes) {
  SmallVector<Allocation> allocations;
  kernel.walk([&](Operation *op) {
    if (auto buffer = dyn_cast<AllocBufferOp>(op))
      allocations.push_back({op,
                             buffer.getTotalBytes(),
                             buffer.getBuffer().getType().getAlignment(),
                             buffer.getSlots(),
                             {}});
    else if (auto barrier = dyn_cast<AllocBarrierOp>(op))
      allocations.push_back({op, barrier.getTotalBytes(), 8, 1, {}});
  });
  if (failed(addScratch(kernel, allocations)))
    return failure();

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
    if (allocation.users.empty())
      setOffset(allocation.op, offset);
    int32_t each = static_cast<int32_t>(allocation.bytes / allocation.slots);
    for (Operation *user : allocation.users)
      user->setAttr(kScratchAttr, DenseI32ArrayAttr::get(user->getContext(),
                                                         {static_cast<int32_t>(offset), each}));
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
    note << describe(allocation) << ": " << allocation.bytes << " bytes";
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
