// Named barriers, the cluster barrier, mbarriers and the register pool: who arrives, who waits,
// what completes.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"

#include <algorithm>
#include <cstring>

namespace girih::emu {

// Named barriers (PTX ISA 9.0, 9.7.13.1). Arrivals count in whole warps.

Step Cluster::namedBarrier(Context &c, uint32_t id, uint32_t threads, bool wait, bool aligned,
                           const uint32_t *votes) {
  Cta &cta = c.cta;
  if (id > 15) {
    fault("barrier-invalid", "barrier " + std::to_string(id) + " does not exist; there are 16",
          {here(c, "arrives")});
    return Step::Block;
  }
  if (threads % 32 != 0 || threads > 1024) {
    fault("barrier-invalid",
          "a barrier for " + std::to_string(threads) +
              " threads; the count must be a multiple of 32",
          {here(c, "arrives")});
    return Step::Block;
  }
  NamedBarrier &barrier = cta.barriers[id];
  cta.usedBarriers |= 1u << id;
  bool whole = threads == 0;
  uint32_t expected = whole ? launch.warpsPerCta * 32 : threads;
  if (barrier.arrived == 0) {
    barrier.expected = expected;
    barrier.wholeCta = whole;
    barrier.order = Order();
  } else if (barrier.expected != expected) {
    report("barrier-count",
           "barrier " + std::to_string(id) + " is used for " + std::to_string(expected) +
               " threads here and for " + std::to_string(barrier.expected) +
               " by those who arrived before",
           {here(c, "arrives"), site("arrived", barrier.pc, cta.rank, barrier.warp, -1)},
           "all participants of one use of a barrier must name the same count");
  }
  barrier.pc = c.pc;
  barrier.warp = static_cast<int16_t>(c.warp.index);
  acquireObserved(c.warp);
  barrier.order.join(c.warp.order);
  tick(c.warp);
  // The lanes of a warp that is together count whole, partial last warps included. Without
  // .aligned the parts of a warp arrive one after the other.
  uint32_t lanes = c.mask;
  if (!aligned && c.mask != c.warp.live) {
    auto part = std::find_if(barrier.parts.begin(), barrier.parts.end(),
                             [&](const auto &p) { return p.first == c.warp.index; });
    if (part == barrier.parts.end())
      part = barrier.parts.insert(part, {c.warp.index, 0u});
    part->second |= lanes;
    bool complete = (c.warp.live & ~part->second) == 0;
    barrier.arrived += static_cast<uint32_t>(__builtin_popcount(lanes));
    if (complete) {
      barrier.arrived += 32 - static_cast<uint32_t>(__builtin_popcount(part->second));
      barrier.parts.erase(part);
    }
  } else {
    barrier.arrived += 32;
  }
  if (votes) {
    barrier.isTrue += static_cast<uint32_t>(__builtin_popcount(*votes & lanes));
    barrier.votes += static_cast<uint32_t>(__builtin_popcount(lanes));
  }
  ++progress;
  Fragment &f = c.frag();
  if (wait) {
    barrier.waiters.push_back({c.warp.index, f.id, lanes});
    f.wait = Wait::Barrier;
    f.object = id;
  }
  const uint32_t warpIndex = c.warp.index, fragmentId = f.id;
  barrierComplete(cta, id);
  if (!wait)
    return Step::Next;
  // Completion moves the waiters on, this one included.
  Fragment *now = findFragment(*cta.warps[warpIndex], fragmentId);
  return now && now->wait == Wait::Ready ? Step::Jumped : Step::Block;
}

namespace {
/// The result of barrier.red, d[0], in a register or a predicate: Instr::imm names the operation.
void giveVotes(const NamedBarrier &barrier, Warp &warp, const Instr &in, uint32_t lanes) {
  if (in.d[0] == kNone)
    return;
  uint32_t *d = reinterpret_cast<uint32_t *>(warp.registers + in.d[0]);
  if (in.imm == kVotePopc) {
    for (uint32_t m = lanes; m; m &= m - 1)
      d[__builtin_ctz(m)] = barrier.isTrue;
    return;
  }
  bool result = in.imm == kVoteAnd ? barrier.isTrue == barrier.votes : barrier.isTrue != 0;
  *d = (*d & ~lanes) | (result ? lanes : 0);
}
} // namespace

void Cluster::barrierComplete(Cta &cta, uint32_t id) {
  NamedBarrier &barrier = cta.barriers[id];
  uint32_t expected = barrier.expected;
  if (barrier.wholeCta)
    expected = cta.liveWarps * 32; // threads that have exited are not waited for
  if (barrier.arrived < expected || barrier.arrived == 0)
    return;
  if (barrier.arrived > expected && !barrier.wholeCta) {
    report("barrier-count",
           "more threads arrive at barrier " + std::to_string(id) + " (" +
               std::to_string(barrier.arrived) + ") than it is used for (" +
               std::to_string(expected) + ")",
           {site("arrived last", barrier.pc, cta.rank, barrier.warp, -1)});
  }
  if (trace)
    trace->released(Wait::Barrier, cta.rank, id);
  NamedBarrier done;
  std::swap(done, barrier);
  ++progress;
  for (const auto &waiter : done.waiters) {
    Warp &warp = *cta.warps[waiter.warp];
    Fragment *f = findFragment(warp, waiter.fragment);
    if (!f)
      continue;
    giveVotes(done, warp, kernel.code[f->pc], waiter.lanes);
    acquire(warp, done.order);
    f->wait = Wait::Ready;
    ++f->pc;
    // Where the barrier is the last instruction before a meeting, the fragment's next turn finds it
    // there.
    if (f->pc == f->meetPc)
      arriveAtMeeting(warp, static_cast<uint32_t>(f - warp.fragments.data()));
  }
}

void Cluster::barrierLanesExited(Warp &warp) {
  Cta &cta = *warp.cta;
  for (uint32_t id = 0; id < 16; ++id) {
    NamedBarrier &barrier = cta.barriers[id];
    for (auto part = barrier.parts.begin(); part != barrier.parts.end(); ++part)
      if (part->first == warp.index && (warp.live & ~part->second) == 0) {
        barrier.arrived += 32 - static_cast<uint32_t>(__builtin_popcount(part->second));
        barrier.parts.erase(part);
        barrierComplete(cta, id);
        break;
      }
  }
  clusterMaybeComplete();
}

// The cluster barrier (9.7.13.3): every live thread of the cluster arrives once, then waits.

Step Cluster::clusterArrive(Context &c, bool release) {
  if (c.mask & c.warp.clusterOwed) {
    report("barrier-count",
           "lanes " + laneText(c.mask & c.warp.clusterOwed) +
               " arrive at the cluster barrier twice without waiting",
           {here(c, "arrives")}, "every barrier.cluster.arrive needs a barrier.cluster.wait");
    return Step::Next;
  }
  c.warp.clusterArrived |= c.mask;
  c.warp.clusterOwed |= c.mask;
  acquireObserved(c.warp);
  if (release) {
    clusterOrder.join(c.warp.order);
  } else {
    // Arriving without release hands on what fences have covered before.
    clusterOrder.seen.join(c.warp.narrowFences[static_cast<size_t>(Scope::Cluster)]);
    clusterOrder.seen.join(c.warp.order.published);
    clusterOrder.seen.raise(c.warp.initAgent, c.warp.initFenced);
  }
  exitArriving.raise(c.warp.agent, c.warp.clock());
  tick(c.warp);
  ++progress;
  clusterMaybeComplete();
  return Step::Next;
}

void Cluster::clusterMaybeComplete() {
  // Threads that have exited count as arrived.
  bool any = false;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps) {
      if (warp->live & ~warp->clusterArrived)
        return;
      any |= warp->clusterArrived != 0;
    }
  if (!any)
    return;
  if (trace)
    for (const auto &cta : ctas)
      trace->released(Wait::Cluster, cta->rank, 0);
  clusterReleased.join(clusterOrder);
  clusterOrder = Order();
  exitKnown.join(exitArriving);
  ++progress;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps) {
      warp->clusterArrived = 0;
      for (Fragment &f : warp->fragments)
        if (f.wait == Wait::Cluster)
          f.wait = Wait::Ready;
    }
}

