// convert-wg-to-nvvm: the conversion as a whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TileMove.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/WGToNVVM.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_CONVERTWGTONVVM
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

/// Each tensor map is fetched into the descriptor cache before its first copy, by the thread that
/// issues the copies.
static void prefetchTensorMaps(gpu::GPUFuncOp kernel, const RoleContexts &roles) {
  kernel.walk([&](scf::IfOp branch) {
    if (!branch->hasAttr(kRoleAttr))
      return;
    llvm::SetVector<Value> views;
    branch.getThenRegion().walk([&](Operation *op) {
      if (auto load = dyn_cast<TmaLoadOp>(op))
        views.insert(load.getView());
      else if (auto store = dyn_cast<TmaStoreOp>(op))
        views.insert(store.getView());
    });
    if (views.empty())
      return;
    const RoleContext &role = roles.of(&branch.thenBlock()->front());
    Location loc = branch.getLoc();
    // After the values of the role, which stand at the block's start.
    OpBuilder builder(branch.getContext());
    if (Value leader = role.leader)
      builder.setInsertionPointAfter(leader.getDefiningOp());
    else
      builder.setInsertionPointToStart(branch.thenBlock());
    auto pointer = LLVM::LLVMPointerType::get(branch.getContext());
    for (Value view : views) {
      Value address = UnrealizedConversionCastOp::create(builder, loc, pointer, view).getResult(0);
      InlineAsm text;
      std::string guard = role.leader ? "@" + text.input(role.leader) + " " : std::string();
      text.line(guard + "prefetch.tensormap [" + text.input(address) + "];");
      text.emit(builder, loc);
    }
  });
}

LogicalResult convertWGToNVVM(gpu::GPUModuleOp module) {
  FailureOr<target::TargetFeatures> features = targetFeatures(module);
  if (failed(features))
    return failure();
  ConversionState state(*features);
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    if (!kernel.isKernel())
      return kernel.emitOpError("is no kernel; expected device functions to be inlined, since a "
                                "call between the start of "
                                "a wgmma and its wait serialises both");
    if (failed(state.roles.prepare(kernel)) || failed(findRecords(kernel, state)))
      return failure();
    prefetchTensorMaps(kernel, state.roles);
  }
  if (failed(checkConvertible(module, state)))
    return failure();
  markFinishedWaits(module);
  markFencedProducts(module);
  joinWaits(module);
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    markInPlaceStores(kernel, state);

  MLIRContext *context = module.getContext();
  TypeConverter converter;
  populateTypeConversions(converter);
  auto cast = [](OpBuilder &builder, Type type, ValueRange inputs, Location loc) -> Value {
    return UnrealizedConversionCastOp::create(builder, loc, type, inputs).getResult(0);
  };
  converter.addSourceMaterialization(cast);
  converter.addTargetMaterialization(cast);

  RewritePatternSet patterns(context);
  populateKernelPatterns(converter, patterns, state);
  populateBufferPatterns(converter, patterns, state);
  populateBarrierPatterns(converter, patterns, state);
  populateTmaPatterns(converter, patterns, state);
  populateMmaPatterns(converter, patterns, state);
  populateMmaSyncPatterns(converter, patterns);
  populateLocalPatterns(converter, patterns, state);
  populateTilePatterns(converter, patterns, state);
  populateCastPatterns(converter, patterns);
  populateDeviceCodePatterns(converter, patterns);
  populateCombinePatterns(converter, patterns, state);
  populateShapePatterns(converter, patterns, state);
  populateConvertLayoutPatterns(converter, patterns, state);
  populateViewPatterns(converter, patterns);
  populateGlobalPatterns(converter, patterns, state);
  populateListedPatterns(converter, patterns, state);
  populatePointPatterns(converter, patterns, state);
  populateCounterPatterns(converter, patterns, state);
  populateRecordPatterns(converter, patterns, state);

  ConversionTarget target(*context);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
  target.addIllegalDialect<WGDialect, tile::TileDialect>();
  target.addIllegalOp<gpu::GPUFuncOp, gpu::ReturnOp>();
  target.addLegalOp<UnrealizedConversionCastOp>();
  target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
  return applyPartialConversion(module, target, std::move(patterns));
}

namespace {
struct ConvertWGToNVVM : impl::ConvertWGToNVVMBase<ConvertWGToNVVM> {
  void runOnOperation() override {
    if (failed(convertWGToNVVM(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
