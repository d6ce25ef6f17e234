// What orders threads: strong accesses, fences and barriers, as the checks see them; and the log of
// accesses to global memory.
//
// The model is that of the PTX ISA 9.0, chapter 8, read as production kernels read it:
// - A fence at the scope of the device makes visible what its thread knows; a relaxed write hands
//   that on, also when a barrier lies between the fences of many threads and the one write.
// - A relaxed or volatile read hands on what it observed at the next fence or barrier.
// - A warp waits, and arrives, as one, also where one lane does it.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Machine.h"

#include <bit>

namespace girih::emu {

const std::shared_ptr<const Snapshot> &Cluster::snapshotOf(Warp &warp) {
  const uint32_t version = warp.order.version() + warp.syncVersion;
  if (!warp.snapshot || warp.snapshotVersion != version) {
    auto fresh = std::make_shared<Snapshot>();
    fresh->order = warp.order;
    fresh->synced = warp.synced;
    if (warp.lanes)
      fresh->lanes = std::make_shared<const LaneClocks>(*warp.lanes);
    warp.snapshot = std::move(fresh);
    warp.snapshotVersion = version;
    warp.snapshotLogged = false;
  }
  return warp.snapshot;
}

Accessor Cluster::accessorOf(const Context &c, uint32_t lane, uint32_t laneBytes,
                             uint16_t flags) const {
  Accessor who;
  who.agent = c.warp.agent;
  who.clock = c.warp.clock();
  who.order = &c.warp.order;
  who.pc = c.pc;
  who.warp = static_cast<int>(c.warp.index);
  who.lane = static_cast<int>(lane);
  who.manyLanes = lane >= 32;
  who.laneBytes = laneBytes;
  who.cluster = worldId();
  who.rank = c.cta.rank;
  who.flags = flags;
  who.synced = c.warp.synced;
  who.lanes = c.warp.lanes.get();
  return who;
}

void Cluster::noteGlobal(const Context &c, uint32_t lane, uint64_t address, uint32_t bytes,
                         uint32_t laneBytes, uint16_t flags) {
  if (!checking())
    return;
  Accessor who = accessorOf(c, lane, bytes > laneBytes ? laneBytes : 0, flags);
  snapshotOf(c.warp);
  if (!c.warp.snapshotLogged || c.warp.snapshotRound != log.round) {
    log.snapshots.push_back(c.warp.snapshot);
    c.warp.snapshotLogged = true;
    c.warp.snapshotRound = log.round;
  }
  log.records.push_back(
      {address, c.warp.snapshot.get(), epochOf(who), bytes, (flags & kAccessWrite) != 0});
  if (flags & kAccessStrong)
    orderStrong(c, *launch.syncPoints, address, flags);
}

void Cluster::noteGlobalAsync(const Accessor &who, const std::shared_ptr<const Snapshot> &snapshot,
                              uint64_t address, uint32_t bytes, bool write) {
  if (!checking() || !bytes)
    return;
  if (log.snapshots.empty() || log.snapshots.back() != snapshot)
    log.snapshots.push_back(snapshot);
  log.records.push_back({address, snapshot.get(), epochOf(who), bytes, write});
}

// Strong accesses.

void Cluster::orderStrong(const Context &c, SyncPoints &points, uint64_t location, uint16_t flags) {
  Warp &warp = c.warp;
  const Scope scope = scopeOf(flags);
  const uint32_t self = worldId();
  const SyncPoints::Thread by{self, c.cta.rank};
  const bool reads = !(flags & kAccessWrite) || (flags & kAccessAtomic);
  if (reads) {
    Handover observed = points.observe(location, scope, by);
    if (!observed.empty()) {
      if (flags & kAccessAcquire) {
        acquire(warp, observed);
        warp.order.strict.join(observed.strict, self);
      } else {
        warp.observed.join(observed);
        warp.observedStrictly = joinWorlds(warp.observedStrictly, observed.strict);
      }
    }
  }
  if (!(flags & kAccessWrite))
    return;
  points.write(location, flags & kAccessAtomic);
  const Order &order = warp.order;
  auto release = [&](Scope at, const Clock &seen, const Clock &letter) {
    points.release(location, at, by,
                   {seen.publish(self), order.fencedGlobal.publish(self),
                    strict() ? letter.publish(self) : nullptr});
  };
  if (flags & kAccessRelease) {
    release(scope, order.seen, order.strict);
    tick(warp);
    return;
  }
  if (!order.published.empty())
    release(scope, order.published, warp.fencedStrictly);
  for (Scope narrow : {Scope::Cta, Scope::Cluster})
    if (const Clock &fence = warp.narrowFences[static_cast<size_t>(narrow)]; !fence.empty())
      release(std::min(scope, narrow), fence, fence);
}

void Cluster::acquire(Warp &warp, const Handover &observed) {
  const uint32_t self = worldId();
  const uint32_t now = warp.clock();
  warp.order.seen.join(observed.seen, self);
  warp.order.fencedGlobal.join(observed.fenced, self);
  // What came at the scope of the device is visible there.
  warp.order.published.join(observed.seen, self);
  if (const std::vector<uint32_t> *own = observed.seen->find(self); own && warp.agent < own->size())
    syncLanes(warp, std::min(now, (*own)[warp.agent]));
}

void Cluster::acquire(Warp &warp, const Order &order) {
  syncLanes(warp, order.seen.get(warp.agent));
  warp.order.join(order);
}

void Cluster::acquire(Warp &warp, const Mbarrier &barrier, bool clusterScope) {
  if (!strict() || clusterScope) {
    acquire(warp, barrier.released);
    return;
  }
  Clock letter = warp.order.strict;
  letter.join(barrier.releasedLocally);
  acquire(warp, barrier.released);
  warp.order.strict = std::move(letter);
}

void Cluster::acquireObserved(Warp &warp) {
  if (warp.observed.empty())
    return;
  acquire(warp, warp.observed);
  warp.observed = Handover();
}

void Cluster::fence(Warp &warp, Scope scope) {
  if (!checking())
    return;
  acquireObserved(warp);
  if (strict()) {
    warp.order.strict.join(warp.observedStrictly, static_cast<uint32_t>(linear));
    warp.observedStrictly = nullptr;
    if (scope >= Scope::Gpu)
      warp.fencedStrictly.join(warp.order.strict);
  }
  if (scope >= Scope::Gpu)
    warp.order.published.join(warp.order.seen);
  else
    warp.narrowFences[static_cast<size_t>(scope)].join(warp.order.seen);
  tick(warp);
}

// Lanes of a warp.

void Cluster::syncLanes(Warp &warp, uint32_t clock) {
  if (clock <= warp.synced)
    return;
  warp.synced = clock;
  ++warp.syncVersion;
}

void Cluster::warpSync(Warp &warp, uint32_t lanes) {
  if (!checking())
    return;
  acquireObserved(warp);
  const uint32_t now = warp.clock();
  lanes &= warp.live;
  if (lanes == warp.live) {
    syncLanes(warp, now);
  } else {
    if (!warp.lanes)
      warp.lanes = std::make_unique<LaneClocks>();
    uint32_t joined[32] = {};
    for (uint32_t m = lanes; m; m &= m - 1)
      for (unsigned other = 0; other < 32; ++other)
        joined[other] = std::max(joined[other], warp.lanes->seen[std::countr_zero(m)][other]);
    for (uint32_t m = lanes; m; m &= m - 1)
      joined[std::countr_zero(m)] = now;
    for (uint32_t m = lanes; m; m &= m - 1)
      std::copy(std::begin(joined), std::end(joined), warp.lanes->seen[std::countr_zero(m)]);
    ++warp.syncVersion;
  }
  tick(warp);
}

} // namespace girih::emu
