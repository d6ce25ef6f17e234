// The choice of who runs next: warps, and operations in flight.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"

namespace girih::emu {

namespace {
/// Turns in which warps only ask, and nothing changes, after which time jumps ahead, and after
/// which the cluster is given up.
constexpr uint64_t kIdlePolls = 2000;
/// The same, where somebody asks for what other clusters can change.
constexpr uint64_t kSpinPolls = 64;
} // namespace

bool Cluster::asyncPending() const {
  if (!async.empty())
    return true;
  for (const auto &cta : ctas)
    for (const WgmmaQueue &queue : cta->wgmmaQueues)
      if (!queue.operations.empty() && queue.operations.front()->arrived == 15)
        return true;
  return false;
}

Warp *Cluster::pickWarp(bool &polling) {
  const uint32_t perCta = launch.warpsPerCta, count = perCta * launch.clusterSize;
  const Adversary adversary = launch.options.adversary;
  uint32_t start = random.below(count);
  // Everybody runs some time, whatever the adversary, and also beside warps that seem to compute: a
  // loop with a back-off by the clock does, and may wait for one that polls.
  const bool lenient = random.below(16) == 0;
  Warp *fallback = nullptr, *starvedWarp = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t at = lenient                                  ? (start + i) % count
                  : adversary == Adversary::ProducersFirst ? i
                  : adversary == Adversary::ConsumersFirst ? count - 1 - i
                                                           : (start + i) % count;
    Warp &warp = *ctas[at / perCta]->warps[at % perCta];
    bool ready = false, fresh = false;
    for (const Fragment &f : warp.fragments)
      if (f.wait == Wait::Ready) {
        ready = true;
        fresh |= f.isFresh();
      }
    if (!ready)
      continue;
    if (adversary == Adversary::StarveOne && at == starved && !lenient) {
      starvedWarp = &warp;
      continue;
    }
    if (fresh || lenient) {
      polling = false;
      return &warp;
    }
    // Among those that only poll, the random start keeps it fair.
    if (!fallback || random.below(3) == 0)
      fallback = &warp;
  }
  polling = true;
  if (starvedWarp && (!fallback || random.below(4) == 0))
    return starvedWarp;
  return fallback;
}

bool Cluster::anySpins() const {
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments)
        if (f.wait == Wait::Ready && f.spins)
          return true;
  return false;
}

uint32_t Cluster::chooseFragment(const Warp &warp) {
  // One of the fragments that can run; those that poll come second.
  uint32_t chosen = ~0u, seen = 0;
  bool anyFresh = false;
  for (const Fragment &f : warp.fragments)
    anyFresh |= f.wait == Wait::Ready && f.isFresh();
  // One lane after the other; now and then another one, since a lane may wait for its neighbour.
  const bool lowest = !launch.singly.empty() && random.below(16) != 0;
  for (uint32_t i = 0; i < warp.fragments.size(); ++i) {
    const Fragment &f = warp.fragments[i];
    if (f.wait != Wait::Ready || (anyFresh && !f.isFresh()))
      continue;
    const bool takes =
        lowest ? chosen == ~0u || __builtin_ctz(f.mask) < __builtin_ctz(warp.fragments[chosen].mask)
               : seen++ == 0 || random.below(seen) == 0;
    if (takes)
      chosen = i;
  }
  return chosen;
}

void Cluster::runSteps(uint64_t budget) {
  budgetEnd = steps + budget;
  if (seenHeapChanges != launch.memory->heapChanges)
    forgetAllocations();
  const Adversary adversary = launch.options.adversary;
  double share = adversary == Adversary::AsyncLate    ? 0
                 : adversary == Adversary::AsyncEarly ? 1
                                                      : launch.asyncShare;
  while (!finished() && steps < budgetEnd) {
    if (launch.options.cancel && launch.options.cancel->load(std::memory_order_relaxed)) {
      stopped = true;
      outcome = Outcome::Cancelled;
      return;
    }
    ++steps;
    bool pending = asyncPending();
    if (pending && share > 0 && random.chance(share)) {
      advanceAsync();
      continue;
    }
    bool polling = false;
    Warp *warp = liveCtas ? pickWarp(polling) : nullptr;
    if (warp && polling) {
      // Nobody does anything but ask again: let what is in flight proceed, or the other clusters,
      // or give up.
      if (pending) {
        advanceAsync();
      } else if (waitsForCommit() || waitsForGrid()) {
        return;
      } else {
        if (idleProgress != progress) {
          idleProgress = progress;
          idlePolls = 0;
        }
        if (++idlePolls % kSpinPolls == 0 && anySpins())
          return; // it may be for another cluster to change what is asked for
        if (idlePolls > kIdlePolls) {
          if (stuckProgress == progress) {
            reportDeadlock();
            return;
          }
          stuckProgress = progress;
          idlePolls = 0;
          jumpAhead();
        }
      }
    }
    if (warp) {
      // Mostly long runs, for speed; often enough short ones, for the interleavings.
      uint32_t burst = random.below(4) == 0 ? 1 + random.below(6) : 16 + random.below(240);
      runWarp(*warp, burst);
      continue;
    }
    if (pending) {
      advanceAsync();
      continue;
    }
    if (waitsForCommit() || waitsForGrid())
      return;
    if (!unstick()) {
      reportDeadlock();
      return;
    }
  }
}

bool Cluster::advanceAsync() {
  uint32_t ready = 0;
  for (auto &cta : ctas)
    for (WgmmaQueue &queue : cta->wgmmaQueues)
      ready += !queue.operations.empty() && queue.operations.front()->arrived == 15;
  uint32_t total = static_cast<uint32_t>(async.size()) + ready;
  if (!total)
    return false;
  uint32_t pick = random.below(total);
  ++progress;
  hash(uint64_t(0xa5) << 56 ^ pick);
  if (pick < async.size()) {
    // The operation may add others while it runs; it stays alive here.
    if (trace)
      trace->unit(async[pick]->cta->rank, TraceTrack::copies, async[pick]->pc, steps);
    if (async[pick]->advance(*this)) {
      if (async[pick]->endsAtCommit())
        atCommit.push_back(std::move(async[pick]));
      async.erase(async.begin() + pick);
    }
    return true;
  }
  pick -= static_cast<uint32_t>(async.size());
  for (auto &cta : ctas)
    for (uint32_t group = 0; group < cta->wgmmaQueues.size(); ++group) {
      WgmmaQueue &queue = cta->wgmmaQueues[group];
      if (!queue.operations.empty() && queue.operations.front()->arrived == 15 && pick-- == 0) {
        if (trace)
          trace->unit(cta->rank, TraceTrack::wgmma + group, queue.operations.front()->pc, steps);
        return runWgmma(*cta, group);
      }
    }
  return false;
}

} // namespace girih::emu
