// binary32 and binary64 arithmetic, rounded to nearest (PTX ISA 9.0, 9.7.3; the directed roundings
// are in Rounded.cpp). Built without contraction: a product and a sum round twice unless the
// instruction is fma or the launch asks for contraction (Program/Contraction.h).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Float.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/FloatOps.h"

#include <cmath>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

struct Add {
  template <typename T> GIRIH_INLINE static T run(T a, T b) { return a + b; }
};
struct Sub {
  template <typename T> GIRIH_INLINE static T run(T a, T b) { return a - b; }
};
struct Mul {
  template <typename T> GIRIH_INLINE static T run(T a, T b) { return a * b; }
};
struct Div {
  template <typename T> GIRIH_INLINE static T run(T a, T b) { return a / b; }
};
/// 9.7.3.8: d = a * (1 / b), whose reciprocal of a number above 2^126 is flushed to zero. Elsewhere
/// the correctly rounded quotient lies within the error bound.
struct DivApprox {
  template <typename T> GIRIH_INLINE static T run(T a, T b) {
    T magnitude = std::bit_cast<float>(bits::of(b) & 0x7fffffffu);
    T zero = std::bit_cast<float>(bits::of(b) & 0x80000000u);
    bool huge = magnitude > T(0x1p126f) && magnitude < T(__builtin_inff());
    return huge ? a * zero : a / b;
  }
};

template <typename Op, typename T, bool ftz, bool sat> Step binary(Context &c, const Instr &in) {
  return lanes2<T, T, T>(c, in, [](T a, T b) {
    if constexpr (ftz) {
      a = flush(a);
      b = flush(b);
    }
    T r = Op::template run<T>(a, b);
    if constexpr (ftz)
      r = flush(r);
    if constexpr (sat)
      return saturate(r);
    else
      return payload(r, a, b);
  });
}
/// A product and a sum fused: a * b + e, a * b - e or e - a * b.
enum Fusion { PlusAddend, MinusAddend, MinusProduct };
template <typename T, Fusion fusion, bool ftz, bool sat>
Step contracted(Context &c, const Instr &in);
template <typename T, Fusion fusion> ExecFn contractedFor(Decoder &d) {
  if constexpr (sizeof(T) == 8) {
    return contracted<T, fusion, false, false>;
  } else {
    constexpr ExecFn table[] = {
        contracted<T, fusion, false, false>, contracted<T, fusion, true, false>,
        contracted<T, fusion, false, true>, contracted<T, fusion, true, true>};
    return table[floatModifiers(d) & (kFtz | kSat)];
  }
}
template <typename Op, typename T> void mayContract(Decoder &d) {
  if constexpr (std::is_same_v<Op, Mul>)
    d.mayContract(Contractible::Mul);
  else if constexpr (std::is_same_v<Op, Add>)
    d.mayContract(Contractible::Add, contractedFor<T, PlusAddend>(d),
                  contractedFor<T, PlusAddend>(d));
  else if constexpr (std::is_same_v<Op, Sub>)
    d.mayContract(Contractible::Sub, contractedFor<T, MinusAddend>(d),
                  contractedFor<T, MinusProduct>(d));
}
template <typename Op> void buildBinary(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  if (d.type() == Type::F64)
    mayContract<Op, double>(d);
  else
    mayContract<Op, float>(d);
  if constexpr (!std::is_same_v<Op, DivApprox>)
    if (d.type() == Type::F64) {
      d.out.exec = binary<Op, double, false, false>;
      return;
    }
  constexpr ExecFn table[] = {binary<Op, float, false, false>, binary<Op, float, true, false>,
                              binary<Op, float, false, true>, binary<Op, float, true, true>};
  d.out.exec = table[floatModifiers(d) & (kFtz | kSat)];
}

/// One rounding. Without the host's instruction the sum of the exact product and the addend is
/// rounded to odd in binary64 first, which keeps the rounding to binary32 the only one that counts.
GIRIH_INLINE float fused(float a, float b, float e) {
#if GIRIH_TARGET_FMA
  return __builtin_fmaf(a, b, e);
#else
  return static_cast<float>(
      bits::addOdd<double, uint64_t>(static_cast<double>(a) * b, static_cast<double>(e)));
#endif
}
GIRIH_INLINE double fused(double a, double b, double e) { return __builtin_fma(a, b, e); }

