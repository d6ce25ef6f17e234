// Scalar conversions (PTX ISA 9.0, 9.7.9.21 "cvt"). Those of inner loops and epilogues convert a
// warp at a time here; the others take the general path (ConversionGeneral.cpp).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Conversion.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/ConversionOps.h"
#include "Emulator/Exec/FloatOps.h"

#include <algorithm>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

/// Without saturation an integer is cut to the narrower type and extended from it.
template <typename D, typename Narrow, typename S>
Step convertInteger(Context &c, const Instr &in) {
  return lanes1<D, S>(c, in, [](S a) { return static_cast<D>(static_cast<Narrow>(a)); });
}
template <typename Format> Step widen16(Context &c, const Instr &in) {
  return lanes1<float, uint16_t>(c, in, [](uint16_t a) { return canonical(Format::load(a)); });
}
template <typename Format> Step narrow16(Context &c, const Instr &in) {
  return lanes1<uint16_t, float>(c, in, [](float a) { return Format::store(a); });
}
Step widen64(Context &c, const Instr &in) {
  return lanes1<double, float>(c, in, [](float a) { return static_cast<double>(a); });
}
Step narrow32(Context &c, const Instr &in) {
  return lanes1<float, double>(c, in, [](double a) { return canonical(static_cast<float>(a)); });
}
Step signedToFloat(Context &c, const Instr &in) {
  return lanes1<float, int32_t>(c, in, [](int32_t a) { return static_cast<float>(a); });
}
/// Through binary64, which holds every integer, so that it rounds once.
Step unsignedToFloat(Context &c, const Instr &in) {
  return lanes1<float, uint32_t>(c, in, [](uint32_t a) {
    constexpr double magic = 0x1p52;
    double v = std::bit_cast<double>(bits::of(magic) | a) - magic;
    return static_cast<float>(v);
  });
}
/// To a 32-bit signed integer, clamped; NaN gives 0.
template <bool nearest> Step floatToSigned(Context &c, const Instr &in) {
  return lanes1<int32_t, float>(c, in, [](float a) {
    double v = a == a ? a : 0;
    v = v < -0x1p31 ? -0x1p31 : v;
    v = v > 0x1.fffffffcp30 ? 0x1.fffffffcp30 : v;
    if constexpr (nearest)
      v = (v + 0x1.8p52) - 0x1.8p52;
    return static_cast<int32_t>(v);
  });
}

ExecFn fastInteger(Type to, Type from, unsigned widthTo, unsigned widthFrom) {
  const bool narrowFirst = ptx::typeBytes(from) < ptx::typeBytes(to);
  const Type narrow = narrowFirst ? from : to;
  // Registers as wide as their types, and bytes in 32-bit registers.
  const unsigned code = widthTo * 10 + widthFrom;
  switch (code) {
  case 84:
    return narrow == Type::S32   ? ExecFn(convertInteger<uint64_t, int32_t, uint32_t>)
           : narrow == Type::U32 ? ExecFn(convertInteger<uint64_t, uint32_t, uint32_t>)
                                 : nullptr;
  case 48:
    return ptx::typeBytes(to) == 4 ? ExecFn(convertInteger<uint32_t, uint32_t, uint64_t>) : nullptr;
  case 42:
    return narrow == Type::S16   ? ExecFn(convertInteger<uint32_t, int16_t, uint16_t>)
           : narrow == Type::U16 ? ExecFn(convertInteger<uint32_t, uint16_t, uint16_t>)
                                 : nullptr;
  case 24:
    return ptx::typeBytes(to) == 2 ? ExecFn(convertInteger<uint16_t, uint16_t, uint32_t>) : nullptr;
  case 44:
    return narrow == Type::S8    ? ExecFn(convertInteger<uint32_t, int8_t, uint32_t>)
           : narrow == Type::U8  ? ExecFn(convertInteger<uint32_t, uint8_t, uint32_t>)
           : narrow == Type::S16 ? ExecFn(convertInteger<uint32_t, int16_t, uint32_t>)
           : narrow == Type::U16 ? ExecFn(convertInteger<uint32_t, uint16_t, uint32_t>)
           : narrow == Type::S32 || narrow == Type::U32
               ? ExecFn(convertInteger<uint32_t, uint32_t, uint32_t>)
               : nullptr;
  default:
    return nullptr;
  }
}

/// The whole-warp function for a conversion without modifiers but its rounding; or null.
ExecFn fastConversion(const Instr &in, Type to, Type from) {
  const unsigned widthTo = in.width2, widthFrom = in.width;
  const bool exactWidths = widthTo == std::max(2u, ptx::typeBytes(to)) &&
                           widthFrom == std::max(2u, ptx::typeBytes(from));
  const auto rounding = static_cast<Rounding>(in.sub & kConvertRounding);
  const unsigned flags = in.sub & ~kConvertRounding;
  if (!ptx::isFloat(to) && !ptx::isFloat(from))
    return flags ? nullptr : fastInteger(to, from, widthTo, widthFrom);
  if (!exactWidths)
    return nullptr;
  if (flags == kConvertIntegral && to == Type::S32 && from == Type::F32)
    return rounding == Rounding::TowardsZero   ? ExecFn(floatToSigned<false>)
           : rounding == Rounding::NearestEven ? ExecFn(floatToSigned<true>)
                                               : nullptr;
  if (flags)
    return nullptr;
  if (to == Type::F32 && from == Type::F16)
    return widen16<Half>;
  if (to == Type::F32 && from == Type::BF16)
    return widen16<Brain>;
  if (to == Type::F64 && from == Type::F32)
    return widen64;
  if (rounding != Rounding::NearestEven)
    return nullptr;
  if (to == Type::F16 && from == Type::F32)
    return narrow16<Half>;
  if (to == Type::BF16 && from == Type::F32)
    return narrow16<Brain>;
  if (to == Type::F32 && from == Type::F64)
    return narrow32;
  if (to == Type::F32 && from == Type::S32)
    return signedToFloat;
  if (to == Type::F32 && from == Type::U32)
    return unsignedToFloat;
  return nullptr;
}