Step Cluster::clusterWait(Context &c) {
  if (c.mask & c.warp.clusterArrived) {
    c.frag().wait = Wait::Cluster;
    return Step::Block;
  }
  if (uint32_t never = c.mask & ~c.warp.clusterOwed)
    report("barrier-count",
           "lanes " + laneText(never) + " wait at the cluster barrier without having arrived",
           {here(c, "waits")}, "barrier.cluster.arrive must come before barrier.cluster.wait");
  c.warp.clusterOwed &= ~c.mask;
  acquire(c.warp, clusterReleased);
  return Step::Next;
}

// mbarriers (9.7.13.16). The state lives beside the memory word, which holds an encoding of it:
// pending arrivals in bits 0..19, expected arrivals in 20..39, transaction bytes in 40..62, the
// phase's parity in 63.

namespace {
/// Counts of arrivals and of transaction bytes have 20 bits and a sign (9.7.13.16.2).
constexpr int64_t kMbarrierLimit = 0xfffff;

uint64_t mbarrierWord(const Mbarrier &b) {
  return (static_cast<uint64_t>(b.pending) & 0xfffff) |
         (static_cast<uint64_t>(b.expected) & 0xfffff) << 20 |
         (static_cast<uint64_t>(b.tx) & 0x7fffff) << 40 | static_cast<uint64_t>(b.phase & 1) << 63;
}
} // namespace

