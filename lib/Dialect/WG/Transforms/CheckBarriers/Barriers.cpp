// The run of a CTA on paper: mbarriers and named barriers. A phase is known by its number from the
// start, not by its parity; what a wait by parity means follows from what the warp knows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Machine.h"

using namespace mlir;

namespace girih::wg::check {

std::optional<int32_t> Machine::barrierOf(Warp &warp, const Effect &effect) {
  const Event &event = warp.program->events[warp.program->code[warp.pc - 1].extra];
  std::optional<int64_t> array = numberOf(warp, effect.object, event, "barrier");
  std::optional<int64_t> index = numberOf(warp, effect.index, event, "barrier's index");
  if (!array || !index)
    return std::nullopt;
  const BarrierArray &barriersOf = model.barriers[*array];
  if (*index < 0 || *index >= barriersOf.count) {
    giveUp(event.op, "barrier " + std::to_string(*index) + " of " +
                         std::to_string(barriersOf.count) + " is named");
    return std::nullopt;
  }
  if (!barriersOf.init) {
    giveUp(event.op, "'" + barriersOf.name + "' are never initialised");
    return std::nullopt;
  }
  return barriersOf.first + static_cast<int32_t>(*index);
}

Machine::Progress Machine::wait(Warp &warp, const Event &event, const Effect &effect) {
  std::optional<int32_t> id = barrierOf(warp, effect);
  std::optional<int64_t> parity = numberOf(warp, effect.parity, event, "parity");
  if (!id || !parity)
    return Progress::Fault;
  *id += warp.cta * model.numBarriers;
  int32_t first = 2 * warp.id + (warp.mask & kElectedLane ? 0 : 1);
  Barrier &barrier = barriers[*id];
  Meeting &meeting = meetings[static_cast<size_t>(*id) * numWarps + warp.id];

  // The wait passes while the last phase that completed has this parity. The warp knows that
  // `knows` phases have; if the last of them has the other parity, it waits for the next.
  int32_t knows = clockOf(first)[phaseOf(*id)];
  bool mends = options.mending.wait == event.op;
  if (mends && options.mending.how == Mending::How::Flip)
    *parity ^= 1;
  int32_t phase = ((knows - 1) & 1) == (*parity & 1) ? knows - 1 : knows;
  if (mends && options.mending.how == Mending::How::FromZero)
    phase = meeting.passed;
  else if (mends && options.mending.how == Mending::How::FromBefore)
    phase = meeting.passed - 1;
  else if (mends && options.mending.how == Mending::How::InTurn)
    phase = barrier.inTurn[warp.index % 4];

  if (barrier.completed <= phase) {
    auto pardon = llvm::find(forgiven, warp.id);
    if (pardon != forgiven.end()) {
      forgiven.erase(pardon);
      return Progress::Done;
    }
    note(warp, event, effect, *id, phase, -1, true);
    return Progress::Blocked;
  }
  // Two phases at once look like none.
  if (barrier.completed > phase + 1 && !options.forgive)
    return fail({Fault::What::Overrun, {warp.id, &event}, barrier.last[0], *id, phase});
  mendingWaits |= mends && phase >= 0;
  mendingSkips |= mends && phase < 0 && meeting.passed > 0;
  ++meeting.passed;
  ++barrier.inTurn[warp.index % 4];
  for (int32_t k = 0; k < 2; ++k)
    if (warp.mask & (1 << k) && phase >= 0)
      join(clockOf(2 * warp.id + k), releasedOf(*id));
  meeting.waited = clockOf(first)[first];
  meeting.lane = first;
  meeting.waits = &event;
  note(warp, event, effect, *id, phase);
  return Progress::Done;
}

Machine::Progress Machine::onEach(Warp &warp, const Event &event, const Effect &effect,
                                  Signal signal) {
  std::optional<int32_t> local = barrierOf(warp, effect);
  if (!local)
    return Progress::Fault;
  for (int32_t id : everywhere(warp, effect, *local, model.numBarriers))
    if ((this->*signal)(warp, event, effect, id) == Progress::Fault)
      return Progress::Fault;
  return Progress::Done;
}

Machine::Progress Machine::arrive(Warp &warp, const Event &event, const Effect &effect) {
  if (!performs(warp, effect.issuer))
    return Progress::Done;
  if (onEach(warp, event, effect, &Machine::arriveAt) == Progress::Fault)
    return Progress::Fault;
  // What comes later is not told by this arrival.
  uint8_t lanes = effect.issuer == Issuer::Threads ? warp.mask : kElectedLane;
  for (int32_t k = 0; k < 2; ++k)
    if (lanes & (1 << k))
      tick(2 * warp.id + k);
  return Progress::Done;
}

Machine::Progress Machine::arriveAt(Warp &warp, const Event &event, const Effect &effect,
                                    int32_t id) {
  Barrier &barrier = barriers[id];
  Meeting &meeting = meetings[static_cast<size_t>(id) * numWarps + warp.id];
  note(warp, event, effect, id, barrier.completed);
  uint8_t lanes = effect.issuer == Issuer::Threads ? warp.mask : kElectedLane;
  for (int32_t k = 0; k < 2; ++k) {
    if (!(lanes & (1 << k)))
      continue;
    if (meeting.phase[k] == barrier.completed + 1)
      twice.push_back({{warp.id, &event}, {warp.id, meeting.event[k]}, id, barrier.completed});
    meeting.phase[k] = barrier.completed + 1;
    meeting.event[k] = &event;
    join(accumOf(id), clockOf(2 * warp.id + k));
  }
  int64_t threads = threadsOf(warp, effect.issuer);
  barrier.arrived += threads;
  barrier.total += threads;
  if (barrier.arrived > barrier.count) {
    if (!options.forgive)
      return fail({Fault::What::TooMany,
                   {warp.id, &event},
                   {},
                   id,
                   barrier.completed,
                   -1,
                   barrier.arrived,
                   barrier.count});
    barrier.arrived = barrier.count;
  }
  if (barrier.arrived == barrier.count && barrier.bytes < 0)
    return fail({Fault::What::Bytes,
                 {warp.id, &event},
                 {warp.id, barrier.expect},
                 id,
                 barrier.completed,
                 -1,
                 -barrier.bytes,
                 0});
  if (barrier.arrived == barrier.count && barrier.bytes == 0)
    return completePhase(warp, event, id);
  return Progress::Done;
}

Machine::Progress Machine::expectOrComplete(Warp &warp, const Event &event, const Effect &effect) {
  if (!performs(warp, effect.issuer))
    return Progress::Done;
  return onEach(warp, event, effect, &Machine::countBytes);
}

Machine::Progress Machine::countBytes(Warp &warp, const Event &event, const Effect &effect,
                                      int32_t id) {
  Barrier &barrier = barriers[id];
  int64_t threads = threadsOf(warp, effect.issuer);
  note(warp, event, effect, id, barrier.completed);
  bool expects = effect.kind == Effect::Kind::Expect;
  int64_t more = effect.amount * threads * (expects ? 1 : -1);
  barrier.bytes += more;
  barrier.tooMany += more;
  if (expects) {
    barrier.expect = barrier.expects = &event;
    ++barrier.timesExpected;
  }
  if (barrier.bytes < 0) {
    Fault bytes{Fault::What::Bytes,
                {warp.id, &event},
                {warp.id, barrier.expect},
                id,
                barrier.completed,
                -1,
                -barrier.bytes,
                0};
    if (barrier.arrived == barrier.count)
      return fail(bytes);
    // Bytes may come before they are expected, from another CTA for one; if something goes wrong in
    // the own one, that is why.
    if (!barrier.expect && !early && id / model.numBarriers == warp.cta)
      early = bytes;
  }
  // What a copy completes is known to be complete; the order of arrivals is theirs.
  if (effect.kind == Effect::Kind::Complete && barrier.arrived == barrier.count &&
      barrier.bytes == 0)
    return completePhase(warp, event, id);
  return Progress::Done;
}

Machine::Progress Machine::completePhase(Warp &warp, const Event &event, int32_t id) {
  Barrier &barrier = barriers[id];
  Time *clock = accumOf(id);
  // Whoever has waited for the phase before must have done so by now: otherwise it may come late,
  // and find the parity as it was two phases ago.
  Meeting *all = &meetings[static_cast<size_t>(id) * numWarps];
  for (int32_t other = 0; other < numWarps; ++other) {
    if (all[other].waited >= 0 && clock[all[other].lane] < all[other].waited && !options.forgive)
      return fail({Fault::What::Overrun,
                   {other, all[other].waits},
                   {warp.id, &event},
                   id,
                   barrier.completed - 1});
    all[other].waited = -1;
  }
  ++barrier.completed;
  clock[phaseOf(id)] = static_cast<Time>(barrier.completed);
  std::copy_n(clock, stride, releasedOf(id));
  std::fill_n(clock, stride, Time(0));
  barrier.arrived = barrier.bytes = 0;
  barrier.expect = nullptr;
  barrier.last[1] = barrier.last[0];
  barrier.last[0] = {warp.id, &event};
  return Progress::Done;
}

Machine::Progress Machine::named(Warp &warp, const Event &event, const Effect &effect) {
  std::optional<int64_t> id = numberOf(warp, effect.object, event, "named barrier's number");
  if (!id)
    return Progress::Fault;
  if (*id < 0 || *id > 15)
    return giveUp(event.op, "named barrier " + std::to_string(*id) + " does not exist");
  int64_t number = *id;
  *id += static_cast<int64_t>(16) * warp.cta;
  Named &barrier = names[*id];
  if (warp.arrivedNamed) {
    if (barrier.generation == warp.generation) {
      note(warp, event, effect, static_cast<int32_t>(number), static_cast<int32_t>(warp.generation),
           -1, true);
      return Progress::Blocked;
    }
    warp.arrivedNamed = false;
    return Progress::Done;
  }
  if (barrier.arrived && barrier.threads != effect.amount)
    return fail({Fault::What::NamedThreads,
                 {warp.id, &event},
                 barrier.first,
                 -1,
                 0,
                 -1,
                 effect.amount,
                 barrier.threads,
                 *id});
  if (!barrier.arrived)
    barrier.first = {warp.id, &event};
  barrier.threads = effect.amount;
  barrier.arrived += 32;
  if (barrier.arrived > barrier.threads)
    return fail({Fault::What::NamedThreads,
                 {warp.id, &event},
                 barrier.first,
                 -1,
                 0,
                 -1,
                 barrier.arrived,
                 barrier.threads,
                 *id});
  note(warp, event, effect, static_cast<int32_t>(number), static_cast<int32_t>(barrier.generation));
  ++runSteps;
  Time *clock = &namedAccum[static_cast<size_t>(*id) * stride];
  for (int32_t lane : {2 * warp.id, 2 * warp.id + 1}) {
    join(clock, clockOf(lane));
    tick(lane);
  }
  if (effect.kind == Effect::Kind::NamedSync) {
    warp.arrivedNamed = true;
    warp.name = *id;
    warp.generation = barrier.generation;
  }
  if (barrier.arrived == barrier.threads) {
    for (Warp &other : warps)
      if (other.arrivedNamed && other.name == *id && other.generation == barrier.generation)
        for (int32_t lane : {2 * other.id, 2 * other.id + 1})
          join(clockOf(lane), clock);
    std::fill_n(clock, stride, Time(0));
    barrier.arrived = 0;
    ++barrier.generation;
  }
  if (effect.kind == Effect::Kind::NamedArrive)
    return Progress::Done;
  if (barrier.generation == warp.generation)
    return Progress::Blocked;
  warp.arrivedNamed = false;
  return Progress::Done;
}

} // namespace girih::wg::check
