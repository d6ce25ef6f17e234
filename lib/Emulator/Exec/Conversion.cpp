// Conversions between numeric types (PTX ISA 9.0, 9.7.9.21 "cvt") and between address spaces
// (9.7.9.20 "cvta", 9.7.9.19 "isspacep").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Conversion.cpp"
#include "Emulator/Exec/Targets.h"
#include "girih/Emulator/FloatFormats.h"

#include <cmath>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

// The general path: every lane goes through a 64-bit integer or a double, which hold all values of
// the types converted here exactly (64-bit integers excepted, which take a path of their own).

enum Round : uint8_t { None, Rn, Rz, Rm, Rp, Rna };
enum : uint8_t { kFtz = 8, kSat = 16, kSatfinite = 32, kRelu = 64 };

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
  switch (type) {
  case Type::U8:
  case Type::B8:
    return static_cast<uint8_t>(raw);
  case Type::S8:
    return static_cast<int8_t>(raw);
  case Type::U16:
  case Type::B16:
    return static_cast<uint16_t>(raw);
  case Type::S16:
    return static_cast<int16_t>(raw);
  case Type::U32:
  case Type::B32:
    return static_cast<uint32_t>(raw);
  case Type::S32:
    return static_cast<int32_t>(raw);
  default:
    return static_cast<int64_t>(raw);
  }
}
float flush(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
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
double roundIntegral(double v, unsigned mode) {
  switch (mode) {
  case Rz:
    return std::trunc(v);
  case Rm:
    return std::floor(v);
  case Rp:
    return std::ceil(v);
  default:
    return std::nearbyint(v);
  }
}
/// Narrows to binary32 in the given direction.
float narrow(double v, unsigned mode) {
  float f = static_cast<float>(v);
  if (mode == Rn || mode == None || static_cast<double>(f) == v || v != v)
    return f;
  bool above = static_cast<double>(f) > v;
  if (mode == Rz ? above == (v > 0) : mode == Rm ? above : !above)
    f = std::nextafter(f, mode == Rm || (mode == Rz && v > 0) ? -INFINITY
                          : mode == Rz                        ? INFINITY
                                                              : INFINITY);
  return f;
}
/// binary64 to binary32 rounded to odd, so that rounding to 16 bits afterwards is the only
/// rounding.
float toFloatOdd(double v) {
  float f = static_cast<float>(v);
  if (!std::isfinite(f) || static_cast<double>(f) == v)
    return f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (!(bits & 1))
    bits += (static_cast<double>(f) < v) == (v > 0) ? 1 : -1;
  return std::bit_cast<float>(bits);
}
uint64_t fromFloating(double v, Type type, unsigned mode, unsigned flags) {
  if (flags & kSat)
    v = v > 0 ? (v < 1 ? v : 1) : 0;
  if ((flags & kRelu) && !(v > 0) && v == v)
    v = 0;
  Rounding rounding = mode == Rz ? Rounding::TowardsZero : Rounding::NearestEven;
  switch (type) {
  case Type::F16: {
    uint16_t bits = floatToF16(toFloatOdd(v), rounding);
    if ((flags & kSatfinite) && (bits & 0x7fff) == 0x7c00)
      bits = static_cast<uint16_t>((bits & 0x8000) | 0x7bff);
    return bits;
  }
  case Type::BF16: {
    uint16_t bits = floatToBf16(toFloatOdd(v), rounding);
    if ((flags & kSatfinite) && (bits & 0x7fff) == 0x7f80)
      bits = static_cast<uint16_t>((bits & 0x8000) | 0x7f7f);
    return bits;
  }
  case Type::TF32: {
    float f = static_cast<float>(v);
    return mode == Rna ? floatToTf32Rna(f) : floatToTf32(f, rounding);
  }
  case Type::F32: {
    float f = narrow(v, mode);
    if (flags & kFtz)
      f = flush(f);
    return std::bit_cast<uint32_t>(f);
  }
  default:
    return std::bit_cast<uint64_t>(v);
  }
}
/// Limits of an integer type as doubles; conversion to it clamps (9.7.9.21).
uint64_t clampToInteger(double v, Type type) {
  if (v != v)
    return 0; // unspecified for narrow types, 0 on the chip
  unsigned bits = 8 * ptx::typeBytes(type);
  if (ptx::isSigned(type)) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (v >= limit)
      return bits == 64 ? uint64_t(INT64_MAX)
                        : static_cast<uint64_t>((int64_t(1) << (bits - 1)) - 1);
    if (v < -limit)
      return static_cast<uint64_t>(int64_t(-1) << (bits - 1));
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  }
  if (v <= 0)
    return 0;
  if (v >= std::ldexp(1.0, static_cast<int>(bits)))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return static_cast<uint64_t>(v);
}

