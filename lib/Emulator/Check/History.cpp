// Where accesses meet those before them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Check/History.h"

#include <bit>

namespace girih::emu {

const char *accessName(AccessKind kind, bool write) {
  switch (kind) {
  case AccessKind::Generic:
    return write ? "wrote" : "read";
  case AccessKind::CpAsync:
    return write ? "cp.async wrote" : "cp.async read";
  case AccessKind::TmaLoad:
    return write ? "asynchronous copy wrote" : "asynchronous copy read";
  case AccessKind::TmaStore:
    return write ? "asynchronous store wrote" : "asynchronous store read";
  case AccessKind::TmaReduce:
    return write ? "asynchronous reduction wrote" : "asynchronous reduction read";
  case AccessKind::Wgmma:
    return "wgmma read";
  case AccessKind::StAsync:
    return write ? "asynchronous store wrote" : "asynchronous store read";
  }
  return "accessed";
}

Epoch epochOf(const Accessor &who) {
  Epoch epoch;
  epoch.clock = who.clock;
  epoch.cluster = who.cluster;
  epoch.agent = who.agent;
  epoch.rank = who.rank & 15;
  epoch.warp = static_cast<unsigned>(who.warp) & 31;
  epoch.kindBits = static_cast<unsigned>(who.kind) & 7;
  epoch.strong = who.flags & kAccessStrong ? 1 : 0;
  epoch.atomic = who.flags & kAccessAtomic ? 1 : 0;
  epoch.scopeBits = static_cast<unsigned>(scopeOf(who.flags)) & 3;
  epoch.pc = who.pc & 0x7fffff;
  if (who.manyLanes) {
    epoch.lane = Epoch::kMany;
  } else if (who.lane >= 0) {
    epoch.lane = static_cast<unsigned>(who.lane) & 31;
    if (who.laneBytes)
      epoch.shift = static_cast<unsigned>(std::countr_zero(who.laneBytes)) & 7;
  }
  return epoch;
}

// Lists.

uint32_t History::makeNode(uint32_t next, const Epoch &epoch, uint32_t mask) {
  const uint64_t key = (uint64_t(next) << 32 ^ uint64_t(epoch.cluster) << 20 ^ epoch.clock) +
                       (uint64_t(mask) << 40 ^ epoch.agent << 6 ^ epoch.lane);
  const uint32_t slot = static_cast<uint32_t>(key * 0x9e3779b97f4a7c15u >> (64 - kMemoBits));
  if (const Node &n = nodes[memo[slot]];
      n.live && n.next == next && n.mask == mask && n.epoch == epoch)
    return memo[slot];
  uint32_t at;
  if (freeNodes.empty()) {
    at = static_cast<uint32_t>(nodes.size());
    nodes.emplace_back();
  } else {
    at = freeNodes.back();
    freeNodes.pop_back();
  }
  Node &n = nodes[at];
  n.epoch = epoch;
  n.next = next;
  n.mask = static_cast<uint16_t>(mask);
  n.depth = next ? static_cast<uint16_t>(std::min(nodes[next].depth + 1, 0xffff)) : 1;
  n.uses = 0;
  n.live = true;
  if (next)
    ++nodes[next].uses;
  memo[slot] = at;
  return at;
}

void History::release(uint32_t at) {
  while (at && --nodes[at].uses == 0) {
    nodes[at].live = false;
    freeNodes.push_back(at);
    at = nodes[at].next;
  }
}

void History::removeMask(uint32_t &head, uint32_t mask) {
  bool stays = false;
  for (uint32_t n = head; n; n = nodes[n].next)
    stays |= (nodes[n].mask & ~mask) != 0;
  if (!stays)
    return set(head, 0);
  std::vector<uint32_t> list;
  for (uint32_t n = head; n; n = nodes[n].next)
    list.push_back(n);
  uint32_t next = 0;
  for (size_t i = list.size(); i-- > 0;)
    if (uint32_t rest = nodes[list[i]].mask & ~mask) {
      Epoch epoch = nodes[list[i]].epoch;
      next = makeNode(next, epoch, rest);
    }
  set(head, next);
}

// Order.

namespace {
/// Same threads for the same bytes, both epochs relative to one cell.
bool sameLanes(const Epoch &a, const Epoch &b) {
  return a.lane == b.lane && a.shift == b.shift && a.lane != Epoch::kMany;
}
bool scopesMeet(const Epoch &a, const Epoch &b) {
  Scope narrow = std::min(a.scope(), b.scope());
  return narrow >= Scope::Gpu ||
         (a.cluster == b.cluster && (narrow == Scope::Cluster || a.rank == b.rank));
}
} // namespace

/// `unseen` gets the units of `mask` whose lanes have not seen each other.
bool History::seen(const Epoch &other, const Part &part, uint32_t mask, Access &a,
                   uint32_t &unseen) const {
  const Accessor &who = a.who;
  unseen = mask;
  if (!other.clock)
    return true;
  if (other.cluster != who.cluster || other.agent != who.agent ||
      other.kind() != AccessKind::Generic || who.kind != AccessKind::Generic)
    return who.order->seen.get(other.cluster, who.cluster, static_cast<AgentId>(other.agent)) >=
           other.clock;
  // Lanes of one warp: a thread is ordered with itself, and lanes with each other by what has
  // synchronised the warp. What a warp accesses as a whole (.aligned) comes in order.
  if (other.clock <= who.synced || (other.shift == Epoch::kOneLane && other.lane == Epoch::kWhole))
    return true;
  const Epoch &mine = a.at(part.address);
  if (mine.shift == Epoch::kOneLane && mine.lane == Epoch::kWhole)
    return true;
  if (sameLanes(other, mine))
    return true;
  // Of lanes that write the same bytes in one instruction one wins; that is no race.
  if (a.write && other.pc == mine.pc && other.clock == mine.clock)
    return true;
  unseen = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t unit = static_cast<uint32_t>(std::countr_zero(m));
    for (uint32_t byte = unit << part.shift; byte < (unit + 1) << part.shift; ++byte) {
      int theirs = other.laneAt(byte), ours = mine.laneAt(byte);
      if (theirs >= 0 && theirs == ours)
        continue;
      if (theirs >= 0 && ours >= 0 && who.lanes && who.lanes->seen[ours][theirs] >= other.clock)
        continue;
      unseen |= 1u << unit;
      break;
    }
  }
  return unseen == 0;
}

