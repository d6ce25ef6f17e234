// Tiles in registers: slices, constants, arithmetic, conversions of element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "GlobalView.h"

#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Layout/Algebra.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct SlicePattern : StatePattern<SliceOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    RankedTensorType source = op.getSource().getType(), part = op.getPart().getType();
    // Which registers of the source stay, one axis after the other.
    Layout layout = getLayout(source).getLayout();
    SmallVector<int32_t> kept = llvm::to_vector(llvm::seq<int32_t>(0, layout.size(Dim::Register)));
    for (auto [i, axis] : llvm::enumerate(std::array{Dim::Row, Dim::Col})) {
      int32_t begin = static_cast<int32_t>(op.getOffsets()[i]);
      int32_t extent = static_cast<int32_t>(part.getDimSize(i));
      if (extent == layout.size(axis))
        continue;
      Result<Slice> cut = slice(layout, axis, begin, begin + extent);
      if (!cut)
        return rewriter.notifyMatchFailure(op, "part is no choice of registers");
      SmallVector<int32_t> next;
      for (int32_t index : cut->kept)
        next.push_back(kept[index]);
      kept = next;
      layout = cut->layout;
    }

    Location loc = op.getLoc();
    Type element = source.getElementType();
    int32_t packed = static_cast<int32_t>(elementsPerRegister(element));
    SmallVector<Value> registers = unpack(rewriter, loc, adaptor.getSource());
    SmallVector<Value> chosen;
    for (size_t i = 0; i < kept.size(); i += packed) {
      if (kept[i] % packed)
        return op.emitOpError(
                   "starts inside a 32-bit register; expected offsets that are multiples of ")
               << packed;
      chosen.push_back(registers[kept[i] / packed]);
    }
    rewriter.replaceOp(op, pack(rewriter, loc, chosen));
    return success();
  }
};

struct ConstantPattern : StatePattern<arith::ConstantOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || !isTile(type))
      return rewriter.notifyMatchFailure(op, "no tile");
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return op.emitOpError(
          "of a tile has elements that differ; expected a splat, since what a thread holds of the "
          "others is not known at compile time");
    rewriter.replaceOp(op, constantTile(rewriter, op.getLoc(), type, splat));
    return success();
  }

private:
  /// Packed elements are one constant of all their bits.
  static Value constantTile(OpBuilder &builder, Location loc, RankedTensorType type,
                            SplatElementsAttr splat) {
    Type element = type.getElementType();
    APInt value = isa<FloatType>(element) ? splat.getSplatValue<APFloat>().bitcastToAPInt()
                                          : splat.getSplatValue<APInt>();
    Attribute attribute = splat.getSplatValue<Attribute>();
    Type field = registerType(element);
    if (elementsPerRegister(element) > 1)
      attribute = builder.getIntegerAttr(field, APInt::getSplat(32, value));
    Value constant = LLVM::ConstantOp::create(builder, loc, field, attribute);
    return pack(builder, loc, SmallVector<Value>(registersOf(type).getBody().size(), constant));
  }
};

/// A scalar in every element.
struct SplatPattern : OpConversionPattern<tensor::SplatOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!isTile(type))
      return rewriter.notifyMatchFailure(op, "no tile");
    Location loc = op.getLoc();
    SmallVector<Value> elements(elementsPerRegister(type.getElementType()), adaptor.getInput());
    Value one = packElements(rewriter, loc, elements, type.getElementType());
    SmallVector<Value> registers(registersOf(type).getBody().size(),
                                 unpack(rewriter, loc, one).front());
    rewriter.replaceOp(op, pack(rewriter, loc, registers));
    return success();
  }
};

/// The same bits as elements of another type.
struct BitcastPattern : OpConversionPattern<arith::BitcastOp> {
  BitcastPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(arith::BitcastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tile = dyn_cast<RankedTensorType>(op.getType());
    if (!tile) {
      Type type = llvmElementType(op.getType());
      Value in = adaptor.getIn();
      rewriter.replaceOp(
          op, in.getType() == type ? in : Value(LLVM::BitcastOp::create(rewriter, loc, type, in)));
      return success();
    }
    if (!isTile(tile))
      return rewriter.notifyMatchFailure(op, "no tile");
    Type field = registerType(tile.getElementType());
    SmallVector<Value> registers = unpack(rewriter, loc, adaptor.getIn());
    for (Value &value : registers)
      if (value.getType() != field)
        value = LLVM::BitcastOp::create(rewriter, loc, field, value);
    rewriter.replaceOp(op, pack(rewriter, loc, registers));
    return success();
  }
};

/// Scalars of 8-bit floats, of which arith can do no more than hold and choose them.
struct Float8ConstantPattern : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto value = dyn_cast<FloatAttr>(op.getValue());
    if (!value || llvmElementType(op.getType()) == op.getType())
      return rewriter.notifyMatchFailure(op, "no 8-bit float");
    Type type = llvmElementType(op.getType());
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, type, rewriter.getIntegerAttr(type, value.getValue().bitcastToAPInt()));
    return success();
  }
};
struct Float8SelectPattern : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isa<FloatType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "no scalar float");
    rewriter.replaceOpWithNewOp<LLVM::SelectOp>(op, adaptor.getCondition(), adaptor.getTrueValue(),
                                                adaptor.getFalseValue());
    return success();
  }
};

/// Any elementwise op of arith or math, element by element; LLVM's vectors of two put packed ones
/// together again.
struct ElementwisePattern : ConversionPattern {
  ElementwisePattern(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1 ||
        !isTile(op->getResult(0).getType()))
      return rewriter.notifyMatchFailure(op, "no elementwise op on tiles");
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    size_t count = getLayout(type).getElementsPerThread();
    SmallVector<SmallVector<Value>> columns;
    for (auto [original, converted] : llvm::zip_equal(op->getOperands(), operands)) {
      if (isTile(original.getType()))
        columns.push_back(
            unpackElements(rewriter, loc, converted, cast<RankedTensorType>(original.getType())));
      else
        columns.emplace_back(count, converted);
    }
    SmallVector<Value> results;
    for (size_t i = 0; i < count; ++i) {
      SmallVector<Value> row;
      for (SmallVector<Value> &column : columns)
        row.push_back(column[i]);
      OperationState scalar(loc, op->getName().getStringRef(), row,
                            llvmElementType(type.getElementType()), op->getAttrs());
      results.push_back(rewriter.create(scalar)->getResult(0));
    }
    rewriter.replaceOp(op, packElements(rewriter, loc, results, type.getElementType()));
    return success();
  }
};

} // namespace

void populateTypeConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion(
      [](BufferType type) -> Type { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion(
      [](BarrierType type) -> Type { return IntegerType::get(type.getContext(), 32); });
  converter.addConversion(
      [](ViewType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
  converter.addConversion([](tile::ViewType type) -> Type { return GlobalView::structOf(type); });
  converter.addConversion([](FloatType type) -> Type { return llvmElementType(type); });
  converter.addConversion([](PendingType type) -> Type { return registersOf(type.getTile()); });
  converter.addConversion([](RankedTensorType type) -> Type {
    return isTile(type) ? Type(registersOf(type)) : Type(type);
  });
}

void populateTilePatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                          const ConversionState &state) {
  patterns.add<SlicePattern, ConstantPattern>(converter, patterns.getContext(), state);
  patterns.add<SplatPattern, BitcastPattern, Float8ConstantPattern, Float8SelectPattern,
               ElementwisePattern>(converter, patterns.getContext());
}

} // namespace girih::wg
