// From what was seen to what is wrong. A deadlock may come of a lost release, of a wrong parity or
// of bytes that never arrive: the run is repeated with the suspect mended, and if nothing is wrong
// then, it was the suspect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explore.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

class Diagnosis {
public:
  using Rerun = llvm::function_ref<std::optional<Fault>(const RunOptions &)>;

  Diagnosis(Model &model, Machine &machine, const Fault &fault, Rerun rerun)
      : model(model), machine(machine), fault(fault), rerun(rerun) {}

  Finding run() {
    finding.fault = fault;
    if (fault.site.event) {
      finding.blamed = fault.site.event->op;
      finding.warp = fault.site.warp;
    }
    finding.other = fault.other;
    finding.blocked = machine.blocked();
    suspicions = machine.suspicions();
    early = machine.earlyBytes();
    classify();
    return std::move(finding);
  }

private:
  void classify() {
    switch (fault.what) {
    case Fault::What::Stuck:
      return stuck();
    case Fault::What::Registers:
      return conclude(FaultClass::RegisterBudget, fault.site);
    case Fault::What::NamedThreads:
      return conclude(FaultClass::Deadlock, fault.site);
    case Fault::What::TooMany:
      // Whoever fills a slot comes round to it before it has been full: it has not waited.
      if (hasCopies(fault.barrier) && !suspicions.empty() &&
          suspicions.back().site.event == suspicions.back().before.event) {
        if (!explainedByBytes() && !explainedByParity(waitsOfAll()))
          conclude(FaultClass::InFlight, fault.site);
        return;
      }
      return conclude(FaultClass::DoubleRelease, fault.site);
    case Fault::What::Bytes:
      finding.missingBytes = fault.want - fault.have;
      return conclude(FaultClass::WrongBytes, fault.other.event ? fault.other : fault.site);
    case Fault::What::NoFence:
      return conclude(FaultClass::MissingFence, fault.site);
    case Fault::What::Overrun:
    case Fault::What::ReadEarly:
    case Fault::What::WriteEarly:
    case Fault::What::ReadNothing:
    case Fault::What::NeverWaited:
      break;
    }
    if (explainedByBytes() || explainedByParity(waitsOfAll()) || explainedByArrivals() ||
        explainedByCount({1, 2, 3, 4, 8}, FaultClass::DoubleRelease))
      return;
    if (fault.what == Fault::What::Overrun)
      return conclude(FaultClass::DoubleRelease, fault.other.event ? fault.other : fault.site,
                      fault.site);
    conclude(FaultClass::InFlight, fault.site);
  }

  void conclude(FaultClass kind, Site blamed, Site other = {}) {
    finding.kind = kind;
    finding.blamed = blamed.event->op;
    finding.warp = blamed.warp;
    if (other.event)
      finding.other = other;
  }

  /// Bytes came in a phase that expected none; or, with all waits let pass, more or fewer come than
  /// are ever expected. Those from another CTA may come early and still be right.
  bool explainedByBytes() {
    if (early) {
      finding.missingBytes = -early->have;
      finding.fault.barrier = early->barrier;
      conclude(FaultClass::WrongBytes, early->site);
      return true;
    }
    RunOptions options;
    options.forgive = true;
    rerun(options);
    for (int32_t barrier = 0; barrier < machine.numBarriers(); ++barrier) {
      const Event *expects = machine.expectsAt(barrier);
      if (machine.bytesTooMany(barrier) == 0 || !expects)
        continue;
      finding.missingBytes = machine.bytesTooMany(barrier);
      finding.fault.barrier = barrier;
      conclude(FaultClass::WrongBytes, {warpAt(expects), expects});
      return true;
    }
    return false;
  }

  /// Somebody arrived twice in one phase.
  bool explainedByArrivals() {
    if (suspicions.empty())
      return false;
    const Suspicion &first = suspicions.front();
    finding.fault.barrier = first.barrier;
    finding.fault.phase = first.phase;
    finding.twice = true;
    conclude(FaultClass::DoubleRelease, first.site, first.before);
    return true;
  }

