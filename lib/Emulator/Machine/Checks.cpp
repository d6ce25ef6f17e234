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

Site Cluster::site(std::string action, uint32_t pc, uint32_t rank, int warp, int lane) const {
  Site s;
  s.action = std::move(action);
  if (pc < kernel.info.size()) {
    const InstrInfo &info = kernel.info[pc];
    s.ptxLine = info.line;
    s.ptxText = info.text;
    s.source = kernel.module->source(info.location);
  }
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

// When nobody can go on.

bool Cluster::unstick() {
  if (releaseMeetings())
    return true;
  if (stuckProgress == progress)
    return false;
  // Time passes: every suspended try_wait returns false once.
  stuckProgress = progress;
  bool any = false;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        if (f.wait == Wait::Mbarrier) {
          f.wait = Wait::Ready;
          f.timeUp = true;
          any = true;
        }
  return any;
}

std::string Cluster::describeMbarrier(const Cta &, const Mbarrier &b) const {
  std::string text =
      "mbarrier " + hex(b.address) + " is in phase " + std::to_string(b.phase) + ", ";
  text += b.pending ? std::to_string(b.pending) + " of " + std::to_string(b.expected) +
                          " arrivals are missing"
                    : "all " + std::to_string(b.expected) + " arrivals are there";
  text += ", " + std::to_string(b.tx) + " bytes are outstanding";
  return text;
}

void Cluster::explainMbarrier(const Cta &cta, const Mbarrier &b, std::vector<Site> &sites) const {
  if (b.last.pc != ~0u)
    sites.push_back(site("last arrived at mbarrier " + hex(b.address) + " (in phase " +
                             std::to_string(b.last.phase) + ")",
                         b.last.pc, b.last.rank, b.last.warp, b.last.lane));
  if (b.lastExpect.pc != ~0u)
    sites.push_back(site("last expected bytes at mbarrier " + hex(b.address) + " (in phase " +
                             std::to_string(b.lastExpect.phase) + ")",
                         b.lastExpect.pc, b.lastExpect.rank, b.lastExpect.warp, b.lastExpect.lane));
  sites.push_back(site("initialised mbarrier " + hex(b.address) + " for " +
                           std::to_string(b.expected) + " arrivals",
                       b.initPc, cta.rank, b.initWarp, -1));
}

std::string Cluster::waitText(const Cta &cta, const Fragment &f) const {
  switch (f.wait) {
  case Wait::Ready:
  case Wait::Mbarrier: {
    auto found = cta.mbarriers.find(f.object);
    if (found == cta.mbarriers.end())
      return "polls";
    return std::string(f.wait == Wait::Ready ? "polls for" : "waits for") + " phase " +
           std::to_string(f.value) + ": " + describeMbarrier(cta, found->second);
  }
  case Wait::Barrier: {
    const NamedBarrier &b = cta.barriers[f.object];
    uint32_t expected = b.wholeCta ? cta.liveWarps * 32 : b.expected;
    return "waits at barrier " + std::to_string(f.object) + ": " + std::to_string(b.arrived) +
           " of " + std::to_string(expected) + " threads have arrived";
  }
  case Wait::Cluster:
    return "waits at the cluster barrier";
  case Wait::Bulk:
    return "waits for its asynchronous copies";
  case Wait::Wgmma:
    return "waits for wgmma, which not all warps of the warpgroup have issued";
  case Wait::Registers:
    return "waits in setmaxnreg for " + std::to_string(f.value) + " registers; " +
           std::to_string(cta.registerPool) + " are free";
  case Wait::Ordered:
    return "waits for global memory";
  case Wait::WarpSync:
    return "waits for lanes " + laneText(f.object & ~f.mask) + " of its warp";
  }
  return "waits";
}

void Cluster::reportDeadlock() {
  std::vector<Site> sites;
  std::string summary;
  std::set<std::pair<uint32_t, uint32_t>> explained;
  unsigned waiting = 0;
  for (auto &cta : ctas) {
    std::set<std::pair<uint32_t, uint64_t>> described;
    for (auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments) {
        ++waiting;
        // Warps that wait for the same thing at the same place are told once.
        if (!described.insert({f.pc, uint64_t(f.wait) << 32 | f.object}).second ||
            sites.size() >= 24)
          continue;
        std::string text = waitText(*cta, f);
        if (f.mask != warp->live)
          text += " (lanes " + laneText(f.mask) + ")";
        sites.push_back(site(text, f.pc, cta->rank, static_cast<int>(warp->index), -1));
        bool barrier = f.wait == Wait::Mbarrier || f.wait == Wait::Ready;
        auto found = barrier ? cta->mbarriers.find(f.object) : cta->mbarriers.end();
        if (found == cta->mbarriers.end() || !explained.insert({cta->rank, f.object}).second)
          continue;
        const Mbarrier &b = found->second;
        if (summary.size() < 600)
          summary += "; " + describeMbarrier(*cta, b);
        explainMbarrier(*cta, b, sites);
        bool arriving = false;
        for (const auto &op : async)
          arriving |= op->signals(*cta, b.address);
        if (b.pending == 0 && b.tx > 0 && !arriving) {
          std::vector<Site> both;
          if (b.lastExpect.pc != ~0u)
            both.push_back(site("expected bytes last", b.lastExpect.pc, b.lastExpect.rank,
                                b.lastExpect.warp, b.lastExpect.lane));
          both.push_back(site("waits", f.pc, cta->rank, static_cast<int>(warp->index), -1));
          report("mbarrier-bytes",
                 "mbarrier " + hex(b.address) + " expects " + std::to_string(b.tx) +
                     " more bytes and no copy in flight will deliver them",
                 std::move(both),
                 "expect_tx must announce exactly the bytes that the copies of the phase deliver");
        } else if (b.pending == b.expected && b.tx == 0 && !arriving &&
                   uint32_t(f.value) == b.phase) {
          std::vector<Site> both{site("waits for phase " + std::to_string(f.value), f.pc, cta->rank,
                                      static_cast<int>(warp->index), -1)};
          if (b.last.pc != ~0u)
            both.push_back(site("last arrived, in phase " + std::to_string(b.last.phase), b.last.pc,
                                b.last.rank, b.last.warp, b.last.lane));
          report(
              "mbarrier-parity",
              "nobody arrives in phase " + std::to_string(b.phase) + " of mbarrier " +
                  hex(b.address) + ", which is waited for",
              std::move(both),
              "is the parity of the wait that of a phase to come, or does the other side wait for "
              "this one?");
        } else if (b.pending > 0 && b.pending < b.expected && b.tx == 0) {
          report("mbarrier-arrivals",
                 "mbarrier " + hex(b.address) + " was initialised for " +
                     std::to_string(b.expected) + " arrivals and " + std::to_string(b.pending) +
                     " never come",
                 {site("initialised", b.initPc, cta->rank, b.initWarp, -1),
                  site("arrived last", b.last.pc, b.last.rank, b.last.warp, b.last.lane)},
                 "the count in mbarrier.init must equal the arrivals of one phase");
        }
      }
    for (auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments)
        if (f.wait == Wait::Registers) {
          report("setmaxnreg-pool",
                 "setmaxnreg asks for " + std::to_string(f.value) + " registers and " +
                     std::to_string(cta->registerPool) +
                     " are free in the CTA: the budgets exceed " +
                     std::to_string(launch.launchRegisters) + " registers a thread at launch",
                 {site("waits for registers", f.pc, cta->rank, static_cast<int>(warp->index), -1)},
                 "the sum of registers over all warps must not exceed what the launch allots");
        }
  }
  report("deadlock",
         "nobody can make progress: " + std::to_string(waiting) + " warps wait" + summary,
         std::move(sites));
  stopped = true;
  outcome = Outcome::Deadlock;
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

void Cluster::reportLivelock() {
  std::vector<Site> sites;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments)
        if (sites.size() < 8)
          sites.push_back(site(f.wait == Wait::Ready ? "runs" : waitText(*cta, f), f.pc, cta->rank,
                               static_cast<int>(warp->index), -1));
  report("livelock", "threads poll, and no memory, barrier or copy changes any more",
         std::move(sites));
  stopped = true;
  outcome = Outcome::Deadlock;
}

} // namespace girih::emu
