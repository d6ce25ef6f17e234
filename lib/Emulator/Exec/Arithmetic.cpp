// Integer arithmetic and bit operations (PTX ISA 9.0, 9.7.1 "Integer Arithmetic Instructions").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Arithmetic.cpp"
#include "Emulator/Exec/Targets.h"

#include <limits>
#include <type_traits>

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

template <typename T> using Unsigned = std::make_unsigned_t<T>;
/// Wide enough that no intermediate result is of promoted `int` and overflows.
template <typename T> using Word = std::conditional_t<sizeof(T) < 4, uint32_t, Unsigned<T>>;

struct Add {
  template <typename T> static T run(T a, T b) { return static_cast<T>(Word<T>(a) + Word<T>(b)); }
};
struct Sub {
  template <typename T> static T run(T a, T b) { return static_cast<T>(Word<T>(a) - Word<T>(b)); }
};
struct MulLo {
  template <typename T> static T run(T a, T b) { return static_cast<T>(Word<T>(a) * Word<T>(b)); }
};
struct MulHi {
  template <typename T> static T run(T a, T b) {
    if constexpr (sizeof(T) == 8) {
      using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
      return static_cast<T>((static_cast<Wide>(a) * b) >> 64);
    } else {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
    }
  }
};
// Division by zero gives an unspecified value (9.7.1.8): all ones, as the hardware's sequence does.
struct Div {
  template <typename T> static T run(T a, T b) {
    if (b == 0)
      return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return static_cast<T>(0 - Word<T>(a));
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <typename T> static T run(T a, T b) {
    if (b == 0)
      return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <typename T> static T run(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <typename T> static T run(T a, T b) { return a > b ? a : b; }
};
struct AddSat {
  template <typename T> static T run(T a, T b) {
    int64_t r = int64_t(a) + int64_t(b);
    return static_cast<T>(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
  }
};
struct SubSat {
  template <typename T> static T run(T a, T b) {
    int64_t r = int64_t(a) - int64_t(b);
    return static_cast<T>(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r);
  }
};

template <typename Op, typename T> Step binary(Context &c, const Instr &in) {
  return lanes2<T, T, T>(c, in, [](T a, T b) { return Op::template run<T>(a, b); });
}
template <typename Op> void buildBinary(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return binary<Op, decltype(t)>; });
}

struct Neg {
  template <typename T> static T run(T a) { return static_cast<T>(0 - Word<T>(a)); }
};
struct Abs {
  template <typename T> static T run(T a) { return a < 0 ? static_cast<T>(0 - Word<T>(a)) : a; }
};
template <typename Op, typename T> Step unary(Context &c, const Instr &in) {
  return lanes1<T, T>(c, in, [](T a) { return Op::template run<T>(a); });
}
template <typename Op> void buildUnary(Decoder &d, int) {
  simpleOperands(d, 1, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return unary<Op, decltype(t)>; });
}

template <typename T>
using Twice =
    std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 2, int32_t, int64_t>,
                       std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t>>;
template <typename T> Step mulWide(Context &c, const Instr &in) {
  return lanes2<Twice<T>, T, T>(
      c, in, [](T a, T b) { return static_cast<Twice<T>>(Twice<T>(a) * Twice<T>(b)); });
}
template <typename T> Step madWide(Context &c, const Instr &in) {
  using W = Twice<T>;
  return lanes3<W, T, T, W>(c, in, [](T a, T b, W e) {
    return static_cast<W>(Unsigned<W>(W(a) * W(b)) + Unsigned<W>(e));
  });
}
template <typename F> ExecFn withNarrow(Type type, F f) {
  switch (type) {
  case Type::U16:
    return f(uint16_t());
  case Type::S16:
    return f(int16_t());
  case Type::S32:
    return f(int32_t());
  default:
    return f(uint32_t());
  }
}
void buildMulWide(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  d.out.d[0] = d.dest(0, 2 * d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, d.bytes());
  d.out.exec = withNarrow(d.type(), [](auto t) -> ExecFn { return mulWide<decltype(t)>; });
}
void buildMadWide(Decoder &d, int) {
  if (!d.expectOperands(4))
    return;
  d.out.d[0] = d.dest(0, 2 * d.bytes());
  d.out.s[0] = d.source(1, d.bytes());
  d.out.s[1] = d.source(2, d.bytes());
  d.out.s[2] = d.source(3, 2 * d.bytes());
  d.out.exec = withNarrow(d.type(), [](auto t) -> ExecFn { return madWide<decltype(t)>; });
}
template <typename Op, typename T> Step mad(Context &c, const Instr &in) {
  return lanes3<T, T, T, T>(
      c, in, [](T a, T b, T e) { return Add::run<T>(Op::template run<T>(a, b), e); });
}
template <typename Op> void buildMad(Decoder &d, int) {
  simpleOperands(d, 3, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return mad<Op, decltype(t)>; });
}
template <typename T> Step sad(Context &c, const Instr &in) {
  return lanes3<T, T, T, T>(c, in, [](T a, T b, T e) {
    return Add::run<T>(e, a < b ? Sub::run<T>(b, a) : Sub::run<T>(a, b));
  });
}
void buildSad(Decoder &d, int) {
  simpleOperands(d, 3, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return sad<decltype(t)>; });
}

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
/// 9.7.1.18: the position of the most significant bit that differs from the sign (or is one), or
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
/// 9.7.1.20: position and length are the low eight bits.
template <typename T> Step bfe(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]);
  const uint32_t *b = c.src<uint32_t>(in.s[1]), *e = c.src<uint32_t>(in.s[2]);
  constexpr unsigned bits = 8 * sizeof(T);
  T t[32];
  for (unsigned i = 0; i < 32; ++i) {
    using U = Unsigned<T>;
    unsigned pos = b[i] & 0xff, len = e[i] & 0xff;
    U value = pos < bits ? static_cast<U>(a[i]) >> pos : 0;
    U mask = len >= bits ? static_cast<U>(~U(0)) : static_cast<U>((U(1) << len) - 1);
    U result = static_cast<U>(value & mask);
    if (std::is_signed_v<T> && len) {
      unsigned top = std::min(pos + len - 1, bits - 1);
      if (static_cast<U>(a[i]) >> top & 1)
        result |=
            static_cast<U>(~(pos + len >= bits && pos < bits ? (static_cast<U>(~U(0)) >> pos) & mask
                             : pos < bits                    ? mask
                                                             : U(0)));
    }
    t[i] = static_cast<T>(result);
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

constexpr char kAll[] = "s16|u16|s32|u32|s64|u64";
const Form forms[] = {
    {"add", kAll, buildBinary<Add>},
    {"add", "sat s32", buildBinary<AddSat>},
    {"sub", kAll, buildBinary<Sub>},
    {"sub", "sat s32", buildBinary<SubSat>},
    {"mul", "lo s16|u16|s32|u32|s64|u64", buildBinary<MulLo>},
    {"mul", "hi s16|u16|s32|u32|s64|u64", buildBinary<MulHi>},
    {"mul", "wide s16|u16|s32|u32", buildMulWide},
    {"mad", "lo s16|u16|s32|u32|s64|u64", buildMad<MulLo>},
    {"mad", "hi s16|u16|s32|u32|s64|u64", buildMad<MulHi>},
    {"mad", "wide s16|u16|s32|u32", buildMadWide},
    {"sad", kAll, buildSad},
    {"div", kAll, buildBinary<Div>},
    {"rem", kAll, buildBinary<Rem>},
    {"min", kAll, buildBinary<Min>},
    {"max", kAll, buildBinary<Max>},
    {"neg", "s16|s32|s64", buildUnary<Neg>},
    {"abs", "s16|s32|s64", buildUnary<Abs>},
    {"popc", "b32|b64", buildBitCount<Popc>},
    {"clz", "b32|b64", buildBitCount<Clz>},
    {"bfind", "shiftamt? s32|u32|s64|u64", buildBfind},
    {"brev", "b32|b64", buildBrev},
    {"bfe", "s32|u32|s64|u64", buildBfe},
    {"bfi", "b32|b64", buildBfi},
    {"dp4a", "s32|u32 s32|u32", buildDp4a},
};

} // namespace

std::span<const Form> arithmeticForms() { return forms; }

GIRIH_TARGET_END
