// Scalar functions; see the header. docs/Numerics.md states their errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConvertMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace girih::wg {

namespace {

/// Above libdevice's calls and upstream's own patterns.
constexpr int kBenefit = 20;

struct Builder {
  OpBuilder &builder;
  Location loc;

  Value f64(double value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getF64FloatAttr(value));
  }
  Value f32(float value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value i32(int32_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  }
  Value fma(Value a, Value b, Value c) { return LLVM::FMAOp::create(builder, loc, a, b, c); }
  Value mul(Value a, Value b) { return LLVM::FMulOp::create(builder, loc, a, b); }
  Value intrinsic(StringRef name, Type type, Value operand) {
    return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(name), operand)
        .getResult(0);
  }
};

/// f32 functions serve f16 and bf16 too: widened, and rounded once more.
template <typename Op> struct NarrowFloatPattern : OpConversionPattern<Op> {
  NarrowFloatPattern(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern<Op>(converter, context, kBenefit) {}
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF16() && !type.isBF16())
      return rewriter.notifyMatchFailure(op, "not of 32 or 16 bits");
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    if (!type.isF32())
      x = LLVM::FPExtOp::create(rewriter, loc, rewriter.getF32Type(), x);
    Value result = compute(Builder{rewriter, loc}, x);
    if (!type.isF32())
      result = LLVM::FPTruncOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
  virtual Value compute(Builder build, Value x) const = 0;
};

struct Exp2Pattern : NarrowFloatPattern<math::Exp2Op> {
  using NarrowFloatPattern::NarrowFloatPattern;
  Value compute(Builder build, Value x) const override {
    return build.intrinsic("llvm.nvvm.ex2.approx.ftz", x.getType(), x);
  }
};

/// sin and cos: x minus the nearest multiple k of pi/2, in f64 with pi/2 in three parts, then a
/// polynomial in f32. libdevice keeps the digits of 2/pi in a local array, which is a stack.
template <typename Op, int Quarter> struct TrigonometryPattern : NarrowFloatPattern<Op> {
  using NarrowFloatPattern<Op>::NarrowFloatPattern;
  Value compute(Builder build, Value x) const override {
    OpBuilder &builder = build.builder;
    Location loc = build.loc;
    Type f64 = builder.getF64Type(), f32 = builder.getF32Type(), i32 = builder.getI32Type();
    Value wide = LLVM::FPExtOp::create(builder, loc, f64, x);
    Value k =
        build.intrinsic("llvm.roundeven", f64, build.mul(wide, build.f64(0x1.45f306dc9c883p-1)));
    Value minus = LLVM::FNegOp::create(builder, loc, k);
    Value rest = wide;
    for (double part : {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110})
      rest = build.fma(minus, build.f64(part), rest);
    Value r = LLVM::FPTruncOp::create(builder, loc, f32, rest);
    // The quarter that the angle is in; k is a multiple of 4 plus that.
    Value fours = build.mul(build.intrinsic("llvm.floor", f64, build.mul(k, build.f64(0.25))),
                            build.f64(4.0));
    Value left = LLVM::FSubOp::create(builder, loc, k, fours);
    Value quarter = build.intrinsic("llvm.fptosi.sat", i32, left);
    if (Quarter)
      quarter = LLVM::AddOp::create(builder, loc, quarter, build.i32(Quarter));

    // Taylor's series, with the last coefficients fitted to [-pi/4, pi/4].
    Value z = build.mul(r, r);
    Value sine = build.fma(z, build.f32(-1.9515295891e-4f), build.f32(8.3321608736e-3f));
    sine = build.fma(sine, z, build.f32(-1.6666654611e-1f));
    sine = build.fma(build.mul(sine, z), r, r);
    Value cosine =
        build.fma(z, build.f32(2.443315711809948e-5f), build.f32(-1.388731625493765e-3f));
    cosine = build.fma(cosine, z, build.f32(4.166664568298827e-2f));
    cosine = build.fma(cosine, z, build.f32(-0.5f));
    cosine = build.fma(cosine, z, build.f32(1.0f));
    auto bit = [&](int32_t mask) -> Value {
      Value set = LLVM::AndOp::create(builder, loc, quarter, build.i32(mask));
      return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, set, build.i32(0));
    };
    Value result = LLVM::SelectOp::create(builder, loc, bit(1), cosine, sine);
    Value negative = LLVM::FNegOp::create(builder, loc, result);
    return LLVM::SelectOp::create(builder, loc, bit(2), negative, result);
  }
};

} // namespace

void populateMathPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns
      .add<Exp2Pattern, TrigonometryPattern<math::SinOp, 0>, TrigonometryPattern<math::CosOp, 1>>(
          converter, patterns.getContext());
}

} // namespace girih::wg
