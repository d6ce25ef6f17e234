// girih-opt: reads MLIR, runs passes, prints MLIR. The tool with which passes are tried out and
// tested.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlantFault.h"
#include "PrintEffects.h"
#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

/// Locations are what users' errors are made of, so they are printed unless
/// --mlir-print-debuginfo=false says otherwise.
static void printLocationsByDefault() {
  mlir::registerAsmPrinterCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto found = options.find("mlir-print-debuginfo"); found != options.end())
    static_cast<llvm::cl::opt<bool> *>(found->second)->setInitialValue(true);
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<girih::plan::PlanDialect, girih::tile::TileDialect, girih::wg::WGDialect,
                  mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
  mlir::registerTransformsPasses();
  girih::registerPassesAndPipelines();
  girih::registerPlantFault();
  girih::registerPrintEffects();
  printLocationsByDefault();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "girih-opt: runs passes over girih's dialects\n", registry));
}
