// Integer arithmetic (PTX ISA 9.0, 9.7.1; bit operations and dot products are in Bits.cpp, carry
// chains in Carry.cpp).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Arithmetic.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Units/FloatBits.h"

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
GIRIH_INLINE int32_t clampToInt(int64_t v) {
  return static_cast<int32_t>(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
struct AddSat {
  template <typename T> static T run(T a, T b) {
    return static_cast<T>(clampToInt(int64_t(a) + int64_t(b)));
  }
};
struct SubSat {
  template <typename T> static T run(T a, T b) {
    return static_cast<T>(clampToInt(int64_t(a) - int64_t(b)));
  }
};
/// .relu: negative results become 0.
template <typename Op> struct Relu {
  template <typename T> static T run(T a, T b) {
    T r = Op::template run<T>(a, b);
    return r < 0 ? T(0) : r;
  }
};
/// 24 bits of each operand (9.7.1.5).
template <typename T> GIRIH_INLINE int64_t product24(T a, T b) {
  auto part = [](T v) -> int64_t {
    auto top = static_cast<T>(static_cast<uint32_t>(v) << 8);
    return top >> 8;
  };
  return part(a) * part(b);
}
struct Mul24Lo {
  template <typename T> static T run(T a, T b) { return static_cast<T>(product24(a, b)); }
};
struct Mul24Hi {
  template <typename T> static T run(T a, T b) { return static_cast<T>(product24(a, b) >> 16); }
};

template <typename Op, typename T> Step binary(Context &c, const Instr &in) {
  return lanes2<T, T, T>(c, in, [](T a, T b) { return Op::template run<T>(a, b); });
}
template <typename Op> void buildBinary(Decoder &d, int) {
  simpleOperands(d, 2, d.bytes());
  d.out.exec = withInteger(d.type(), [](auto t) -> ExecFn { return binary<Op, decltype(t)>; });
}

/// Two 16-bit elements of a 32-bit register at a time: 64 in a row, as bytes lie in memory.
template <typename Op, typename T> Step packed(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]), *b = c.src<T>(in.s[1]);
  T t[64];
  for (unsigned i = 0; i < 64; ++i)
    t[i] = Op::template run<T>(a[i], b[i]);
  uint32_t words[32];
  std::memcpy(words, t, sizeof(words));
  storeLanes(c, in.d[0], words);
  return Step::Next;
}
template <typename Op> void buildPacked(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = d.type() == Type::S16x2 ? ExecFn(packed<Op, int16_t>) : ExecFn(packed<Op, uint16_t>);
}
template <typename Op> void buildPackedSigned(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = packed<Op, int16_t>;
}
template <typename Op> void buildSigned32(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = binary<Op, int32_t>;
}
template <typename Op> void build24(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.exec = d.type() == Type::S32 ? ExecFn(binary<Op, int32_t>) : ExecFn(binary<Op, uint32_t>);
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
/// mad with the sum saturated: exists for signed upper halves alone.
template <typename Op> Step madSat(Context &c, const Instr &in) {
  return lanes3<int32_t, int32_t, int32_t, int32_t>(c, in, [](int32_t a, int32_t b, int32_t e) {
    return AddSat::run<int32_t>(Op::template run<int32_t>(a, b), e);
  });
}
template <typename Op> void buildMadSat(Decoder &d, int) {
  simpleOperands(d, 3, 4);
  d.out.exec = madSat<Op>;
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

constexpr char kAll[] = "s16|u16|s32|u32|s64|u64";
const Form forms[] = {
    {"add", kAll, buildBinary<Add>},
    {"add", "sat s32", buildSigned32<AddSat>},
    {"sub", kAll, buildBinary<Sub>},
    {"sub", "sat s32", buildSigned32<SubSat>},
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
    {"add", "u16x2|s16x2", buildPacked<Add>},
    {"min", "u16x2|s16x2", buildPacked<Min>},
    {"max", "u16x2|s16x2", buildPacked<Max>},
    {"min", "relu s16x2", buildPackedSigned<Relu<Min>>},
    {"max", "relu s16x2", buildPackedSigned<Relu<Max>>},
    {"min", "relu s32", buildSigned32<Relu<Min>>},
    {"max", "relu s32", buildSigned32<Relu<Max>>},
    {"mul24", "lo u32|s32", build24<Mul24Lo>},
    {"mul24", "hi u32|s32", build24<Mul24Hi>},
    {"mad24", "lo u32|s32", buildMad<Mul24Lo>},
    {"mad24", "hi u32|s32", buildMad<Mul24Hi>},
    {"mad24", "hi sat s32", buildMadSat<Mul24Hi>},
    {"mad", "hi sat s32", buildMadSat<MulHi>},
    {"neg", "s16|s32|s64", buildUnary<Neg>},
    {"abs", "s16|s32|s64", buildUnary<Abs>},
};

} // namespace

std::span<const Form> arithmeticForms() { return forms; }

GIRIH_TARGET_END