  /// A barrier was initialised for another number of arrivals than there are.
  bool explainedByCount(ArrayRef<int64_t> changes, FaultClass kind) {
    for (auto [index, array] : llvm::enumerate(model.barriers)) {
      if (!array.init || hasCopies(array.first))
        continue;
      for (int64_t more : changes) {
        if (array.arrivals + more <= 0)
          continue;
        RunOptions options;
        options.mending = {Mending::How::Arrivals, nullptr, static_cast<int32_t>(index), more};
        if (rerun(options))
          continue;
        finding.kind = kind;
        finding.blamed = array.init;
        finding.other = fault.site;
        finding.fault.barrier = array.first;
        finding.rightArrivals = array.arrivals + more;
        return true;
      }
    }
    return false;
  }

  llvm::SmallSetVector<const Event *, 8> waitsOfAll() const {
    llvm::SmallSetVector<const Event *, 8> waits;
    for (const Program &program : model.programs)
      for (const Event &event : program.events)
        if (llvm::any_of(event.effects,
                         [](const Effect &effect) { return effect.kind == Effect::Kind::Wait; }))
          waits.insert(&event);
    return waits;
  }

  bool explainedByParity(const llvm::SmallSetVector<const Event *, 8> &waits) {
    for (const Event *event : waits) {
      int32_t warp = warpAt(event);
      for (Mending::How how : {Mending::How::Flip, Mending::How::FromZero, Mending::How::FromBefore,
                               Mending::How::InTurn}) {
        // Only warpgroups that act for themselves have phases of their own.
        if (how == Mending::How::InTurn && !machine.programOf(warp).each)
          continue;
        RunOptions options;
        options.mending = {how, event->op};
        // To let the wait pass each time is not to mend it, unless it is for slots that are empty
        // from the start, and as often as they are.
        if (rerun(options) || machine.mendedSkips() ||
            !(machine.mendedWaits() || isForEmptySlots(*event)) || arrivesTwiceAsBefore())
          continue;
        conclude(FaultClass::WrongParity, {warp, event}, fault.site);
        return true;
      }
    }
    return false;
  }

  /// Whether who arrived twice in one phase still does so after a rerun: then it does not come of
  /// what was mended.
  bool arrivesTwiceAsBefore() const {
    if (suspicions.empty())
      return false;
    const Suspicion &first = suspicions.front();
    return llvm::any_of(machine.suspicions(), [&](const Suspicion &left) {
      return left.site.event == first.site.event && left.before.event == first.before.event;
    });
  }

  /// Whether the event waits at the empty barriers of a ring.
  bool isForEmptySlots(const Event &event) const {
    const Program &program = machine.programOf(warpAt(&event));
    return llvm::any_of(event.effects, [&](const Effect &effect) {
      if (effect.kind != Effect::Kind::Wait)
        return false;
      Number array = program.registers[effect.object];
      return array.known() &&
             StringRef(model.barriers[array.constant].name).ends_with(" empty barriers");
    });
  }

  /// A warp that executes the event.
  int32_t warpAt(const Event *event) const {
    for (int32_t warp = 0;; ++warp) {
      const Program &program = machine.programOf(warp);
      if (event >= program.events.data() && event < program.events.data() + program.events.size())
        return warp;
    }
  }

  /// Whether the barriers of the array are those that copies complete.
  bool hasCopies(int32_t barrier) const {
    const BarrierArray &array = model.arrayOfBarrier(barrier);
    auto index = &array - model.barriers.data();
    for (const Program &program : model.programs)
      for (const Event &event : program.events)
        for (const Effect &effect : event.effects)
          if (effect.kind == Effect::Kind::Complete || effect.kind == Effect::Kind::Expect)
            if (program.registers[effect.object] == Symbols::known(index))
              return true;
    return false;
  }

