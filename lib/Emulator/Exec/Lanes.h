// The loops over the 32 lanes of a warp that most instructions are. Results go through a local
// array, so that the compiler needs to prove nothing about aliasing to vectorise, and are stored
// whole or under the mask. They are always inlined: the caller's instruction set is theirs
// (Exec/Targets.h).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_LANES_H
#define GIRIH_EMULATOR_EXEC_LANES_H

#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/Decoder.h"

#include <bit>
#include <cstring>

namespace girih::emu {

template <typename T>
[[gnu::always_inline]] inline void storeLanes(const Context &c, int32_t destination,
                                              const T *values) {
  T *d = c.dst<T>(destination);
  if (c.mask == kFullMask) {
    std::memcpy(d, values, 32 * sizeof(T));
    return;
  }
  for (unsigned i = 0; i < 32; ++i)
    d[i] = c.mask >> i & 1 ? values[i] : d[i];
}
inline void storePred(const Context &c, int32_t destination, uint32_t bits) {
  uint32_t &d = c.pred(destination);
  d = (d & ~c.mask) | (bits & c.mask);
}
/// Lane flags to a mask. `flags[i]` is 0 or 1.
inline uint32_t packFlags(const uint8_t *flags) {
  uint32_t bits = 0;
  for (unsigned i = 0; i < 32; i += 8) {
    uint64_t word;
    std::memcpy(&word, flags + i, 8);
    bits |= static_cast<uint32_t>((word * 0x0102040810204080u) >> 56) << i;
  }
  return bits;
}

template <typename D, typename A, typename F>
[[gnu::always_inline]] inline Step lanes1(Context &c, const Instr &in, F f) {
  const A *a = c.src<A>(in.s[0]);
  D t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = f(a[i]);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <typename D, typename A, typename B, typename F>
[[gnu::always_inline]] inline Step lanes2(Context &c, const Instr &in, F f) {
  const A *a = c.src<A>(in.s[0]);
  const B *b = c.src<B>(in.s[1]);
  D t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = f(a[i], b[i]);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <typename D, typename A, typename B, typename C, typename F>
[[gnu::always_inline]] inline Step lanes3(Context &c, const Instr &in, F f) {
  const A *a = c.src<A>(in.s[0]);
  const B *b = c.src<B>(in.s[1]);
  const C *e = c.src<C>(in.s[2]);
  D t[32];
  for (unsigned i = 0; i < 32; ++i)
    t[i] = f(a[i], b[i], e[i]);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}

/// The C++ type of a register of a PTX integer type, as a template argument to `f`.
template <typename F> auto withInteger(ptx::Type type, F f) {
  using ptx::Type;
  switch (type) {
  case Type::U16:
  case Type::B16:
    return f(uint16_t());
  case Type::S16:
    return f(int16_t());
  case Type::S32:
    return f(int32_t());
  case Type::U64:
  case Type::B64:
    return f(uint64_t());
  case Type::S64:
    return f(int64_t());
  default:
    return f(uint32_t());
  }
}

/// Operands d, a[, b[, c]] of one width.
inline void simpleOperands(Decoder &d, unsigned count, unsigned width) {
  if (!d.expectOperands(count + 1))
    return;
  d.out.d[0] = d.dest(0, width);
  for (unsigned i = 0; i < count; ++i)
    d.out.s[i] = d.source(i + 1, width);
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_LANES_H
