// The wait graph in words.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Machine/Deadlock.h"

#include "Emulator/Exec/Address.h"
#include "Emulator/Machine/Async.h"
#include "Emulator/Text.h"

#include <algorithm>
#include <cstring>

namespace girih::emu {

namespace {
/// How often a wait that nobody can end is let give up.
constexpr uint32_t kExpiries = 100;
/// Sides of a report: waits, and what explains them.
constexpr size_t kMaxWaits = 24, kMaxSites = 40, kMaxSummary = 800;

std::string ctaText(const Dim3 &id) {
  return "CTA (" + std::to_string(id.x) + "," + std::to_string(id.y) + "," + std::to_string(id.z) +
         ")";
}

/// "warp 3", "warps 1, 2 and 5 more".
std::string warpList(const std::vector<uint32_t> &warps) {
  std::string text = warps.size() == 1 ? "warp " : "warps ";
  for (size_t i = 0; i < warps.size() && i < 4; ++i)
    text += (i ? ", " : "") + std::to_string(warps[i]);
  if (warps.size() > 4)
    text += " and " + std::to_string(warps.size() - 4) + " more";
  return text;
}

/// Does an instruction, guarded or not, begin so?
bool startsWith(std::string_view text, std::string_view prefix) {
  size_t at = text.find_first_not_of(" \t");
  if (at != std::string_view::npos && text[at] == '@')
    at = text.find_first_not_of(" \t", text.find_first_of(" \t", at));
  return at != std::string_view::npos && text.substr(at).starts_with(prefix);
}
} // namespace

bool Standstill::wait(const Key &key, Site site) {
  ++waiting;
  auto [entry, fresh] = index.try_emplace(key, entries.size());
  if (!fresh) {
    if (entry->second < entries.size())
      ++entries[entry->second].count;
    return false;
  }
  if (index.size() > kMaxWaits) {
    entry->second = ~size_t(0);
    return false;
  }
  entries.push_back({std::move(site), 1});
  return true;
}

void Standstill::explain(const std::string &once, Site site) {
  if (entries.size() < kMaxSites && explained.try_emplace(once, true).second)
    entries.push_back({std::move(site), 1});
}

void Standstill::summarise(const std::string &line) {
  if (text.size() < kMaxSummary && text.find(line) == std::string::npos)
    text += "; " + line;
}

std::vector<Site> Standstill::sites() const {
  std::vector<Site> result;
  for (const Entry &entry : entries) {
    result.push_back(entry.site);
    if (entry.count > 1)
      result.back().action += " (as do " + std::to_string(entry.count - 1) + " more warps)";
  }
  return result;
}

bool Cluster::unstick() {
  if (releaseMeetings())
    return true;
  // Time passes: every suspended try_wait returns false. Who tries a bounded number of times comes
  // to an end.
  if (stuckProgress == progress)
    return ++expiries < kExpiries && expireWaits();
  stuckProgress = progress;
  expiries = 0;
  bool any = false;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        any |= f.wait == Wait::Mbarrier;
  if (any)
    jumpAhead();
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

std::string Cluster::waitText(const Cta &cta, const Warp &warp, const Fragment &f) const {
  switch (f.wait) {
  case Wait::Ready:
    return "runs";
  case Wait::Mbarrier: {
    auto found = cta.mbarriers.find(f.object);
    if (found == cta.mbarriers.end())
      return "waits for an mbarrier that is no longer there";
    return "waits for phase " + std::to_string(f.value) + ": " +
           describeMbarrier(cta, found->second);
  }
  case Wait::Barrier: {
    const NamedBarrier &b = cta.barriers[f.object];
    uint32_t expected = b.wholeCta ? cta.liveWarps * 32 : b.expected;
    std::string text = "waits at barrier " + std::to_string(f.object) + ": " +
                       std::to_string(b.arrived) + " of " + std::to_string(expected) +
                       " threads have arrived";
    std::vector<uint32_t> missing, exited;
    for (const auto &other : cta.warps) {
      const bool here = std::any_of(b.waiters.begin(), b.waiters.end(),
                                    [&](const auto &w) { return w.warp == other->index; });
      if (!here)
        (other->live ? missing : exited).push_back(other->index);
    }
    if (!missing.empty())
      text += "; " + warpList(missing) + (missing.size() == 1 ? " does" : " do") + " not wait here";
    if (!exited.empty())
      text += "; " + warpList(exited) + (exited.size() == 1 ? " has" : " have") + " exited";
    return text;
  }
  case Wait::Cluster: {
    std::string text = "waits at the cluster barrier, where have not arrived: ";
    unsigned count = 0;
    for (const auto &other : ctas)
      for (const auto &w : other->warps)
        if (uint32_t lanes = w->live & ~w->clusterArrived; lanes && ++count <= 4)
          text += (count > 1 ? ", " : "") + ctaText(other->id) + " warp " +
                  std::to_string(w->index) + (lanes == w->live ? "" : " lanes " + laneText(lanes));
    return count > 4 ? text + " and " + std::to_string(count - 4) + " more warps" : text;
  }
  case Wait::Bulk:
    return "waits for its asynchronous copies";
  case Wait::Wgmma: {
    std::string text = "waits for wgmma, which not all warps of the warpgroup have issued";
    const auto &operations = cta.wgmmaQueues[warp.index / 4].operations;
    if (!operations.empty()) {
      std::vector<uint32_t> missing;
      for (uint32_t i = 0; i < 4; ++i)
        if (!(operations.front()->arrived >> i & 1))
          missing.push_back(warp.index / 4 * 4 + i);
      if (!missing.empty())
        text += ": " + warpList(missing) + (missing.size() == 1 ? " has" : " have") + " not";
    }
    return text;
  }
  case Wait::Registers: {
    std::string text = "waits in setmaxnreg for " + std::to_string(f.value) + " registers; " +
                       std::to_string(cta.registerPool) + " are free";
    std::vector<uint32_t> holders;
    uint32_t most = 0;
    for (const auto &other : cta.warps)
      if (other->live)
        most = std::max(most, other->registerCount);
    for (const auto &other : cta.warps)
      if (other->live && other->registerCount == most)
        holders.push_back(other->index);
    return text + "; " + warpList(holders) + (holders.size() == 1 ? " holds " : " hold ") +
           std::to_string(most) + " a thread";
  }
  case Wait::Ordered:
    return "waits for global memory";
  case Wait::WarpSync: {
    const uint32_t missing = f.object & ~f.mask;
    std::string text = "waits for lanes " + laneText(missing) + " of its warp";
    if (uint32_t gone = missing & ~warp.live)
      text += "; lanes " + laneText(gone) + " have exited";
    return text;
  }
  case Wait::Grid: {
    std::string text = "waits for the end of the launches before this one (griddepcontrol.wait)";
    return text;
  }
  }
  return "waits";
}

std::string Cluster::pollText(Cta &cta, Warp &warp, const Fragment &f, Site &writer) {
  if (f.polledPc == ~0u)
    return "";
  const Instr &in = kernel.code[f.polledPc];
  const std::string_view text = kernel.info[f.polledPc].text;
  if (startsWith(text, "mbarrier")) {
    auto found = cta.mbarriers.find(f.object);
    return found == cta.mbarriers.end() ? ""
                                        : "polls for phase " + std::to_string(f.value) + ": " +
                                              describeMbarrier(cta, found->second);
  }
  if (!startsWith(text, "ld") && !startsWith(text, "atom"))
    return "";
  Context c{*this, cta, warp, 0, warp.registers, kernel.constants.data(), f.mask, f.polledPc};
  uint64_t address[32];
  addresses(c, in, address);
  const unsigned lane = static_cast<unsigned>(__builtin_ctz(f.mask));
  uint64_t at = address[lane];
  const AddressSpace space = classify(in.space, at);
  auto valueAt = [&](const uint8_t *bytes) {
    uint32_t value = 0;
    std::memcpy(&value, bytes, 4);
    return ", which holds " + hex(value);
  };
  auto written = [&](const Epoch &e) {
    if (!checking())
      return std::string();
    if (!e.clock)
      return std::string("; no thread has written there");
    writer = epochSite(e, "wrote it last", e.laneAt(0));
    return "; last written by " + ctaText(writer.cta) + " warp " + std::to_string(writer.warp) +
           " at PTX line " + std::to_string(writer.ptxLine);
  };
  if (space == AddressSpace::Global) {
    const AllocationInfo *info = launch.memory->find(at);
    if (!info || at + 4 > info->address + info->bytes)
      return "";
    return "polls global " + hex(at) + " (offset " + std::to_string(at - info->address) +
           " of an allocation of " + std::to_string(info->bytes) + " bytes)" +
           valueAt(launch.memory->host(at)) +
           written(launch.shadow ? launch.shadow->lastWrite(at) : Epoch());
  }
  if (space != AddressSpace::Shared)
    return "";
  const uint32_t rank = static_cast<uint32_t>(at) >> kRankShift;
  Cta &target = rank && rank <= ctas.size() ? *ctas[rank - 1] : cta;
  const uint32_t offset = static_cast<uint32_t>(at) & ((1u << kRankShift) - 1);
  if (offset + 4 > target.shared.size())
    return "";
  return "polls shared " + hex(offset) + " of " + ctaText(target.id) +
         valueAt(target.shared.data() + offset) +
         written(checking() ? target.shadow->lastWrite(offset) : Epoch());
}

void Cluster::explainWait(Standstill &out, Cta &cta, Warp &warp, const Fragment &f) {
  const std::string name = std::to_string(launch.gridId) + ":" + std::to_string(linear) + ":" +
                           std::to_string(cta.rank) + ":" + std::to_string(f.object);
  if (f.wait == Wait::WarpSync) {
    const uint32_t missing = f.object & ~f.mask & warp.live;
    for (const Fragment &other : warp.fragments)
      if (other.id != f.id && (other.mask & missing))
        out.explain(name + ":f" + std::to_string(other.id),
                    site("lanes " + laneText(other.mask & missing) + " are here", other.pc,
                         cta.rank, static_cast<int>(warp.index), -1));
    return;
  }
  if (f.wait != Wait::Mbarrier && f.wait != Wait::Ready)
    return;
  auto found = cta.mbarriers.find(f.object);
  if (found == cta.mbarriers.end())
    return;
  const Mbarrier &b = found->second;
  const std::string barrier = "mbarrier " + hex(b.address);
  out.summarise(describeMbarrier(cta, b));
  if (b.last.pc != ~0u)
    out.explain(name + ":last", site("last arrived at " + barrier + " (in phase " +
                                         std::to_string(b.last.phase) + ")",
                                     b.last.pc, b.last.rank, b.last.warp, b.last.lane));
  if (b.lastExpect.pc != ~0u)
    out.explain(name + ":expect",
                site("last expected bytes at " + barrier + " (in phase " +
                         std::to_string(b.lastExpect.phase) + ")",
                     b.lastExpect.pc, b.lastExpect.rank, b.lastExpect.warp, b.lastExpect.lane));
  // Those that have arrived before could arrive again: what do they do?
  for (const Mbarrier::Arrival &a : b.arrivers) {
    if (a.pc == ~0u || a.phase == b.phase || !b.pending || a.warp < 0)
      continue;
    const Warp &other = *ctas[a.rank]->warps[static_cast<size_t>(a.warp)];
    std::string state = "could arrive at " + barrier + " as it did in phase " +
                        std::to_string(a.phase) + " (PTX line " +
                        std::to_string(kernel.info[a.pc].line) + "), but ";
    uint32_t pc = a.pc;
    if (!other.live) {
      state += "has exited";
    } else if (!other.fragments.empty()) {
      const Fragment &g = other.fragments.front();
      pc = g.pc;
      state += g.wait == Wait::Ready ? "is here" : waitText(*ctas[a.rank], other, g);
    }
    out.explain(name + ":a" + std::to_string(a.rank) + ":" + std::to_string(a.warp),
                site(std::move(state), pc, a.rank, a.warp, -1));
  }
  out.explain(name + ":init",
              site("initialised " + barrier + " for " + std::to_string(b.expected) + " arrivals",
                   b.initPc, cta.rank, b.initWarp, -1));
}

void Cluster::describeWaits(Standstill &out) {
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments) {
        Site writer;
        std::string text;
        uint32_t pc = f.pc;
        if (f.wait == Wait::Ready || f.wait == Wait::Ordered) {
          text = pollText(*cta, *warp, f, writer);
          if (!text.empty())
            pc = f.polledPc;
          else
            ++out.running;
        }
        if (text.empty())
          text = waitText(*cta, *warp, f);
        if (f.mask != warp->live)
          text += " (lanes " + laneText(f.mask) + ")";
        const uint64_t what = f.wait == Wait::Ready ? std::hash<std::string>()(text) : f.object;
        Standstill::Key key{launch.gridId << 40 ^ uint64_t(pc) << 8 ^ uint64_t(f.wait), what};
        // Within a CTA what is waited for is one thing; others have their own.
        if (f.wait != Wait::Ready)
          key.second ^= (linear * launch.clusterSize + cta->rank) << 32;
        if (!out.wait(key, site(std::move(text), pc, cta->rank, static_cast<int>(warp->index), -1)))
          continue;
        explainWait(out, *cta, *warp, f);
        if (writer.warp >= 0)
          out.explain(writer.action + std::to_string(writer.ptxLine) + ctaText(writer.cta) +
                          std::to_string(writer.warp),
                      writer);
      }
}

void Cluster::reportWaitFaults() {
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments) {
        const int number = static_cast<int>(warp->index);
        if (f.wait == Wait::Registers)
          report("setmaxnreg-pool",
                 "setmaxnreg asks for " + std::to_string(f.value) + " registers and " +
                     std::to_string(cta->registerPool) +
                     " are free in the CTA: the budgets exceed " +
                     std::to_string(launch.launchRegisters) + " registers a thread at launch",
                 {site("waits for registers", f.pc, cta->rank, number, -1)},
                 "the sum of registers over all warps must not exceed what the launch allots");
        if (f.wait != Wait::Mbarrier && f.wait != Wait::Ready)
          continue;
        auto found = cta->mbarriers.find(f.object);
        if (found == cta->mbarriers.end())
          continue;
        const Mbarrier &b = found->second;
        bool arriving = false;
        for (const auto &op : async)
          arriving |= op->signals(*cta, b.address);
        if (b.pending == 0 && b.tx > 0 && !arriving) {
          std::vector<Site> both;
          if (b.lastExpect.pc != ~0u)
            both.push_back(site("expected bytes last", b.lastExpect.pc, b.lastExpect.rank,
                                b.lastExpect.warp, b.lastExpect.lane));
          both.push_back(site("waits", f.pc, cta->rank, number, -1));
          report("mbarrier-bytes",
                 "mbarrier " + hex(b.address) + " expects " + std::to_string(b.tx) +
                     " more bytes and no copy in flight will deliver them",
                 std::move(both),
                 "expect_tx must announce exactly the bytes that the copies of the phase deliver");
        } else if (b.pending == b.expected && b.tx == 0 && !arriving &&
                   uint32_t(f.value) == b.phase) {
          std::vector<Site> both{
              site("waits for phase " + std::to_string(f.value), f.pc, cta->rank, number, -1)};
          if (b.last.pc != ~0u)
            both.push_back(site("last arrived, in phase " + std::to_string(b.last.phase), b.last.pc,
                                b.last.rank, b.last.warp, b.last.lane));
          report("mbarrier-parity",
                 "nobody arrives in phase " + std::to_string(b.phase) + " of mbarrier " +
                     hex(b.address) + ", which is waited for",
                 std::move(both),
                 "is the parity of the wait that of a phase to come, or does the other side wait "
                 "for this one?");
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
}

void Cluster::reportDeadlock() {
  reportWaitFaults();
  Standstill still;
  describeWaits(still);
  report(still.running ? "livelock" : "deadlock",
         "nobody can make progress: " + std::to_string(still.waiting) + " warps wait" +
             still.summary(),
         still.sites());
  stopped = true;
  outcome = Outcome::Deadlock;
}

void noteWhereStopped(Grid &grid) {
  Standstill still;
  for (const std::unique_ptr<Cluster> &cluster : grid.active)
    cluster->describeWaits(still);
  Finding finding;
  finding.kind = "stopped";
  finding.severity = Severity::Note;
  finding.message = "stopped while " + std::to_string(still.waiting - still.running) +
                    " warps waited and " + std::to_string(still.running) + " ran";
  if (const uint64_t left = grid.clustersLeft())
    finding.message +=
        "; " + std::to_string(left * grid.launch.clusterSize) + " CTAs had not started";
  finding.sites = still.sites();
  grid.result.findings.push_back(std::move(finding));
}

void reportStandstill(const std::map<LaunchId, std::unique_ptr<Grid>> &grids) {
  Standstill still;
  std::string notes;
  for (const auto &[id, grid] : grids) {
    if (grid->state != Grid::State::Running)
      continue;
    for (const std::unique_ptr<Cluster> &cluster : grid->active) {
      cluster->reportWaitFaults();
      cluster->describeWaits(still);
    }
    const std::string name = "kernel " + grid->kernel().attributes.name;
    const uint32_t size = grid->launch.clusterSize;
    if (const uint64_t left = grid->clustersLeft()) {
      const uint64_t next = grid->clusterAt(grid->clustersToRun() - left);
      notes += "; " + std::to_string(left * size) + " CTAs of " + name + " (" +
               ctaText(ctaOf(grid->launch.grid, grid->launch.cluster, next, 0)) +
               " is the next) have not started, because those that are resident leave no room; "
               "what they would release is waited for in vain";
    }
    if (grid->isSample())
      notes += "; the launch is a sample of " + std::to_string(grid->clustersToRun() * size) +
               " of the " + std::to_string(grid->launch.grid.count()) + " CTAs of " + name +
               ", and those that were left out release nothing";
  }
  for (const auto &[id, grid] : grids)
    if (grid->state == Grid::State::Waiting)
      notes += "; launch " + std::to_string(id) + " (kernel " + grid->kernel().attributes.name +
               ") waits for the end of one of these";
  Finding finding;
  finding.kind = still.running ? "livelock" : "deadlock";
  finding.message =
      (still.running ? "threads run on, but no memory, barrier or copy changes any more: "
                     : "nobody can make progress: ") +
      std::to_string(still.waiting) + " warps wait" + still.summary() + notes.substr(0, 1200);
  finding.sites = still.sites();
  for (const auto &[id, grid] : grids)
    if (grid->state == Grid::State::Running)
      grid->result.findings.push_back(finding);
}

} // namespace girih::emu
