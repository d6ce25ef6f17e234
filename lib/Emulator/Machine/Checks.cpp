// Address checks, and turning what was found into findings.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Text.h"

#include <set>

namespace girih::emu {

namespace {
std::string ctaText(const Dim3 &id) {
  return "(" + std::to_string(id.x) + "," + std::to_string(id.y) + "," + std::to_string(id.z) + ")";
}
} // namespace

std::string laneText(uint32_t mask) {
  if (mask == kFullMask)
    return "0-31";
  std::string text;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1))
      continue;
    unsigned j = i;
    while (j < 31 && (mask >> (j + 1) & 1))
      ++j;
    text += (text.empty() ? "" : ",") + std::to_string(i) + (j > i ? "-" + std::to_string(j) : "");
    i = j;
  }
  return text.empty() ? "none" : text;
}

Site siteIn(const Kernel &kernel, std::string action, uint32_t pc) {
  Site s;
  s.action = std::move(action);
  if (pc < kernel.info.size()) {
    const InstrInfo &info = kernel.info[pc];
    s.ptxLine = info.line;
    s.ptxText = info.text;
    s.source = kernel.module->source(info.location);
  }
  return s;
}

Site Cluster::site(std::string action, uint32_t pc, uint32_t rank, int warp, int lane) const {
  Site s = siteIn(kernel, std::move(action), pc);
  s.cta = ctaId(linear, rank);
  s.warp = warp;
  s.lane = lane;
  return s;
}

void Cluster::report(const char *kind, std::string message, std::vector<Site> sites,
                     std::string hint, uint64_t count, Severity severity) {
  std::string key = severity == Severity::Note ? std::string("note ") + kind : kind;
  for (size_t i = 0; i < sites.size() && i < 2; ++i)
    key += ":" + std::to_string(sites[i].ptxLine);
  auto [entry, fresh] = findingIndex.try_emplace(std::move(key), findings.size());
  if (!fresh) {
    if (entry->second < findings.size())
      findings[entry->second].count += count;
    return;
  }
  // Notes are no part of the run: it is the same by either model.
  if (severity == Severity::Error)
    hash(uint64_t(0xf1) << 56 ^ sites.size());
  if (findingCount[kind]++ >= launch.options.maxFindingsPerKind) {
    entry->second = ~size_t(0);
    return;
  }
  Finding f;
  f.kind = kind;
  f.message = std::move(message);
  f.sites = std::move(sites);
  f.hint = std::move(hint);
  f.count = count;
  f.severity = severity;
  findings.push_back(std::move(f));
}

void Cluster::fault(const char *kind, std::string message, std::vector<Site> sites,
                    std::string hint) {
  report(kind, std::move(message), std::move(sites), std::move(hint));
  stopped = true;
  if (outcome == Outcome::Completed)
    outcome = Outcome::Faulted;
}

// Addresses.

bool Cluster::findGlobal(uint64_t address, uint64_t bytes) {
  const AllocationInfo *info = launch.memory->find(address);
  if (!info)
    return false;
  cachedAllocations[address >> 16 & 7] = *info;
  return address - info->address + bytes <= info->bytes;
}

bool Cluster::checkGlobal(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                          const char *what) {
  if (globalInBounds(address, bytes))
    return true;
  Site here = this->here(c, what, static_cast<int>(lane));
  here.space = "global";
  here.address = address;
  here.bytes = bytes;
  bool freed = false;
  const AllocationInfo *near = launch.memory->nearest(address, freed);
  bool inside = near && address - near->address < near->bytes;
  std::string message = "access to global memory at " + hex(address);
  if (near && freed && inside)
    message += ", " + std::to_string(address - near->address) + " bytes into an allocation of " +
               std::to_string(near->bytes) + " bytes that was freed";
  else if (near && address - near->address < near->bytes + (uint64_t(1) << 20))
    message += ", " + std::to_string(address + bytes - near->address - near->bytes) +
               " bytes past the end of an allocation of " + std::to_string(near->bytes) + " bytes";
  else
    message += ", which no allocation holds";
  fault(near && freed && inside ? "use-after-free" : "global-out-of-bounds", message, {here});
  return false;
}

