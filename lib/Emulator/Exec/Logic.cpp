// Logic, shifts, permutation, comparison and selection (PTX ISA 9.0, 9.7.8, 9.7.6, 9.7.9.7 prmt).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Logic.cpp"
#include "Emulator/Exec/Targets.h"
#include "girih/Emulator/FloatFormats.h"

#include <cmath>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

struct And {
  template <typename T> static T run(T a, T b) { return a & b; }
};
struct Or {
  template <typename T> static T run(T a, T b) { return a | b; }
};
struct Xor {
  template <typename T> static T run(T a, T b) { return a ^ b; }
};
template <typename Op, typename T> Step binary(Context &c, const Instr &in) {
  return lanes2<T, T, T>(c, in, [](T a, T b) { return static_cast<T>(Op::template run<T>(a, b)); });
}
template <typename Op> Step predBinary(Context &c, const Instr &in) {
  uint32_t a = c.predSrc(in.s[0]) ^ (in.sub & 1 ? ~0u : 0u),
           b = c.predSrc(in.s[1]) ^ (in.sub & 2 ? ~0u : 0u);
  storePred(c, in.d[0], Op::template run<uint32_t>(a, b));
  return Step::Next;
}
template <typename Op> void buildLogic(Decoder &d, int) {
  if (d.type() == Type::Pred) {
    if (!d.expectOperands(3))
      return;
    bool na = false, nb = false;
    d.out.d[0] = d.predDest(d.operand(0));
    d.out.s[0] = d.predSource(d.operand(1), na);
    d.out.s[1] = d.predSource(d.operand(2), nb);
    d.out.sub = static_cast<uint8_t>(na | nb << 1);
    d.out.exec = predBinary<Op>;
    return;
  }
  simpleOperands(d, 2, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return binary<Op, decltype(t)>; });
}
template <typename T> Step bitNot(Context &c, const Instr &in) {
  return lanes1<T, T>(c, in, [](T a) { return static_cast<T>(~a); });
}
template <typename T> Step cnot(Context &c, const Instr &in) {
  return lanes1<T, T>(c, in, [](T a) { return static_cast<T>(a == 0); });
}
Step predNot(Context &c, const Instr &in) {
  storePred(c, in.d[0], ~(c.predSrc(in.s[0]) ^ (in.sub & 1 ? ~0u : 0u)));
  return Step::Next;
}
void buildNot(Decoder &d, int variant) {
  if (d.type() == Type::Pred) {
    if (!d.expectOperands(2))
      return;
    bool negated = false;
    d.out.d[0] = d.predDest(d.operand(0));
    d.out.s[0] = d.predSource(d.operand(1), negated);
    d.out.sub = negated;
    d.out.exec = predNot;
    return;
  }
  simpleOperands(d, 1, d.bytes());
  d.out.exec = withInteger(d.type(), [&](auto t) -> ExecFn {
    return variant ? ExecFn(cnot<decltype(t)>) : ExecFn(bitNot<decltype(t)>);
  });
}

/// 9.7.8.9: amounts above the width are clamped to it.
template <typename T> Step shl(Context &c, const Instr &in) {
  return lanes2<T, T, uint32_t>(c, in, [](T a, uint32_t b) {
    return b >= 8 * sizeof(T) ? T(0) : static_cast<T>(uint64_t(a) << b);
  });
}
template <typename T> Step shr(Context &c, const Instr &in) {
  return lanes2<T, T, uint32_t>(c, in, [](T a, uint32_t b) {
    constexpr uint32_t bits = 8 * sizeof(T);
    if (b >= bits)
      return a < 0 ? static_cast<T>(-1) : T(0);
    return static_cast<T>(a >> b);
  });
}
void buildShift(Decoder &d, int variant) {
  if (!d.expectOperands(3))
    return;
  d.out.d[0] = d.dest(0, d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, 4);
  d.out.exec = withInteger(d.type(), [&](auto t) -> ExecFn {
    return variant ? ExecFn(shr<decltype(t)>) : ExecFn(shl<decltype(t)>);
  });
}
template <bool left, bool wrap> Step funnel(Context &c, const Instr &in) {
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [](uint32_t a, uint32_t b, uint32_t e) {
        uint32_t n = wrap ? e & 31 : std::min<uint32_t>(e, 32);
        uint64_t both = uint64_t(b) << 32 | a;
        return left ? static_cast<uint32_t>((both << n) >> 32) : static_cast<uint32_t>(both >> n);
      });
}
void buildFunnel(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  bool left = d.has("l"), wrap = d.has("wrap");
  d.out.exec = left ? (wrap ? ExecFn(funnel<true, true>) : ExecFn(funnel<true, false>))
                    : (wrap ? ExecFn(funnel<false, true>) : ExecFn(funnel<false, false>));
}

