// A cluster's life: its start, the instruction loop, divergence, and the commit.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Async.h"
#include "Emulator/Machine/Machine.h"
#include "Emulator/Program/Decoder.h"

#include <algorithm>

namespace girih::emu {

std::unique_ptr<Cta> CtaPool::take() {
  std::lock_guard<std::mutex> lock(mutex);
  if (free.empty())
    return std::make_unique<Cta>();
  std::unique_ptr<Cta> cta = std::move(free.back());
  free.pop_back();
  return cta;
}
void CtaPool::give(std::unique_ptr<Cta> cta) {
  std::lock_guard<std::mutex> lock(mutex);
  free.push_back(std::move(cta));
}

Cluster::Cluster(const LaunchContext &launch, uint64_t linear)
    : launch(launch), kernel(*launch.kernel),
      random(launch.options.seed * 0x2545f4914f6cdd1du + linear + (uint64_t(launch.ordinal) << 48)),
      linear(linear) {
  starved = random.below(launch.warpsPerCta * launch.clusterSize);
  if (launch.traced)
    trace = std::make_unique<TraceRecorder>();
}

Cluster::~Cluster() { retire(); }

void Cluster::begin() {
  begun = true;
  // Agents: warps, their bulk queues, wgmma queues; mbarriers get theirs when they are initialised.
  for (uint32_t rank = 0; rank < launch.clusterSize; ++rank) {
    ctas.push_back(launch.pool->take());
    startCta(*ctas.back(), rank);
  }
}

/// Gives the CTAs' memory and registers to the next cluster: while this host thread runs it, they
/// are still in its cache.
void Cluster::retire() {
  for (std::unique_ptr<Cta> &cta : ctas)
    launch.pool->give(std::move(cta));
  ctas.clear();
}

Dim3 ctaOf(const Dim3 &grid, const Dim3 &shape, uint64_t cluster, uint32_t rank) {
  const uint64_t clustersX = grid.x / shape.x, clustersY = grid.y / shape.y;
  Dim3 id;
  id.x = static_cast<uint32_t>(cluster % clustersX) * shape.x + rank % shape.x;
  id.y =
      static_cast<uint32_t>(cluster / clustersX % clustersY) * shape.y + rank / shape.x % shape.y;
  id.z =
      static_cast<uint32_t>(cluster / clustersX / clustersY) * shape.z + rank / shape.x / shape.y;
  return id;
}

Dim3 Cluster::ctaId(uint64_t cluster, uint32_t rank) const {
  return ctaOf(launch.grid, launch.cluster, cluster, rank);
}

void Cluster::startCta(Cta &cta, uint32_t rank) {
  cta.cluster = this;
  cta.rank = rank;
  cta.id = ctaId(linear, rank);
  // Undefined contents: a pattern that is no small number in any format.
  cta.shared.assign(launch.sharedBytes, 0xcb);
  if (checking()) {
    if (!cta.shadow)
      cta.shadow = std::make_unique<Shadow>();
    cta.shadow->reset(launch.sharedBytes);
    cta.sharedDefined.reset(launch.sharedBytes + 64);
  }
  cta.mbarriers.clear();
  cta.remoteAccesses.clear();
  for (; cta.usedBarriers; cta.usedBarriers &= cta.usedBarriers - 1)
    cta.barriers[__builtin_ctz(cta.usedBarriers)] = NamedBarrier();
  cta.registerPool = 0;
  cta.dependentsLaunched = false;
  cta.liveWarps = launch.warpsPerCta;
  cta.wgmmaQueues.resize((launch.warpsPerCta + 3) / 4);
  for (WgmmaQueue &queue : cta.wgmmaQueues) {
    queue = WgmmaQueue();
    queue.agent = newAgent();
  }
  ++liveCtas;
  cta.warps.resize(launch.warpsPerCta);
  for (uint32_t w = 0; w < launch.warpsPerCta; ++w) {
    if (!cta.warps[w])
      cta.warps[w] = std::make_unique<Warp>();
    startWarp(cta, *cta.warps[w], w);
  }
}

void Cluster::startWarp(Cta &cta, Warp &warp, uint32_t index) {
  warp.restart();
  warp.cta = &cta;
  warp.index = index;
  warp.firstThread = index * 32;
  uint32_t threads = std::min(32u, launch.threadsPerCta - index * 32);
  warp.live = threads == 32 ? kFullMask : (1u << threads) - 1;
  if (!warp.storage) {
    warp.storage.reset(static_cast<uint8_t *>(std::calloc(kernel.registerBytes + 64, 1)));
    warp.registers = reinterpret_cast<uint8_t *>(
        (reinterpret_cast<uintptr_t>(warp.storage.get()) + 63) / 64 * 64);
  } else {
    std::memset(warp.registers, 0, kernel.registerBytes);
  }
  warp.localBytes = kernel.localBytes;
  std::fill(std::begin(warp.stack), std::end(warp.stack), kernel.localBytes);
  warp.calls.clear();
  warp.local.assign(size_t(32) * kernel.localBytes, 0xcb);
  if (checking()) {
    warp.defined.reset(kernel.registerBytes / 64 + 1);
    warp.localDefined.reset(warp.local.size() + 64);
  }
  warp.registerCount = launch.launchRegisters;
  warp.agent = newAgent();
  warp.bulkAgent = newAgent();
  warp.bulkWrites = newAgent();
  warp.initAgent = newAgent();
  warp.order.seen.raise(warp.agent, 1);
  if (strict())
    warp.order.strict.raise(warp.agent, 1);
  if (launch.known)
    for (Clock *clock : {&warp.order.seen, &warp.order.fencedGlobal, &warp.order.published})
      clock->join(launch.known, worldId());
  if (launch.known && strict())
    warp.order.strict.join(launch.known, worldId());
  warp.tracked.assign(kernel.tracked.size(), Warp::Pending());
  warp.accumulators.resize(kernel.accumulatorSets.size());
  Fragment whole;
  whole.id = nextFragment++;
  whole.mask = warp.live;
  warp.fragments.push_back(whole);
  fillSpecials(cta, warp);
}

void Cluster::fillSpecials(Cta &cta, Warp &warp) {
  const Dim3 &b = launch.block, &g = launch.grid, &c = launch.cluster;
  for (const SpecialUse &use : kernel.specials) {
    uint32_t *values = reinterpret_cast<uint32_t *>(warp.registers + use.offset);
    if (checking())
      warp.defined.setDefined(slotOf(use.offset), kFullMask);
    if (use.special == Special::GridId) {
      std::fill_n(reinterpret_cast<uint64_t *>(values), 32, launch.gridId);
      continue;
    }
    if (use.special <= Special::TidZ && b.y == 1 && b.z == 1) {
      // The common case: a row of threads.
      for (uint32_t lane = 0; lane < 32; ++lane)
        values[lane] = use.special == Special::TidX ? warp.firstThread + lane : 0;
      continue;
    }
    const bool perLane = use.special <= Special::TidZ || use.special == Special::LaneId ||
                         (use.special >= Special::LanemaskEq && use.special <= Special::LanemaskGe);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (lane && !perLane) {
        values[lane] = values[0];
        continue;
      }
      uint32_t thread = warp.firstThread + lane, value = 0;
      switch (use.special) {
      case Special::TidX:
        value = thread % b.x;
        break;
      case Special::TidY:
        value = thread / b.x % b.y;
        break;
      case Special::TidZ:
        value = thread / b.x / b.y;
        break;
      case Special::NtidX:
        value = b.x;
        break;
      case Special::NtidY:
        value = b.y;
        break;
      case Special::NtidZ:
        value = b.z;
        break;
      case Special::CtaidX:
        value = cta.id.x;
        break;
      case Special::CtaidY:
        value = cta.id.y;
        break;
      case Special::CtaidZ:
        value = cta.id.z;
        break;
      case Special::NctaidX:
        value = g.x;
        break;
      case Special::NctaidY:
        value = g.y;
        break;
      case Special::NctaidZ:
        value = g.z;
        break;
      case Special::LaneId:
        value = lane;
        break;
      case Special::WarpId:
        value = warp.index;
        break;
      case Special::NwarpId:
        value = launch.warpsPerCta;
        break;
      case Special::SmId:
        value = multiprocessors[cta.rank];
        break;
      case Special::NsmId:
        value = launch.multiprocessors;
        break;
      case Special::LanemaskEq:
        value = 1u << lane;
        break;
      case Special::LanemaskLt:
        value = (1u << lane) - 1;
        break;
      case Special::LanemaskLe:
        value = (2u << lane) - 1;
        break;
      case Special::LanemaskGt:
        value = ~((2u << lane) - 1);
        break;
      case Special::LanemaskGe:
        value = ~((1u << lane) - 1);
        break;
      case Special::ClusteridX:
        value = cta.id.x / c.x;
        break;
      case Special::ClusteridY:
        value = cta.id.y / c.y;
        break;
      case Special::ClusteridZ:
        value = cta.id.z / c.z;
        break;
      case Special::NclusteridX:
        value = g.x / c.x;
        break;
      case Special::NclusteridY:
        value = g.y / c.y;
        break;
      case Special::NclusteridZ:
        value = g.z / c.z;
        break;
      case Special::ClusterCtaidX:
        value = cta.id.x % c.x;
        break;
      case Special::ClusterCtaidY:
        value = cta.id.y % c.y;
        break;
      case Special::ClusterCtaidZ:
        value = cta.id.z % c.z;
        break;
      case Special::ClusterNctaidX:
        value = c.x;
        break;
      case Special::ClusterNctaidY:
        value = c.y;
        break;
      case Special::ClusterNctaidZ:
        value = c.z;
        break;
      case Special::ClusterCtarank:
        value = cta.rank;
        break;
      case Special::ClusterNctarank:
        value = launch.clusterSize;
        break;
      case Special::DynamicSmemSize:
        value = launch.dynamicShared;
        break;
      case Special::TotalSmemSize:
        value = launch.sharedBytes - kSharedStart;
        break;
      case Special::AggrSmemSize:
        // 10.31: with the part that the system keeps for itself.
        value = launch.sharedBytes;
        break;
      case Special::ReservedSmemBegin:
      case Special::ReservedSmem0:
      case Special::ReservedSmem1:
        value = 0;
        break;
      case Special::ReservedSmemEnd:
      case Special::ReservedSmemCap:
        value = kSharedStart;
        break;
      case Special::GridId:
      case Special::GridIdLow:
        value = static_cast<uint32_t>(launch.gridId);
        break;
      case Special::IsExplicitCluster:
        value = launch.clusterSize > 1;
        break;
      }
      values[lane] = value;
    }
  }
}

