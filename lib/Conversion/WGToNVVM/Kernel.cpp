// gpu.func becomes llvm.func with the attributes that ptxas and LLVM need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct KernelPattern : StatePattern<gpu::GPUFuncOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getNumWorkgroupAttributions() || op.getNumPrivateAttributions())
      return op.emitOpError("has memory attributions; expected wg.alloc_buffer for shared memory");
    const TypeConverter &converter = *getTypeConverter();
    FunctionType type = op.getFunctionType();
    TypeConverter::SignatureConversion signature(type.getNumInputs());
    for (auto [i, input] : llvm::enumerate(type.getInputs())) {
      Type converted = converter.convertType(input);
      if (!converted)
        return rewriter.notifyMatchFailure(op, "parameter of a type that has no register form");
      signature.addInputs(i, converted);
    }

    auto function =
        LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), op.getName(),
                                 LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()),
                                                             signature.getConvertedTypes()));
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    if (std::optional<ArrayRef<int32_t>> size = op.getKnownBlockSize()) {
      function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                        rewriter.getDenseI32ArrayAttr(*size));
      // With .reqntid alone ptxas ignores setmaxnreg (advisory C7508).
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), rewriter.getI32IntegerAttr(1));
    }
    if (std::optional<ArrayRef<int32_t>> cluster = op.getKnownClusterSize())
      function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                        rewriter.getDenseI32ArrayAttr(*cluster));
    if (Attribute bytes = op->getAttr(kSharedBytesAttr))
      function->setAttr(kSharedBytesAttr, bytes);
    // Whether all CTAs of a launch must be on the device at once; read by the manifest's writer.
    if (Attribute coResident = op->getAttr("girih.co_resident"))
      function->setAttr("girih.co_resident", coResident);

    // A tensor map is 128 bytes, aligned to 64 (CUDA driver API, CUtensorMap), that nobody copies.
    auto map = LLVM::LLVMArrayType::get(rewriter.getI8Type(), 128);
    for (auto [i, input] : llvm::enumerate(type.getInputs())) {
      if (!isa<ViewType>(input))
        continue;
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(map));
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), rewriter.getI64IntegerAttr(64));
      function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), rewriter.getUnitAttr());
    }

    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), converter, &signature)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReturnPattern : StatePattern<gpu::ReturnOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getNumOperands())
      return rewriter.notifyMatchFailure(op, "returns values");
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

} // namespace

void populateKernelPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                            const ConversionState &state) {
  patterns.add<KernelPattern, ReturnPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