Cta *Cluster::findShared(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                         uint32_t &offset, const char *what) {
  if (address >= kSharedWindow && address < kSharedWindow + kWindowBytes)
    address -= kSharedWindow;
  uint32_t rank = static_cast<uint32_t>(address) >> kRankShift;
  Cta *target = rank ? (rank - 1 < ctas.size() ? ctas[rank - 1].get() : nullptr) : &c.cta;
  offset = static_cast<uint32_t>(address) & ((1u << kRankShift) - 1);
  const bool inside = address < kWindowBytes && target && offset >= kSharedStart &&
                      offset + bytes <= target->shared.size();
  if (inside && (target->liveWarps || target == &c.cta)) [[likely]]
    return target;
  Site here = this->here(c, what, static_cast<int>(lane));
  here.space = "shared";
  here.address = address;
  here.bytes = bytes;
  if (inside) {
    fault("cluster-exit",
          "access to shared memory of CTA " + ctaText(target->id) + ", which has exited", {here},
          "let all CTAs of the cluster meet at a cluster barrier after their last access");
    return nullptr;
  }
  fault("shared-out-of-bounds",
        "access to shared memory at " + hex(address) + ": the CTA has " +
            std::to_string(launch.staticShared) + " static and " +
            std::to_string(launch.dynamicShared) + " dynamic bytes, from " + hex(kSharedStart) +
            " to " + hex(launch.sharedBytes),
        {here}, launch.dynamicShared == 0 ? "was the launch given its dynamic shared memory?" : "");
  return nullptr;
}

// The shadow.

Accessor Cluster::sharedAccessor(const Context &c, uint32_t lane, uint32_t bytes,
                                 uint32_t laneBytes) const {
  Accessor who = accessorOf(c, lane, bytes > laneBytes ? laneBytes : 0);
  if (!laneBytes)
    who.lane = -1;
  return who;
}
void Cluster::sharedRead(const Context &c, Cta &target, uint32_t lane, uint32_t offset,
                         uint32_t bytes, uint32_t laneBytes) {
  if (&target != &c.cta)
    noteRemote(target, c.warp, c.pc, static_cast<int>(lane & 31), "reads its shared memory");
  asyncRead(target, offset, bytes, sharedAccessor(c, lane, bytes, laneBytes));
}
void Cluster::sharedWrite(const Context &c, Cta &target, uint32_t lane, uint32_t offset,
                          uint32_t bytes, uint32_t laneBytes, bool unchanged) {
  if (&target != &c.cta)
    noteRemote(target, c.warp, c.pc, static_cast<int>(lane & 31), "writes its shared memory");
  Accessor who = sharedAccessor(c, lane, bytes, laneBytes);
  who.flags |= unchanged ? kAccessUnchanged : 0;
  asyncWrite(target, offset, bytes, who);
}
void Cluster::sharedStrong(const Context &c, Cta &target, uint32_t lane, uint32_t offset,
                           uint32_t bytes, uint16_t flags) {
  if (!checking())
    return;
  if (&target != &c.cta)
    noteRemote(target, c.warp, c.pc, static_cast<int>(lane), "accesses its shared memory");
  Accessor who = accessorOf(c, lane, 0, flags);
  if (flags & kAccessWrite)
    asyncWrite(target, offset, bytes, who);
  else
    asyncRead(target, offset, bytes, who);
  orderStrong(c, sharedPoints, uint64_t(target.rank) << 32 | offset, flags);
}
void Cluster::readUndefinedShared(const Context &c, Cta &target, uint32_t lane, uint32_t offset,
                                  uint32_t bytes) {
  // Whether an undefined value matters shows where it is used; a copy that is about to write these
  // bytes has not been waited for, whatever becomes of the value.
  for (const auto &op : async)
    if (op->writes(target, offset, bytes)) {
      reportConflict(
          target,
          {ConflictKind::Uninitialised, offset, bytes, {}, static_cast<int>(lane), -1, false},
          accessorOf(c, lane), false);
      return;
    }
}
void Cluster::asyncRead(Cta &target, uint32_t offset, uint32_t bytes, const Accessor &who) {
  const GranuleRun run{offset, bytes};
  asyncRead(target, std::span(&run, 1), who);
}
void Cluster::asyncRead(Cta &target, std::span<const GranuleRun> runs, const Accessor &who) {
  if (who.kind != AccessKind::Generic)
    for (const GranuleRun &run : runs)
      if (!target.sharedDefined.all(run.address, run.bytes))
        reportConflict(target,
                       {ConflictKind::Uninitialised, run.address, run.bytes, {}, -1, -1, false},
                       who, false);
  target.shadow->access(runs, false, who, [&](const Conflict &conflict) {
    reportConflict(target, conflict, who, false);
  });
}
void Cluster::asyncWrite(Cta &target, uint32_t offset, uint32_t bytes, const Accessor &who) {
  target.sharedDefined.set(offset, bytes);
  target.shadow->access(offset, bytes, true, who, [&](const Conflict &conflict) {
    reportConflict(target, conflict, who, true);
  });
}

