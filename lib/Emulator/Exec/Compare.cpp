// Comparison and selection (PTX ISA 9.0, 9.7.6 and 9.7.7): set, setp, selp, slct.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Compare.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/FloatOps.h"

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

enum Compare { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <typename T> using Lanes = T __attribute__((ext_vector_type(32)));
using Flags = bool __attribute__((ext_vector_type(32)));

/// The lanes for which a comparison holds. As one vector operation, so that masks are made by the
/// host's own instructions.
template <Compare cmp, typename T> GIRIH_INLINE uint32_t compareLanes(const T *a, const T *b) {
  Lanes<T> x, y;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  decltype(x < y) m;
  if constexpr (cmp == Eq)
    m = x == y;
  else if constexpr (cmp == Ne)
    m = x<y | x> y; // false for NaN
  else if constexpr (cmp == Lt)
    m = x < y;
  else if constexpr (cmp == Le)
    m = x <= y;
  else if constexpr (cmp == Gt)
    m = x > y;
  else if constexpr (cmp == Ge)
    m = x >= y;
  else if constexpr (cmp == Equ)
    m = ~(x<y | x> y);
  else if constexpr (cmp == Neu)
    m = ~(x == y);
  else if constexpr (cmp == Ltu)
    m = ~(x >= y);
  else if constexpr (cmp == Leu)
    m = ~(x > y);
  else if constexpr (cmp == Gtu)
    m = ~(x <= y);
  else if constexpr (cmp == Geu)
    m = ~(x < y);
  else if constexpr (cmp == Num)
    m = x == x & y == y;
  else
    m = ~(x == x & y == y);
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(m, Flags));
}

// Instr::sub: how the result combines with a predicate.
enum : uint8_t { kCombine = 3, kNegated = 4, kFlushed = 8 };
GIRIH_INLINE uint32_t combine(const Context &c, const Instr &in, uint32_t result) {
  if (in.s[2] == kNone)
    return result;
  uint32_t other = c.predSrc(in.s[2]) ^ (in.sub & kNegated ? ~0u : 0u);
  switch (in.sub & kCombine) {
  case 1:
    return result & other;
  case 2:
    return result | other;
  default:
    return result ^ other;
  }
}
/// Instr::imm of set is what true is written as, Instr::width the destination's size; 0 for setp.
template <typename T> void writeSet(const Context &c, const Instr &in, uint32_t result) {
  T t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = result >> i & 1 ? static_cast<T>(in.imm) : T(0);
  storeLanes(c, in.d[0], t);
}
GIRIH_INLINE Step finish(const Context &c, const Instr &in, uint32_t result) {
  if (in.width == 0) {
    uint32_t inverse = combine(c, in, ~result);
    storePred(c, in.d[0], combine(c, in, result));
    if (in.d[1] != kNone)
      storePred(c, in.d[1], inverse);
  } else if (in.width == 2) {
    writeSet<uint16_t>(c, in, combine(c, in, result));
  } else {
    writeSet<uint32_t>(c, in, combine(c, in, result));
  }
  return Step::Next;
}

template <Compare cmp, typename T> Step setp(Context &c, const Instr &in) {
  return finish(c, in, compareLanes<cmp>(c.src<T>(in.s[0]), c.src<T>(in.s[1])));
}
template <Compare cmp> Step setpFtz(Context &c, const Instr &in) {
  const float *a = c.src<float>(in.s[0]), *b = c.src<float>(in.s[1]);
  float x[32], y[32];
  for (unsigned i = 0; i < 32; ++i) {
    x[i] = flush(a[i]);
    y[i] = flush(b[i]);
  }
  return finish(c, in, compareLanes<cmp>(x, y));
}
/// Widens every `stride`-th 16-bit element.
template <typename Format>
GIRIH_INLINE void widen(const uint16_t *from, unsigned stride, bool ftz, float *to) {
  for (unsigned i = 0; i < 32; ++i) {
    uint16_t v = from[i * stride];
    to[i] = Format::load(ftz ? Format::flush(v) : v);
  }
}
template <Compare cmp, unsigned N, typename Format> Step setp16(Context &c, const Instr &in) {
  const uint16_t *a = c.src<uint16_t>(in.s[0]), *b = c.src<uint16_t>(in.s[1]);
  const bool ftz = in.sub & kFlushed;
  float x[32], y[32];
  widen<Format>(a, N / 32, ftz, x);
  widen<Format>(b, N / 32, ftz, y);
  uint32_t low = compareLanes<cmp>(x, y);
  if constexpr (N == 32) {
    return finish(c, in, low);
  } else {
    // Two results: the predicates p and q, or the halves of a register.
    widen<Format>(a + 1, 2, ftz, x);
    widen<Format>(b + 1, 2, ftz, y);
    low = combine(c, in, low);
    uint32_t high = combine(c, in, compareLanes<cmp>(x, y));
    if (in.width == 0) {
      storePred(c, in.d[0], low);
      if (in.d[1] != kNone)
        storePred(c, in.d[1], high);
      return Step::Next;
    }
    uint32_t t[32];
    for (unsigned i = 0; i < 32; ++i)
      t[i] = (low >> i & 1 ? static_cast<uint32_t>(in.imm) : 0) |
             (high >> i & 1 ? static_cast<uint32_t>(in.imm) << 16 : 0);
    storeLanes(c, in.d[0], t);
    return Step::Next;
  }
}

