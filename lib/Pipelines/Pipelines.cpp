// girih-tile-to-wg, girih-wg-to-nvvm, and the registration of everything that girih-opt can run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Pipelines/Pipelines.h"

#include "girih/Conversion/TileToWG/TileToWG.h"
#include "girih/Conversion/WGToNVVM/WGToNVVM.h"
#include "girih/Dialect/WG/Transforms/Passes.h"

#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace girih {

void buildTileToWGPipeline(mlir::OpPassManager &manager, const TileToWGOptions &options) {
  if (options.simplify) {
    manager.addPass(mlir::createCanonicalizerPass());
    manager.addPass(mlir::createCSEPass());
  }
  if (options.pipelineProducts)
    manager.nest<mlir::gpu::GPUModuleOp>().addPass(wg::createTilePipelineProducts());
  manager.addPass(wg::createTileSpecialize({options.keepOperands}));
  mlir::OpPassManager &device = manager.nest<mlir::gpu::GPUModuleOp>();
  if (options.padTiles)
    device.addPass(wg::createPadTiles());
  device.addPass(wg::createAssignLayouts(
      {options.alternatives, options.convertAccesses, options.computeAnew}));
  if (options.simplify) {
    device.addPass(mlir::createCanonicalizerPass());
    device.addPass(mlir::createCSEPass());
  }
  device.addPass(wg::createBudgetRegisters());
  device.addPass(wg::createVerifyWGPhase());
}

void buildWGToNVVMPipeline(mlir::OpPassManager &manager, const WGToNVVMOptions &options) {
  manager.addPass(wg::createCollectRecords());
  mlir::OpPassManager &device = manager.nest<mlir::gpu::GPUModuleOp>();
  device.addPass(wg::createDeriveWaits());
  if (options.checkProtocol)
    device.addPass(wg::createCheckProtocol());
  device.addPass(wg::createChooseStages());
  device.addPass(wg::createExpandRingLoops());
  device.addPass(wg::createLowerTurns());
  device.addPass(wg::createLowerRings());
  device.addPass(wg::createAllocateShared());
  if (options.checkProtocol)
    device.addPass(wg::createCheckBarriers());
  device.addPass(wg::createLowerRoles());
  if (options.stopAtWG)
    return;
  device.addPass(wg::createConvertWGToNVVM());
  device.addPass(wg::createLowerControlFlow());
  device.addPass(wg::createConvertScalars());
  device.addPass(mlir::createReconcileUnrealizedCastsPass());
  device.addPass(wg::createVerifyNVVMPhase());
}

llvm::ArrayRef<llvm::StringRef> optionalSteps() {
  static const llvm::StringRef names[] = {"simplify",     "pipeline-products", "keep-operands",
                                          "pad-tiles",    "alternatives",      "convert-accesses",
                                          "compute-anew", "check-protocol",    "optimize"};
  return names;
}

void switchOff(TileToWGOptions &options, llvm::ArrayRef<std::string> without) {
  for (const std::string &name : without) {
    if (name == "simplify")
      options.simplify = false;
    else if (name == "pipeline-products")
      options.pipelineProducts = false;
    else if (name == "keep-operands")
      options.keepOperands = false;
    else if (name == "pad-tiles")
      options.padTiles = false;
    else if (name == "alternatives")
      options.alternatives = 1;
    else if (name == "convert-accesses")
      options.convertAccesses = false;
    else if (name == "compute-anew")
      options.computeAnew = false;
  }
}

void switchOff(WGToNVVMOptions &options, llvm::ArrayRef<std::string> without) {
  if (llvm::is_contained(without, "check-protocol"))
    options.checkProtocol = false;
}

void registerPassesAndPipelines() {
  wg::registerTileToWGPasses();
  wg::registerWGPasses();
  wg::registerWGToNVVMPasses();
  // Upstream's, of which the pipelines are made: a reproducer names them.
  mlir::registerPass([] { return mlir::createCanonicalizerPass(); });
  mlir::registerPass([] { return mlir::createCSEPass(); });
  mlir::registerPass([] { return mlir::createReconcileUnrealizedCastsPass(); });
  mlir::PassPipelineRegistration<TileToWGOptions>(
      "girih-tile-to-wg", "Take kernels from the tile phase to the wg phase",
      buildTileToWGPipeline);
  mlir::PassPipelineRegistration<WGToNVVMOptions>(
      "girih-wg-to-nvvm", "Lower kernels from the wg phase to the nvvm phase",
      buildWGToNVVMPipeline);
}

} // namespace girih