void Cluster::runQuantum(uint64_t budget) {
  if (!begun)
    begin();
  runSteps(budget);
  // Where a cancelled cluster's warps are is still to be noted.
  if (finished() && outcome != Outcome::Cancelled)
    retire();
}

Fragment *Cluster::findFragment(Warp &warp, uint32_t id) {
  for (Fragment &f : warp.fragments)
    if (f.id == id)
      return &f;
  return nullptr;
}

void Cluster::removeFragment(Warp &warp, uint32_t index) {
  warp.fragments.erase(warp.fragments.begin() + index);
}

void Cluster::checkAligned(Context &c) {
  // All threads of the warp must execute an .aligned instruction together.
  if (c.mask == c.warp.live)
    return;
  uint32_t missing = c.warp.live & ~c.mask;
  Site here = this->here(c, "executes it with lanes " + laneText(c.mask));
  std::vector<Site> sites{here};
  for (const Fragment &f : c.warp.fragments)
    if (f.mask & missing)
      sites.push_back(site("lanes " + laneText(f.mask & missing) + " are here", f.pc, c.cta.rank,
                           static_cast<int>(c.warp.index), -1));
  for (const Meeting &m : c.warp.meetings)
    if (m.live && (m.arrived & missing))
      sites.push_back(site("lanes " + laneText(m.arrived & missing) + " wait for the others here",
                           m.pc, c.cta.rank, static_cast<int>(c.warp.index), -1));
  report("divergent-aligned", "an .aligned instruction is executed by a part of the warp only",
         std::move(sites),
         "all 32 lanes must reach it together; move it out of the divergent branch");
}