/// 9.7.8.6: bit i of the result is bit (a_i, b_i, c_i) of the table.
Step lop3(Context &c, const Instr &in) {
  const uint32_t table = static_cast<uint32_t>(in.imm);
  Step step = lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [table](uint32_t a, uint32_t b, uint32_t e) {
        uint32_t r = 0;
        if (table & 0x01)
          r |= ~a & ~b & ~e;
        if (table & 0x02)
          r |= ~a & ~b & e;
        if (table & 0x04)
          r |= ~a & b & ~e;
        if (table & 0x08)
          r |= ~a & b & e;
        if (table & 0x10)
          r |= a & ~b & ~e;
        if (table & 0x20)
          r |= a & ~b & e;
        if (table & 0x40)
          r |= a & b & ~e;
        if (table & 0x80)
          r |= a & b & e;
        return r;
      });
  return step;
}
void buildLop3(Decoder &d, int) {
  if (!d.expectOperands(5))
    return;
  d.out.d[0] = d.dest(0, 4);
  for (int i = 0; i < 3; ++i)
    d.out.s[i] = d.source(static_cast<size_t>(i) + 1, 4);
  d.out.imm = d.literal(4);
  d.out.exec = lop3;
}

/// 9.7.9.7.
template <int mode> Step prmt(Context &c, const Instr &in) {
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [](uint32_t a, uint32_t b, uint32_t e) {
        uint64_t both = uint64_t(b) << 32 | a;
        auto byte = [&](unsigned i) { return static_cast<uint32_t>(both >> (8 * (i & 7)) & 0xff); };
        uint32_t r = 0;
        unsigned s = e & 3;
        for (unsigned i = 0; i < 4; ++i) {
          uint32_t v;
          if constexpr (mode == 0) {
            unsigned nibble = e >> (4 * i) & 15;
            v = byte(nibble);
            if (nibble & 8)
              v = v & 0x80 ? 0xff : 0;
          } else if constexpr (mode == 1) { // f4e
            v = byte(s + i);
          } else if constexpr (mode == 2) { // b4e
            v = byte(s + 8 - i);
          } else if constexpr (mode == 3) { // rc8
            v = byte(s);
          } else if constexpr (mode == 4) { // ecl
            v = byte(std::max(s, i));
          } else if constexpr (mode == 5) { // ecr
            v = byte(std::min(s, i));
          } else { // rc16
            v = byte((s & 1) * 2 + (i & 1));
          }
          r |= v << (8 * i);
        }
        return r;
      });
}
void buildPrmt(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  constexpr ExecFn table[] = {prmt<1>, prmt<2>, prmt<3>, prmt<4>, prmt<5>, prmt<6>};
  int mode = d.which({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  d.out.exec = mode < 0 ? ExecFn(prmt<0>) : table[mode];
}

// Comparison (9.7.6.1, 9.7.6.2).
enum Compare { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
constexpr const char *compareNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <Compare cmp, typename T> inline bool compare(T a, T b) {
  if constexpr (cmp == Eq)
    return a == b;
  else if constexpr (cmp == Ne)
    return a < b || a > b; // false for NaN
  else if constexpr (cmp == Lt)
    return a < b;
  else if constexpr (cmp == Le)
    return a <= b;
  else if constexpr (cmp == Gt)
    return a > b;
  else if constexpr (cmp == Ge)
    return a >= b;
  else if constexpr (cmp == Equ)
    return !(a < b || a > b);
  else if constexpr (cmp == Neu)
    return !(a == b);
  else if constexpr (cmp == Ltu)
    return !(a >= b);
  else if constexpr (cmp == Leu)
    return !(a > b);
  else if constexpr (cmp == Gtu)
    return !(a <= b);
  else if constexpr (cmp == Geu)
    return !(a < b);
  else if constexpr (cmp == Num)
    return a == a && b == b;
  else
    return a != a || b != b;
}
inline float widen(float v) { return v; }
inline double widen(double v) { return v; }
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
inline float widen(Half v) { return f16ToFloat(v.bits); }
inline float widen(Brain v) { return bf16ToFloat(v.bits); }
template <typename T>
  requires std::is_integral_v<T>
inline T widen(T v) {
  return v;
}
inline float flush(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

template <Compare cmp, typename T, bool ftz> Step setp(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]), *b = c.src<T>(in.s[1]);
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    auto x = widen(a[i]), y = widen(b[i]);
    if constexpr (ftz && std::is_same_v<T, float>) {
      x = flush(x);
      y = flush(y);
    }
    flags[i] = compare<cmp>(x, y);
  }
  uint32_t result = packFlags(flags), inverse = ~result;
  if (in.s[2] != kNone) {
    uint32_t other = c.predSrc(in.s[2]) ^ (in.sub & 8 ? ~0u : 0u);
    switch (in.sub & 7) {
    case 1:
      result &= other, inverse &= other;
      break;
    case 2:
      result |= other, inverse |= other;
      break;
    case 3:
      result ^= other, inverse ^= other;
      break;
    }
  }
  storePred(c, in.d[0], result);
  if (in.d[1] != kNone)
    storePred(c, in.d[1], inverse);
  return Step::Next;
}
template <typename T, bool ftz> ExecFn setpFor(int cmp) {
  constexpr ExecFn table[] = {
      setp<Eq, T, ftz>,  setp<Ne, T, ftz>,  setp<Lt, T, ftz>,  setp<Le, T, ftz>,  setp<Gt, T, ftz>,
      setp<Ge, T, ftz>,  setp<Equ, T, ftz>, setp<Neu, T, ftz>, setp<Ltu, T, ftz>, setp<Leu, T, ftz>,
      setp<Gtu, T, ftz>, setp<Geu, T, ftz>, setp<Num, T, ftz>, setp<Nan, T, ftz>};
  return table[cmp];
}
void buildSetp(Decoder &d, int) {
  int cmp = -1;
  for (int i = 0; i < 14; ++i)
    if (d.has(compareNames[i]))
      cmp = i;
  int combine = d.which({"and", "or", "xor"});
  Type type = d.type();
  // lo, ls, hi, hs are the unsigned comparisons' other names.
  if (cmp < 0) {
    int unsignedCmp = d.which({"lo", "ls", "hi", "hs"});
    if (unsignedCmp < 0)
      return d.fail("setp without a comparison");
    cmp = unsignedCmp == 0 ? Lt : unsignedCmp == 1 ? Le : unsignedCmp == 2 ? Gt : Ge;
  }
  if (cmp >= Equ && !ptx::isFloat(type))
    return d.fail("an unordered comparison of integers");
  if (!d.expectOperands(combine >= 0 ? 4 : 3))
    return;
  const ptx::Operand &target = d.operand(0);
  if (target.kind == ptx::OperandKind::Pair) {
    d.out.d[0] = d.predDest(target.elements[0]);
    d.out.d[1] = d.predDest(target.elements[1]);
  } else {
    d.out.d[0] = d.predDest(target);
  }
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, d.bytes());
  if (combine >= 0) {
    bool negated = false;
    d.out.s[2] = d.predSource(d.operand(3), negated);
    d.out.sub = static_cast<uint8_t>((combine + 1) | (negated ? 8 : 0));
  }
  bool ftz = d.has("ftz");
  switch (type) {
  case Type::F32:
    d.out.exec = ftz ? setpFor<float, true>(cmp) : setpFor<float, false>(cmp);
    break;
  case Type::F64:
    d.out.exec = setpFor<double, false>(cmp);
    break;
  case Type::F16:
    d.out.exec = setpFor<Half, false>(cmp);
    break;
  case Type::BF16:
    d.out.exec = setpFor<Brain, false>(cmp);
    break;
  default:
    d.out.exec = withInteger(type, [&](auto t) { return setpFor<decltype(t), false>(cmp); });
  }
}

