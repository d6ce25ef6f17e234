// binary16 and bfloat16 arithmetic, scalar and packed (PTX ISA 9.0, 9.7.4).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/HalfFloat.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/FloatOps.h"

GIRIH_TARGET_BEGIN

namespace {

enum Operation { Add, Sub, Mul };

template <Operation op> GIRIH_INLINE float apply(float a, float b) {
  return op == Add ? a + b : op == Sub ? a - b : a * b;
}
template <Operation op, unsigned N, typename Format> Step binary(Context &c, const Instr &in) {
  if (!in.sub)
    return halves2<N>(c, in, [](uint16_t a, uint16_t b) {
      return Format::store(apply<op>(Format::load(a), Format::load(b)));
    });
  const bool ftz = in.sub & kFtz, sat = in.sub & kSat;
  return halves2<N>(c, in, [=](uint16_t a, uint16_t b) {
    float x = Format::load(ftz ? Format::flush(a) : a),
          y = Format::load(ftz ? Format::flush(b) : b);
    float r = apply<op>(x, y);
    uint16_t code = Format::store(sat ? saturate(r) : r);
    return ftz ? Format::flush(code) : code;
  });
}
/// A product and a sum fused: a * b + e, a * b - e or e - a * b.
enum Fusion { PlusAddend, MinusAddend, MinusProduct };
template <Fusion fusion, unsigned N, typename Format> Step contracted(Context &c, const Instr &in);
template <Fusion fusion> ExecFn contractedFor(Decoder &d) {
  return withHalf(d.type(), [](auto format, auto count) -> ExecFn {
    return contracted<fusion, count(), decltype(format)>;
  });
}
template <Operation op> void buildBinary(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.sub = floatModifiers(d);
  if constexpr (op == Mul)
    d.mayContract(Contractible::Mul);
  else if constexpr (op == Add)
    d.mayContract(Contractible::Add, contractedFor<PlusAddend>(d), contractedFor<PlusAddend>(d));
  else
    d.mayContract(Contractible::Sub, contractedFor<MinusAddend>(d), contractedFor<MinusProduct>(d));
  d.out.exec = withHalf(d.type(), [](auto format, auto count) -> ExecFn {
    return binary<op, count(), decltype(format)>;
  });
}

// fma rounds once: the product is exact (in binary32 for f16, in binary64 for bf16, whose exponents
// would overflow), the sum is rounded to odd with enough bits to spare, and then to 16 bits.
template <typename Format, Rounding rounding>
GIRIH_INLINE uint16_t fused(uint16_t a, uint16_t b, uint16_t e) {
  float x = Format::load(a), y = Format::load(b), z = Format::load(e);
  float r;
  if constexpr (std::is_same_v<Format, Half>) {
    r = bits::addOdd<float, uint32_t>(x * y, z);
  } else {
    double product = static_cast<double>(x) * y;
    double sum = bits::addOdd<double, uint64_t>(product, static_cast<double>(z));
    r = bits::toFloatOdd(sum);
    // A sum of zero is negative when rounding down unless both of its parts are +0 (IEEE 754, 6.3).
    if constexpr (rounding == Rounding::Down) {
      bool negative = (bits::of(product) | bits::of(static_cast<double>(z))) >> 63;
      r = sum == 0 && negative ? -0.0f : r;
    }
  }
  return Format::template store<rounding>(r);
}
template <unsigned N, typename Format, Rounding rounding> Step fma(Context &c, const Instr &in) {
  if (!in.sub)
    return halves3<N>(
        c, in, [](uint16_t a, uint16_t b, uint16_t e) { return fused<Format, rounding>(a, b, e); });
  const bool ftz = in.sub & kFtz, sat = in.sub & kSat, relu = in.sub & kRelu, oob = in.sub & kOob;
  return halves3<N>(c, in, [=](uint16_t a, uint16_t b, uint16_t e) -> uint16_t {
    // The NaN of elements beyond a tensor's edge (5.5.2.5); an operand with it makes the result 0.
    bool outside = a == kOobNan || b == kOobNan || e == kOobNan;
    if (ftz) {
      a = Format::flush(a);
      b = Format::flush(b);
      e = Format::flush(e);
    }
    uint16_t r = fused<Format, rounding>(a, b, e);
    if (ftz)
      r = Format::flush(r);
    bool nan = (r & 0x7fff) > Format::kExponent, negative = r >> 15;
    if (relu)
      r = negative && !nan ? 0 : r;
    if (sat)
      r = nan || negative ? 0 : r > Format::kOne ? Format::kOne : r;
    return oob && outside ? 0 : r;
  });
}
template <Fusion fusion, unsigned N, typename Format> Step contracted(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz, sat = in.sub & kSat;
  return halves3<N>(c, in, [=](uint16_t a, uint16_t b, uint16_t e) -> uint16_t {
    if (ftz) {
      a = Format::flush(a);
      b = Format::flush(b);
      e = Format::flush(e);
    }
    constexpr uint16_t product = fusion == MinusProduct ? 0x8000 : 0,
                       addend = fusion == MinusAddend ? 0x8000 : 0;
    uint16_t r = fused<Format, Rounding::NearestEven>(a ^ product, b, e ^ addend);
    if (ftz)
      r = Format::flush(r);
    bool nan = (r & 0x7fff) > Format::kExponent, negative = r >> 15;
    if (sat)
      r = nan || negative ? 0 : r > Format::kOne ? Format::kOne : r;
    return r;
  });
}
template <Rounding rounding> void buildFmaRounded(Decoder &d) {
  d.out.exec = withHalf(d.type(), [](auto format, auto count) -> ExecFn {
    return fma<count(), decltype(format), rounding>;
  });
}
void buildFma(Decoder &d, int) {
  simpleOperands(d, 3, d.bytes());
  d.out.sub = floatModifiers(d);
  switch (d.which({"rn", "rz", "rm", "rp"})) {
  case 1:
    return buildFmaRounded<Rounding::TowardsZero>(d);
  case 2:
    return buildFmaRounded<Rounding::Down>(d);
  case 3:
    return buildFmaRounded<Rounding::Up>(d);
  default:
    return buildFmaRounded<Rounding::NearestEven>(d);
  }
}

template <bool absolute, unsigned N, typename Format> Step sign(Context &c, const Instr &in) {
  const bool ftz = in.sub & kFtz;
  return halves1<N>(c, in, [=](uint16_t a) {
    uint16_t v = ftz ? Format::flush(a) : a;
    return static_cast<uint16_t>(absolute ? v & 0x7fff : v ^ 0x8000);
  });
}
template <bool absolute> void buildSign(Decoder &d, int) {
  simpleOperands(d, 1, d.bytes());
  d.out.sub = floatModifiers(d);
  d.out.exec = withHalf(d.type(), [](auto format, auto count) -> ExecFn {
    return sign<absolute, count(), decltype(format)>;
  });
}

const Form forms[] = {
    {"add", "rn? ftz? sat? f16|f16x2", buildBinary<Add>},
    {"sub", "rn? ftz? sat? f16|f16x2", buildBinary<Sub>},
    {"mul", "rn? ftz? sat? f16|f16x2", buildBinary<Mul>},
    {"add", "rn? bf16|bf16x2", buildBinary<Add>},
    {"sub", "rn? bf16|bf16x2", buildBinary<Sub>},
    {"mul", "rn? bf16|bf16x2", buildBinary<Mul>},
    {"fma", "rn ftz? sat? f16|f16x2", buildFma},
    {"fma", "rn ftz? relu f16|f16x2", buildFma},
    {"fma", "rn oob sat? f16|f16x2", buildFma},
    {"fma", "rn oob relu f16|f16x2", buildFma},
    // ptxas takes the directed roundings of bf16, which the text does not list.
    {"fma", "rn|rz|rm|rp oob? relu? bf16|bf16x2", buildFma},
    {"neg", "ftz? f16|f16x2", buildSign<false>},
    {"neg", "bf16|bf16x2", buildSign<false>},
    {"abs", "ftz? f16|f16x2", buildSign<true>},
    {"abs", "bf16|bf16x2", buildSign<true>},
};

} // namespace

std::span<const Form> halfFloatForms() { return forms; }

GIRIH_TARGET_END
