// Instructions of conversions; see the header. PTX ISA 9.0, 9.7.9.21 and 9.7.9.22 "cvt".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Casts.h"

#include "girih/Conversion/WGToNVVM/InlineAsm.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace girih::wg {

namespace {

using tile::Rounding;

bool isFloat8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }
bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

unsigned bitsOf(Type type) { return type.getIntOrFloatBitWidth(); }

class Caster {
public:
  Caster(OpBuilder &builder, Location loc, const Cast &cast)
      : builder(builder), loc(loc), cast(cast) {}

  SmallVector<Value> run(ArrayRef<Value> elements) {
    Type from = cast.from, to = cast.to;
    SmallVector<Value> values(elements);
    if (from == to && !isa<IntegerType>(from))
      return values;
    if (to.isInteger(1))
      return each(values, [&](Value x) { return isNotZero(x); });
    if (isa<IntegerType>(from))
      return isa<IntegerType>(to) ? each(values, [&](Value x) { return integerToInteger(x); })
                                  : integersToFloats(values);
    // From here on a float; narrow ones widen exactly first.
    if (isFloat8(from)) {
      values = widenFloat8(values);
      from = builder.getF16Type();
      if (to == from)
        return values;
    }
    if (isa<IntegerType>(to))
      return each(values, [&](Value x) { return floatToInteger(x); });
    if (bitsOf(from) == 16 && from != to) {
      values = each(values, [&](Value x) { return extend(x, builder.getF32Type()); });
      from = builder.getF32Type();
    }
    return narrow(values, from);
  }

private:
  template <typename Fn> SmallVector<Value> each(ArrayRef<Value> values, Fn fn) {
    return llvm::map_to_vector(values, fn);
  }

  Value constant(Type type, APInt value) {
    return LLVM::ConstantOp::create(builder, loc, type, IntegerAttr::get(type, value));
  }
  Value constant(Type type, double value) {
    return LLVM::ConstantOp::create(builder, loc, type, builder.getFloatAttr(type, value));
  }
  Value index(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value intrinsic(StringRef name, Type type, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(name), operands)
        .getResult(0);
  }
  Value extend(Value x, Type type) {
    return x.getType() == type ? x : Value(LLVM::FPExtOp::create(builder, loc, type, x));
  }
  Value pairAt(Value pair, int64_t i) {
    return LLVM::ExtractElementOp::create(builder, loc, pair, index(i));
  }

  /// `cvt.MODE.TO.FROM` of one element; LLVM has no other rounding than to nearest even.
  Value directed(Value x, StringRef to, StringRef from, Type type) {
    InlineAsm text;
    std::string result = text.output(type), source = text.input(x);
    text.line("cvt." + stringifyRounding(*cast.rounding).str() + "." + to.str() + "." + from.str() +
              " " + result + ", " + source + ";");
    return text.emit(builder, loc).front();
  }
  bool nearest() const {
    return cast.rounding.value_or(Rounding::NearestEven) == Rounding::NearestEven;
  }

