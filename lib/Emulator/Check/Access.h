// What the checks know about one access to memory.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_ACCESS_H
#define GIRIH_EMULATOR_CHECK_ACCESS_H

#include "Emulator/Check/Clock.h"

namespace girih::emu {

/// Which unit accesses. Those after CpAsync use the asynchronous proxy (PTX ISA 9.0, 8.4).
enum class AccessKind : uint8_t { Generic, CpAsync, TmaLoad, TmaStore, TmaReduce, Wgmma, StAsync };
const char *accessName(AccessKind kind, bool write);
inline bool asyncProxy(AccessKind kind) { return kind > AccessKind::CpAsync; }

/// Which threads a strong operation can order (8.5).
enum class Scope : uint8_t { Cta, Cluster, Gpu, Sys };

/// How an instruction accesses memory, as bits that fit into a decoded instruction.
enum AccessFlag : uint16_t {
  kAccessWrite = 1,
  kAccessStrong = 2,  ///< relaxed, volatile or atomic, with or without acquire and release (8.4)
  kAccessAtomic = 4,  ///< reads and writes in one
  kAccessAcquire = 8, ///< ld.acquire, atom.acquire, atom.acq_rel
  kAccessRelease = 16,
  kAccessVolatile = 32,
  kAccessScopeShift = 6,  ///< a Scope in two bits
  kAccessUnchanged = 256, ///< an ordinary store of the bytes that were there
};
inline uint16_t accessScope(Scope scope) {
  return static_cast<uint16_t>(static_cast<unsigned>(scope) << kAccessScopeShift);
}
inline Scope scopeOf(uint16_t flags) { return static_cast<Scope>(flags >> kAccessScopeShift & 3); }

/// One recorded access, 16 bytes. clock 0: before everything.
///
/// Which lane accessed which byte: byte x of a cell that starts at C belongs to lane
/// (lane + ((x - C) >> shift)) mod 64, or, where shift is kOneLane, all to `lane`.
struct Epoch {
  uint32_t clock = 0;
  uint32_t cluster = 0;
  uint64_t agent : 16 = 0;
  uint64_t rank : 4 = 0;
  uint64_t warp : 5 = 0;
  uint64_t lane : 6 = kWhole;
  uint64_t shift : 3 = kOneLane;
  uint64_t kindBits : 3 = 0;
  uint64_t strong : 1 = 0;
  uint64_t scopeBits : 2 = 0;
  uint64_t atomic : 1 = 0;
  uint64_t pc : 23 = 0;

  static constexpr unsigned kOneLane = 7;
  static constexpr unsigned kMany = 62;  ///< several lanes access the same bytes
  static constexpr unsigned kWhole = 63; ///< a warp as a whole, or an asynchronous unit
  AccessKind kind() const { return static_cast<AccessKind>(kindBits); }
  Scope scope() const { return static_cast<Scope>(scopeBits); }
  bool operator==(const Epoch &other) const {
    uint64_t mine[2], theirs[2];
    __builtin_memcpy(mine, this, sizeof(mine));
    __builtin_memcpy(theirs, &other, sizeof(theirs));
    return ((mine[0] ^ theirs[0]) | (mine[1] ^ theirs[1])) == 0;
  }
  /// The same access as seen from a cell that starts `bytes` further on.
  Epoch movedBy(int64_t bytes) const {
    Epoch e = *this;
    if (shift != kOneLane)
      e.lane = static_cast<uint64_t>(static_cast<int64_t>(lane) + (bytes >> shift)) & 63;
    return e;
  }
  /// -1: none in particular. `offset` is from the start of the cell.
  int laneAt(uint32_t offset) const {
    unsigned l = shift == kOneLane ? lane : (lane + (offset >> shift)) & 63;
    return l < 32 ? static_cast<int>(l) : -1;
  }
};
static_assert(sizeof(Epoch) == 16);

/// Up to which of its clock the lanes of a warp know of each other's accesses, by pairs. Kept only
/// for warps that synchronise parts of themselves.
struct LaneClocks {
  uint32_t seen[32][32] = {};
};

/// Who accesses, as of when.
struct Accessor {
  AgentId agent = 0;
  uint32_t clock = 0;
  const Order *order = nullptr;
  AccessKind kind = AccessKind::Generic;
  uint32_t pc = 0;
  int warp = -1; ///< -1: none in particular
  int lane = -1; ///< first lane; -1: the warp as a whole, or an asynchronous unit
  uint32_t cluster = 0, rank = 0;
  /// Bytes of each lane, in a run of several; 0: all lanes access all bytes, or `lane` alone does.
  uint32_t laneBytes = 0;
  bool manyLanes = false;
  uint16_t flags = 0; ///< AccessFlag
  /// Clock of the warp up to which its lanes know of each other's accesses.
  uint32_t synced = 0;
  const LaneClocks *lanes = nullptr;
};

/// The access as it is remembered.
Epoch epochOf(const Accessor &who);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_ACCESS_H
