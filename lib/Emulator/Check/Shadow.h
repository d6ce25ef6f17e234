// Shadow of a CTA's shared memory: for every byte the last write and the reads since, as (agent,
// clock).
//
// One cell covers 16 bytes while they share a history, which TMA, wgmma, stmatrix and 16-byte
// accesses keep true; a smaller access splits the cell into sixteen. An access is a race if the
// accessor's clock has not seen the epoch that it conflicts with.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_SHADOW_H
#define GIRIH_EMULATOR_CHECK_SHADOW_H

#include "Emulator/Check/Clock.h"

#include <array>
#include <deque>

namespace girih::emu {

enum class AccessKind : uint8_t { Generic, TmaLoad, TmaStore, Wgmma };
const char *accessName(AccessKind kind, bool write);

/// Who accesses, as of when.
struct Accessor {
  AgentId agent = 0;
  uint32_t clock = 0;
  const Order *order = nullptr;
  AccessKind kind = AccessKind::Generic;
  uint32_t pc = 0;
  int warp = -1; ///< -1: none in particular
  int lane = -1;
};

/// One recorded access, 12 bytes. clock 0: none.
struct Epoch {
  uint32_t clock = 0;
  uint32_t pc = 0;
  AgentId agent = 0;
  uint16_t kindBits : 2 = 0;
  uint16_t laneBits : 6 = kNobody;
  uint16_t warpBits : 6 = kNobody;

  static constexpr uint16_t kNobody = 63;
  AccessKind kind() const { return static_cast<AccessKind>(kindBits); }
  /// -1: none in particular.
  int lane() const { return laneBits == kNobody ? -1 : laneBits; }
  int warp() const { return warpBits == kNobody ? -1 : warpBits; }
};
static_assert(sizeof(Epoch) == 12);

enum class ConflictKind : uint8_t {
  Uninitialised,
  ReadAfterWrite,
  WriteAfterWrite,
  WriteAfterRead,
  MissingProxyFence
};

struct Conflict {
  ConflictKind kind;
  uint32_t address; ///< of the first byte
  uint32_t bytes;   ///< of the access from there on, at most to the end of its 16
  Epoch other;      ///< not for Uninitialised
};

class Shadow {
public:
  explicit Shadow(uint32_t size) : cells((size + 15) / 16) {}

  /// Notes an access to `bytes` bytes at `address` and calls report(const Conflict &) for what it
  /// conflicts with.
  template <typename Report>
  void read(uint32_t address, uint32_t bytes, const Accessor &who, Report &&report) {
    forEach<false>(address, bytes, who, report);
  }
  template <typename Report>
  void write(uint32_t address, uint32_t bytes, const Accessor &who, Report &&report) {
    forEach<true>(address, bytes, who, report);
  }
  /// Marks bytes as written before everything (mbarrier words, host-initialised memory).
  void forget(uint32_t address, uint32_t bytes);

private:
  struct Extra;
  /// 40 bytes: what a tile's shadow occupies decides how fast copies and products are checked.
  struct Cell {
    Epoch write;
    Epoch reads[2];
    /// 1 + the index of more readers, or of sixteen cells of one byte; 0: none.
    uint32_t extra : 30 = 0;
    uint32_t split : 1 = 0;
    uint32_t initialised : 1 = 0;
  };
  struct Extra {
    std::vector<Epoch> readers;
    std::array<Cell, 16> bytes;
  };
  Extra &extraOf(Cell &cell);
  void dropExtra(Cell &cell);

  template <bool isWrite, typename Report>
  void forEach(uint32_t address, uint32_t bytes, const Accessor &who, Report &report) {
    uint32_t end = address + bytes;
    while (address < end) {
      uint32_t next = std::min(end, (address | 15) + 1);
      Cell &cell = cells[address / 16];
      if (next - address == 16 && !cell.split) [[likely]] {
        touch<isWrite>(cell, address, 16, who, report);
      } else {
        if (!cell.split)
          splitCell(cell);
        for (uint32_t a = address; a < next; ++a)
          touch<isWrite>(extras[cell.extra - 1].bytes[a & 15], a, next - a, who, report);
        if (isWrite && next - address == 16)
          mergeCell(cell);
      }
      address = next;
    }
  }

  template <bool isWrite, typename Report>
  void touch(Cell &cell, uint32_t address, uint32_t bytes, const Accessor &who, Report &report) {
    const Clock &seen = who.order->seen;
    if constexpr (!isWrite) {
      if (cell.write.clock) {
        if (cell.write.agent != who.agent && seen.get(cell.write.agent) < cell.write.clock)
          report(Conflict{ConflictKind::ReadAfterWrite, address, bytes, cell.write});
        else if (who.kind != AccessKind::Generic && cell.write.kind() == AccessKind::Generic &&
                 who.order->fenced.get(cell.write.agent) < cell.write.clock)
          report(Conflict{ConflictKind::MissingProxyFence, address, bytes, cell.write});
      }
      noteRead(cell, who);
    } else {
      // Copies that signal one mbarrier share an agent, yet nothing orders them but the phases in
      // between.
      if (cell.write.clock && (cell.write.agent != who.agent || who.kind == AccessKind::TmaLoad) &&
          seen.get(cell.write.agent) < cell.write.clock)
        report(Conflict{ConflictKind::WriteAfterWrite, address, bytes, cell.write});
      for (Epoch &reader : cell.reads) {
        if (reader.clock && reader.agent != who.agent && seen.get(reader.agent) < reader.clock)
          report(Conflict{ConflictKind::WriteAfterRead, address, bytes, reader});
        reader.clock = 0;
      }
      if (cell.extra) {
        for (const Epoch &reader : extras[cell.extra - 1].readers)
          if (reader.agent != who.agent && seen.get(reader.agent) < reader.clock)
            report(Conflict{ConflictKind::WriteAfterRead, address, bytes, reader});
        dropExtra(cell);
      }
      cell.write = epochOf(who);
      cell.initialised = true;
    }
  }

  static Epoch epochOf(const Accessor &who) {
    Epoch e;
    e.clock = who.clock;
    e.pc = who.pc;
    e.agent = who.agent;
    e.kindBits = static_cast<uint16_t>(who.kind) & 3;
    e.laneBits = static_cast<uint16_t>(who.lane) & 63;
    e.warpBits = static_cast<uint16_t>(who.warp) & 63;
    return e;
  }
  void noteRead(Cell &cell, const Accessor &who) {
    const Clock &seen = who.order->seen;
    Epoch *free = nullptr;
    for (Epoch &reader : cell.reads) {
      // A reader that this one has seen is covered by it.
      if (!reader.clock || reader.agent == who.agent || seen.get(reader.agent) >= reader.clock) {
        if (free)
          reader.clock = 0;
        else
          free = &reader;
      }
    }
    if (free) {
      *free = epochOf(who);
      return;
    }
    noteMore(cell, who);
  }
  void noteMore(Cell &cell, const Accessor &who);
  void splitCell(Cell &cell);
  void mergeCell(Cell &cell);

  std::vector<Cell> cells;
  std::deque<Extra> extras; ///< stays where it is while it grows
  std::vector<uint32_t> freeExtras;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_SHADOW_H