void History::report(ConflictKind kind, const Epoch &other, const Part &part, uint32_t mask,
                     Access &a, bool scope, bool note) {
  const uint32_t first = static_cast<uint32_t>(std::countr_zero(mask)) << part.shift;
  const uint32_t last = static_cast<uint32_t>(32 - std::countl_zero(mask)) << part.shift;
  const Epoch &mine = a.at(part.address);
  // Where two lanes of one warp meet, the first byte where they differ says it.
  uint32_t at = first;
  if (other.cluster == mine.cluster && other.agent == mine.agent &&
      other.kind() == AccessKind::Generic && mine.kind() == AccessKind::Generic)
    while (at + 1 < last && other.laneAt(at) >= 0 && other.laneAt(at) == mine.laneAt(at))
      ++at;
  // The same fault at the neighbouring granule makes one report longer.
  if (!a.conflicts.empty()) {
    Conflict &before = a.conflicts.back();
    if (before.kind == kind && before.note == note &&
        before.address + before.bytes == part.address + at && before.other.clock == other.clock &&
        before.other.agent == other.agent && before.other.cluster == other.cluster &&
        before.other.pc == other.pc) {
      before.bytes += last - at;
      return;
    }
  }
  a.conflicts.push_back(
      {kind, part.address + at, last - at, other, mine.laneAt(at), other.laneAt(at), scope, note});
}