  Value isNotZero(Value x) {
    Type from = x.getType();
    if (isFloat8(cast.from)) // all but the sign
      return isNotZeroInteger(LLVM::AndOp::create(builder, loc, x, constant(from, APInt(8, 0x7f))));
    if (isa<IntegerType>(from))
      return isNotZeroInteger(x);
    return LLVM::FCmpOp::create(builder, loc, LLVM::FCmpPredicate::une, x, constant(from, 0.0));
  }
  Value isNotZeroInteger(Value x) {
    return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, x,
                                constant(x.getType(), APInt::getZero(bitsOf(x.getType()))));
  }

  /// A boolean is 0 or 1.
  bool fromUnsigned() const { return cast.unsignedFrom || cast.from.isInteger(1); }

  Value integerToInteger(Value x) {
    unsigned from = bitsOf(cast.from), to = bitsOf(cast.to);
    if (cast.saturate)
      x = clamp(x, from, to);
    if (from == to)
      return x;
    if (from > to)
      return LLVM::TruncOp::create(builder, loc, cast.to, x);
    if (fromUnsigned())
      return LLVM::ZExtOp::create(builder, loc, cast.to, x);
    return LLVM::SExtOp::create(builder, loc, cast.to, x);
  }

  /// Clamps a number of `from` bits to what `to` bits hold, bound by bound where one is inside the
  /// source's range.
  Value clamp(Value x, unsigned from, unsigned to) {
    unsigned wide = std::max(from, to) + 1;
    auto lowest = [&](unsigned bits, bool isUnsigned) {
      return isUnsigned ? APInt::getZero(wide) : APInt::getSignedMinValue(bits).sext(wide);
    };
    auto highest = [&](unsigned bits, bool isUnsigned) {
      return isUnsigned ? APInt::getMaxValue(bits).zext(wide)
                        : APInt::getSignedMaxValue(bits).zext(wide);
    };
    bool isUnsigned = fromUnsigned();
    APInt low = lowest(to, cast.unsignedTo), high = highest(to, cast.unsignedTo);
    if (low.sgt(lowest(from, isUnsigned)))
      x = LLVM::SMaxOp::create(builder, loc, x, constant(cast.from, low.trunc(from)));
    if (high.slt(highest(from, isUnsigned))) {
      Value bound = constant(cast.from, high.trunc(from));
      x = isUnsigned ? Value(LLVM::UMinOp::create(builder, loc, x, bound))
                     : Value(LLVM::SMinOp::create(builder, loc, x, bound));
    }
    return x;
  }

  SmallVector<Value> integersToFloats(ArrayRef<Value> values) {
    Type to = cast.to;
    // What f16 and 8-bit floats hold is exact in f32, and so is what 8 and 16 bits hold.
    bool viaF32 = to.isF16() || isFloat8(to) || (to.isBF16() && bitsOf(cast.from) <= 16);
    if (viaF32 || nearest()) {
      Type type = viaF32 ? builder.getF32Type() : to;
      SmallVector<Value> floats = each(values, [&](Value x) -> Value {
        if (fromUnsigned())
          return LLVM::UIToFPOp::create(builder, loc, type, x);
        return LLVM::SIToFPOp::create(builder, loc, type, x);
      });
      return viaF32 ? narrow(floats, type) : floats;
    }
    std::string from = (fromUnsigned() ? "u" : "s") + llvm::utostr(bitsOf(cast.from));
    return each(values, [&](Value x) {
      if (bitsOf(cast.from) < 16) {
        Type carrier = builder.getIntegerType(16);
        x = fromUnsigned() ? Value(LLVM::ZExtOp::create(builder, loc, carrier, x))
                           : Value(LLVM::SExtOp::create(builder, loc, carrier, x));
        from = fromUnsigned() ? "u16" : "s16";
      }
      return directed(x, nameOf(to), from, to);
    });
  }

  static std::string nameOf(Type type) {
    return type.isBF16() ? "bf16" : "f" + llvm::utostr(bitsOf(type));
  }

  /// Clamped, and NaN to 0, which is what these intrinsics say.
  Value floatToInteger(Value x) {
    if (bitsOf(x.getType()) == 16)
      x = extend(x, builder.getF32Type());
    Type type = x.getType();
    StringRef first = "";
    switch (cast.rounding.value_or(Rounding::TowardZero)) {
    case Rounding::TowardZero:
      break;
    case Rounding::NearestEven:
      first = "llvm.roundeven";
      break;
    case Rounding::Up:
      first = "llvm.ceil";
      break;
    case Rounding::Down:
      first = "llvm.floor";
      break;
    }
    if (!first.empty())
      x = intrinsic(first, type, x);
    return intrinsic(cast.unsignedTo ? "llvm.fptoui.sat" : "llvm.fptosi.sat", cast.to, x);
  }

  /// Up to two bytes as an i16, the first one low: half of the register they are in, if they are.
  Value pairOfBytes(ArrayRef<Value> values) {
    if (values.size() == 2)
      if (auto [vector, first] = consecutive(values); vector && first % 2 == 0) {
        int64_t pairs = llvm::cast<VectorType>(vector.getType()).getDimSize(0) / 2;
        Value halves = LLVM::BitcastOp::create(
            builder, loc, VectorType::get(pairs, builder.getI16Type()), vector);
        return pairAt(halves, first / 2);
      }
    Value pair = LLVM::ZeroOp::create(builder, loc, VectorType::get(2, builder.getI8Type()));
    for (auto [i, value] : llvm::enumerate(values))
      pair =
          LLVM::InsertElementOp::create(builder, loc, pair, value, index(static_cast<int64_t>(i)));
    return LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), pair);
  }

  /// e4m3 and e5m2 to f16, exactly, two an instruction.
  SmallVector<Value> widenFloat8(ArrayRef<Value> values) {
    StringRef name = isa<Float8E4M3FNType>(cast.from) ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                                                      : "llvm.nvvm.e5m2x2.to.f16x2.rn";
    auto halves = VectorType::get(2, builder.getF16Type());
    SmallVector<Value> results;
    for (size_t i = 0; i < values.size(); i += 2) {
      Value wide = intrinsic(name, halves, pairOfBytes(values.slice(i).take_front(2)));
      for (size_t k = i; k < std::min(i + 2, values.size()); ++k)
        results.push_back(pairAt(wide, static_cast<int64_t>(k - i)));
    }
    return results;
  }

  /// f32 or f64 (or the type itself) to any float.
  SmallVector<Value> narrow(ArrayRef<Value> from, Type type) {
    SmallVector<Value> values(from);
    Type to = cast.to;
    if (type == to)
      return values;
    if (bitsOf(to) > bitsOf(type))
      return each(values, [&](Value x) { return extend(x, to); });
    if (cast.saturate && !isFloat8(to))
      values = each(values, [&](Value x) { return clampFloat(x, to); });
    if (isFloat8(to)) {
      if (type.isF64())
        values = each(values, [&](Value x) { return toOddF32(x); });
      return inPairs(values,
                     isa<Float8E4M3FNType>(to) ? "llvm.nvvm.ff.to.e4m3x2.rn"
                                               : "llvm.nvvm.ff.to.e5m2x2.rn",
                     builder.getI16Type(), builder.getI8Type());
    }
    if (!nearest())
      return each(values, [&](Value x) { return directed(x, nameOf(to), nameOf(type), to); });
    if (isHalf(to) && type.isF32())
      return inPairs(values, to.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn",
                     VectorType::get(2, to), to);
    return each(values,
                [&](Value x) { return Value(LLVM::FPTruncOp::create(builder, loc, to, x)); });
  }

  /// To the finite range of `to`; NaN stays.
  Value clampFloat(Value x, Type to) {
    Type type = x.getType();
    const llvm::fltSemantics &semantics = cast.to.isBF16() ? APFloat::BFloat()
                                          : to.isF16()     ? APFloat::IEEEhalf()
                                                           : APFloat::IEEEsingle();
    APFloat most = APFloat::getLargest(semantics);
    bool exact;
    most.convert(llvm::cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &exact);
    auto bound = [&](bool negative) -> Value {
      APFloat value = most;
      if (negative)
        value.changeSign();
      return LLVM::ConstantOp::create(builder, loc, type, FloatAttr::get(type, value));
    };
    x = LLVM::MinimumOp::create(builder, loc, x, bound(false));
    return LLVM::MaximumOp::create(builder, loc, x, bound(true));
  }

  /// f64 to f32 toward zero, with the last bit set if anything was cut off: rounding that once more
  /// to a narrower type rounds as if it were done at once.
  Value toOddF32(Value x) {
    InlineAsm text;
    std::string result = text.output(builder.getF32Type()), source = text.input(x);
    text.line("cvt.rz.f32.f64 " + result + ", " + source + ";");
    Value cut = text.emit(builder, loc).front();
    Value back = LLVM::FPExtOp::create(builder, loc, builder.getF64Type(), cut);
    Value lost = LLVM::FCmpOp::create(builder, loc, LLVM::FCmpPredicate::une, back, x);
    Value sticky = LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), lost);
    Value bits = LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), cut);
    Value odd = LLVM::OrOp::create(builder, loc, bits, sticky);
    return LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), odd);
  }

  /// Two f32 an instruction: the first source goes to the upper half.
  SmallVector<Value> inPairs(ArrayRef<Value> values, StringRef name, Type pairType, Type element) {
    auto vector = VectorType::get(2, element);
    SmallVector<Value> results;
    for (size_t i = 0; i < values.size(); i += 2) {
      bool two = i + 1 < values.size();
      Value pair = intrinsic(name, pairType, ValueRange{values[two ? i + 1 : i], values[i]});
      if (pairType != vector)
        pair = LLVM::BitcastOp::create(builder, loc, vector, pair);
      for (int64_t k = 0; k < (two ? 2 : 1); ++k)
        results.push_back(pairAt(pair, k));
    }
    return results;
  }

  OpBuilder &builder;
  Location loc;
  const Cast &cast;
};

} // namespace

