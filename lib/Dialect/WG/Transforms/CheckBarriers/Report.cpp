// Errors in the user's words: rings, slots and roles instead of barriers and warps; and the
// schedule that leads to the fault.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Explore.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"
#include "girih/Dialect/WG/Transforms/Transforms.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

class Reporter {
public:
  Reporter(Model &model, const Machine &machine, const Finding &finding)
      : model(model), machine(machine), finding(finding) {}

  void run() {
    InFlightDiagnostic error = emitError(finding.blamed->getLoc());
    error << message() << " [" << nameOf(finding.kind) << "]";
    if (finding.other.event && finding.other.event->op != finding.blamed)
      error.attachNote(finding.other.event->op->getLoc())
          << who(finding.other.warp) << " " << otherText();
    if (finding.fault.barrier >= 0) {
      const BarrierArray &array = model.arrayOfBarrier(finding.fault.barrier);
      error.attachNote(array.loc) << state(finding.fault.barrier) << " after "
                                  << count(array.arrivals, "arrival");
    }
    if (finding.kind == FaultClass::RegisterBudget)
      for (const Program &program : model.programs)
        if (auto role = cast<RoleOp>(program.op); role.getRegisters())
          error.attachNote(role.getLoc())
              << "role '" << program.role << "' takes " << role.getNumWarpgroups()
              << " warpgroups, " << *role.getRegisters() << " registers a thread";
    error.attachNote(model.kernel.getLoc()) << schedule();
  }

private:
  // Names.

  std::string who(int32_t warp) const {
    const Program &program = machine.programOf(warp);
    std::string text = "role '" + program.role + "'";
    if (program.warps > 4)
      text += ", warpgroup " + std::to_string(machine.indexOf(warp) / 4);
    return text + ofCta(machine.ctaOf(warp));
  }
  std::string ofCta(int32_t cta) const {
    return model.ctas > 1 ? " of CTA " + std::to_string(cta) : "";
  }

  /// "slot 1 of 'ring'" and "is full", or a barrier's own name and "has completed".
  std::pair<std::string, std::string> parts(int32_t barrier) const {
    const BarrierArray &array = model.arrayOfBarrier(barrier);
    std::string index = std::to_string(barrier % model.numBarriers - array.first);
    std::string where = ofCta(barrier / model.numBarriers);
    StringRef name = array.name;
    for (auto [suffix, says] :
         {std::pair(" full barriers", "is full"), std::pair(" empty barriers", "is empty")})
      if (name.consume_back(suffix))
        return {"slot " + index + " of '" + name.str() + "'" + where, says};
    return {"barrier " + index + " of '" + name.str() + "'" + where, "has completed"};
  }
  std::string state(int32_t barrier) const {
    auto [subject, says] = parts(barrier);
    return subject + " " + says;
  }
  static std::string count(int64_t number, const char *what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  }
  static std::string phaseText(int32_t phase) {
    return phase < 0 ? " (from the start)" : " (phase " + std::to_string(phase) + ")";
  }

  std::string slotName(int32_t slot) const {
    const BufferArray &array = model.arrayOfSlot(slot);
    StringRef name = array.name;
    name.consume_back(" slots");
    if (size_t at = name.rfind(" buffer "); at != StringRef::npos)
      name = name.take_front(at);
    std::string where = ofCta(slot / model.numSlots);
    if (array.slots == 1)
      return "'" + name.str() + "'" + where;
    return "slot " + std::to_string(slot % model.numSlots - array.first) + " of '" + name.str() +
           "'" + where;
  }

  std::string place(const Event *event) const { return placeOf(event->op->getLoc()); }

  std::string bytes() const {
    int64_t count = finding.missingBytes;
    return count > 0
               ? std::to_string(count) + " bytes more are expected than its copies bring"
               : "its copies bring " + std::to_string(-count) + " bytes more than are expected";
  }

  // Sentences.

