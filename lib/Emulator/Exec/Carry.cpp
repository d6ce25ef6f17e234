// Extended-precision integer arithmetic (PTX ISA 9.0, 9.7.2): add.cc, addc, sub.cc, subc, mad.cc,
// madc. The carry flag of a thread is a bit of a predicate register that no name in the program
// stands for (Decoder::conditionSource), so it diverges, and is defined or undefined, as any other.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Carry.cpp"
#include "Emulator/Exec/Targets.h"

#include <type_traits>

GIRIH_TARGET_BEGIN

namespace {

/// d = x + y or x - y, with the flag as carry or borrow in.
template <typename U, bool subtract, bool out>
void addLanes(const Context &c, const Instr &in, const U *x, const U *y, uint32_t carry) {
  U t[32];
  uint8_t flags[32];
  for (unsigned i = 0; i < 32; ++i) {
    U one = carry >> i & 1;
    U a = x[i], b = y[i];
    U first = static_cast<U>(subtract ? a - b : a + b);
    U second = static_cast<U>(subtract ? first - one : first + one);
    t[i] = second;
    flags[i] = subtract ? (a < b) | (first < one) : (first < a) | (second < one);
  }
  storeLanes(c, in.d[0], t);
  if constexpr (out)
    storePred(c, in.d[1], packFlags(flags));
}
template <typename U, bool subtract> Step add(Context &c, const Instr &in) {
  const U *a = c.src<U>(in.s[0]), *b = c.src<U>(in.s[1]);
  uint32_t carry = in.s[2] == kNone ? 0 : c.predSrc(in.s[2]);
  if (in.d[1] == kNone)
    addLanes<U, subtract, false>(c, in, a, b, carry);
  else
    addLanes<U, subtract, true>(c, in, a, b, carry);
  return Step::Next;
}
/// The carry comes from the addition alone.
template <typename T, bool high> Step mad(Context &c, const Instr &in) {
  using U = std::make_unsigned_t<T>;
  using Wide =
      std::conditional_t<sizeof(T) == 8,
                         std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  const T *a = c.src<T>(in.s[0]), *b = c.src<T>(in.s[1]);
  U product[32];
  for (unsigned i = 0; i < 32; ++i) {
    Wide wide = static_cast<Wide>(a[i]) * static_cast<Wide>(b[i]);
    product[i] = static_cast<U>(high ? wide >> (8 * sizeof(T)) : wide);
  }
  uint32_t carry = in.s[3] == kNone ? 0 : c.predSrc(in.s[3]);
  if (in.d[1] == kNone)
    addLanes<U, false, false>(c, in, product, c.src<U>(in.s[2]), carry);
  else
    addLanes<U, false, true>(c, in, product, c.src<U>(in.s[2]), carry);
  return Step::Next;
}

/// Variant: 1 if the flag is read.
void flags(Decoder &d, int variant, int slot) {
  if (variant)
    d.out.s[slot] = d.conditionSource();
  if (d.has("cc"))
    d.out.d[1] = d.conditionDest();
}
template <bool subtract> void buildAdd(Decoder &d, int variant) {
  simpleOperands(d, 2, d.bytes());
  flags(d, variant, 2);
  d.out.exec = d.bytes() == 8   ? ExecFn(add<uint64_t, subtract>)
               : d.bytes() == 4 ? ExecFn(add<uint32_t, subtract>)
                                : ExecFn(add<uint16_t, subtract>);
}
void buildMad(Decoder &d, int variant) {
  simpleOperands(d, 3, d.bytes());
  flags(d, variant, 3);
  bool high = d.has("hi");
  d.out.exec = withInteger(d.type(), [&](auto t) -> ExecFn {
    return high ? ExecFn(mad<decltype(t), true>) : ExecFn(mad<decltype(t), false>);
  });
}

const Form forms[] = {
    {"add", "cc u32|s32|u64|s64", buildAdd<false>, 0},
    {"sub", "cc u32|s32|u64|s64", buildAdd<true>, 0},
    {"addc", "cc u32|s32|u64|s64", buildAdd<false>, 1},
    {"subc", "cc u32|s32|u64|s64", buildAdd<true>, 1},
    {"mad", "cc lo|hi u32|s32|u64|s64", buildMad, 0},
    {"madc", "cc lo|hi u32|s32|u64|s64", buildMad, 1},
    // Without .cc the 16-bit types exist too.
    {"addc", "u16|s16|u32|s32|u64|s64", buildAdd<false>, 1},
    {"subc", "u16|s16|u32|s32|u64|s64", buildAdd<true>, 1},
    {"madc", "lo|hi u16|s16|u32|s32|u64|s64", buildMad, 1},
};

} // namespace

std::span<const Form> carryForms() { return forms; }

GIRIH_TARGET_END
