// The history of memory: for every byte the last write and the reads since.
//
// A line of 128 bytes has one history while its accesses cover whole 16-byte granules, which
// coalesced accesses, bulk copies and wgmma keep true: a list of writers and one of readers, each
// entry with a mask of granules. Another access splits the line into eight granules, whose entries
// have masks of bytes; a write of the whole line makes it one again. Lists are immutable and shared
// by all lines with the same history, so that a copy of many lines costs one entry. Strong
// operations (relaxed, volatile, atomic) do not race with each other where their scopes meet, and
// so do not replace each other: a granule keeps a set of them apart.
//
// An access races with a recorded one if it has not seen it. Memory: 12 bytes a line touched and 32
// for each distinct entry; 0.35 bytes a byte for coalesced writes; worst cases in docs/Emulator.md.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_CHECK_HISTORY_H
#define GIRIH_EMULATOR_CHECK_HISTORY_H

#include "Emulator/Check/Access.h"

#include <array>
#include <deque>
#include <vector>

namespace girih::emu {

enum class ConflictKind : uint8_t {
  Uninitialised, ///< not found here
  ReadAfterWrite,
  WriteAfterWrite,
  WriteAfterRead,
  MissingProxyFence
};

struct Conflict {
  ConflictKind kind;
  uint64_t address; ///< of the first byte
  uint32_t bytes;   ///< of the access from there on, within its line
  Epoch other;      ///< not for Uninitialised
  int lane;         ///< of the access; -1: none in particular
  int otherLane;
  /// Both are strong, but a scope leaves the other thread out.
  bool scope = false;
  /// Only by the letter of the memory model.
  bool note = false;
};

/// One access on its way through the histories that it touches.
struct Access {
  /// `fenced`: what proxy fences have made visible in this memory.
  Access(const Accessor &who, const Epoch &epoch, const Clock &fenced, bool write, uint64_t address,
         std::vector<Conflict> &conflicts)
      : who(who), epoch(epoch), fenced(fenced), origin(address), write(write),
        conflicts(conflicts) {}
  const Accessor &who;
  Epoch epoch; ///< lanes count from `origin`
  const Clock &fenced;
  /// The access as seen from a cell at `address`.
  const Epoch &at(uint64_t address) {
    if (epoch.shift == Epoch::kOneLane)
      return epoch;
    return moved = epoch.movedBy(static_cast<int64_t>(address - origin));
  }
  uint64_t origin;
  bool write;
  std::vector<Conflict> &conflicts;
  /// The last recorded access found to be seen: the next line often has the same one.
  Epoch seenBefore;
  uint32_t seenReaders = 0; ///< a list all of whose entries are
  /// Granules of a list of writers that the access, a read, has been compared with.
  uint32_t comparedWriters = 0, comparedMask = 0;
  /// What the access has done to lines in one state, to be done to the next in the same state. Not
  /// for accesses whose lanes differ from line to line.
  struct Change {
    uint32_t writers = 0, readers = 0, mask = 0;
    uint32_t newWriters = 0, newReaders = 0;
  };
  static constexpr uint32_t kChangeBits = 5, kChanges = 1u << kChangeBits;
  Change *changes = nullptr; ///< kChanges of them, or null

private:
  Epoch moved;
};

class History {
public:
  History() : memo(kMemo, 0), nodes(1) {}

  void reset() {
    if (nodes.size() > 1) {
      std::fill(memo.begin(), memo.end(), 0);
      nodes.resize(1);
      freeNodes.clear();
    }
    granules.clear();
    freeGranules.clear();
    strongs.clear();
    freeStrongs.clear();
  }