bool Cluster::runWarp(Warp &warp, uint32_t burst) {
  const uint32_t chosen = chooseFragment(warp);
  if (chosen == ~0u)
    return false;
  Cta &cta = *warp.cta;
  const uint32_t id = warp.fragments[chosen].id;
  Context c{*this, cta, warp, chosen, warp.registers, kernel.constants.data(), 0, 0};
  const Instr *code = kernel.code.data();
  uint32_t *const undefined = checking() ? warp.defined.lanes() : nullptr;
  hash(uint64_t(cta.rank) << 56 ^ uint64_t(warp.index) << 48 ^ warp.fragments[chosen].pc);
  uint64_t threads = 0, executed = 0;
  bool ran = true;
  const Fragment &first = warp.fragments[chosen];
  const uint32_t firstPc = first.pc, firstLane = static_cast<uint32_t>(__builtin_ctz(first.mask));
  const bool whole = first.mask == warp.live;
  if (trace) [[unlikely]]
    trace->act(cta.rank,
               whole ? TraceTrack::warp(warp.index) : TraceTrack::part(warp.index, firstLane),
               steps);
  while (burst-- > 0) {
    Fragment &f = warp.fragments[c.fragment];
    const uint32_t pc = f.pc;
    const Instr &in = code[pc];
    c.mask = f.mask;
    c.pc = pc;
    if (in.flags & kGuarded) {
      uint32_t guard = *reinterpret_cast<const uint32_t *>(warp.registers + in.guard);
      c.mask &= in.flags & kGuardNegated ? ~guard : guard;
    }
    ++executed;
    Step step = Step::Next;
    if (undefined) {
      uint32_t lanes = undefined[in.readSlots[0]] | undefined[in.readSlots[1]] |
                       undefined[in.readSlots[2]] | undefined[in.readSlots[3]] |
                       undefined[in.readSlots[4]];
      if (in.flags & kManyRegisters)
        for (uint32_t i = 0; i < in.readCount; ++i)
          lanes |= undefined[kernel.uses[in.uses + i].slot];
      if (lanes & f.mask) [[unlikely]] {
        passUndefined(c, in, lanes & f.mask);
      } else {
        undefined[in.writeSlots[0]] &= ~c.mask;
        undefined[in.writeSlots[1]] &= ~c.mask;
        if (in.flags & kManyRegisters)
          for (uint32_t i = 0; i < in.writeCount; ++i)
            undefined[kernel.uses[in.uses + in.readCount + i].slot] &= ~c.mask;
      }
    }
    if (c.mask) {
      threads += static_cast<uint32_t>(__builtin_popcount(c.mask));
      if (in.flags & (kTracked | kAligned)) {
        if ((in.flags & kAligned) && checking())
          checkAligned(c);
        if ((in.flags & kTracked) && checkTracked(c, in)) {
          f.pc = pc + 1;
          if (f.pc == f.meetPc) {
            arriveAtMeeting(warp, c.fragment);
            break;
          }
          continue;
        }
      }
      step = in.exec(c, in);
      if (stopped)
        break;
    }
    if (step == Step::Next) {
      Fragment &now = warp.fragments[c.fragment];
      now.pc = pc + 1;
      if (now.pc == now.meetPc) {
        arriveAtMeeting(warp, c.fragment);
        break;
      }
      continue;
    }
    if (step == Step::Jumped) {
      // The fragment may have split, moved or gone.
      Fragment *now = c.fragment < warp.fragments.size() && warp.fragments[c.fragment].id == id
                          ? &warp.fragments[c.fragment]
                          : findFragment(warp, id);
      if (!now || now->wait != Wait::Ready)
        break;
      c.fragment = static_cast<uint32_t>(now - warp.fragments.data());
      if (now->pc == now->meetPc) {
        arriveAtMeeting(warp, c.fragment);
        break;
      }
      continue;
    }
    Fragment *now = findFragment(warp, id);
    if (step == Step::Yield) {
      ++pollOps;
      if (now) {
        const bool again = now->polledPc == pc && now->polledProgress == progress;
        now->spins = again ? now->spins + 1 : 0;
        now->polledPc = pc;
        now->polledProgress = progress;
        now->pc = pc + 1;
        if (now->pc == now->meetPc)
          arriveAtMeeting(warp, static_cast<uint32_t>(now - warp.fragments.data()));
      }
      break;
    }
    if (step == Step::Block && now && now->wait == Wait::Ordered)
      ordered.push_back({cta.rank, warp.index, id});
    break;
  }
  if (trace) [[unlikely]]
    trace->ran(cta.rank, warp.index, id, whole, firstLane, firstPc, steps, steps + executed,
               findFragment(warp, id));
  // Who runs on without asking is computing.
  if (burst == ~0u)
    if (Fragment *now = findFragment(warp, id))
      now->spins = 0;
  steps += executed;
  stats.warpInstructions += executed;
  stats.threadInstructions += threads;
  hash(executed << 32 ^ threads);
  return ran;
}

