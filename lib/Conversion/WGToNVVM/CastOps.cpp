// tile.cast of tiles and scalars, and arith's changes of a tile's float type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "Casts.h"

#include "girih/Conversion/WGToNVVM/Registers.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// A tile's registers converted.
Value castTile(OpBuilder &builder, Location loc, const Cast &cast, Value source,
               RankedTensorType from) {
  SmallVector<Value> elements =
      emitCast(builder, loc, cast, unpackElements(builder, loc, source, from));
  return packElements(builder, loc, elements, cast.to);
}

struct CastPattern : OpConversionPattern<tile::CastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::CastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Cast cast = castOf(op);
    if (auto from = dyn_cast<RankedTensorType>(op.getSource().getType())) {
      if (!isTile(from))
        return rewriter.notifyMatchFailure(op, "a tile without a layout");
      rewriter.replaceOp(op, castTile(rewriter, loc, cast, adaptor.getSource(), from));
    } else {
      rewriter.replaceOp(op, emitCast(rewriter, loc, cast, adaptor.getSource()));
    }
    return success();
  }
};

/// arith.truncf and arith.extf of tiles.
template <typename Op> struct FloatPattern : OpConversionPattern<Op> {
  FloatPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern<Op>(converter, context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto from = dyn_cast<RankedTensorType>(op.getIn().getType());
    if (!from || !isTile(from))
      return rewriter.notifyMatchFailure(op, "no tile");
    Cast cast = *castOf(op);
    rewriter.replaceOp(op, castTile(rewriter, op.getLoc(), cast, adaptor.getIn(), from));
    return success();
  }
};

} // namespace

void populateCastPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<CastPattern, FloatPattern<arith::TruncFOp>, FloatPattern<arith::ExtFOp>>(
      converter, patterns.getContext());
}

} // namespace girih::wg