void History::judge(const Epoch &other, bool otherWrote, const Part &part, uint32_t mask,
                    Access &a) {
  if (other == a.seenBefore)
    return;
  uint32_t unseen = mask;
  if (!seen(other, part, mask, a, unseen)) {
    // A store of what an ordinary store has left there changes nothing, whichever comes first.
    if (otherWrote && (a.who.flags & kAccessUnchanged) && !other.strong &&
        other.kind() == AccessKind::Generic) {
      if (!a.who.order->strict.empty())
        report(ConflictKind::WriteAfterWrite, other, part, unseen, a, false, true);
      return;
    }
    report(!otherWrote ? ConflictKind::WriteAfterRead
           : a.write   ? ConflictKind::WriteAfterWrite
                       : ConflictKind::ReadAfterWrite,
           other, part, unseen, a);
    return;
  }
  if (otherWrote && !a.write && asyncProxy(a.who.kind) && !asyncProxy(other.kind()) &&
      other.clock &&
      a.fenced.get(other.cluster, a.who.cluster, static_cast<AgentId>(other.agent)) < other.clock) {
    report(ConflictKind::MissingProxyFence, other, part, mask, a);
    return;
  }
  if (!a.who.order->strict.empty())
    judgeStrictly(other, otherWrote, part, mask, a);
  // Lanes of the own warp may differ in the next cell.
  if (other.agent != a.who.agent || other.cluster != a.who.cluster)
    a.seenBefore = other;
}

/// What is in order as kernels use the machine, and not by the letter.
void History::judgeStrictly(const Epoch &other, bool otherWrote, const Part &part, uint32_t mask,
                            Access &a) {
  const Accessor &who = a.who;
  if (!other.clock || asyncProxy(other.kind()) || other.kind() == AccessKind::CpAsync)
    return;
  const AgentId agent = static_cast<AgentId>(other.agent);
  const bool own = other.cluster == who.cluster && other.agent == who.agent;
  const ConflictKind kind = !otherWrote ? ConflictKind::WriteAfterRead
                            : a.write   ? ConflictKind::WriteAfterWrite
                                        : ConflictKind::ReadAfterWrite;
  if (own) {
    // Lanes that write the same bytes at once.
    const Epoch mine = a.at(part.address);
    if (a.write && otherWrote && !mine.strong && other.pc == mine.pc && other.clock == mine.clock &&
        !sameLanes(other, mine) && mine.lane != Epoch::kWhole)
      report(kind, other, part, mask, a, false, true);
    return;
  }
  if (who.order->strict.get(other.cluster, who.cluster, agent) < other.clock)
    report(kind, other, part, mask, a, false, true);
  else if (a.write && asyncProxy(who.kind) &&
           a.fenced.get(other.cluster, who.cluster, agent) < other.clock)
    report(ConflictKind::MissingProxyFence, other, part, mask, a, false, true);
}

// Accesses that are not strong.

void History::addReader(uint32_t &head, const Part &part, Access &a) {
  const Epoch &mine = a.at(part.address);
  uint32_t next = head;
  if (head) {
    const Node &h = nodes[head];
    if (h.epoch == mine && (part.mask & ~h.mask) == 0u)
      return;
    // The products of one group end together: one entry for what they read, at the last one's line.
    if (mine.kind() == AccessKind::Wgmma) {
      Epoch moment = h.epoch;
      moment.pc = mine.pc;
      if (moment == mine) {
        set(head, makeNode(h.next, mine, h.mask | part.mask));
        return;
      }
    }
    // A reader that this one has seen is covered by it.
    uint32_t unseen;
    if ((h.mask & ~part.mask) == 0u && seen(h.epoch, part, h.mask, a, unseen))
      next = h.next;
  }
  set(head, makeNode(next, mine, part.mask));
  if (const uint32_t depth = nodes[head].depth; depth >= 16 && (depth & (depth - 1)) == 0)
    compact(head, part, a);
}

