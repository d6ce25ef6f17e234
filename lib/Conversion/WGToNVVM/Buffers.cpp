// Buffers and barriers become addresses in dynamic shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

using namespace mlir;

namespace girih::wg {

Value i32Constant(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value plus(OpBuilder &builder, Location loc, Value value, int64_t number) {
  return number ? Value(LLVM::AddOp::create(builder, loc, value, i32Constant(builder, loc, number)))
                : value;
}

Value times(OpBuilder &builder, Location loc, Value value, int64_t number) {
  return LLVM::MulOp::create(builder, loc, value, i32Constant(builder, loc, number));
}

Value inUnits(OpBuilder &builder, Location loc, Value address) {
  if (auto shift = address.getDefiningOp<LLVM::ShlOp>())
    if (auto amount = shift.getRhs().getDefiningOp<LLVM::ConstantOp>())
      if (auto number = dyn_cast<IntegerAttr>(amount.getValue()); number && number.getInt() == 4)
        return shift.getLhs();
  return LLVM::LShrOp::create(builder, loc, address, i32Constant(builder, loc, 4));
}

Value fromUnits(OpBuilder &builder, Location loc, Value units) {
  // Shared memory ends below 2^18 (227 KiB): nothing is shifted out.
  return LLVM::ShlOp::create(builder, loc, units, i32Constant(builder, loc, 4),
                             LLVM::IntegerOverflowFlags::nuw);
}

int64_t byteOffset(BufferType buffer, int64_t row, int64_t col) {
  int64_t inner = buffer.isRowMajor() ? col : row, outer = buffer.isRowMajor() ? row : col;
  int64_t panel = buffer.getPanelExtent();
  return inner / panel * buffer.getPanelBytes() + outer * buffer.getPitchBytes() +
         inner % panel * buffer.getElementBits() / 8;
}

static constexpr StringLiteral kSharedName = "girih_shared";

/// One external array for the module, aligned for the widest swizzle.
Value sharedBase(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kSharedName);
  unsigned space = static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    global =
        LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false, LLVM::Linkage::External,
                               kSharedName, Attribute(), /*alignment=*/1024, space);
  }
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
}

namespace {

struct AllocBufferPattern : StatePattern<AllocBufferOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(AllocBufferOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value units = inUnits(rewriter, loc, sharedBase(rewriter, op));
    rewriter.replaceOp(
        op, fromUnits(rewriter, loc,
                      plus(rewriter, loc, units, static_cast<int64_t>(*op.getOffset()) / 16)));
    return success();
  }
};

struct AllocBarrierPattern : StatePattern<AllocBarrierOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(AllocBarrierOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, plus(rewriter, op.getLoc(), sharedBase(rewriter, op), *op.getOffset()));
    return success();
  }
};

struct SlotPattern : StatePattern<SlotOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(SlotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value units = inUnits(rewriter, loc, adaptor.getBuffers());
    Value distance =
        times(rewriter, loc, adaptor.getIndex(), op.getBuffers().getType().getBytes() / 16);
    rewriter.replaceOp(
        op, fromUnits(rewriter, loc, LLVM::AddOp::create(rewriter, loc, units, distance)));
    return success();
  }
};

struct SubbufferPattern : StatePattern<SubbufferOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(SubbufferOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BufferType source = op.getSource().getType();
    Value units = inUnits(rewriter, loc, adaptor.getSource());
    // Offsets are whole lines and whole panels, so bytes are a linear function of each; a value
    // counts from 0.
    ValueRange values = adaptor.getOffsets();
    int64_t known[2] = {0, 0};
    for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
      if (!ShapedType::isDynamic(offset)) {
        known[dim] = offset;
        continue;
      }
      Value value = values.front();
      values = values.drop_front();
      if (static_cast<int64_t>(dim) != source.getFastestDim()) {
        units = LLVM::AddOp::create(rewriter, loc, units,
                                    times(rewriter, loc, value, source.getPitchBytes() / 16));
        continue;
      }
      Value panel = LLVM::UDivOp::create(rewriter, loc, value,
                                         i32Constant(rewriter, loc, source.getPanelExtent()));
      units = LLVM::AddOp::create(rewriter, loc, units,
                                  times(rewriter, loc, panel, source.getPanelBytes() / 16));
    }
    units = plus(rewriter, loc, units, byteOffset(source, known[0], known[1]) / 16);
    rewriter.replaceOp(op, fromUnits(rewriter, loc, units));
    return success();
  }
};

} // namespace

void populateBufferPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                            const ConversionState &state) {
  patterns.add<AllocBufferPattern, AllocBarrierPattern, SlotPattern, SubbufferPattern>(
      converter, patterns.getContext(), state);
}

} // namespace girih::wg