  std::string message() const {
    const Fault &fault = finding.fault;
    std::string subject = who(finding.warp);
    switch (finding.kind) {
    case FaultClass::Deadlock:
      if (fault.what == Fault::What::NamedThreads)
        return subject + " meets at named barrier " + std::to_string(fault.name) +
               " with a number of threads that its partners do not have; expected one number, that "
               "of all threads that arrive";
      if (fault.barrier >= 0)
        return subject + " waits for ever until " + state(fault.barrier) +
               ", and all others wait too or have ended; expected a wait that what the others do "
               "before their own waits brings to an end";
      return subject + " waits for ever at a named barrier, and all others wait too or have ended; "
                       "expected every participant to arrive";
    case FaultClass::LostRelease:
      if (finding.rightArrivals)
        return wrongCount();
      return subject + " waits for ever until " + state(fault.barrier) + ": " +
             std::to_string(finding.missingArrivals) + " of " +
             std::to_string(model.arrayOfBarrier(fault.barrier).arrivals) +
             " arrivals never come; expected every reader to give back every slot that it gets";
    case FaultClass::DoubleRelease:
      if (finding.rightArrivals)
        return wrongCount();
      return subject + " arrives too often before " + state(fault.barrier) +
             ", so that the phase ends before others have arrived or have seen the one before; "
             "expected one release of each reader for every time that it gets the slot";
    case FaultClass::WrongParity:
      return subject +
             " waits with the wrong parity, for another phase than the one that comes next; "
             "expected 0 at a consumer's start, 1 at a producer's, and a change each time "
             "that the cursor passes the last slot";
    case FaultClass::WrongBytes:
      return subject + " expects a number of bytes that does not match the copies: " +
             (fault.barrier >= 0 ? "before " + state(fault.barrier) + ", " : "") + bytes() +
             "; expected the sum of the copies' boxes";
    case FaultClass::InFlight:
      return inFlight(subject);
    case FaultClass::MissingFence:
      return subject + " reads " + slotName(fault.slot) +
             " through the asynchronous proxy, and what was written through the generic one is not "
             "ordered before; expected wg.fence_proxy_async in every thread that wrote, between "
             "its "
             "writes and the barrier";
    case FaultClass::RegisterBudget:
      if (fault.what == Fault::What::Registers)
        return subject + " changes its registers from " + std::to_string(fault.have) + " to " +
               std::to_string(fault.want) +
               " in the wrong direction; expected increase to more and decrease to fewer";
      return subject +
             " waits for ever for registers: all roles together ask for more than a launch "
             "of " +
             std::to_string(model.threads) + " threads has (" +
             std::to_string(getLaunchRegisters(model.threads) * model.threads) +
             "); expected lower budgets";
    }
    llvm_unreachable("every class has a message");
  }

  std::string wrongCount() const {
    const BarrierArray &array = model.arrayOfBarrier(finding.fault.barrier);
    return "'" + array.name + "' count " + std::to_string(array.arrivals) +
           " arrivals for each phase, and " + std::to_string(finding.rightArrivals) +
           " come; expected count(" + std::to_string(finding.rightArrivals) + ")";
  }

  std::string inFlight(const std::string &subject) const {
    const Fault &fault = finding.fault;
    switch (fault.what) {
    case Fault::What::ReadEarly:
      return subject + " reads " + slotName(fault.slot) + " while " + operation(finding.other) +
             " may still be writing it; expected a wait for the writes before";
    case Fault::What::WriteEarly:
      return subject + " overwrites " + slotName(fault.slot) + " while " +
             operation(finding.other) +
             " may still use it; expected that to be waited for, and the wait to be known here";
    case Fault::What::ReadNothing:
      return subject + " reads " + slotName(fault.slot) +
             ", which nothing has filled yet; expected a wait for the copy or the writes before";
    case Fault::What::NeverWaited:
      return subject + " starts a copy of " + slotName(fault.slot) +
             " for which nobody waits before the CTA ends; expected a wait for it, since the "
             "memory "
             "is the next CTA's then";
    case Fault::What::TooMany:
      return subject + " fills " + parts(fault.barrier).first +
             " again while the copies of the time before may still be writing it; expected a wait "
             "until it is empty";
    default:
      return subject + " uses shared memory that is in use elsewhere";
    }
  }

