// Bit operations and dot products (PTX ISA 9.0, 9.7.1.14 to 9.7.1.24).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Bits.cpp"
#include "Emulator/Exec/Targets.h"

#include <algorithm>
#include <type_traits>

GIRIH_TARGET_BEGIN

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;

// Bits: results are 32 bits wide whatever the source.
struct Popc {
  template <typename T> static uint32_t run(T a) { return static_cast<uint32_t>(std::popcount(a)); }
};
struct Clz {
  template <typename T> static uint32_t run(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
template <typename Op, typename T> Step bitCount(Context &c, const Instr &in) {
  return lanes1<uint32_t, T>(c, in, [](T a) { return Op::template run<T>(a); });
}
template <typename Op> void buildBitCount(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, d.bytes());
  d.out.exec = d.bytes() == 8 ? ExecFn(bitCount<Op, uint64_t>) : ExecFn(bitCount<Op, uint32_t>);
}
/// 9.7.1.16: the position of the most significant bit that differs from the sign (or is one), or
/// ~0.
template <typename T, bool shift> Step bfind(Context &c, const Instr &in) {
  return lanes1<uint32_t, T>(c, in, [](T a) -> uint32_t {
    using U = Unsigned<T>;
    U value = static_cast<U>(a);
    if (std::is_signed_v<T> && a < 0)
      value = static_cast<U>(~value);
    if (value == 0)
      return ~0u;
    uint32_t position = 8 * sizeof(T) - 1 - static_cast<uint32_t>(std::countl_zero(value));
    return shift ? 8 * sizeof(T) - 1 - position : position;
  });
}
void buildBfind(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, d.bytes());
  bool shift = d.has("shiftamt");
  d.out.exec = withInteger(d.type(), [&](auto t) -> ExecFn {
    return shift ? ExecFn(bfind<decltype(t), true>) : ExecFn(bfind<decltype(t), false>);
  });
}
template <typename T> Step brev(Context &c, const Instr &in) {
  return lanes1<T, T>(c, in, [](T a) {
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i)
      r = static_cast<T>(r << 1 | (a >> i & 1));
    return r;
  });
}
void buildBrev(Decoder &d, int) {
  simpleOperands(d, 1, d.bytes());
  d.out.exec = d.bytes() == 8 ? ExecFn(brev<uint64_t>) : ExecFn(brev<uint32_t>);
}
/// 9.7.1.19: position and length are the low eight bits; what lies beyond the top is the sign, or 0
/// for unsigned types and empty fields.
template <typename T> Step bfe(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]);
  const uint32_t *b = c.src<uint32_t>(in.s[1]), *e = c.src<uint32_t>(in.s[2]);
  constexpr unsigned bits = 8 * sizeof(T);
  T t[32];
  for (unsigned i = 0; i < 32; ++i) {
    using U = Unsigned<T>;
    unsigned pos = b[i] & 0xff, len = e[i] & 0xff;
    // An arithmetic shift by at most the width less one brings in the sign (or zeros).
    T shifted = static_cast<T>(a[i] >> (pos < bits ? pos : bits - 1));
    if (!std::is_signed_v<T>)
      shifted = pos < bits ? shifted : T(0);
    // Then the field to the top and back, which extends it.
    unsigned rest = len < bits ? bits - len : 0;
    U top = static_cast<U>(static_cast<U>(shifted) << (rest < bits ? rest : bits - 1));
    T field = static_cast<T>(static_cast<T>(top) >> (rest < bits ? rest : bits - 1));
    t[i] = len == 0 ? T(0) : field;
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildBfe(Decoder &d, int) {
  if (!d.expectOperands(4))
    return;
  d.out.d[0] = d.dest(0, d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, 4);
  d.out.s[2] = d.source(3, 4);
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return bfe<decltype(t)>; });
}
template <typename T> Step bfi(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]), *b = c.src<T>(in.s[1]);
  const uint32_t *p = c.src<uint32_t>(in.s[2]), *l = c.src<uint32_t>(in.s[3]);
  constexpr unsigned bits = 8 * sizeof(T);
  T t[32];
  for (unsigned i = 0; i < 32; ++i) {
    unsigned pos = p[i] & 0xff, len = l[i] & 0xff;
    T mask = len >= bits ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << len) - 1);
    mask = pos < bits ? static_cast<T>(mask << pos) : T(0);
    t[i] =
        static_cast<T>((b[i] & ~mask) | ((pos < bits ? static_cast<T>(a[i] << pos) : T(0)) & mask));
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildBfi(Decoder &d, int) {
  if (!d.expectOperands(5))
    return;
  d.out.d[0] = d.dest(0, d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, d.bytes());
  d.out.s[2] = d.source(3, 4);
  d.out.s[3] = d.source(4, 4);
  d.out.exec = d.bytes() == 8 ? ExecFn(bfi<uint64_t>) : ExecFn(bfi<uint32_t>);
}