Cast castOf(tile::CastOp op) {
  return {tile::elementTypeOf(op.getSource().getType()),
          tile::elementTypeOf(op.getType()),
          op.getRounding(),
          op.getSaturate(),
          op.getUnsignedSource(),
          op.getUnsignedResult()};
}

std::optional<Cast> castOf(arith::TruncFOp op) {
  Cast cast{tile::elementTypeOf(op.getIn().getType()), tile::elementTypeOf(op.getType()), {}};
  switch (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even)) {
  case arith::RoundingMode::to_nearest_even:
    cast.rounding = Rounding::NearestEven;
    break;
  case arith::RoundingMode::toward_zero:
    cast.rounding = Rounding::TowardZero;
    break;
  case arith::RoundingMode::upward:
    cast.rounding = Rounding::Up;
    break;
  case arith::RoundingMode::downward:
    cast.rounding = Rounding::Down;
    break;
  case arith::RoundingMode::to_nearest_away:
    return std::nullopt;
  }
  return cast;
}

std::optional<Cast> castOf(arith::ExtFOp op) {
  return Cast{tile::elementTypeOf(op.getIn().getType()), tile::elementTypeOf(op.getType()), {}};
}

std::optional<std::string> refuseCast(const Cast &cast) {
  auto isKnown = [](Type type) {
    return isFloat8(type) || isHalf(type) || type.isF32() || type.isF64() ||
           llvm::is_contained({1u, 8u, 16u, 32u, 64u}, isa<IntegerType>(type) ? bitsOf(type) : 0u);
  };
  for (Type type : {cast.from, cast.to})
    if (!isKnown(type)) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "converts " << type << "; expected i1, i8 to i64, e4m3, e5m2, f16, bf16, f32 or f64";
      return text;
    }
  if (isFloat8(cast.to) && cast.from != cast.to &&
      cast.rounding.value_or(Rounding::NearestEven) != Rounding::NearestEven)
    return "rounds to an 8-bit float other than to nearest even, for which there is no "
           "instruction; "
           "leave out the rounding";
  return std::nullopt;
}

SmallVector<Value> emitCast(OpBuilder &builder, Location loc, const Cast &cast,
                            ArrayRef<Value> elements) {
  return Caster(builder, loc, cast).run(elements);
}

} // namespace girih::wg