  static constexpr uint32_t kLine = 128;
  struct Line {
    uint32_t writers = 0, readers = 0; ///< heads of lists
    uint32_t granules = 0;             ///< index of a split line's
    bool touched() const { return writers || readers || granules; }
  };
  /// Notes an access to the bytes [from, to) of a line.
  void access(Line &line, uint64_t address, uint32_t from, uint32_t to, Access &a);
  /// The same for one of many lines: quick where it repeats what it did to another.
  void accessOneOfMany(Line &line, uint64_t address, uint32_t from, uint32_t to, Access &a) {
    const uint32_t mask = (1u << to / 16) - (1u << from / 16);
    if (!a.write && !line.granules && ((from | to) & 15) == 0) [[likely]]
      return readOneOfMany(line, {address, 4, mask}, a);
    const uint64_t key =
        (uint64_t(line.readers) << 32 ^ uint64_t(line.writers) << 8 ^ mask) * 0x9e3779b97f4a7c15u;
    Access::Change &change = a.changes[key >> (64 - Access::kChangeBits)];
    if (change.mask == mask && change.readers == line.readers && change.writers == line.writers &&
        !line.granules && ((from | to) & 15) == 0) [[likely]] {
      set(line.readers, change.newReaders);
      set(line.writers, change.newWriters);
      return;
    }
    remember(line, address, from, to, a, change);
  }
  /// Ends a sequence of these.
  void finish(Access &a);
  /// Marks bytes as written before everything.
  void forget(Line &line, uint32_t from, uint32_t to);
  /// The last write of a byte of a line; clock 0 if there was none.
  Epoch lastWrite(const Line &line, uint32_t at) const;
  /// Host memory in use beside the lines.
  size_t bytes() const;

private:
  struct Node {
    Epoch epoch;
    uint32_t next = 0;
    uint32_t uses = 0;
    uint16_t mask = 0;
    uint16_t depth = 0;
    bool live = false;
  };
  static_assert(sizeof(Node) == 32);
  struct StrongAccess {
    Epoch epoch;
    uint16_t mask;
    bool write;
  };
  struct Strong {
    std::vector<StrongAccess> accesses;
    bool narrow = false; ///< some scope is less than the device
  };
  struct Cell {
    uint32_t writers = 0, readers = 0, strong = 0;
  };
  using Granules = std::array<Cell, 8>;
  /// Which units of a cell an access touches, and where they lie.
  struct Part {
    uint64_t address; ///< of the cell
    uint32_t shift;   ///< log2 of a unit's bytes
    uint32_t mask;
  };

  uint32_t makeNode(uint32_t next, const Epoch &epoch, uint32_t mask);
  void release(uint32_t node);
  void set(uint32_t &head, uint32_t node) {
    if (head == node)
      return;
    ++nodes[node].uses;
    uint32_t old = head;
    head = node;
    if (old)
      release(old);
  }
  void removeMask(uint32_t &head, uint32_t mask);
  void addReader(uint32_t &head, const Part &part, Access &a);
  void compact(uint32_t &head, const Part &part, Access &a);
  void weakRead(uint32_t writers, uint32_t &readers, const Part &part, Access &a);
  void weakWrite(uint32_t &writers, uint32_t &readers, const Part &part, Access &a);
  void strongAccess(Cell &cell, const Part &part, Access &a);
  void weakBesideStrong(Cell &cell, const Part &part, Access &a);
  void judge(const Epoch &other, bool otherWrote, const Part &part, uint32_t mask, Access &a);
  void report(ConflictKind kind, const Epoch &other, const Part &part, uint32_t mask, Access &a,
              bool scope = false, bool note = false);
  void judgeStrictly(const Epoch &other, bool otherWrote, const Part &part, uint32_t mask,
                     Access &a);
  bool seen(const Epoch &other, const Part &part, uint32_t mask, Access &a, uint32_t &unseen) const;
  void remember(Line &line, uint64_t address, uint32_t from, uint32_t to, Access &a,
                Access::Change &change);
  /// A read leaves the writers alone, so what becomes of the readers does not depend on them.
  void readOneOfMany(Line &line, const Part &part, Access &a);
  void forget(Access::Change &change);
  void hold(uint32_t node) {
    if (node)
      ++nodes[node].uses;
  }
  void drop(uint32_t node) {
    if (node)
      release(node);
  }
  void split(Line &line);
  void join(Line &line);
  void dropStrong(Cell &cell);

  static constexpr uint32_t kMemoBits = 8, kMemo = 1u << kMemoBits;
  std::vector<uint32_t> memo;
  std::vector<Node> nodes; ///< 0 is none
  std::vector<uint32_t> freeNodes;
  std::deque<Granules> granules;
  std::vector<uint32_t> freeGranules;
  std::deque<Strong> strongs;
  std::vector<uint32_t> freeStrongs;
};

} // namespace girih::emu

#endif // GIRIH_EMULATOR_CHECK_HISTORY_H