struct Plan {
  Type to, from;
};
Step convert(Context &c, const Instr &in) {
  const Type to = static_cast<Type>(in.target >> 8 & 0xff),
             from = static_cast<Type>(in.target & 0xff);
  const unsigned mode = in.sub & 7, flags = in.sub;
  const bool integral = in.bytes; // .rni and so on: float to float, rounded to an integral value
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t raw = loadRaw(c, in.s[0], in.width, lane), result;
    if (ptx::isFloat(from)) {
      double v = toDouble(raw, from);
      if ((flags & kFtz) && from == Type::F32)
        v = flush(static_cast<float>(v));
      if (ptx::isFloat(to))
        result = fromFloating(integral ? roundIntegral(v, mode) : v, to,
                              integral ? unsigned(Rn) : mode, flags);
      else
        result = clampToInteger(roundIntegral(v, mode), to);
    } else {
      int64_t v = extend(raw, from);
      if (!ptx::isFloat(to)) {
        if (flags & kSat) {
          // Integers saturate to the destination's range.
          bool unsignedFrom = !ptx::isSigned(from);
          unsigned bits = 8 * ptx::typeBytes(to);
          if (ptx::isSigned(to)) {
            int64_t high = bits == 64 ? INT64_MAX : (int64_t(1) << (bits - 1)) - 1;
            if (unsignedFrom ? static_cast<uint64_t>(v) > static_cast<uint64_t>(high) : v > high)
              v = high;
            else if (!unsignedFrom && bits < 64 && v < -high - 1)
              v = -high - 1;
          } else {
            uint64_t high = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
            if (!unsignedFrom && v < 0)
              v = 0;
            else if (static_cast<uint64_t>(v) > high)
              v = static_cast<int64_t>(high);
          }
        }
        result = static_cast<uint64_t>(extend(static_cast<uint64_t>(v), to));
      } else if (to == Type::F64) {
        result = std::bit_cast<uint64_t>(from == Type::U64
                                             ? static_cast<double>(static_cast<uint64_t>(v))
                                             : static_cast<double>(v));
      } else if (to == Type::F32 && mode == Rn) {
        result =
            std::bit_cast<uint32_t>(from == Type::U64 ? static_cast<float>(static_cast<uint64_t>(v))
                                                      : static_cast<float>(v));
      } else {
        result = fromFloating(from == Type::U64 ? static_cast<double>(static_cast<uint64_t>(v))
                                                : static_cast<double>(v),
                              to, mode, flags);
      }
    }
    storeRaw(c, in.d[0], in.width2, lane, result);
  }
  return Step::Next;
}