/// 9.7.1.23: four-way and two-way dot products with accumulate. Variant: 1 if a is signed, 2 if b
/// is.
template <bool signedA, bool signedB> Step dp4a(Context &c, const Instr &in) {
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [](uint32_t a, uint32_t b, uint32_t e) {
        for (unsigned i = 0; i < 4; ++i) {
          int x = signedA ? static_cast<int8_t>(a >> 8 * i) : static_cast<uint8_t>(a >> 8 * i);
          int y = signedB ? static_cast<int8_t>(b >> 8 * i) : static_cast<uint8_t>(b >> 8 * i);
          e += static_cast<uint32_t>(x * y);
        }
        return e;
      });
}
void buildDp4a(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  bool a = ptx::isSigned(d.type(0)), b = ptx::isSigned(d.type(1));
  d.out.exec = a ? (b ? ExecFn(dp4a<true, true>) : ExecFn(dp4a<true, false>))
                 : (b ? ExecFn(dp4a<false, true>) : ExecFn(dp4a<false, false>));
}

/// 9.7.1.24: two 16-bit elements of a by two bytes of b, the lower or the upper ones.
template <bool signedA, bool signedB> Step dp2a(Context &c, const Instr &in) {
  const unsigned first = in.sub ? 16 : 0;
  return lanes3<uint32_t, uint32_t, uint32_t, uint32_t>(
      c, in, [=](uint32_t a, uint32_t b, uint32_t e) {
        for (unsigned i = 0; i < 2; ++i) {
          int x = signedA ? static_cast<int16_t>(a >> 16 * i) : static_cast<uint16_t>(a >> 16 * i);
          uint32_t byte = b >> first >> 8 * i;
          int y = signedB ? static_cast<int8_t>(byte) : static_cast<uint8_t>(byte);
          e += static_cast<uint32_t>(x) * static_cast<uint32_t>(y);
        }
        return e;
      });
}
void buildDp2a(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  bool a = ptx::isSigned(d.type(0)), b = ptx::isSigned(d.type(1));
  d.out.sub = d.has("hi");
  d.out.exec = a ? (b ? ExecFn(dp2a<true, true>) : ExecFn(dp2a<true, false>))
                 : (b ? ExecFn(dp2a<false, true>) : ExecFn(dp2a<false, false>));
}

/// 9.7.1.17: the n-th set bit from a base, upwards or downwards. A base above 31 is undefined; the
/// search then starts outside and finds nothing.
Step fns(Context &c, const Instr &in) {
  return lanes3<uint32_t, uint32_t, uint32_t, int32_t>(
      c, in, [](uint32_t mask, uint32_t base, int32_t offset) -> uint32_t {
        if (base > 31)
          return ~0u;
        if (offset == 0)
          return mask >> base & 1 ? base : ~0u;
        uint32_t left =
            offset > 0 ? static_cast<uint32_t>(offset) : 0u - static_cast<uint32_t>(offset);
        for (int at = static_cast<int>(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
          if (mask >> at & 1 && --left == 0)
            return static_cast<uint32_t>(at);
        return ~0u;
      });
}
void buildFns(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  d.out.exec = fns;
}

/// 9.7.1.21.
template <typename T, bool clamp> Step szext(Context &c, const Instr &in) {
  return lanes2<T, T, uint32_t>(c, in, [](T a, uint32_t b) {
    uint32_t n = b & 31, rest = (32 - n) & 31;
    T field = static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << rest) >> rest);
    field = n == 0 ? T(0) : field;
    return clamp && b >= 32 ? a : field;
  });
}
void buildSzext(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  bool isSigned = ptx::isSigned(d.type());
  d.out.exec = d.has("clamp")
                   ? (isSigned ? ExecFn(szext<int32_t, true>) : ExecFn(szext<uint32_t, true>))
                   : (isSigned ? ExecFn(szext<int32_t, false>) : ExecFn(szext<uint32_t, false>));
}
/// 9.7.1.22: `b` ones from bit `a` on.
template <bool clamp> Step bmsk(Context &c, const Instr &in) {
  return lanes2<uint32_t, uint32_t, uint32_t>(c, in, [](uint32_t a, uint32_t b) {
    uint32_t start = clamp ? (a < 32 ? a : 32) : a & 31, width = clamp ? (b < 32 ? b : 32) : b & 31;
    uint64_t ones = ((uint64_t(1) << width) - 1) << start;
    return static_cast<uint32_t>(ones);
  });
}
void buildBmsk(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = d.has("clamp") ? ExecFn(bmsk<true>) : ExecFn(bmsk<false>);
}

const Form forms[] = {
    {"popc", "b32|b64", buildBitCount<Popc>},
    {"clz", "b32|b64", buildBitCount<Clz>},
    {"bfind", "shiftamt? s32|u32|s64|u64", buildBfind},
    {"brev", "b32|b64", buildBrev},
    {"bfe", "s32|u32|s64|u64", buildBfe},
    {"bfi", "b32|b64", buildBfi},
    {"dp4a", "s32|u32 s32|u32", buildDp4a},
    {"dp2a", "lo|hi s32|u32 s32|u32", buildDp2a},
    {"fns", "b32", buildFns},
    {"szext", "clamp|wrap u32|s32", buildSzext},
    {"bmsk", "clamp|wrap b32", buildBmsk},
};

} // namespace

std::span<const Form> bitForms() { return forms; }

GIRIH_TARGET_END
