//===- Phases.cpp - Which dialects and passes the compiler runs
//-----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "Phases.h"
#include "girih/Conversion/TileToWG/TileToWG.h"
#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Pipelines/Pipelines.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace girih;

void compiler::registerPhases(mlir::DialectRegistry &registry) {
  registry.insert<plan::PlanDialect, tile::TileDialect, wg::WGDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect>();
  // The passes ask each dialect for its way to the llvm dialect.
  mlir::arith::registerConvertArithToLLVMInterface(registry);
  mlir::cf::registerConvertControlFlowToLLVMInterface(registry);
  mlir::registerConvertMathToLLVMInterface(registry);
  mlir::registerConvertNVVMToLLVMInterface(registry);
}

bool compiler::needsPasses(mlir::ModuleOp module) {
  return module.walk([](mlir::gpu::GPUFuncOp) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

bool compiler::needsTilePasses(mlir::ModuleOp module) {
  return module
      .walk([](mlir::Operation *op) {
        if (auto kernel = llvm::dyn_cast<mlir::gpu::GPUFuncOp>(op);
            kernel && wg::isInTilePhase(kernel))
          return mlir::WalkResult::interrupt();
        bool open = llvm::any_of(op->getResultTypes(), [](mlir::Type type) {
          return tile::isTile(type) && !wg::isTile(type);
        });
        return open ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void compiler::buildTilePasses(mlir::OpPassManager &passes, const Options &options) {
  TileToWGOptions pipeline;
  switchOff(pipeline, options.without);
  buildTileToWGPipeline(passes, pipeline);
}

void compiler::buildPasses(mlir::OpPassManager &passes, const Options &options) {
  WGToNVVMOptions pipeline;
  switchOff(pipeline, options.without);
  buildWGToNVVMPipeline(passes, pipeline);
}

std::string_view compiler::warmUpModule() {
  return R"mlir(
gpu.module @warm [#nvvm.target<chip = "sm_90a", features = "+ptx84", O = 3>] {
  llvm.func @warm(%p: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %f0 = llvm.mlir.constant(0.0 : f32) : f32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    llvm.br ^head(%zero, %f0 : i32, f32)
  ^head(%i: i32, %acc: f32):
    %more = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %at = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %at : !llvm.ptr<1> -> f32
    %pair = llvm.inline_asm has_side_effects asm_dialect = att "add.f32 $0, $2, $3; mov.f32 $1, $2;", "=f,=f,f,f" %acc, %x : (f32, f32) -> !llvm.struct<(f32, f32)>
    %sum = llvm.extractvalue %pair[0] : !llvm.struct<(f32, f32)>
    %next = llvm.add %i, %one : i32
    llvm.br ^head(%next, %sum : i32, f32)
  ^exit:
    %to = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %acc, %to : f32, !llvm.ptr<1>
    llvm.return
  }
}
)mlir";
}
