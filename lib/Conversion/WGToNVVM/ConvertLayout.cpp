// wg.convert_layout: registers under other names, or a trip through scratch shared memory.
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
    Location loc = op.getLoc();
    auto from = cast<RankedTensorType>(op.getSource().getType());
    auto to = cast<RankedTensorType>(op.getTile().getType());
    if (auto rename = state.renames.find(op); rename != state.renames.end()) {
      rewriter.replaceOp(
          op, renamed(rewriter, loc, adaptor.getOperands(), from, rename->second.front()));
      return success();
    }
    const Exchange &exchange = *state.exchanges.find(op)->second;
    const RoleContext &role = state.roles.of(op);
    const TileAccess &source = *state.tileAccesses.find(from)->second;
    int64_t bytes = elementBytes(from.getElementType());
    RoleScratch scratch(rewriter, op, role);
    auto forEachStep = [&](const VectorAccess &access, auto act) {
      Value thread =
          emitLayout(rewriter, loc, access.addresses.thread, Dim::Offset, role.place, bytes);
      // The swizzle flips bits below the scratch's alignment, so it may act on the whole address.
      Value start = LLVM::AddOp::create(rewriter, loc, scratch.address(), thread);
      for (auto [i, step] : llvm::enumerate(access.addresses.steps)) {
        Value address = start;
        if (step.flip)
          address = LLVM::XOrOp::create(rewriter, loc, start,
                                        i32Constant(rewriter, loc, step.flip * bytes));
        act(i, address, step.add * bytes);
      }
    };

    scratch.meet(rewriter);
    Words out(rewriter, loc, from, exchange.store);
    SmallVector<Value> values = out.open(adaptor.getSource());
    Value owner = emitOwner(rewriter, loc, source, role.place);
    int64_t each = out.perAccess * out.accesses;
    forEachStep(exchange.store, [&](size_t i, Value address, int64_t offset) {
      if (!source.owned[i * exchange.store.vector])
        return;
      for (int64_t k = 0; k < out.accesses; ++k)
        storeShared(rewriter, loc, owner, address, offset + k * out.perAccess * out.width / 8,
                    ArrayRef(values).slice(i * each + k * out.perAccess, out.perAccess), out.width);
    });
    if (exchange.withinWarps)
      scratch.meetInWarp(rewriter);
    else
      scratch.meet(rewriter);
    Words in(rewriter, loc, to, exchange.load);
    SmallVector<Value> loaded;
    forEachStep(exchange.load, [&](size_t, Value address, int64_t offset) {
      for (int64_t k = 0; k < in.accesses; ++k)
        llvm::append_range(loaded, loadShared(rewriter, loc, address,
                                              offset + k * in.perAccess * in.width / 8,
                                              in.perAccess, in.width));
    });
    rewriter.replaceOp(op, in.close(std::move(loaded)));
    return success();
  }
};

} // namespace

void populateConvertLayoutPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                   const ConversionState &state) {
  patterns.add<ConvertPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