// Divergence.

void Cluster::diverge(Context &c, uint32_t taken, uint32_t target) {
  Warp &warp = c.warp;
  Fragment &f = c.frag();
  const uint32_t meet = kernel.reconverge[c.pc];
  if (meet < kernel.code.size() && f.meetPc != meet) {
    f.meet = newMeeting(warp, {.pc = meet, .mask = f.mask, .parent = f.meet, .call = f.call});
    f.meetPc = meet;
  }
  const uint32_t stays = f.id;
  Fragment other = f;
  other.id = nextFragment++;
  other.mask = taken;
  other.pc = target;
  other.polls = 0;
  f.mask &= ~taken;
  f.pc = c.pc + 1;
  warp.fragments.push_back(other);
  // The caller looks after f; the new one may be where it meets already.
  if (other.pc == other.meetPc)
    arriveAtMeeting(warp, static_cast<uint32_t>(warp.fragments.size() - 1));
  if (!launch.singly.empty() && launch.singly[c.pc]) {
    // Each part that is split goes on by itself; f has not reached its meeting yet.
    if (other.pc != other.meetPc)
      splitLanes(warp, other.id);
    if (c.pc + 1 != other.meetPc)
      splitLanes(warp, stays);
  }
}

int32_t Cluster::newMeeting(Warp &warp, const Meeting &meeting) {
  uint32_t slot = 0;
  while (slot < warp.meetings.size() && warp.meetings[slot].live)
    ++slot;
  if (slot == warp.meetings.size())
    warp.meetings.emplace_back();
  warp.meetings[slot] = meeting;
  warp.meetings[slot].live = true;
  return static_cast<int32_t>(slot);
}