template <typename T, bool ftz, bool sat> Step fma(Context &c, const Instr &in) {
  return lanes3<T, T, T, T>(c, in, [](T a, T b, T e) {
    if constexpr (ftz) {
      a = flush(a);
      b = flush(b);
      e = flush(e);
    }
    T r = fused(a, b, e);
    if constexpr (ftz)
      r = flush(r);
    if constexpr (sat)
      return saturate(r);
    else
      return payload(r, a, b, e);
  });
}
template <typename T, Fusion fusion, bool ftz, bool sat>
Step contracted(Context &c, const Instr &in) {
  return lanes3<T, T, T, T>(c, in, [](T a, T b, T e) {
    if constexpr (ftz) {
      a = flush(a);
      b = flush(b);
      e = flush(e);
    }
    T r = fused(fusion == MinusProduct ? -a : a, b, fusion == MinusAddend ? -e : e);
    if constexpr (ftz)
      r = flush(r);
    if constexpr (sat)
      return saturate(r);
    else
      return payload(r, a, b, e);
  });
}
void buildFma(Decoder &d, int) {
  simpleOperands(d, 3, d.bytes());
  if (d.type() == Type::F64) {
    d.out.exec = fma<double, false, false>;
    return;
  }
  constexpr ExecFn table[] = {fma<float, false, false>, fma<float, true, false>,
                              fma<float, false, true>, fma<float, true, true>};
  d.out.exec = table[floatModifiers(d) & (kFtz | kSat)];
}

// neg and abs change the sign bit and nothing else; abs.f64 passes a NaN through unchanged
// (9.7.3.9).
template <bool absolute, bool ftz> Step sign32(Context &c, const Instr &in) {
  return lanes1<uint32_t, uint32_t>(c, in, [](uint32_t a) {
    if constexpr (ftz)
      a = bits::of(flush(std::bit_cast<float>(a)));
    return absolute ? a & 0x7fffffffu : a ^ 0x80000000u;
  });
}
template <bool absolute> Step sign64(Context &c, const Instr &in) {
  return lanes1<uint64_t, uint64_t>(c, in, [](uint64_t a) {
    constexpr uint64_t signBit = uint64_t(1) << 63;
    uint64_t magnitude = a & ~signBit;
    if constexpr (absolute)
      return magnitude > 0x7ff0000000000000u ? a : magnitude;
    else
      return a ^ signBit;
  });
}
template <bool absolute> void buildSign(Decoder &d, int) {
  simpleOperands(d, 1, d.bytes());
  d.out.exec = d.type() == Type::F64 ? ExecFn(sign64<absolute>)
               : d.has("ftz")        ? ExecFn(sign32<absolute, true>)
                                     : ExecFn(sign32<absolute, false>);
}

/// 9.7.3.2: the sign of a, the magnitude of b.
template <typename U> Step copysign(Context &c, const Instr &in) {
  constexpr U signBit = U(1) << (8 * sizeof(U) - 1);
  return lanes2<U, U, U>(c, in,
                         [](U a, U b) { return static_cast<U>((a & signBit) | (b & ~signBit)); });
}
void buildCopysign(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.exec = d.bytes() == 8 ? ExecFn(copysign<uint64_t>) : ExecFn(copysign<uint32_t>);
}

enum Property { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
/// 9.7.3.1. Zero counts as normal.
template <typename U> Step testp(Context &c, const Instr &in) {
  constexpr U infinity = sizeof(U) == 8 ? U(0x7ff0000000000000u) : U(0x7f800000u);
  constexpr U least = infinity & (~infinity + 1);
  const U *a = c.src<U>(in.s[0]);
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    U magnitude = a[i] & (~U(0) >> 1);
    bool answers[] = {
        magnitude<infinity, magnitude == infinity, magnitude <= infinity, magnitude> infinity,
        magnitude == 0 || (magnitude >= least && magnitude < infinity),
        magnitude != 0 && magnitude < least};
    flags[i] = answers[in.sub];
  }
  storePred(c, in.d[0], packFlags(flags));
  return Step::Next;
}
void buildTestp(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.predDest(d.operand(0));
  d.out.s[0] = d.source(1, d.bytes());
  d.out.sub = static_cast<uint8_t>(
      d.which({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}));
  d.out.exec = d.bytes() == 8 ? ExecFn(testp<uint64_t>) : ExecFn(testp<uint32_t>);
}

