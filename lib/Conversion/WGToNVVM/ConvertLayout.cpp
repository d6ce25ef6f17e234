// wg.convert_layout: registers under other names, shuffles, or a trip through scratch shared
// memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "RoleScratch.h"

#include "girih/Conversion/WGToNVVM/Registers.h"
#include "girih/Dialect/WG/Transforms/Scratch.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// A tile's values as the accesses of a plan move them: words of 32 or 64 bits, or single elements
/// of less.
class Words {
public:
  Words(OpBuilder &builder, Location loc, RankedTensorType tile, const VectorAccess &access)
      : builder(builder), loc(loc), tile(tile), element(tile.getElementType()) {
    int64_t bits = 8 * elementBytes(element);
    packed = elementsPerRegister(element);
    bool inWords = bits < 32 && packed > 1 && access.vector % packed == 0;
    width = inWords ? 32 : bits;
    perAccess = inWords ? access.vector / packed : access.vector;
    // A byte or a half at a time, where neighbours in a register are none in memory.
    if (width < 32)
      perAccess = 1;
    accesses = access.vector / (inWords ? packed * perAccess : perAccess);
  }

  /// Bits of one value, values of one access, accesses of one step of the plan.
  int64_t width, perAccess, accesses;

  SmallVector<Value> open(Value registers) {
    SmallVector<Value> values = width < 32 || packed == 1
                                    ? unpackElements(builder, loc, registers, tile)
                                    : unpack(builder, loc, registers);
    if (element.isInteger(1) || width < 32)
      for (Value &value : values)
        value = toHalf(value);
    return values;
  }

  Value close(SmallVector<Value> values) {
    if (width >= 32) {
      Type field = registerType(element);
      for (Value &value : values)
        if (value.getType() != field)
          value = LLVM::BitcastOp::create(builder, loc, field, value);
      return pack(builder, loc, values);
    }
    for (Value &value : values)
      value = fromCarrier(builder, loc, value, llvmElementType(element));
    return packElements(builder, loc, values, element);
  }

private:
  /// An element of 16 bits or less in an i16.
  Value toHalf(Value value) {
    Type i16 = builder.getIntegerType(16);
    if (value.getType().getIntOrFloatBitWidth() < 16)
      return LLVM::ZExtOp::create(builder, loc, i16, value);
    return value.getType() == i16 ? value
                                  : Value(LLVM::BitcastOp::create(builder, loc, i16, value));
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType tile;
  Type element;
  int64_t packed;
};

struct ConvertPattern : StatePattern<ConvertLayoutOp> {
  using StatePattern::StatePattern;
  LogicalResult matchAndRewrite(ConvertLayoutOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto from = cast<RankedTensorType>(op.getSource().getType());
    auto to = cast<RankedTensorType>(op.getTile().getType());
    if (auto rename = state.renames.find(op); rename != state.renames.end())
      rewriter.replaceOp(
          op, renamed(rewriter, op.getLoc(), adaptor.getOperands(), from, rename->second.front()));
    else if (auto plan = state.shuffles.find(op); plan != state.shuffles.end())
      rewriter.replaceOp(op, byShuffles(rewriter, op.getLoc(), state.roles.of(op).place,
                                        *plan->second, from, adaptor.getSource()));
    else
      rewriter.replaceOp(op, throughScratch(rewriter, op, state, *state.exchanges.find(op)->second,
                                            from, to, adaptor.getSource()));
    return success();
  }
};

} // namespace

Value throughScratch(OpBuilder &builder, Operation *op, const ConversionState &state,
                     const Exchange &exchange, RankedTensorType from, RankedTensorType to,
                     Value tile) {
  Location loc = op->getLoc();
  const RoleContext &role = state.roles.of(op);
  const TileAccess &source = *state.tileAccesses.find(from)->second;
  int64_t bytes = elementBytes(from.getElementType());
  RoleScratch scratch(builder, op, role);
  auto forEachStep = [&](const VectorAccess &access, auto act) {
    Value thread =
        emitLayout(builder, loc, access.addresses.thread, Dim::Offset, role.place, bytes);
    // The swizzle flips bits below the scratch's alignment, so it may act on the whole address.
    Value start = LLVM::AddOp::create(builder, loc, scratch.address(), thread);
    for (auto [i, step] : llvm::enumerate(access.addresses.steps)) {
      Value address = start;
      if (step.flip)
        address =
            LLVM::XOrOp::create(builder, loc, start, i32Constant(builder, loc, step.flip * bytes));
      act(i, address, step.add * bytes);
    }
  };

  scratch.meet(builder);
  Words out(builder, loc, from, exchange.store);
  SmallVector<Value> values = out.open(tile);
  Value owner = emitOwner(builder, loc, source, role.place);
  int64_t each = out.perAccess * out.accesses;
  forEachStep(exchange.store, [&](size_t i, Value address, int64_t offset) {
    if (!source.owned[i * exchange.store.vector])
      return;
    for (int64_t k = 0; k < out.accesses; ++k)
      storeShared(builder, loc, owner, address, offset + k * out.perAccess * out.width / 8,
                  ArrayRef(values).slice(i * each + k * out.perAccess, out.perAccess), out.width);
  });
  if (exchange.withinWarps)
    meetWarp(builder, loc);
  else
    scratch.meet(builder);
  Words in(builder, loc, to, exchange.load);
  SmallVector<Value> loaded;
  forEachStep(exchange.load, [&](size_t, Value address, int64_t offset) {
    for (int64_t k = 0; k < in.accesses; ++k)
      llvm::append_range(loaded,
                         loadShared(builder, loc, address, offset + k * in.perAccess * in.width / 8,
                                    in.perAccess, in.width));
  });
  return in.close(std::move(loaded));
}

void populateConvertLayoutPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                   const ConversionState &state) {
  patterns.add<ConvertPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