void Cluster::mbarrierStore(Cta &target, const Mbarrier &b) {
  uint64_t word = mbarrierWord(b);
  std::memcpy(target.shared.data() + b.address, &word, 8);
}

void Cluster::mbarrierInit(const Context &c, uint32_t lane, Cta &target, uint32_t offset,
                           uint32_t count) {
  if (offset % 8) {
    fault("misaligned", "the address of an mbarrier is not a multiple of 8",
          {here(c, "initialises an mbarrier", static_cast<int>(lane))});
    return;
  }
  if (count == 0 || count > kMbarrierLimit) {
    fault("mbarrier-count",
          "an mbarrier for " + std::to_string(count) + " arrivals; 1 to 1048575 are possible",
          {here(c, "initialises an mbarrier", static_cast<int>(lane))});
    return;
  }
  Mbarrier &b = target.mbarriers[offset];
  if (b.address && (b.pending != b.expected || b.tx != 0))
    report("mbarrier-reinit", "an mbarrier is initialised again while a phase is under way",
           {here(c, "initialises", static_cast<int>(lane)),
            site("initialised before", b.initPc, target.rank, b.initWarp, -1)});
  AgentId agent = b.address ? b.agent : newAgent();
  uint32_t phase =
      b.address ? b.phase + 2 - (b.phase & 1) : 0; // clocks never run back; the parity is 0
  b = Mbarrier();
  b.address = offset;
  b.agent = agent;
  b.phase = b.waited = phase;
  b.expected = b.pending = count;
  b.initPc = c.pc;
  b.initWarp = static_cast<int16_t>(c.warp.index);
  b.initAgent = c.warp.agent;
  b.initClock = c.warp.clock();
  b.initFenceAgent = c.warp.initAgent;
  b.initSequence = ++c.warp.initSequence;
  if (checking()) {
    target.shadow->forget(offset, 8);
    target.sharedDefined.set(offset, 8);
  }
  mbarrierStore(target, b);
  ++progress;
}

Mbarrier *Cluster::mbarrier(const Context &c, uint32_t lane, Cta &target, uint32_t offset,
                            const char *what) {
  auto found = target.mbarriers.find(offset);
  if (found == target.mbarriers.end()) {
    Site here = this->here(c, what, static_cast<int>(lane));
    here.space = "shared";
    here.address = offset;
    here.bytes = 8;
    fault("mbarrier-uninitialised", "the mbarrier was not initialised", {here},
          "mbarrier.init must come first, ordered by a barrier");
    return nullptr;
  }
  Mbarrier &b = found->second;
  uint64_t word;
  std::memcpy(&word, target.shared.data() + offset, 8);
  if (word != mbarrierWord(b)) {
    Site here = this->here(c, what, static_cast<int>(lane));
    here.space = "shared";
    here.address = offset;
    here.bytes = 8;
    report("mbarrier-overwritten", "the memory of an mbarrier was written by something else",
           {here, site("initialised", b.initPc, target.rank, b.initWarp, -1)},
           "does a buffer or a copy overlap the barrier?");
    mbarrierStore(target, b);
  }
  if (checking() && c.warp.order.seen.get(b.initAgent) < b.initClock &&
      c.warp.order.seen.get(b.initFenceAgent) < b.initSequence) {
    Site here = this->here(c, what, static_cast<int>(lane));
    here.space = "shared";
    here.address = offset;
    here.bytes = 8;
    report("mbarrier-uninitialised",
           "an mbarrier is used without a barrier between its initialisation and the use",
           {here, site("initialised", b.initPc, target.rank, b.initWarp, -1)},
           "put bar.sync (or the cluster barrier) after mbarrier.init");
  }
  return &b;
}