struct Integers {
  template <typename T> static ExecFn get(int cmp) {
    constexpr ExecFn table[] = {setp<Eq, T>, setp<Ne, T>, setp<Lt, T>,
                                setp<Le, T>, setp<Gt, T>, setp<Ge, T>};
    return table[cmp];
  }
};
/// A table over all comparisons; `F` makes a function from one.
template <typename F> ExecFn allComparisons(int cmp, F f) {
  const ExecFn table[] = {
      f.template operator()<Eq>(),  f.template operator()<Ne>(),  f.template operator()<Lt>(),
      f.template operator()<Le>(),  f.template operator()<Gt>(),  f.template operator()<Ge>(),
      f.template operator()<Equ>(), f.template operator()<Neu>(), f.template operator()<Ltu>(),
      f.template operator()<Leu>(), f.template operator()<Gtu>(), f.template operator()<Geu>(),
      f.template operator()<Num>(), f.template operator()<Nan>()};
  return table[cmp];
}
ExecFn compareFor(Type type, int cmp, bool ftz) {
  switch (type) {
  case Type::F32:
    if (ftz)
      return allComparisons(cmp, []<Compare k>() -> ExecFn { return setpFtz<k>; });
    return allComparisons(cmp, []<Compare k>() -> ExecFn { return setp<k, float>; });
  case Type::F64:
    return allComparisons(cmp, []<Compare k>() -> ExecFn { return setp<k, double>; });
  case Type::F16:
  case Type::BF16:
  case Type::F16x2:
  case Type::BF16x2:
    return withHalf(type, [&](auto format, auto count) {
      return allComparisons(cmp, []<Compare k>() -> ExecFn {
        return setp16<k, decltype(count)::value, decltype(format)>;
      });
    });
  default:
    return withInteger(type, [&](auto t) { return Integers::get<decltype(t)>(cmp); });
  }
}

