// The general path of cvt (PTX ISA 9.0, 9.7.9.21): one lane at a time, through a 64-bit integer or
// a binary64 number, which hold every source exactly. A result is rounded once: narrow formats take
// binary64 by way of a number rounded to odd, integers are cut to the destination's precision as
// integers.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/ConversionOps.h"
#include "Emulator/Units/FloatBits.h"

#include <cmath>

namespace girih::emu {

namespace {

using ptx::Type;

uint64_t loadRaw(const Context &c, Src source, unsigned width, unsigned lane) {
  switch (width) {
  case 2:
    return c.src<uint16_t>(source)[lane];
  case 4:
    return c.src<uint32_t>(source)[lane];
  default:
    return c.src<uint64_t>(source)[lane];
  }
}
void storeRaw(const Context &c, int32_t destination, unsigned width, unsigned lane,
              uint64_t value) {
  switch (width) {
  case 2:
    c.dst<uint16_t>(destination)[lane] = static_cast<uint16_t>(value);
    break;
  case 4:
    c.dst<uint32_t>(destination)[lane] = static_cast<uint32_t>(value);
    break;
  default:
    c.dst<uint64_t>(destination)[lane] = value;
  }
}
int64_t extend(uint64_t raw, Type type) {
  unsigned unused = 64 - 8 * ptx::typeBytes(type);
  return ptx::isSigned(type) ? static_cast<int64_t>(raw << unused) >> unused
                             : static_cast<int64_t>(raw << unused >> unused);
}
float flush(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }
double toDouble(uint64_t raw, Type type) {
  switch (type) {
  case Type::F16:
    return f16ToFloat(static_cast<uint16_t>(raw));
  case Type::BF16:
    return bf16ToFloat(static_cast<uint16_t>(raw));
  case Type::F32:
    return std::bit_cast<float>(static_cast<uint32_t>(raw));
  default:
    return std::bit_cast<double>(raw);
  }
}
double roundIntegral(double v, Rounding rounding) {
  switch (rounding) {
  case Rounding::TowardsZero:
    return std::trunc(v);
  case Rounding::Down:
    return std::floor(v);
  case Rounding::Up:
    return std::ceil(v);
  default:
    return std::nearbyint(v);
  }
}
/// Narrows to binary32.
float narrow(double v, Rounding rounding) {
  float f = static_cast<float>(v);
  if (rounding == Rounding::NearestEven || static_cast<double>(f) == v || v != v)
    return f;
  bool above = static_cast<double>(f) > v;
  bool wantAbove = rounding == Rounding::Up || (rounding == Rounding::TowardsZero && v < 0);
  if (above == wantAbove)
    return f;
  return std::nextafter(f, wantAbove ? INFINITY : -INFINITY);
}
/// The number of `precision` bits that an integer rounds to; binary64 holds it exactly.
double roundInteger(uint64_t magnitude, bool negative, unsigned precision, Rounding rounding) {
  unsigned length = 64 - static_cast<unsigned>(std::countl_zero(magnitude));
  int shift = static_cast<int>(length) - static_cast<int>(precision);
  double value;
  if (shift <= 0) {
    value = static_cast<double>(magnitude);
  } else {
    uint64_t kept = magnitude >> shift, cut = magnitude & ((uint64_t(1) << shift) - 1),
             half = uint64_t(1) << (shift - 1);
    bool up = rounding == Rounding::NearestEven ? cut > half || (cut == half && (kept & 1))
              : rounding == Rounding::Down      ? negative && cut
              : rounding == Rounding::Up        ? !negative && cut
                                                : false;
    value = std::ldexp(static_cast<double>(kept + up), shift);
  }
  return negative ? -value : value;
}

unsigned precisionOf(Type type) {
  switch (type) {
  case Type::F16:
    return 11;
  case Type::BF16:
    return 8;
  case Type::F32:
    return 24;
  default:
    return 53;
  }
}

uint64_t fromFloating(double v, Type type, Rounding rounding, unsigned flags) {
  if (flags & kConvertSat)
    v = v > 0 ? (v < 1 ? v : 1) : 0;
  if ((flags & kConvertRelu) && !(v > 0) && v == v)
    v = 0;
  const bool satfinite = flags & kConvertSatfinite;
  switch (type) {
  case Type::F16: {
    uint16_t code = floatToF16(bits::toFloatOdd(v), rounding);
    return satfinite && (code & 0x7fff) == 0x7c00 ? code - 1u : code;
  }
  case Type::BF16: {
    uint16_t code = floatToBf16(bits::toFloatOdd(v), rounding);
    return satfinite && (code & 0x7fff) == 0x7f80 ? code - 1u : code;
  }
  case Type::TF32: {
    // Only binary32 converts to it.
    uint32_t code = floatToTf32(static_cast<float>(v), rounding);
    return satfinite && (code & 0x7fffffff) == 0x7f800000 ? code - 0x2000 : code;
  }
  case Type::F32: {
    float f = narrow(v, rounding);
    if (flags & kConvertFtz)
      f = flush(f);
    return f == f ? bits::of(f) : 0x7fffffffu;
  }
  default:
    return bits::of(v);
  }
}

/// Clamped to the destination's range, which is the default; the value is integral.
uint64_t toInteger(double v, Type type, Type from) {
  const unsigned size = 8 * ptx::typeBytes(type);
  if (v != v)
    return from == Type::F64 || size == 64 ? uint64_t(1) << (size - 1) : 0;
  if (ptx::isSigned(type)) {
    const double limit = std::ldexp(1.0, static_cast<int>(size) - 1);
    if (v >= limit)
      return (uint64_t(1) << (size - 1)) - 1;
    if (v < -limit)
      return ~uint64_t(0) << (size - 1);
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  }
  if (v <= 0)
    return 0;
  if (v >= std::ldexp(1.0, static_cast<int>(size)))
    return ~uint64_t(0) >> (64 - size);
  return static_cast<uint64_t>(v);
}

uint64_t saturateInteger(int64_t v, bool isSigned, Type to) {
  const unsigned size = 8 * ptx::typeBytes(to);
  const bool negative = isSigned && v < 0;
  if (ptx::isSigned(to)) {
    const uint64_t high = (uint64_t(1) << (size - 1)) - 1;
    if (!negative)
      return static_cast<uint64_t>(v) > high ? high : static_cast<uint64_t>(v);
    const int64_t low = -static_cast<int64_t>(high) - 1;
    return static_cast<uint64_t>(v < low ? low : v);
  }
  const uint64_t high = ~uint64_t(0) >> (64 - size);
  if (negative)
    return 0;
  return static_cast<uint64_t>(v) > high ? high : static_cast<uint64_t>(v);
}

uint64_t convertOne(uint64_t raw, Type to, Type from, unsigned sub) {
  const auto rounding = static_cast<Rounding>(sub & kConvertRounding);
  if (ptx::isFloat(from)) {
    double v = toDouble(raw, from);
    if ((sub & kConvertFtz) && from == Type::F32)
      v = flush(static_cast<float>(v));
    if (!ptx::isFloat(to))
      return toInteger(roundIntegral(v, rounding), to, from);
    if (sub & kConvertIntegral)
      return fromFloating(roundIntegral(v, rounding), to, Rounding::NearestEven, sub);
    return fromFloating(v, to, rounding, sub);
  }
  const int64_t v = extend(raw, from);
  if (!ptx::isFloat(to)) {
    uint64_t result =
        sub & kConvertSat ? saturateInteger(v, ptx::isSigned(from), to) : static_cast<uint64_t>(v);
    return static_cast<uint64_t>(extend(result, to));
  }
  const bool negative = ptx::isSigned(from) && v < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  return fromFloating(roundInteger(magnitude, negative, precisionOf(to), rounding), to, rounding,
                      sub);
}

} // namespace

Step convertGeneral(Context &c, const Instr &in) {
  const Type to = static_cast<Type>(in.target >> 8), from = static_cast<Type>(in.target & 0xff);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t raw = loadRaw(c, in.s[0], in.width, lane);
    storeRaw(c, in.d[0], in.width2, lane, convertOne(raw, to, from, in.sub));
  }
  return Step::Next;
}

} // namespace girih::emu