void History::compact(uint32_t &head, const Part &part, Access &a) {
  // Of what one agent has read the latest counts, and what this access has seen it covers.
  std::vector<Node> kept;
  for (uint32_t n = head; n; n = nodes[n].next) {
    const Node &node = nodes[n];
    uint32_t rest = node.mask, unseen;
    for (const Node &k : kept)
      if (k.epoch.agent == node.epoch.agent && k.epoch.cluster == node.epoch.cluster &&
          sameLanes(k.epoch, node.epoch))
        rest &= ~k.mask;
    if (n != head && seen(node.epoch, part, rest & part.mask, a, unseen))
      rest &= ~part.mask;
    if (rest) {
      kept.push_back(node);
      kept.back().mask = static_cast<uint16_t>(rest);
    }
  }
  uint32_t next = 0;
  for (size_t i = kept.size(); i-- > 0;)
    next = makeNode(next, kept[i].epoch, kept[i].mask);
  set(head, next);
}

void History::weakRead(uint32_t writers, uint32_t &readers, const Part &part, Access &a) {
  for (uint32_t n = writers; n; n = nodes[n].next)
    if (uint32_t common = nodes[n].mask & part.mask)
      judge(nodes[n].epoch, true, part, common, a);
  addReader(readers, part, a);
}

void History::weakWrite(uint32_t &writers, uint32_t &readers, const Part &part, Access &a) {
  bool othersStay = false;
  for (uint32_t n = writers; n; n = nodes[n].next) {
    othersStay |= (nodes[n].mask & ~part.mask) != 0;
    if (uint32_t common = nodes[n].mask & part.mask)
      judge(nodes[n].epoch, true, part, common, a);
  }
  if (readers && readers != a.seenReaders) {
    const size_t before = a.conflicts.size();
    bool own = false;
    for (uint32_t n = readers; n; n = nodes[n].next)
      if (uint32_t common = nodes[n].mask & part.mask) {
        judge(nodes[n].epoch, false, part, common, a);
        own |= nodes[n].epoch.agent == a.who.agent && nodes[n].epoch.cluster == a.who.cluster;
      }
    if (a.conflicts.size() == before && !own && part.mask == 0xff)
      a.seenReaders = readers;
  }
  if (readers)
    removeMask(readers, part.mask);
  if (othersStay)
    removeMask(writers, part.mask);
  const Epoch &mine = a.at(part.address);
  // By the letter, lanes that write the same bytes at once race too.
  if (mine.lane == Epoch::kMany && !a.who.order->strict.empty())
    report(ConflictKind::WriteAfterWrite, Epoch(mine), part, part.mask, a, false, true);
  set(writers, makeNode(othersStay ? writers : 0, mine, part.mask));
}

// Strong accesses.

void History::dropStrong(Cell &cell) {
  strongs[cell.strong - 1].accesses.clear();
  strongs[cell.strong - 1].narrow = false;
  freeStrongs.push_back(cell.strong);
  cell.strong = 0;
}

void History::strongAccess(Cell &cell, const Part &part, Access &a) {
  const Epoch &mine = a.at(part.address);
  for (uint32_t n = cell.writers; n; n = nodes[n].next)
    if (uint32_t common = nodes[n].mask & part.mask)
      judge(nodes[n].epoch, true, part, common, a);
  if (a.write) {
    for (uint32_t n = cell.readers; n; n = nodes[n].next)
      if (uint32_t common = nodes[n].mask & part.mask)
        judge(nodes[n].epoch, false, part, common, a);
    if (cell.readers)
      removeMask(cell.readers, part.mask);
    if (cell.writers)
      removeMask(cell.writers, part.mask);
  }
  if (!cell.strong) {
    if (freeStrongs.empty()) {
      strongs.emplace_back();
      cell.strong = static_cast<uint32_t>(strongs.size());
    } else {
      cell.strong = freeStrongs.back();
      freeStrongs.pop_back();
    }
  }
  Strong &strong = strongs[cell.strong - 1];
  if (strong.narrow || mine.scope() < Scope::Gpu)
    for (const StrongAccess &other : strong.accesses) {
      uint32_t unseen, common = other.mask & part.mask;
      if (common && (other.write || a.write) && !scopesMeet(other.epoch, mine) &&
          !seen(other.epoch, part, common, a, unseen))
        report(!other.write ? ConflictKind::WriteAfterRead
               : a.write    ? ConflictKind::WriteAfterWrite
                            : ConflictKind::ReadAfterWrite,
               other.epoch, part, common, a, true);
    }
  strong.narrow |= mine.scope() < Scope::Gpu;
  for (StrongAccess &other : strong.accesses)
    if (other.epoch.agent == mine.agent && other.epoch.cluster == mine.cluster &&
        other.write == a.write && other.mask == part.mask) {
      other.epoch = mine;
      return;
    }
  strong.accesses.push_back({mine, static_cast<uint16_t>(part.mask), a.write});
}