  std::string operation(const Site &site) const {
    for (const Effect &effect : site.event->effects)
      if (effect.kind == Effect::Kind::Access && effect.outlives)
        switch (effect.engine) {
        case AsyncEffect::Engine::TmaLoad:
          return "the copy at " + place(site.event);
        case AsyncEffect::Engine::TmaStore:
          return "the store at " + place(site.event);
        case AsyncEffect::Engine::Wgmma:
          return "the wgmma at " + place(site.event);
        case AsyncEffect::Engine::All:
          break;
        }
    return "the op at " + place(site.event);
  }

  std::string otherText() const {
    switch (finding.kind) {
    case FaultClass::LostRelease:
      return "waits for ever here";
    case FaultClass::DoubleRelease:
      if (finding.rightArrivals)
        return "goes wrong here";
      return finding.twice ? "has arrived in that phase before, here" : "may miss the phase here";
    case FaultClass::WrongBytes:
      return "waits for the bytes here";
    case FaultClass::WrongParity:
      return "goes wrong here, and does not with the other parity";
    case FaultClass::MissingFence:
      return "writes here";
    case FaultClass::Deadlock:
      return "names another number here";
    default:
      return finding.fault.what == Fault::What::WriteEarly ? "uses it here" : "writes it here";
    }
  }

  // The schedule.

  std::string stepText(const Step &step) const {
    std::string verb = step.blocked ? "waits for ever" : "waits";
    switch (step.effect->kind) {
    case Effect::Kind::Wait:
      return verb + " until " + state(step.barrier) + phaseText(step.phase);
    case Effect::Kind::Arrive:
      return "arrives, one of those after which " + state(step.barrier) + phaseText(step.phase);
    case Effect::Kind::Expect:
      return "expects " + std::to_string(step.effect->amount) + " bytes before " +
             state(step.barrier) + phaseText(step.phase);
    case Effect::Kind::Complete:
      return "its copy brings " + std::to_string(step.effect->amount) + " bytes of those before " +
             state(step.barrier) + phaseText(step.phase);
    case Effect::Kind::NamedSync:
      return verb + " at named barrier " + std::to_string(step.barrier);
    case Effect::Kind::NamedArrive:
      return "arrives at named barrier " + std::to_string(step.barrier);
    case Effect::Kind::Access:
      return std::string(step.effect->write ? "writes " : "reads ") + slotName(step.slot) +
             (step.effect->outlives ? ", from now on" : "");
    case Effect::Kind::Fence:
      return "fences its writes";
    case Effect::Kind::Commit:
      return std::string("closes a group of ") + groups(*step.effect);
    case Effect::Kind::Retire:
      return "waits until at most " + count(step.effect->amount, "group") + " of " +
             groups(*step.effect) + " are in flight";
    case Effect::Kind::Registers:
      return (step.blocked ? "waits for ever for " : "takes ") +
             std::to_string(step.effect->amount) + " registers a thread";
    }
    llvm_unreachable("every effect has a text");
  }

  static std::string groups(const Effect &effect) {
    return effect.engine == AsyncEffect::Engine::Wgmma ? "wgmmas" : "stores";
  }

  /// The ring that a slot's name, or that of its barriers, says that it belongs to.
  static StringRef ringOf(StringRef name) {
    for (StringRef suffix : {" slots", " full barriers", " empty barriers"})
      if (name.consume_back(suffix))
        return name;
    return name.take_front(name.rfind(" buffer "));
  }

