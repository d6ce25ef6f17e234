// Data movement between registers (PTX ISA 9.0, 9.7.9.3 and 9.7.9.4 "mov", 9.7.9.12 "mapa").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/Move.cpp"
#include "Emulator/Exec/Targets.h"

GIRIH_TARGET_BEGIN

namespace {

using ptx::OperandKind;
using ptx::Type;
/// A .b128 register.
using Wide = unsigned __int128;

template <typename T> Step move(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]);
  T t[32];
  std::memcpy(t, a, sizeof(t));
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
Step movePred(Context &c, const Instr &in) {
  storePred(c, in.d[0], c.predSrc(in.s[0]) ^ (in.sub & 1 ? ~0u : 0u));
  return Step::Next;
}
/// d = {a, b[, c, d]}, low element first. Elements of 8 bits lie in 16-bit registers.
template <typename D, typename S, unsigned Bits = 8 * sizeof(S)>
Step pack(Context &c, const Instr &in) {
  D t[32] = {};
  for (uint32_t e = 0; e < in.listCount; ++e) {
    const S *a = c.src<S>(c.cluster.kernel.lists[in.list + e]);
    for (unsigned i = 0; i < 32; ++i) {
      D element = static_cast<D>(a[i]);
      if constexpr (Bits < 8 * sizeof(S))
        element &= (D(1) << Bits) - 1;
      t[i] |= static_cast<D>(element << (Bits * e));
    }
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
template <typename S, typename D, unsigned Bits = 8 * sizeof(D)>
Step unpack(Context &c, const Instr &in) {
  S a[32];
  std::memcpy(a, c.src<S>(in.s[0]), sizeof(a));
  for (uint32_t e = 0; e < in.listCount; ++e) {
    D t[32];
    for (unsigned i = 0; i < 32; ++i) {
      t[i] = static_cast<D>(a[i] >> (Bits * e));
      if constexpr (Bits < 8 * sizeof(D))
        t[i] &= (D(1) << Bits) - 1;
    }
    storeLanes(c, c.cluster.kernel.lists[in.list + e], t);
  }
  return Step::Next;
}
/// How many bits (9.7.9.3) a value of `width` bytes has in each of `count` elements; nullptr where
/// that is no form of mov.
ExecFn splitter(unsigned width, unsigned part, bool packs) {
  switch (width << 8 | part) {
  case 0x201:
    return packs ? ExecFn(pack<uint16_t, uint16_t, 8>) : ExecFn(unpack<uint16_t, uint16_t, 8>);
  case 0x401:
    return packs ? ExecFn(pack<uint32_t, uint16_t, 8>) : ExecFn(unpack<uint32_t, uint16_t, 8>);
  case 0x402:
    return packs ? ExecFn(pack<uint32_t, uint16_t>) : ExecFn(unpack<uint32_t, uint16_t>);
  case 0x802:
    return packs ? ExecFn(pack<uint64_t, uint16_t>) : ExecFn(unpack<uint64_t, uint16_t>);
  case 0x804:
    return packs ? ExecFn(pack<uint64_t, uint32_t>) : ExecFn(unpack<uint64_t, uint32_t>);
  case 0x1004:
    return packs ? ExecFn(pack<Wide, uint32_t>) : ExecFn(unpack<Wide, uint32_t>);
  case 0x1008:
    return packs ? ExecFn(pack<Wide, uint64_t>) : ExecFn(unpack<Wide, uint64_t>);
  default:
    return nullptr;
  }
}
void buildMov(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  const ptx::Operand &to = d.operand(0), &from = d.operand(1);
  if (d.type() == Type::Pred) {
    bool negated = false;
    d.out.d[0] = d.predDest(to);
    d.out.s[0] = d.predSource(from, negated);
    d.out.sub = negated;
    d.out.exec = movePred;
    return;
  }
  unsigned width = d.bytes();
  d.out.width = static_cast<uint8_t>(width);
  if (to.kind == OperandKind::Vector || from.kind == OperandKind::Vector) {
    const ptx::Operand &vector = to.kind == OperandKind::Vector ? to : from;
    unsigned count = static_cast<unsigned>(vector.elements.size());
    const bool packs = &vector == &from;
    unsigned part = count ? width / count : 0;
    d.out.exec = width % std::max(1u, count) == 0 ? splitter(width, part, packs) : nullptr;
    if (!d.out.exec)
      return d.fail("a vector of " + std::to_string(count) + " elements in " +
                    std::to_string(8 * width) + " bits");
    unsigned registers = std::max(2u, part);
    d.listStart();
    if (packs) {
      d.out.d[0] = d.dest(to, width);
      for (const ptx::Operand &e : vector.elements)
        d.listAdd(d.source(e, registers));
    } else {
      d.out.s[0] = d.source(from, width);
      for (const ptx::Operand &e : vector.elements)
        d.listAdd(d.dest(e, registers));
      d.out.sub |= 0x80;
    }
    return;
  }
  d.out.d[0] = d.dest(to, width);
  d.out.s[0] = d.source(from, width);
  d.out.flags |= kPlainMove;
  d.out.exec = width == 2   ? ExecFn(move<uint16_t>)
               : width == 4 ? ExecFn(move<uint32_t>)
               : width == 8 ? ExecFn(move<uint64_t>)
                            : ExecFn(move<Wide>);
}

/// The address of a variable of this CTA in another CTA of the cluster.
template <typename T> Step mapa(Context &c, const Instr &in) {
  const bool generic = in.sub;
  const T *a = c.src<T>(in.s[0]);
  const uint32_t *rank = c.src<uint32_t>(in.s[1]);
  T t[32];
  for (unsigned i = 0; i < 32; ++i) {
    T offset = a[i] & ((T(1) << kRankShift) - 1);
    T target = static_cast<T>(static_cast<T>(rank[i] + 1) << kRankShift | offset);
    t[i] = generic ? static_cast<T>(target | static_cast<T>(kSharedWindow)) : target;
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildMapa(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  unsigned width = d.bytes();
  d.out.sub = !d.has("shared::cluster");
  d.out.d[0] = d.dest(0, width);
  d.out.s[0] = d.source(1, width);
  d.out.s[1] = d.source(2, 4);
  d.out.exec = width == 8 ? ExecFn(mapa<uint64_t>) : ExecFn(mapa<uint32_t>);
}
template <typename T> Step getctarank(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]);
  uint32_t t[32];
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t field = static_cast<uint32_t>(a[i]) >> kRankShift;
    t[i] = field ? field - 1 : c.cta.rank;
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildGetctarank(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  unsigned width = d.bytes();
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, width);
  d.out.exec = width == 8 ? ExecFn(getctarank<uint64_t>) : ExecFn(getctarank<uint32_t>);
}

const Form forms[] = {
    {"mov", "pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", buildMov},
    {"mapa", "shared::cluster? u32|u64", buildMapa},
    {"getctarank", "shared::cluster? u32|u64", buildGetctarank},
};

} // namespace

std::span<const Form> moveForms() { return forms; }

GIRIH_TARGET_END