// min and max ignore a NaN unless .NaN propagates it, and -0 is less than +0 (9.7.3.11, 9.7.3.12).
// Equal numbers differ at most in the sign of zero, which `|` and `&` of their bits resolve.
template <bool maximum, bool nan, bool xorsign, typename T> GIRIH_INLINE T extremum(T x, T y) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr U signBit = U(1) << (8 * sizeof(T) - 1);
  U a = std::bit_cast<U>(x), b = std::bit_cast<U>(y), sign = (a ^ b) & signBit;
  if constexpr (xorsign) {
    a &= ~signBit;
    b &= ~signBit;
    x = std::bit_cast<T>(a);
    y = std::bit_cast<T>(b);
  }
  U r = (maximum ? x > y : x < y) ? a : b;
  r = x == y ? (maximum ? a & b : a | b) : r;
  if constexpr (xorsign)
    r |= sign;
  constexpr U canonicalNan = sizeof(T) == 8 ? U(0x7fffffffffffffffu) : U(0x7fffffffu);
  bool xNan = x != x, yNan = y != y;
  if constexpr (nan) {
    r = xNan || yNan ? canonicalNan : r;
  } else {
    U other = xNan ? b : a;
    if constexpr (xorsign)
      other |= sign;
    r = xNan || yNan ? other : r;
    r = xNan && yNan ? canonicalNan : r;
  }
  return std::bit_cast<T>(r);
}
template <typename T, bool maximum, bool nan, bool xorsign, bool ftz>
Step minMax(Context &c, const Instr &in) {
  return lanes2<T, T, T>(c, in, [](T a, T b) {
    if constexpr (ftz) {
      a = flush(a);
      b = flush(b);
    }
    return extremum<maximum, nan, xorsign>(a, b);
  });
}
template <bool maximum> void buildMinMax(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  if (d.type() == Type::F64) {
    d.out.exec = minMax<double, maximum, false, false, false>;
    return;
  }
  constexpr ExecFn table[] = {
      minMax<float, maximum, false, false, false>, minMax<float, maximum, false, false, true>,
      minMax<float, maximum, true, false, false>,  minMax<float, maximum, true, false, true>,
      minMax<float, maximum, false, true, false>,  minMax<float, maximum, false, true, true>,
      minMax<float, maximum, true, true, false>,   minMax<float, maximum, true, true, true>};
  d.out.exec = table[(d.has("xorsign") ? 4 : 0) + (d.has("NaN") ? 2 : 0) + (d.has("ftz") ? 1 : 0)];
}
template <bool maximum, unsigned N, typename Format> Step minMax16(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz, nan = in.sub & kNan, xorsign = in.sub & kXorsign;
  return halves2<N>(c, in, [=](uint16_t a, uint16_t b) -> uint16_t {
    if (ftz) {
      a = Format::flush(a);
      b = Format::flush(b);
    }
    float x = Format::load(a), y = Format::load(b);
    float r =
        xorsign
            ? (nan ? extremum<maximum, true, true>(x, y) : extremum<maximum, false, true>(x, y))
            : (nan ? extremum<maximum, true, false>(x, y) : extremum<maximum, false, false>(x, y));
    return Format::store(r);
  });
}
template <bool maximum> void buildMinMax16(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.sub = floatModifiers(d);
  d.out.exec = withHalf(d.type(), [](auto format, auto count) -> ExecFn {
    return minMax16<maximum, count(), decltype(format)>;
  });
}

const Form forms[] = {
    {"add", "rn? ftz? sat? f32", buildBinary<Add>},
    {"sub", "rn? ftz? sat? f32", buildBinary<Sub>},
    {"mul", "rn? ftz? sat? f32", buildBinary<Mul>},
    {"add", "rn? f64", buildBinary<Add>},
    {"sub", "rn? f64", buildBinary<Sub>},
    {"mul", "rn? f64", buildBinary<Mul>},
    {"fma", "rn ftz? sat? f32", buildFma},
    {"fma", "rn f64", buildFma},
    {"mad", "rn ftz? sat? f32", buildFma},
    {"mad", "rn f64", buildFma},
    {"div", "rn|full ftz? f32", buildBinary<Div>},
    {"div", "approx ftz? f32", buildBinary<DivApprox>},
    {"div", "rn f64", buildBinary<Div>},
    {"neg", "ftz? f32", buildSign<false>},
    {"neg", "f64", buildSign<false>},
    {"abs", "ftz? f32", buildSign<true>},
    {"abs", "f64", buildSign<true>},
    {"copysign", "f32|f64", buildCopysign},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64", buildTestp},
    {"min", "ftz? NaN? f32", buildMinMax<false>},
    {"min", "ftz? NaN? xorsign abs f32", buildMinMax<false>},
    {"min", "f64", buildMinMax<false>},
    {"max", "ftz? NaN? f32", buildMinMax<true>},
    {"max", "ftz? NaN? xorsign abs f32", buildMinMax<true>},
    {"max", "f64", buildMinMax<true>},
    {"min", "ftz? NaN? f16|f16x2", buildMinMax16<false>},
    {"min", "ftz? NaN? xorsign abs f16|f16x2", buildMinMax16<false>},
    {"min", "NaN? bf16|bf16x2", buildMinMax16<false>},
    {"min", "NaN? xorsign abs bf16|bf16x2", buildMinMax16<false>},
    {"max", "ftz? NaN? f16|f16x2", buildMinMax16<true>},
    {"max", "ftz? NaN? xorsign abs f16|f16x2", buildMinMax16<true>},
    {"max", "NaN? bf16|bf16x2", buildMinMax16<true>},
    {"max", "NaN? xorsign abs bf16|bf16x2", buildMinMax16<true>},
};

} // namespace

std::span<const Form> floatForms() { return forms; }

GIRIH_TARGET_END
