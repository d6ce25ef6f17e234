// Approximate functions (PTX ISA 9.0, 9.7.3.13 to 9.7.3.22 and 9.7.4.9, 9.7.4.10).
//
// The ISA bounds their error and leaves the bits open. Ours are polynomials in binary64 whose
// result is rounded once, so almost always the correctly rounded one, and well inside every bound.
// They use addition, multiplication and division only, never the host's library: the same bits on
// every host.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Functions.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/FloatOps.h"
#include "Emulator/Units/TrigReduction.h"

#include <cmath>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

constexpr double kInfinity = __builtin_inf();

/// By Horner's rule, the highest coefficient first.
template <typename... Coefficients>
GIRIH_INLINE double polynomial(double x, double highest, Coefficients... rest) {
  double p = highest;
  ((p = p * x + rest), ...);
  return p;
}

/// To the nearest integer, by adding a number whose unit in the last place is 1. |v| < 2^51.
constexpr double kRoundMagic = 0x1.8p52;
GIRIH_INLINE double nearestInteger(double v) { return (v + kRoundMagic) - kRoundMagic; }

/// 2^v. The series of e^(f ln 2) for |f| <= 1/2, to 2e-15; 2^n from the exponent's bits.
GIRIH_INLINE double exp2Of(double v) {
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  v = v > 1000 ? 1000 : v;
  v = v < -1000 ? -1000 : v;
  double shifted = v + kRoundMagic;
  double y = (v - (shifted - kRoundMagic)) * ln2;
  double p = polynomial(y, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                        1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  // The low bits of the shifted number are n in two's complement.
  double scale = std::bit_cast<double>((bits::of(shifted) + 1023) << 52);
  return p * scale;
}

/// log2 of a positive binary32 number: exponent + 2/ln 2 * atanh(s), s = (m - 1) / (m + 1), with
/// m in [sqrt(1/2), sqrt(2)].
GIRIH_INLINE double log2Of(double v) {
  uint64_t code = bits::of(v);
  double exponent =
      std::bit_cast<double>(0x4330000000000000u | (code >> 52 & 0x7ff)) - (0x1p52 + 1023);
  double m = std::bit_cast<double>((code & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  bool high = m > 0x1.6a09e667f3bcdp0;
  m = high ? m * 0.5 : m;
  exponent = high ? exponent + 1 : exponent;
  double s = (m - 1) / (m + 1), q = s * s;
  double p = polynomial(q, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7,
                        1.0 / 5, 1.0 / 3, 1.0);
  double r = exponent + s * p * (2 * 0x1.71547652b82fep0);
  r = v == 0 ? -kInfinity : r;
  r = v == kInfinity ? v : r;
  return v >= 0 ? r : __builtin_nan("");
}

/// sin (quarter 0) or cos (quarter 1) of a reduced angle plus whole quarter turns.
GIRIH_INLINE double sineOf(double r, double quarters, int quarter) {
  double q = r * r;
  double s = polynomial(q, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                        -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  s = r + r * q * s;
  double k = polynomial(q, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
                        -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5);
  k = 1.0 + q * k;
  // Whole quarters modulo four, from the low bits of the shifted number.
  uint64_t n = bits::of(quarters + kRoundMagic) + static_cast<uint64_t>(quarter);
  uint64_t result = n & 1 ? bits::of(k) : bits::of(s);
  return std::bit_cast<double>(result ^ (n & 2) << 62);
}
template <int quarter> GIRIH_INLINE double sineOf(double v) {
  // pi/2 in three parts of 33, 33 and 53 bits: products with up to 2^20 quarters are exact.
  double quarters = nearestInteger(v * 0x1.45f306dc9c883p-1);
  double r = v - quarters * 0x1.921fb544p+0;
  r = r - quarters * 0x1.0b4611a6p-34;
  r = r - quarters * 0x1.3198a2e037073p-69;
  return sineOf(r, quarters, quarter);
}

/// 1 - 2 / (e^2v + 1), and its series where that would cancel.
GIRIH_INLINE double tanhOf(double v) {
  double e = exp2Of(v * (2 * 0x1.71547652b82fep0));
  double r = (e - 1) / (e + 1);
  double magnitude = std::bit_cast<double>(bits::of(v) & INT64_MAX);
  r = magnitude > 40 ? std::bit_cast<double>(bits::of(1.0) | (bits::of(v) & ~uint64_t(INT64_MAX)))
                     : r;
  r = magnitude < 0x1p-10 ? v - v * (v * v) * (1.0 / 3) : r;
  return v == v && v != 0 ? r : v;
}

enum Function { Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh };

/// A lane's value of a function, except of sin and cos of large angles.
template <Function f> GIRIH_INLINE float approximate(float a) {
  if constexpr (f == Rcp)
    return 1.0f / a;
  else if constexpr (f == Sqrt)
    return __builtin_sqrtf(a);
  else if constexpr (f == Rsqrt)
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a)));
  else if constexpr (f == Ex2)
    return static_cast<float>(exp2Of(a));
  else if constexpr (f == Lg2)
    return static_cast<float>(log2Of(a));
  else if constexpr (f == Sin)
    // The sign of zero goes through.
    return a == 0 ? a : static_cast<float>(sineOf<0>(static_cast<double>(a)));
  else if constexpr (f == Cos)
    return static_cast<float>(sineOf<1>(static_cast<double>(a)));
  else
    return static_cast<float>(tanhOf(a));
}
template <Function f, bool ftz> Step function32(Context &c, const Instr &in) {
  const float *a = c.src<float>(in.s[0]);
  float x[32], t[32];
  for (unsigned i = 0; i < 32; ++i)
    x[i] = ftz ? flush(a[i]) : a[i];
  for (unsigned i = 0; i < 32; ++i) {
    float r = approximate<f>(x[i]);
    t[i] = canonical(ftz ? flush(r) : r);
  }
  if constexpr (f == Sin || f == Cos)
    for (unsigned i = 0; i < 32; ++i)
      if (!(x[i] > -0x1p20f && x[i] < 0x1p20f)) {
        ReducedAngle large = reduceAngle(x[i]);
        t[i] = canonical(static_cast<float>(sineOf(large.rest, large.quarters, f == Cos)));
      }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <Function f, unsigned N, typename Format> Step function16(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz;
  return halves1<N>(c, in, [=](uint16_t a) {
    uint16_t r = Format::store(approximate<f>(Format::load(ftz ? Format::flush(a) : a)));
    return ftz ? Format::flush(r) : r;
  });
}

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 (9.7.3.14, 9.7.3.17) read and write the upper halves
/// of their operands.
template <Function f> Step gross64(Context &c, const Instr &in) {
  return lanes1<uint64_t, uint64_t>(c, in, [](uint64_t a) -> uint64_t {
    constexpr uint64_t upper = 0xffffffff00000000u, exponent = 0x7ff0000000000000u;
    uint64_t v = a & upper;
    v = (v & exponent) == 0 ? v & ~uint64_t(INT64_MAX) : v;
    double x = std::bit_cast<double>(v);
    double r = f == Rcp ? 1.0 / x : 1.0 / __builtin_sqrt(x);
    uint64_t code = (bits::of(r) + 0x80000000u) & upper;
    code = (code & exponent) == 0 ? code & ~uint64_t(INT64_MAX) : code;
    bool infinite = (bits::of(r) & INT64_MAX) == exponent;
    return r != r ? 0x7fffffff00000000u : infinite ? bits::of(r) : code;
  });
}
template <Function f> Step function64(Context &c, const Instr &in) {
  return lanes1<double, double>(c, in, [](double a) {
    double r = f == Rcp ? 1.0 / a : f == Sqrt ? __builtin_sqrt(a) : 1.0 / __builtin_sqrt(a);
    return payload(r, a, a);
  });
}

template <Function f> void build(Decoder &d, int) {
  simpleOperands(d, 1, d.bytes());
  d.out.sub = floatModifiers(d);
  if constexpr (f == Rcp || f == Sqrt || f == Rsqrt)
    if (d.type() == Type::F64) {
      d.out.exec = function64<f>;
      return;
    }
  if constexpr (f == Ex2 || f == Tanh)
    if (d.type() != Type::F32) {
      d.out.exec = withHalf(d.type(), [](auto format, auto count) -> ExecFn {
        return function16<f, count(), decltype(format)>;
      });
      return;
    }
  d.out.exec = d.has("ftz") ? ExecFn(function32<f, true>) : ExecFn(function32<f, false>);
}
template <Function f> void buildGross(Decoder &d, int) {
  simpleOperands(d, 1, 8);
  d.out.exec = gross64<f>;
}

const Form forms[] = {
    {"rcp", "rn|approx ftz? f32", build<Rcp>},
    {"rcp", "rn ftz? f64", build<Rcp>},
    {"rcp", "approx ftz f64", buildGross<Rcp>},
    {"sqrt", "rn|approx ftz? f32", build<Sqrt>},
    {"sqrt", "rn f64", build<Sqrt>},
    {"rsqrt", "approx ftz? f32", build<Rsqrt>},
    {"rsqrt", "approx f64", build<Rsqrt>},
    {"rsqrt", "approx ftz f64", buildGross<Rsqrt>},
    {"ex2", "approx ftz? f32", build<Ex2>},
    {"ex2", "approx f16|f16x2", build<Ex2>},
    {"ex2", "approx ftz bf16|bf16x2", build<Ex2>},
    {"lg2", "approx ftz? f32", build<Lg2>},
    {"sin", "approx ftz? f32", build<Sin>},
    {"cos", "approx ftz? f32", build<Cos>},
    {"tanh", "approx f32", build<Tanh>},
    {"tanh", "approx f16|f16x2|bf16|bf16x2", build<Tanh>},
};

} // namespace

std::span<const Form> functionForms() { return forms; }

GIRIH_TARGET_END