template <typename T> Step selp(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]), *b = c.src<T>(in.s[1]);
  uint32_t p = c.predSrc(in.s[2]) ^ (in.sub & 1 ? ~0u : 0u);
  T t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = p >> i & 1 ? a[i] : b[i];
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildSelp(Decoder &d, int) {
  if (!d.expectOperands(4))
    return;
  bool negated = false;
  unsigned width = d.bytes();
  d.out.d[0] = d.dest(0, width);
  d.out.s[0] = d.source(1, width);
  d.out.s[1] = d.source(2, width);
  d.out.s[2] = d.predSource(d.operand(3), negated);
  d.out.sub = negated;
  d.out.exec = width == 2   ? ExecFn(selp<uint16_t>)
               : width == 4 ? ExecFn(selp<uint32_t>)
                            : ExecFn(selp<uint64_t>);
}

constexpr char kBits[] = "pred|b16|b32|b64";
constexpr char kSetpInteger[] =
    "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor? b16|b32|b64|s16|u16|s32|u32|s64|u64";
constexpr char kSetpFloat[] =
    "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz? f16|bf16|f32|f64";
const Form forms[] = {
    {"and", kBits, buildLogic<And>},
    {"or", kBits, buildLogic<Or>},
    {"xor", kBits, buildLogic<Xor>},
    {"not", kBits, buildNot, 0},
    {"cnot", "b16|b32|b64", buildNot, 1},
    {"shl", "b16|b32|b64", buildShift, 0},
    {"shr", "b16|b32|b64|u16|s16|u32|s32|u64|s64", buildShift, 1},
    {"shf", "l|r wrap|clamp b32", buildFunnel},
    {"lop3", "b32", buildLop3},
    {"prmt", "b32 f4e|b4e|rc8|ecl|ecr|rc16?", buildPrmt},
    {"setp", kSetpInteger, buildSetp},
    {"setp", kSetpFloat, buildSetp},
    {"selp", "b16|b32|b64|s16|u16|s32|u32|s64|u64|f32|f64", buildSelp},
};

} // namespace

std::span<const Form> logicForms() { return forms; }

GIRIH_TARGET_END