void Cluster::reportConflict(Cta &target, const Conflict &conflict, const Accessor &who,
                             bool isWrite) {
  const Epoch &other = conflict.other;
  bool uninitialised = conflict.kind == ConflictKind::Uninitialised;
  // A misplaced wait shows at every granule: count those after the first without building texts.
  uint64_t key = uint64_t(conflict.kind) << 60 ^ uint64_t(conflict.note) << 63 ^
                 uint64_t(who.kind) << 56 ^ uint64_t(who.pc) << 28 ^
                 (uninitialised ? 0xfffffff : static_cast<uint32_t>(other.pc));
  auto [entry, fresh] = conflictIndex.try_emplace(key, ~size_t(0));
  if (!fresh) {
    if (entry->second < findings.size())
      ++findings[entry->second].count;
    return;
  }
  auto withBytes = [&](Site s) {
    s.space = "shared";
    s.address = conflict.address;
    s.bytes = conflict.bytes;
    return s;
  };
  std::vector<Site> sites{
      withBytes(site(accessName(who.kind, isWrite), who.pc, who.rank, who.warp, conflict.lane))};
  const bool otherWrote = conflict.kind != ConflictKind::WriteAfterRead;
  if (!uninitialised)
    sites.push_back(withBytes(site(accessName(other.kind(), otherWrote), other.pc,
                                   static_cast<uint32_t>(other.rank), static_cast<int>(other.warp),
                                   conflict.otherLane)));
  const bool issuedHere = !uninitialised && other.kind() == AccessKind::Generic &&
                          static_cast<int>(other.warp) == who.warp && other.rank == who.rank &&
                          other.cluster == who.cluster;
  const char *kind = "shared-race";
  std::string message, hint;
  const bool sameWarp = who.agent == other.agent && who.kind == AccessKind::Generic;
  const char *missing =
      sameWarp ? ": the lanes of a warp are threads of their own, and no bar.warp.sync or barrier "
                 "lies between"
      : who.rank == other.rank
          ? ": no barrier, mbarrier, or release and acquire between"
          : ": no cluster barrier or mbarrier with release and acquire between";
  const char *barrierHint = sameWarp ? "put __syncwarp() (bar.warp.sync) between the two"
                            : who.rank == other.rank
                                ? "put a barrier between the two"
                                : "put the cluster barrier (not .relaxed) between the two";
  std::string where = "shared memory of CTA " + ctaText(target.id) + " at " + hex(conflict.address);
  switch (conflict.kind) {
  case ConflictKind::Uninitialised: {
    const AsyncOp *pendingCopy = nullptr;
    for (const auto &op : async)
      if (op->writes(target, static_cast<uint32_t>(conflict.address), conflict.bytes))
        pendingCopy = op.get();
    if (pendingCopy) {
      kind = "async-race";
      message = where + " is read before the asynchronous copy that fills it has completed";
      hint = "wait for the copy (its mbarrier phase, or cp.async.wait_group) before the read";
      sites.push_back(pendingCopy->site(*this, "asynchronous copy in flight writes"));
    } else {
      kind = "uninitialised-shared";
      message = where + " is read and was never written";
      hint = "if a copy fills it: is its mbarrier waited for before the read?";
    }
    break;
  }
  case ConflictKind::ReadAfterWrite:
    if (other.kind() == AccessKind::CpAsync) {
      kind = "async-race";
      message = where + " is read without having waited for the cp.async that writes it";
      hint = "wait for the copy (cp.async.wait_group), and put a barrier before threads of other "
             "warps read";
    } else if (other.kind() != AccessKind::Generic) {
      kind = "async-race";
      message = where + " is read without having waited for the asynchronous copy that writes it";
      hint = "wait for the copy's mbarrier phase (mbarrier.try_wait) before the read";
    } else if (who.kind != AccessKind::Generic && issuedHere) {
      // What the issuing warp has written before the issue is ordered with the operation.
      kind = "async-overwrite";
      message = where + " is overwritten while an asynchronous operation that the same warp has "
                        "issued before may still read it";
      hint = "wait until the operation has read its source (cp.async.bulk.wait_group.read, "
             "wgmma.wait_group) before the buffer is written";
    } else {
      message = where + " is read while nothing orders the read after the write" + missing;
      hint = barrierHint;
    }
    break;
  case ConflictKind::WriteAfterRead:
    if (other.kind() == AccessKind::Wgmma) {
      kind = "async-overwrite";
      message = where + " is overwritten while a wgmma may still read it";
      hint = "wait for the wgmma (wgmma.wait_group) before the buffer is released, and for the "
             "release before it is written";
    } else if (other.kind() == AccessKind::TmaStore) {
      kind = "async-overwrite";
      message = where + " is overwritten while an asynchronous store may still read it";
      hint = "wait for the store's source (cp.async.bulk.wait_group.read) and a barrier before the "
             "buffer is written";
    } else if ((who.kind == AccessKind::CpAsync || who.kind == AccessKind::TmaLoad) && issuedHere) {
      // What the issuing warp has read before the issue is ordered with the copy.
      kind = "async-race";
      message = where + " is read before the asynchronous copy that fills it, which the same warp "
                        "has issued, has completed";
      hint = "wait for the copy (its mbarrier phase, or cp.async.wait_group) before the read";
    } else {
      if (who.kind != AccessKind::Generic)
        kind = "async-overwrite";
      message = where + " is overwritten while nothing orders the write after a read" + missing;
      hint = barrierHint;
    }
    break;
  case ConflictKind::WriteAfterWrite:
    if (who.kind != AccessKind::Generic || other.kind() != AccessKind::Generic)
      kind = "async-overwrite";
    message = where + " is written twice and nothing orders the writes" + missing;
    hint = who.kind != AccessKind::Generic || other.kind() != AccessKind::Generic
               ? "put a barrier between the two, or wait for the copy (its mbarrier phase, or "
                 "cp.async.wait_group)"
               : barrierHint;
    break;
  case ConflictKind::MissingProxyFence:
    kind = "missing-proxy-fence";
    message = isWrite ? where + " was accessed ordinarily and is written by an asynchronous copy "
                                "without fence.proxy.async between them"
                      : where + " was written by ordinary stores and is read by " +
                            (who.kind == AccessKind::Wgmma ? "wgmma" : "an asynchronous store") +
                            " without fence.proxy.async between them";
    hint = "every writer executes fence.proxy.async after its stores and before the barrier that "
           "precedes the asynchronous read";
    break;
  }
  if (conflict.note)
    message += kByTheLetter;
  size_t before = findings.size();
  report(kind, std::move(message), std::move(sites), std::move(hint), 1,
         conflict.note ? Severity::Note : Severity::Error);
  conflictIndex[key] = findings.size() > before ? before : ~size_t(0);
}

void Cluster::checkLeftArrivals(const Cta &cta) {
  // A phase that is under way at the end is no fault by itself; beside a race it tells a count that
  // is too low, which lets phases complete early, from a wait that is missing.
  if (!findingCount.contains("async-overwrite") && !findingCount.contains("async-race"))
    return;
  for (const auto &[offset, b] : cta.mbarriers)
    if (b.pending > 0 && b.pending < b.expected)
      report(
          "mbarrier-arrivals",
          "mbarrier " + hex(offset) + " was initialised for " + std::to_string(b.expected) +
              " arrivals and has " + std::to_string(b.expected - b.pending) +
              " left over when the CTA ends, so its phases completed at other arrivals than meant",
          {site("initialised", b.initPc, cta.rank, b.initWarp, -1),
           site("arrived last", b.last.pc, b.last.rank, b.last.warp, b.last.lane)},
          "the count in mbarrier.init must equal the arrivals of one phase");
}

} // namespace girih::emu