Fragment Cluster::goOn(const Warp &warp, const Meeting &meeting, uint32_t lanes) {
  Fragment f;
  f.id = nextFragment++;
  f.mask = lanes;
  f.pc = meeting.pc;
  f.meet = meeting.parent;
  f.meetPc = meetPcOf(warp, meeting.parent);
  f.call = meeting.call;
  return f;
}

void Cluster::arriveAtMeeting(Warp &warp, uint32_t index) {
  Fragment f = warp.fragments[index];
  warp.meetings[static_cast<size_t>(f.meet)].arrived |= f.mask;
  removeFragment(warp, index);
  completeMeetings(warp);
}

void Cluster::completeMeetings(Warp &warp) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Meeting &m : warp.meetings) {
      if (!m.live || (m.mask & warp.live & ~m.arrived))
        continue;
      m.live = false;
      changed = true;
      uint32_t lanes = m.arrived & warp.live;
      if (!lanes)
        continue;
      if (meetPcOf(warp, m.parent) == m.pc) {
        warp.meetings[static_cast<size_t>(m.parent)].arrived |= lanes;
        continue;
      }
      warp.fragments.push_back(goOn(warp, m, lanes));
    }
  }
}

bool Cluster::allBlocked(const Warp &warp) const {
  for (const Fragment &f : warp.fragments)
    if (f.wait == Wait::Ready)
      return false;
  return true;
}

/// Lanes wait at a meeting only as a courtesy: when their siblings are stuck, they go on alone.
bool Cluster::releaseMeetings() {
  bool released = false;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps) {
      if (!warp->live || !allBlocked(*warp))
        continue;
      for (Meeting &m : warp->meetings) {
        uint32_t lanes = m.arrived & warp->live;
        if (!m.live || !lanes)
          continue;
        m.mask &= ~lanes;
        m.arrived = 0;
        Fragment f = goOn(*warp, m, lanes);
        bool again = f.pc == f.meetPc;
        warp->fragments.push_back(f);
        if (again)
          arriveAtMeeting(*warp, static_cast<uint32_t>(warp->fragments.size() - 1));
        released = true;
        break;
      }
    }
  return released;
}