void buildCvt(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  const Type to = d.type(0), from = d.type(1);
  Rounding rounding = Rounding::NearestEven;
  const int integral = d.which({"rni", "rzi", "rmi", "rpi"});
  if (int i = integral >= 0 ? integral : d.which({"rn", "rz", "rm", "rp", "rna"}); i >= 0)
    rounding = static_cast<Rounding>(i);
  d.out.sub = static_cast<uint8_t>(
      static_cast<unsigned>(rounding) | (d.has("ftz") ? kConvertFtz : 0) |
      (d.has("sat") ? kConvertSat : 0) | (d.has("satfinite") ? kConvertSatfinite : 0) |
      (d.has("relu") ? kConvertRelu : 0) | (integral >= 0 ? kConvertIntegral : 0));
  d.out.d[0] = d.dest(d.operand(0), std::max(2u, ptx::typeBytes(to)), &d.out.width2);
  d.out.s[0] = d.source(d.operand(1), std::max(2u, ptx::typeBytes(from)), &d.out.width);
  d.out.target = static_cast<uint32_t>(to) << 8 | static_cast<uint32_t>(from);
  // Registers may be wider than their types, except for these (9.7.9.21).
  if (d.out.width < ptx::typeBytes(from) || d.out.width2 < ptx::typeBytes(to))
    return d.fail("a register narrower than the type");
  if ((from == Type::BF16 && d.out.width != 2) || (to == Type::BF16 && d.out.width2 != 2) ||
      (to == Type::TF32 && d.out.width2 != 4))
    return d.fail("a register wider than the type, which bf16 and tf32 do not allow");
  const ExecFn fast = fastConversion(d.out, to, from);
  d.out.exec = fast ? fast : ExecFn(convertGeneral);
}

#define GIRIH_ANY_INTEGER "u8|s8|u16|s16|u32|s32|u64|s64"
#define GIRIH_WIDE_INTEGER "u16|s16|u32|s32|u64|s64"
// One row per group of types that take the same modifiers.
const Form forms[] = {
    {"cvt", "sat? " GIRIH_ANY_INTEGER " " GIRIH_ANY_INTEGER, buildCvt},
    // To integers; out of range clamps, .sat or not.
    {"cvt", "rni|rzi|rmi|rpi ftz? sat? " GIRIH_ANY_INTEGER " f32", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi sat? " GIRIH_ANY_INTEGER " f16|f64", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi " GIRIH_WIDE_INTEGER " bf16", buildCvt},
    // From integers.
    {"cvt", "rn|rz|rm|rp ftz? sat? f32 " GIRIH_ANY_INTEGER, buildCvt},
    {"cvt", "rn|rz|rm|rp sat? f16|f64 " GIRIH_ANY_INTEGER, buildCvt},
    {"cvt", "rn|rz|rm|rp bf16 " GIRIH_WIDE_INTEGER, buildCvt},
    // One format: a copy, or rounded to an integral value.
    {"cvt", "rni|rzi|rmi|rpi? ftz? sat? f32 f32", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi? sat? f16 f16", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi? sat? f64 f64", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi? bf16 bf16", buildCvt},
    // To a wider format.
    {"cvt", "ftz? sat? f32 f16", buildCvt},
    {"cvt", "ftz? rn|rz|rm|rp? f32 bf16", buildCvt},
    {"cvt", "ftz? sat? f64 f32", buildCvt},
    {"cvt", "sat? f64 f16", buildCvt},
    {"cvt", "rn|rz|rm|rp? f64 bf16", buildCvt},
    // To a narrower one, or between the two of 16 bits.
    {"cvt", "rn|rz|rm|rp ftz? sat? f32 f64", buildCvt},
    {"cvt", "rn|rz|rm|rp sat? f16 f64", buildCvt},
    {"cvt", "rn|rz|rm|rp bf16 f64", buildCvt},
    {"cvt", "rn|rz|rm|rp ftz? sat? f16 f32", buildCvt},
    {"cvt", "rn|rz|rm|rp ftz? bf16 f32", buildCvt},
    {"cvt", "rn|rz|rm|rp? f16 bf16", buildCvt},
    {"cvt", "rn|rz|rm|rp? bf16 f16", buildCvt},
    {"cvt", "rn|rz relu? satfinite? f16|bf16 f32", buildCvt},
    {"cvt", "rn|rz relu? tf32 f32", buildCvt},
    {"cvt", "rna satfinite? tf32 f32", buildCvt},
};
#undef GIRIH_ANY_INTEGER
#undef GIRIH_WIDE_INTEGER

} // namespace

std::span<const Form> conversionForms() { return forms; }

GIRIH_TARGET_END
