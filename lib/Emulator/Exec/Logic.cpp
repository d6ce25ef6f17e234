// Logic, shifts and permutation (PTX ISA 9.0, 9.7.8, 9.7.9.7 prmt).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Logic.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Units/FloatBits.h"

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

/// 9.7.8.6: bit i of the result is bit (a_i, b_i, c_i) of the table, as a tree of selections, which
/// takes the same few vector instructions for every table.
struct Lookup {
  uint32_t rows[8];
  explicit Lookup(int64_t table) {
    for (unsigned i = 0; i < 8; ++i)
      rows[i] = table >> i & 1 ? ~0u : 0;
  }
  GIRIH_INLINE static uint32_t select(uint32_t which, uint32_t one, uint32_t zero) {
    return (which & one) | (~which & zero);
  }
  GIRIH_INLINE uint32_t operator()(uint32_t a, uint32_t b, uint32_t e) const {
    return select(a, select(b, select(e, rows[7], rows[6]), select(e, rows[5], rows[4])),
                  select(b, select(e, rows[3], rows[2]), select(e, rows[1], rows[0])));
  }
};
Step lop3(Context &c, const Instr &in) {
  const Lookup lookup(in.imm);
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [&](uint32_t a, uint32_t b, uint32_t e) { return lookup(a, b, e); });
}
/// The result, and a predicate: result != 0, combined with another by .or or .and.
Step lop3Pred(Context &c, const Instr &in) {
  const Lookup lookup(in.imm);
  const uint32_t *a = c.src<uint32_t>(in.s[0]), *b = c.src<uint32_t>(in.s[1]),
                 *e = c.src<uint32_t>(in.s[2]);
  uint32_t t[32];
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    t[i] = lookup(a[i], b[i], e[i]);
    flags[i] = t[i] != 0;
  }
  uint32_t other = c.predSrc(in.s[3]) ^ (in.sub & 1 ? ~0u : 0u), found = packFlags(flags);
  storePred(c, in.d[1], in.sub & 2 ? found & other : found | other);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildLop3(Decoder &d, int) {
  const bool withPred = d.has("or") || d.has("and");
  if (!d.expectOperands(withPred ? 6 : 5))
    return;
  for (int i = 0; i < 3; ++i)
    d.out.s[i] = d.source(static_cast<size_t>(i) + 1, 4);
  int64_t table = d.literal(4);
  if (table < 0 || table > 255)
    return d.fail("the table of lop3 has eight bits, not " + std::to_string(table));
  if (!withPred) {
    d.out.d[0] = d.dest(0, 4);
    d.out.imm = table;
    d.out.exec = lop3;
    return;
  }
  const ptx::Operand &target = d.operand(0);
  if (target.kind != ptx::OperandKind::Pair)
    return d.fail("this lop3 writes a register and a predicate, d|p");
  bool negated = false;
  d.out.d[0] = d.dest(target.elements[0], 4);
  d.out.d[1] = d.predDest(target.elements[1]);
  d.out.s[3] = d.predSource(d.operand(5), negated);
  d.out.sub = static_cast<uint8_t>((negated ? 1 : 0) | (d.has("and") ? 2 : 0));
  d.out.imm = table;
  d.out.exec = lop3Pred;
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

constexpr char kBits[] = "pred|b16|b32|b64";
const Form forms[] = {
    {"and", kBits, buildLogic<And>},
    {"or", kBits, buildLogic<Or>},
    {"xor", kBits, buildLogic<Xor>},
    {"not", kBits, buildNot, 0},
    {"cnot", "b16|b32|b64", buildNot, 1},
    {"shl", "b16|b32|b64", buildShift, 0},
    {"shr", "b16|b32|b64|u16|s16|u32|s32|u64|s64", buildShift, 1},
    {"shf", "l|r wrap|clamp b32", buildFunnel},
    {"lop3", "or|and? b32", buildLop3},
    {"prmt", "b32 f4e|b4e|rc8|ecl|ecr|rc16?", buildPrmt},
};

} // namespace

std::span<const Form> logicForms() { return forms; }

GIRIH_TARGET_END
