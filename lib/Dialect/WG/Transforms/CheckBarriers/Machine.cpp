// The run of a CTA on paper: control flow, and barriers by name. Barriers.cpp has mbarriers,
// Accesses.cpp shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Machine.h"

using namespace mlir;

namespace girih::wg::check {

StringRef nameOf(FaultClass kind) {
  switch (kind) {
  case FaultClass::Deadlock:
    return "deadlock";
  case FaultClass::LostRelease:
    return "lost-release";
  case FaultClass::DoubleRelease:
    return "double-release";
  case FaultClass::WrongParity:
    return "wrong-parity";
  case FaultClass::WrongBytes:
    return "wrong-bytes";
  case FaultClass::InFlight:
    return "in-flight";
  case FaultClass::MissingFence:
    return "missing-proxy-fence";
  case FaultClass::RegisterBudget:
    return "register-budget";
  }
  llvm_unreachable("every class has a name");
}

Machine::Machine(Model &model) : model(model) {
  budgets.reserve(model.programs.size());
  for (const Program &program : model.programs) {
    auto op = cast<RoleOp>(program.op);
    Event budget{op, {}};
    if (op.getRegisters()) {
      Effect effect{Effect::Kind::Registers};
      effect.amount = *op.getRegisters();
      effect.increase = effect.amount > getLaunchRegisters(model.threads);
      budget.effects.push_back(effect);
    }
    budgets.push_back(std::move(budget));
  }
  for (int32_t cta = 0; cta < model.ctas; ++cta)
    for (auto [role, program] : llvm::enumerate(model.programs))
      for (int32_t index = 0; index < program.warps + program.idleWarps; ++index) {
        Warp warp{};
        warp.program = &program;
        warp.role = static_cast<unsigned>(role);
        warp.id = static_cast<int32_t>(warps.size());
        warp.cta = cta;
        warp.index = index;
        warp.warpgroup = index / 4;
        warp.idle = index >= program.warps;
        warp.leadsWarpgroup = index % 4 == 0;
        warp.leadsRole = program.each ? warp.leadsWarpgroup : index == 0;
        // An idle warp does nothing but change its registers.
        if (!warp.idle || !budgets[role].effects.empty())
          warps.push_back(std::move(warp));
      }
  numWarps = static_cast<int32_t>(warps.size());
  stride = static_cast<int32_t>(llvm::alignTo(6 * numWarps + model.ctas * model.numBarriers, 8));
}

void Machine::join(Time *to, const Time *from) const {
  for (int32_t i = 0; i < stride; ++i)
    to[i] = std::max(to[i], from[i]);
}

void Machine::tick(int32_t lane) {
  Time &time = clockOf(lane)[lane];
  if (time == std::numeric_limits<Time>::max())
    giveUp(model.kernel, "its loops run too long to be followed step by step");
  else
    ++time;
}

void Machine::reset() {
  int32_t numBarriers = model.ctas * model.numBarriers;
  clocks.assign(static_cast<size_t>(2) * numWarps * stride, 0);
  accum.assign(static_cast<size_t>(numBarriers) * stride, 0);
  released.assign(static_cast<size_t>(numBarriers) * stride, 0);
  namedAccum.assign(static_cast<size_t>(model.ctas) * 16 * stride, 0);
  for (int32_t lane = 0; lane < 2 * numWarps; ++lane)
    clockOf(lane)[lane] = 1;
  barriers.clear();
  for (int32_t i = 0, e = model.ctas * static_cast<int32_t>(model.barriers.size()); i < e; ++i) {
    auto index = i % static_cast<int32_t>(model.barriers.size());
    const BarrierArray &array = model.barriers[index];
    int64_t arrivals = array.arrivals;
    if (options.mending.how == Mending::How::Arrivals && options.mending.array == index)
      arrivals += options.mending.more;
    for (int32_t k = 0; k < array.count; ++k)
      barriers.push_back({arrivals, 0, 0, 0, 0, {}, nullptr, nullptr, 0, 0, {}});
  }
  meetings.assign(static_cast<size_t>(numBarriers) * numWarps,
                  Meeting{{0, 0}, {nullptr, nullptr}, -1, 0, nullptr, 0});
  names.assign(static_cast<size_t>(model.ctas) * 16, Named{0, 0, 0, {}});
  slots.resize(static_cast<size_t>(model.ctas) * model.numSlots);
  for (auto &accesses : slots)
    accesses.clear();
  filled.assign(static_cast<size_t>(model.ctas) * model.numSlots, 0);
  int64_t each = getLaunchRegisters(model.threads);
  freeRegisters.assign(model.ctas, 0);
  for (Warp &warp : warps) {
    warp.done = warp.arrivedNamed = false;
    warp.mask = kAllLanes;
    warp.effect = 0;
    warp.pc = -1;
    warp.threadRegisters = each;
    warp.storesCommitted = warp.productsCommitted = 0;
    warp.registers = warp.program->registers;
    warp.branches.clear();
    warp.loops.clear();
    warp.rounds.assign(warp.program->loops.size(), 0);
    warp.ordinals.assign(warp.program->opaque.size(), 0);
  }
  fault.reset();
  early.reset();
  reason.reset();
  stuck.clear();
  twice.clear();
  forgiven.clear();
  mendingWaits = mendingSkips = false;
  runSteps = 0;
}

std::optional<Fault> Machine::run(Chooser &choices, const RunOptions &how) {
  chooser = &choices;
  options = how;
  reset();
  model.symbols.startRun();
  int forgivenRounds = 0;
  for (;;) {
    bool progress = false, all = true;
    for (Warp &warp : warps) {
      if (warp.done)
        continue;
      int64_t before = runSteps;
      model.symbols.setRole(warp.role);
      Progress state = runWarp(warp);
      if (state == Progress::Fault || reason)
        return fault;
      progress |= runSteps != before || warp.done;
      all &= warp.done;
    }
    if (all) {
      atEnd();
      return fault;
    }
    if (progress)
      continue;
    if (options.forgive && ++forgivenRounds < 1000 && forgiveSome())
      continue;
    break;
  }
  fault = Fault{Fault::What::Stuck};
  stuck = findStuck(options.trace);
  if (!stuck.empty())
    fault->site = stuck.front().site;
  return fault;
}

Machine::Progress Machine::fail(Fault found) {
  if (options.forgive)
    return Progress::Done;
  fault = found;
  return Progress::Fault;
}

Machine::Progress Machine::giveUp(Operation *op, std::string why) {
  if (!reason)
    reason = Undecided{op->getLoc(), std::move(why)};
  return Progress::Fault;
}

void Machine::note(const Warp &warp, const Event &event, const Effect &effect, int32_t barrier,
                   int32_t phase, int32_t slot, bool isBlocked) {
  if (options.trace && (!isBlocked || notesBlocked))
    options.trace->push_back({{warp.id, &event}, &effect, barrier, phase, slot, isBlocked});
}

bool Machine::forgiveSome() {
  forgiven.clear();
  for (const Blocked &blocked : findStuck(nullptr))
    if (blocked.effect->kind == Effect::Kind::Wait)
      forgiven.push_back(blocked.site.warp);
  return !forgiven.empty();
}

std::vector<Blocked> Machine::findStuck(std::vector<Step> *trace) {
  // Each is run once more, to note what it waits for.
  std::vector<Blocked> found;
  std::vector<Step> last, *before = options.trace;
  options.trace = &last;
  notesBlocked = true;
  for (Warp &warp : warps) {
    if (warp.done)
      continue;
    last.clear();
    runWarp(warp);
    if (last.empty())
      continue;
    const Step &step = last.back();
    found.push_back({step.site, step.effect, step.barrier, step.phase});
    if (trace)
      trace->push_back(step);
  }
  notesBlocked = false;
  options.trace = before;
  return found;
}

bool Machine::performs(const Warp &warp, Issuer issuer) const {
  switch (issuer) {
  case Issuer::Threads:
    return true;
  case Issuer::Warpgroup:
    return warp.leadsWarpgroup && (warp.mask & kElectedLane);
  case Issuer::Role:
    return warp.leadsRole && (warp.mask & kElectedLane);
  case Issuer::Warp:
    return warp.mask & kElectedLane;
  }
  llvm_unreachable("every issuer is listed");
}

int64_t Machine::threadsOf(const Warp &warp, Issuer issuer) const {
  if (!performs(warp, issuer))
    return 0;
  if (issuer != Issuer::Threads)
    return 1;
  return (warp.mask & kElectedLane ? 1 : 0) + (warp.mask & kOtherLanes ? 31 : 0);
}

std::optional<int64_t> Machine::numberOf(Warp &warp, int32_t place, const Event &event,
                                         StringRef what) {
  Number &number = warp.registers[place];
  if (number.known())
    return number.constant;
  std::optional<int64_t> value = model.symbols.evaluate(number);
  if (value)
    number = Symbols::known(*value);
  else
    giveUp(event.op, ("the " + what + " depends on more than loops and branches").str());
  return value;
}

Machine::Progress Machine::runEvent(Warp &warp, const Event &event) {
  for (; warp.effect < event.effects.size(); ++warp.effect) {
    Progress state = runEffect(warp, event, event.effects[warp.effect]);
    if (state != Progress::Done)
      return state;
    ++runSteps;
    ++allSteps;
  }
  warp.effect = 0;
  return reason ? Progress::Fault : Progress::Done;
}

Machine::Progress Machine::runEffect(Warp &warp, const Event &event, const Effect &effect) {
  switch (effect.kind) {
  case Effect::Kind::Wait:
    return wait(warp, event, effect);
  case Effect::Kind::Arrive:
    return arrive(warp, event, effect);
  case Effect::Kind::Expect:
  case Effect::Kind::Complete:
    return expectOrComplete(warp, event, effect);
  case Effect::Kind::NamedSync:
  case Effect::Kind::NamedArrive:
    return named(warp, event, effect);
  case Effect::Kind::Access:
    return access(warp, event, effect);
  case Effect::Kind::Registers:
    return changeRegisters(warp, event, effect);
  case Effect::Kind::Fence:
    for (int32_t k = 0; k < 2; ++k)
      if (warp.mask & (1 << k)) {
        int32_t lane = 2 * warp.id + k;
        // Its own writes, and those of others that it knows of.
        Time *clock = clockOf(lane);
        for (int32_t other = 0; other < 2 * numWarps; ++other)
          clock[fenceOf(other)] = std::max(clock[fenceOf(other)], clock[other]);
        tick(lane);
      }
    note(warp, event, effect, -1, 0);
    return Progress::Done;
  case Effect::Kind::Commit:
    if (!performs(warp, effect.issuer))
      return Progress::Done;
    ++(effect.engine == AsyncEffect::Engine::Wgmma ? warp.productsCommitted : warp.storesCommitted);
    note(warp, event, effect, -1, 0);
    return Progress::Done;
  case Effect::Kind::Retire: {
    if (!performs(warp, effect.issuer))
      return Progress::Done;
    bool products = effect.engine == AsyncEffect::Engine::Wgmma;
    int32_t component = products ? productsOf(warp.id) : storesOf(warp.id);
    int64_t retired = (products ? warp.productsCommitted : warp.storesCommitted) - effect.amount;
    uint8_t lanes = effect.issuer == Issuer::Threads ? warp.mask : kElectedLane;
    for (int32_t k = 0; k < 2; ++k)
      if (lanes & (1 << k)) {
        Time &knows = clockOf(2 * warp.id + k)[component];
        knows = std::max<Time>(knows, static_cast<Time>(std::max<int64_t>(0, retired)));
      }
    note(warp, event, effect, -1, 0);
    return Progress::Done;
  }
  }
  llvm_unreachable("every effect is listed");
}

Machine::Progress Machine::changeRegisters(Warp &warp, const Event &event, const Effect &effect) {
  int64_t more = (effect.amount - warp.threadRegisters) * 32;
  if ((more < 0) == effect.increase && more != 0)
    return fail({Fault::What::Registers,
                 {warp.id, &event},
                 {},
                 -1,
                 0,
                 -1,
                 warp.threadRegisters,
                 effect.amount});
  if (more > freeRegisters[warp.cta]) {
    note(warp, event, effect, -1, 0, -1, true);
    return Progress::Blocked;
  }
  freeRegisters[warp.cta] -= more;
  warp.threadRegisters = effect.amount;
  note(warp, event, effect, -1, 0);
  return Progress::Done;
}

Machine::Progress Machine::runWarp(Warp &warp) {
  if (warp.pc < 0) {
    Progress state = runEvent(warp, budgets[warp.role]);
    if (state != Progress::Done)
      return state;
    warp.pc = 0;
  }
  const Program &program = *warp.program;
  auto end = static_cast<int32_t>(program.code.size());
  std::vector<Number> &registers = warp.registers;
  Symbols &symbols = model.symbols;
  while (!warp.idle && warp.pc < end) {
    const Instruction &at = program.code[warp.pc++];
    switch (at.kind) {
    case Instruction::Kind::Arith:
      // A number that the present run has decided stays a form: with it in place of the form, the
      // same expression would be another one in a role that comes to it later. Only what a
      // selection takes is settled, since those would pile up.
      if (at.arith == Arith::Select && registers[at.a].form > 0)
        if (std::optional<int64_t> value = symbols.evaluate(registers[at.a]))
          registers[at.a] = Symbols::known(*value);
      registers[at.to] =
          symbols.apply(at.arith, registers[at.a], at.b < 0 ? Number{} : registers[at.b],
                        at.c < 0 ? Number{} : registers[at.c], at.flag);
      break;
    case Instruction::Kind::Move:
      registers[at.to] = registers[at.a];
      break;
    case Instruction::Kind::Merge: {
      // In the second arm of lanes that have parted the others have their result already.
      const BranchFrame &frame = warp.branches.back();
      if (frame.divergent && !frame.other && registers[at.to] != registers[at.a])
        registers[at.to] = {0, Number::kDivergent};
      else
        registers[at.to] = registers[at.a];
      break;
    }
    case Instruction::Kind::Opaque: {
      const OpaqueOp &op = program.opaque[at.extra];
      SmallVector<Number, 4> operands;
      for (int32_t place : op.operands)
        operands.push_back(registers[place]);
      if (op.changes)
        operands.push_back(Symbols::known(warp.ordinals[at.extra]++));
      registers[at.to] = symbols.opaque(op.key, operands);
      break;
    }
    case Instruction::Kind::Elect:
      registers[at.to] = {0, Number::kElected};
      break;
    case Instruction::Kind::Lane:
      registers[at.to] = {32 * static_cast<int64_t>(program.firstWarp + warp.index), Number::kLane};
      break;
    case Instruction::Kind::Warp:
      registers[at.to] = Symbols::known(program.firstWarp + warp.index);
      break;
    case Instruction::Kind::Warpgroup:
      registers[at.to] = Symbols::known(warp.warpgroup);
      break;
    case Instruction::Kind::LoopBegin: {
      const Loop &loop = program.loops[at.extra];
      for (int32_t bound : {at.a, at.b, at.c})
        if (registers[bound].varies())
          return giveUp(loop.op, "the bounds of a loop differ between threads of a warp");
      int64_t count = symbols.decideCount(
          registers[at.a], registers[at.b], registers[at.c],
          {Domain::Kind::Count, loop.largest, loop.first, 1, loop.op}, *chooser);
      // Long loops of a known length are periodic in the middle.
      if (count > 480)
        count = 240 + count % 240;
      if (count == 0) {
        warp.pc = loop.end;
        break;
      }
      if (at.to >= 0)
        registers[at.to] = registers[at.a];
      warp.loops.push_back({count, registers[at.c]});
      break;
    }
    case Instruction::Kind::LoopEnd: {
      LoopFrame &frame = warp.loops.back();
      if (--frame.left == 0) {
        warp.loops.pop_back();
        break;
      }
      if (at.to >= 0)
        registers[at.to] = symbols.apply(Arith::Add, registers[at.to], frame.step);
      warp.pc = program.loops[at.extra].begin;
      break;
    }
    case Instruction::Kind::While: {
      const Loop &loop = program.loops[at.extra];
      if (registers[at.a].varies())
        return giveUp(loop.op, "a loop ends at different times in the threads of a warp");
      int32_t &round = warp.rounds[at.extra];
      int64_t goesOn = symbols.decide(
          registers[at.a], {Domain::Kind::Flag, 1, round < loop.first, 1, loop.op}, *chooser);
      if (goesOn & 1) {
        if (++round > 480)
          return giveUp(loop.op, "nothing says that the loop ends");
        break;
      }
      round = 0;
      warp.pc = loop.end;
      break;
    }
    case Instruction::Kind::Jump:
      warp.pc = at.extra;
      break;
    case Instruction::Kind::If: {
      const Branch &branch = program.branches[at.extra];
      Number condition = registers[at.a];
      uint8_t lanes = 0;
      if (condition.form == Number::kElected)
        lanes = kElectedLane;
      else if (condition.form == Number::kOthers)
        lanes = kOtherLanes;
      else if (condition.varies())
        return giveUp(branch.op, "a branch depends on the thread's index in a way that the checker "
                                 "does not follow");
      else if (symbols.decide(condition, {Domain::Kind::Flag, 1, 1, 1, branch.op}, *chooser) & 1)
        lanes = kAllLanes;
      uint8_t taken = warp.mask & lanes, other = warp.mask & ~lanes;
      warp.branches.push_back({warp.mask, taken ? other : uint8_t(0), taken && other});
      if (taken) {
        warp.mask = taken;
      } else {
        warp.mask = other;
        warp.pc = branch.other + 1;
      }
      break;
    }
    case Instruction::Kind::Else: {
      BranchFrame &frame = warp.branches.back();
      if (frame.other) {
        warp.mask = frame.other;
        frame.other = 0;
      } else {
        warp.pc = program.branches[at.extra].end;
      }
      break;
    }
    case Instruction::Kind::EndIf:
      warp.mask = warp.branches.back().outside;
      warp.branches.pop_back();
      break;
    case Instruction::Kind::Event: {
      Progress state = runEvent(warp, program.events[at.extra]);
      if (state == Progress::Blocked) {
        --warp.pc;
        return state;
      }
      if (state == Progress::Fault)
        return state;
      break;
    }
    }
    if (reason)
      return Progress::Fault;
  }
  warp.done = true;
  return Progress::Done;
}

} // namespace girih::wg::check