void History::weakBesideStrong(Cell &cell, const Part &part, Access &a) {
  Strong &strong = strongs[cell.strong - 1];
  size_t kept = 0;
  for (StrongAccess &other : strong.accesses) {
    if (uint32_t common = other.mask & part.mask; common && (other.write || a.write)) {
      judge(other.epoch, other.write, part, common, a);
      if (a.write)
        other.mask &= static_cast<uint16_t>(~part.mask);
    }
    if (other.mask)
      strong.accesses[kept++] = other;
  }
  strong.accesses.resize(kept);
  if (!kept)
    dropStrong(cell);
}

// Lines and granules.

void History::split(Line &line) {
  if (freeGranules.empty()) {
    granules.emplace_back();
    line.granules = static_cast<uint32_t>(granules.size());
  } else {
    line.granules = freeGranules.back();
    freeGranules.pop_back();
  }
  Granules &cells = granules[line.granules - 1];
  auto spread = [&](uint32_t head, uint32_t Cell::*list) {
    std::vector<uint32_t> entries;
    for (uint32_t n = head; n; n = nodes[n].next)
      entries.push_back(n);
    for (uint32_t g = 0; g < 8; ++g) {
      uint32_t next = 0;
      for (size_t i = entries.size(); i-- > 0;)
        if (nodes[entries[i]].mask >> g & 1) {
          Epoch epoch = nodes[entries[i]].epoch.movedBy(int64_t(g) * 16);
          next = makeNode(next, epoch, 0xffff);
        }
      set(cells[g].*list, next);
    }
  };
  spread(line.writers, &Cell::writers);
  spread(line.readers, &Cell::readers);
  set(line.writers, 0);
  set(line.readers, 0);
}

void History::join(Line &line) {
  for (Cell &cell : granules[line.granules - 1]) {
    set(cell.writers, 0);
    set(cell.readers, 0);
    if (cell.strong)
      dropStrong(cell);
  }
  freeGranules.push_back(line.granules);
  line.granules = 0;
}

void History::access(Line &line, uint64_t address, uint32_t from, uint32_t to, Access &a) {
  const bool strong = a.epoch.strong;
  if (!line.granules && ((from | to) & 15) == 0 && !strong) [[likely]] {
    const Part part{address, 4, (1u << to / 16) - (1u << from / 16)};
    if (a.write)
      weakWrite(line.writers, line.readers, part, a);
    else
      weakRead(line.writers, line.readers, part, a);
    return;
  }
  if (!line.granules)
    split(line);
  for (uint32_t g = from / 16; g * 16 < to; ++g) {
    Cell &cell = granules[line.granules - 1][g];
    const uint32_t begin = std::max(from, g * 16) - g * 16,
                   end = std::min(to, g * 16 + 16) - g * 16;
    const Part part{address + g * 16, 0, (1u << end) - (1u << begin)};
    if (strong) {
      strongAccess(cell, part, a);
      continue;
    }
    if (cell.strong)
      weakBesideStrong(cell, part, a);
    if (a.write)
      weakWrite(cell.writers, cell.readers, part, a);
    else
      weakRead(cell.writers, cell.readers, part, a);
  }
  // All bytes were just written by one accessor, so they have one history again.
  if (a.write && !strong && from == 0 && to == kLine) {
    join(line);
    const Epoch &mine = a.at(address);
    set(line.writers, makeNode(0, mine, 0xff));
  }
}