void Cluster::mbarrierArrive(Cta &target, Mbarrier &b, int64_t count, const Mbarrier::Arrival &by,
                             const Order *order) {
  if (count < 1 || count > kMbarrierLimit) {
    report("mbarrier-count",
           "an arrival with the count " + std::to_string(count) + "; 1 to 1048575 are possible",
           {site("arrives", by.pc, by.rank, by.warp, by.lane)});
    return;
  }
  if (b.pending < count) {
    report("mbarrier-arrivals",
           "more arrivals than the mbarrier was initialised for: " + std::to_string(count) +
               " arrive, " + std::to_string(b.pending) + " of " + std::to_string(b.expected) +
               " are pending",
           {site("arrives", by.pc, by.rank, by.warp, by.lane),
            site("arrived before", b.last.pc == ~0u ? b.initPc : b.last.pc, b.last.rank,
                 b.last.warp, b.last.lane),
            site("initialised", b.initPc, target.rank, b.initWarp, -1)},
           "the count in mbarrier.init must equal the arrivals of one phase");
    count = b.pending;
  }
  b.pending -= count;
  if (by.rank != target.rank && checking())
    noteRemote(target, *ctas[by.rank]->warps[static_cast<size_t>(by.warp)], by.pc, by.lane,
               "arrives at its mbarrier");
  if (order && strict() && by.rank != target.rank && !by.clusterScope) {
    // By the letter .release.cta does not reach another CTA.
    Clock letter = b.arriving.strict;
    b.arriving.join(*order);
    b.arriving.strict = std::move(letter);
  } else if (order) {
    b.arriving.join(*order);
    if (strict() && by.rank == target.rank)
      b.arrivingLocally.join(order->strict);
  }
  b.remember(by);
  ++progress;
  mbarrierMaybeComplete(target, b);
}

void Cluster::mbarrierDrop(Cta &target, Mbarrier &b, int64_t count, const Mbarrier::Arrival &by) {
  if (count > b.expected) {
    report("mbarrier-arrivals",
           std::to_string(count) + " arrivals are dropped from an mbarrier for " +
               std::to_string(b.expected),
           {site("drops", by.pc, by.rank, by.warp, by.lane),
            site("initialised", b.initPc, target.rank, b.initWarp, -1)});
    count = b.expected;
  }
  b.expected -= count;
}

void Cluster::mbarrierExpect(Cta &target, Mbarrier &b, int64_t bytes, const Mbarrier::Arrival &by) {
  b.tx += bytes;
  b.lastExpect = by;
  b.lastExpect.phase = b.phase;
  if (b.tx > kMbarrierLimit)
    report("mbarrier-bytes",
           "an mbarrier expects " + std::to_string(b.tx) + " bytes; it counts to 1048575 only",
           {site("expects", by.pc, by.rank, by.warp, by.lane)});
  mbarrierStore(target, b);
}