  /// Whether a barrier is one of those of the slot that the fault is at.
  bool isOfSlot(int32_t barrier) const {
    const BarrierArray &barriers = model.arrayOfBarrier(barrier);
    const BufferArray &slots = model.arrayOfSlot(finding.fault.slot);
    return barrier / model.numBarriers == finding.fault.slot / model.numSlots &&
           barrier % model.numBarriers - barriers.first ==
               finding.fault.slot % model.numSlots - slots.first &&
           ringOf(barriers.name) == ringOf(slots.name);
  }

  /// Whether a step has to do with the fault.
  bool concerns(const Step &step) const {
    if (step.blocked)
      return true;
    bool isGroup =
        step.effect->kind == Effect::Kind::Commit || step.effect->kind == Effect::Kind::Retire;
    bool isNamed = step.effect->kind == Effect::Kind::NamedSync ||
                   step.effect->kind == Effect::Kind::NamedArrive;
    if (finding.kind == FaultClass::InFlight && finding.fault.slot >= 0) {
      if (step.slot >= 0)
        return step.slot == finding.fault.slot;
      if (step.barrier >= 0 && !isNamed)
        return isOfSlot(step.barrier);
      // A wait that another one has made superfluous says nothing.
      return isGroup && !step.site.event->op->hasAttr(kWaitedAttr) &&
             (step.site.warp == finding.warp || step.site.warp == finding.other.warp);
    }
    if (step.site.event->op == finding.blamed || step.site.event == finding.other.event)
      return true;
    if (finding.fault.barrier >= 0 && step.barrier >= 0 && !isNamed) {
      // The full and the empty barrier of a slot go together.
      const BarrierArray &ours = model.arrayOfBarrier(finding.fault.barrier),
                         &theirs = model.arrayOfBarrier(step.barrier);
      if (finding.fault.barrier - ours.first == step.barrier - theirs.first) // of one CTA
        return true;
    }
    return finding.fault.slot >= 0 && step.slot == finding.fault.slot;
  }

  std::string schedule() const {
    std::string text = "the schedule that leads there";
    std::vector<std::string> taken;
    for (const Choice &choice : finding.choices) {
      std::string at = placeOf(choice.domain.asks->getLoc());
      if (choice.domain.kind == Domain::Kind::Count)
        taken.push_back("the loop at " + at + " with " +
                        count(choice.value() / choice.domain.scale, "step"));
      else
        taken.push_back("the branch at " + at + (choice.value() ? " taken" : " not taken"));
    }
    if (!taken.empty())
      text += ", " + llvm::join(taken, ", ");
    text += ":";
    // One line for all warps of a warpgroup that do the same, as often as one of them does it.
    std::vector<std::string> lines;
    llvm::StringMap<llvm::SmallDenseMap<int32_t, int>> times;
    llvm::StringMap<int> shown;
    for (const Step &step : finding.trace) {
      if (!concerns(step))
        continue;
      std::string line =
          who(step.site.warp) + ", " + place(step.site.event) + ": " + stepText(step);
      if (++times[line][step.site.warp] <= shown[line])
        continue;
      ++shown[line];
      lines.push_back(std::move(line));
    }
    constexpr size_t kLines = 16;
    if (lines.size() > kLines) {
      text += "\n  (" + std::to_string(lines.size() - kLines) + " earlier steps)";
      lines.erase(lines.begin(), lines.end() - kLines);
    }
    for (const std::string &line : lines)
      text += "\n  " + line;
    if (finding.fault.what == Fault::What::Stuck)
      for (auto [role, program] : llvm::enumerate(model.programs))
        if (machine.hasEnded(role))
          text += "\n  role '" + program.role + "' has ended";
    return text;
  }

  Model &model;
  const Machine &machine;
  const Finding &finding;
};

} // namespace

void report(Model &model, const Machine &machine, const Finding &finding) {
  Reporter(model, machine, finding).run();
}

} // namespace girih::wg::check