bool Cluster::gatherLanes(Context &c, uint32_t members, bool join) {
  Warp &warp = c.warp;
  uint32_t missing = members & warp.live & ~c.mask;
  if (!missing)
    return true;
  Fragment &f = c.frag();
  if (missing & f.mask) {
    report("warp-mask",
           "the member mask names lanes " + laneText(missing & f.mask) +
               " that do not execute the instruction",
           {here(c, "executes it with lanes " + laneText(c.mask))});
    return true;
  }
  f.wait = Wait::WarpSync;
  f.object = members;
  const uint32_t id = f.id;
  for (uint32_t i = 0; i < warp.fragments.size(); ++i) {
    Fragment &g = warp.fragments[i];
    if (g.id == f.id || g.wait != Wait::WarpSync || g.pc != f.pc || g.meet != f.meet)
      continue;
    f.mask |= g.mask;
    if ((members & warp.live & ~f.mask) == 0)
      f.wait = Wait::Ready;
    removeFragment(warp, i);
    break;
  }
  return join && joinLanes(c, members, id);
}

/// Lanes that came here on ways that meet elsewhere (from calls in both arms of a branch) cannot
/// become one fragment. They execute this one instruction together and go on apart.
bool Cluster::joinLanes(Context &c, uint32_t members, uint32_t id) {
  Warp &warp = c.warp;
  const Instr &in = kernel.code[c.pc];
  auto executing = [&](const Fragment &g) {
    if (!(in.flags & kGuarded))
      return g.mask;
    uint32_t guard = *reinterpret_cast<const uint32_t *>(warp.registers + in.guard);
    return g.mask & (in.flags & kGuardNegated ? ~guard : guard);
  };
  Fragment &f = *findFragment(warp, id);
  if (f.wait != Wait::WarpSync)
    return false; // complete, and runs again as it is now
  std::vector<uint32_t> others;
  uint32_t there = executing(f);
  for (const Fragment &g : warp.fragments)
    if (g.id != id && g.wait == Wait::WarpSync && g.pc == c.pc && (executing(g) & members)) {
      there |= executing(g);
      others.push_back(g.id);
    }
  if (members & warp.live & ~there)
    return false;
  f.wait = Wait::Ready;
  c.mask = there;
  for (uint32_t other : others) {
    Fragment &g = *findFragment(warp, other);
    g.wait = Wait::Ready;
    g.pc = c.pc + 1;
    if (g.pc == g.meetPc)
      arriveAtMeeting(warp, static_cast<uint32_t>(&g - warp.fragments.data()));
  }
  c.fragment = static_cast<uint32_t>(findFragment(warp, id) - warp.fragments.data());
  ++progress;
  return true;
}

void Cluster::exitLanes(Context &c, uint32_t lanes) {
  Warp &warp = c.warp;
  warp.live &= ~lanes;
  exitPc = c.pc;
  Fragment &f = c.frag();
  f.mask &= ~lanes;
  if (f.mask)
    f.pc = c.pc + 1;
  else
    removeFragment(warp, c.fragment);
  completeMeetings(warp);
  for (Fragment &other : warp.fragments)
    if (other.wait == Wait::WarpSync)
      other.wait = Wait::Ready;
  ++progress;
  if (warp.live)
    barrierLanesExited(warp);
  else
    warpExited(warp);
}

void Cluster::warpExited(Warp &warp) {
  Cta &cta = *warp.cta;
  --cta.liveWarps;
  for (uint32_t id = 0; id < 16; ++id)
    if (cta.barriers[id].wholeCta && cta.barriers[id].arrived)
      barrierComplete(cta, id);
  clusterMaybeComplete();
  if (cta.liveWarps == 0)
    ctaFinished(cta);
}

void Cluster::ctaFinished(Cta &cta) {
  --liveCtas;
  if (checking()) {
    checkExit(cta);
    if (uint64_t bytes = cta.shadow->bytes(); bytes > stats.shadowBytes) {
      stats.shadowBytes = bytes;
      stats.touchedBytes = cta.shadow->touched();
    }
  }
  letDependents(cta);
  checkLeftArrivals(cta);
  checkSetmaxnreg(cta);
}

