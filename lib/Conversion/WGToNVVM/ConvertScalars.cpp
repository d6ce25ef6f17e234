// convert-scalars-to-nvvm: what is left of a kernel once wg and scf are gone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/WGToNVVM.h"

#include "ConvertMath.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_CONVERTSCALARS
#include "girih/Conversion/WGToNVVM/Passes.h.inc"

namespace {
struct ConvertScalars : impl::ConvertScalarsBase<ConvertScalars> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // An index counts threads and blocks: 32 bits hold it, and 64-bit arithmetic is two
    // instructions.
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter converter(context, options);

    RewritePatternSet patterns(context);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    // Functions of the math dialect become calls of libdevice; what has an instruction of its own,
    // that.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false);
    populateMathPatterns(converter, patterns);
    populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/10);

    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp, UnrealizedConversionCastOp>();
    target.addIllegalDialect<gpu::GPUDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace girih::wg
