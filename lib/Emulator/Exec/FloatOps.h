// What the floating-point families share: modifiers and NaN rules of PTX (ISA 9.0, 9.7.3 and
// 9.7.4), one value each and always inlined.
//
// NaN results of binary32, binary16 and bfloat16 arithmetic are the canonical NaN, whatever the
// host would give; binary64 passes the payload of its first NaN operand on, as the ISA says.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_FLOATOPS_H
#define GIRIH_EMULATOR_EXEC_FLOATOPS_H

#include "Emulator/Exec/Lanes.h"
#include "Emulator/Units/FloatBits.h"

namespace girih::emu {

/// Bits of Instr::sub in the floating-point families.
enum FloatModifier : uint8_t { kFtz = 1, kSat = 2, kRelu = 4, kOob = 8, kNan = 16, kXorsign = 32 };

inline uint8_t floatModifiers(Decoder &d) {
  return static_cast<uint8_t>((d.has("ftz") ? kFtz : 0) | (d.has("sat") ? kSat : 0) |
                              (d.has("relu") ? kRelu : 0) | (d.has("oob") ? kOob : 0) |
                              (d.has("NaN") ? kNan : 0) | (d.has("xorsign") ? kXorsign : 0));
}

/// Subnormals to zero of the same sign. By bits, so that the loop vectorises.
GIRIH_INLINE float flush(float v) {
  uint32_t code = std::bit_cast<uint32_t>(v);
  return std::bit_cast<float>((code & 0x7f800000u) == 0 ? code & 0x80000000u : code);
}
GIRIH_INLINE double flush(double v) { return v; } // .ftz is about binary32 alone

/// To [0, 1]; NaN becomes +0.
template <typename T> GIRIH_INLINE T saturate(T v) {
  return v > T(0) ? (v < T(1) ? v : T(1)) : T(0);
}
GIRIH_INLINE float canonical(float v) { return v == v ? v : std::bit_cast<float>(0x7fffffffu); }

GIRIH_INLINE double quiet(double v) {
  return std::bit_cast<double>(bits::of(v) | 0x0008000000000000u);
}
/// The NaN that an invalid binary64 operation makes.
constexpr uint64_t kIndefinite64 = 0xfff8000000000000u;
GIRIH_INLINE double payload(double r, double a, double b) {
  double nan = a != a ? quiet(a) : b != b ? quiet(b) : std::bit_cast<double>(kIndefinite64);
  return r == r ? r : nan;
}
GIRIH_INLINE double payload(double r, double a, double b, double c) {
  double nan = a != a   ? quiet(a)
               : b != b ? quiet(b)
               : c != c ? quiet(c)
                        : std::bit_cast<double>(kIndefinite64);
  return r == r ? r : nan;
}
GIRIH_INLINE float payload(float r, float, float) { return canonical(r); }
GIRIH_INLINE float payload(float r, float, float, float) { return canonical(r); }

/// What TMA fills elements beyond a tensor's edge with in its NaN mode (Units/TmaBox.cpp).
constexpr uint16_t kOobNan = 0x7fff;

// The 16-bit formats. They compute in binary32, whose excess of bits makes the second rounding
// harmless for add, sub and mul (24 >= 2 * 11 + 2).
struct Half {
  static constexpr uint16_t kOne = 0x3c00, kExponent = 0x7c00;
  GIRIH_INLINE static float load(uint16_t v) { return std::bit_cast<float>(bits::widenF16(v)); }
  template <Rounding r = Rounding::NearestEven> GIRIH_INLINE static uint16_t store(float v) {
    return static_cast<uint16_t>(bits::narrowF16<r>(bits::of(v)));
  }
  GIRIH_INLINE static uint16_t flush(uint16_t v) {
    return static_cast<uint16_t>((v & kExponent) == 0 ? v & 0x8000 : v);
  }
};
struct Brain {
  static constexpr uint16_t kOne = 0x3f80, kExponent = 0x7f80;
  GIRIH_INLINE static float load(uint16_t v) {
    return std::bit_cast<float>(static_cast<uint32_t>(v) << 16);
  }
  template <Rounding r = Rounding::NearestEven> GIRIH_INLINE static uint16_t store(float v) {
    return static_cast<uint16_t>(bits::narrowBf16<r>(bits::of(v)));
  }
  GIRIH_INLINE static uint16_t flush(uint16_t v) {
    return static_cast<uint16_t>((v & kExponent) == 0 ? v & 0x8000 : v);
  }
};

/// Loops over the 16-bit elements of a register: 32, or 64 for the packed types. A packed register
/// is 64 elements in a row, as bytes lie in memory.
template <unsigned N>
GIRIH_INLINE void storeHalves(const Context &c, int32_t to, const uint16_t *t) {
  if constexpr (N == 64) {
    uint32_t words[32];
    std::memcpy(words, t, sizeof(words));
    storeLanes(c, to, words);
  } else {
    storeLanes(c, to, t);
  }
}
template <unsigned N, typename F> GIRIH_INLINE Step halves1(Context &c, const Instr &in, F f) {
  const uint16_t *a = c.src<uint16_t>(in.s[0]);
  uint16_t t[N];
  for (unsigned i = 0; i < N; ++i)
    t[i] = f(a[i]);
  storeHalves<N>(c, in.d[0], t);
  return Step::Next;
}
template <unsigned N, typename F> GIRIH_INLINE Step halves2(Context &c, const Instr &in, F f) {
  const uint16_t *a = c.src<uint16_t>(in.s[0]), *b = c.src<uint16_t>(in.s[1]);
  uint16_t t[N];
  for (unsigned i = 0; i < N; ++i)
    t[i] = f(a[i], b[i]);
  storeHalves<N>(c, in.d[0], t);
  return Step::Next;
}
template <unsigned N, typename F> GIRIH_INLINE Step halves3(Context &c, const Instr &in, F f) {
  const uint16_t *a = c.src<uint16_t>(in.s[0]), *b = c.src<uint16_t>(in.s[1]),
                 *e = c.src<uint16_t>(in.s[2]);
  uint16_t t[N];
  for (unsigned i = 0; i < N; ++i)
    t[i] = f(a[i], b[i], e[i]);
  storeHalves<N>(c, in.d[0], t);
  return Step::Next;
}

/// `f(format, count)` for a 16-bit type: count is std::integral_constant, 32 or 64.
template <typename F> ExecFn withHalf(ptx::Type type, F f) {
  using ptx::Type;
  switch (type) {
  case Type::F16x2:
    return f(Half(), std::integral_constant<unsigned, 64>());
  case Type::BF16:
    return f(Brain(), std::integral_constant<unsigned, 32>());
  case Type::BF16x2:
    return f(Brain(), std::integral_constant<unsigned, 64>());
  default:
    return f(Half(), std::integral_constant<unsigned, 32>());
  }
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_FLOATOPS_H
