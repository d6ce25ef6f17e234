// Floating-point arithmetic (PTX ISA 9.0, 9.7.3 to 9.7.5). Built without contraction: a product and
// a sum round twice unless the instruction is fma. f16 and bf16 compute in binary32 (binary64 for
// fma), whose excess of bits makes the second rounding harmless for add, mul, min and max.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Float.cpp"
#include "Emulator/Exec/Targets.h"
#include "girih/Emulator/FloatFormats.h"

#include <cmath>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

/// Subnormals to zero of the same sign. By bits, so that the loop vectorises.
inline float flush(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
inline float saturate(float v) { return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; }

enum : uint8_t { kFtz = 1, kSat = 2 };

struct Add {
  template <typename T> static T run(T a, T b) { return a + b; }
};
struct Sub {
  template <typename T> static T run(T a, T b) { return a - b; }
};
struct Mul {
  template <typename T> static T run(T a, T b) { return a * b; }
};
struct Div {
  template <typename T> static T run(T a, T b) { return a / b; }
};
// min and max ignore a NaN (9.7.3.11), .NaN propagates it; -0 is less than +0.
struct Min {
  template <typename T> static T run(T a, T b) {
    if (a != a)
      return b;
    if (b != b)
      return a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  template <typename T> static T run(T a, T b) {
    if (a != a)
      return b;
    if (b != b)
      return a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
template <typename Base> struct WithNan {
  template <typename T> static T run(T a, T b) {
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : Base::template run<T>(a, b);
  }
};
struct Neg {
  template <typename T> static T run(T a) { return -a; }
};
struct Abs {
  template <typename T> static T run(T a) { return std::fabs(a); }
};

template <typename Op> Step binary32(Context &c, const Instr &in) {
  return lanes2<float, float, float>(
      c, in, [](float a, float b) { return Op::template run<float>(a, b); });
}
template <typename Op> Step binary32Modified(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz, sat = in.sub & kSat;
  return lanes2<float, float, float>(c, in, [=](float a, float b) {
    if (ftz) {
      a = flush(a);
      b = flush(b);
    }
    float r = Op::template run<float>(a, b);
    if (ftz)
      r = flush(r);
    return sat ? saturate(r) : r;
  });
}
template <typename Op> Step binary64(Context &c, const Instr &in) {
  return lanes2<double, double, double>(
      c, in, [](double a, double b) { return Op::template run<double>(a, b); });
}
template <bool brain> inline float load16(uint16_t v) {
  return brain ? bf16ToFloat(v) : f16ToFloat(v);
}
template <bool brain> inline uint16_t store16(float v) {
  return brain ? floatToBf16(v) : floatToF16(v);
}
template <typename Op, bool brain> Step binary16(Context &c, const Instr &in) {
  return lanes2<uint16_t, uint16_t, uint16_t>(c, in, [](uint16_t a, uint16_t b) {
    return store16<brain>(Op::template run<float>(load16<brain>(a), load16<brain>(b)));
  });
}
template <typename Op, bool brain> Step binary16x2(Context &c, const Instr &in) {
  return lanes2<uint32_t, uint32_t, uint32_t>(c, in, [](uint32_t a, uint32_t b) {
    auto half = [](uint32_t x, uint32_t y) -> uint32_t {
      return store16<brain>(Op::template run<float>(load16<brain>(static_cast<uint16_t>(x)),
                                                    load16<brain>(static_cast<uint16_t>(y))));
    };
    return half(a, b) | half(a >> 16, b >> 16) << 16;
  });
}
template <typename Op> void buildBinary(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.sub = static_cast<uint8_t>((d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0));
  switch (d.type()) {
  case Type::F64:
    d.out.exec = binary64<Op>;
    break;
  case Type::F16:
    d.out.exec = binary16<Op, false>;
    break;
  case Type::BF16:
    d.out.exec = binary16<Op, true>;
    break;
  case Type::F16x2:
    d.out.exec = binary16x2<Op, false>;
    break;
  case Type::BF16x2:
    d.out.exec = binary16x2<Op, true>;
    break;
  default:
    d.out.exec = d.out.sub ? ExecFn(binary32Modified<Op>) : ExecFn(binary32<Op>);
  }
}
template <typename Op> void buildMinMax(Decoder &d, int variant) {
  if (d.has("NaN"))
    buildBinary<WithNan<Op>>(d, variant);
  else
    buildBinary<Op>(d, variant);
}

template <typename Op> Step unary32(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz;
  return lanes1<float, float>(c, in,
                              [=](float a) { return Op::template run<float>(ftz ? flush(a) : a); });
}
template <typename Op> Step unary64(Context &c, const Instr &in) {
  return lanes1<double, double>(c, in, [](double a) { return Op::template run<double>(a); });
}
template <typename Op> void buildSign(Decoder &d, int variant) {
  simpleOperands(d, 1, d.bytes());
  d.out.sub = d.has("ftz") ? kFtz : 0;
  switch (d.type()) {
  case Type::F64:
    d.out.exec = unary64<Op>;
    break;
  case Type::F32:
    d.out.exec = unary32<Op>;
    break;
  default: {
    // Only the sign bits change, whatever the format.
    d.out.imm = variant;
    bool wide = d.bytes() == 4;
    d.out.exec = wide ? ExecFn([](Context &c, const Instr &in) {
      return lanes1<uint32_t, uint32_t>(
          c, in, [&](uint32_t a) { return in.imm ? a & 0x7fff7fffu : a ^ 0x80008000u; });
    })
                      : ExecFn([](Context &c, const Instr &in) {
                          return lanes1<uint16_t, uint16_t>(c, in, [&](uint16_t a) {
                            return static_cast<uint16_t>(in.imm ? a & 0x7fff : a ^ 0x8000);
                          });
                        });
  }
  }
}

#if defined(__x86_64__)
/// The same, correctly rounded result as std::fma, by the host's instruction.
__attribute__((target("avx2,fma"))) void fmaLanes(const float *a, const float *b, const float *e,
                                                  float *t) {
  for (unsigned i = 0; i < 32; ++i)
    t[i] = __builtin_fmaf(a[i], b[i], e[i]);
}
const bool hostHasFma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif

Step fma32(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz, sat = in.sub & kSat;
#if defined(__x86_64__)
  if (!in.sub && hostHasFma) {
    float t[32];
    fmaLanes(c.src<float>(in.s[0]), c.src<float>(in.s[1]), c.src<float>(in.s[2]), t);
    storeLanes(c, in.d[0], t);
    return Step::Next;
  }
#endif
  if (!in.sub)
    return lanes3<float, float, float, float>(
        c, in, [](float a, float b, float e) { return std::fma(a, b, e); });
  return lanes3<float, float, float, float>(c, in, [=](float a, float b, float e) {
    float r = ftz ? flush(std::fma(flush(a), flush(b), flush(e))) : std::fma(a, b, e);
    return sat ? saturate(r) : r;
  });
}
Step fma64(Context &c, const Instr &in) {
  return lanes3<double, double, double, double>(
      c, in, [](double a, double b, double e) { return std::fma(a, b, e); });
}
/// The sum of an exact product and an addend, rounded to odd in binary64, so that the final
/// rounding is the only one (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums:
/// proved algorithms using rounding to odd").
inline double productPlusOdd(float a, float b, float e) {
  double product = static_cast<double>(a) * b;
  double sum = product + e;
  if (!std::isfinite(sum))
    return sum;
  double tail = sum - product;
  double error = (product - (sum - tail)) + (static_cast<double>(e) - tail);
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (error != 0 && !(bits & 1)) {
    bool up = (error > 0) == (sum > 0);
    bits += up ? 1 : -1;
  }
  return std::bit_cast<double>(bits);
}
/// binary64 to binary32 with rounding to odd: keeps a later rounding to 16 bits correct.
inline float toFloatOdd(double v) {
  float f = static_cast<float>(v);
  if (!std::isfinite(f) || static_cast<double>(f) == v)
    return f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (!(bits & 1))
    bits += (static_cast<double>(f) < v) == (v > 0) ? 1 : -1;
  return std::bit_cast<float>(bits);
}
template <bool brain> inline uint16_t fmaHalf(uint16_t a, uint16_t b, uint16_t e, bool relu) {
  float r = toFloatOdd(productPlusOdd(load16<brain>(a), load16<brain>(b), load16<brain>(e)));
  if (relu && !(r > 0) && r == r)
    r = 0;
  return store16<brain>(r);
}
template <bool brain> Step fma16(Context &c, const Instr &in) {
  const bool relu = in.sub & 4;
  return lanes3<uint16_t, uint16_t, uint16_t, uint16_t>(
      c, in, [=](uint16_t a, uint16_t b, uint16_t e) { return fmaHalf<brain>(a, b, e, relu); });
}
template <bool brain> Step fma16x2(Context &c, const Instr &in) {
  const bool relu = in.sub & 4;
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [=](uint32_t a, uint32_t b, uint32_t e) -> uint32_t {
        uint32_t low = fmaHalf<brain>(static_cast<uint16_t>(a), static_cast<uint16_t>(b),
                                      static_cast<uint16_t>(e), relu);
        uint32_t high = fmaHalf<brain>(a >> 16, b >> 16, e >> 16, relu);
        return low | high << 16;
      });
}
void buildFma(Decoder &d, int) {
  simpleOperands(d, 3, d.bytes());
  d.out.sub = static_cast<uint8_t>((d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0) |
                                   (d.has("relu") ? 4 : 0));
  switch (d.type()) {
  case Type::F64:
    d.out.exec = fma64;
    break;
  case Type::F16:
    d.out.exec = fma16<false>;
    break;
  case Type::BF16:
    d.out.exec = fma16<true>;
    break;
  case Type::F16x2:
    d.out.exec = fma16x2<false>;
    break;
  case Type::BF16x2:
    d.out.exec = fma16x2<true>;
    break;
  default:
    d.out.exec = fma32;
  }
}

// Approximate functions: correctly rounded host functions lie well inside every error bound
// of 9.7.3.
enum Function { Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh };
template <Function f> inline float approximate(float a) {
  switch (f) {
  case Rcp:
    return 1.0f / a;
  case Sqrt:
    return std::sqrt(a);
  case Rsqrt:
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
  case Ex2:
    return std::exp2(a);
  case Lg2:
    return std::log2(a);
  case Sin:
    return std::sin(a);
  case Cos:
    return std::cos(a);
  case Tanh:
    return std::tanh(a);
  }
}
template <Function f> Step function32(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz;
  const float *a = c.src<float>(in.s[0]);
  float t[32];
  for (unsigned i = 0; i < 32; ++i) {
    float r = approximate<f>(ftz ? flush(a[i]) : a[i]);
    t[i] = ftz ? flush(r) : r;
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <Function f> Step function64(Context &c, const Instr &in) {
  return lanes1<double, double>(c, in, [](double a) {
    return f == Rcp ? 1.0 / a : f == Sqrt ? std::sqrt(a) : 1.0 / std::sqrt(a);
  });
}
void buildFunction(Decoder &d, int variant) {
  simpleOperands(d, 1, d.bytes());
  d.out.sub = d.has("ftz") ? kFtz : 0;
  if (d.type() == Type::F64) {
    constexpr ExecFn table[] = {function64<Rcp>, function64<Sqrt>, function64<Rsqrt>};
    d.out.exec = table[variant];
    return;
  }
  constexpr ExecFn table[] = {function32<Rcp>, function32<Sqrt>, function32<Rsqrt>,
                              function32<Ex2>, function32<Lg2>,  function32<Sin>,
                              function32<Cos>, function32<Tanh>};
  d.out.exec = table[variant];
}

Step copysign32(Context &c, const Instr &in) {
  // The sign of a, the magnitude of b (9.7.3.17).
  return lanes2<uint32_t, uint32_t, uint32_t>(
      c, in, [](uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); });
}
void buildCopysign(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = copysign32;
}
Step testp32(Context &c, const Instr &in) {
  const float *a = c.src<float>(in.s[0]);
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    int kind = std::fpclassify(a[i]);
    const bool answers[] = {
        kind != FP_NAN && kind != FP_INFINITE, kind == FP_INFINITE, kind != FP_NAN, kind == FP_NAN,
        kind == FP_NORMAL || kind == FP_ZERO,  kind == FP_SUBNORMAL};
    flags[i] = answers[in.sub];
  }
  storePred(c, in.d[0], packFlags(flags));
  return Step::Next;
}
void buildTestp(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.predDest(d.operand(0));
  d.out.s[0] = d.source(1, 4);
  d.out.sub = static_cast<uint8_t>(
      d.which({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}));
  d.out.exec = testp32;
}

// Round to nearest even; the directed roundings are in Rounded.cpp.
const Form forms[] = {
    {"add", "rn? ftz? sat? f32", buildBinary<Add>},
    {"sub", "rn? ftz? sat? f32", buildBinary<Sub>},
    {"mul", "rn? ftz? sat? f32", buildBinary<Mul>},
    {"add", "rn? f64", buildBinary<Add>},
    {"sub", "rn? f64", buildBinary<Sub>},
    {"mul", "rn? f64", buildBinary<Mul>},
    {"add", "rn? f16|f16x2|bf16|bf16x2", buildBinary<Add>},
    {"sub", "rn? f16|f16x2|bf16|bf16x2", buildBinary<Sub>},
    {"mul", "rn? f16|f16x2|bf16|bf16x2", buildBinary<Mul>},
    {"fma", "rn ftz? sat? f32", buildFma},
    {"fma", "rn f64", buildFma},
    {"fma", "rn relu? f16|f16x2|bf16|bf16x2", buildFma},
    {"mad", "rn ftz? sat? f32", buildFma},
    {"mad", "rn f64", buildFma},
    {"div", "rn|approx|full ftz? f32", buildBinary<Div>},
    {"div", "rn f64", buildBinary<Div>},
    {"min", "ftz? NaN? f32|f64", buildMinMax<Min>},
    {"max", "ftz? NaN? f32|f64", buildMinMax<Max>},
    {"min", "NaN? f16|f16x2|bf16|bf16x2", buildMinMax<Min>},
    {"max", "NaN? f16|f16x2|bf16|bf16x2", buildMinMax<Max>},
    {"neg", "ftz? f32|f64|f16|f16x2|bf16|bf16x2", buildSign<Neg>, 0},
    {"abs", "ftz? f32|f64|f16|f16x2|bf16|bf16x2", buildSign<Abs>, 1},
    {"rcp", "rn|approx ftz? f32", buildFunction, Rcp},
    {"rcp", "rn f64", buildFunction, Rcp},
    {"rcp", "approx ftz f64", buildFunction, Rcp},
    {"sqrt", "rn|approx ftz? f32", buildFunction, Sqrt},
    {"sqrt", "rn f64", buildFunction, Sqrt},
    {"rsqrt", "approx ftz? f32", buildFunction, Rsqrt},
    {"rsqrt", "approx f64", buildFunction, Rsqrt},
    {"ex2", "approx ftz? f32", buildFunction, Ex2},
    {"lg2", "approx ftz? f32", buildFunction, Lg2},
    {"sin", "approx ftz? f32", buildFunction, Sin},
    {"cos", "approx ftz? f32", buildFunction, Cos},
    {"tanh", "approx f32", buildFunction, Tanh},
    {"copysign", "f32", buildCopysign},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32", buildTestp},
};

} // namespace

std::span<const Form> floatForms() { return forms; }

GIRIH_TARGET_END
