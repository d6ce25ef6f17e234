// How instructions name memory: the address of each lane, the space it lies in, and what must wait
// for the commit.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_ADDRESS_H
#define GIRIH_EMULATOR_EXEC_ADDRESS_H

#include "Emulator/Exec/Lanes.h"

namespace girih::emu {

/// Lane addresses: base register plus offset.
[[gnu::always_inline]] inline void addresses(const Context &c, const Instr &in, uint64_t *out) {
  if (in.s[0] == kNone) {
    for (unsigned i = 0; i < 32; ++i)
      out[i] = static_cast<uint64_t>(in.imm);
  } else if (in.width == 4) {
    const uint32_t *base = c.src<uint32_t>(in.s[0]);
    for (unsigned i = 0; i < 32; ++i)
      out[i] = static_cast<uint32_t>(base[i] + static_cast<uint32_t>(in.imm));
  } else {
    const uint64_t *base = c.src<uint64_t>(in.s[0]);
    for (unsigned i = 0; i < 32; ++i)
      out[i] = base[i] + static_cast<uint64_t>(in.imm);
  }
}

[[gnu::always_inline]] inline AddressSpace classify(AddressSpace space, uint64_t &address) {
  if (space != AddressSpace::Generic)
    return space;
  uint64_t window = address & ~(kWindowBytes - 1);
  if (window == kSharedWindow) {
    address -= kSharedWindow;
    return AddressSpace::Shared;
  }
  if (window == kLocalWindow) {
    address -= kLocalWindow;
    return AddressSpace::Local;
  }
  if (window == kParamWindow)
    return AddressSpace::Param;
  return AddressSpace::Global;
}

/// Says that an address is no multiple of the access's size.
inline void reportMisaligned(Context &c, unsigned lane, uint64_t address, uint32_t bytes,
                             const char *space, const char *what) {
  Site here = c.cluster.here(c, what, static_cast<int>(lane));
  here.space = space;
  here.address = address;
  here.bytes = bytes;
  c.cluster.fault("misaligned",
                  std::string("the address of a ") + std::to_string(bytes) +
                      "-byte access is not a multiple of " + std::to_string(bytes),
                  {here});
}
/// Reports an address that is no multiple of `bytes`, a power of two.
[[gnu::always_inline]] inline bool misaligned(Context &c, unsigned lane, uint64_t address,
                                              uint32_t bytes, const char *space, const char *what) {
  if ((address & (bytes - 1)) == 0) [[likely]]
    return false;
  reportMisaligned(c, lane, address, bytes, space, what);
  return true;
}

/// How an instruction accesses memory, from its modifiers (PTX ISA 9.0, 8.4, 8.5). Atomics without
/// a word are relaxed, at the scope of the device; volatile is relaxed at the scope of the system.
inline uint16_t accessFlags(const Decoder &d, bool writes, bool atomic) {
  uint16_t flags = writes ? kAccessWrite : 0;
  if (d.has("volatile"))
    return flags | kAccessStrong | kAccessVolatile | accessScope(Scope::Sys);
  const bool both = d.has("acq_rel"), acquires = both || d.has("acquire"),
             releases = both || d.has("release");
  if (atomic)
    flags |= kAccessAtomic;
  else if (!acquires && !releases && !d.has("relaxed"))
    return flags;
  flags |= kAccessStrong;
  if (acquires)
    flags |= kAccessAcquire;
  if (releases)
    flags |= kAccessRelease;
  return flags | accessScope(d.has("cta")       ? Scope::Cta
                             : d.has("cluster") ? Scope::Cluster
                             : d.has("sys")     ? Scope::Sys
                                                : Scope::Gpu);
}

/// Puts the instruction off until the commit if a lane of it touches global memory.
inline bool mustOrder(Context &c, const Instr &in, const uint64_t *address) {
  if (c.committing)
    return false;
  if (in.space == AddressSpace::Global)
    return true;
  if (in.space != AddressSpace::Generic)
    return false;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    uint64_t a = address[__builtin_ctz(m)];
    if (classify(AddressSpace::Generic, a) == AddressSpace::Global)
      return true;
  }
  return false;
}
inline Step order(Context &c) {
  c.frag().wait = Wait::Ordered;
  return Step::Block;
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_ADDRESS_H