  /// Whether fewer arrivals have come than the slot was filled. Of barriers that belong to no ring
  /// it is not known how often they should: there the phase has ended, or it has not.
  bool isLost(int32_t barrier, int32_t phase) const {
    const BarrierArray &array = model.arrayOfBarrier(barrier);
    StringRef ring = array.name;
    if (!ring.consume_back("empty barriers"))
      return machine.phasesOf(barrier) <= phase;
    for (const BarrierArray &other : model.barriers)
      if (other.name == (ring + "full barriers").str()) {
        int32_t full = other.first + barrier - array.first;
        return machine.arrivalsOf(barrier) < array.arrivals * machine.phasesOf(full);
      }
    return machine.phasesOf(barrier) <= phase;
  }

  void stuck() {
    llvm::SmallSetVector<const Event *, 8> waits;
    for (const Blocked &warp : finding.blocked) {
      if (warp.effect->kind == Effect::Kind::Registers)
        return conclude(FaultClass::RegisterBudget, warp.site);
      if (warp.effect->kind == Effect::Kind::Wait)
        waits.insert(warp.site.event);
    }
    for (const Blocked &warp : finding.blocked)
      if (warp.effect->kind == Effect::Kind::Wait && machine.pendingArrivals(warp.barrier) == 0 &&
          machine.pendingBytes(warp.barrier) != 0) {
        finding.missingBytes = machine.pendingBytes(warp.barrier);
        finding.fault.barrier = warp.barrier;
        finding.fault.phase = warp.phase;
        const Event *expect = machine.lastExpect(warp.barrier);
        return conclude(FaultClass::WrongBytes, expect ? Site{warpAt(expect), expect} : warp.site,
                        warp.site);
      }
    std::vector<int64_t> missing;
    for (const Blocked &warp : finding.blocked)
      missing.push_back(
          warp.effect->kind == Effect::Kind::Wait ? machine.pendingArrivals(warp.barrier) : 0);
    if (explainedByBytes() || explainedByParity(waits) || explainedByArrivals() ||
        explainedByCount({-1, -2, -3, -4, -8}, FaultClass::LostRelease))
      return;

    // Who still waits at a named barrier when all others are let pass?
    RunOptions options;
    options.forgive = true;
    if (rerun(options))
      for (const Blocked &warp : machine.blocked())
        if (warp.effect->kind != Effect::Kind::Wait)
          return conclude(FaultClass::Deadlock, warp.site);
    // With all waits let pass, does every filled slot come back as often as it should?
    for (auto [warp, count] : llvm::zip_equal(finding.blocked, missing)) {
      if (warp.effect->kind != Effect::Kind::Wait || hasCopies(warp.barrier) ||
          !isLost(warp.barrier, warp.phase))
        continue;
      finding.fault.barrier = warp.barrier;
      finding.fault.phase = warp.phase;
      finding.missingArrivals = count;
      return conclude(FaultClass::LostRelease, warp.site);
    }
    // Blame a wait for copies first: that is where the others' progress shows.
    const Blocked *blamed = &finding.blocked.front();
    for (const Blocked &warp : finding.blocked)
      if (warp.effect->kind == Effect::Kind::Wait && hasCopies(warp.barrier)) {
        blamed = &warp;
        break;
      }
    finding.fault.barrier = blamed->effect->kind == Effect::Kind::Wait ? blamed->barrier : -1;
    finding.fault.phase = blamed->phase;
    conclude(FaultClass::Deadlock, blamed->site);
  }

  Model &model;
  Machine &machine;
  Fault fault;
  Rerun rerun;
  Finding finding{};
  std::vector<Suspicion> suspicions;
  std::optional<Fault> early;
};

} // namespace

Finding diagnose(Model &model, Machine &machine, const Fault &fault,
                 llvm::function_ref<std::optional<Fault>(const RunOptions &)> rerun) {
  return Diagnosis(model, machine, fault, rerun).run();
}

} // namespace girih::wg::check