void History::readOneOfMany(Line &line, const Part &part, Access &a) {
  if (line.writers && (line.writers != a.comparedWriters || (part.mask & ~a.comparedMask))) {
    const size_t before = a.conflicts.size();
    for (uint32_t n = line.writers; n; n = nodes[n].next)
      if (uint32_t common = nodes[n].mask & part.mask)
        judge(nodes[n].epoch, true, part, common, a);
    const bool fine = a.conflicts.size() == before;
    a.comparedWriters = fine ? line.writers : 0;
    a.comparedMask = fine ? part.mask : 0;
  }
  const uint64_t key = (uint64_t(line.readers) << 8 ^ part.mask) * 0x9e3779b97f4a7c15u;
  Access::Change &change = a.changes[key >> (64 - Access::kChangeBits)];
  if (change.mask == part.mask && change.readers == line.readers) [[likely]]
    return set(line.readers, change.newReaders);
  forget(change);
  const uint32_t old = line.readers;
  hold(old); // so that no other list gets the number while it is remembered
  addReader(line.readers, part, a);
  hold(line.readers);
  change = {0, old, part.mask, 0, line.readers};
}

void History::remember(Line &line, uint64_t address, uint32_t from, uint32_t to, Access &a,
                       Access::Change &change) {
  forget(change);
  const size_t before = a.conflicts.size();
  const Line old = line;
  // Held, so that no other list gets the number while it is remembered.
  hold(old.readers);
  hold(old.writers);
  access(line, address, from, to, a);
  if (old.granules || line.granules || ((from | to) & 15) || a.conflicts.size() != before) {
    drop(old.readers);
    drop(old.writers);
    return;
  }
  hold(line.readers);
  hold(line.writers);
  change = {old.writers, old.readers, (1u << to / 16) - (1u << from / 16), line.writers,
            line.readers};
}

void History::finish(Access &a) {
  for (uint32_t i = 0; i < Access::kChanges; ++i)
    forget(a.changes[i]);
}

void History::forget(Access::Change &change) {
  if (!change.mask)
    return;
  for (uint32_t node : {change.readers, change.writers, change.newReaders, change.newWriters})
    if (node)
      release(node);
  change.mask = 0;
}

void History::forget(Line &line, uint32_t from, uint32_t to) {
  if (!line.granules)
    split(line);
  for (uint32_t g = from / 16; g * 16 < to; ++g) {
    Cell &cell = granules[line.granules - 1][g];
    const uint32_t begin = std::max(from, g * 16) - g * 16,
                   end = std::min(to, g * 16 + 16) - g * 16;
    const uint32_t mask = (1u << end) - (1u << begin);
    removeMask(cell.writers, mask);
    removeMask(cell.readers, mask);
    set(cell.writers, makeNode(cell.writers, Epoch(), mask));
    if (cell.strong) {
      Strong &strong = strongs[cell.strong - 1];
      for (StrongAccess &other : strong.accesses)
        other.mask &= static_cast<uint16_t>(~mask);
      std::erase_if(strong.accesses, [](const StrongAccess &s) { return s.mask == 0; });
      if (strong.accesses.empty())
        dropStrong(cell);
    }
  }
}

Epoch History::lastWrite(const Line &line, uint32_t at) const {
  auto find = [&](uint32_t head, uint32_t bit) {
    for (uint32_t n = head; n; n = nodes[n].next)
      if (nodes[n].mask >> bit & 1)
        return nodes[n].epoch;
    return Epoch();
  };
  if (!line.granules)
    return find(line.writers, at / 16);
  const Cell &cell = granules[line.granules - 1][at / 16];
  if (cell.strong) {
    const std::vector<StrongAccess> &accesses = strongs[cell.strong - 1].accesses;
    for (size_t i = accesses.size(); i-- > 0;)
      if (accesses[i].write && accesses[i].mask >> at % 16 & 1)
        return accesses[i].epoch;
  }
  return find(cell.writers, at % 16);
}

size_t History::bytes() const {
  size_t total = nodes.size() * sizeof(Node) + granules.size() * sizeof(Granules) +
                 strongs.size() * sizeof(Strong);
  for (const Strong &s : strongs)
    total += s.accesses.capacity() * sizeof(StrongAccess);
  return total;
}

} // namespace girih::emu