void Cluster::mbarrierComplete(Cta &target, Mbarrier &b, int64_t bytes, const Site &by) {
  b.tx -= bytes;
  ++progress;
  if (b.tx < -kMbarrierLimit)
    report("mbarrier-bytes",
           std::to_string(-b.tx) +
               " bytes have completed at an mbarrier that were not announced; it counts to 1048575 "
               "only",
           {by}, "announce the bytes (expect_tx) before or soon after the copies are issued");
  if (b.tx < 0 && b.pending == 0) {
    // All arrivals are there, so nobody is left to announce more.
    std::vector<Site> sites{by};
    if (b.lastExpect.pc != ~0u)
      sites.push_back(site("expected bytes last", b.lastExpect.pc, b.lastExpect.rank,
                           b.lastExpect.warp, b.lastExpect.lane));
    report("mbarrier-bytes",
           "more bytes complete than the mbarrier expects: " + std::to_string(-b.tx) +
               " too many in one phase",
           std::move(sites),
           "expect_tx must announce exactly the bytes that the copies of the phase deliver");
    b.tx = 0;
  }
  mbarrierMaybeComplete(target, b);
}

void Cluster::mbarrierMaybeComplete(Cta &target, Mbarrier &b) {
  if (b.pending == 0 && b.tx < 0) {
    std::vector<Site> sites;
    if (b.lastExpect.pc != ~0u)
      sites.push_back(site("expected bytes last", b.lastExpect.pc, b.lastExpect.rank,
                           b.lastExpect.warp, b.lastExpect.lane));
    if (b.last.pc != ~0u)
      sites.push_back(site("arrived last", b.last.pc, b.last.rank, b.last.warp, b.last.lane));
    report("mbarrier-bytes",
           "more bytes complete than the mbarrier expects: " + std::to_string(-b.tx) +
               " too many in one phase",
           std::move(sites),
           "expect_tx must announce exactly the bytes that the copies of the phase deliver");
    b.tx = 0;
  }
  if (b.pending == 0 && b.tx == 0) {
    if (checking() && b.phase > b.waited)
      report(
          "mbarrier-overrun",
          "a phase of an mbarrier completes before anybody has waited for the phase before it, so "
          "a wait by parity misses both",
          {site("completed it by arriving last", b.last.pc, b.last.rank, b.last.warp, b.last.lane),
           site("initialised for " + std::to_string(b.expected) + " arrivals", b.initPc,
                target.rank, b.initWarp, -1)},
          "is the count in mbarrier.init lower than the arrivals of one phase, or a wait missing?");
    ++b.phase;
    b.pending = b.expected;
    b.released.join(b.arriving);
    b.released.seen.raise(b.agent, b.phase);
    b.released.fenced.raise(b.agent, b.phase);
    b.arriving = Order();
    b.releasedLocally.join(b.arrivingLocally);
    b.arrivingLocally = Clock();
    ++progress;
    if (trace)
      trace->released(Wait::Mbarrier, target.rank, b.address);
    for (auto &warp : target.warps)
      for (Fragment &f : warp->fragments)
        if (f.wait == Wait::Mbarrier && f.object == b.address)
          f.wait = Wait::Ready;
  }
  mbarrierStore(target, b);
}

// setmaxnreg (9.7.19.5).

Step Cluster::setmaxnreg(Context &c, uint32_t count, bool increase) {
  Warp &warp = c.warp;
  Cta &cta = c.cta;
  int64_t change = (static_cast<int64_t>(count) - warp.registerCount) * 32;
  if (increase ? change < 0 : change > 0) {
    report(
        "setmaxnreg-direction",
        std::string("setmaxnreg.") + (increase ? "inc" : "dec") + " from " +
            std::to_string(warp.registerCount) + " to " + std::to_string(count) + " registers",
        {here(c, "executes it")},
        "the launch gives each thread its registers by .maxnreg, or 65536 divided by the threads");
    warp.registerCount = count;
    return Step::Next;
  }
  if (change > cta.registerPool) {
    c.frag().wait = Wait::Registers;
    c.frag().value = static_cast<uint64_t>(change);
    return Step::Block;
  }
  cta.registerPool -= change;
  warp.registerCount = count;
  ++warp.setmaxnregs;
  warp.setmaxnregPc = c.pc;
  ++progress;
  if (!increase)
    wakeRegisters(cta);
  return Step::Next;
}

void Cluster::wakeRegisters(Cta &cta) {
  for (auto &warp : cta.warps)
    for (Fragment &f : warp->fragments)
      if (f.wait == Wait::Registers)
        f.wait = Wait::Ready;
}

} // namespace girih::emu