void Cluster::checkSetmaxnreg(const Cta &cta) {
  if (!kernel.usesSetmaxnreg)
    return;
  // 9.7.19.5: all warps of a warpgroup must execute the same setmaxnreg.
  for (uint32_t first = 0; first < cta.warps.size(); first += 4) {
    uint32_t last = std::min<uint32_t>(first + 4, static_cast<uint32_t>(cta.warps.size()));
    for (uint32_t w = first; w < last; ++w) {
      const Warp &a = *cta.warps[first], &b = *cta.warps[w];
      bool differs = a.setmaxnregs != b.setmaxnregs, partial = a.setmaxnregs && last - first < 4;
      if (!differs && !partial)
        continue;
      const Warp &executed = a.setmaxnregs ? a : b;
      report("setmaxnreg-partial",
             partial ? "setmaxnreg is executed by a warpgroup of " + std::to_string(last - first) +
                           " warps only"
                     : "not all warps of a warpgroup execute the same setmaxnreg",
             {site("executes it " + std::to_string(executed.setmaxnregs) + " times",
                   executed.setmaxnregPc, cta.rank, static_cast<int>(executed.index), -1)},
             "launch whole warpgroups of 128 threads and let every warp of one execute it");
      return;
    }
  }
}

// Asynchronous operations.

void Cluster::addAsync(std::unique_ptr<AsyncOp> op) { async.push_back(std::move(op)); }

void Cluster::wakeBulk(Warp &warp) {
  if (trace)
    trace->released(Wait::Bulk, warp.cta->rank, warp.index);
  for (Fragment &f : warp.fragments)
    if (f.wait == Wait::Bulk)
      f.wait = Wait::Ready;
}

void Cluster::settleBulk(Warp &warp) {
  std::vector<BulkRecord> &records = warp.bulkRecords;
  size_t &reads = warp.bulkReadsSettled;
  while (reads < records.size() && records[reads].waited)
    ++reads;
  if (reads)
    warp.order.seen.raise(warp.bulkAgent, records[reads - 1].sequence);
  size_t done = 0;
  while (done < reads && records[done].done)
    ++done;
  if (!done)
    return;
  warp.order.seen.raise(warp.bulkWrites, records[done - 1].sequence);
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(done));
  reads -= done;
}

// The commit.

void Cluster::commit() {
  if (seenHeapChanges != launch.memory->heapChanges)
    forgetAllocations();
  memoryChanged |= overlay.commit(*launch.memory);
  if (!waitsForCommit())
    return;
  committing = true;
  std::vector<std::unique_ptr<AsyncOp>> ending;
  ending.swap(atCommit);
  for (const auto &op : ending)
    if (!stopped) {
      op->commit(*this);
      ++progress;
    }
  std::vector<OrderedOp> work;
  work.swap(ordered);
  for (const OrderedOp &op : work) {
    if (stopped)
      break;
    Cta &cta = *ctas[op.rank];
    Warp &warp = *cta.warps[op.warp];
    Fragment *f = findFragment(warp, op.fragment);
    if (!f)
      continue;
    f->wait = Wait::Ready;
    Context c{*this,
              cta,
              warp,
              static_cast<uint32_t>(f - warp.fragments.data()),
              warp.registers,
              kernel.constants.data(),
              f->mask,
              f->pc,
              true};
    const Instr &in = kernel.code[f->pc];
    if (in.flags & kGuarded) {
      uint32_t guard = *reinterpret_cast<const uint32_t *>(warp.registers + in.guard);
      c.mask &= in.flags & kGuardNegated ? ~guard : guard;
    }
    ++pollOps;
    f->polledPc = f->pc;
    hash(uint64_t(0xc3) << 56 ^ uint64_t(op.warp) << 32 ^ f->pc);
    in.exec(c, in);
    if (stopped)
      break;
    ++f->pc;
    if (f->pc == f->meetPc)
      arriveAtMeeting(warp, static_cast<uint32_t>(f - warp.fragments.data()));
  }
  committing = false;
}

} // namespace girih::emu