// The conversions of inner loops and epilogues, by whole warps.
template <typename D, typename S> Step convertInteger(Context &c, const Instr &in) {
  return lanes1<D, S>(c, in, [](S a) { return static_cast<D>(a); });
}
template <bool brain> Step pack2(Context &c, const Instr &in) {
  // cvt.rn.bf16x2.f32 d, a, b: a goes to the upper half.
  const float *a = c.src<float>(in.s[0]), *b = c.src<float>(in.s[1]);
  uint16_t high[32], low[32];
  const Rounding rounding = (in.sub & 7) == Rz ? Rounding::TowardsZero : Rounding::NearestEven;
  float x[32], y[32];
  for (unsigned i = 0; i < 32; ++i) {
    x[i] = in.sub & kRelu ? (a[i] > 0 || a[i] != a[i] ? a[i] : 0.0f) : a[i];
    y[i] = in.sub & kRelu ? (b[i] > 0 || b[i] != b[i] ? b[i] : 0.0f) : b[i];
  }
  if (brain) {
    floatToBf16(x, high, 32, rounding);
    floatToBf16(y, low, 32, rounding);
  } else {
    floatToF16(x, high, 32, rounding);
    floatToF16(y, low, 32, rounding);
  }
  uint32_t t[32];
  for (unsigned i = 0; i < 32; ++i) {
    if (in.sub & kSatfinite) {
      auto finite = [](uint16_t v) {
        uint16_t inf = brain ? 0x7f80 : 0x7c00;
        return (v & 0x7fff) == inf ? static_cast<uint16_t>(v - 1) : v;
      };
      high[i] = finite(high[i]);
      low[i] = finite(low[i]);
    }
    t[i] = static_cast<uint32_t>(high[i]) << 16 | low[i];
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <bool brain> Step widen16(Context &c, const Instr &in) {
  const uint16_t *a = c.src<uint16_t>(in.s[0]);
  float t[32];
  if (brain)
    bf16ToFloat(a, t, 32);
  else
    f16ToFloat(a, t, 32);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <bool e5m2> Step packFp8(Context &c, const Instr &in) {
  return lanes2<uint16_t, float, float>(c, in, [&](float a, float b) {
    if (in.sub & kRelu) {
      a = a > 0 || a != a ? a : 0;
      b = b > 0 || b != b ? b : 0;
    }
    auto one = [](float v) -> unsigned { return e5m2 ? floatToE5m2(v) : floatToE4m3(v); };
    return static_cast<uint16_t>(one(a) << 8 | one(b));
  });
}
template <bool e5m2> Step unpackFp8(Context &c, const Instr &in) {
  return lanes1<uint32_t, uint16_t>(c, in, [](uint16_t a) {
    auto one = [](unsigned v) -> uint32_t {
      uint8_t byte = static_cast<uint8_t>(v);
      return floatToF16(e5m2 ? e5m2ToFloat(byte) : e4m3ToFloat(byte));
    };
    return one(a & 0xff) | one(a >> 8) << 16;
  });
}
template <bool e5m2> Step packFp8FromHalf(Context &c, const Instr &in) {
  return lanes1<uint16_t, uint32_t>(c, in, [](uint32_t a) {
    auto one = [](uint32_t v) -> unsigned {
      float f = f16ToFloat(static_cast<uint16_t>(v));
      return e5m2 ? floatToE5m2(f) : floatToE4m3(f);
    };
    return static_cast<uint16_t>(one(a >> 16) << 8 | one(a & 0xffff));
  });
}

uint8_t roundingOf(Decoder &d, bool &integral) {
  int i = d.which({"rni", "rzi", "rmi", "rpi"});
  integral = i >= 0;
  if (i >= 0)
    return static_cast<uint8_t>(Rn + i);
  int f = d.which({"rn", "rz", "rm", "rp", "rna"});
  return static_cast<uint8_t>(f < 0 ? None : Rn + f);
}
uint8_t flagsOf(Decoder &d) {
  return static_cast<uint8_t>((d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0) |
                              (d.has("satfinite") ? kSatfinite : 0) | (d.has("relu") ? kRelu : 0));
}

void buildCvt(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  Type to = d.type(0), from = d.type(1);
  bool integral = false;
  uint8_t mode = roundingOf(d, integral);
  bool floatTo = ptx::isFloat(to), floatFrom = ptx::isFloat(from);
  // 9.7.9.21: a rounding modifier is needed where the value may not be representable.
  if (floatFrom && !floatTo && !integral)
    return d.fail("cvt from a float to an integer needs .rni, .rzi, .rmi or .rpi");
  if (!floatFrom && floatTo && mode == None)
    return d.fail("cvt from an integer to a float needs a rounding modifier");
  d.out.sub = static_cast<uint8_t>(mode | flagsOf(d));
  d.out.bytes = integral && floatTo;
  unsigned widthTo = std::max(2u, ptx::typeBytes(to)),
           widthFrom = std::max(2u, ptx::typeBytes(from));
  d.out.d[0] = d.dest(d.operand(0), widthTo, &d.out.width2);
  d.out.s[0] = d.source(d.operand(1), widthFrom, &d.out.width);
  d.out.target = static_cast<uint32_t>(to) << 8 | static_cast<uint32_t>(from);
  if (d.out.width < ptx::typeBytes(from) || d.out.width2 < ptx::typeBytes(to))
    return d.fail("a register narrower than the type");
  d.out.exec = convert;
  if (d.out.width != widthFrom || d.out.width2 != widthTo || d.has("sat"))
    return;
  bool wide = widthTo == 8, from32 = from == Type::U32 || from == Type::S32,
       from64 = widthFrom == 8;
  if (!floatTo && !floatFrom) {
    if (wide && from32)
      d.out.exec = from == Type::S32 ? ExecFn(convertInteger<int64_t, int32_t>)
                                     : ExecFn(convertInteger<uint64_t, uint32_t>);
    else if (widthTo == 4 && ptx::typeBytes(to) == 4 && from64)
      d.out.exec = convertInteger<uint32_t, uint64_t>;
    else if (widthTo == 4 && ptx::typeBytes(to) == 4 && ptx::typeBytes(from) == 2)
      d.out.exec = from == Type::S16 ? ExecFn(convertInteger<int32_t, int16_t>)
                                     : ExecFn(convertInteger<uint32_t, uint16_t>);
    else if (ptx::typeBytes(to) == 2 && widthFrom == 4)
      d.out.exec = convertInteger<uint16_t, uint32_t>;
  } else if (to == Type::F32 && !integral && !(d.out.sub & kFtz)) {
    if (from == Type::BF16)
      d.out.exec = widen16<true>;
    else if (from == Type::F16)
      d.out.exec = widen16<false>;
  }
}
void buildPack(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  bool integral;
  d.out.sub = static_cast<uint8_t>(roundingOf(d, integral) | flagsOf(d));
  d.out.exec = d.type(0) == Type::BF16x2 ? ExecFn(pack2<true>) : ExecFn(pack2<false>);
}
void buildPackFp8(Decoder &d, int) {
  bool e5m2 = d.type(0) == Type::E5M2x2;
  bool fromHalf = d.type(1) == Type::F16x2;
  if (!d.expectOperands(fromHalf ? 2 : 3))
    return;
  d.out.sub = flagsOf(d);
  if ((d.out.sub & kRelu) && fromHalf)
    return d.fail("cvt to fp8 from f16x2 with .relu is not modelled");
  d.out.d[0] = d.dest(0, 2);
  d.out.s[0] = d.source(1, 4);
  if (!fromHalf)
    d.out.s[1] = d.source(2, 4);
  d.out.exec = fromHalf ? (e5m2 ? ExecFn(packFp8FromHalf<true>) : ExecFn(packFp8FromHalf<false>))
                        : (e5m2 ? ExecFn(packFp8<true>) : ExecFn(packFp8<false>));
}
void buildUnpackFp8(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, 2);
  d.out.exec = d.type(1) == Type::E5M2x2 ? ExecFn(unpackFp8<true>) : ExecFn(unpackFp8<false>);
}

// Address spaces. Global, constant and parameter addresses are generic addresses; shared and local
// ones are offsets in their windows.
template <bool to> Step cvta(Context &c, const Instr &in) {
  const uint64_t window = static_cast<uint64_t>(in.imm);
  if (in.width == 4)
    return lanes1<uint32_t, uint32_t>(c, in, [&](uint32_t a) { return a; });
  return lanes1<uint64_t, uint64_t>(c, in,
                                    [&](uint64_t a) { return to ? a - window : a + window; });
}
// The address of a parameter may have passed through a 32-bit register (`mov.b32 %r, name`), which
// keeps the offset and drops the window.
Step cvtaParam(Context &c, const Instr &in) {
  return lanes1<uint64_t, uint64_t>(
      c, in, [](uint64_t a) { return kParamWindow | (a & (kWindowBytes - 1)); });
}
void buildCvta(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  AddressSpace space = d.spaceModifier();
  if (d.bytes() != 8)
    return d.fail("only 64-bit generic addresses are modelled");
  d.out.width = 8;
  d.out.d[0] = d.dest(0, 8);
  d.out.s[0] = d.source(1, 8);
  d.out.imm = static_cast<int64_t>(space == AddressSpace::Shared  ? kSharedWindow
                                   : space == AddressSpace::Local ? kLocalWindow
                                                                  : 0);
  d.out.exec = d.has("to")                    ? ExecFn(cvta<true>)
               : space == AddressSpace::Param ? ExecFn(cvtaParam)
                                              : ExecFn(cvta<false>);
}
Step isspacep(Context &c, const Instr &in) {
  const uint64_t *a = c.src<uint64_t>(in.s[0]);
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    uint64_t window = a[i] & ~(kWindowBytes - 1);
    switch (in.space) {
    case AddressSpace::Shared:
      flags[i] = window == kSharedWindow && (in.sub || (a[i] & 0xffffffff) >> kRankShift == 0);
      break;
    case AddressSpace::Local:
      flags[i] = window == kLocalWindow;
      break;
    case AddressSpace::Param:
      flags[i] = window == kParamWindow;
      break;
    default:
      flags[i] = a[i] >= kGlobalBase;
    }
  }
  storePred(c, in.d[0], packFlags(flags));
  return Step::Next;
}
void buildIsspacep(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.predDest(d.operand(0));
  d.out.s[0] = d.source(1, 8);
  d.out.space = d.spaceModifier();
  d.out.sub = d.has("shared::cluster");
  d.out.exec = isspacep;
}

constexpr char kInt[] = "sat? u8|u16|u32|u64|s8|s16|s32|s64 u8|u16|u32|u64|s8|s16|s32|s64";
const Form forms[] = {
    {"cvt", kInt, buildCvt},
    {"cvt", "rni|rzi|rmi|rpi ftz? sat? u8|u16|u32|u64|s8|s16|s32|s64 f16|bf16|f32|f64", buildCvt},
    {"cvt", "rn|rz|rm|rp sat? f16|bf16|f32|f64 u8|u16|u32|u64|s8|s16|s32|s64", buildCvt},
    {"cvt", "rn|rz? ftz? sat? relu? satfinite? f16|bf16 f16|bf16|f32|f64", buildCvt},
    {"cvt", "rn|rz|rm|rp? ftz? sat? f32 f16|bf16|f32|f64", buildCvt},
    {"cvt", "sat? f64 f16|bf16|f32|f64", buildCvt},
    {"cvt", "rni|rzi|rmi|rpi ftz? sat? f16|f32|f64 f16|f32|f64", buildCvt},
    {"cvt", "rna|rn|rz tf32 f32", buildCvt},
    {"cvt", "rn|rz relu? satfinite? f16x2|bf16x2 f32", buildPack},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f32", buildPackFp8},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f16x2", buildPackFp8},
    {"cvt", "rn f16x2 e4m3x2|e5m2x2", buildUnpackFp8},
    {"cvta", "to? global|shared|local|const|param|shared::cta|shared::cluster|param::entry u64|u32",
     buildCvta},
    {"isspacep", "global|shared|local|const|param|shared::cta|shared::cluster|param::entry",
     buildIsspacep},
};

} // namespace

std::span<const Form> conversionForms() { return forms; }

GIRIH_TARGET_END
