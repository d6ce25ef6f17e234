// Views: each op is arithmetic on the parts of the struct.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "GlobalView.h"

using namespace mlir;

namespace girih::wg {

namespace {

struct ViewPattern : OpConversionPattern<tile::ViewOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ViewOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    GlobalView view{op.getView().getType(), adaptor.getPointer(),
                    llvm::to_vector(adaptor.getExtents()), llvm::to_vector(adaptor.getStrides())};
    rewriter.replaceOp(op, view.close(rewriter, op.getLoc()));
    return success();
  }
};

struct SelectPattern : OpConversionPattern<tile::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::SelectOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t dim = op.getDim();
    GlobalView view =
        GlobalView::open(rewriter, loc, op.getSource().getType(), adaptor.getSource());
    view.pointer = view.advance(rewriter, loc, view.pointer, dim, adaptor.getIndex());
    view.extents.erase(view.extents.begin() + dim);
    view.strides.erase(view.strides.begin() + dim);
    rewriter.replaceOp(op, view.close(rewriter, loc));
    return success();
  }
};

struct SlicePattern : OpConversionPattern<tile::SliceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::SliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t dim = op.getDim();
    GlobalView view =
        GlobalView::open(rewriter, loc, op.getSource().getType(), adaptor.getSource());
    view.pointer = view.advance(rewriter, loc, view.pointer, dim, adaptor.getLow());
    view.extents[dim] = LLVM::SubOp::create(rewriter, loc, adaptor.getHigh(), adaptor.getLow());
    rewriter.replaceOp(op, view.close(rewriter, loc));
    return success();
  }
};

struct PermutePattern : OpConversionPattern<tile::PermuteOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::PermuteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    GlobalView from =
        GlobalView::open(rewriter, loc, op.getSource().getType(), adaptor.getSource());
    GlobalView view{op.getView().getType(), from.pointer, {}, {}};
    for (int64_t dim : op.getOrder()) {
      view.extents.push_back(from.extents[dim]);
      view.strides.push_back(from.strides[dim]);
    }
    rewriter.replaceOp(op, view.close(rewriter, loc));
    return success();
  }
};

struct ExtentPattern : OpConversionPattern<tile::ExtentOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(tile::ExtentOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    GlobalView view =
        GlobalView::open(rewriter, op.getLoc(), op.getView().getType(), adaptor.getView());
    rewriter.replaceOp(op, view.extents[op.getDim()]);
    return success();
  }
};

} // namespace

void populateViewPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ViewPattern, SelectPattern, SlicePattern, PermutePattern, ExtentPattern>(
      converter, patterns.getContext());
}

} // namespace girih::wg
