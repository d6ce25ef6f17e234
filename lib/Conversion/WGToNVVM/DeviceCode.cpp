// Calls of device functions and PTX of the user's, one element at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace girih::wg {
namespace {

/// A float of 16 bits as an integer of as many.
Value asBits(OpBuilder &builder, Location loc, Value value) {
  if (!isa<FloatType>(value.getType()) || value.getType().getIntOrFloatBitWidth() != 16)
    return value;
  return LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), value);
}

/// Integers narrower than 32 bits travel in one of 32 (tile.device_call says so).
Value widened(OpBuilder &builder, Location loc, Value value) {
  Value bits = asBits(builder, loc, value);
  if (!bits.getType().isInteger() || bits.getType().getIntOrFloatBitWidth() >= 32)
    return bits;
  return LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), bits);
}

Value narrowed(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  auto bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
  if (value.getType() != bits)
    value = LLVM::TruncOp::create(builder, loc, bits, value);
  return value.getType() == type ? value : LLVM::BitcastOp::create(builder, loc, type, value);
}

struct DeviceCallPattern : OpConversionPattern<tile::DeviceCallOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::DeviceCallOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    if (isa<RankedTensorType>(type))
      return rewriter.notifyMatchFailure(op, "elements first");
    Location loc = op.getLoc();
    SmallVector<Value> passed;
    for (Value argument : adaptor.getArguments())
      passed.push_back(widened(rewriter, loc, argument));
    Type returned = type;
    if (type.getIntOrFloatBitWidth() < 32)
      returned = rewriter.getI32Type();
    Value result =
        LLVM::CallOp::create(rewriter, loc, returned, op.getCallee(), passed).getResult();
    rewriter.replaceOp(op, narrowed(rewriter, loc, result, type));
    return success();
  }
};

/// %0 as LLVM's $0.
std::string asLLVM(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$')
      result += "$$";
    else if (text[i] != '%')
      result += text[i];
    else if (text.substr(i + 1).starts_with("%"))
      result += text[++i];
    else
      result += '$';
  }
  return result;
}

struct InlinePtxPattern : OpConversionPattern<tile::InlinePtxOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::InlinePtxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    if (isa<RankedTensorType>(type))
      return rewriter.notifyMatchFailure(op, "elements first");
    Location loc = op.getLoc();
    InlineAsm ptx;
    unsigned width = type.getIntOrFloatBitWidth();
    ptx.output(width == 16 ? Type(rewriter.getI16Type()) : type);
    for (Value argument : adaptor.getArguments())
      ptx.input(asBits(rewriter, loc, argument));
    // In a scope of its own: the text may declare registers.
    ptx.line("{ " + asLLVM(op.getText()) + " }");
    rewriter.replaceOp(op, narrowed(rewriter, loc, ptx.emit(rewriter, loc).front(), type));
    return success();
  }
};

} // namespace

void populateDeviceCodePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<DeviceCallPattern, InlinePtxPattern>(converter, patterns.getContext());
}

} // namespace girih::wg