/// The comparison, operands a and b (from index 1) and the predicate that the result combines with.
void comparisonOperands(Decoder &d, Type type) {
  int cmp = d.which(
      {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  // Other names of the unsigned comparisons.
  if (int other = d.which({"lo", "ls", "hi", "hs"}); other >= 0) {
    constexpr int same[] = {Lt, Le, Gt, Ge};
    cmp = same[other];
  }
  int combination = d.which({"and", "or", "xor"});
  if (!d.expectOperands(combination >= 0 ? 4 : 3))
    return;
  unsigned width = ptx::typeBytes(type);
  d.out.s[0] = d.source(1, width);
  d.out.s[1] = d.source(2, width);
  if (combination >= 0) {
    bool negated = false;
    d.out.s[2] = d.predSource(d.operand(3), negated);
    d.out.sub = static_cast<uint8_t>((combination + 1) | (negated ? kNegated : 0));
  }
  if (d.has("ftz"))
    d.out.sub |= kFlushed;
  d.out.exec = compareFor(type, cmp, d.has("ftz"));
}
void buildSetp(Decoder &d, int) {
  comparisonOperands(d, d.type());
  const ptx::Operand &target = d.operand(0);
  if (target.kind == ptx::OperandKind::Pair) {
    d.out.d[0] = d.predDest(target.elements[0]);
    d.out.d[1] = d.predDest(target.elements[1]);
  } else {
    d.out.d[0] = d.predDest(target);
  }
}
void buildSet(Decoder &d, int) {
  comparisonOperands(d, d.type(1));
  Type to = d.type(0);
  unsigned width = ptx::typeBytes(to);
  d.out.d[0] = d.dest(0, width);
  d.out.width = static_cast<uint8_t>(width);
  switch (to) {
  case Type::F32:
    d.out.imm = 0x3f800000;
    break;
  case Type::F16:
  case Type::F16x2:
    d.out.imm = Half::kOne;
    break;
  case Type::BF16:
  case Type::BF16x2:
    d.out.imm = Brain::kOne;
    break;
  default:
    // 32-bit results of packed sources are two halves of 16 bits.
    d.out.imm = width == 2 || d.type(1) == Type::F16x2 || d.type(1) == Type::BF16x2 ? 0xffff : -1;
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
/// 9.7.6.4: a where c >= 0; NaN and negative numbers take b, -0 takes a.
template <typename T, typename C> Step slct(Context &c, const Instr &in) {
  const bool ftz = in.sub;
  return lanes3<T, T, T, C>(c, in, [=](T a, T b, C e) {
    if constexpr (std::is_same_v<C, float>)
      e = ftz ? flush(e) : e;
    return e >= C(0) ? a : b;
  });
}
template <typename C> void buildSlct(Decoder &d, int) {
  if (!d.expectOperands(4))
    return;
  unsigned width = d.bytes();
  d.out.d[0] = d.dest(0, width);
  d.out.s[0] = d.source(1, width);
  d.out.s[1] = d.source(2, width);
  d.out.s[2] = d.source(3, 4);
  d.out.sub = d.has("ftz");
  d.out.exec = width == 2   ? ExecFn(slct<uint16_t, C>)
               : width == 4 ? ExecFn(slct<uint32_t, C>)
                            : ExecFn(slct<uint64_t, C>);
}

#define GIRIH_EQUALITY "eq|ne and|or|xor? "
#define GIRIH_SIGNED "eq|ne|lt|le|gt|ge and|or|xor? "
#define GIRIH_UNSIGNED "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor? "
#define GIRIH_FLOAT "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? "
#define GIRIH_SELECTED "b16|b32|b64|s16|u16|s32|u32|s64|u64|f32|f64"
const Form forms[] = {
    {"setp", GIRIH_EQUALITY "b16|b32|b64", buildSetp},
    {"setp", GIRIH_SIGNED "s16|s32|s64", buildSetp},
    {"setp", GIRIH_UNSIGNED "u16|u32|u64", buildSetp},
    {"setp", GIRIH_FLOAT "ftz? f16|f16x2|f32", buildSetp},
    {"setp", GIRIH_FLOAT "bf16|bf16x2|f64", buildSetp},
    {"set", GIRIH_EQUALITY "u32|s32|f32|f16|bf16 b16|b32|b64", buildSet},
    {"set", GIRIH_SIGNED "u32|s32|f32|f16|bf16 s16|s32|s64", buildSet},
    {"set", GIRIH_UNSIGNED "u32|s32|f32|f16|bf16 u16|u32|u64", buildSet},
    {"set", GIRIH_FLOAT "ftz? u32|s32|f32|f16 f32", buildSet},
    {"set", GIRIH_FLOAT "bf16 f32", buildSet},
    {"set", GIRIH_FLOAT "u32|s32|f32|f16|bf16 f64", buildSet},
    {"set", GIRIH_FLOAT "ftz? u32|s32|u16|s16|f16 f16", buildSet},
    {"set", GIRIH_FLOAT "bf16 f16", buildSet},
    {"set", GIRIH_FLOAT "u32|s32|u16|s16|bf16 bf16", buildSet},
    {"set", GIRIH_FLOAT "ftz? u32|s32|f16x2 f16x2", buildSet},
    {"set", GIRIH_FLOAT "u32|s32|bf16x2 bf16x2", buildSet},
    {"selp", GIRIH_SELECTED, buildSelp},
    {"slct", GIRIH_SELECTED " s32", buildSlct<int32_t>},
    {"slct", "ftz? " GIRIH_SELECTED " f32", buildSlct<float>},
};
#undef GIRIH_EQUALITY
#undef GIRIH_SIGNED
#undef GIRIH_UNSIGNED
#undef GIRIH_FLOAT
#undef GIRIH_SELECTED

} // namespace

std::span<const Form> compareForms() { return forms; }

GIRIH_TARGET_END
