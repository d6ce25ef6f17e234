// wg-collect-records: kernels that print or assert get memory for it from the host plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/Records.h"
#include "girih/Conversion/WGToNVVM/WGToNVVM.h"
#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_COLLECTRECORDS
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

namespace {

/// The launches of a kernel in the module's host plans.
SmallVector<plan::LaunchOp> launchesOf(gpu::GPUFuncOp kernel, ModuleOp module) {
  SmallVector<plan::LaunchOp> launches;
  StringAttr device = kernel->getParentOfType<gpu::GPUModuleOp>().getSymNameAttr();
  module.walk([&](plan::LaunchOp launch) {
    if (launch.getKernel().getRootReference() == device &&
        launch.getKernel().getLeafReference() == kernel.getNameAttr())
      launches.push_back(launch);
  });
  return launches;
}

/// The type of the printed numbers in the plan, where integers have a sign.
Type printedType(tile::PrintOp op) {
  Type type = getElementTypeOrSelf(op.getValue().getType());
  if (auto integer = dyn_cast<IntegerType>(type); integer && op->hasAttr(kUnsignedAttr))
    return IntegerType::get(type.getContext(), integer.getWidth(), IntegerType::Unsigned);
  return type;
}

LogicalResult collect(gpu::GPUFuncOp kernel, ModuleOp module, int64_t limit) {
  SmallVector<Operation *> sites;
  kernel.walk([&](Operation *op) {
    if (isa<tile::PrintOp, tile::AssertOp>(op))
      sites.push_back(op);
  });
  if (sites.empty())
    return success();
  SmallVector<plan::LaunchOp> launches = launchesOf(kernel, module);
  if (launches.size() != 1)
    return sites.front()->emitOpError("needs memory of the host plan, which launches the kernel ")
           << launches.size() << " times; expected one plan.launch of it";
  plan::LaunchOp launch = launches.front();

  MLIRContext *context = module.getContext();
  unsigned index = kernel.getNumArguments();
  Type pointer = LLVM::LLVMPointerType::get(context, 1);
  if (failed(kernel.insertArgument(index, pointer, {}, kernel.getLoc())))
    return failure();
  OpBuilder builder(launch);
  Value records =
      plan::RecordsOp::create(builder, launch.getLoc(), plan::WorkspaceType::get(context), limit);
  launch.getArgsMutable().append(records);
  kernel->setAttr(kRecordsAttr, builder.getDenseI64ArrayAttr({index, limit}));

  builder.setInsertionPointAfter(launch);
  for (auto [site, op] : llvm::enumerate(sites)) {
    op->setAttr(kSiteAttr, builder.getI32IntegerAttr(site));
    if (auto assertion = dyn_cast<tile::AssertOp>(op)) {
      plan::AssertOp::create(builder, op->getLoc(), records, site, assertion.getMessage());
      continue;
    }
    auto print = cast<tile::PrintOp>(op);
    SmallVector<int64_t> shape;
    if (auto tensor = dyn_cast<RankedTensorType>(print.getValue().getType()))
      llvm::append_range(shape, tensor.getShape());
    plan::PrintOp::create(builder, op->getLoc(), records, site, print.getPrefix(), shape,
                          printedType(print));
  }
  return success();
}

struct CollectRecords : impl::CollectRecordsBase<CollectRecords> {
  using CollectRecordsBase::CollectRecordsBase;
  void runOnOperation() override {
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp kernel) { kernels.push_back(kernel); });
    for (gpu::GPUFuncOp kernel : kernels)
      if (!kernel->hasAttr(kRecordsAttr) && failed(collect(kernel, getOperation(), limit)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace girih::wg
